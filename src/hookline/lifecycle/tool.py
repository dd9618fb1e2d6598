"""A tool call: asked about before it runs, approved where a human must, reported after it ran or did not."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal
from uuid import uuid4

from msgspec.structs import replace

from hookline.edit_rule import join_texts
from hookline.fields import (
    AfterToolCall,
    ApprovalRequested,
    ApprovalResolved,
    BeforeToolCall,
    PermissionRequest,
    Tool,
    ToolError,
    ToolResult,
)
from hookline.lifecycle.errors import ToolCallDeniedError
from hookline.lifecycle.scope import Asked, Phase, Scope, describe_error, is_interruption, refuse
from hookline.lifecycle.step import Call, Step
from hookline.outcome import Decision

Approve = Callable[[Tool], bool | Tool | Awaitable[bool | Tool]]
"""A host's own approval: True accepts the call, a tool accepts it with other arguments, False or nothing rejects it."""

Check = Callable[[Mapping[str, Any]], str | None]
"""What is wrong with arguments that hooks rewrote, in words; None when they fit. `make_check` makes one."""

MARKED_AS_ERROR = "Tool result marked as error by a hook"
"""What is told of a result without words that a hook has marked as an error."""

_NO_ANSWER = "nobody could be asked"


class ToolCall(Phase):
    """
    One tool call, from the intention to its result.

    Entering it fires `before_tool_call`, puts a hook's question to the session's `ask`, and then asks `approve`
    (with the approval events around it); if that changes the arguments, `before_tool_call` is fired again with
    them. Before a human is asked, `permission_request` is fired, with the `requested_dirs`. Raises
    `ToolCallDeniedError` when the call must not run, after `after_tool_call` has said so; so it does when hooks
    rewrote the arguments and `check` finds fault with them. Inside, `tool` is the call as it is to run, `requested`
    as it was asked for, and `finish` takes its result. Leaving it fires `after_tool_call`, and `tool_error` when an
    exception leaves it. `result` is then what the model is told, as hooks left it. An exception goes on unless a
    hook made a success of the call.
    """

    def __init__(
        self,
        scope: Scope,
        tool: Tool,
        *,
        approve: Approve | None = None,
        check: Check | None = None,
        requested_dirs: Sequence[str] = (),
    ) -> None:
        super().__init__(scope)
        self.tool = self.requested = tool
        self.result: ToolResult | None = None
        self._approve = approve
        self._check = check
        self._requested_dirs = requested_dirs
        self._reported: ToolResult | None = None
        self._started_at = 0.0
        self._is_postponed = False
        self._context: tuple[str, ...] = ()

    @property
    def is_edited(self) -> bool:
        """Whether hooks changed the result that was reported, or added to it."""
        return self.result is not self._reported

    @property
    def is_mended(self) -> bool:
        """Whether the call raised and a hook made a success of it."""
        reported, result = self._reported, self.result
        return reported is not None and reported.error and result is not None and not result.failed

    @property
    def is_marked(self) -> bool:
        """Whether the call succeeded and a hook marked its result as an error."""
        reported, result = self._reported, self.result
        return reported is not None and not reported.failed and result is not None and result.failed

    def finish(self, result: ToolResult | str) -> None:
        """Hand in what the tool returned."""
        self.result = ToolResult(text=result) if isinstance(result, str) else result

    def postpone(self) -> None:
        """Say that the call does not run now and will be made anew later; leaving it then reports nothing."""
        self._is_postponed = True

    def _enter(self) -> Step[None]:
        yield from self._ask_hooks()
        if self._approve is not None:
            edited = yield from self._ask_human(self._approve)
            if edited is not None:
                self.tool = edited
                yield from self._ask_hooks()
        self._started_at = time.monotonic()

    def _ask_hooks(self) -> Step[None]:
        tool = self.tool
        decision = yield from self._scope.fire("before_tool_call", lambda: BeforeToolCall(tool=tool))
        if decision.event is not None and decision.event.tool is not None:
            self.tool = decision.event.tool
        self._context += decision.context
        if decision.verdict == "block":
            yield from self._deny(decision, "hook")
        if self._check is not None and self.tool.args is not tool.args:
            misfit = self._check(self.tool.args)
            if misfit is not None:
                reason = f"a hook rewrote the arguments of {tool.name}, and they do not fit: {misfit}"
                yield from self._deny(refuse(decision, reason), "hook")
        if decision.verdict == "ask":
            yield from self._put_question(decision)

    def _put_question(self, decision: Decision) -> Step[None]:
        ask, event = self._scope.ask, decision.event
        if ask is None or event is None:
            reason = f"{decision.reason} ({_NO_ANSWER})"
            yield from self._deny(refuse(decision, reason), "hook")
            return
        yield from self._ask_permission()
        is_agreed = yield Call(ask, (Asked(reason=decision.reason or "", event=event),))
        if not is_agreed:
            yield from self._deny(refuse(decision), "user")

    def _ask_permission(self) -> Step[None]:
        """Ask the hooks whether the human may be asked."""
        tool, folders = self.tool, self._requested_dirs
        decision = yield from self._scope.fire(
            "permission_request", lambda: PermissionRequest(tool=tool, requested_dirs=folders)
        )
        if decision.verdict == "block":
            reason = f"Permission denied by hook: {decision.reason or 'it gave no reason'}"
            yield from self._deny(refuse(decision, reason), "hook")

    def _ask_human(self, approve: Approve) -> Step[Tool | None]:
        """The host's approval, with its events; returns the tool when its arguments were edited."""
        yield from self._ask_permission()
        tool, request_id, caller = self.tool, uuid4().hex, self._scope.agent.name or self._scope.profile
        yield from self._scope.fire(
            "approval_requested", lambda: ApprovalRequested(request_id=request_id, caller_name=caller, tool=tool)
        )
        answer: bool | Tool = yield Call(approve, (tool,))
        is_approved = bool(answer)
        yield from self._scope.fire(
            "approval_resolved",
            lambda: ApprovalResolved(request_id=request_id, caller_name=caller, tool=tool, approved=is_approved),
        )
        if not is_approved:
            yield from self._deny(Decision(verdict="block", reason="rejected by the user"), "user")
        # Compared as texts, since true and 1 are equal and not the same.
        return answer if isinstance(answer, Tool) and repr(answer) != repr(tool) else None

    def _deny(self, decision: Decision, source: Literal["user", "hook"]) -> Step[None]:
        """Report a call that does not run, and raise."""
        result = ToolResult(
            text=decision.reason or "denied",
            failed=True,
            approval_rejected=True,
            rejection_source=source,
            hook_denied=source == "hook",
        )
        yield from self._report(result)
        assert self.result is not None
        if not self.result.failed:  # what a hook makes of the words, the call did not run
            self.result = replace(self.result, failed=True)
        raise ToolCallDeniedError(decision, self.result)

    def _leave(self, error: BaseException | None) -> Step[None]:
        if self._is_postponed:
            return
        took = round((time.monotonic() - self._started_at) * 1000, 3)
        if error is None:
            result = self.result or ToolResult()
            yield from self._report(result if result.duration_ms else replace(result, duration_ms=took))
        elif is_interruption(error):
            yield from self._report(ToolResult(text="interrupted", duration_ms=took, failed=True))
        else:
            text = describe_error(error)
            yield from self._report(ToolResult(text=text, duration_ms=took, error=True, failed=True))
            yield from self._report_error()
            if self.is_mended:
                assert self.result is not None
                self.result = replace(self.result, error=False)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        await super().__aexit__(kind, error, trace)
        return error is not None and self.is_mended

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        super().__exit__(kind, error, trace)
        return error is not None and self.is_mended

    def _report(self, result: ToolResult) -> Step[None]:
        tool = self.tool
        self._reported = result
        decision = yield from self._scope.fire("after_tool_call", lambda: AfterToolCall(tool=tool, result=result))
        fields = decision.event.fields if decision.event is not None else None
        edited = fields.result if isinstance(fields, AfterToolCall) else result
        if edited.failed and not result.failed:
            edited = replace(edited, text=edited.text or join_texts(edited.content or ()) or MARKED_AS_ERROR)
        self.result = append_context(edited, (*self._context, *decision.context))

    def _report_error(self) -> Step[None]:
        tool, result = self.tool, self.result or ToolResult()
        decision = yield from self._scope.fire("tool_error", lambda: ToolError(tool=tool, result=result))
        self.result = append_context(result, decision.context)


def append_context(result: ToolResult, context: tuple[str, ...]) -> ToolResult:
    """The result with texts after its own, also as blocks where it has any; the same object without texts."""
    if not context:
        return result
    content = result.content
    if content is not None:
        content = [*content, *({"type": "text", "text": text} for text in context)]
    return replace(result, text="\n".join([result.text, *context]), content=content)


def run_tool_call(call: ToolCall, run: Callable[[Tool], Any]) -> Step[ToolResult]:
    """
    Live through a tool call: ask, run, report.

    A denied call and an exception of the tool become results for the model; interruptions go on.
    """
    try:
        yield from call._enter()
    except ToolCallDeniedError as denied:
        return denied.result
    try:
        returned = yield Call(run, (call.tool,))
        call.finish(_read_result(returned))
    except Exception as error:  # boundary: the tool is the host's, its failure is for the model
        yield from call._end(error)
    except BaseException as error:
        yield from call._end(error)
        raise
    else:
        yield from call._end(None)
    assert call.result is not None
    return call.result


def run_unguarded(
    call: ToolCall,
    run: Callable[[Tool], Any],
    read: Callable[[Any], ToolResult],
    explain: Callable[[Decision], str],
) -> Step[Any]:
    """
    Live through a tool call whose caller gets what the tool returned, and hears what it raised.

    `read` makes the result of the call from what was returned, `explain` the text of a denial from the decision.
    None is returned for a call that raised and of which a hook made a success.
    """
    try:
        yield from call._enter()
    except ToolCallDeniedError as denied:
        decision = replace(denied.decision, reason=explain(denied.decision))
        raise ToolCallDeniedError(decision, denied.result) from None
    try:
        returned = yield Call(run, (call.tool,))
        call.finish(read(returned))
    except BaseException as error:
        yield from call._end(error)
        if call.is_mended:
            return None
        raise
    yield from call._end(None)
    return returned


def _read_result(returned: Any) -> ToolResult:
    if isinstance(returned, ToolResult):
        return returned
    if isinstance(returned, Mapping):
        return ToolResult(**returned)
    return ToolResult(text="" if returned is None else str(returned))
