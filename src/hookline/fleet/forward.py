"""
Moving jobs from the outbox of a home to a fleet.

First the fleet takes a job, together with its id as a key that is kept for good; then it is moved to the done ones
here. A crash in between sends it again, and the fleet knows it already.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import os
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from hookline.fleet.errors import FleetError, RefusedError
from hookline.fleet.store import FleetStore
from hookline.job import Job, utc_now
from hookline.outbox.files import FileOutbox
from hookline.outbox.store import OutboxError
from hookline.private import make_private_folder

_MOST_JOBS = 200
_MOST_BYTES = 8 * 1024 * 1024
_MOST_KEPT = 10_000
# Two jobs of a session may have been stored within one tick of the file system's clock.
_TICK = timedelta(seconds=0.1)
_POLL_S = 0.1
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0


class Tally(Struct, frozen=True, kw_only=True):
    """What became of the jobs of one look: sent and new there, known there already, not accepted."""

    sent: int = 0
    known: int = 0
    refused: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(sent=self.sent + other.sent, known=self.known + other.known, refused=self.refused + other.refused)

    def __str__(self) -> str:
        parts = [f"{self.sent} forwarded"]
        parts += [f"{self.known} known there already"] if self.known else []
        parts += [f"{self.refused} not accepted"] if self.refused else []
        return ", ".join(parts)


class Forwarder:
    """Forwards the jobs of one outbox; use it under `sole_forwarder`."""

    def __init__(self, outbox: FileOutbox, fleet: FleetStore) -> None:
        self._outbox = outbox
        self._fleet = fleet
        self._kept_here: set[str] = set()

    def run(self) -> Tally:
        """
        Forward what is pending now, the oldest first; returns what became of it.

        Raises `UnreachableError` or another `OSError` when it cannot go on; what is not forwarded stays pending.
        """
        tally = Tally()
        if len(self._kept_here) > _MOST_KEPT:
            self._kept_here.clear()
        for batch in self._list_batches():
            tally += self._forward(batch)
        return tally

    def follow(self, *, pause: Callable[[float], bool], report: Callable[[str], object]) -> None:
        """
        Forward what comes, until `pause`, which waits for some seconds, says that it is enough.

        After a failure it tries again, later and later.
        """
        delay_s = _FIRST_PAUSE_S
        while True:
            try:
                tally = self.run()
            except (OSError, FleetError) as error:
                report(f"{error}; trying again within {2 * delay_s:g} s")
                if pause(delay_s * random.uniform(0.5, 2)):
                    return
                delay_s = min(2 * delay_s, _LONGEST_PAUSE_S)
                continue
            if tally != Tally():
                report(str(tally))
            delay_s = _FIRST_PAUSE_S
            if pause(_POLL_S):
                return

    def _forward(self, jobs: Sequence[Job]) -> Tally:
        """Send jobs together; if the fleet does not accept them, find out which."""
        try:
            sent = self._fleet.put_all(jobs)
        except (RefusedError, OutboxError) as error:
            if len(jobs) == 1:
                self._outbox.give_up(jobs[0].failed(f"the fleet does not accept it: {error}", utc_now()))
                return Tally(refused=1)
            middle = len(jobs) // 2
            return self._forward(jobs[:middle]) + self._forward(jobs[middle:])
        self._outbox.hand_over(jobs)
        return Tally(sent=sent, known=len(jobs) - sent)

    def _list_batches(self) -> Iterator[list[Job]]:
        batch: list[Job] = []
        total = 0
        for job, size in self._list_in_order():
            if batch and (len(batch) >= _MOST_JOBS or total + size > _MOST_BYTES):
                yield batch
                batch, total = [], 0
            batch.append(job)
            total += size
        if batch:
            yield batch

    def _list_in_order(self) -> Iterator[tuple[Job, int]]:
        """The jobs of the fleet in the order in which they were made, with their sizes."""
        ahead: list[tuple[float, str, Job, int]] = []
        for job, size in self._outbox.list_by_age(except_for=self._kept_here):
            if job.route is None:
                self._kept_here.add(job.id)
                continue
            heapq.heappush(ahead, (job.created_at.timestamp(), job.id, job, size))
            while ahead and ahead[0][2].created_at < job.created_at - _TICK:
                yield heapq.heappop(ahead)[2:]
        while ahead:
            yield heapq.heappop(ahead)[2:]


@contextlib.contextmanager
def sole_forwarder(outbox: Path) -> Iterator[None]:
    """
    The sole right to forward from the outbox in a folder; its holder's death frees it.

    Raises `FleetError` when another process has it.
    """
    make_private_folder(outbox)
    fd = os.open(outbox / "forward.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
            message = f"another forwarder is at work in {outbox} (process {holder or 'unknown'}); one is enough"
            raise FleetError(message) from error
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)
