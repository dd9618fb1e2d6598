"""
What a hook folder's command reads on stdin: one JSON object about the event, written as Go writes it.

What a host does not know is empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any

from hookline.dialects.wire import UnencodableError
from hookline.events import Event
from hookline.facts import HostFacts
from hookline.fields import (
    AfterToolCall,
    AfterTurn,
    BeforeToolCall,
    BeforeTurn,
    PermissionRequest,
    PostCompact,
    PreCompact,
    SubAgentEnd,
    SubAgentStart,
    Tool,
    UserPromptSubmit,
)
from hookline.folders.event_names import SOURCES, FolderEvent, find_folder_event
from hookline.folders.json_text import mend

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def encode_event(event: Event) -> dict[str, Any]:
    """
    The envelope of an event with what the host says of its session, and the event's own facts.

    Raises `UnencodableError` for an event that hook folders do not know.
    """
    row, facts = _find_row(event), event.facts
    return {
        "thread_id": event.session_id,
        "hook_event_name": row.name,
        "cwd": event.cwd,
        "model": facts.model,
        "permission_mode": facts.permission_mode,
        "origin": facts.origin,
        "headless": facts.headless,
        "thread_mode": facts.thread_mode,
        "agent": facts.agent or event.agent.name,
        "turn_count": facts.turn_count or _find_turn(event),
        "vix_bin": facts.vix_bin,
        "socket_path": facts.socket_path,
        **_encode_optional(facts),
        **encode_facts(event),
    }


def encode_facts(event: Event) -> dict[str, Any]:
    """The event's own facts, which are also what matchers look at."""
    if event.name in SOURCES:
        return {"source": SOURCES[event.name]}
    encode = _FACTS.get(event.name)
    return {} if encode is None else encode(event.fields)


def encode_manual(hook_event: str, cwd: str) -> dict[str, Any]:
    """The envelope of a run that a person started by hand."""
    return {"event": hook_event, "manual": True} | ({"cwd": cwd} if cwd else {})


def compose_message(prompt: str, envelope: bytes) -> str:
    """What the thread of a prompt hook is told; without a prompt, for a workflow, it is the envelope alone."""
    context = envelope.decode()
    return f"{prompt}\n\nHook context:\n{context}" if prompt else context


def to_json(payload: Mapping[str, Any]) -> bytes:
    """
    The bytes of an envelope: keys sorted, the characters of HTML escaped, no newline.

    Raises `UnencodableError` for values that JSON does not have.
    """
    try:
        text = json.dumps(
            payload, allow_nan=False, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_refuse
        )
    except UnencodableError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise UnencodableError(f"the payload has no JSON form: {error}") from error
    # Only texts hold these characters, so that the whole can be translated at once.
    return mend(text.translate(_ESCAPES), by="\\ufffd").encode()


def _refuse(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise UnencodableError(f"the payload has no JSON form: it holds a value of type {type(value).__name__}")


def _find_row(event: Event) -> FolderEvent:
    row = find_folder_event(event.name)
    if row is None:
        raise UnencodableError(f"hook folders know no event {event.name!r}")
    return row


def _find_turn(event: Event) -> int:
    """The number of the turn, as far as the event tells."""
    return event.fields.turn if isinstance(event.fields, AfterTurn | BeforeTurn) else 0


def _encode_optional(facts: HostFacts) -> dict[str, Any]:
    started_at = "" if facts.started_at is None else f"{facts.started_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    optional = {
        "parent_thread_id": facts.parent_thread_id,
        "active_workflow": facts.active_workflow,
        "trigger_type": facts.trigger_type,
        "trigger_ref": facts.trigger_ref,
        "started_at": started_at,
    }
    return {key: value for key, value in optional.items() if value}


def _encode_tool(tool: Tool) -> dict[str, Any]:
    return {"tool_name": tool.name, "tool_input": tool.args}


def _encode_prompt(fields: UserPromptSubmit) -> dict[str, Any]:
    return {"prompt": fields.text}


def _encode_before_tool_call(fields: BeforeToolCall) -> dict[str, Any]:
    return _encode_tool(fields.tool)


def _encode_after_tool_call(fields: AfterToolCall) -> dict[str, Any]:
    result = fields.result
    return _encode_tool(fields.tool) | {"tool_response": result.text, "is_error": result.error or result.failed}


def _encode_permission_request(fields: PermissionRequest) -> dict[str, Any]:
    dirs = list(fields.requested_dirs)
    return _encode_tool(fields.tool) | ({"requested_dirs": dirs} if dirs else {})


def _encode_post_compact(fields: PostCompact) -> dict[str, Any]:
    return {
        "trigger": fields.trigger,
        "summarized_turns": fields.summarized_turns,
        "from_tokens": fields.tokens_before,
    }


def _encode_pre_compact(fields: PreCompact) -> dict[str, Any]:
    return {"trigger": fields.trigger}


def _encode_sub_agent_start(fields: SubAgentStart) -> dict[str, Any]:
    return _encode_agent(fields) | {"prompt": ""}


def _encode_sub_agent_end(fields: SubAgentEnd) -> dict[str, Any]:
    found = _encode_agent(fields)
    if fields.result_summary:
        found |= {"result": fields.result_summary, "is_error": fields.status != "ok"}
    return found


def _encode_agent(fields: SubAgentStart | SubAgentEnd) -> dict[str, Any]:
    return {"agent_type": fields.sub_agent.name, "agent_id": fields.sub_agent.invocation_id or ""}


# The events with facts of their own, by name.
_FACTS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "user_prompt_submit": _encode_prompt,
    "before_tool_call": _encode_before_tool_call,
    "after_tool_call": _encode_after_tool_call,
    "permission_request": _encode_permission_request,
    "pre_compact": _encode_pre_compact,
    "post_compact": _encode_post_compact,
    "sub_agent_start": _encode_sub_agent_start,
    "sub_agent_end": _encode_sub_agent_end,
}
