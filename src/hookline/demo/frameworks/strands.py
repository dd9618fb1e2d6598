"""The agent of the demo inside Strands Agents."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.models import Model

from hookline.adapters.strands import HooklinePlugin
from hookline.demo.frameworks.job import Job, RunAgent


class ScriptedModel(Model):
    """A model that wants what the script of a job says."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def update_config(self, **model_config: Any) -> None:
        """A script has no configuration."""

    def get_config(self) -> Any:
        """The same."""
        return {}

    def structured_output(self, *args: Any, **options: Any) -> Any:
        """A script gives texts alone."""
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """The next step, as a provider streams it."""
        del args, options
        blocks = [block["toolResult"] for message in messages for block in message["content"] if "toolResult" in block]
        step = self._job.find_step(["\n".join(part.get("text", "") for part in block["content"]) for block in blocks])
        start: Any = {}
        delta: Any = {"text": self._job.answer}
        if step is not None:
            start = {"toolUse": {"name": step.name, "toolUseId": step.call_id}}
            delta = {"toolUse": {"input": json.dumps(step.args)}}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if step is None else "tool_use"}}


def build(job: Job) -> RunAgent:
    """An agent that does the job; a real model is one of Bedrock, by its id."""
    tools: list[Any] = [tool(function) for function in job.tools]
    plugins = job.choose_adapter(HooklinePlugin)

    async def run() -> str:
        # An agent keeps its conversation, and each run of the job is a new one.
        agent = Agent(job.model or ScriptedModel(job), name="Demo", tools=tools, plugins=plugins, callback_handler=None)
        return str(await agent.invoke_async(job.prompt)).strip()

    return run
