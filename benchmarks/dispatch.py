"""What an event costs that starts no process."""

from __future__ import annotations

import timeit
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measure import Result, absolute, compare, measure_async_pair
from benchmarks.startup import write_hooks
from hookline import BeforeToolCall, Engine, Event, SessionStart, Tool


class _Empty:
    def listens(self, event_name: str) -> bool:
        return False

    async def fire(self, event: Event) -> None:
        return None


def measure_dispatch(root: Path, *, rounds: int, calls: int) -> Iterator[Result]:
    """The paths on which no hook runs."""
    project, home = root / "others", root / "home"
    write_hooks(project, 1000)
    empty = _Empty()
    with Engine.open(project, home=home, trust="all") as engine:
        yield compare(
            "listens",
            "an empty method",
            _time_calls(engine.listens, empty.listens, rounds=rounds, calls=calls * 10),
            goal=2,
        )
        start = Event(SessionStart())
        yield compare(
            "fire, no hook for the event",
            "an empty coroutine",
            measure_async_pair(partial(engine.fire, start), partial(empty.fire, start), rounds=rounds, calls=calls),
            goal=5,
        )
        for size, words in ((10, "10 bytes"), (1_000_000, "1 MB")):
            event = Event(BeforeToolCall(tool=Tool(name="other", args={"command": "x" * size})))
            times = measure_async_pair(
                partial(engine.fire, event), partial(empty.fire, event), rounds=rounds, calls=100
            )
            name = f"fire, 1,000 hooks for other tools, {words}"
            yield absolute(name, "an empty coroutine", times, goal_s=60e-6)
    yield from _measure_patterns(root, empty, rounds=rounds)


def _measure_patterns(root: Path, empty: _Empty, *, rounds: int) -> Iterator[Result]:
    project = root / "patterns"
    path = write_hooks(project, 1000, with_patterns=True)
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join(line for line in text.splitlines() if "tool_name" not in line), encoding="utf-8")
    with Engine.open(project, home=root / "home", trust="all") as engine:
        event = Event(BeforeToolCall(tool=Tool(name="bash", args={"command": "git commit -m 'rm -rf is bad'"})))
        value, floor = measure_async_pair(lambda: engine.fire(event), lambda: empty.fire(event), rounds=rounds, calls=5)
        yield absolute("one of 1,000 patterns that miss", "an empty coroutine", (value / 1000, floor), goal_s=5e-6)


def _time_calls(first: object, second: object, *, rounds: int, calls: int) -> tuple[float, float]:
    names = {"first": first, "second": second}
    pairs = [
        [
            timeit.timeit(f"{name}('session_start')", globals={**names}, number=calls) / calls
            for name in ("first", "second")
        ]
        for _ in range(rounds)
    ]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
