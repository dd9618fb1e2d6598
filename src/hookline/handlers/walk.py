"""
Calling handlers one after another until one has something to say, within the time limit of each.

Most handlers at most events say nothing; a stretch of them costs little more than the calls themselves. Plain
handlers are called on a thread of their own, async ones in a task on the loop of whoever fired the event.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hookline.events import Event
from hookline.handlers.clock import HandlerClock, running_clock
from hookline.handlers.context import PlainContext
from hookline.handlers.events import view_event
from hookline.handlers.workers import Workers
from hookline.hook import Hook, Match
from hookline.match import compile_match
from hookline.registry import Entry, Stretch

# A look at the clock while the user is being asked, or just before a limit.
_SHORTEST_LOOK_S = 0.01
_ANY = compile_match(Match())


class CancelledItselfError(Exception):
    """A handler cancelled the task it runs in."""


class Said(Struct, frozen=True, kw_only=True):
    """What the handler at a position said: it returned something, raised, or did not answer in time."""

    position: int
    took_s: float
    returned: Any = None
    error: BaseException | None = None
    is_late: bool = False


class Walk(HandlerClock):
    """
    A walk along a stretch, from a position on.

    `quiet` lists who had nothing to say (position, seconds), `said` who had; those behind are left for another
    walk. Positions that are in neither were not meant by the event.
    """

    __slots__ = (
        "_context",
        "_done",
        "_event",
        "_first",
        "_has_ended",
        "_is_given_up",
        "_started_at",
        "_stretch",
        "_task",
        "_watch",
        "position",
        "quiet",
        "said",
    )

    def __init__(self, stretch: Stretch, first: int, event: Event, context: Any) -> None:
        super().__init__()
        self._stretch = stretch
        self._first = self.position = first
        self._event = event
        self._context = context
        self._task: asyncio.Task[None] | None = None
        self._has_ended = self._is_given_up = False
        self.quiet: list[tuple[int, float]] = []
        self.said: Said | None = None

    async def go(self, workers: Workers) -> bool:
        """
        Walk until somebody speaks, to the end, or until a handler's time is up; False if no thread could be had.

        Whoever is still running then, or when this is cancelled, is given up: cancelled if it can be, else left.
        """
        loop = asyncio.get_running_loop()
        self._done = loop.create_future()
        self._started_at = time.monotonic()
        if self._stretch.is_async:
            self._task = loop.create_task(self._walk_async())
        else:
            surroundings = contextvars.copy_context()
            if not workers.start(lambda: self._walk_on_thread(surroundings, loop, workers)):
                return False
        self._watch = loop.call_later(self._limit_s, self._look, loop, workers)
        try:
            await self._done
        except asyncio.CancelledError:
            self._give_up(workers)
            raise
        finally:
            self._watch.cancel()
        return True

    @property
    def _limit_s(self) -> float:
        return self._stretch.entries[self.position].hook.execution.timeout_s

    def _look(self, loop: asyncio.AbstractEventLoop, workers: Workers) -> None:
        """Give up the handler that is running if its time is up, else look again when it may be."""
        if self._done.done():
            return
        position, took_s = self.position, time.monotonic() - self._started_at - self.waited_s
        left_s = self._limit_s - took_s
        if left_s > 0 or self.is_paused:
            self._watch = loop.call_later(max(left_s, _SHORTEST_LOOK_S), self._look, loop, workers)
            return
        self._give_up(workers)
        self.quiet = [(quiet, s) for quiet, s in self.quiet if quiet < position]
        self.said = Said(position=position, took_s=took_s, is_late=True)
        self._done.set_result(None)

    def _give_up(self, workers: Workers) -> None:
        self._is_given_up = True
        if self._task is not None:
            self._task.cancel()
            return
        if isinstance(self._context, PlainContext):
            self._context.cancel_dialogs()
        workers.give_up(self)
        if self._has_ended:
            workers.note_end(self)

    def _walk_on_thread(
        self, surroundings: contextvars.Context, loop: asyncio.AbstractEventLoop, workers: Workers
    ) -> None:
        try:
            surroundings.run(self._walk_plain)
        finally:
            self._has_ended = True
            if self._is_given_up:
                workers.note_end(self)
            else:
                _call_soon(loop, self._settle)

    def _walk_plain(self) -> None:
        running_clock.set(self)
        view, context, entries = view_event(self._event), self._context, self._stretch.entries
        now = time.monotonic()
        for position, function in enumerate(self._stretch.functions[self._first :], self._first):
            if self._is_given_up:
                return
            if self._stretch.is_conditional and not entries[position].match.test(self._event):
                continue
            self.position, self._started_at, self._waited_s = position, now, 0.0
            try:
                returned = function(view, context)
            except BaseException as error:  # boundary: whatever a handler raises, an exit too, is its outcome
                self._say(position, now, error=error)
                return
            then = time.monotonic()
            if returned is not None:
                self._say(position, now, returned=returned)
                return
            self.quiet.append((position, then - now))
            now = then
            if view.copies is not None and view.is_changed():
                view = view_event(self._event)

    async def _walk_async(self) -> None:
        try:
            await self._walk_awaiting()
        finally:
            self._settle()

    async def _walk_awaiting(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        running_clock.set(self)
        view, context, entries = view_event(self._event), self._context, self._stretch.entries
        now = time.monotonic()
        for position, function in enumerate(self._stretch.functions[self._first :], self._first):
            if self._stretch.is_conditional and not entries[position].match.test(self._event):
                continue
            self.position, self._started_at, self._waited_s = position, now, 0.0
            try:
                returned = await function(view, context)
            except asyncio.CancelledError:
                if self._is_given_up:
                    raise
                self._say(position, now, error=CancelledItselfError("it cancelled its own task"))
                return
            except (KeyboardInterrupt, GeneratorExit):  # these are the host's
                raise
            except BaseException as error:  # boundary: whatever else a handler raises, an exit too, is its outcome
                self._say(position, now, error=error)
                return
            then = time.monotonic()
            if self._is_given_up:
                return
            if task.cancelling():
                self._say(position, now, error=CancelledItselfError("it cancelled its own task"))
                return
            if returned is not None:
                self._say(position, now, returned=returned)
                return
            self.quiet.append((position, then - now))
            now = then
            if view.copies is not None and view.is_changed():
                view = view_event(self._event)

    def _say(self, position: int, started_at: float, **what: Any) -> None:
        if not self._is_given_up:
            self.said = Said(position=position, took_s=time.monotonic() - started_at, **what)

    def _settle(self) -> None:
        if not self._done.done():
            self._done.set_result(None)


async def call_alone(
    hook: Hook, function: Callable[[Any, Any], Any], event: Event, workers: Workers, *, is_async: bool
) -> Said | None:
    """
    Call one function for a hook, by the rules of a walk; what it says, also when that is nothing.

    None if no thread could be had.
    """
    stretch = Stretch(
        entries=(Entry(hook=hook, match=_ANY),), functions=(function,), is_async=is_async, is_conditional=False
    )
    walk = Walk(stretch, 0, event, None)
    if not await walk.go(workers):
        return None
    return walk.said or Said(position=0, took_s=walk.quiet[0][1])


def _call_soon(loop: asyncio.AbstractEventLoop, function: Any) -> None:
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:  # the loop is closed: nobody waits any more
        return
