"""
The events of an agent's life: one table, one row an event, and one occurrence of an event.

Everything else that knows events (the command line, the docs page, validation of hook files, the dialects)
reads it from `EVENT_TYPES`. Adding an event is adding a record to `hookline.fields` and a row here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from hookline.edit_rule import APPEND, LATEST, RESULT, EditRule
from hookline.errors import UnknownEventError
from hookline.facts import NO_FACTS, HostFacts
from hookline.fields import (
    LOCAL_FIELDS,
    AfterToolCall,
    AfterTurn,
    Agent,
    ApprovalRequested,
    ApprovalResolved,
    AutoCompactionEnd,
    AutoCompactionStart,
    AutoRetryEnd,
    AutoRetryStart,
    BeforeAgentStart,
    BeforeCompact,
    BeforeModelCall,
    BeforeToolCall,
    BeforeTurn,
    Compacting,
    HookFailed,
    ModelStepEnd,
    ModelStepStart,
    PermissionRequest,
    PostCompact,
    PreCompact,
    SessionBeforeBranch,
    SessionBeforeSwitch,
    SessionBeforeTree,
    SessionBranch,
    SessionEnd,
    SessionRestored,
    SessionStart,
    SessionSwitch,
    SessionTree,
    SubAgentEnd,
    SubAgentStart,
    TodoReminder,
    Tool,
    ToolError,
    TtsrTriggered,
    UserInterrupt,
    UserPromptSubmit,
    WorkflowRunEnd,
    WorkflowRunStart,
)

Scope = Literal["turn", "session", "none"]

Fields = (
    SessionStart
    | SessionRestored
    | SessionEnd
    | UserPromptSubmit
    | SessionBeforeSwitch
    | SessionSwitch
    | SessionBeforeBranch
    | SessionBranch
    | SessionBeforeTree
    | SessionTree
    | BeforeTurn
    | AfterTurn
    | UserInterrupt
    | BeforeAgentStart
    | BeforeModelCall
    | ModelStepStart
    | ModelStepEnd
    | BeforeToolCall
    | AfterToolCall
    | ToolError
    | PermissionRequest
    | ApprovalRequested
    | ApprovalResolved
    | SubAgentStart
    | SubAgentEnd
    | BeforeCompact
    | Compacting
    | PreCompact
    | PostCompact
    | AutoCompactionStart
    | AutoCompactionEnd
    | AutoRetryStart
    | AutoRetryEnd
    | TtsrTriggered
    | TodoReminder
    | WorkflowRunStart
    | WorkflowRunEnd
    | HookFailed
)


MAIN_AGENT = Agent()


class EventType(Struct, frozen=True, kw_only=True):
    """
    One row of the event table.

    `gate` tells that a hook's block stops what the event announces; `background` that the event is never
    waited for, not even its blocking hooks. `aliases` are its names in the dialects that know it by one.
    """

    name: str
    record: type[Fields]
    scope: Scope
    aliases: Mapping[str, str] = field(default_factory=dict)
    gate: bool = False
    background: bool = False
    edits: Mapping[str, EditRule] = field(default_factory=dict)

    @property
    def meaning(self) -> str:
        """What has happened, in one sentence: the first paragraph of the docstring of the row's record."""
        return " ".join((self.record.__doc__ or "").strip().split("\n\n")[0].split())

    @property
    def has_tool(self) -> bool:
        """Whether an occurrence carries a tool call, so that hooks may match on it."""
        return "tool" in self.field_names

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the event's own fields, in order."""
        return tuple(self.record.__struct_fields__)

    @property
    def payload_names(self) -> tuple[str, ...]:
        """The names of the fields that stand in a payload: all but those of the host's process alone."""
        return tuple(name for name in self.field_names if name not in LOCAL_FIELDS)

    @property
    def latest(self) -> tuple[str, ...]:
        """The fields of which the last answer that says anything stands as a whole."""
        return tuple(name for name, rule in self.edits.items() if rule.combination == "latest")


def _row(
    name: str,
    record: type[Fields],
    scope: Scope,
    *,
    chrys: bool = False,
    xcsh: str = "",
    agentyk: str = "",
    vix: str = "",
    gate: bool = False,
    background: bool = False,
    edits: Mapping[str, EditRule] | None = None,
) -> EventType:
    aliases = {"native": name, "chrys": name if chrys else "", "xcsh": xcsh, "agentyk": agentyk, "vix": vix}
    return EventType(
        name=name,
        record=record,
        scope=scope,
        aliases={dialect: alias for dialect, alias in aliases.items() if alias},
        gate=gate,
        background=background,
        edits=edits or {},
    )


# The order is the order of an agent's life, kept by listings and docs.
EVENT_TYPES: tuple[EventType, ...] = (
    _row(
        "session_start",
        SessionStart,
        "session",
        chrys=True,
        xcsh="session_start",
        agentyk="session_start",
        vix="ThreadStart",
    ),
    _row("session_restored", SessionRestored, "session", chrys=True, vix="ThreadStart"),
    _row("session_before_switch", SessionBeforeSwitch, "session", xcsh="session_before_switch", gate=True),
    _row("session_switch", SessionSwitch, "session", xcsh="session_switch"),
    _row(
        "session_before_branch",
        SessionBeforeBranch,
        "session",
        xcsh="session_before_branch",
        gate=True,
        edits={"skip_conversation_restore": replace(LATEST, kind=bool)},
    ),
    _row("session_branch", SessionBranch, "session", xcsh="session_branch"),
    _row(
        "session_before_tree",
        SessionBeforeTree,
        "session",
        xcsh="session_before_tree",
        gate=True,
        edits={"summary": LATEST},
    ),
    _row("session_tree", SessionTree, "session", xcsh="session_tree"),
    _row("session_end", SessionEnd, "session", chrys=True, xcsh="session_shutdown", agentyk="session_end"),
    _row(
        "user_prompt_submit",
        UserPromptSubmit,
        "turn",
        chrys=True,
        agentyk="user_prompt_submit",
        vix="UserPromptSubmit",
        gate=True,
        edits={
            "text": EditRule(operations=frozenset({"replace"}), path=("text",), kind=str),
            "reminders": APPEND,
            "context": APPEND,
        },
    ),
    _row("before_turn", BeforeTurn, "turn", chrys=True, xcsh="agent_start"),
    _row("after_turn", AfterTurn, "turn", chrys=True, xcsh="agent_end", agentyk="turn_end", vix="Stop"),
    _row("user_interrupt", UserInterrupt, "none", chrys=True, background=True),
    _row(
        "before_agent_start",
        BeforeAgentStart,
        "turn",
        xcsh="before_agent_start",
        edits={"message": EditRule(operations=frozenset({"replace"}), combination="first")},
    ),
    _row(
        "before_model_call",
        BeforeModelCall,
        "turn",
        xcsh="context",
        edits={"messages": EditRule(operations=frozenset({"replace"}), path=("messages",), kind=(list, tuple))},
    ),
    _row("model_step_start", ModelStepStart, "turn", xcsh="turn_start"),
    _row("model_step_end", ModelStepEnd, "turn", xcsh="turn_end"),
    _row(
        "before_tool_call",
        BeforeToolCall,
        "turn",
        chrys=True,
        xcsh="tool_call",
        agentyk="pre_tool_use",
        vix="PreToolUse",
        gate=True,
        edits={"args": EditRule(operations=frozenset({"merge", "replace"}), path=("tool", "args"), kind=Mapping)},
    ),
    _row(
        "after_tool_call",
        AfterToolCall,
        "turn",
        chrys=True,
        xcsh="tool_result",
        agentyk="post_tool_use",
        vix="PostToolUse",
        edits={"context": APPEND, **RESULT},
    ),
    _row("tool_error", ToolError, "turn", chrys=True, edits={"context": APPEND}),
    _row("permission_request", PermissionRequest, "turn", vix="PermissionRequest", gate=True),
    _row("approval_requested", ApprovalRequested, "turn", chrys=True),
    _row("approval_resolved", ApprovalResolved, "turn", chrys=True),
    _row("sub_agent_start", SubAgentStart, "turn", chrys=True, vix="SubagentStart"),
    _row("sub_agent_end", SubAgentEnd, "turn", chrys=True, vix="SubagentStop"),
    _row(
        "before_compact",
        BeforeCompact,
        "session",
        xcsh="session_before_compact",
        gate=True,
        edits={"compaction": LATEST},
    ),
    _row(
        "compacting",
        Compacting,
        "session",
        xcsh="session.compacting",
        edits={
            "context": replace(LATEST, kind=(list, tuple)),
            "prompt": replace(LATEST, kind=str),
            "preserve_data": LATEST,
        },
    ),
    _row("pre_compact", PreCompact, "session", chrys=True, vix="PreCompact"),
    _row("post_compact", PostCompact, "session", xcsh="session_compact", vix="PostCompact"),
    _row("auto_compaction_start", AutoCompactionStart, "turn", xcsh="auto_compaction_start"),
    _row("auto_compaction_end", AutoCompactionEnd, "turn", xcsh="auto_compaction_end"),
    _row("auto_retry_start", AutoRetryStart, "turn", xcsh="auto_retry_start"),
    _row("auto_retry_end", AutoRetryEnd, "turn", xcsh="auto_retry_end"),
    _row("ttsr_triggered", TtsrTriggered, "turn", xcsh="ttsr_triggered"),
    _row("todo_reminder", TodoReminder, "turn", xcsh="todo_reminder"),
    _row("workflow_run_start", WorkflowRunStart, "session", chrys=True),
    _row("workflow_run_end", WorkflowRunEnd, "session", chrys=True),
    _row("hook_failed", HookFailed, "turn"),
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
        raise UnknownEventError(f"unknown event {name!r}; {_guess_name(name)}")
    return row


def _guess_name(name: str) -> str:
    """What was probably meant by a name that is none: one of another format, or one that is written much the same."""
    import difflib  # noqa: PLC0415 - only for a mistake

    elsewhere = [row.name for row in find_event_types(name)]
    close = elsewhere or difflib.get_close_matches(name, EVENT_NAMES, n=1)
    meant = " or ".join(repr(each) for each in close)
    return f"did you mean {meant}?" if close else f"known events: {', '.join(EVENT_NAMES)}"


def find_event_types(alias: str, dialect: str | None = None) -> tuple[EventType, ...]:
    """The rows that a dialect knows by this name, or that any does without a `dialect`; none for a name of none."""
    if dialect is None:
        return tuple(row for row in EVENT_TYPES if alias in row.aliases.values())
    return tuple(row for row in EVENT_TYPES if row.aliases.get(dialect) == alias)


def list_event_names(dialect: str) -> tuple[str, ...]:
    """The names by which a dialect knows the events, in the order of an agent's life."""
    return tuple(dict.fromkeys(row.aliases[dialect] for row in EVENT_TYPES if dialect in row.aliases))


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

    `fields` is one of the records of `hookline.fields` and decides the event's type.
    `cwd` is the session's working directory and `timestamp` is in UTC. `facts` are what the host alone knows of the
    session.
    """

    session_id: str = ""
    turn_id: str | None = None
    agent: Agent = MAIN_AGENT
    profile: str = ""
    cwd: str = ""
    facts: HostFacts = NO_FACTS
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
