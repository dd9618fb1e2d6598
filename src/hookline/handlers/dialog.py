"""A dialog that has not been answered yet, and the queue that lets one of them at a time before the user."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import warnings
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class Dialog(Coroutine[Any, Any, T]):
    """
    The answer to come of a dialog; it is opened when awaited.

    To use it like the answer itself raises `TypeError`: a guard that forgot to await must not take this object for
    a yes. One that is never awaited warns.
    """

    __slots__ = ("_begin", "_coroutine", "_name", "_needs_warning")

    def __init__(self, name: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._name = name
        self._begin = begin
        self._coroutine: Coroutine[Any, Any, T] | None = None
        self._needs_warning = True

    def __await__(self) -> Generator[Any, Any, T]:
        if self._coroutine is not None:
            raise RuntimeError(f"{self._name} was awaited already; open the dialog once more")
        return self._open().__await__()

    def send(self, value: Any, /) -> Any:
        return self._open().send(value)

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Any:
        error = typ if isinstance(typ, BaseException) else val if isinstance(val, BaseException) else typ()
        return self._open().throw(error if tb is None else error.with_traceback(tb))

    def close(self) -> None:
        """Dismiss the dialog."""
        self.abandon()
        if self._coroutine is not None:
            self._coroutine.close()

    def abandon(self) -> None:
        """Say that nobody waits for the answer any more, and that this is no mistake."""
        self._needs_warning = False

    def _open(self) -> Coroutine[Any, Any, T]:
        if self._coroutine is None:
            self._needs_warning = False
            self._coroutine = self._begin()
        return self._coroutine

    def __bool__(self) -> NoReturn:
        raise self._note_misuse("is neither true nor false")

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        raise self._note_misuse("equals nothing")

    __hash__ = object.__hash__

    def _note_misuse(self, what: str) -> TypeError:
        self._needs_warning = False
        return TypeError(f"{self._name} {what} before it is answered; write `await ctx.ui.{self._name}`")

    def __repr__(self) -> str:
        return f"<dialog {self._name}>"

    def __del__(self) -> None:
        if self._needs_warning:
            message = f"{self._name} was never awaited, so nobody was asked; write `await ctx.ui.{self._name}`"
            warnings.warn(message, RuntimeWarning, stacklevel=2)


class DialogQueue:
    """
    Lets one dialog at a time before the user, in the order in which they were opened.

    May be used from any thread and any number of event loops.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Waiter] = deque()
        self._shown: object | None = None

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and keep it; a dialog opened by the one that is shown belongs to its turn."""
        if self._shown is not None and _own_turn.get() is self._shown:
            yield
            return
        turn = object()
        await self._wait_for(turn)
        # Never taken back: a turn that has passed is not the one shown, and so says nothing.
        _own_turn.set(turn)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait_for(self, turn: object) -> None:
        with self._lock:
            if self._shown is None:
                self._shown = turn
                return
            waiter = _Waiter(turn)
            self._waiting.append(waiter)
        try:
            await asyncio.wrap_future(waiter.called)
        except BaseException:
            # The turn may have been handed over just before the cancellation.
            if not waiter.called.cancel():
                self._pass_on()
            with self._lock, contextlib.suppress(ValueError):
                self._waiting.remove(waiter)
            raise

    def _pass_on(self) -> None:
        with self._lock:
            self._shown = None
            while self._waiting:
                waiter = self._waiting.popleft()
                if not waiter.loop.is_closed() and waiter.called.set_running_or_notify_cancel():
                    self._shown = waiter.turn
                    waiter.called.set_result(None)
                    return


class _Waiter:
    """One dialog in the queue: its turn, and how its event loop hears that it has come."""

    def __init__(self, turn: object) -> None:
        self.turn = turn
        self.called: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.loop = asyncio.get_running_loop()


_own_turn: ContextVar[object | None] = ContextVar("own_turn", default=None)
