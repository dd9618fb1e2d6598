"""
What may be registered for which event, spelt out for editors and type checkers.

One entry an event class: its names, the event a handler gets, what it may return. Both ways to register are here:
`on(event, handler)`, which returns the function that takes the handler off again, and `@on(event)`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, overload

from hookline.handlers.context import Context, PlainContext
from hookline.handlers.events import (
    AgentEndEvent,
    AgentStartEvent,
    AutoCompactionEndEvent,
    AutoCompactionStartEvent,
    AutoRetryEndEvent,
    AutoRetryStartEvent,
    BeforeAgentStartEvent,
    ContextEvent,
    OtherEvent,
    SessionBeforeBranchEvent,
    SessionBeforeCompactEvent,
    SessionBeforeSwitchEvent,
    SessionBeforeTreeEvent,
    SessionBranchEvent,
    SessionCompactEvent,
    SessionCompactingEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    SessionTreeEvent,
    TodoReminderEvent,
    ToolCallEvent,
    ToolResultEvent,
    TtsrTriggeredEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from hookline.handlers.results import (
    BeforeAgentStartResult,
    BeforeAgentStartReturn,
    CancelResult,
    CancelReturn,
    ContextResult,
    ContextReturn,
    PromptResult,
    PromptReturn,
    SessionBeforeBranchResult,
    SessionBeforeBranchReturn,
    SessionBeforeCompactResult,
    SessionBeforeCompactReturn,
    SessionBeforeTreeResult,
    SessionBeforeTreeReturn,
    SessionCompactingResult,
    SessionCompactingReturn,
    ToolCallResult,
    ToolCallReturn,
    ToolResultResult,
    ToolResultReturn,
)
from hookline.hook import Mode, OnError
from hookline.outcome import Answer

E = TypeVar("E")
R = TypeVar("R")
H = TypeVar("H")

_Answer: TypeAlias = R | Mapping[str, Any] | Answer | None
Asked = (
    Callable[[E, Context], Awaitable[_Answer[R]]]
    | Callable[[E, PlainContext], _Answer[R]]
    | Callable[[E], Awaitable[_Answer[R]] | _Answer[R]]
)
"""A handler whose answer counts: async, plain, or of the event alone."""

Told = Callable[[E, Context], Awaitable[object]] | Callable[[E, PlainContext], object] | Callable[[E], object]
"""A handler whose answer counts for nothing."""

Remove = Callable[[], None]
"""Takes off again what was registered; a second call does nothing."""

SessionBeforeSwitchHandler = Asked[SessionBeforeSwitchEvent, CancelResult | CancelReturn]
SessionBeforeBranchHandler = Asked[SessionBeforeBranchEvent, SessionBeforeBranchResult | SessionBeforeBranchReturn]
SessionBeforeTreeHandler = Asked[SessionBeforeTreeEvent, SessionBeforeTreeResult | SessionBeforeTreeReturn]
BeforeAgentStartHandler = Asked[BeforeAgentStartEvent, BeforeAgentStartResult | BeforeAgentStartReturn]
ContextHandler = Asked[ContextEvent, ContextResult | ContextReturn]
ToolCallHandler = Asked[ToolCallEvent, ToolCallResult | ToolCallReturn]
ToolResultHandler = Asked[ToolResultEvent, ToolResultResult | ToolResultReturn]
SessionBeforeCompactHandler = Asked[SessionBeforeCompactEvent, SessionBeforeCompactResult | SessionBeforeCompactReturn]
SessionCompactingHandler = Asked[SessionCompactingEvent, SessionCompactingResult | SessionCompactingReturn]
PromptHandler = Asked[OtherEvent, PromptResult | PromptReturn]
PermissionRequestHandler = Asked[OtherEvent, CancelResult | CancelReturn]


class Options(TypedDict, total=False):
    """
    What may be said of a handler beside its event.

    `tool_name`, `tool_kind` and `profile` narrow when it is meant. `id` names it in listings, logs and decisions.
    `timeout_s` is its time limit in seconds; `on_error` says what its failure means on a gate; in `mode` other
    than `blocking` nobody waits for it.
    """

    id: str
    tool_name: str
    tool_kind: str
    profile: str
    timeout_s: float
    on_error: OnError
    mode: Mode
    description: str


class Decorator(Protocol[H]):
    """Registers the function it is put on, and leaves it as it is."""

    def __call__(self, handler: H, /) -> H: ...


class On(Protocol):
    """Registers handlers."""

    @overload
    def __call__(
        self, event: Literal["session_start"], handler: Told[SessionStartEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_start"], **options: Unpack[Options]
    ) -> Decorator[Told[SessionStartEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["session_before_switch"], handler: SessionBeforeSwitchHandler, **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_before_switch"], **options: Unpack[Options]
    ) -> Decorator[SessionBeforeSwitchHandler]: ...
    @overload
    def __call__(
        self, event: Literal["session_switch"], handler: Told[SessionSwitchEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_switch"], **options: Unpack[Options]
    ) -> Decorator[Told[SessionSwitchEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["session_before_branch"], handler: SessionBeforeBranchHandler, **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_before_branch"], **options: Unpack[Options]
    ) -> Decorator[SessionBeforeBranchHandler]: ...
    @overload
    def __call__(
        self, event: Literal["session_branch"], handler: Told[SessionBranchEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_branch"], **options: Unpack[Options]
    ) -> Decorator[Told[SessionBranchEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["session_before_tree"], handler: SessionBeforeTreeHandler, **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_before_tree"], **options: Unpack[Options]
    ) -> Decorator[SessionBeforeTreeHandler]: ...
    @overload
    def __call__(
        self, event: Literal["session_tree"], handler: Told[SessionTreeEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_tree"], **options: Unpack[Options]
    ) -> Decorator[Told[SessionTreeEvent]]: ...
    @overload
    def __call__(
        self,
        event: Literal["session_shutdown", "session_end"],
        handler: Told[SessionShutdownEvent],
        **options: Unpack[Options],
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_shutdown", "session_end"], **options: Unpack[Options]
    ) -> Decorator[Told[SessionShutdownEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["agent_start", "before_turn"], handler: Told[AgentStartEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["agent_start", "before_turn"], **options: Unpack[Options]
    ) -> Decorator[Told[AgentStartEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["agent_end", "after_turn"], handler: Told[AgentEndEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["agent_end", "after_turn"], **options: Unpack[Options]
    ) -> Decorator[Told[AgentEndEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["before_agent_start"], handler: BeforeAgentStartHandler, **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["before_agent_start"], **options: Unpack[Options]
    ) -> Decorator[BeforeAgentStartHandler]: ...
    @overload
    def __call__(
        self, event: Literal["context", "before_model_call"], handler: ContextHandler, **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["context", "before_model_call"], **options: Unpack[Options]
    ) -> Decorator[ContextHandler]: ...
    @overload
    def __call__(
        self,
        event: Literal["turn_start", "model_step_start"],
        handler: Told[TurnStartEvent],
        **options: Unpack[Options],
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["turn_start", "model_step_start"], **options: Unpack[Options]
    ) -> Decorator[Told[TurnStartEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["turn_end", "model_step_end"], handler: Told[TurnEndEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["turn_end", "model_step_end"], **options: Unpack[Options]
    ) -> Decorator[Told[TurnEndEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["tool_call", "before_tool_call"], handler: ToolCallHandler, **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["tool_call", "before_tool_call"], **options: Unpack[Options]
    ) -> Decorator[ToolCallHandler]: ...
    @overload
    def __call__(
        self, event: Literal["tool_result", "after_tool_call"], handler: ToolResultHandler, **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["tool_result", "after_tool_call"], **options: Unpack[Options]
    ) -> Decorator[ToolResultHandler]: ...
    @overload
    def __call__(
        self,
        event: Literal["session_before_compact", "before_compact"],
        handler: SessionBeforeCompactHandler,
        **options: Unpack[Options],
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_before_compact", "before_compact"], **options: Unpack[Options]
    ) -> Decorator[SessionBeforeCompactHandler]: ...
    @overload
    def __call__(
        self,
        event: Literal["session.compacting", "compacting"],
        handler: SessionCompactingHandler,
        **options: Unpack[Options],
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session.compacting", "compacting"], **options: Unpack[Options]
    ) -> Decorator[SessionCompactingHandler]: ...
    @overload
    def __call__(
        self,
        event: Literal["session_compact", "post_compact"],
        handler: Told[SessionCompactEvent],
        **options: Unpack[Options],
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["session_compact", "post_compact"], **options: Unpack[Options]
    ) -> Decorator[Told[SessionCompactEvent]]: ...
    @overload
    def __call__(
        self,
        event: Literal["auto_compaction_start"],
        handler: Told[AutoCompactionStartEvent],
        **options: Unpack[Options],
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["auto_compaction_start"], **options: Unpack[Options]
    ) -> Decorator[Told[AutoCompactionStartEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["auto_compaction_end"], handler: Told[AutoCompactionEndEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["auto_compaction_end"], **options: Unpack[Options]
    ) -> Decorator[Told[AutoCompactionEndEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["auto_retry_start"], handler: Told[AutoRetryStartEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["auto_retry_start"], **options: Unpack[Options]
    ) -> Decorator[Told[AutoRetryStartEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["auto_retry_end"], handler: Told[AutoRetryEndEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["auto_retry_end"], **options: Unpack[Options]
    ) -> Decorator[Told[AutoRetryEndEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["ttsr_triggered"], handler: Told[TtsrTriggeredEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["ttsr_triggered"], **options: Unpack[Options]
    ) -> Decorator[Told[TtsrTriggeredEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["todo_reminder"], handler: Told[TodoReminderEvent], **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["todo_reminder"], **options: Unpack[Options]
    ) -> Decorator[Told[TodoReminderEvent]]: ...
    @overload
    def __call__(
        self,
        event: Literal[
            "session_restored",
            "user_interrupt",
            "tool_error",
            "approval_requested",
            "approval_resolved",
            "sub_agent_start",
            "sub_agent_end",
            "pre_compact",
            "workflow_run_start",
            "workflow_run_end",
            "hook_failed",
        ],
        handler: Told[OtherEvent],
        **options: Unpack[Options],
    ) -> Remove: ...
    @overload
    def __call__(
        self,
        event: Literal[
            "session_restored",
            "user_interrupt",
            "tool_error",
            "approval_requested",
            "approval_resolved",
            "sub_agent_start",
            "sub_agent_end",
            "pre_compact",
            "workflow_run_start",
            "workflow_run_end",
            "hook_failed",
        ],
        **options: Unpack[Options],
    ) -> Decorator[Told[OtherEvent]]: ...
    @overload
    def __call__(
        self, event: Literal["user_prompt_submit"], handler: PromptHandler, **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["user_prompt_submit"], **options: Unpack[Options]
    ) -> Decorator[PromptHandler]: ...
    @overload
    def __call__(
        self, event: Literal["permission_request"], handler: PermissionRequestHandler, **options: Unpack[Options]
    ) -> Remove: ...
    @overload
    def __call__(
        self, event: Literal["permission_request"], **options: Unpack[Options]
    ) -> Decorator[PermissionRequestHandler]: ...
