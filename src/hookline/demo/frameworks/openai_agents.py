"""The agent of the demo inside the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from hookline.adapters.openai_agents import HooklineRunner
from hookline.demo.frameworks.job import Job, RunAgent


class ScriptedModel(Model):
    """A model that wants what the script of a job says."""

    def __init__(self, job: Job) -> None:
        self._job = job

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        """The next call, or the answer."""
        given = options["input"]
        step = self._job.find_step([item["output"] for item in given if item.get("type") == "function_call_output"])
        output: Any = make_text(self._job.answer)
        if step is not None:
            output = make_call(step.name, json.dumps(dict(step.args)), step.call_id)
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """The demo streams nothing."""
        raise NotImplementedError


def make_text(text: str) -> ResponseOutputMessage:
    """A message of the model."""
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        type="message", id=uuid4().hex, role="assistant", status="completed", content=[content]
    )


def make_call(name: str, arguments: str, call_id: str) -> ResponseFunctionToolCall:
    """A tool call of the model."""
    return ResponseFunctionToolCall(type="function_call", id=call_id, call_id=call_id, name=name, arguments=arguments)


def build(job: Job) -> RunAgent:
    """An agent that does the job."""
    runner = next(iter(job.choose_adapter(HooklineRunner)), Runner)
    tools: list[Any] = [function_tool(tool) for tool in job.tools]
    agent = Agent("Demo", model=job.model or ScriptedModel(job), tools=tools)
    # Nothing is sent to the provider for a script.
    config = RunConfig(tracing_disabled=job.model is None)

    async def run() -> str:
        result = await runner.run(agent, job.prompt, run_config=config, max_turns=10_000)
        return str(result.final_output)

    return run
