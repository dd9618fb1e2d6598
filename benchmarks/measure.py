"""Measuring two things side by side, so that a machine that changes its speed changes both."""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line of the report: a figure, the floor it is held against, and the goal."""

    name: str
    floor_name: str
    value_s: float
    floor_s: float
    goal: str
    is_met: bool

    @property
    def ratio(self) -> float:
        """How many times the floor the figure is."""
        return self.value_s / self.floor_s if self.floor_s else float("nan")


def show_time(seconds: float) -> str:
    """A time with a fitting unit."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def measure_pair(first: Callable[[], object], second: Callable[[], object], *, rounds: int) -> tuple[float, float]:
    """The median times of two functions, called in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for function, found in zip((first, second), times, strict=True):
            start = time.perf_counter()
            function()
            found.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def measure_async_pair(
    first: Callable[[], Awaitable[object]], second: Callable[[], Awaitable[object]], *, rounds: int, calls: int
) -> tuple[float, float]:
    """The median times of one call of two coroutine functions, in turn, each awaited `calls` times in a row."""

    async def run(function: Callable[[], Awaitable[object]]) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            await function()
        return (time.perf_counter() - start) / calls

    async def run_all() -> tuple[float, float]:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            times[0].append(await run(first))
            times[1].append(await run(second))
        return statistics.median(times[0]), statistics.median(times[1])

    return asyncio.run(run_all())


def compare(name: str, floor_name: str, times: tuple[float, float], *, goal: float) -> Result:
    """A result whose goal is a ratio."""
    value, floor = times
    return Result(
        name=name,
        floor_name=floor_name,
        value_s=value,
        floor_s=floor,
        goal="-" if math.isinf(goal) else f"{goal:g} x",
        is_met=value / floor <= goal,
    )


def difference(name: str, floor_name: str, times: tuple[float, float], *, goal_s: float) -> Result:
    """A result whose goal is a time above the floor."""
    value, floor = times
    return Result(
        name=name,
        floor_name=floor_name,
        value_s=value,
        floor_s=floor,
        goal=f"+{show_time(goal_s)}",
        is_met=value - floor <= goal_s,
    )


def absolute(name: str, floor_name: str, times: tuple[float, float], *, goal_s: float) -> Result:
    """A result whose goal is a time of its own; the floor shows how fast the machine is."""
    value, floor = times
    return Result(
        name=name, floor_name=floor_name, value_s=value, floor_s=floor, goal=show_time(goal_s), is_met=value <= goal_s
    )
