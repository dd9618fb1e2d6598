"""Runs of a framework that tells by callbacks where they begin and end, and not always that they end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator

from hookline.adapters.face import Face
from hookline.adapters.seam import Run

_MOST_RUNS = 1000


class OpenRuns:
    """
    The runs under way, by a key.

    A run that never ends is ended as interrupted when another begins under its key, when too many are open, and in
    the end. One that failed is still found, since somebody may catch the error and go on with it. May be used from any
    thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._failed: OrderedDict[str, Run] = OrderedDict()

    def find(self, key: str) -> Run | None:
        """The run of a key."""
        return self._runs.get(key) or self._failed.get(key)

    async def begin(self, key: str, run: Run, face: Face) -> None:
        """Begin a run; raises `PromptBlockedError` if its prompt must not reach the model."""
        for old in self._take_left_over(key):
            await face.leave(old, asyncio.CancelledError())
        await face.enter(run)
        with self._lock:
            self._runs[key] = run

    async def end(self, key: str, face: Face, error: BaseException | None = None) -> None:
        """End the run of a key, because of an error if one is given; nothing happens if it has ended already."""
        run = self._take(key, error)
        if run is not None:
            await face.leave(run, error)

    @contextlib.asynccontextmanager
    async def ending(self, key: str, face: Face, *, but_for: type[BaseException]) -> AsyncIterator[None]:
        """End the run of a key when an error leaves the block, but for those after which it goes on."""
        try:
            yield
        except but_for:
            raise
        except BaseException as error:
            await self.end(key, face, error)
            raise

    async def end_all(self, face: Face) -> None:
        """End all runs that are still open as interrupted."""
        for key in list(self._runs):
            await self.end(key, face, asyncio.CancelledError())

    def _take(self, key: str, error: BaseException | None) -> Run | None:
        with self._lock:
            run = self._runs.pop(key, None)
            if error is None:
                self._failed.pop(key, None)
            elif run is not None:
                self._failed[key] = run
                if len(self._failed) > _MOST_RUNS:
                    self._failed.popitem(last=False)
        return run

    def _take_left_over(self, key: str) -> list[Run]:
        with self._lock:
            self._failed.pop(key, None)
            old = self._runs.pop(key, None)
            left_over = [] if old is None else [old]
            while len(self._runs) >= _MOST_RUNS:
                left_over.append(self._runs.popitem(last=False)[1])
        return left_over
