"""One logic for frameworks that call an adapter with an event loop and without one."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Protocol, TypeVar

from hookline.errors import HooklineError

T = TypeVar("T")
A = TypeVar("A")


class TwoFaced(Protocol):
    """A context manager of both kinds."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object: ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object: ...


class Face:
    """How an adapter enters and leaves what has two faces; this one awaits."""

    async def enter(self, phase: TwoFaced) -> None:
        """Enter it."""
        await phase.__aenter__()

    async def leave(self, phase: TwoFaced, error: BaseException | None = None) -> bool:
        """Leave it, because of an error if one is given; returns whether the error ends there."""
        return bool(await phase.__aexit__(None if error is None else type(error), error, None))

    @contextlib.asynccontextmanager
    async def live(self, phase: TwoFaced) -> AsyncIterator[None]:
        """Live through it."""
        await self.enter(phase)
        try:
            yield
        except BaseException as error:
            if not await self.leave(phase, error):
                raise
        else:
            await self.leave(phase)


class PlainFace(Face):
    """Awaits nothing, so that what is written with it can be run by `run_plainly`."""

    async def enter(self, phase: TwoFaced) -> None:
        phase.__enter__()

    async def leave(self, phase: TwoFaced, error: BaseException | None = None) -> bool:
        return bool(phase.__exit__(None if error is None else type(error), error, None))


AWAITING = Face()
PLAIN = PlainFace()


def run_plainly(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that awaits nothing which is not there, without an event loop."""
    try:
        work.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    raise AssertionError("a coroutine of an adapter waits in code without an event loop")


def dress(function: Callable[[A], T]) -> Callable[[A], Awaitable[T]]:
    """A plain function of a framework as one that can be awaited."""

    async def call(argument: A) -> T:
        return function(argument)

    return call


def run_on_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """
    Run a coroutine on the loop that a thread without a running one has, or is given for later too.

    That is for frameworks whose stores of sessions are bound to it.
    """
    loop = _find_loop(work)
    task = loop.create_task(work)
    try:
        return loop.run_until_complete(task)
    except BaseException:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        raise


def _find_loop(work: Coroutine[Any, Any, Any]) -> asyncio.AbstractEventLoop:
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        work.close()
        raise HooklineError("there is no waiting where an event loop runs already; await the async method there")
    with warnings.catch_warnings(), contextlib.suppress(RuntimeError):
        warnings.simplefilter("ignore", DeprecationWarning)  # that newer versions of Python make none
        loop = asyncio.get_event_loop()
        if not loop.is_closed():
            return loop
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop
