"""What all adapters are: something with options that can be closed, and whose `with` block is one session."""

from __future__ import annotations

from types import TracebackType
from typing import Self, Unpack

from hookline.adapters.face import AWAITING, PLAIN, Face, run_plainly
from hookline.adapters.open_runs import OpenRuns
from hookline.adapters.seam import Options, Seam
from hookline.lifecycle.session import Session


class Adapter:
    """
    The life of an adapter.

    As a context manager of either kind it makes all runs of its block turns of one session. Otherwise each run is a
    session of its own, unless a session was given. An engine of its own is closed at the end of the block, by `close`,
    or when the process ends; runs that are still open then end as interrupted.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._seam = Seam(**options)
        self._runs = OpenRuns()
        self._block: Session | None = None

    def close(self) -> None:
        """End what is still open, and close the engine unless it was given."""
        run_plainly(self._finish(PLAIN, None))
        self._seam.close()

    async def aclose(self) -> None:
        """Close without blocking the event loop."""
        await self._finish(AWAITING, None)
        await self._seam.aclose()

    def __enter__(self) -> Self:
        run_plainly(self._start(PLAIN))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            run_plainly(self._finish(PLAIN, error))
        finally:
            self._seam.close()

    async def __aenter__(self) -> Self:
        await self._start(AWAITING)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._finish(AWAITING, error)
        finally:
            await self._seam.aclose()

    async def _start(self, face: Face) -> None:
        if self._seam.session is None:
            self._block = self._seam.session = self._seam.open_session()
            await face.enter(self._block)

    async def _finish(self, face: Face, error: BaseException | None) -> None:
        await self._runs.end_all(face)
        if self._block is not None:
            session, self._block, self._seam.session = self._block, None, None
            await face.leave(session, error)
