"""
What the events carry: one record an event, and the values that several of them share.

The docstring of a record is the meaning of its event, in listings and docs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

# Fields that live in this process alone: no payload has them.
LOCAL_FIELDS = frozenset({"is_unbegun", "signal"})


class Agent(Struct, frozen=True, kw_only=True):
    """Which agent an event is about; `depth` is 0 for the main agent and rises by one a sub-agent."""

    id: str = "main"
    name: str = ""
    parent_id: str | None = None
    depth: int = 0


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
    `rejection_source` and `hook_denied` are there only when the call was rejected. `content` holds the blocks of
    a result that is more than text (images, say), `details` what the tool returned besides for programs.
    """

    text: str = ""
    duration_ms: float = 0
    error: bool = False
    failed: bool = False
    approval_rejected: bool = False
    rejection_source: Literal["user", "hook"] | None = None
    hook_denied: bool | None = None
    content: Sequence[Any] | None = None
    details: Any = None

    @property
    def blocks(self) -> Sequence[Any]:
        """The content, one block of text where there is nothing else."""
        return ({"type": "text", "text": self.text},) if self.content is None else self.content


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


class SessionBeforeSwitch(Struct, frozen=True, kw_only=True):
    """The user is about to switch to another session, a new one or a fork."""

    reason: Literal["new", "resume", "fork"]
    target_session_file: str | None = None


class SessionSwitch(Struct, frozen=True, kw_only=True):
    """The agent has switched to another session."""

    reason: Literal["new", "resume", "fork"]
    previous_session_file: str | None = None


class SessionBeforeBranch(Struct, frozen=True, kw_only=True):
    """A branch of the session is about to be made at an entry."""

    entry_id: str


class SessionBranch(Struct, frozen=True, kw_only=True):
    """A branch of the session has been made."""

    previous_session_file: str | None = None


class SessionBeforeTree(Struct, frozen=True, kw_only=True):
    """
    The user is about to go to another leaf of the session's tree.

    `preparation` holds `target_id`, `old_leaf_id`, `common_ancestor_id`, `entries_to_summarize` and
    `user_wants_summary`; `signal`, which no payload has, is set when the user gives up.
    """

    preparation: Mapping[str, Any] = field(default_factory=dict)
    signal: Any = None


class SessionTree(Struct, frozen=True, kw_only=True):
    """The session stands at another leaf of its tree."""

    new_leaf_id: str | None = None
    old_leaf_id: str | None = None
    summary_entry: Any = None
    from_extension: bool = False


class BeforeTurn(Struct, frozen=True, kw_only=True):
    """A turn starts; `turn` counts from 1 and `is_retry` tells that the same turn is tried again."""

    turn: int
    user_text: str = ""
    is_retry: bool = False


class AfterTurn(Struct, frozen=True, kw_only=True):
    """
    A turn has ended: normally, by a failure, or interrupted; `failed` is true for the latter two.

    What the host tells besides: the turn's `messages`, the `response`, the `error`, and the number of tool calls
    and of model calls (`iterations`). Of a turn that never began since its prompt was blocked (`is_unbegun`) only
    hook objects are told.
    """

    turn: int
    status: Literal["ok", "interrupted", "failed"] = "ok"
    failed: bool = False
    messages: Sequence[Any] | None = None
    response: str | None = None
    error: str | None = None
    tool_calls: int | None = None
    iterations: int | None = None
    is_unbegun: bool = False


class UserInterrupt(Struct, frozen=True, kw_only=True):
    """The user interrupted the turn."""


class BeforeAgentStart(Struct, frozen=True, kw_only=True):
    """The agent is about to work on a prompt; a hook may put one message of its own before the model."""

    prompt: str = ""
    images: Sequence[Any] | None = None
    system_prompt: str = ""


class BeforeModelCall(Struct, frozen=True, kw_only=True):
    """Messages are about to be sent to the model; what hooks make of them counts for this call alone."""

    messages: Sequence[Any] = field(default_factory=list)


class ModelStepStart(Struct, frozen=True, kw_only=True):
    """A step of the turn starts: one call of the model; `turn_index` counts from 0."""

    turn_index: int = 0


class ModelStepEnd(Struct, frozen=True, kw_only=True):
    """A step of the turn has ended: the model's message, and the results of the tools it called."""

    turn_index: int = 0
    message: Any = None
    tool_results: Sequence[Any] = field(default_factory=list)


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


class PermissionRequest(Struct, frozen=True, kw_only=True):
    """A tool call is about to be put to the user, with the folders it asks for besides the session's own."""

    tool: Tool
    requested_dirs: Sequence[str] = field(default_factory=list)


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


class BeforeCompact(Struct, frozen=True, kw_only=True):
    """
    The context is about to be compacted in a way that hooks may stop or do themselves.

    `preparation` holds `first_kept_entry_id`, `messages_to_summarize`, `turn_prefix_messages`,
    `recent_messages`, `is_split_turn`, `tokens_before`, `previous_summary`, `previous_preserve_data`, `file_ops`
    and `settings`; `signal`, which no payload has, is set when the user gives up.
    """

    preparation: Mapping[str, Any] = field(default_factory=dict)
    branch_entries: Sequence[Any] = field(default_factory=list)
    custom_instructions: str | None = None
    signal: Any = None


class Compacting(Struct, frozen=True, kw_only=True):
    """The summary of a compaction is about to be written; hooks may add to what it is made from."""

    messages: Sequence[Any] = field(default_factory=list)


class PreCompact(Struct, frozen=True, kw_only=True):
    """The context is about to be compacted; `usage_pct` is a ratio, where 1 means 100 %."""

    trigger: str
    usage_pct: float = 0
    tokens_before: int = 0
    sub_agent: SubAgent | None = None


class PostCompact(Struct, frozen=True, kw_only=True):
    """The context has been compacted."""

    trigger: str = ""
    summarized_turns: int = 0
    tokens_before: int = 0
    compaction_entry: Any = None
    from_extension: bool = False


class AutoCompactionStart(Struct, frozen=True, kw_only=True):
    """The agent starts to compact its context by itself."""

    reason: Literal["threshold", "overflow", "idle"]
    action: Literal["context-full", "handoff"] = "context-full"


class AutoCompactionEnd(Struct, frozen=True, kw_only=True):
    """A compaction that the agent started by itself has ended."""

    action: Literal["context-full", "handoff"] = "context-full"
    result: Any = None
    aborted: bool = False
    will_retry: bool = False
    error_message: str | None = None
    skipped: bool | None = None


class AutoRetryStart(Struct, frozen=True, kw_only=True):
    """A failed call of the model is about to be tried again, after `delay_ms` milliseconds."""

    attempt: int
    max_attempts: int
    delay_ms: float = 0
    error_message: str = ""


class AutoRetryEnd(Struct, frozen=True, kw_only=True):
    """Trying a call of the model again has come to an end."""

    success: bool
    attempt: int
    final_error: str | None = None


class TtsrTriggered(Struct, frozen=True, kw_only=True):
    """Rules that watch the model's output as it streams were triggered."""

    rules: Sequence[Any] = field(default_factory=list)


class TodoReminder(Struct, frozen=True, kw_only=True):
    """The agent is reminded of what it has left to do."""

    todos: Sequence[Any] = field(default_factory=list)
    attempt: int = 1
    max_attempts: int = 1


class WorkflowRunStart(Struct, frozen=True, kw_only=True):
    """A workflow passed its checks and is about to run its nodes."""

    run_id: str
    input_text: str = ""


class WorkflowRunEnd(Struct, frozen=True, kw_only=True):
    """A workflow has ended, whether it succeeded, failed or was cancelled."""

    run_id: str
    outcome: str = ""
    reason: str = ""


class HookFailed(Struct, frozen=True, kw_only=True):
    """A hook could not answer: which, at which event, and how it failed."""

    hook_id: str
    failed_event: str
    kind: str
    message: str
    source: str = ""
