"""`python -m benchmarks [--short]`: print every figure beside its floor, its goal, and whether it is met."""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.adapters import measure_adapters
from benchmarks.dispatch import measure_dispatch
from benchmarks.folders import measure_folders
from benchmarks.handlers import measure_handlers
from benchmarks.measure import Result, show_time
from benchmarks.outbox import measure_outbox
from benchmarks.process import measure_processes
from benchmarks.startup import measure_loading, measure_startup


def main() -> None:
    """Run all benchmarks."""
    is_short = "--short" in sys.argv[1:]
    print(f"Python {platform.python_version()} on {platform.machine()}, {platform.system()} {platform.release()}")
    print(f"{'figure':58} {'time':>9} {'ratio':>8} {'goal':>7}  floor")
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as root:
        for result in _measure_all(Path(root), is_short=is_short):
            mark = "met" if result.is_met else "missed"
            ratio = f"{result.ratio:7.2f}x" if result.floor_s else f"{'-':>8}"
            floor = f"{result.floor_name}: {show_time(result.floor_s)}" if result.floor_s else ""
            print(
                f"{result.name:58} {show_time(result.value_s):>9} {ratio} {result.goal:>7} {mark:6} {floor}", flush=True
            )


def _measure_all(root: Path, *, is_short: bool) -> Iterator[Result]:
    yield from measure_startup(root, rounds=5 if is_short else 21)
    yield from measure_loading(root, rounds=4 if is_short else 20)
    yield from measure_dispatch(root, rounds=3 if is_short else 15, calls=2000 if is_short else 10000)
    yield from measure_handlers(root, rounds=3 if is_short else 15, calls=1000 if is_short else 5000)
    yield from measure_folders(root, rounds=3 if is_short else 15, calls=500 if is_short else 2000)
    yield from measure_adapters(root / "adapters", rounds=3 if is_short else 15)
    yield from measure_processes(root, rounds=50 if is_short else 500, burst=200)
    yield from measure_outbox(
        root, rounds=50 if is_short else 300, burst=100 if is_short else 400, pending=1000 if is_short else 10_000
    )


main()
