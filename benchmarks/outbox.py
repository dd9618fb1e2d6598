"""What it costs that nothing is lost: storing a job, running it, recovering many, and the history of runs."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Result, absolute, compare
from hookline import AfterTurn, BeforeToolCall, Engine, Event, Tool
from hookline.config.layers import load_layers
from hookline.job import Job, JobSource, utc_now
from hookline.outbox.codec import encode_job
from hookline.outbox.files import FileOutbox

_HOOKS = """
settings: {{max_queued_hooks: 100000, outbox_retry_age_seconds: 0}}
hooks:
  - id: note
    event: after_turn
    run: {{type: command, argv: [/bin/true]}}
    execution: {{mode: async, delivery: {delivery}}}
  - id: gate
    event: before_tool_call
    run: {{type: command, argv: [/bin/true]}}
    execution: {{mode: blocking, on_error: block}}
"""


def measure_outbox(root: Path, *, rounds: int, burst: int, pending: int) -> Iterator[Result]:
    """The outbox and the run log."""
    yield _measure_put(root, rounds)
    rates = {delivery: _measure_rate(root, delivery, burst) for delivery in ("durable", "best_effort")}
    times = (rates["durable"] / burst, rates["best_effort"] / burst)
    yield compare(f"one of {burst} durable runs", "one of as many best-effort runs", times, goal=float("inf"))
    yield from _measure_recovery(root, pending)
    yield _measure_log(root, rounds)


def _write_project(root: Path, name: str, delivery: str) -> Path:
    project = root / name
    path = project / ".hookline" / "hooks" / "hooks.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_HOOKS.format(delivery=delivery), encoding="utf-8")
    return project


def _make_job(number: int, source: Path) -> Job:
    return Job(
        id=f"{number:032x}",
        hook_id="note",
        event="after_turn",
        payload={"event": "after_turn", "turn": number, "text": "x" * 1000},
        source=JobSource(layer="project", dialect="native", file=str(source.resolve())),
        created_at=utc_now(),
    )


def _measure_put(root: Path, rounds: int) -> Result:
    store, folder = FileOutbox(root / "put"), root / "bare"
    folder.mkdir()
    jobs = [_make_job(number, root) for number in range(rounds)]
    store.put(_make_job(rounds, root))
    times: tuple[list[float], list[float]] = ([], [])
    for job in jobs:
        data = encode_job(job)
        functions: tuple[Callable[[], object], Callable[[], object]] = (
            lambda job=job: store.put(job),  # type: ignore[misc]
            lambda data=data, name=job.id: _write_bare(folder, name, data),  # type: ignore[misc]
        )
        for function, found in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            found.append(time.perf_counter() - start)
    medians = (statistics.median(times[0]), statistics.median(times[1]))
    return compare("storing a job", "write, flush, rename, flush of the folder", medians, goal=1.2)


def _write_bare(folder: Path, name: str, data: bytes) -> None:
    fd = os.open(folder / f".{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.rename(folder / f".{name}", folder / name)  # noqa: PTH104 - the bare call
    folder_fd = os.open(folder, os.O_RDONLY)
    os.fsync(folder_fd)
    os.close(folder_fd)


def _measure_rate(root: Path, delivery: str, burst: int) -> float:
    project = _write_project(root, f"rate-{delivery}", delivery)

    async def run(engine: Engine) -> None:
        for number in range(burst):
            await engine.fire(Event(AfterTurn(turn=number)))
        await engine.drain_turn()

    with Engine.open(project, home=root / f"home-{delivery}", trust="all") as engine:
        start = time.perf_counter()
        asyncio.run(run(engine))
        return time.perf_counter() - start


def _measure_recovery(root: Path, pending: int) -> Iterator[Result]:
    project, home = _write_project(root, "recovery", "durable"), root / "home-recovery"
    source = project / ".hookline" / "hooks" / "hooks.yaml"
    store = FileOutbox(home / "hooks" / "outbox")
    store.put(_make_job(pending, source))
    for number in range(pending):  # without flushes, or the preparation would take minutes
        job = _make_job(number, source)
        (home / "hooks" / "outbox" / "pending" / f"{job.id}.json").write_bytes(encode_job(job))
    first, stall = asyncio.run(_recover(project, home, store))
    yield absolute(f"first start of {pending:,} pending runs", "nothing", (first, 0.0), goal_s=1.0)
    yield absolute(f"longest stall of the event loop, {pending:,} pending", "nothing", (stall, 0.0), goal_s=0.05)


async def _recover(project: Path, home: Path, store: FileOutbox) -> tuple[float, float]:
    """When the first job has been done, and the longest pause of a heartbeat of this loop meanwhile."""
    layers = await asyncio.to_thread(load_layers, project, home=home, trust="all")
    longest, start = 0.0, time.perf_counter()
    first = None
    engine = Engine(layers)
    engine.start()
    beat = start
    while first is None or beat - start < first + 1.0:
        await asyncio.sleep(0.005)
        now = time.perf_counter()
        longest, beat = max(longest, now - beat - 0.005), now
        if first is None and (home / "hooks" / "log").exists():
            first = now - start
    await engine.aclose(grace_s=0)
    del store
    return first, longest


def _measure_log(root: Path, rounds: int) -> Result:
    project = _write_project(root, "log", "best_effort")
    layers = load_layers(project, home=root / "home-log", trust="all")
    with Engine(layers) as logged, Engine(layers, keeps_log=False) as unlogged:
        times = asyncio.run(_measure_engines(logged, unlogged, rounds))
    return compare("one blocking /bin/true with the run log", "the same without", times, goal=1.05)


async def _measure_engines(first: Engine, second: Engine, rounds: int) -> tuple[float, float]:
    event = Event(BeforeToolCall(tool=Tool(name="bash", args={"command": "x" * 2000})))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for engine, found in zip((first, second), times, strict=True):
            start = time.perf_counter()
            await engine.fire(event)
            found.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])
