"""Strands: agents with a scripted model; an agent keeps its conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

import strands
from strands.models import Model

from adapters.driver import Agent, Face, Seen, take
from hookline.adapters.strands import HooklinePlugin


def show(messages: list[Any]) -> str:
    """All text of a request."""
    texts = []
    for message in messages:
        for block in message["content"]:
            inner = block["toolResult"]["content"] if "toolResult" in block else [block]
            texts += [part["text"] for part in inner if "text" in part]
    return "\n".join(texts)


class ScriptedModel(Model):
    """Follows an agent's script."""

    def __init__(self, agent: Agent, calls: list[str]) -> None:
        self.agent, self.calls = agent, calls

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: list[Any], *args: Any, **options: Any) -> AsyncIterator[Any]:
        step = take(self.agent.script, self.calls, show(messages))
        yield {"messageStart": {"role": "assistant"}}
        for event in self.say(step) if isinstance(step, str) else self.want(step):
            yield event
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(step, str) else "tool_use"}}

    def say(self, text: str) -> list[Any]:
        pieces = [{"contentBlockDelta": {"delta": {"text": letter}}} for letter in text]
        return [{"contentBlockStart": {"start": {}}}, *pieces, {"contentBlockStop": {}}]

    def want(self, calls: Sequence[Any]) -> list[Any]:
        events: list[Any] = []
        for call in calls:
            start = {"toolUse": {"name": call.tool, "toolUseId": uuid4().hex}}
            delta = {"toolUse": {"input": json.dumps(call.args)}}
            events += [{"contentBlockStart": {"start": start}}, {"contentBlockDelta": {"delta": delta}}]
            events.append({"contentBlockStop": {}})
        return events


def make_helper(helper: strands.Agent, name: str) -> Any:
    async def ask(task: str) -> str:
        """Ask a helper."""
        return str(await helper.invoke_async(task)).strip()

    return strands.tool(name=name)(ask)


def build(agent: Agent, calls: list[str], seen: Seen, hooks: HooklinePlugin) -> strands.Agent:
    helpers = [make_helper(build(helper, seen.helped, seen, hooks), helper.name) for helper in agent.helpers]
    return strands.Agent(
        ScriptedModel(agent, calls),
        name=agent.name,
        tools=[*(strands.tool(function) for function in agent.tools), *helpers],
        plugins=[hooks],
        callback_handler=None,
    )


async def run_once(agent: strands.Agent, prompt: str, face: Face) -> str:
    if face == "sync":
        return str(await asyncio.to_thread(agent, prompt)).strip()
    if face == "async":
        return str(await agent.invoke_async(prompt)).strip()
    pieces, result = [], ""
    async for event in agent.stream_async(prompt):
        pieces.append(event.get("data", ""))
        result = str(event.get("result", result)).strip()
    assert "".join(pieces).strip().endswith(result)
    return result


async def run(agent: Agent, prompts: Sequence[str], seen: Seen, *, face: Face, **options: Any) -> None:
    built = build(agent, seen.requests, seen, HooklinePlugin(**options))
    for prompt in prompts:
        try:
            seen.answers.append(await run_once(built, prompt, face))
        except Exception as error:
            seen.errors.append(error)
