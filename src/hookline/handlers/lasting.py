"""The coroutine of a task that may be cancelled once with grace, and is over with the second time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class EndingCoroutine(Coroutine[Any, Any, T]):
    """
    Runs another coroutine, which can put off one cancellation but not the next.

    A task whose coroutine swallows every cancellation would keep its event loop from ever ending.
    """

    __slots__ = ("_cancellations", "_inner", "is_given_up")

    def __init__(self, inner: Coroutine[Any, Any, T]) -> None:
        self._inner = inner
        self._cancellations = 0
        self.is_given_up = False

    def __await__(self) -> Generator[Any, Any, T]:
        return self._inner.__await__()

    def send(self, value: Any, /) -> Any:
        return self._inner.send(value)

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Any:
        error = typ if isinstance(typ, BaseException) else val if isinstance(val, BaseException) else typ()
        yielded = self._inner.throw(error if tb is None else error.with_traceback(tb))
        if self.is_given_up and isinstance(error, asyncio.CancelledError):
            self._cancellations += 1
            if self._cancellations > 1:
                self.close()
                raise error
        return yielded

    def close(self) -> None:
        """End the other coroutine, as far as it lets itself be ended."""
        with contextlib.suppress(RuntimeError):  # it goes on all the same, but nobody resumes it any more
            self._inner.close()
