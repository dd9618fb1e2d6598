"""The time that a handler has used: it stands still while the user is asked something."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar


class HandlerClock:
    """
    How long the user has kept a handler waiting; may be used from any thread.

    Dialogs that overlap count once.
    """

    __slots__ = ("_depth", "_lock", "_paused_at", "_waited_s")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._paused_at = 0.0
        self._waited_s = 0.0

    @property
    def waited_s(self) -> float:
        """The seconds spent waiting for the user so far, those of an open dialog included."""
        with self._lock:
            open_s = time.monotonic() - self._paused_at if self._depth else 0.0
            return self._waited_s + open_s

    @property
    def is_paused(self) -> bool:
        """Whether the user is being asked right now."""
        return self._depth > 0

    def pause(self) -> None:
        """Stop counting: a dialog has opened."""
        with self._lock:
            if self._depth == 0:
                self._paused_at = time.monotonic()
            self._depth += 1

    def resume(self) -> None:
        """Count again once the last dialog has closed."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._waited_s += time.monotonic() - self._paused_at


running_clock: ContextVar[HandlerClock | None] = ContextVar("running_clock", default=None)
"""The clock of the handler that this code runs for, None outside of handlers."""


@contextlib.contextmanager
def user_time() -> Iterator[None]:
    """Time spent in here is the user's, and does not count against the running handler's limit."""
    clock = running_clock.get()
    if clock is None:
        yield
        return
    clock.pause()
    try:
        yield
    finally:
        clock.resume()
