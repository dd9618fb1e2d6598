"""
A storm of edits: two processes change hook files while events fire, and an engine watches.

    python -m soak.reload [--edits N] [--seed N] [--kind KIND ...] [--within SECONDS]

Exits with 1 when the engine does not hold what is on the disk within a second of the last edit, when an event met
hooks that do not belong together, when the watch died, or when something was left.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from msgspec import Struct

from hookline import BeforeToolCall, Decision, Engine, Event, Tool
from soak.edits import KINDS, NAMES
from soak.figures import wait_until

_EDITS = 500
_WITHIN_S = 1.0
_POLL_S = 0.01
_FAST_FIRES = 50
# Threads take turns this often, so that events and a reload get in each other's way as much as they can.
_SWITCH_S = 1e-5
_MOST_GROWTH = 0.2
# What an allocator keeps back from one round to the next.
_LEAST_GROWTH = 8 * 1024 * 1024
_PAIR = ("left-", "right-")


class Storm(Struct, kw_only=True):
    """What happened in a storm; `wrong` are the faults found, in words."""

    fires: int = 0
    reloads: int = 0
    lag_s: float = 0.0
    memory: list[int] = []
    wrong: list[str] = []


def main() -> int:
    """Run the storm that the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m soak.reload", description=__doc__)
    parser.add_argument("--edits", type=int, default=_EDITS, help=f"how many edits in all (default {_EDITS})")
    parser.add_argument("--seed", type=int, default=None, help="repeat the random choices of another run")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="what to edit; everything by default")
    parser.add_argument("--within", type=float, default=_WITHIN_S, help="how soon after the last edit, in seconds")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    logging.getLogger("hookline").setLevel(logging.CRITICAL)
    sys.setswitchinterval(_SWITCH_S)
    with tempfile.TemporaryDirectory(prefix="hookline-storm-") as root:
        storm = run_storm(
            Path(root), edits=options.edits, seed=seed, kinds=options.kind or list(KINDS), within_s=options.within
        )
    memory = " ".join(str(size // 1024**2) for size in storm.memory)
    sys.stdout.write(
        f"{options.edits} edits, {storm.reloads} reloads, {storm.fires} fires; equal to the disk "
        f"{storm.lag_s:.2f} s after the last edit; memory {memory} MiB\n"
    )
    for fault in storm.wrong[:20]:
        sys.stdout.write(f"FAULT: {fault}\n")
    sys.stdout.write(
        f"{len(storm.wrong)} faults; seed {seed}\n" if storm.wrong else f"the storm is over; seed {seed}\n"
    )
    return 1 if storm.wrong else 0


def run_storm(root: Path, *, edits: int, seed: int, kinds: list[str], within_s: float) -> Storm:
    """Let two processes edit the hooks of an engine that fires and watches, and compare it with the disk."""
    project, home, storm = root / "project", root / "home", Storm()
    project.mkdir()
    asyncio.run(asyncio.sleep(0))  # what an event loop makes once and keeps is no leak
    before = _count_holdings()
    with Engine.open(project, home=home, trust="all") as engine:
        watch = engine.watch(lambda reloaded: _note_reload(storm, str(reloaded.failure)))
        editors = [
            subprocess.Popen(
                [sys.executable, "-m", "soak.edits", str(project), str(home), str(seed + n), str(edits // 2), *kinds],
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(2)
        ]
        asyncio.run(_fire_while(engine, editors, storm, random.Random(seed)))
        said = [editor.communicate()[0] for editor in editors]
        storm.wrong += [f"an editor exited with {editor.returncode}" for editor in editors if editor.returncode]
        last_edit_s = max(float(text or 0) for text in said)
        _wait_for_disk(engine, project, home, last_edit_s + within_s, storm)
        storm.lag_s = time.monotonic() - last_edit_s
        if not watch.is_running:
            storm.wrong.append("the watch has died")
    gc.collect()
    wait_until(lambda: _count_holdings() == before)  # an idle thread of handlers ends by itself
    if (after := _count_holdings()) != before:
        names = [thread.name for thread in threading.enumerate()]
        storm.wrong.append(f"threads and descriptors: {after} in the end, {before} at the start: {names}")
    storm.wrong += _find_growth(storm.memory)
    return storm


async def _fire_while(
    engine: Engine, editors: list[subprocess.Popen[str]], storm: Storm, chance: random.Random
) -> None:
    started = time.monotonic()
    while any(editor.poll() is None for editor in editors):
        for _ in range(_FAST_FIRES):  # without any process, so that they fall into the moments in which hooks change
            storm.wrong += _find_widows(await engine.fire(Event(BeforeToolCall(tool=Tool(name="bare")))))
            storm.fires += 1
        name = "pair" if chance.random() < 0.7 else f"tool-{chance.randrange(NAMES)}"
        decision = await engine.fire(Event(BeforeToolCall(tool=Tool(name=name))))
        storm.fires += 1
        storm.wrong += _find_widows(decision)
        if time.monotonic() - started > len(storm.memory):
            storm.memory.append(psutil.Process().memory_info().rss)


def _find_widows(decision: Decision) -> Iterator[str]:
    """Hooks of a pair that stood in one file, and of which the event met one alone."""
    left, right = (
        {run.hook.id.removeprefix(side) for run in decision.runs if run.hook.id.startswith(side)} for side in _PAIR
    )
    if left != right and decision.verdict == "allow":
        yield f"an event met {sorted(left ^ right)} without the other half"


def _wait_for_disk(engine: Engine, project: Path, home: Path, deadline_s: float, storm: Storm) -> None:
    with Engine.open(project, home=home, trust="all") as fresh:
        wanted = _describe(fresh)
    while _describe(engine) != wanted:
        if time.monotonic() > deadline_s:
            difference = [
                line for line in (*_describe(engine), *wanted) if line not in wanted or line not in _describe(engine)
            ]
            storm.wrong.append(f"not equal to the disk: {difference[:5]}")
            break
        time.sleep(_POLL_S)


def _describe(engine: Engine) -> list[Any]:
    """All that an engine has loaded, in its order."""
    hooks = [
        (hook.id, hook.event, hook.source.layer, hook.source.place.path, hook.match, hook.execution)
        for hook in engine.hooks
    ]
    return [*hooks, *engine.problems, engine.settings]


def _note_reload(storm: Storm, failure: str) -> None:
    storm.reloads += 1
    if failure:
        storm.wrong.append(f"a reload failed: {failure}")


def _count_holdings() -> tuple[int, int]:
    return threading.active_count(), psutil.Process().num_fds()


def _find_growth(memory: list[int]) -> Iterator[str]:
    """Memory after the first quarter, in which everything was loaded once, is to stay level."""
    with contextlib.suppress(IndexError):
        first, last = memory[len(memory) // 4], memory[-1]
        if last - first > max(first * _MOST_GROWTH, _LEAST_GROWTH):
            yield f"memory grew from {first} to {last} bytes after the first quarter"


if __name__ == "__main__":
    sys.exit(main())
