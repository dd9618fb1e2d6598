"""Google ADK: agents with a scripted model, and a session that keeps their conversation."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai.types import Content, FunctionCall, Part

from adapters.driver import Agent, Call, Face, Seen, take
from hookline import PromptBlockedError
from hookline.adapters.google_adk import HooklinePlugin


def show(contents: list[Content]) -> str:
    """All text of a request."""
    parts = [part for content in contents for part in content.parts or []]
    return "\n".join(
        part.text or json.dumps(part.function_response.response if part.function_response else "", ensure_ascii=False)
        for part in parts
    )


Responses = AsyncGenerator[LlmResponse, None]


class ScriptedModel(BaseLlm):
    """Follows an agent's script."""

    agent: Any
    calls: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        step = take(self.agent.script, self.calls, show(llm_request.contents))
        if isinstance(step, str):
            for letter in step if stream else "":
                yield LlmResponse(content=Content(role="model", parts=[Part(text=letter)]), partial=True)
            yield LlmResponse(content=Content(role="model", parts=[Part(text=step)]))
        else:
            parts = [Part(function_call=FunctionCall(name=call.tool, args=rename(call))) for call in step]
            yield LlmResponse(content=Content(role="model", parts=parts))


def rename(call: Call) -> dict[str, Any]:
    """The arguments in the framework's words, where a helper's task is a request."""
    return {"request" if name == "task" else name: value for name, value in call.args.items()}


def build(agent: Agent, calls: list[str], seen: Seen) -> LlmAgent:
    helpers = [AgentTool(build(helper, seen.helped, seen)) for helper in agent.helpers]
    model = ScriptedModel(model="scripted", agent=agent, calls=calls)
    return LlmAgent(name=agent.name, model=model, tools=[*agent.tools, *helpers])


async def run_once(runner: InMemoryRunner, session_id: str, prompt: str, face: Face) -> str:
    mode = StreamingMode.SSE if face == "stream" else StreamingMode.NONE
    options: Any = {
        "user_id": "me",
        "session_id": session_id,
        "new_message": Content(role="user", parts=[Part(text=prompt)]),
        "run_config": RunConfig(streaming_mode=mode),
    }
    if face == "sync":
        events = await asyncio.to_thread(lambda: list(runner.run(**options)))
    else:
        events = [event async for event in runner.run_async(**options)]
    pieces = "".join(part.text or "" for event in events if event.partial for part in event.content.parts)
    answer = "".join(part.text or "" for part in events[-1].content.parts)
    assert pieces in ("", answer)
    return answer


async def run(agent: Agent, prompts: Sequence[str], seen: Seen, *, face: Face, **options: Any) -> None:
    hooks = HooklinePlugin(**options)
    runner = InMemoryRunner(app=App(name="tests", root_agent=build(agent, seen.requests, seen), plugins=[hooks]))
    session = await runner.session_service.create_session(app_name="tests", user_id="me")
    with warnings.catch_warnings():
        # The framework's own tool for agents gives plugins in a way that the framework warns of.
        warnings.filterwarnings("ignore", "The `plugins` argument", DeprecationWarning)
        for prompt in prompts:
            try:
                seen.answers.append(await run_once(runner, session.id, prompt, face))
            except Exception as error:
                # The framework wraps what a plugin raises.
                seen.errors.append(error.__cause__ if isinstance(error.__cause__, PromptBlockedError) else error)
    await runner.close()
