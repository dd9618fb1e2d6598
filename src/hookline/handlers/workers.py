"""
Threads for plain handlers, so that one that blocks does not block the event loop.

They are daemons of our own, since an executor's threads keep the interpreter from exiting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

MOST_STUCK = 16
"""How many plain handlers may be past their time limit and still running before no further one is started."""


class _Worker:
    """One thread; given a job only while it has none."""

    __slots__ = ("jobs",)

    def __init__(self, workers: Workers) -> None:
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._work, args=(workers,), name="hookline handler", daemon=True).start()

    def _work(self, workers: Workers) -> None:
        while (job := self.jobs.get()) is not None:
            job()
            workers.put_back(self)


class Workers:
    """The threads of one process, as many as have been needed at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._stuck: set[object] = set()
        self._is_closed = False

    @property
    def stuck_count(self) -> int:
        """How many jobs were given up and are still running."""
        return len(self._stuck)

    def start(self, job: Callable[[], None]) -> bool:
        """Run a job on a thread; False when too many are stuck."""
        with self._lock:
            if len(self._stuck) >= MOST_STUCK:
                return False
            worker = self._idle.pop() if self._idle else None
        (worker or _Worker(self)).jobs.put(job)
        return True

    def give_up(self, job: object) -> None:
        """Count a running job as stuck until it ends."""
        with self._lock:
            self._stuck.add(job)

    def note_end(self, job: object) -> None:
        """Hear that a job has ended after all."""
        with self._lock:
            self._stuck.discard(job)

    def put_back(self, worker: _Worker) -> None:
        """Have a thread back that has done its job."""
        with self._lock:
            if self._is_closed:
                worker.jobs.put(None)
            else:
                self._idle.append(worker)

    def close(self) -> None:
        """End the threads, each when it has done its job."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.jobs.put(None)
