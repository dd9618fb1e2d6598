"""Builders for durable jobs, which need only what matters."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

from hookline.job import Job, JobSource, utc_now
from hookline.outbox.files import FileOutbox
from hookline.outbox.retry import seconds_until_due

HOUR_S = 3600.0


def make_job(
    job_id: str | None = None,
    *,
    hook_id: str = "job",
    file: Path | str = "hooks.yaml",
    dialect: str = "native",
    age_s: float = 0.0,
    payload: dict[str, Any] | None = None,
    **fields: Any,
) -> Job:
    """A pending job of an `after_turn` hook, created `age_s` seconds ago."""
    return Job(
        id=job_id or uuid.uuid4().hex,
        hook_id=hook_id,
        payload={"event": "after_turn", "turn": 1} if payload is None else payload,
        source=JobSource(layer="project", dialect=dialect, file=str(file)),
        **{"event": "after_turn", "created_at": utc_now() - timedelta(seconds=age_s), **fields},
    )


def open_outbox(home: Path) -> FileOutbox:
    """The outbox of a home, as another process sees it."""
    return FileOutbox(home / "hooks" / "outbox")


def is_emptied(store: FileOutbox) -> bool:
    """Whether nothing is pending."""
    return store.count()["pending"] == 0


def is_old_enough(home: Path, *, retry_age_s: float = 0.2) -> bool:
    """Whether every pending job has been left alone for as long as it must be."""
    jobs = open_outbox(home).list("pending")
    return all(seconds_until_due(job, utc_now(), retry_age_s=retry_age_s) == 0 for job in jobs)


def is_held(home: Path) -> bool:
    """Whether anybody, an orphaned hook perhaps, holds a pending job."""
    store = open_outbox(home)
    claims = [store.claim(job.id) for job in store.list("pending")]
    for claim in claims:
        if claim is not None:
            store.release(claim)
    return None in claims
