"""Builders for fleets in tests: a home with hooks of a fleet, jobs for them, and a worker."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from memory import MemoryDatabase

from entries import shell_hook, write_file
from hookline import AfterTurn, Event
from hookline.config.layers import load_layers
from hookline.definition import Definition
from hookline.fleet.hands import Hands
from hookline.fleet.options import WorkerOptions
from hookline.fleet.store import FleetStore
from hookline.fleet.worker import FleetWorker
from hookline.hook import Hook
from hookline.job import Job, Route
from jobs import make_job
from support import Bench

NOTE = 'echo "$HOOKLINE_JOB_ID $HOOKLINE_JOB_ATTEMPT" >> "$NOTES"'


def fleet_hook(bench: Bench, text: str = NOTE, hook_id: str = "job", **execution: Any) -> dict[str, Any]:
    """A hook of a fleet; it notes its job and its attempt unless it is given another text."""
    options = {"event": "after_turn", "mode": "async", "delivery": "durable", "where": "fleet", **execution}
    return shell_hook(hook_id, text, env={"NOTES": str(bench.root / "notes")}, **options)


def write_hooks(bench: Bench, *hooks: dict[str, Any], **settings: Any) -> None:
    """Write the hooks of the user, by default one that notes its job."""
    bench.write(write_file(*(hooks or (fleet_hook(bench),)), settings=settings), layer="user")


def read_notes(bench: Bench) -> list[str]:
    path = bench.root / "notes"
    return path.read_text().splitlines() if path.exists() else []


def load_hook(bench: Bench, hook_id: str = "job") -> Hook:
    layers = load_layers(bench.project, home=bench.home)
    return next(hook for hook in layers.hooks if hook.id == hook_id)


def make_fleet_job(bench: Bench, hook_id: str = "job", **fields: Any) -> Job:
    """A job as this machine's own engine would make it for a hook of the user; `route` adds to its route."""
    hook = load_hook(bench, hook_id)
    route = {"digest": Definition(hook).digest(), "queue": hook.execution.queue, **fields.pop("route", {})}
    return make_job(hook_id=hook_id, route=Route(**route), **fields)


def turn(bench: Bench, number: int = 1, session: str = "s1") -> Event:
    return Event(AfterTurn(turn=number), cwd=str(bench.project), session_id=session)


class MemoryFleet:
    """A fleet within this process, and workers for it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.database = MemoryDatabase()
        self.store = FleetStore(self.database)

    @contextlib.asynccontextmanager
    async def working(self, **options: Any) -> AsyncIterator[asyncio.Event]:
        """A worker that works within the block; what stops it is given."""
        layers = load_layers(self.bench.project, home=self.bench.home)
        hands = Hands(layers)
        made = WorkerOptions(**{"grace_s": 0.0, **options})
        worker = FleetWorker(hands, self.database, lambda: self.database.connector, layers.settings, made)
        stop = asyncio.Event()
        running = asyncio.ensure_future(worker.run(stop))
        try:
            yield stop
        finally:
            stop.set()
            await running
            hands.close()

    async def work_off(self, **options: Any) -> None:
        """Work until nothing is left."""
        layers = load_layers(self.bench.project, home=self.bench.home)
        hands = Hands(layers)
        made = WorkerOptions(is_until_empty=True, **options)
        worker = FleetWorker(hands, self.database, lambda: self.database.connector, layers.settings, made)
        await asyncio.wait_for(worker.run(asyncio.Event()), 20)
        hands.close()
