"""A sample payload for a hook: what its event might carry, made to fit its match where that can be told."""

from __future__ import annotations

import copy
import re
from typing import Any

from hookline.events import get_event_type
from hookline.hook import ArgumentMatch, Hook, Match

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
    "prompt": "Please tidy up the README.",
    "entry_id": "entry-7",
    "requested_dirs": ["/tmp/sample"],
    "attempt": 1,
    "max_attempts": 3,
    "success": True,
}
# A pattern on the subject that is nothing but names.
_NAMES = re.compile(r"[\w|-]+")
_MESSAGES = [{"role": "user", "content": "Please tidy up the README."}]
# What is meant on one event alone.
_OWN_SAMPLES: dict[str, dict[str, Any]] = {
    "session_before_switch": {"reason": "new"},
    "session_switch": {"reason": "new"},
    "before_model_call": {"messages": _MESSAGES},
    "model_step_end": {"message": {"role": "assistant", "content": "Done."}},
    "tool_error": {"result": {"text": "sample error", "error": True, "failed": True}},
    "before_compact": {"preparation": {"messages_to_summarize": _MESSAGES, "tokens_before": 184000}},
    "compacting": {"messages": _MESSAGES},
    "auto_compaction_start": {"reason": "threshold"},
    "auto_compaction_end": {"result": {"summary": "The README was tidied up."}},
    "auto_retry_start": {"delay_ms": 2000, "error_message": "overloaded"},
    "hook_failed": {
        "hook_id": "sample-hook",
        "failed_event": "before_tool_call",
        "kind": "exit",
        "message": "exit code 1",
    },
}


def sample_payload(hook: Hook) -> dict[str, Any]:
    """
    A payload of the hook's event that its match accepts, unless that asks for a regular expression.

    The tool's arguments are plausible ones where the match names none.
    """
    row = get_event_type(hook.event)
    stock = {name: _SAMPLES[name] for name in row.field_names if name in _SAMPLES}
    payload: dict[str, Any] = copy.deepcopy(stock | _OWN_SAMPLES.get(row.name, {}))
    payload["session_id"] = "sample-session"
    match = hook.match
    payload["profile"] = match.profile or (match.profiles[0] if match.profiles else "Sample")
    subject = _sample_subject(match)
    if subject and "trigger" in payload:
        payload["trigger"] = subject
    elif subject and "sub_agent" in payload:
        payload["sub_agent"]["name"] = subject
    if row.has_tool:
        args = {name: _sample_argument(name, wanted) for name, wanted in match.args.items()}
        payload["tool"] = {
            "name": match.tool_name or subject or "bash",
            "kind": match.tool_kind or "shell",
            "call_id": "call-1",
            "args": args or {"command": _SAMPLE_ARGUMENTS["command"]},
        }
    return payload


def _sample_subject(match: Match) -> str:
    """A subject that the pattern matches, where it is a list of names."""
    if match.subject is None or not _NAMES.fullmatch(match.subject.pattern):
        return ""
    return match.subject.pattern.split("|", maxsplit=1)[0]


def _sample_argument(name: str, wanted: ArgumentMatch) -> str:
    if wanted.equals is not None:
        return wanted.equals
    return wanted.contains or _SAMPLE_ARGUMENTS.get(name, "sample")
