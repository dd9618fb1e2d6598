"""
Rewrites the generated pages of the docs from the tables they describe.

Run it after a change of `hookline.events` or `hookline.adapters.table`: `python tools/generate_docs.py`. A test fails
while a page is stale.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from hookline.adapters.table import ABILITIES, HOSTS, Host
from hookline.dialects.native import NATIVE
from hookline.dialects.wire import encode_record
from hookline.events import EVENT_TYPES, Agent, BeforeToolCall, Event, EventType, SubAgent, Tool, ToolResult

DOCS = Path(__file__).resolve().parents[1] / "docs"

# What a reply must hold to have each effect.
_REPLIES = {
    "args": "change the tool's arguments (`action: modify` with `args_override`)",
    "reminders": "add a reminder for the model (`system_reminder`)",
    "context": "add context (`extra_context`)",
}
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
}

_HEAD = """\
<!-- Written by tools/generate_docs.py from the table in src/hookline/events.py. Change that and run the script. -->

# Events

An event is a point in an agent's life: something is about to happen, or has happened. This page lists all of them;
`hookline events` shows the same table in a terminal.

* **Gate**: a blocking hook can stop what the event announces, or ask for a human's decision.
* **Scope** says who waits for the event's `async` hooks: `turn` hooks are waited for at the end of the turn, all that
  are left at the end of the session. Nothing waits for hooks of scope `none`.
* **Edits** are what a blocking hook may change or add. [Replies](replies.md) tells how.

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
    text = f"## {row.name}\n\n{row.meaning}\n\n"
    effects = ["block the event or have a human asked"] if row.gate else []
    effects += [_REPLIES.get(name, f"edit `{name}`") for name in row.edits]
    text += f"A blocking hook can {_join(effects)}.\n\n" if effects else "Hooks can only watch this event.\n\n"
    if not row.field_names:
        return text + "It has no fields of its own.\n"
    return text + "\n".join(_render_fields(row.record, "left out")) + "\n" + _render_json(_sample_fields(row))


def _render_record(record: type[Struct], *, none: str = "left out") -> str:
    name = record.__name__
    meaning = " ".join((record.__doc__ or "").split())
    return f"### {_slug(name)}\n\n{meaning}\n\n" + "\n".join(_render_fields(record, none))


def _render_fields(record: type[Struct], none: str) -> Iterator[str]:
    hints = get_type_hints(record)
    yield "| field | type | when the host gives none |"
    yield "|---|---|---|"
    for field in fields(record):
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
    return _JSON_TYPES.get(hint, "object")


def _describe_default(field: FieldInfo, none: str) -> str:
    if field.default is None:
        return none
    if field.required:
        return "must be given"
    return "`{}`" if field.default is NODEFAULT else f"`{json.dumps(field.default)}`"


def _sample_fields(row: EventType) -> dict[str, Any]:
    given = {field.name: _SAMPLES[field.name] for field in fields(row.record) if field.name in _SAMPLES}
    if row.name == "tool_error":
        given["result"] = ToolResult(text="permission denied", duration_ms=3, error=True, failed=True)
    if row.name == "pre_compact":
        del given["sub_agent"]
    return encode_record(row.record(**given))


def _render_json(data: dict[str, Any]) -> str:
    return f"```json\n{json.dumps(data, indent=2)}\n```\n"


def _slug(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


def _join(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


_ADAPTERS_HEAD = """\
<!-- Written by tools/generate_docs.py from src/hookline/adapters/table.py. Change that and run the script. -->

# Adapters

An adapter puts the agents of a framework under hooks. Each is an extra of its own: `pip install 'hookline[langchain]'`.
Importing an adapter whose framework is not installed says so.

| framework | extra | import |
|---|---|---|
"""

_ADAPTERS_OPTIONS = """\
## Options

All adapters take the same options, by keyword, and need none.

| option | meaning | default |
|---|---|---|
| `cwd` | The folder of the project whose hooks run. | where the process is |
| `trust`, `home` | As in [`Engine.open`](python.md). | the trust that your user gave, `~/.hookline` |
| `engine` | An engine that you opened, and close. | one for `cwd`, closed with the adapter or the process |
| `session` | A session that you entered; all runs are its turns. | each run is a session of its own |
| `profile` | The profile that events carry. | the name of the framework's agent |
| `kinds` | The kind of each tool by its name, for hooks that match `tool_kind`. | no kinds |
| `ask` | A function, plain or async, that puts a hook's question to a human. | a question is a no |

An unknown option is refused, and one that a `session` or an `engine` has settled already.

Hooks see the text of prompts and results. Images and the like pass by them, and stay where hooks change the text.

Used as a context manager, `with` or `async with`, an adapter makes all runs of the block turns of one session, and
closes its engine at the end.

An agent that runs inside a tool call of another is its sub-agent, if both have an adapter over the same hooks: the same
`engine` or `session`, or the same `cwd`, `home` and `trust`. A sub-agent without an adapter has no hooks.

Adapters fire the events of sessions, prompts, turns, tool calls and sub-agents. A framework's own approval and its
compaction stay its own: their events are not fired, unless the framework's section says so.

No failure of a hook lets a tool run that its `on_error` would keep from running, whatever the framework does with
exceptions.
"""

_ADAPTERS_TABLE = """\
## What hooks can do where

Every adapter is held to this table by one suite of tests, with real hooks and the real framework.

* **enforces**: it holds.
* **partly**: it holds, but for what is said below the table.
* **observes**: hooks see it and cannot change it.
* **not**: it does not hold.
"""


def render_adapters() -> str:
    """The page of all adapters."""
    rows = "".join(f"| {host.title} | `{host.name}` | `from {host.module} import {host.adapter}` |\n" for host in HOSTS)
    titles = " | ".join(host.title for host in HOSTS)
    table = [f"| ability | {titles} |", f"|---|{'---|' * len(HOSTS)}"]
    for name, meaning in ABILITIES.items():
        levels = (host.limits[name].level if name in host.limits else "enforces" for host in HOSTS)
        table.append(f"| {meaning} | {' | '.join(levels)} |")
    sections = [_render_host(host) for host in HOSTS if host.limits or host.notes]
    return "\n".join([_ADAPTERS_HEAD + rows, _ADAPTERS_OPTIONS, _ADAPTERS_TABLE, *table, "", *sections])


def _render_host(host: Host) -> str:
    limits = []
    for limit in dict.fromkeys(host.limits.values()):
        abilities = " ".join(ABILITIES[name] for name, other in host.limits.items() if other == limit)
        limits.append(f"* *{limit.level}*: {abilities} {limit.reason}")
    return "\n".join([f"## {host.title}", "", *limits, *(f"* {note}" for note in host.notes), ""])


PAGES = {DOCS / "reference" / "events.md": render_events, DOCS / "reference" / "adapters.md": render_adapters}


def main() -> None:
    """Write all generated pages."""
    for path, render in PAGES.items():
        path.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
