"""Builders for durable jobs, which need only what matters."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

from hookline.job import Job, JobSource, utc_now
from hookline.outbox.files import FileOutbox

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
