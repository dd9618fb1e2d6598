"""A run of a hook that is to happen for certain: what is kept of it until it has."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hookline.hook import LayerName

JobState = Literal["pending", "done", "failed"]


class JobSource(Struct, frozen=True, kw_only=True):
    """Where the hook of a job is defined: enough to find it again, in this process or another."""

    layer: LayerName
    dialect: str
    file: str


class Route(Struct, frozen=True, kw_only=True):
    """
    How a job travels to a fleet, and what whoever runs it there checks.

    `digest` is that of the hook's definition when the job was made. Jobs with the same `lock` run one after another
    in the order in which they were made; higher priorities run first. A job older than `max_age_s` seconds is not
    started any more.
    """

    digest: str
    queue: str
    priority: int = 0
    lock: str = ""
    max_age_s: float | None = None


class Job(Struct, frozen=True, kw_only=True):
    """
    One durable run.

    `payload` is what the hook reads. `starts` counts how often it has been started, the first time included;
    times are in UTC. A `done` job has ended with exit code 0, a `failed` one will not be tried again by itself.
    A job with a `route` is not run here but sent to a fleet; it is `done` here once it has been forwarded.
    """

    id: str
    hook_id: str
    event: str
    payload: dict[str, Any]
    source: JobSource
    created_at: datetime
    state: JobState = "pending"
    starts: int = 0
    last_start: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    error: str | None = None
    stdout: str = ""
    stderr: str = ""
    host: str = ""
    boot_id: str = ""
    route: Route | None = None
    forwarded_at: datetime | None = None

    def started(self, now: datetime) -> Job:
        """The job after one more start."""
        return replace(self, starts=self.starts + 1, last_start=now)

    def failed(self, error: str, now: datetime) -> Job:
        """The job after it was given up."""
        return replace(self, state="failed", error=error, finished_at=now)

    def forwarded(self, now: datetime) -> Job:
        """The job after a fleet has taken it over."""
        return replace(self, state="done", forwarded_at=now, finished_at=now)

    def reset(self) -> Job:
        """The job as a new one, to be tried again by hand after it failed."""
        return Job(
            id=self.id,
            hook_id=self.hook_id,
            event=self.event,
            payload=self.payload,
            source=self.source,
            created_at=self.created_at,
            host=self.host,
            boot_id=self.boot_id,
            route=self.route,
        )


def utc_now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)
