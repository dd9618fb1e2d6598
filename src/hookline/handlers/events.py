"""
The events as handlers see them: one class an event, its fields under the names of the module hooks' own documents.

An event shows what the engine's record holds. What can be changed is copied when it is first looked at, so that
a handler may do with it what it likes.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal

from hookline.events import EVENT_TYPES, Event
from hookline.handlers.copying import copy_data, is_changed

DIALECT = "xcsh"
"""The dialect whose names and rules the handlers of modules follow."""

_MS = 1000


def _show(path: str) -> Any:
    """A field that cannot be changed, by where it stands in the event."""
    return property(attrgetter(f"_event.{path}"))


def _copy(path: str, kind: Callable[[Any], Any] | None = None) -> Any:
    """A field that can be changed, so that its value is the handler's own copy; `kind` makes it a list, say."""
    get = attrgetter(path)
    return _own(get if kind is None else lambda event: kind(get(event) or ()))


def _own(read: Callable[[Event], Any]) -> Any:
    return property(lambda event: event.take(read, read))


class HandlerEvent:
    """An event; `type` is its name, `fields` are the names of what it shows besides."""

    __slots__ = ("_event", "copies", "type")

    type: str
    fields: tuple[str, ...] = ()

    def __init__(self, event: Event, name: str) -> None:
        self._event = event
        self.copies: dict[Any, tuple[Any, Any]] | None = None
        self.type = name

    def __init_subclass__(cls) -> None:
        cls.fields = tuple(name for name, value in vars(cls).items() if isinstance(value, property))

    def __repr__(self) -> str:
        shown = "".join(f", {name}={getattr(self, name)!r}" for name in self.fields)
        return f"{type(self).__name__}(type={self.type!r}{shown})"

    def take(self, key: Any, read: Callable[[Event], Any]) -> Any:
        """The handler's own copy of what `read` finds in the event; the same one each time."""
        copies = self.copies
        if copies is None:
            copies = self.copies = {}
        found = copies.get(key)
        if found is None:
            original = read(self._event)
            found = copies[key] = (copy_data(original), original)
        return found[0]

    def is_changed(self) -> bool:
        """Whether a handler has changed what it was shown, so that the next one needs copies of its own."""
        copies = self.copies
        return copies is not None and any(is_changed(copied, original) for copied, original in copies.values())


class SessionStartEvent(HandlerEvent):
    """The session has started."""

    __slots__ = ()


class SessionShutdownEvent(HandlerEvent):
    """The session ends."""

    __slots__ = ()


class SessionBeforeSwitchEvent(HandlerEvent):
    """The user is about to switch to another session."""

    __slots__ = ()
    reason: Literal["new", "resume", "fork"] = _show("fields.reason")
    target_session_file: str | None = _show("fields.target_session_file")


class SessionSwitchEvent(HandlerEvent):
    """The agent has switched to another session."""

    __slots__ = ()
    reason: Literal["new", "resume", "fork"] = _show("fields.reason")
    previous_session_file: str | None = _show("fields.previous_session_file")


class SessionBeforeBranchEvent(HandlerEvent):
    """A branch is about to be made."""

    __slots__ = ()
    entry_id: str = _show("fields.entry_id")


class SessionBranchEvent(HandlerEvent):
    """A branch has been made."""

    __slots__ = ()
    previous_session_file: str | None = _show("fields.previous_session_file")


class SessionBeforeTreeEvent(HandlerEvent):
    """The user is about to go to another leaf of the session's tree."""

    __slots__ = ()
    preparation: dict[str, Any] = _copy("fields.preparation")
    signal: Any = _show("fields.signal")


class SessionTreeEvent(HandlerEvent):
    """The session stands at another leaf of its tree."""

    __slots__ = ()
    new_leaf_id: str | None = _show("fields.new_leaf_id")
    old_leaf_id: str | None = _show("fields.old_leaf_id")
    summary_entry: Any = _copy("fields.summary_entry")
    from_extension: bool = _show("fields.from_extension")


class SessionBeforeCompactEvent(HandlerEvent):
    """The context is about to be compacted."""

    __slots__ = ()
    preparation: dict[str, Any] = _copy("fields.preparation")
    branch_entries: list[Any] = _copy("fields.branch_entries", list)
    custom_instructions: str | None = _show("fields.custom_instructions")
    signal: Any = _show("fields.signal")


class SessionCompactingEvent(HandlerEvent):
    """The summary of a compaction is about to be written."""

    __slots__ = ()
    session_id: str = _show("session_id")
    messages: list[Any] = _copy("fields.messages", list)


class SessionCompactEvent(HandlerEvent):
    """The context has been compacted."""

    __slots__ = ()
    compaction_entry: Any = _copy("fields.compaction_entry")
    from_extension: bool = _show("fields.from_extension")


class ContextEvent(HandlerEvent):
    """Messages are about to be sent to the model."""

    __slots__ = ()
    messages: list[Any] = _copy("fields.messages", list)


class BeforeAgentStartEvent(HandlerEvent):
    """The agent is about to work on a prompt."""

    __slots__ = ()
    prompt: str = _show("fields.prompt")
    images: list[Any] | None = _copy("fields.images")
    system_prompt: str = _show("fields.system_prompt")


class AgentStartEvent(HandlerEvent):
    """The agent starts to work."""

    __slots__ = ()


class AgentEndEvent(HandlerEvent):
    """The agent has ended its work."""

    __slots__ = ()
    messages: list[Any] = _copy("fields.messages", list)


class TurnStartEvent(HandlerEvent):
    """A step of the agent starts; `timestamp` is in milliseconds."""

    __slots__ = ()
    turn_index: int = _show("fields.turn_index")
    timestamp: int = _own(lambda event: int(event.timestamp.timestamp() * _MS))


class TurnEndEvent(HandlerEvent):
    """A step of the agent has ended."""

    __slots__ = ()
    turn_index: int = _show("fields.turn_index")
    message: Any = _copy("fields.message")
    tool_results: list[Any] = _copy("fields.tool_results", list)


class AutoCompactionStartEvent(HandlerEvent):
    """The agent starts to compact its context by itself."""

    __slots__ = ()
    reason: Literal["threshold", "overflow", "idle"] = _show("fields.reason")
    action: Literal["context-full", "handoff"] = _show("fields.action")


class AutoCompactionEndEvent(HandlerEvent):
    """A compaction that the agent started by itself has ended."""

    __slots__ = ()
    action: Literal["context-full", "handoff"] = _show("fields.action")
    result: Any = _copy("fields.result")
    aborted: bool = _show("fields.aborted")
    will_retry: bool = _show("fields.will_retry")
    error_message: str | None = _show("fields.error_message")
    skipped: bool | None = _show("fields.skipped")


class AutoRetryStartEvent(HandlerEvent):
    """A failed call of the model is about to be tried again."""

    __slots__ = ()
    attempt: int = _show("fields.attempt")
    max_attempts: int = _show("fields.max_attempts")
    delay_ms: float = _show("fields.delay_ms")
    error_message: str = _show("fields.error_message")


class AutoRetryEndEvent(HandlerEvent):
    """Trying a call of the model again has come to an end."""

    __slots__ = ()
    success: bool = _show("fields.success")
    attempt: int = _show("fields.attempt")
    final_error: str | None = _show("fields.final_error")


class TtsrTriggeredEvent(HandlerEvent):
    """Rules that watch the model's output were triggered."""

    __slots__ = ()
    rules: list[Any] = _copy("fields.rules", list)


class TodoReminderEvent(HandlerEvent):
    """The agent is reminded of what it has left to do."""

    __slots__ = ()
    todos: list[Any] = _copy("fields.todos", list)
    attempt: int = _show("fields.attempt")
    max_attempts: int = _show("fields.max_attempts")


class ToolCallEvent(HandlerEvent):
    """A tool is about to be called."""

    __slots__ = ()
    tool_name: str = _show("fields.tool.name")
    tool_call_id: str = _show("fields.tool.call_id")
    input: dict[str, Any] = _copy("fields.tool.args", dict)


class ToolResultEvent(HandlerEvent):
    """A tool has been called; `content` holds blocks of text and images."""

    __slots__ = ()
    tool_name: str = _show("fields.tool.name")
    tool_call_id: str = _show("fields.tool.call_id")
    input: dict[str, Any] = _copy("fields.tool.args", dict)
    content: list[Any] = _copy("fields.result.blocks", list)
    details: Any = _copy("fields.result.details")
    is_error: bool = _show("fields.result.failed")


class OtherEvent(HandlerEvent):
    """An event that only Hookline knows; it shows the fields of the engine's record under their own names."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in self._event.type.field_names:
            known = ", ".join(self._event.type.field_names) or "none"
            raise AttributeError(f"{self.type} has no field {name!r}; its fields: {known}")
        return self.take(name, lambda event: getattr(event.fields, name))


_VIEWS: dict[str, type[HandlerEvent]] = {
    "session_start": SessionStartEvent,
    "session_shutdown": SessionShutdownEvent,
    "session_before_switch": SessionBeforeSwitchEvent,
    "session_switch": SessionSwitchEvent,
    "session_before_branch": SessionBeforeBranchEvent,
    "session_branch": SessionBranchEvent,
    "session_before_compact": SessionBeforeCompactEvent,
    "session.compacting": SessionCompactingEvent,
    "session_compact": SessionCompactEvent,
    "session_before_tree": SessionBeforeTreeEvent,
    "session_tree": SessionTreeEvent,
    "context": ContextEvent,
    "before_agent_start": BeforeAgentStartEvent,
    "agent_start": AgentStartEvent,
    "agent_end": AgentEndEvent,
    "turn_start": TurnStartEvent,
    "turn_end": TurnEndEvent,
    "auto_compaction_start": AutoCompactionStartEvent,
    "auto_compaction_end": AutoCompactionEndEvent,
    "auto_retry_start": AutoRetryStartEvent,
    "auto_retry_end": AutoRetryEndEvent,
    "ttsr_triggered": TtsrTriggeredEvent,
    "todo_reminder": TodoReminderEvent,
    "tool_call": ToolCallEvent,
    "tool_result": ToolResultEvent,
}
# For each event of the engine: the name and the class under which handlers see it.
_BY_EVENT = {
    row.name: (row.aliases.get(DIALECT, row.name), _VIEWS.get(row.aliases.get(DIALECT, ""), OtherEvent))
    for row in EVENT_TYPES
}


def view_event(event: Event) -> HandlerEvent:
    """The event as a handler is to see it."""
    name, view = _BY_EVENT[event.name]
    return view(event, name)


def find_view(event_name: str) -> type[HandlerEvent]:
    """The class under which handlers see the engine's event of this name."""
    return _BY_EVENT[event_name][1]
