"""
Hookline as a middleware of LangChain, and as the wrapper of a LangGraph tool node.

    agent = create_agent("anthropic:...", tools, middleware=[HooklineMiddleware()])
    node = ToolNode(tools, wrap_tool_call=hooks.wrap_tool_call, awrap_tool_call=hooks.awrap_tool_call)
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, NotRequired, TypeVar, Unpack
from uuid import uuid4

from hookline.adapters.adapter import Adapter
from hookline.adapters.face import AWAITING, PLAIN, Face, dress, run_plainly
from hookline.adapters.seam import PLACE, MissingExtraError, Options, Run, get_result, inside, read_told
from hookline.fields import ToolResult
from hookline.lifecycle.errors import PromptBlockedError, ToolCallDeniedError

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain.tools.tool_node import ToolCallRequest
    from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp
    from langgraph.runtime import Runtime
    from langgraph.types import Command
except ImportError as error:
    raise MissingExtraError("langchain", error) from error

Request = ModelRequest[Any]
Response = ModelResponse[Any]
Answer = ToolMessage | Command[Any]
CallModel = Callable[[Request], Awaitable[Response]]
CallTool = Callable[[ToolCallRequest], Awaitable[Answer]]
M = TypeVar("M", bound=BaseMessage)


class HooklineState(AgentState[Any]):
    """What the middleware keeps in an agent's state: which run it belongs to, also after an interrupt."""

    hookline_run: NotRequired[Annotated[str, PrivateStateAttr]]


class HooklineMiddleware(Adapter, AgentMiddleware[HooklineState, Any, Any]):
    """
    Puts an agent's runs and tool calls under the hooks of a project.

    A blocked prompt raises `PromptBlockedError` out of the run and leaves the thread as it was. Takes what `Options` in
    `hookline.adapters.seam` lists. Put it last in the list, so that hooks see the arguments that tools get.
    """

    state_schema = HooklineState

    def __init__(self, **options: Unpack[Options]) -> None:
        Adapter.__init__(self, **options)
        self._blocked: dict[str, PromptBlockedError] = {}

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: HooklineState, runtime: Runtime[Any]) -> dict[str, Any]:
        return run_plainly(self._begin(state, PLAIN))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: HooklineState, runtime: Runtime[Any]) -> dict[str, Any]:
        return await self._begin(state, AWAITING)

    def after_agent(self, state: HooklineState, runtime: Runtime[Any]) -> None:
        run_plainly(self._end(state, PLAIN))

    async def aafter_agent(self, state: HooklineState, runtime: Runtime[Any]) -> None:
        await self._end(state, AWAITING)

    def wrap_model_call(self, request: Request, handler: Callable[[Request], Response]) -> Response:
        return run_plainly(self._call_model(request, dress(handler), PLAIN))

    async def awrap_model_call(self, request: Request, handler: CallModel) -> Response:
        return await self._call_model(request, handler, AWAITING)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        return run_plainly(self._call_tool(request, dress(handler), PLAIN))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: CallTool) -> Answer:
        return await self._call_tool(request, handler, AWAITING)

    async def _begin(self, state: HooklineState, face: Face) -> dict[str, Any]:
        config = get_config()
        thread = config.get("configurable", {}).get("thread_id") if PLACE.get() is None else None
        prompts = _find_prompts(state["messages"])
        text = "\n".join(message.text for message in prompts)
        agent = config.get("metadata", {}).get("lc_agent_name", "")
        is_restored = any(isinstance(message, AIMessage) for message in state["messages"])
        prompt = text if prompts else None
        run = self._seam.run(prompt, agent=agent, session_id=thread, is_restored=is_restored)
        key = thread or uuid4().hex
        try:
            await self._runs.begin(key, run, face)
        except PromptBlockedError as blocked:
            # The prompt is in the thread's history already; the error is raised when it has been taken out.
            self._blocked[key] = blocked
            return {"messages": _remove(prompts), "hookline_run": key, "jump_to": "end"}
        edited: list[BaseMessage] = []
        if prompts and run.turn is not None and run.prompt != text:
            edited = [*_remove(prompts[:-1]), _edit_message(prompts[-1], run.prompt)]
        return {"messages": edited, "hookline_run": key}

    async def _end(self, state: HooklineState, face: Face) -> None:
        key = _find_key(state)
        if key in self._blocked:
            raise self._blocked.pop(key)
        await self._runs.end(key, face)

    async def _call_model(self, request: Request, handler: CallModel, face: Face) -> Response:
        key = _find_key(request.state)
        run = self._runs.find(key)
        if run is not None and run.reminders:
            request = request.override(messages=[*request.messages, HumanMessage(run.reminders)])
        async with self._runs.ending(key, face, but_for=GraphBubbleUp):
            return await handler(request)

    async def _call_tool(self, request: ToolCallRequest, handler: CallTool, face: Face) -> Answer:
        key = _find_key(request.state)
        run = self._runs.find(key)
        if run is None:
            async with face.live(loose := self._seam.loose_run()):
                return await self._call_tool_in(loose, request, handler, face)
        async with self._runs.ending(key, face, but_for=GraphBubbleUp):  # after an interrupt a run goes on
            return await self._call_tool_in(run, request, handler, face)

    async def _call_tool_in(self, run: Run, request: ToolCallRequest, handler: CallTool, face: Face) -> Answer:
        wanted = request.tool_call
        call = run.work.tool_call(self._seam.tool(wanted["name"], wanted["args"], wanted["id"]))
        message = answer = None  # and stay so where a hook makes a success of an exception
        about_call = {"name": wanted["name"], "tool_call_id": wanted["id"]}
        try:
            async with face.live(call):
                if call.tool.args is not wanted["args"]:
                    request = request.override(tool_call={**wanted, "args": dict(call.tool.args)})
                try:
                    with inside(self._seam, run.work, call.tool):
                        answer = await handler(request)
                except GraphBubbleUp:  # the call waits for a human and is made anew
                    call.postpone()
                    raise
                if (message := _find_message(answer, wanted["id"])) is not None:
                    call.finish(ToolResult(text=message.text, failed=message.status == "error"))
        except ToolCallDeniedError as denied:
            return ToolMessage(denied.result.text, status="error", **about_call)
        if answer is None:
            return ToolMessage(read_told(call), **about_call)
        return answer if message is None else _edit_answer(answer, message, get_result(call))


def _find_key(state: Any) -> str:
    """Which run a state belongs to; that of a graph without an agent says nothing."""
    return state.get("hookline_run", "") if isinstance(state, Mapping) else ""


def _find_prompts(messages: list[AnyMessage]) -> list[AnyMessage]:
    """What the user said since the last answer."""
    said = itertools.takewhile(lambda message: isinstance(message, HumanMessage), reversed(messages))
    return list(said)[::-1]


def _remove(messages: list[AnyMessage]) -> list[BaseMessage]:
    return [RemoveMessage(id=message.id or "") for message in messages]


def _find_message(answer: Answer, call_id: str | None) -> ToolMessage | None:
    """What the model is told of a call."""
    if isinstance(answer, ToolMessage):
        return answer
    messages = answer.update.get("messages", ()) if isinstance(answer.update, Mapping) else ()
    return next((m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call_id), None)


def _edit_answer(answer: Answer, old: ToolMessage, result: ToolResult) -> Answer:
    """The answer with the result in the message that the model is told."""
    status: Any = "error" if result.failed else "success"
    if (old.text, old.status) == (result.text, status):
        return answer
    new = _edit_message(old, result.text).model_copy(update={"status": status})
    if isinstance(answer, ToolMessage) or not isinstance(answer.update, Mapping):
        return new
    messages = [new if message is old else message for message in answer.update["messages"]]
    return replace(answer, update={**answer.update, "messages": messages})


def _edit_message(message: M, text: str) -> M:
    """The message with another text; its images and so on stay."""
    blocks = [] if isinstance(message.content, str) else message.content
    others = [block for block in blocks if isinstance(block, dict) and block.get("type") != "text"]
    return message.model_copy(update={"content": [{"type": "text", "text": text}, *others] if others else text})
