"""
Rewrites the generated pages of the docs from the tables they describe.

Run it after a change of `hookline.events` or `hookline.adapters.table`: `python tools/generate_docs.py`. A test fails
while a page is stale.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from hookline.dialects.native import NATIVE
from hookline.dialects.wire import encode_record
from hookline.events import EVENT_TYPES, Event, EventType
from hookline.fields import LOCAL_FIELDS, Agent, BeforeToolCall, SubAgent, Tool, ToolResult

DOCS = Path(__file__).resolve().parents[1] / "docs"

# What the edits are for, where a word on them helps.
_EDITS = {
    "args": "The arguments of the call. A native reply merges: `action: modify` with `args_override`.",
    "reminders": "Reminders for every model call of the turn. In a native reply: `system_reminder`.",
    "context": "Text for the model, beside the prompt or behind the result. In a native reply: `extra_context`.",
    "text": "The prompt.",
    "message": "A message of the hook's own for the model: `custom_type`, `content`, `display` and `details`.",
    "messages": "The messages that are sent, for this call alone.",
    "result": "The text of the result. What other content it had is gone then.",
    "content": "The blocks of the result. Its text becomes that of the text blocks.",
    "details": "What the tool returned besides, for programs.",
    "is_error": "Whether the call counts as failed: `failed` of the result.",
    "skip_conversation_restore": "Whether the conversation stays as it is.",
    "summary": "The summary of what is left behind: `summary` and `details`.",
    "compaction": "The compaction, made by the hook: `summary`, `short_summary`, `first_kept_entry_id`, "
    "`tokens_before`, `details` and `preserve_data`.",
    "prompt": "The prompt that asks for the summary.",
    "preserve_data": "Data that is kept with the compaction.",
}
# On one event a name means something else.
_OWN_EDITS = {("compacting", "context"): "Texts that the summary is made from besides the messages, as a list."}
_FORMATS = {"chrys": "Chrys", "xcsh": "xcsh", "agentyk": "agentyk", "vix": "vix"}
_JSON_TYPES = {str: "text", bool: "true or false", int: "integer", float: "number"}
# Values that make an example easier to read; any other field shows its default.
_TOOL = Tool(name="edit_file", kind="filesystem.write", call_id="call-7", args={"path": "src/example.py"})
_SAMPLES: dict[str, Any] = {
    "tool": _TOOL,
    "result": ToolResult(text="OK", duration_ms=42),
    "sub_agent": SubAgent(name="Researcher", tool_name="research", invocation_id="inv-3", parent_call_id="call-6"),
    "text": "Fix the failing test.",
    "user_text": "Fix the failing test.",
    "input_text": "Release 1.2",
    "turn": 1,
    "trigger": "force",
    "usage_pct": 0.92,
    "tokens_before": 184000,
    "approved": True,
    "request_id": "approval-12",
    "caller_name": "Code",
    "run_id": "run-5",
    "outcome": "ok",
    "restored_session_id": "session-1",
    "result_summary": "Three files match.",
    "prompt": "Fix the failing test.",
    "entry_id": "entry-7",
    "requested_dirs": ["/home/you/notes"],
    "attempt": 1,
    "max_attempts": 3,
    "success": True,
}
_MESSAGES = [{"role": "user", "content": "Fix the failing test."}]
# What is meant on one event alone.
_OWN_SAMPLES: dict[str, dict[str, Any]] = {
    "session_before_switch": {"reason": "resume", "target_session_file": "/home/you/sessions/2.jsonl"},
    "session_switch": {"reason": "resume", "previous_session_file": "/home/you/sessions/1.jsonl"},
    "session_branch": {"previous_session_file": "/home/you/sessions/1.jsonl"},
    "session_before_tree": {
        "preparation": {
            "target_id": "entry-3",
            "old_leaf_id": "entry-7",
            "common_ancestor_id": "entry-2",
            "entries_to_summarize": [],
            "user_wants_summary": True,
        }
    },
    "session_tree": {"new_leaf_id": "entry-3", "old_leaf_id": "entry-7"},
    "before_model_call": {"messages": _MESSAGES},
    "model_step_end": {"message": {"role": "assistant", "content": "The test passes."}},
    "tool_error": {"result": ToolResult(text="permission denied", duration_ms=3, error=True, failed=True)},
    "before_compact": {
        "preparation": {
            "first_kept_entry_id": "entry-5",
            "messages_to_summarize": _MESSAGES,
            "turn_prefix_messages": [],
            "recent_messages": [],
            "is_split_turn": False,
            "tokens_before": 184000,
            "file_ops": {},
            "settings": {},
        }
    },
    "compacting": {"messages": _MESSAGES},
    "pre_compact": {"sub_agent": None},
    "post_compact": {"summarized_turns": 12},
    "auto_compaction_start": {"reason": "threshold"},
    "auto_compaction_end": {"result": {"summary": "The test was fixed."}},
    "auto_retry_start": {"delay_ms": 2000, "error_message": "overloaded"},
    "ttsr_triggered": {"rules": [{"name": "no-todo"}]},
    "todo_reminder": {"todos": [{"text": "run the tests"}]},
    "hook_failed": {
        "hook_id": "quota",
        "failed_event": "before_tool_call",
        "kind": "exit",
        "message": "exit code 7",
        "source": ".hookline/hooks/hooks.yaml:2",
    },
}

_HEAD = """\
<!-- Written by tools/generate_docs.py from the table in src/hookline/events.py. Change that and run the script. -->

# Events

An event is a point in an agent's life: something is about to happen, or has happened. This page lists all of them;
`hookline events` shows the same table in a terminal.

* **Gate**: a blocking hook can stop what the event announces, or ask for a human's decision.
* **Scope** says who waits for the event's `async` hooks: `turn` hooks are waited for at the end of the turn, all that
  are left at the end of the session. Nothing waits for hooks of scope `none`.
* **Edits** are what a blocking hook may change or add, each with its operations: `merge` lays keys over an object,
  `replace` puts another value, `append` adds a text, `clear` takes the value away or takes an edit back. Not every kind
  of hook can make every edit; [replies](replies.md#edits) tells which can.
* **In other formats**: the same event under the name that another format has for it. Such a name is valid in that
  format alone: a `turn_end` of xcsh is a step of the model, one of agentyk the end of the user's turn.

A hook may be attached to any event. What its reply says beyond the gate and the edits of the event counts for nothing
and is reported as ignored.
"""

_PAYLOAD = """\
## The payload

A hook gets its event as one JSON object, on stdin and in the file that `HOOKLINE_HOOK_PAYLOAD_FILE` names. It holds
these fields, and beside them the event's own fields as listed below.

| field | type | meaning |
|---|---|---|
| `schema` | integer | The version of the payload's format: 1. |
| `event` | text | The event's name. |
| `timestamp` | text | When it happened, in UTC. |
| `session_id` | text | The session. Empty when the host has no sessions. |
| `profile` | text | The profile of the agent that the event is about. |
| `cwd` | text | The session's working directory. `run.cwd` of a hook does not change it. |
| `event_id` | text | The id of this occurrence. |
| `turn_id` | text | The turn's id. Left out when the host gives none. |
| `agent` | [agent](#agent) | Which agent the event is about. |
| `cwd_missing` | true | Only there when `cwd` does not exist any more and the hook runs elsewhere. |
| `job_id` | text | Only there for a hook with `delivery: durable`: the job's id, the same at every attempt. |

For example, a whole payload of `before_tool_call`:
"""

_RULES = """\
## When a host fires them

A host that lives in a [`Session`](../how-to/write-a-host.md) keeps these rules by itself.

* `before_tool_call` comes before the host's own approval. When a human edits the arguments while approving, the host
  fires it again with the edited arguments, before the tool runs.
* `after_tool_call` is fired for every call: one that returned, one that failed, and one that was rejected and never
  ran. `tool_error` follows it when the call raised.
* `after_turn` is fired however the turn ended.
* `user_interrupt` is never waited for, not even its blocking hooks.
* "No objection" (`allow`) never skips an approval of the host's own.
"""


def render_events() -> str:
    """The page of all events."""
    sample = Event(
        BeforeToolCall(tool=_TOOL),
        session_id="session-1",
        turn_id="turn-1",
        profile="Code",
        cwd="/home/you/project",
        event_id="7d0b3f2c9a5e4d1f8b6a0c4e2d9f1a35",
        timestamp=datetime(2026, 5, 14, 15, tzinfo=UTC),
    )
    parts = [
        _HEAD,
        "\n".join(_render_overview()),
        _RULES,
        _PAYLOAD,
        _render_json(NATIVE.encode(sample, is_cwd_missing=False)),
        *(_render_event(row) for row in EVENT_TYPES),
        "## Records\n\nValues that several events share.\n",
        *(_render_record(record) for record in (Tool, ToolResult, SubAgent)),
        _render_record(Agent, none="`null`"),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _render_overview() -> Iterator[str]:
    yield "| event | scope | gate | edits | when |"
    yield "|---|---|---|---|---|"
    for row in EVENT_TYPES:
        edits = ", ".join(f"`{name}`" for name in row.edits)
        gate = "gate" if row.gate else ""
        yield f"| [`{row.name}`](#{row.name}) | {row.scope} | {gate} | {edits} | {row.meaning} |"
    yield ""


def _render_event(row: EventType) -> str:
    text = f"## {row.name}\n\n{_describe_whole(row.record)}\n\n"
    effects = ["block the event or have a human asked"] if row.gate else []
    effects += ["make the edits below"] if row.edits else []
    text += f"A blocking hook can {' and '.join(effects)}.\n\n" if effects else "Hooks can only watch this event.\n\n"
    text += _render_names(row)
    text += "\n".join(_render_edits(row))
    if not row.payload_names:
        return text + "It has no fields of its own.\n"
    return text + "\n".join(_render_fields(row.record, "left out")) + "\n" + _render_json(_sample_fields(row))


def _describe_whole(record: type[Struct]) -> str:
    """All that is said of a record, a paragraph a line."""
    paragraphs = (record.__doc__ or "").strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _render_names(row: EventType) -> str:
    names = [f"`{row.aliases[dialect]}` in {title}" for dialect, title in _FORMATS.items() if dialect in row.aliases]
    return f"In other formats: {', '.join(names)}.\n\n" if names else ""


def _render_edits(row: EventType) -> Iterator[str]:
    if not row.edits:
        return
    yield "| edit | operations | of several | what it is |"
    yield "|---|---|---|---|"
    for name, rule in row.edits.items():
        operations = ", ".join(f"`{operation}`" for operation in sorted(rule.operations))
        yield f"| `{name}` | {operations} | {rule.several} | {_OWN_EDITS.get((row.name, name), _EDITS[name])} |"
    yield "\n"


def _render_record(record: type[Struct], *, none: str = "left out") -> str:
    name = record.__name__
    meaning = " ".join((record.__doc__ or "").split())
    return f"### {_slug(name)}\n\n{meaning}\n\n" + "\n".join(_render_fields(record, none))


def _render_fields(record: type[Struct], none: str) -> Iterator[str]:
    hints = get_type_hints(record)
    yield "| field | type | when the host gives none |"
    yield "|---|---|---|"
    for field in fields(record):
        if field.name in LOCAL_FIELDS:
            continue
        yield f"| `{field.name}` | {_describe_type(hints[field.name])} | {_describe_default(field, none)} |"
    yield ""


def _describe_type(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_describe_type(part) for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Struct):
        name = _slug(hint.__name__)
        return f"[{name}](#{name})"
    if get_origin(hint) is Sequence:
        return "list of texts" if get_args(hint) == (str,) else "list"
    return "any" if hint is Any else _JSON_TYPES.get(hint, "object")


def _describe_default(field: FieldInfo, none: str) -> str:
    if field.default is None:
        return none
    if field.required:
        return "must be given"
    return (
        f"`{json.dumps(field.default_factory())}`" if field.default is NODEFAULT else f"`{json.dumps(field.default)}`"
    )


def _sample_fields(row: EventType) -> dict[str, Any]:
    stock = {name: _SAMPLES[name] for name in row.field_names if name in _SAMPLES}
    return encode_record(row.record(**(stock | _OWN_SAMPLES.get(row.name, {}))))


def _render_json(data: dict[str, Any]) -> str:
    return f"```json\n{json.dumps(data, indent=2)}\n```\n"


def _slug(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


PAGES = {DOCS / "reference" / "events.md": render_events}


def main() -> None:
    """Write all generated pages."""
    for path, render in PAGES.items():
        path.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
