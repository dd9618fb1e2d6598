"""LangChain: agents with a scripted chat model, and a checkpointer that keeps their conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from adapters.driver import Agent, Face, Seen, take
from hookline.adapters.langchain import HooklineMiddleware


class ScriptedModel(BaseChatModel):
    """Follows an agent's script."""

    agent: Any
    calls: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> ScriptedModel:
        del tools, options
        return self

    def answer(self, messages: list[BaseMessage]) -> AIMessage:
        step = take(self.agent.script, self.calls, "\n".join(message.text for message in messages))
        if isinstance(step, str):
            return AIMessage(step)
        return AIMessage("", tool_calls=[{"name": c.tool, "args": c.args, "id": uuid4().hex} for c in step])

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])

    def _stream(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Iterator[ChatGenerationChunk]:
        answer = self.answer(messages)
        for letter in answer.text:
            yield ChatGenerationChunk(message=AIMessageChunk(letter))
        if answer.tool_calls:
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_calls=answer.tool_calls))


def make_tool(function: Callable[..., Any]) -> StructuredTool:
    if asyncio.iscoroutinefunction(function):
        return StructuredTool.from_function(coroutine=function)
    return StructuredTool.from_function(function)


def make_helper(helper: Any, name: str) -> StructuredTool:
    def ask(task: str) -> str:
        return helper.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text

    async def ask_async(task: str) -> str:
        return (await helper.ainvoke({"messages": [HumanMessage(task)]}))["messages"][-1].text

    return StructuredTool.from_function(ask, ask_async, name=name, description="Ask a helper.")


def build(agent: Agent, calls: list[str], seen: Seen, hooks: HooklineMiddleware, **options: Any) -> Any:
    helpers = [make_helper(build(helper, seen.helped, seen, hooks), helper.name) for helper in agent.helpers]
    tools = [*(make_tool(function) for function in agent.tools), *helpers]
    model = ScriptedModel(agent=agent, calls=calls)
    return create_agent(model, tools, name=agent.name, middleware=[hooks], **options)


async def run_once(graph: Any, message: Any, config: Any, face: Face) -> str:
    if face == "sync":
        result = await asyncio.to_thread(graph.invoke, message, config)
    elif face == "async":
        result = await graph.ainvoke(message, config)
    else:
        async for mode, part in graph.astream(message, config, stream_mode=["messages", "values"]):
            if mode == "values":
                result = part
    return result["messages"][-1].text


async def run(agent: Agent, prompts: Sequence[str], seen: Seen, *, face: Face, **options: Any) -> None:
    graph = build(agent, seen.requests, seen, HooklineMiddleware(**options), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": uuid4().hex}}
    for prompt in prompts:
        try:
            seen.answers.append(await run_once(graph, {"messages": [HumanMessage(prompt)]}, config, face))
        except Exception as error:
            seen.errors.append(error)
