"""Where in an agent's life something happens: what every event of it carries, and the way in and out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from hookline.events import EVENT_TYPES, Event, Fields
from hookline.facts import NO_FACTS, HostFacts
from hookline.fields import Agent, Tool
from hookline.lifecycle.step import Call, Fire, Firing, Step, drive, drive_sync, shielded
from hookline.outcome import Decision


class Asked(Struct, frozen=True, kw_only=True):
    """A question that hooks want put to a human: why, and about which event."""

    reason: str
    event: Event

    @property
    def tool(self) -> Tool | None:
        """The tool call in question, if it is about one."""
        return self.event.tool


TellFacts = Callable[[], HostFacts]
"""A host's way to say what it alone knows of a session, asked for each event that somebody listens to."""

Ask = Callable[[Asked], bool | Awaitable[bool]]
"""A host's way to ask a human; True lets the action happen."""

_NAMES = {row.record: row.name for row in EVENT_TYPES}


class Scope(Struct, frozen=True, kw_only=True):
    """
    What the events of one agent in one session have in common.

    `ask` puts a hook's question to a human; without it a question counts as a no. `tell_facts` says what the host
    alone knows of the session.
    """

    firing: Firing
    session_id: str
    agent: Agent
    profile: str
    cwd: str
    turn_id: str | None = None
    ask: Ask | None = None
    tell_facts: TellFacts | None = None

    def fire(self, name: str, build: Callable[[], Fields]) -> Step[Decision]:
        """Fire an event of this scope; its record is built only if somebody listens."""
        decision: Decision = yield Fire(name, lambda: self.event(build()))
        return decision

    def announce(self, record: Fields) -> Step[Decision]:
        """Fire the event that a record is of."""
        return self.fire(_NAMES[type(record)], lambda: record)

    def request(self, record: Fields) -> Step[Decision]:
        """Fire the event that a record is of, and put a hook's question to the human; the verdict is yes or no."""
        decision = yield from self.announce(record)
        if decision.verdict != "ask":
            return decision
        is_agreed = False
        if self.ask is not None and decision.event is not None:
            is_agreed = bool((yield Call(self.ask, (Asked(reason=decision.reason or "", event=decision.event),))))
        return replace(decision, verdict="allow") if is_agreed else refuse(decision)

    def event(self, fields: Fields) -> Event:
        """An occurrence in this scope."""
        return Event(
            fields,
            session_id=self.session_id,
            turn_id=self.turn_id,
            agent=self.agent,
            profile=self.profile,
            cwd=self.cwd,
            facts=NO_FACTS if self.tell_facts is None else self.tell_facts(),
        )


class Phase(ABC):
    """
    A part of an agent's life with a beginning and an end, as a context manager of both kinds.

    Whatever happens inside, `_leave` runs once and is told about it, also when the beginning was cut short after
    `_has_begun` was set.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._has_begun = False

    @property
    def scope(self) -> Scope:
        """What the events of this part have in common."""
        return self._scope

    @abstractmethod
    def _enter(self) -> Step[None]:
        """Announce the beginning."""

    @abstractmethod
    def _leave(self, error: BaseException | None) -> Step[None]:
        """Announce the end; `error` is what ended it, None for a normal end."""

    def _end(self, error: BaseException | None) -> Step[None]:
        """Announce the end; after an interruption it is announced to the end, though the host goes on cancelling."""
        return shielded(self._leave(error)) if is_interruption(error) else self._leave(error)

    async def __aenter__(self) -> Self:
        try:
            await drive(self._enter(), self._scope.firing)
        except BaseException as error:
            if self._has_begun:
                await drive(self._end(error), self._scope.firing)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        await drive(self._end(error), self._scope.firing)
        return None

    def __enter__(self) -> Self:
        try:
            drive_sync(self._enter(), self._scope.firing)
        except BaseException as error:
            if self._has_begun:
                drive_sync(self._leave(error), self._scope.firing)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        drive_sync(self._leave(error), self._scope.firing)
        return None


def refuse(decision: Decision, reason: str | None = None) -> Decision:
    """A question that was answered with no: a decision that blocks, and says nothing else."""
    return replace(decision, verdict="block", reason=reason or decision.reason, edits={}, reminders=(), context=())


def is_interruption(error: BaseException | None) -> bool:
    """Whether an end came from outside: a cancelled task, Ctrl-C, a host that exits."""
    return error is not None and not isinstance(error, Exception)


def describe_error(error: BaseException) -> str:
    """What went wrong, in the error's words; by its name if it has none."""
    return str(error) or type(error).__name__
