"""Waiting for work on another thread, on asyncio or whatever async library the host runs on."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from hookline.errors import HooklineError

T = TypeVar("T")


def is_on_asyncio() -> bool:
    """Whether this code runs on an asyncio event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def wait_for(future: concurrent.futures.Future[T]) -> T:
    """Wait for a future of another thread."""
    if is_on_asyncio():
        return await asyncio.wrap_future(future)
    result: T = await _import_anyio().to_thread.run_sync(future.result, abandon_on_cancel=True)
    return result


async def run_in_thread(function: Callable[[], T]) -> T:
    """Call a function that blocks, without blocking the event loop; returns what it returns."""
    if is_on_asyncio():
        return await asyncio.to_thread(function)
    found: T = await _import_anyio().to_thread.run_sync(function)
    return found


async def gather(works: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """What coroutines return that run side by side, in the order in which they are given."""
    if is_on_asyncio():
        return await asyncio.gather(*works)
    results: dict[int, T] = {}

    async def keep(index: int, work: Coroutine[Any, Any, T]) -> None:
        results[index] = await work

    async with _import_anyio().create_task_group() as group:
        for index, work in enumerate(works):
            group.start_soon(keep, index, work)
    return [results[index] for index in range(len(works))]


async def shield(work: Coroutine[Any, Any, T]) -> T:
    """
    Bring a coroutine to its end though whoever waits for it is cancelled, even again and again.

    The cancellation goes on afterwards.
    """
    if not is_on_asyncio():
        with _import_anyio().CancelScope(shield=True):
            return await work
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:  # the task's own failure, which its result raises
            break
    if cancelled is not None and not task.cancelled():
        task.exception()
        raise cancelled
    return task.result()


def _import_anyio() -> Any:
    try:
        import anyio  # noqa: PLC0415 - needed only on other async libraries than asyncio
        import anyio.to_thread  # noqa: PLC0415
    except ImportError as error:
        raise HooklineError("outside asyncio Hookline needs anyio: pip install 'hookline[trio]'") from error
    return anyio
