"""Pydantic AI: agents with a function as their model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pydantic_ai
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from adapters.driver import Agent, Face, Seen, take
from hookline.adapters.pydantic_ai import HooklineCapability


def show(messages: list[ModelMessage]) -> str:
    """All text of a request."""
    texts = []
    for message in messages:
        for part in message.parts:
            content = part.model_response_str() if isinstance(part, ToolReturnPart) else getattr(part, "content", "")
            texts.append(str(content))
    return "\n".join(texts)


def make_model(agent: Agent, calls: list[str]) -> FunctionModel:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        step = take(agent.script, calls, show(messages))
        if isinstance(step, str):
            return ModelResponse(parts=[TextPart(step)])
        return ModelResponse(parts=[ToolCallPart(call.tool, call.args) for call in step])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for part in answer(messages, info).parts:
            if isinstance(part, TextPart):
                for letter in part.content:
                    yield letter
            else:
                assert isinstance(part, ToolCallPart)
                yield {0: DeltaToolCall(part.tool_name, part.args_as_json_str())}

    return FunctionModel(answer, stream_function=stream)


def build(agent: Agent, calls: list[str], seen: Seen, hooks: HooklineCapability) -> pydantic_ai.Agent[None, str]:
    built = pydantic_ai.Agent(
        make_model(agent, calls), name=agent.name, tools=agent.tools, capabilities=[hooks], retries=2
    )
    for helper in agent.helpers:
        add_helper(built, build(helper, seen.helped, seen, hooks), helper.name)
    return built


def add_helper(agent: pydantic_ai.Agent[None, str], helper: pydantic_ai.Agent[None, str], name: str) -> None:
    async def ask(task: str) -> str:
        return (await helper.run(task)).output

    agent.tool_plain(ask, name=name)


def run_sync(agent: pydantic_ai.Agent[None, str], prompt: str, history: Any) -> Any:
    # The framework makes itself a loop for a thread that has none, and never closes it.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return agent.run_sync(prompt, message_history=history)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def run_once(agent: pydantic_ai.Agent[None, str], prompt: str, history: Any, face: Face) -> Any:
    if face == "sync":
        return await asyncio.to_thread(run_sync, agent, prompt, history)
    if face == "async":
        return await agent.run(prompt, message_history=history)
    async with agent.run_stream(prompt, message_history=history) as result:
        answer = [text async for text in result.stream_text(delta=True)]
        assert "".join(answer) == await result.get_output()
        return result


async def run(agent: Agent, prompts: Sequence[str], seen: Seen, *, face: Face, **options: Any) -> None:
    history: list[ModelMessage] = []
    built = build(agent, seen.requests, seen, HooklineCapability(**options))
    for prompt in prompts:
        try:
            result = await run_once(built, prompt, history, face)
        except Exception as error:
            seen.errors.append(error)
        else:
            history = result.all_messages()
            seen.answers.append(result.output if face != "stream" else await result.get_output())
