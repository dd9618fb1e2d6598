"""When a pending job is started again, and when it is given up: pure rules on jobs, times and limits."""

from __future__ import annotations

from datetime import datetime

from hookline.job import Job


def is_given_up(job: Job, *, max_starts: int) -> bool:
    """Whether the job has been started as often as it may be; with 0 it may not be started at all."""
    return job.starts >= max_starts


def seconds_until_due(job: Job, now: datetime, *, retry_age_s: float) -> float:
    """
    How long a pending job must still be left alone, in seconds; 0 when it may be started.

    The age counts from its last start, else from its creation. A time in the future means that the clock was
    set back; how long ago it was is then unknown, and the job is due: a lock keeps it from running twice at once.
    """
    since = job.last_start or job.created_at
    age = (now - since).total_seconds()
    if age < 0:
        return 0.0
    return max(0.0, retry_age_s - age)


def give_up_reason(job: Job, *, max_starts: int) -> str:
    """Why a job is given up, in words."""
    times = "once" if job.starts == 1 else f"{job.starts} times"
    return f"started {times} without coming to an end; the most is {max_starts} (outbox_max_retries)"
