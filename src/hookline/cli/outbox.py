"""`hookline outbox`: the durable runs that wait, are done, or have failed, here or in a fleet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import click
from msgspec.structs import replace

from hookline.cli.fleet_options import from_option, opened_fleet, to_option
from hookline.cli.options import home_option, json_option, resolve_home, silence_log
from hookline.cli.screen import align, paint, say, say_json, shorten
from hookline.errors import ConfigError, HooklineError
from hookline.job import Job, JobState
from hookline.outbox.codec import job_to_data
from hookline.outbox.files import FileOutbox
from hookline.outbox.store import OutboxStore

_STATES: tuple[JobState, ...] = get_args(JobState)
_COLOURS = {"pending": "yellow", "done": "green", "failed": "red"}


@click.group("outbox")
def command() -> None:
    """Look at durable runs, try failed ones again, remove old ones, forward those of a fleet."""


@command.command("list")
@click.option("--state", type=click.Choice(_STATES), multiple=True, help="Only jobs in this state.")
@home_option
@from_option
@json_option
def list_jobs(state: tuple[JobState, ...], home: Path | None, url: str | None, as_json: bool) -> None:
    """Show the jobs with their ages, and how many there are in each state."""
    with _opened(home, url) as store:
        jobs = [_lighten(job) for name in state or _STATES for job in store.list(name)]
        counts = store.count()
    jobs.sort(key=lambda job: job.created_at)
    if as_json:
        say_json({"counts": dict(counts), "jobs": [_summary(job) for job in jobs]})
        return
    now = datetime.now(UTC)
    rows = [
        (
            job.id,
            paint(job.state, _COLOURS[job.state]),
            job.event,
            paint(job.hook_id, "cyan"),
            f"{_describe_age(now - job.created_at)} old",
            _describe_starts(job),
            shorten(job.error or "", 80),
        )
        for job in jobs
    ]
    for line in align(rows):
        say(line)
    say(", ".join(f"{counts[name]} {name}" for name in _STATES))


@command.command("show")
@click.argument("job_id", metavar="ID")
@home_option
@from_option
def show_job(job_id: str, home: Path | None, url: str | None) -> None:
    """Show everything about a job, as one JSON object."""
    with _opened(home, url) as store:
        job = store.get(job_id)
    if job is None:
        raise ConfigError(f"no job has the id {job_id!r}; see hookline outbox list")
    say_json(job_to_data(job))


@command.command("retry")
@click.argument("job_ids", metavar="ID...", nargs=-1)
@click.option("--all", "takes_all", is_flag=True, help="Retry every failed job.")
@home_option
@from_option
def retry_jobs(job_ids: tuple[str, ...], takes_all: bool, home: Path | None, url: str | None) -> None:
    """Make failed jobs pending again, as if they were new; the next agent or worker that has their hooks runs them."""
    if not job_ids and not takes_all:
        raise ConfigError("name the jobs to retry, or say --all")
    with _opened(home, url) as store:
        if takes_all:
            job_ids = tuple(job.id for job in store.list("failed") if job.hook_id)
        missing = [job_id for job_id in job_ids if store.retry(job_id) is None]
    say(f"{len(job_ids) - len(missing)} of {len(job_ids)} jobs are pending again")
    if missing:
        raise HooklineError(f"no failed job that can be retried has the id {', '.join(missing)}")


@command.command("purge")
@click.option("--state", type=click.Choice(["done", "failed"]), multiple=True, help="Only jobs in this state.")
@click.option("--older-than", "days", type=click.FloatRange(min=0), default=0, help="Only older ones, in days.")
@home_option
@from_option
def purge_jobs(state: tuple[JobState, ...], days: float, home: Path | None, url: str | None) -> None:
    """Remove jobs that are over: done and failed ones. Pending ones are never removed."""
    try:
        before = datetime.now(UTC) - timedelta(days=days)
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"--older-than {days:g} is no number of days") from error
    finished: tuple[JobState, ...] = ("done", "failed")
    with _opened(home, url) as store:
        for name in state or finished:
            say(f"{store.purge(name, before)} {name} removed")


@command.command("forward")
@to_option
@home_option
@click.option("--follow", is_flag=True, help="Go on forwarding what comes until interrupted; wait for a lost server.")
def forward_jobs(url: str, home: Path | None, follow: bool) -> None:
    """Hand the jobs of hooks with where: fleet over to a fleet; what it has taken is done here."""
    silence_log()
    with opened_fleet(url) as fleet:
        if follow:
            fleet.follow(_folder(home), pause=_pause, report=lambda text: say(f"hookline: {text}", to_stderr=True))
        else:
            say(str(fleet.forward(_folder(home))))


def _pause(seconds: float) -> bool:
    """Wait; it is never enough, an interrupt ends it."""
    time.sleep(seconds)
    return False


def _folder(home: Path | None) -> Path:
    return resolve_home(home) / "hooks" / "outbox"


@contextlib.contextmanager
def _opened(home: Path | None, url: str | None) -> Iterator[OutboxStore]:
    """The outbox of this home, or that of a fleet."""
    if url is None:
        yield FileOutbox(_folder(home))
        return
    with opened_fleet(url) as fleet:
        yield fleet.store


def _describe_starts(job: Job) -> str:
    if job.forwarded_at is not None:
        return "forwarded"
    return f"started {job.starts} times" if job.starts != 1 else "started once"


def _lighten(job: Job) -> Job:
    """A job without what is large, since a fleet may have many."""
    return replace(job, payload={}, stdout="", stderr="")


def _summary(job: Job) -> dict[str, Any]:
    """A job as data, without its payload and output."""
    return {key: value for key, value in job_to_data(job).items() if key not in ("payload", "stdout", "stderr")}


def _describe_age(age: timedelta) -> str:
    seconds = max(0, int(age.total_seconds()))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
