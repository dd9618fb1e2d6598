"""
`python -m benchmarks.fleet [--short]`: what a fleet costs, on a PostgreSQL server of its own, with all its flushes.

Forwarding beside a bare batch insert of the same rows by procrastinate, jobs a second with more and more workers,
the time from `fire` to the start of a hook, and what a hook of a fleet costs its agent beside a local durable one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
from procrastinate import App, PsycopgConnector
from soak.server import running_server

from benchmarks.measure import Result, compare, show_time
from hookline import AfterTurn, BeforeTurn, Engine, Event
from hookline.definition import Definition
from hookline.fleet.address import Address
from hookline.fleet.database import PostgresDatabase
from hookline.fleet.fleet import Fleet
from hookline.fleet.schema import apply_schema
from hookline.fleet.store import FleetStore
from hookline.job import Job, JobSource, Route, utc_now
from hookline.outbox.codec import encode_job
from hookline.outbox.files import FileOutbox

_BATCH = 200
_WITHIN_S = 300
_TABLES = (
    "hookline_jobs, procrastinate_jobs, procrastinate_events, procrastinate_workers, procrastinate_periodic_defers"
)
_HOOKS = """
hooks:
  - id: fleet
    event: after_turn
    run: {type: command, argv: [/bin/true]}
    execution: {mode: fire_and_forget, delivery: durable, where: fleet}
  - id: local
    event: before_turn
    run: {type: command, argv: [/bin/true]}
    execution: {mode: fire_and_forget, delivery: durable}
"""


class Ground:
    """A server with a fleet, and a home with a hook for it."""

    def __init__(self, root: Path, url: str) -> None:
        self.url = url
        self.root = root
        self.project = root / "project"
        self.project.mkdir()
        self.home = self.make_home("home")
        with Engine.open(self.project, home=self.home) as engine:
            (hook,) = (hook for hook in engine.hooks if hook.id == "fleet")
            self.digest = Definition(hook).digest()
        self.store = FleetStore(PostgresDatabase(Address.from_url(url)))

    def make_home(self, name: str) -> Path:
        """A home with the hooks."""
        home = self.root / name
        (home / "hooks").mkdir(parents=True)
        (home / "hooks" / "hooks.yaml").write_text(_HOOKS, encoding="utf-8")
        return home

    def make_jobs(self, count: int) -> list[Job]:
        """Jobs as an agent makes them, of a kilobyte."""
        return [
            Job(
                id=os.urandom(16).hex(),
                hook_id="fleet",
                event="after_turn",
                payload={"event": "after_turn", "turn": number, "text": "x" * 1000},
                source=JobSource(layer="user", dialect="native", file="hooks.yaml"),
                created_at=utc_now(),
                route=Route(digest=self.digest, queue="hooks"),
            )
            for number in range(count)
        ]

    def clear(self) -> None:
        """Empty the database, and let it settle."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"TRUNCATE {_TABLES}".encode())
            connection.execute("CHECKPOINT")

    @contextlib.contextmanager
    def working(self, count: int) -> Iterator[None]:
        """So many workers that are ready."""
        command = [sys.executable, "-m", "hookline", "worker", "--from", self.url, "--project", str(self.project)]
        environment = {**os.environ, "HOOKLINE_HOME": str(self.home)}
        workers = [
            subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(count)
        ]
        try:
            self.wait_until("SELECT count(*) FROM procrastinate_workers", count)
            yield
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait()

    def wait_until(self, query: str, count: int) -> None:
        """Wait until a query gives a number."""
        deadline = time.monotonic() + _WITHIN_S
        with psycopg.connect(self.url, autocommit=True) as connection:
            while (connection.execute(query.encode()).fetchone() or (0,))[0] < count:
                if time.monotonic() > deadline:
                    raise TimeoutError(query)
                time.sleep(0.005)


def measure_forwarding(ground: Ground, *, count: int, rounds: int) -> Result:
    """Forwarding jobs from files, each moved to the done ones, beside inserting the same rows and nothing else."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        ground.clear()
        times[0].append(_forward(ground, count, f"forward-{number}") / count)
        ground.clear()
        times[1].append(asyncio.run(_insert(ground, ground.make_jobs(count))) / count)
    medians = (statistics.median(times[0]), statistics.median(times[1]))
    return compare(f"forwarding one of {count:,} jobs", "bare batch insert of the same rows", medians, goal=1 / 0.7)


def _forward(ground: Ground, count: int, name: str) -> float:
    outbox = ground.root / name
    store = FileOutbox(outbox)
    store.put(ground.make_jobs(1)[0])
    for job in ground.make_jobs(count - 1):  # without flushes, or the preparation would take minutes
        (outbox / "pending" / f"{job.id}.json").write_bytes(encode_job(job))
    os.sync()
    with Fleet.opened(ground.url) as fleet:
        fleet.store.check()
        start = time.perf_counter()
        tally = fleet.forward(outbox)
        took = time.perf_counter() - start
    assert tally.sent == count
    return took


async def _insert(ground: Ground, jobs: Sequence[Job]) -> float:
    app = App(connector=PsycopgConnector(conninfo=ground.url))
    async with app.open_async():
        task = app.configure_task("hookline", queue="hooks")
        rows = [{"job": encode_job(job).decode("ascii")} for job in jobs]
        start = time.perf_counter()
        for first in range(0, len(rows), _BATCH):
            await task.batch_defer_async(*rows[first : first + _BATCH])
        return time.perf_counter() - start


def measure_rate(ground: Ground, workers: int, *, count: int) -> float:
    """How many jobs a second so many workers run from end to end."""
    ground.clear()
    with ground.working(workers):
        jobs = ground.make_jobs(count)
        start = time.perf_counter()
        for first in range(0, count, _BATCH):
            ground.store.put_all(jobs[first : first + _BATCH])
        ground.wait_until("SELECT count(*) FROM hookline_jobs WHERE state = 'done'", count)
        return count / (time.perf_counter() - start)


def measure_latency(ground: Ground, *, count: int) -> tuple[float, float]:
    """The median and the longest time from `fire` to the start of the hook, with a forwarder that follows."""
    ground.clear()
    command = [sys.executable, "-m", "hookline", "outbox", "forward", "--follow", "--to", ground.url]
    environment = {**os.environ, "HOOKLINE_HOME": str(ground.home)}
    with ground.working(1), Engine.open(ground.project, home=ground.home, trust="none") as engine:
        forwarder = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        try:
            for turn in range(count + 1):
                engine.fire_sync(Event(AfterTurn(turn=turn)))
                ground.wait_until("SELECT count(*) FROM hookline_jobs WHERE state = 'done'", turn + 1)
        finally:
            forwarder.kill()
            forwarder.wait()
    # The first one waited for the forwarder to start.
    jobs = sorted(ground.store.list("done"), key=lambda job: job.created_at)[1:]
    waits = [(job.last_start - job.created_at).total_seconds() for job in jobs if job.last_start is not None]
    return statistics.median(waits), max(waits)


def measure_agent(ground: Ground, *, count: int) -> Result:
    """What `fire` takes with a hook of a fleet, and with a durable one that runs here, in turn."""
    home = ground.make_home("home-agent")
    times: tuple[list[float], list[float]] = ([], [])
    with Engine.open(ground.project, home=home, trust="none") as engine:
        for turn in range(count):
            for event, found in zip((Event(AfterTurn(turn=turn)), Event(BeforeTurn(turn=turn))), times, strict=True):
                # The same before both, or one would pay for what the other left to be written.
                asyncio.run(engine.settle(engine.fire_sync(Event(BeforeTurn(turn=turn)))))
                _flush(home)
                start = time.perf_counter()
                decision = engine.fire_sync(event)
                found.append(time.perf_counter() - start)
                asyncio.run(engine.settle(decision))
    medians = (statistics.median(times[0]), statistics.median(times[1]))
    return compare("fire with a hook of a fleet", "fire with a local durable hook", medians, goal=1.1)


def _flush(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def main() -> None:
    """Measure everything, and print it beside its floor and its goal."""
    is_short = "--short" in sys.argv[1:]
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    print(f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as root, running_server(is_safe=True) as server:
        apply_schema(Address.from_url(server.url))
        ground = Ground(Path(root), server.url)
        _show(measure_agent(ground, count=30 if is_short else 300))
        forwarding = measure_forwarding(ground, count=1000 if is_short else 5000, rounds=1 if is_short else 3)
        _show(forwarding)
        print(f"  {1 / forwarding.value_s:,.0f} a second, {1 / forwarding.ratio:.2f} of the bare insert (goal: 0.7)")
        for workers in (1, 2, 4):
            rate = measure_rate(ground, workers, count=100 if is_short else 1000)
            print(f"{f'end to end with {workers} workers':48} {rate:9,.0f} jobs a second", flush=True)
        median, longest = measure_latency(ground, count=10 if is_short else 50)
        print(f"{'from fire to the start of the hook':48} {show_time(median):>9} median, {show_time(longest)} at most")


def _show(result: Result) -> None:
    mark = "met" if result.is_met else "missed"
    floor = f"{result.floor_name}: {show_time(result.floor_s)}"
    print(f"{result.name:48} {show_time(result.value_s):>9} {result.ratio:7.2f}x {mark:6} {floor}", flush=True)


if __name__ == "__main__":
    main()
