"""
The events of an agent's life: one table, one row an event, and the record that an occurrence carries.

Everything else that knows events (the command line, the docs page, validation of hook files, the dialects)
reads it from `EVENT_TYPES`. Adding an event is adding a record and a row.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct, field

from hookline.errors import UnknownEventError

Scope = Literal["turn", "session", "none"]
Operation = Literal["merge", "replace", "append", "clear"]


class Agent(Struct, frozen=True, kw_only=True):
    """Which agent an event is about; `depth` is 0 for the main agent and rises by one a sub-agent."""

    id: str = "main"
    name: str = ""
    parent_id: str | None = None
    depth: int = 0


MAIN_AGENT = Agent()


class Tool(Struct, frozen=True, kw_only=True):
    """A tool call: the tool, what kind of tool it is, the call's id and its arguments."""

    name: str
    kind: str = ""
    call_id: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


class ToolResult(Struct, frozen=True, kw_only=True):
    """
    What became of a tool call.

    `error` is true when the call raised; `failed` also when it returned a failure or was rejected.
    `rejection_source` and `hook_denied` are there only when the call was rejected.
    """

    text: str = ""
    duration_ms: float = 0
    error: bool = False
    failed: bool = False
    approval_rejected: bool = False
    rejection_source: Literal["user", "hook"] | None = None
    hook_denied: bool | None = None


class SubAgent(Struct, frozen=True, kw_only=True):
    """One invocation of a sub-agent, as its parent sees it."""

    name: str
    tool_name: str = ""
    invocation_id: str | None = None
    parent_call_id: str | None = None
    parent_provider_call_id: str | None = None


class SessionStart(Struct, frozen=True, kw_only=True):
    """The agent is ready: a first start, a new session, or a session set back to its beginning."""


class SessionRestored(Struct, frozen=True, kw_only=True):
    """A saved session has been restored."""

    restored_session_id: str


class SessionEnd(Struct, frozen=True, kw_only=True):
    """The session ends: exit, switch, new session, deletion, or a set-back to its beginning."""


class UserPromptSubmit(Struct, frozen=True, kw_only=True):
    """The user submitted a message; `injected` is true for one added while the agent is running."""

    text: str
    injected: bool = False


class BeforeTurn(Struct, frozen=True, kw_only=True):
    """A turn starts; `turn` counts from 1 and `is_retry` tells that the same turn is tried again."""

    turn: int
    user_text: str = ""
    is_retry: bool = False


class AfterTurn(Struct, frozen=True, kw_only=True):
    """A turn has ended: normally, by a failure, or interrupted; `failed` is true for the latter two."""

    turn: int
    status: Literal["ok", "interrupted", "failed"] = "ok"
    failed: bool = False


class UserInterrupt(Struct, frozen=True, kw_only=True):
    """The user interrupted the turn."""


class BeforeToolCall(Struct, frozen=True, kw_only=True):
    """A tool is about to enter approval and execution."""

    tool: Tool


class AfterToolCall(Struct, frozen=True, kw_only=True):
    """A tool call returned, failed, or was rejected."""

    tool: Tool
    result: ToolResult


class ToolError(Struct, frozen=True, kw_only=True):
    """A tool call raised; comes after `after_tool_call` of the same call."""

    tool: Tool
    result: ToolResult


class ApprovalRequested(Struct, frozen=True, kw_only=True):
    """A tool call waits for a human to decide."""

    request_id: str
    caller_name: str
    tool: Tool


class ApprovalResolved(Struct, frozen=True, kw_only=True):
    """A human approved or rejected a tool call; the tool has not run yet."""

    request_id: str
    caller_name: str
    tool: Tool
    approved: bool


class SubAgentStart(Struct, frozen=True, kw_only=True):
    """A sub-agent's invocation starts."""

    sub_agent: SubAgent


class SubAgentEnd(Struct, frozen=True, kw_only=True):
    """A sub-agent's invocation has ended; the summary holds up to 500 characters."""

    sub_agent: SubAgent
    status: Literal["ok", "failed", "cancelled"] = "ok"
    result_summary: str = ""


class PreCompact(Struct, frozen=True, kw_only=True):
    """The context is about to be compacted; `usage_pct` is a ratio, where 1 means 100 %."""

    trigger: str
    usage_pct: float = 0
    tokens_before: int = 0
    sub_agent: SubAgent | None = None


class WorkflowRunStart(Struct, frozen=True, kw_only=True):
    """A workflow passed its checks and is about to run its nodes."""

    run_id: str
    input_text: str = ""


class WorkflowRunEnd(Struct, frozen=True, kw_only=True):
    """A workflow has ended, whether it succeeded, failed or was cancelled."""

    run_id: str
    outcome: str = ""
    reason: str = ""


Fields = (
    SessionStart
    | SessionRestored
    | SessionEnd
    | UserPromptSubmit
    | BeforeTurn
    | AfterTurn
    | UserInterrupt
    | BeforeToolCall
    | AfterToolCall
    | ToolError
    | ApprovalRequested
    | ApprovalResolved
    | SubAgentStart
    | SubAgentEnd
    | PreCompact
    | WorkflowRunStart
    | WorkflowRunEnd
)


class EditRule(Struct, frozen=True, kw_only=True):
    """
    What hooks may do to one field of an event.

    `path` is where the field stands in the event's record; empty for `reminders` and `context`, which are
    handed to the host beside the event.
    """

    operations: frozenset[Operation]
    path: tuple[str, ...] = ()


class EventType(Struct, frozen=True, kw_only=True):
    """
    One row of the event table.

    `gate` tells that a hook's block stops what the event announces; `background` that the event is never
    waited for, not even its blocking hooks.
    """

    name: str
    record: type[Fields]
    scope: Scope
    gate: bool = False
    background: bool = False
    edits: Mapping[str, EditRule] = field(default_factory=dict)

    @property
    def meaning(self) -> str:
        """What has happened, in one sentence: the docstring of the row's record."""
        return " ".join((self.record.__doc__ or "").split())

    @property
    def has_tool(self) -> bool:
        """Whether an occurrence carries a tool call, so that hooks may match on it."""
        return "tool" in self.field_names

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the event's own fields, in order."""
        return tuple(self.record.__struct_fields__)


_APPEND: EditRule = EditRule(operations=frozenset({"append"}))
_ARGS = EditRule(operations=frozenset({"merge"}), path=("tool", "args"))

# The order is the order of an agent's life, kept by listings and docs.
EVENT_TYPES: tuple[EventType, ...] = (
    EventType(name="session_start", record=SessionStart, scope="session"),
    EventType(name="session_restored", record=SessionRestored, scope="session"),
    EventType(name="session_end", record=SessionEnd, scope="session"),
    EventType(
        name="user_prompt_submit",
        record=UserPromptSubmit,
        scope="turn",
        gate=True,
        edits={"reminders": _APPEND, "context": _APPEND},
    ),
    EventType(name="before_turn", record=BeforeTurn, scope="turn"),
    EventType(name="after_turn", record=AfterTurn, scope="turn"),
    EventType(name="user_interrupt", record=UserInterrupt, scope="none", background=True),
    EventType(name="before_tool_call", record=BeforeToolCall, scope="turn", gate=True, edits={"args": _ARGS}),
    EventType(name="after_tool_call", record=AfterToolCall, scope="turn", edits={"context": _APPEND}),
    EventType(name="tool_error", record=ToolError, scope="turn", edits={"context": _APPEND}),
    EventType(name="approval_requested", record=ApprovalRequested, scope="turn"),
    EventType(name="approval_resolved", record=ApprovalResolved, scope="turn"),
    EventType(name="sub_agent_start", record=SubAgentStart, scope="turn"),
    EventType(name="sub_agent_end", record=SubAgentEnd, scope="turn"),
    EventType(name="pre_compact", record=PreCompact, scope="session"),
    EventType(name="workflow_run_start", record=WorkflowRunStart, scope="session"),
    EventType(name="workflow_run_end", record=WorkflowRunEnd, scope="session"),
)

_BY_NAME = {row.name: row for row in EVENT_TYPES}
_BY_RECORD: dict[type, EventType] = {row.record: row for row in EVENT_TYPES}

EVENT_NAMES: tuple[str, ...] = tuple(_BY_NAME)


def get_event_type(name: str) -> EventType:
    """
    The row of the event called `name`.

    Raises `UnknownEventError` when no row has that name.
    """
    row = _BY_NAME.get(name)
    if row is None:
        import difflib  # noqa: PLC0415 - only for a mistake

        close = difflib.get_close_matches(name, EVENT_NAMES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known events: {', '.join(EVENT_NAMES)}"
        raise UnknownEventError(f"unknown event {name!r}; {hint}")
    return row


def _new_id() -> str:
    return uuid.uuid4().hex


def _now() -> datetime:
    return datetime.now(UTC)


class _Occurrence(Struct, frozen=True):
    """The part of an event that may be given without its name."""

    fields: Fields


class Event(_Occurrence, frozen=True, kw_only=True):
    """
    One occurrence of an event: its record and the surroundings it happened in.

    `fields` is one of the records of this module and decides the event's type.
    `cwd` is the session's working directory and `timestamp` is in UTC.
    """

    session_id: str = ""
    turn_id: str | None = None
    agent: Agent = MAIN_AGENT
    profile: str = ""
    cwd: str = ""
    event_id: str = field(default_factory=_new_id)
    timestamp: datetime = field(default_factory=_now)

    @property
    def type(self) -> EventType:
        """The row of the event table that this occurrence belongs to."""
        return _BY_RECORD[type(self.fields)]

    @property
    def name(self) -> str:
        """The event's name, as hook files write it."""
        return _BY_RECORD[type(self.fields)].name

    @property
    def tool(self) -> Tool | None:
        """The tool call the event is about, if it is about one."""
        return getattr(self.fields, "tool", None)
