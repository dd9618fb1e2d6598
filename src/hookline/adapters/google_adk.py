"""
Hookline as a plugin of Google's Agent Development Kit.

    app = App(name="helper", root_agent=agent, plugins=[HooklinePlugin()])
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Unpack, get_type_hints
from weakref import WeakSet

from hookline.adapters.adapter import Adapter
from hookline.adapters.face import AWAITING
from hookline.adapters.seam import PLACE, MissingExtraError, Options, Place, Run, get_result, read_told
from hookline.errors import HooklineError
from hookline.fields import ToolResult
from hookline.lifecycle.errors import ToolCallDeniedError
from hookline.lifecycle.tool import ToolCall

try:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.function_tool import FunctionTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai.types import Content, Part
    from pydantic import TypeAdapter, ValidationError
except ImportError as error:
    raise MissingExtraError("google-adk", error) from error

Values = dict[str, Any]


class HooklinePlugin(Adapter, BasePlugin):
    """
    Puts the runs of an app and all tool calls of its agents under the hooks of a project.

    A blocked prompt ends the run with the framework's `RuntimeError`, whose cause is `PromptBlockedError`. Takes what
    `Options` in `hookline.adapters.seam` lists. Runs of one session of the framework are of one session here.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        BasePlugin.__init__(self, name="hookline")
        Adapter.__init__(self, **options)
        # The calls under way, and the places that they are made in.
        self._calls: dict[tuple[str, int], tuple[ToolCall, Place | None]] = {}
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._watched: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._endings: set[asyncio.Task[None]] = set()

    async def close(self) -> None:  # type: ignore[override] # the framework awaits it when a runner is closed
        await self.aclose()

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: Content
    ) -> Content | None:
        parts = user_message.parts or []
        texts = [part.text for part in parts if part.text]
        if not texts and any(part.function_response for part in parts):
            return None  # the answer to a call, which before_run_callback begins a run for
        run = await self._begin(invocation_context, "\n".join(texts))
        if run.turn is None or run.prompt == "\n".join(texts):
            return None
        return Content(role=user_message.role, parts=[Part(text=run.prompt), *(p for p in parts if not p.text)])

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        if self._runs.find(invocation_context.invocation_id) is None:
            await self._begin(invocation_context, None)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        is_aborted = getattr(invocation_context, "is_aborted", False)
        await self._end(invocation_context.invocation_id, asyncio.CancelledError() if is_aborted else None)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        await self._end(invocation_context.invocation_id, error)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        run = self._runs.find(callback_context.invocation_id)
        if run is not None and run.reminders:
            # In this request alone: its list is made anew for each.
            llm_request.contents.append(Content(role="user", parts=[Part(text=run.reminders)]))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: Values, tool_context: ToolContext
    ) -> Values | None:
        run = self._runs.find(tool_context.invocation_id)
        if run is None:
            raise HooklineError(f"tool {tool.name!r} is called outside of a run, where no hook can be asked")
        if not self._seam.is_heard():
            return None
        args = dict(tool_args)
        call = run.work.tool_call(self._seam.tool(tool.name, args, tool_context.function_call_id))
        try:
            await AWAITING.enter(call)
        except ToolCallDeniedError as denied:
            return {"error": denied.result.text}
        self._calls[_get_key(tool_context)] = (call, PLACE.get())
        if call.tool.args is not args:
            misfit = _find_misfit(tool, call.tool.args)
            if misfit is not None:
                await self._leave(tool_context, misfit)
                return {"error": read_told(call)}
            tool_args.clear()
            tool_args.update(call.tool.args)
        # The tool runs in the context of its callbacks.
        PLACE.set(Place(seam=self._seam, work=run.work, tool=call.tool))
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: Values, tool_context: ToolContext, result: Any
    ) -> Values | None:
        call, _ = self._calls.get(_get_key(tool_context), (None, None))
        if call is None:  # it was denied, or no hook hears of it
            return None
        actions, call_id = tool_context.actions, tool_context.function_call_id
        if call_id in {**actions.requested_tool_confirmations, **actions.requested_auth_configs}:
            call.postpone()  # it waits for a human and is made anew
        told = ToolResult(text=_read_text(result), failed=isinstance(result, Mapping) and bool(result.get("error")))
        call.finish(told)
        await self._leave(tool_context, None)
        new = get_result(call)
        if (new.text, new.failed) == (told.text, told.failed):
            return None
        return {"error" if new.failed else "result": new.text}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: Values, tool_context: ToolContext, error: BaseException
    ) -> Values | None:
        call, _ = self._calls.get(_get_key(tool_context), (None, None))
        if call is not None and await self._leave(tool_context, error):
            return {"result": read_told(call)}
        return None

    async def _leave(self, tool_context: ToolContext, error: BaseException | None) -> bool:
        """Leave a call; whether a hook made a success of its error."""
        call, outside = self._calls.pop(_get_key(tool_context))
        PLACE.set(outside)
        return await AWAITING.leave(call, error)

    async def _begin(self, context: InvocationContext, prompt: str | None) -> Run:
        run = self._seam.run(
            prompt,
            agent=context.agent.name if context.agent is not None else "",
            session_id=context.session.id,
            is_restored=any(event.author != "user" for event in context.session.events),
        )
        key = context.invocation_id
        await self._runs.begin(key, run, AWAITING)
        task = asyncio.current_task()
        if task is not None:
            self._tasks[key] = task
            if task not in self._watched:
                self._watched.add(task)
                task.add_done_callback(self._end_cancelled)
        return run

    def _end_cancelled(self, task: asyncio.Task[Any]) -> None:
        """End the runs of a task that was cancelled, since nobody tells a plugin of that."""
        for key in [key for key, other in self._tasks.items() if other is task and task.cancelled()]:
            ending = asyncio.ensure_future(self._end(key, asyncio.CancelledError()))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    async def _end(self, key: str, error: BaseException | None) -> None:
        for opened in [opened for opened in self._calls if opened[0] == key]:
            # Another plugin has kept the end of the call to itself.
            await AWAITING.leave(self._calls.pop(opened)[0], error)
        self._tasks.pop(key, None)
        await self._runs.end(key, AWAITING, error)
        await self._runs.end(key, AWAITING)  # a run that failed is over, and may be taken up again


def _get_key(context: ToolContext) -> tuple[str, int]:
    return context.invocation_id, id(context)  # a model may give two calls the same id


def _find_misfit(tool: BaseTool, args: Mapping[str, Any]) -> Exception | None:
    """What is wrong with arguments that hooks wrote for a function, which the framework hands over as they are."""
    hints = get_type_hints(tool.func) if isinstance(tool, FunctionTool) else {}
    try:
        for name in hints.keys() & args.keys():
            TypeAdapter(hints[name]).validate_python(args[name])
    except ValidationError as error:
        return HooklineError(f"a hook gave {tool.name!r} arguments that it does not take: {error}")
    return None


def _read_text(result: Any) -> str:
    """What the model is told of a tool's return value; the framework puts one that is no dict under `result`."""
    if isinstance(result, Mapping) and result.keys() in ({"result"}, {"error"}):
        (result,) = result.values()
    if result is None:
        return ""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
