"""
Where durable jobs are kept.

The protocol knows no files: a second implementation may keep them in a database for many machines. Everything
blocks, and is called away from event loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Protocol

from hookline.errors import HooklineError
from hookline.job import Job, JobState


class OutboxError(HooklineError):
    """A job that could not be stored, and why; nothing is promised about it."""


class Claim(Protocol):
    """
    The sole right to run a job.

    Held until `finish` or `release`; when the holder dies, until everything that inherited it has ended too.
    """

    @property
    def job(self) -> Job:
        """The job as it is stored."""

    @property
    def inheritable(self) -> tuple[int, ...]:
        """Descriptors through which a child process takes part in the claim."""


class OutboxStore(Protocol):
    """A store of durable jobs, safe for any number of processes."""

    def put(self, job: Job) -> None:
        """Store a new pending job so that it survives whatever comes; raises `OutboxError` when that fails."""

    def claim(self, job_id: str) -> Claim | None:
        """Take the right to run a pending job; None when it is held elsewhere, or is pending no more."""

    def begin(self, claim: Claim, now: datetime) -> Claim:
        """Record one more start of the claimed job."""

    def finish(self, claim: Claim, job: Job) -> None:
        """Record how the claimed job ended (its state says where it goes), and give the claim back."""

    def release(self, claim: Claim) -> None:
        """Give up the claim without a result; the job stays pending, held by whatever inherited the claim."""

    def get(self, job_id: str) -> Job | None:
        """The job in whatever state it is, None when there is none."""

    def list(self, state: JobState) -> Iterator[Job]:
        """The jobs in a state, read one by one; unreadable ones are set aside as failed, once."""

    def retry(self, job_id: str) -> Job | None:
        """Make a failed job pending again, as if it were new; None when no failed job has this id."""

    def purge(self, state: JobState, before: datetime) -> int:
        """Remove the finished jobs of a state that ended before a time; returns how many."""

    def count(self) -> Mapping[JobState, int]:
        """How many jobs are in each state."""
