"""The agent of the demo inside Google ADK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, FunctionCall, GenerateContentResponseUsageMetadata, Part

from hookline.adapters.google_adk import HooklinePlugin
from hookline.demo.frameworks.job import Job, RunAgent

Responses = AsyncGenerator[LlmResponse, None]
# Without figures the framework warns of each call.
USAGE = GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)


class ScriptedModel(BaseLlm):
    """A model that wants what the script of a job says."""

    job: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The next step."""
        del stream
        parts = [part for content in llm_request.contents for part in content.parts or []]
        results = [dict(part.function_response.response or {}) for part in parts if part.function_response]
        step = self.job.find_step(["\n".join(map(str, result.values())) for result in results])
        part = Part(text=self.job.answer)
        if step is not None:
            part = Part(function_call=FunctionCall(name=step.name, args=dict(step.args), id=step.call_id))
        yield LlmResponse(content=Content(role="model", parts=[part]), usage_metadata=USAGE)


def build(job: Job) -> RunAgent:
    """An agent that does the job."""
    model = job.model or ScriptedModel(model="scripted", job=job)
    agent = LlmAgent(name="Demo", model=model, tools=list(job.tools))
    app = App(name="demo", root_agent=agent, plugins=job.choose_adapter(HooklinePlugin))
    runner = InMemoryRunner(app=app)

    async def run() -> str:
        session = await runner.session_service.create_session(app_name="demo", user_id="you")
        prompt = Content(role="user", parts=[Part(text=job.prompt)])
        answer = ""
        async for event in runner.run_async(user_id="you", session_id=session.id, new_message=prompt):
            parts = (event.content.parts or []) if event.content is not None else []
            answer = "".join(part.text or "" for part in parts)
        return answer

    return run
