"""The time that a handler has used: it stands still while the user is asked something."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any


class HandlerClock:
    """
    How long the user has kept the handlers of an event waiting, and the dialogs that are open; for any thread.

    Dialogs that overlap count once. Those that a handler leaves open when it returns count no more.
    """

    __slots__ = ("_asked", "_left", "_lock", "_paused_at", "_waited_s")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: list[asyncio.Task[Any]] = []
        self._left: list[asyncio.Task[Any]] = []
        self._paused_at = 0.0
        self._waited_s = 0.0

    @property
    def waited_s(self) -> float:
        """The seconds spent waiting for the user so far, those of an open dialog included."""
        with self._lock:
            return self._read_waited_s()

    def _read_waited_s(self) -> float:
        return self._waited_s + (time.monotonic() - self._paused_at if self._asked else 0.0)

    @property
    def is_paused(self) -> bool:
        """Whether the user is being asked right now."""
        return bool(self._asked)

    def pause(self, dialog: asyncio.Task[Any]) -> None:
        """Stop counting: a dialog has opened, which this task waits for."""
        with self._lock:
            if not self._asked:
                self._paused_at = time.monotonic()
            self._asked.append(dialog)

    def resume(self, dialog: asyncio.Task[Any]) -> None:
        """Count again once the last dialog has closed."""
        with self._lock:
            if dialog in self._left:
                self._left.remove(dialog)
                return
            self._asked.remove(dialog)
            if not self._asked:
                self._waited_s += time.monotonic() - self._paused_at

    def leave_dialogs(self) -> None:
        """Count again though dialogs are open: whoever opened them has returned. The lock must be held."""
        self._waited_s = self._read_waited_s()
        self._left += self._asked
        self._asked.clear()

    def end_dialogs(self, *, spared: asyncio.Task[Any] | None) -> None:
        """Cancel whoever waits in a dialog, but for one: the event is over."""
        for task in (*self._asked, *self._left):
            if task is not spared:
                with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits any more
                    task.get_loop().call_soon_threadsafe(self._end_dialog, task)

    def _end_dialog(self, task: asyncio.Task[Any]) -> None:
        if task in self._asked or task in self._left:
            task.cancel()


running_clock: ContextVar[HandlerClock | None] = ContextVar("running_clock", default=None)
"""The clock of the handler that this code runs for, None outside of handlers."""


@contextlib.contextmanager
def user_time() -> Iterator[None]:
    """Time that a task spends in here is the user's, and does not count against the running handler's limit."""
    clock, task = running_clock.get(), asyncio.current_task()
    if clock is None or task is None:
        yield
        return
    clock.pause(task)
    try:
        yield
    finally:
        clock.resume(task)
