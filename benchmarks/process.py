"""What a hook's process costs, against starting the same process without Hookline."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from benchmarks.measure import Result, compare
from hookline import AfterTurn, BeforeToolCall, Engine, Event, Tool

_HOOKS = """
settings: {max_queued_hooks: 100000}
hooks:
  - id: gate
    event: before_tool_call
    run: {type: command, argv: [/bin/true]}
    execution: {mode: blocking, on_error: block}
  - id: note
    event: after_turn
    run: {type: command, argv: [/bin/true]}
    execution: {mode: fire_and_forget}
"""
_PAYLOAD = json.dumps({"command": "x" * 2000}).encode()


def measure_processes(root: Path, *, rounds: int, burst: int) -> Iterator[Result]:
    """One blocking hook, and a burst of hooks that nobody waits for."""
    project = root / "processes"
    path = project / ".hookline" / "hooks" / "hooks.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(_HOOKS, encoding="utf-8")
    with Engine.open(project, home=root / "home", trust="all") as engine:
        blocking, piped, popen = asyncio.run(_measure_blocking(engine, rounds))
        name = "one blocking /bin/true, payload and reply"
        yield compare(name, "asyncio's subprocess with pipes", (blocking, piped), goal=1.0)
        yield compare(name, "Popen and wait", (blocking, popen), goal=1.6)
        forgotten, bare = asyncio.run(_measure_burst(engine, burst))
        yield compare(f"{burst} fire-and-forget /bin/true", "bare asyncio, four wide", (forgotten, bare), goal=1.2)


async def _measure_blocking(engine: Engine, rounds: int) -> tuple[float, float, float]:
    event = Event(BeforeToolCall(tool=Tool(name="bash", args={"command": "x" * 2000})))
    functions: list[Callable[[], Awaitable[object]]] = [lambda: engine.fire(event), _run_piped, _run_popen]
    times: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        for function, found in zip(functions, times, strict=True):
            start = time.perf_counter()
            await function()
            found.append(time.perf_counter() - start)
    blocking, piped, popen = (statistics.median(found) for found in times)
    return blocking, piped, popen


async def _run_piped() -> None:
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec("/bin/true", stdin=pipe, stdout=pipe, stderr=pipe)
    await process.communicate(_PAYLOAD)


async def _run_popen() -> None:
    subprocess.Popen(["/bin/true"]).wait()


async def _measure_burst(engine: Engine, burst: int) -> tuple[float, float]:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        start = time.perf_counter()
        decisions = [await engine.fire(Event(AfterTurn(turn=number))) for number in range(burst)]
        for decision in decisions:
            await engine.settle(decision)
        times[0].append(time.perf_counter() - start)
        start = time.perf_counter()
        slots = asyncio.Semaphore(4)
        await asyncio.gather(*(_run_in(slots) for _ in range(burst)))
        times[1].append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


async def _run_in(slots: asyncio.Semaphore) -> None:
    async with slots:
        await _run_piped()
