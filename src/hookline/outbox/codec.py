"""A job as JSON data and back."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import msgspec

from hookline.job import Job


class UnreadableJobError(ValueError):
    """Bytes that are no job, and why."""


def encode_job(job: Job) -> bytes:
    """A job's bytes: JSON for people to read, with everything outside ASCII escaped."""
    return (json.dumps(job_to_data(job), allow_nan=False) + "\n").encode("ascii")


def job_to_data(job: Job) -> dict[str, Any]:
    """A job as JSON data; times as texts."""
    data = msgspec.structs.asdict(job)
    data["source"] = msgspec.structs.asdict(job.source)
    if job.route is None:
        del data["route"], data["forwarded_at"]
    else:
        data["route"] = msgspec.structs.asdict(job.route)
    return {key: value.isoformat() if isinstance(value, datetime) else value for key, value in data.items()}


def decode_job(data: bytes) -> Job:
    """The job in these bytes; raises `UnreadableJobError`."""
    try:
        found = json.loads(data)
        return msgspec.convert(found, Job)
    except (ValueError, RecursionError) as error:
        raise UnreadableJobError(str(error)) from error
