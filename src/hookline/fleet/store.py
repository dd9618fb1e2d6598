"""The jobs of a fleet as an outbox: what `hookline outbox --from` looks at, and what a worker writes down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hookline.fleet.database import Database, JobLock
from hookline.fleet.errors import ConflictError, FleetError, UnreachableError
from hookline.hook import DEFAULT_QUEUE
from hookline.job import Job, JobState
from hookline.outbox.codec import decode_job, encode_job
from hookline.outbox.store import Claim, OutboxError

_PAGE = 200
_ATTEMPTS = 5
# What is read from the ending of a job; what the columns hold is not in it.
_ENDING = ("exit_code", "signal", "error", "stdout", "stderr")


class FleetClaim(Struct, frozen=True, kw_only=True):
    """A claim by a lock of the database."""

    job: Job
    lock: JobLock

    @property
    def inheritable(self) -> tuple[int, ...]:
        """The connection that holds the lock, so that it lives as long as whoever runs the job."""
        return (self.lock.share(),)


class FleetStore:
    """The outbox in a fleet's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def check(self) -> None:
        """Raise what keeps this store from being used: `UnreachableError`, or `MissingSchemaError`."""
        self._database.ask("get", id="")

    def check_forwarding(self) -> None:
        """The same for a user who may do nothing but forward."""
        self.put_all([])

    def put(self, job: Job) -> None:
        """Store and enqueue a job; raises `OutboxError` when that fails."""
        try:
            self.put_all([job])
        except (FleetError, UnreachableError) as error:
            raise OutboxError(f"the fleet does not accept the job: {error}") from error

    def put_all(self, jobs: Sequence[Job]) -> int:
        """
        Store and enqueue jobs, all or none; returns how many were new.

        A job whose id was ever stored before is left as it is. Raises `UnreachableError`, `FleetError`, or
        `OutboxError` for a job that is no JSON.
        """
        try:
            texts = [encode_job(replace(job, forwarded_at=None)).decode("ascii").rstrip() for job in jobs]
        except (ValueError, TypeError, RecursionError) as error:
            raise OutboxError(f"the job cannot be encoded: {error}") from error
        values = {
            "ids": [job.id for job in jobs],
            "hook_ids": [_to_text(job.hook_id) for job in jobs],
            "created": [job.created_at for job in jobs],
            "starts": [job.starts for job in jobs],
            "last_starts": [job.last_start for job in jobs],
            "queues": [job.route.queue if job.route else DEFAULT_QUEUE for job in jobs],
            "priorities": [job.route.priority if job.route else 0 for job in jobs],
            "locks": [_to_text(job.route.lock) if job.route else "" for job in jobs],
            "jobs": texts,
        }
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._forward(values)
            except ConflictError:  # somebody forwards the same jobs, who are known in a moment
                continue
        return self._forward(values)

    def _forward(self, values: Mapping[str, Any]) -> int:
        (row,) = self._database.ask("forward", **values)
        return int(row["fresh"])

    def claim(self, job_id: str) -> FleetClaim | None:
        """Lock a pending job, and look whether it is pending still."""
        lock = self._database.lock(job_id) if is_key(job_id) else None
        if lock is None:
            return None
        try:
            job = self.get(job_id)
        except BaseException:
            lock.free()
            raise
        if job is None or job.state != "pending":
            lock.free()
            return None
        return FleetClaim(job=job, lock=lock)

    def begin(self, claim: Claim, now: datetime) -> FleetClaim:
        """Count one more start; raises `FleetError` when the job is pending no more."""
        assert isinstance(claim, FleetClaim)
        rows = self._database.ask("begin", id=claim.job.id, now=now)
        if not rows:
            raise FleetError(f"the job {claim.job.id} is over already")
        return FleetClaim(job=replace(claim.job, starts=rows[0]["starts"], last_start=now), lock=claim.lock)

    def finish(self, claim: Claim, job: Job) -> None:
        """Write down how a pending job ended, and free its lock."""
        assert isinstance(claim, FleetClaim)
        self._database.ask(
            "finish",
            id=job.id,
            state=job.state,
            finished_at=job.finished_at,
            starts=job.starts,
            last_start=job.last_start,
            ending=json.dumps({name: getattr(job, name) for name in _ENDING}),
        )
        claim.lock.free()

    def release(self, claim: Claim) -> None:
        """Let go of the lock; a process that inherited it holds it on."""
        assert isinstance(claim, FleetClaim)
        claim.lock.leave()

    def get(self, job_id: str) -> Job | None:
        """The job in whatever state it is."""
        rows = self._database.ask("get", id=job_id) if is_key(job_id) else []
        return _to_job(rows[0]) if rows else None

    def list(self, state: JobState) -> Iterator[Job]:
        """The jobs in a state, in the order in which they came; read more and more at a time."""
        after, most = 0, 1
        while rows := self._database.ask("list", state=state, after=after, most=most):
            after, most = rows[-1]["task_id"], min(2 * most, _PAGE)
            for row in rows:
                yield _to_job(row)

    def retry(self, job_id: str) -> Job | None:
        """Enqueue a failed job as if it were new."""
        if not is_key(job_id) or not self._database.ask("retry", id=job_id):
            return None
        return self.get(job_id)

    def purge(self, state: JobState, before: datetime) -> int:
        """Remove the finished jobs of a state that ended before a time; their keys stay."""
        assert state != "pending"
        (row,) = self._database.ask("purge", state=state, before=before)
        return int(row["count"])

    def count(self) -> Mapping[JobState, int]:
        """How many jobs are in each state."""
        found = {row["state"]: row["count"] for row in self._database.ask("count")}
        return {"pending": found.get("pending", 0), "done": found.get("done", 0), "failed": found.get("failed", 0)}


def is_key(text: str) -> bool:
    """Whether a text from outside can be a job's id."""
    return 0 < len(text) <= 100 and text.isascii() and text.isprintable()


def _to_job(row: Mapping[str, Any]) -> Job:
    """A job as it was stored, with what has become of it."""
    job = decode_job(row["job"].encode("ascii"))
    job = replace(job, state=row["state"], starts=row["starts"], last_start=_to_utc(row["last_start"]))
    if row["ending"] is None:
        return job
    return replace(job, finished_at=_to_utc(row["finished_at"]), **json.loads(row["ending"]))


def _to_utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)


def _to_text(text: str) -> str:
    """A text as a column takes it, without what is no character."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
