"""`hookline worker`: run a fleet's jobs with the hooks of this machine."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hookline.cli.fleet_options import opened_fleet, source_option
from hookline.cli.options import home_option, load, project_option
from hookline.cli.screen import say
from hookline.fleet.options import WorkerOptions

if TYPE_CHECKING:
    from hookline.fleet.worker import FleetWorker


@click.command("worker")
@source_option
@project_option
@home_option
@click.option("--queues", metavar="NAMES", multiple=True, help="Only these queues, parted by commas (default: all).")
@click.option("--concurrency", type=click.IntRange(min=1), help="So many jobs at once (default: max_parallel_hooks).")
@click.option(
    "--grace",
    "grace_s",
    type=click.FloatRange(min=0),
    help="Seconds that running jobs get when it is stopped (default: shutdown_grace_seconds).",
)
@click.option(
    "--silent-after",
    "silent_s",
    type=click.FloatRange(min=0.5),
    default=30.0,
    help="Seconds without a heartbeat after which a worker is taken for dead (default: 30); the same for all workers.",
)
@click.option("--until-empty", is_flag=True, help="End when no job waits or runs any more.")
def command(
    url: str,
    project: Path,
    home: Path | None,
    queues: tuple[str, ...],
    concurrency: int | None,
    grace_s: float | None,
    silent_s: float,
    until_empty: bool,
) -> None:
    """
    Run the jobs of a fleet until interrupted.

    A job runs only if its hook is defined and trusted here exactly as where it was made. On SIGTERM and SIGINT
    running jobs get the grace; what has not ended then is given back to the fleet.
    """
    _show_log()
    layers = load(project, home)
    for problem in layers.problems:
        say(f"hookline: {problem}", to_stderr=True)
    options = WorkerOptions(
        queues=tuple(name for text in queues for part in text.split(",") if (name := part.strip())),
        concurrency=concurrency or layers.settings.max_parallel_hooks,
        grace_s=layers.settings.shutdown_grace_s if grace_s is None else grace_s,
        silent_s=silent_s,
        is_until_empty=until_empty,
    )
    with opened_fleet(url) as fleet:
        fleet.work(layers, options, run=lambda worker: asyncio.run(_run(worker)))


async def _run(worker: FleetWorker) -> None:
    """Run until a signal asks for the end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    say(f"hookline: {worker}", to_stderr=True)
    await worker.run(stop)
    say("hookline: the worker has ended", to_stderr=True)


def _show_log() -> None:
    """A worker runs for days, so its warnings are for whoever keeps its output."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("hookline: %(message)s"))
    logger = logging.getLogger("hookline")
    logger.addHandler(handler)
    logger.propagate = False
    # What the engine and its pool say is said in our words.
    for name in ("procrastinate", "psycopg"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
