"""
Calling handlers one after another until one has something to say, within the time limit of each.

Most handlers at most events say nothing; a stretch of them costs little more than the calls themselves. Plain
handlers are called on a thread of their own, async ones in a task on the loop of whoever fired the event.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hookline.events import Event
from hookline.handlers.clock import HandlerClock, running_clock
from hookline.handlers.context import PlainContext
from hookline.handlers.events import view_event
from hookline.handlers.lasting import EndingCoroutine
from hookline.handlers.workers import Workers
from hookline.hook import Execution, Hook, Match
from hookline.match import compile_match
from hookline.registry import Entry, Stretch

# A look at the clock while the user is being asked, or just before a limit.
_SHORTEST_LOOK_S = 0.01
_ANY = compile_match(Match())


class CancelledItselfError(Exception):
    """A handler cancelled the task it runs in, or awaited something that was cancelled."""


class Said(Struct, frozen=True, kw_only=True):
    """What the handler at a position said: it returned something, raised, or did not answer in time."""

    position: int
    took_s: float
    returned: Any = None
    error: BaseException | None = None
    is_late: bool = False


class _Turn(Struct, frozen=True):
    """The turn of one handler: its position, when it began, and how long the user had been waited for by then."""

    position: int
    began_at: float
    waited_s: float


class Walk(HandlerClock):
    """
    A walk along a stretch, from a position on.

    `quiet` lists who had nothing to say (position, seconds), `said` who had; those behind are left for another
    walk. Positions that are in neither were not meant by the event.
    """

    __slots__ = (
        "_context",
        "_coroutine",
        "_done",
        "_event",
        "_first",
        "_has_ended",
        "_is_given_up",
        "_is_whole",
        "_stretch",
        "_task",
        "_turn",
        "_watch",
        "quiet",
        "said",
    )

    def __init__(self, stretch: Stretch, first: int, event: Event, context: Any) -> None:
        super().__init__()
        self._stretch = stretch
        self._first = first
        self._event = event
        self._context = context
        self._task: asyncio.Task[None] | None = None
        self._has_ended = self._is_given_up = self._is_whole = False
        self.quiet: list[tuple[int, float]] = []
        self.said: Said | None = None

    @property
    def position(self) -> int:
        """Whose turn it is, or was last."""
        return self._turn.position

    async def go(self, workers: Workers) -> bool:
        """
        Walk until somebody speaks, to the end, or until a handler's time is up; False if no thread could be had.

        Whoever is still running then, or when this is cancelled, is given up: cancelled if it can be, else left.
        """
        loop = asyncio.get_running_loop()
        self._done = loop.create_future()
        self._turn = _Turn(self._first, time.monotonic(), 0.0)
        if self._stretch.is_async:
            self._coroutine = EndingCoroutine(self._walk_async())
            self._task = loop.create_task(self._coroutine)
        else:
            surroundings = contextvars.copy_context()
            if not workers.start(lambda: self._walk_on_thread(surroundings, loop, workers)):
                return False
        self._watch = loop.call_later(self._stretch.shortest_s, self._look, loop, workers)
        try:
            await self._done
        except asyncio.CancelledError:
            self._give_up(loop, workers)
            raise
        finally:
            self._watch.cancel()
            if self._asked or self._left:
                self.end_dialogs(spared=self._task)
        if self.said is None and not self._is_whole:
            raise RuntimeError("the walk ended before all its handlers had been called")
        return True

    @property
    def _limit_s(self) -> float:
        return self._execution.timeout_s

    @property
    def _execution(self) -> Execution:
        return self._stretch.entries[self._turn.position].hook.execution

    def _look(self, loop: asyncio.AbstractEventLoop, workers: Workers) -> None:
        """Give up the handler that is running if its time is up, else look again when it may be."""
        if self._done.done():
            return
        with self._lock:
            turn = self._turn
            took_s = time.monotonic() - turn.began_at - (self._read_waited_s() - turn.waited_s)
            left_s = self._limit_s - took_s
            if self.said is not None or self._is_whole:  # at the last moment
                return
            if left_s <= 0 and not self.is_paused:
                self._is_given_up = True
                # What the handler's thread adds to its own list from now on is nobody's business.
                self.quiet = [(quiet, s) for quiet, s in self.quiet if quiet < turn.position]
                self.said = Said(position=turn.position, took_s=took_s, is_late=True)
        if self.said is None:
            # By then the turn of another handler may be up.
            soon_s = max(min(left_s, self._stretch.shortest_s), _SHORTEST_LOOK_S)
            self._watch = loop.call_later(soon_s, self._look, loop, workers)
            return
        self._give_up(loop, workers)
        self._done.set_result(None)

    def _give_up(self, loop: asyncio.AbstractEventLoop, workers: Workers) -> None:
        if self._task is not None:
            self._is_given_up = self._coroutine.is_given_up = True
            self._task.cancel()
            loop.call_later(self._execution.kill_grace_s, self._task.cancel)
            return
        with self._lock:
            self._is_given_up = True
            if not self._has_ended:
                workers.give_up(self, late_at=self._turn.began_at + self._limit_s)
        if isinstance(self._context, PlainContext):
            self._context.cancel_dialogs()

    def _walk_on_thread(
        self, surroundings: contextvars.Context, loop: asyncio.AbstractEventLoop, workers: Workers
    ) -> None:
        try:
            surroundings.run(self._walk_plain)
        finally:
            with self._lock:
                self._has_ended = True
                is_given_up = self._is_given_up
            if is_given_up:
                workers.note_end(self)
            else:
                _call_soon(loop, self._settle)

    def _walk_plain(self) -> None:
        running_clock.set(self)
        view, context, entries, quiet = view_event(self._event), self._context, self._stretch.entries, self.quiet
        now = time.monotonic()
        for position, function in enumerate(self._stretch.functions[self._first :], self._first):
            if self._stretch.is_conditional and not entries[position].match.test(self._event):
                continue
            if not self._take_turn(position, now):
                return
            try:
                returned = function(view, context)
            except BaseException as error:  # boundary: whatever a handler raises, an exit too, is its outcome
                self._say(position, now, error=error)
                return
            then = time.monotonic()
            if returned is not None:
                self._say(position, now, returned=returned)
                return
            quiet.append((position, then - now))
            now = then
            if view.copies is not None:
                view = view_event(self._event)
        self._is_whole = True

    async def _walk_async(self) -> None:
        try:
            await self._walk_awaiting()
        finally:
            self._settle()

    async def _walk_awaiting(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        running_clock.set(self)
        view, context, entries, quiet = view_event(self._event), self._context, self._stretch.entries, self.quiet
        now = time.monotonic()
        for position, function in enumerate(self._stretch.functions[self._first :], self._first):
            if self._stretch.is_conditional and not entries[position].match.test(self._event):
                continue
            # Nobody else looks while this loop runs this task, so that no lock is needed but for open dialogs.
            if self._asked:
                self._take_turn(position, now)
            self._turn = _Turn(position, now, self._waited_s)
            if self._is_given_up:
                return
            try:
                returned = await function(view, context)
            except asyncio.CancelledError:
                if self._is_given_up:
                    raise
                what = "it cancelled its own task" if task.cancelling() else "what it waited for was cancelled"
                self._say(position, now, error=CancelledItselfError(what))
                return
            except BaseException as error:  # boundary: whatever else a handler raises, an exit too, is its outcome
                self._say(position, now, error=error)
                if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                    raise  # the user's, who has interrupted whatever ran
                return
            then = time.monotonic()
            if task.cancelling() and not self._is_given_up:
                self._say(position, now, error=CancelledItselfError("it cancelled its own task"))
                return
            if returned is not None:
                self._say(position, now, returned=returned)
                return
            quiet.append((position, then - now))
            now = then
            if view.copies is not None:
                view = view_event(self._event)
        self._is_whole = True

    def _take_turn(self, position: int, now: float) -> bool:
        """Begin the turn of a handler; False when nobody waits for the walk any more."""
        with self._lock:
            if self._asked:
                self.leave_dialogs()
            self._turn = _Turn(position, now, self._waited_s)
            return not self._is_given_up

    def _say(self, position: int, began_at: float, **what: Any) -> None:
        with self._lock:
            if not self._is_given_up:
                self.said = Said(position=position, took_s=time.monotonic() - began_at, **what)
                return
        if inspect.iscoroutine(returned := what.get("returned")):
            returned.close()  # it came too late to be awaited

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
        entries=(Entry(hook=hook, match=_ANY),),
        hooks=(hook,),
        functions=(function,),
        is_async=is_async,
        is_conditional=False,
        shortest_s=hook.execution.timeout_s,
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
