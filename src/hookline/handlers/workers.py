"""
Threads for plain handlers, so that one that blocks does not block the event loop.

They are daemons of our own, since an executor's threads keep the interpreter from exiting.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

MOST_STUCK = 16
"""How many plain handlers may be past their time limit and still running before no further one is started."""

_MOST_IDLE = 8


class _Worker:
    """One thread; given a job only while it has none, None to end it."""

    __slots__ = ("jobs",)

    def __init__(self, workers: Workers) -> None:
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._work, args=(workers,), name="hookline handler", daemon=True).start()

    def _work(self, workers: Workers) -> None:
        while (job := self.jobs.get()) is not None:
            job()
            del job  # or an idle thread would keep the last event in memory
            if not workers.put_back(self):
                return


class Workers:
    """The threads of one engine: as many as are needed at once, some of which are kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._given_up: dict[object, float] = {}
        self._is_closed = False

    @property
    def stuck_count(self) -> int:
        """How many jobs were given up and still run though their time is up."""
        with self._lock:
            return self._count_stuck()

    def _count_stuck(self) -> int:
        now = time.monotonic()
        return sum(late_at <= now for late_at in self._given_up.values())

    def start(self, job: Callable[[], None]) -> bool:
        """Run a job on a thread; False when too many are stuck."""
        with self._lock:
            if len(self._given_up) >= MOST_STUCK and self._count_stuck() >= MOST_STUCK:
                return False
            worker = self._idle.pop() if self._idle else None
        (worker or _Worker(self)).jobs.put(job)
        return True

    def give_up(self, job: object, *, late_at: float) -> None:
        """Hear that nobody waits for a job any more; from a time of the monotonic clock on it is stuck."""
        with self._lock:
            self._given_up[job] = late_at

    def note_end(self, job: object) -> None:
        """Hear that a job that was given up has ended after all."""
        with self._lock:
            self._given_up.pop(job, None)

    def put_back(self, worker: _Worker) -> bool:
        """Have a thread back that has done its job; False when it is to end."""
        with self._lock:
            if self._is_closed or len(self._idle) >= _MOST_IDLE:
                return False
            self._idle.append(worker)
            return True

    def close(self) -> None:
        """End the threads that have nothing to do, and the others once they have done their job."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.jobs.put(None)


async def call_on_thread(function: Callable[[], T], workers: Workers) -> T:
    """
    Call a function on a thread, in this context; when the caller is cancelled it is left to itself.

    It then counts as stuck until it ends.

    Raises what the function raises, and `RuntimeError` when too many are stuck.
    """
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    surroundings = contextvars.copy_context()

    def call() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(surroundings.run(function))
        except StopIteration:  # which no coroutine may raise
            future.set_exception(RuntimeError("it raised StopIteration"))
        except BaseException as error:  # boundary: it is raised where it is waited for
            future.set_exception(error)
        finally:
            workers.note_end(call)

    if not workers.start(call):
        raise RuntimeError(f"{MOST_STUCK} plain functions are past their time limit and still running")
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        workers.give_up(call, late_at=time.monotonic())
        if future.done():  # it ended before it was given up
            workers.note_end(call)
        raise
