"""A sample payload for a hook: what its event might carry, made to fit its match where that can be told."""

from __future__ import annotations

import copy
from typing import Any

from hookline.events import get_event_type
from hookline.hook import ArgumentMatch, Hook

_SAMPLE_ARGUMENTS = {"command": "ls -la", "path": "src/example.py", "text": "hello"}
_SAMPLES: dict[str, Any] = {
    "restored_session_id": "sample-session-0",
    "text": "Please tidy up the README.",
    "turn": 1,
    "user_text": "Please tidy up the README.",
    "request_id": "approval-1",
    "caller_name": "Sample",
    "approved": True,
    "sub_agent": {"name": "Helper", "tool_name": "ask_helper", "invocation_id": "invocation-1"},
    "trigger": "phase1",
    "run_id": "run-1",
    "result": {"text": "OK", "duration_ms": 42},
}


def sample_payload(hook: Hook) -> dict[str, Any]:
    """
    A payload of the hook's event that its match accepts, unless that asks for a regular expression.

    The tool's arguments are plausible ones where the match names none.
    """
    row = get_event_type(hook.event)
    payload: dict[str, Any] = copy.deepcopy({name: _SAMPLES[name] for name in row.field_names if name in _SAMPLES})
    payload["session_id"] = "sample-session"
    match = hook.match
    payload["profile"] = match.profile or (match.profiles[0] if match.profiles else "Sample")
    if row.has_tool:
        args = {name: _sample_argument(name, wanted) for name, wanted in match.args.items()}
        payload["tool"] = {
            "name": match.tool_name or "bash",
            "kind": match.tool_kind or "shell",
            "call_id": "call-1",
            "args": args or {"command": _SAMPLE_ARGUMENTS["command"]},
        }
    if hook.event == "tool_error":
        payload["result"] = {"text": "sample error", "error": True, "failed": True}
    return payload


def _sample_argument(name: str, wanted: ArgumentMatch) -> str:
    if wanted.equals is not None:
        return wanted.equals
    return wanted.contains or _SAMPLE_ARGUMENTS.get(name, "sample")
