"""
Hookline as a plugin of Strands Agents.

    agent = Agent(plugins=[HooklinePlugin()])
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Any, Unpack
from uuid import uuid4
from weakref import WeakKeyDictionary

from hookline.adapters.adapter import Adapter
from hookline.adapters.face import AWAITING
from hookline.adapters.seam import MissingExtraError, Options, ToolFailedError, get_result, inside
from hookline.errors import HooklineError
from hookline.fields import ToolResult
from hookline.lifecycle.errors import PromptBlockedError, ToolCallDeniedError
from hookline.lifecycle.tool import ToolCall
from hookline.lifecycle.turn import Work

try:
    from strands import Agent
    from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent
    from strands.interrupt import InterruptException
    from strands.middleware import ExecuteToolContext, ExecuteToolStage, InvokeModelContext, InvokeModelStage
    from strands.plugins import Plugin
    from strands.types.events import ToolResultEvent, TypedEvent
except ImportError as error:
    raise MissingExtraError("strands", error) from error

Events = AsyncGenerator[TypedEvent, None]
RunTool = Callable[[ExecuteToolContext], Events]


class HooklinePlugin(Adapter, Plugin):
    """
    Puts an agent's runs and tool calls under the hooks of a project.

    A blocked prompt raises `PromptBlockedError` out of the run. Takes what `Options` in `hookline.adapters.seam` lists.
    The runs of one agent, which keeps its conversation, have one session id. Put it last in the list, so that hooks see
    the arguments that tools get.
    """

    name = "hookline"

    def __init__(self, **options: Unpack[Options]) -> None:
        Plugin.__init__(self)
        Adapter.__init__(self, **options)
        self._session_ids: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    def init_agent(self, agent: Agent) -> None:
        agent.add_hook(self._begin, BeforeInvocationEvent)
        agent.add_hook(self._end, AfterInvocationEvent)
        agent.add_middleware(InvokeModelStage.Input, self._remind)
        agent.add_middleware(ExecuteToolStage, self._call_tool)

    async def _begin(self, event: BeforeInvocationEvent) -> None:
        if event.messages is None:
            raise HooklineError("structured_output() keeps its prompt from hooks; give structured_output_model instead")
        agent, given = event.agent, list[Any](event.messages)
        # Without a message the agent goes on with what the user said at the end of a history that it was given.
        messages = given or list(itertools.takewhile(_is_prompt, reversed(agent.messages)))[::-1]
        prompts = [message for message in messages if _is_prompt(message)]
        text = "\n".join(filter(None, map(_read_text, prompts)))
        run = self._seam.run(
            text if prompts else None,
            agent=agent.name,
            session_id=self._session_ids.setdefault(agent, uuid4().hex),
            is_restored=any(message["role"] == "assistant" for message in agent.messages),
        )
        try:
            await self._runs.begin(str(id(agent)), run, AWAITING)
        except PromptBlockedError:
            if not given:
                del agent.messages[-len(messages) :]  # or they would be sent with the next prompt
            raise
        if prompts and run.turn is not None and run.prompt != text:
            edited = _edit_prompts(messages, run.prompt)
            if given:
                event.messages = edited
            else:
                agent.messages[-len(messages) :] = edited

    async def _end(self, event: AfterInvocationEvent) -> None:
        # The event names no error, but is fired while the one that ends the run is on its way.
        error = sys.exc_info()[1] if event.result is None else None
        if event.result is not None and event.result.stop_reason == "cancelled":
            error = asyncio.CancelledError()
        await self._runs.end(str(id(event.agent)), AWAITING, error)
        await self._runs.end(str(id(event.agent)), AWAITING)  # what the agent does after a failure is no part of it

    def _remind(self, context: InvokeModelContext) -> InvokeModelContext:
        run = self._runs.find(str(id(context.agent)))
        if run is None or not run.reminders:
            return context
        *messages, last = context.messages
        reminded: Any = {**last, "content": [*last["content"], {"text": run.reminders}]}
        # In this call alone, and said to be so, since providers cache what comes before.
        trailing = context.dynamic_trailing_blocks + 1
        return context.replace(messages=[*messages, reminded], dynamic_trailing_blocks=trailing)

    async def _call_tool(self, context: ExecuteToolContext, run_tool: RunTool) -> Events:
        async with AsyncExitStack() as stack:
            run = self._runs.find(str(id(context.agent)))
            if run is None:
                run = await stack.enter_async_context(self._seam.loose_run(agent=context.agent.name))
            is_heard = self._seam.is_heard()
            guarded = self._call_tool_in(run.work, context, run_tool) if is_heard else run_tool(context)
            async with aclosing(guarded) as events:
                async for event in events:
                    yield event

    async def _call_tool_in(self, work: Work, context: ExecuteToolContext, run_tool: RunTool) -> Events:
        use, given = context.tool_use, context.tool_use["input"]
        # A call made by hand has the agent among its arguments.
        args = {name: value for name, value in given.items() if value is not context.agent}
        call = work.tool_call(self._seam.tool(use["name"], args, use["toolUseId"]))
        last: ToolResultEvent | None = None  # and stays so for a denial, and where a hook makes a success of an error
        with suppress(ToolCallDeniedError, ToolFailedError):
            async with call:
                if call.tool.args is not args:
                    kept = {name: value for name, value in given.items() if value is context.agent}
                    context = context.replace(tool_use={**use, "input": {**call.tool.args, **kept}})
                async with aclosing(self._run_inside(work, call, run_tool(context))) as events:
                    async for event in events:
                        if isinstance(event, ToolResultEvent):
                            last = event
                        else:
                            yield event
                if last is None:
                    return
                text = _read_text(last.tool_result)
                if last.exception is not None:
                    raise ToolFailedError(text)
                call.finish(ToolResult(text=text, failed=last.tool_result["status"] == "error"))
        yield _make_event(use["toolUseId"], get_result(call), last)

    async def _run_inside(self, work: Work, call: ToolCall, events: Events) -> Events:
        """What a tool yields, with its place marked while it works and not while its consumer does."""
        try:
            async with aclosing(events):
                while True:
                    with inside(self._seam, work, call.tool):
                        event = await anext(events, None)
                    if event is None:
                        return
                    if "tool_interrupt_event" in event:  # it waits for a human and is made anew
                        call.postpone()
                    yield event
        except InterruptException:
            call.postpone()
            raise


def _is_prompt(message: Mapping[str, Any]) -> bool:
    """Whether the user says something in a message; what tools and humans answer calls is nothing of the kind."""
    answers = ("toolResult", "interruptResponse")
    return message["role"] == "user" and not all(name in block for name in answers for block in message["content"])


def _read_text(message: Mapping[str, Any]) -> str:
    """What a message of the user or a tool's result says in words, data included."""
    blocks = [block for block in message["content"] if "text" in block or "json" in block]
    return "\n".join(block.get("text") or json.dumps(block["json"], ensure_ascii=False) for block in blocks)


def _find_others(message: Mapping[str, Any]) -> list[Any]:
    return [block for block in message["content"] if "text" not in block and "json" not in block]


def _edit_prompts(messages: list[Any], text: str) -> list[Any]:
    """The messages with another text in the last prompt and none in the others; images and so on stay."""
    texts = [{"text": text}]
    edited: list[Any] = []
    for message in reversed(messages):
        if _is_prompt(message):
            edited.append({**message, "content": [*texts, *_find_others(message)]})
            texts = []
        else:
            edited.append(message)
    return [message for message in reversed(edited) if message["content"]]


def _make_event(use_id: str, result: ToolResult, old: ToolResultEvent | None = None) -> ToolResultEvent:
    """What a tool tells the model; the old event if hooks changed nothing of it."""
    told: Any = {"content": []} if old is None else old.tool_result
    status = "error" if result.failed else "success"
    if old is not None and (_read_text(told), told["status"]) == (result.text, status):
        return old
    content = [{"text": result.text}, *_find_others(told)]
    edited: Any = {**told, "toolUseId": use_id, "status": status, "content": content}
    return ToolResultEvent(edited, old.exception if old is not None and result.failed else None)
