"""Between Hookline's words and those of hook objects: events to payloads, outcomes to answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookline.events import Event
from hookline.fields import AfterToolCall, AfterTurn, Tool, UserPromptSubmit
from hookline.match import UnreadableValueError
from hookline.objects.records import (
    Allow,
    Block,
    Error,
    HookOutcome,
    HookPayload,
    LateError,
    Mutate,
    ObjectEvent,
    can_block,
    show_id,
)
from hookline.objects.value import to_text
from hookline.outcome import Answer, Edit, Failure

DIALECT = "agentyk"
"""The dialect whose names and rules hook objects follow."""

EVENTS: Mapping[ObjectEvent, str] = {
    "session_start": "session_start",
    "session_end": "session_end",
    "user_prompt_submit": "user_prompt_submit",
    "pre_tool_use": "before_tool_call",
    "post_tool_use": "after_tool_call",
    "turn_end": "after_turn",
}
"""The event of Hookline that stands behind each event of hook objects."""

_OBJECT_EVENTS: Mapping[str, ObjectEvent] = {name: event for event, name in EVENTS.items()}
_PATCHED: Mapping[ObjectEvent, tuple[str, ...]] = {
    "user_prompt_submit": ("message",),
    "pre_tool_use": ("arguments",),
    "post_tool_use": ("result", "error", "additional_context"),
}
_MISSING = object()


def is_told(event: Event) -> bool:
    """Whether hook objects hear of an event: not of other events, nor of a tool call that was denied."""
    if isinstance(event.fields, AfterToolCall) and event.fields.result.approval_rejected:
        return False
    return event.name in _OBJECT_EVENTS


def make_payload(event: Event, hook_id: str) -> HookPayload:
    """What one hook object is told of an event that `is_told`."""
    name = _OBJECT_EVENTS[event.name]
    has_turn = event.turn_id is not None and not name.startswith("session_")
    return HookPayload(
        event=name,
        hook_id=hook_id,
        session_id=show_id("session", event.session_id),
        turn_id=show_id("turn", event.turn_id or "") if has_turn else None,
        ts=event.timestamp,
        data=payload_data(event),
    )


def payload_data(event: Event) -> dict[str, Any]:
    """The `data` of a payload; what the event does not say is null."""
    name = _OBJECT_EVENTS[event.name]
    fields = event.fields
    if name == "session_start":
        return {"agent": event.agent.name or "agent"}
    if name == "session_end":
        return {"reason": "closed"}
    if isinstance(fields, UserPromptSubmit):
        return {"message": fields.text, "attachments": []}
    if isinstance(fields, AfterTurn):
        return _describe_turn(fields)
    assert event.tool is not None
    call = _describe_call(event.tool)
    if not isinstance(fields, AfterToolCall):
        return call
    result = fields.result
    is_failure = result.error or result.failed
    return call | {"result": result.text, "error": result.text if is_failure else None, "success": not is_failure}


def _describe_call(tool: Tool) -> dict[str, Any]:
    return {"tool_name": tool.name, "tool_call_id": tool.call_id, "arguments": tool.args}


def _describe_turn(turn: AfterTurn) -> dict[str, Any]:
    if turn.status == "ok" and not turn.failed:
        return {
            "success": True,
            "response": turn.response,
            "tool_calls": turn.tool_calls,
            "iterations": turn.iterations,
        }
    cause = "turn cancelled" if turn.status == "interrupted" else turn.error or "turn failed"
    return {"success": False, "error": cause}


def to_answer(outcome: HookOutcome, event: ObjectEvent) -> Answer | Failure:
    """What an outcome means at an event of hook objects; what means nothing there is named in `ignored`."""
    match outcome:
        case Allow():
            return Answer()
        case Block(reason=reason, user_message=user_message):
            if not can_block(event):
                return Answer(reason=reason, ignored=(f"block: {event} cannot be stopped",))
            return Answer(verdict="block", reason=reason, user_message=user_message)
        case Error(message=message):
            return Failure(kind="timeout" if isinstance(outcome, LateError) else "crash", message=message)
        case Mutate():
            return _read_patch(outcome, event)


def _read_patch(outcome: Mutate, event: ObjectEvent) -> Answer | Failure:
    patched = _PATCHED.get(event)
    if patched is None:
        return Answer(reason=outcome.reason, ignored=(f"mutate: {event} has nothing to change",))
    patch = outcome.patch
    if not isinstance(patch, Mapping):
        found = "null" if patch is None else type(patch).__name__
        return Answer(reason=outcome.reason, ignored=(f"patch: it is {found}, not an object",))
    ignored = [f"patch.{key}: not on {event}" for key in patch if key not in patched]
    edits: tuple[Edit, ...] = ()
    context: tuple[str, ...] = ()
    try:
        if event == "user_prompt_submit":
            edits = _read_prompt(patch, ignored)
        elif event == "pre_tool_use":
            edits = _read_arguments(patch)
        else:
            edits = _read_result(patch)
            context = _read_context(patch, ignored)
    except UnreadableValueError as error:
        return Failure(kind="reply", message=f"the patch cannot be read: {error}")
    return Answer(reason=outcome.reason, edits=edits, context=context, ignored=tuple(ignored))


def _read_prompt(patch: Mapping[str, Any], ignored: list[str]) -> tuple[Edit, ...]:
    message = patch.get("message", _MISSING)
    if isinstance(message, str):
        return (Edit(field="text", operation="replace", value=message),)
    if message is not _MISSING:
        ignored.append(f"patch.message: it is {type(message).__name__}, not text")
    return ()


def _read_arguments(patch: Mapping[str, Any]) -> tuple[Edit, ...]:
    arguments = patch.get("arguments", _MISSING)
    if arguments is _MISSING:
        return ()
    # A tool's arguments are always an object, so an object goes into them and anything else stands for all of them.
    is_object = isinstance(arguments, Mapping)
    return (Edit(field="args", operation="merge" if is_object else "replace", value=arguments),)


def _read_result(patch: Mapping[str, Any]) -> tuple[Edit, ...]:
    edits: tuple[Edit, ...] = ()
    result, error = patch.get("result", _MISSING), patch.get("error", _MISSING)
    if result is not _MISSING:
        edits = _replace_result(_write(result), is_error=False)
    if error is None:
        edits += (Edit(field="is_error", operation="replace", value=False),)
    elif error is not _MISSING:
        edits += _replace_result(_write(error), is_error=True)
    return edits


def _read_context(patch: Mapping[str, Any], ignored: list[str]) -> tuple[str, ...]:
    context = patch.get("additional_context", _MISSING)
    if isinstance(context, str):
        return (context,)
    if context is not _MISSING:
        ignored.append(f"patch.additional_context: it is {type(context).__name__}, not text")
    return ()


def _replace_result(text: str, *, is_error: bool) -> tuple[Edit, ...]:
    """A new text, which takes the place of all blocks too; the details go, since they may hold the same secrets."""
    return (
        Edit(field="result", operation="replace", value=text),
        Edit(field="details", operation="clear"),
        Edit(field="is_error", operation="replace", value=is_error),
    )


def _write(value: Any) -> str:
    return value if isinstance(value, str) else to_text(value)
