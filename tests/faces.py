"""The two faces of the lifecycle, async and sync, behind one set of words, and an engine that keeps a diary."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from hookline import BeforeToolCall, Decision, Event, Session, Tool, UserPromptSubmit
from hookline.lifecycle.scope import Phase
from hookline.outcome import Run
from hookline.testing import RecordingEngine

P = TypeVar("P", bound=Phase)

SHELL = Tool(name="bash", kind="shell", call_id="c1", args={"command": "ls"})


class Stop(BaseException):
    """Something that ends a program and is no failure of it, like Ctrl-C."""


# What ends the work in a phase from outside; none of them is an Exception.
INTERRUPTIONS = (KeyboardInterrupt, SystemExit, Stop)


class Face(Protocol):
    """How a host meets the lifecycle: with an event loop, or without one."""

    name: str

    def live(self, phase: P) -> contextlib.AbstractAsyncContextManager[P]:
        """Live through a phase as a context manager."""

    async def do(self, subject: Any, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of the lifecycle, or its twin."""


class AsyncFace:
    """Awaits."""

    name = "async"

    def live(self, phase: P) -> contextlib.AbstractAsyncContextManager[P]:
        return phase

    async def do(self, subject: Any, method: str, *args: Any, **options: Any) -> Any:
        return await getattr(subject, method)(*args, **options)


class SyncFace:
    """Awaits nothing."""

    name = "sync"

    @contextlib.asynccontextmanager
    async def live(self, phase: P) -> AsyncIterator[P]:
        with phase:
            yield phase

    async def do(self, subject: Any, method: str, *args: Any, **options: Any) -> Any:
        return getattr(subject, f"{method}_sync")(*args, **options)


FACES: tuple[Face, ...] = (AsyncFace(), SyncFace())

# What a host may tell of a turn's end, where it tells nothing.
UNTOLD = dict.fromkeys(("messages", "response", "error", "tool_calls", "iterations")) | {"is_unbegun": False}


class Diary(RecordingEngine):
    """A recording engine that also keeps one list of everything in order, and the graces that were asked for."""

    def __init__(self, decisions: Mapping[str, Decision | Callable[[Event], Decision]] | None = None) -> None:
        super().__init__(decisions)
        self.entries: list[str] = []
        self.graces: list[float | None] = []

    def note(self, text: str) -> None:
        self.entries.append(text)

    def only(self, name: str) -> Event:
        """The one event of this name; fails when there is none or another."""
        (event,) = self.all(name)
        return event

    def all(self, name: str) -> list[Event]:
        return [event for event in self.events if event.name == name]

    def fields(self, name: str) -> dict[str, Any]:
        """The fields of the one event of this name."""
        return msgspec.to_builtins(self.only(name).fields)

    def fire_sync(self, event: Event) -> Decision:
        self.note(event.name)
        return super().fire_sync(event)

    def drain_turn_sync(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]:
        self.note("drain turn" if agent_id is None else f"drain turn of {agent_id}")
        return super().drain_turn_sync(session_id, agent_id=agent_id)

    def drain_session_sync(self, session_id: str = "", *, grace_s: float | None = None) -> tuple[Run, ...]:
        self.note("drain session")
        self.graces.append(grace_s)
        return super().drain_session_sync(session_id, grace_s=grace_s)


def blocked(reason: str | None = "no", **options: Any) -> Decision:
    return Decision(verdict="block", reason=reason, **options)


def asked(reason: str | None = "sure?", **options: Any) -> Decision:
    return Decision(verdict="ask", reason=reason, **options)


def with_args(**args: Any) -> Callable[[Event], Decision]:
    """Decides that a tool call runs with other arguments."""

    def decide(event: Event) -> Decision:
        assert event.tool is not None
        tool = msgspec.structs.replace(event.tool, args={**event.tool.args, **args})
        return Decision(event=msgspec.structs.replace(event, fields=BeforeToolCall(tool=tool)))

    return decide


def with_text(text: str) -> Callable[[Event], Decision]:
    """Decides that a prompt has another text."""
    return lambda event: Decision(event=msgspec.structs.replace(event, fields=UserPromptSubmit(text=text)))


def make_session(engine: RecordingEngine, **options: Any) -> Session:
    return Session(engine, **{"id": "s1", "profile": "Code", "cwd": "/w", **options})


def ends_with(text: str) -> Callable[[Tool], str]:
    """A tool that returns a text."""
    return lambda _: text


def fails_with(error: BaseException) -> Callable[[Tool], str]:
    """A tool that raises."""

    def run(_: Tool) -> str:
        raise error

    return run
