"""
One logic for asynchronous and synchronous hosts.

What happens in a session is written once, as generators that yield what they need done: fire an event, wait for
hooks, call a function of the host. Two small drivers do it, one awaiting, one not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct, field

from hookline.errors import HooklineError
from hookline.events import Event
from hookline.outcome import EMPTY_DECISION, Decision, Run
from hookline.waiting import shield

T = TypeVar("T")


class Firing(Protocol):
    """What a lifecycle needs of an engine."""

    def listens(self, event_name: str) -> bool: ...

    async def fire(self, event: Event) -> Decision: ...

    def fire_sync(self, event: Event) -> Decision: ...

    async def drain_turn(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]: ...

    def drain_turn_sync(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]: ...

    async def drain_session(self, session_id: str = "", *, grace_s: float | None = None) -> tuple[Run, ...]: ...

    def drain_session_sync(self, session_id: str = "", *, grace_s: float | None = None) -> tuple[Run, ...]: ...


class Fire(Struct, frozen=True):
    """
    Fire the event that `build` makes, which is built only if somebody listens.

    A shielded one is fired to its end though the host is cancelled meanwhile.
    """

    name: str
    build: Callable[[], Event]
    is_shielded: bool = False


class DrainTurn(Struct, frozen=True, kw_only=True):
    """Wait for the async hooks of a turn, those of one agent if it is named."""

    session_id: str
    agent_id: str | None = None


class DrainSession(Struct, frozen=True, kw_only=True):
    """Wait for the async hooks of a session within its grace."""

    session_id: str
    grace_s: float | None = None


class Call(Struct, frozen=True):
    """Call a function of the host, which may be a plain or an async one."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = field(default=())


Command = Fire | DrainTurn | DrainSession | Call
Step = Generator[Command, Any, T]
"""A piece of a lifecycle: yields commands, is sent their results, returns a T."""


class _Progress(Generic[T]):
    """How far a step has come: its next command, what became of it, and in the end the step's value."""

    def __init__(self, step: Step[T]) -> None:
        self._step = step
        self._result: Any = None
        self._error: BaseException | None = None
        self.value: Any = None

    def next(self) -> Command | None:
        """The next command, None when the step is over."""
        result, error = self._result, self._error
        self._result = self._error = None
        try:
            return self._step.send(result) if error is None else self._step.throw(error)
        except StopIteration as stop:
            self.value = stop.value
            return None

    def take(self, result: Any) -> None:
        """Hand in the result of the command."""
        self._result = result

    def fail(self, error: BaseException) -> None:
        """Hand in what went wrong with the command; it is raised inside the step."""
        self._error = error


def shielded(step: Step[T]) -> Step[T]:
    """The step with all its events shielded; what it waits for is not prolonged."""
    progress = _Progress(step)
    while (command := progress.next()) is not None:
        try:
            progress.take((yield Fire(command.name, command.build, True) if isinstance(command, Fire) else command))
        except BaseException as error:
            progress.fail(error)
    value: T = progress.value
    return value


async def drive(step: Step[T], firing: Firing) -> T:
    """Do what a step asks for, awaiting; what goes wrong is raised inside the step."""
    progress = _Progress(step)
    while (command := progress.next()) is not None:
        try:
            if isinstance(command, Fire) and command.is_shielded:
                progress.take(await shield(_do(command, firing)))
            else:
                progress.take(await _do(command, firing))
        except BaseException as error:
            progress.fail(error)
    value: T = progress.value
    return value


def drive_sync(step: Step[T], firing: Firing) -> T:
    """Do what a step asks for, without an event loop."""
    progress = _Progress(step)
    while (command := progress.next()) is not None:
        try:
            progress.take(_do_sync(command, firing))
        except BaseException as error:
            progress.fail(error)
    value: T = progress.value
    return value


async def _do(command: Command, firing: Firing) -> Any:
    if isinstance(command, Fire):
        return await firing.fire(command.build()) if firing.listens(command.name) else EMPTY_DECISION
    if isinstance(command, DrainTurn):
        return await firing.drain_turn(command.session_id, agent_id=command.agent_id)
    if isinstance(command, DrainSession):
        return await firing.drain_session(command.session_id, grace_s=command.grace_s)
    found = command.function(*command.arguments)
    return await found if inspect.isawaitable(found) else found


def _do_sync(command: Command, firing: Firing) -> Any:
    if isinstance(command, Fire):
        return firing.fire_sync(command.build()) if firing.listens(command.name) else EMPTY_DECISION
    if isinstance(command, DrainTurn):
        return firing.drain_turn_sync(command.session_id, agent_id=command.agent_id)
    if isinstance(command, DrainSession):
        return firing.drain_session_sync(command.session_id, grace_s=command.grace_s)
    found = command.function(*command.arguments)
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise HooklineError(f"{command.function!r} is async; in synchronous code give a plain function")
    return found
