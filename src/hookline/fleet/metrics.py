"""Counters and ages of a fleet, as data and in the text form of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hookline.fleet.database import Database

_NAMES = {
    "jobs": ("hookline_fleet_jobs", "gauge", "Jobs in a state, those that were removed left out."),
    "running": ("hookline_fleet_jobs_running", "gauge", "Pending jobs that a worker has taken."),
    "oldest_s": ("hookline_fleet_oldest_job_seconds", "gauge", "Age of the oldest job in a state."),
    "starts": ("hookline_fleet_starts", "gauge", "Starts of these jobs, all attempts counted."),
}


def read_metrics(database: Database) -> dict[str, Any]:
    """The figures of a fleet: the jobs by state, hook and queue, and the workers."""
    rows = database.ask("metrics")
    jobs = [
        {
            "state": row["state"],
            "hook": row["hook_id"],
            "queue": row["queue"],
            "jobs": row["count"],
            "running": row["running"] if row["state"] == "pending" else 0,
            "oldest_s": round(row["oldest_s"], 3),
            "starts": row["starts"],
        }
        for row in rows
    ]
    totals = {
        state: sum(row["jobs"] for row in jobs if row["state"] == state) for state in ("pending", "done", "failed")
    }
    workers = [round(row["silent_s"], 3) for row in database.ask("workers")]
    waiting = [row["oldest_s"] for row in jobs if row["state"] == "pending"]
    return {
        "counts": totals,
        "oldest_pending_s": max(waiting, default=None),
        "workers": {"count": len(workers), "longest_silence_s": max(workers, default=None)},
        "jobs": jobs,
    }


def to_prometheus(metrics: dict[str, Any]) -> str:
    """The same figures as Prometheus reads them."""
    return "".join(f"{line}\n" for line in _lines(metrics))


def _lines(metrics: dict[str, Any]) -> Iterator[str]:
    for key, (name, kind, meaning) in _NAMES.items():
        yield from (f"# HELP {name} {meaning}", f"# TYPE {name} {kind}")
        for row in metrics["jobs"]:
            labels = ",".join(f'{label}="{_escape(row[label])}"' for label in ("state", "hook", "queue"))
            yield f"{name}{{{labels}}} {row[key]}"
    workers = metrics["workers"]
    yield from ("# HELP hookline_fleet_workers Workers that are registered.", "# TYPE hookline_fleet_workers gauge")
    yield f"hookline_fleet_workers {workers['count']}"
    if workers["longest_silence_s"] is not None:
        name = "hookline_fleet_worker_silence_seconds"
        yield from (f"# HELP {name} Age of the oldest heartbeat.", f"# TYPE {name} gauge")
        yield f"{name} {workers['longest_silence_s']}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
