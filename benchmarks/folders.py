"""What hook folders cost: finding who is meant, putting answers together, reading them again, writing runs down."""

from __future__ import annotations

import asyncio
import json
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Result, absolute, measure_pair
from hookline import BeforeToolCall, Engine, Event, Run, Tool
from hookline.config.folders import find_folders
from hookline.config.layers import load_layers
from hookline.fold import Chain
from hookline.folders.decision import Reply, combine
from hookline.folders.recorder import FolderRecorder
from hookline.hookset import HookSet
from hookline.outcome import Answer

_COUNT = 100


def measure_folders(root: Path, *, rounds: int, calls: int) -> Iterator[Result]:
    """A hundred hook folders, all for one tool."""
    path = root / "vix" / "hooks"
    _write_folders(path)
    project = root / "folders"
    project.mkdir()
    with Engine.open(project, home=root / "home", vix_hooks=path) as engine:
        for name, tool, goal_s in (("missing", "other", 3e-6), ("hitting", "bash", 30e-6)):
            event = Event(BeforeToolCall(tool=Tool(name=tool, args={"command": "ls"})))
            times = _time_calls(lambda event=event: engine.match(event), rounds=rounds, calls=calls)  # type: ignore[misc]
            yield absolute(f"match over 100 hook folders, all {name}", "an empty function", times, goal_s=goal_s)
    yield from _measure_combining(path, rounds=rounds, calls=calls)
    yield _measure_reload(project, root / "home", path, rounds=rounds)
    yield _measure_recording(path, rounds=rounds)


def _write_folders(path: Path) -> None:
    for number in range(_COUNT):
        folder = path / f"hook-{number:03}"
        folder.mkdir(parents=True)
        spec = {
            "trigger": {"event": "PreToolUse", "matcher": "bash|edit_.*"},
            "enabled": True,
            "mode": "sync",
            "blocking": True,
            "command": "true",
        }
        (folder / "hook.json").write_text(json.dumps(spec), encoding="utf-8")


def _measure_combining(path: Path, *, rounds: int, calls: int) -> Iterator[Result]:
    """The rules of the contract alone, and the engine's fold, which also says what became of each run."""
    replies = (Reply(), Reply(behavior="context", context="a"), Reply(behavior="modify", input={"command": "true"}))
    denied = (*replies, Reply(behavior="deny", reason="no"))
    times = _time_calls(lambda: combine(denied), rounds=rounds, calls=calls)
    yield absolute("combine 4 replies", "an empty function", times, goal_s=2e-6)
    chain = Chain(event=Event(BeforeToolCall(tool=Tool(name="bash", args={"command": "ls"}))))
    runs = [Run(hook=hook, status="ok", outcome=Answer()) for hook in find_folders(path).hooks[:4]]
    times = _time_calls(lambda: chain.take_strictest(runs), rounds=rounds, calls=calls)
    yield absolute("fold 4 runs without objection", "an empty function", times, goal_s=2e-6)


def _measure_reload(project: Path, home: Path, path: Path, *, rounds: int) -> Result:
    hooks = HookSet(load_layers(project, home=home, vix_hooks=path))
    files = sorted(path.glob("*/hook.json"))
    times = measure_pair(hooks.reload_folders, lambda: [file.read_bytes() for file in files], rounds=rounds)
    return absolute("reload 100 hook folders", "reading the files", times, goal_s=10e-3)


def _measure_recording(path: Path, *, rounds: int) -> Result:
    """The time of the event loop alone; the thread that writes is waited for in between."""
    folders = find_folders(path)
    hook = folders.hooks[0]
    event = Event(BeforeToolCall(tool=Tool(name="bash")))
    run = Run(hook=hook, status="ok", outcome=Answer(), duration_ms=1.0)
    recorder = FolderRecorder(folders.find_spec)

    async def measure() -> tuple[float, float]:
        values = []
        for _ in range(rounds * 10):
            value, floor = measure_pair(lambda: recorder.note(run, event), lambda: None, rounds=1)
            values.append((value, floor))
            recorder.flush()
        values.sort()
        return values[len(values) // 2]

    times = asyncio.run(measure())
    recorder.close()
    return absolute("record a run, on the loop", "an empty function", times, goal_s=100e-6)


def _time_calls(function: Callable[[], object], *, rounds: int, calls: int) -> tuple[float, float]:
    def empty() -> None:
        return None

    found = [[timeit.timeit(subject, number=calls) / calls for subject in (function, empty)] for _ in range(rounds)]
    return min(value for value, _ in found), min(floor for _, floor in found)
