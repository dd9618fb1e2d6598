"""The OpenAI Agents SDK: agents with a scripted model, and their conversation as a list of items."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any
from uuid import uuid4

import agents
from agents import FunctionTool, ModelResponse, Usage, function_tool
from agents.models.interface import Model
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from adapters.driver import Agent, Face, Seen, take
from hookline.adapters.openai_agents import HooklineRunner

# Traces would be sent to the provider.
agents.set_tracing_disabled(True)


class ScriptedModel(Model):
    """Follows an agent's script."""

    def __init__(self, agent: Agent, calls: list[str]) -> None:
        self.agent = agent
        self.calls = calls

    def answer(self, instructions: str | None, given: Any) -> list[Any]:
        step = take(self.agent.script, self.calls, f"{instructions or ''}\n{show(given)}")
        if not isinstance(step, str):
            return [make_call(call.tool, call.args) for call in step]
        text = ResponseOutputText(type="output_text", text=step, annotations=[])
        return [
            ResponseOutputMessage(type="message", id=uuid4().hex, role="assistant", status="completed", content=[text])
        ]

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        output = self.answer(options["system_instructions"], options["input"])
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    async def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        response = Response(
            id=uuid4().hex,
            created_at=0,
            model="scripted",
            object="response",
            output=self.answer(*args[:2]),
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


def make_call(name: str, args: dict[str, Any] | str) -> ResponseFunctionToolCall:
    call_id = uuid4().hex
    arguments = args if isinstance(args, str) else json.dumps(args)
    return ResponseFunctionToolCall(type="function_call", id=call_id, call_id=call_id, name=name, arguments=arguments)


def show(given: Any) -> str:
    """All text of a request."""
    if isinstance(given, str):
        return given
    texts = []
    for item in given:
        content = item.get("content", item.get("output", ""))
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or []]
        texts.extend(parts)
    return "\n".join(texts)


@dataclasses.dataclass
class Task:
    """What a helper is asked to do."""

    task: str


def build(agent: Agent, calls: list[str], seen: Seen) -> agents.Agent[None]:
    return agents.Agent(
        agent.name,
        model=ScriptedModel(agent, calls),
        tools=[*map(make_tool, agent.tools), *(make_helper(helper, seen) for helper in agent.helpers)],
    )


def make_tool(function: Callable[..., Any]) -> FunctionTool:
    return function_tool(function, failure_error_function=lambda _, error: f"it failed: {error}")


def make_helper(helper: Agent, seen: Seen) -> FunctionTool:
    return build(helper, seen.helped, seen).as_tool(helper.name, "Ask a helper.", parameters=Task)


def run_sync(runner: HooklineRunner, agent: Any, given: Any) -> Any:
    # The framework makes itself a loop for a thread that has none, and never closes it.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return runner.run_sync(agent, given)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def run_once(runner: HooklineRunner, agent: Any, given: Any, face: Face) -> Any:
    if face == "sync":
        return await asyncio.to_thread(run_sync, runner, agent, given)
    if face == "async":
        return await runner.run(agent, given)
    result = await runner.run_streamed(agent, given)
    async for _ in result.stream_events():
        pass
    return result


async def run(agent: Agent, prompts: Sequence[str], seen: Seen, *, face: Face, **options: Any) -> None:
    built = build(agent, seen.requests, seen)
    runner = HooklineRunner(**options)
    history: list[Any] = []
    for prompt in prompts:
        try:
            result = await run_once(runner, built, [*history, {"role": "user", "content": prompt}], face)
        except Exception as error:
            seen.errors.append(error)
        else:
            history = result.to_input_list()
            seen.answers.append(result.final_output)
