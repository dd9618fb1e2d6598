"""The load: event loops in threads and threads without one, all firing at one engine until it is enough."""

from __future__ import annotations

import asyncio
import collections
import functools
import itertools
import random
import threading
import time
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from hookline import BeforeToolCall, Decision, Engine, Event, Failure, Tool
from soak.figures import read_memory
from soak.hooks import Kind

LOOPS = 3
TASKS_EACH = 4
SYNC_THREADS = 3
MARKS = (0.25, 0.5, 0.75, 1.0)
_CANCELLED_OF_100 = 20
_DRAINS_OF_100 = 5
_LONGEST_PATIENCE_S = 0.03


class Enough(Struct, frozen=True, kw_only=True):
    """When to stop: after so many fires, or after so many seconds, whichever comes first."""

    fires: int | None = None
    seconds: float | None = None

    def progress(self, fires: int, seconds: float) -> float:
        """How much of it is done, 1 for all."""
        parts = [0.0]
        if self.fires is not None:
            parts.append(fires / self.fires)
        if self.seconds is not None:
            parts.append(seconds / self.seconds)
        return max(parts)


class Tally(Struct, eq=False, kw_only=True):
    """What has happened so far."""

    fires: int = 0
    cancelled: int = 0
    runs: collections.Counter[str] = field(default_factory=collections.Counter)
    memory: dict[float, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    tasks_left: int = 0
    seconds: float = 0.0


class Load:
    """Fires at an engine from many sides; `run` returns when it is enough."""

    def __init__(self, engine: Engine, kinds: Sequence[Kind], enough: Enough, *, seed: int) -> None:
        self._engine = engine
        self._kinds = kinds
        self._enough = enough
        self._seed = seed
        self._lock = threading.Lock()
        self._started_at = 0.0
        self._numbers = itertools.count()
        self.tally = Tally()

    def run(self) -> Tally:
        """Fire until it is enough; one thread for each loop, and those without a loop."""
        self._started_at = time.monotonic()
        threads = [threading.Thread(target=self._run_loop, args=(number,)) for number in range(LOOPS)]
        threads += [threading.Thread(target=self._fire_sync, args=(LOOPS + number,)) for number in range(SYNC_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.tally.seconds = time.monotonic() - self._started_at
        return self.tally

    def _run_loop(self, number: int) -> None:
        asyncio.run(self._run_tasks(number))

    async def _run_tasks(self, number: int) -> None:
        chance = random.Random(f"{self._seed}/{number}")
        await asyncio.gather(*(self._fire_on(random.Random(chance.random())) for _ in range(TASKS_EACH)))
        left = asyncio.all_tasks() - {asyncio.current_task()}
        with self._lock:
            self.tally.tasks_left += len(left)

    async def _fire_on(self, chance: random.Random) -> None:
        while (session := self._next()) is not None:
            kinds = self._choose(chance)
            fire = asyncio.create_task(self._engine.fire(make_event(session, kinds)))
            if chance.randrange(100) < _CANCELLED_OF_100:
                await asyncio.wait({fire}, timeout=chance.random() * _LONGEST_PATIENCE_S)
                fire.cancel()
            await asyncio.wait({fire})
            if fire.cancelled():
                self._note_cancelled()
            else:
                self._note(kinds, fire.result)
            if chance.randrange(100) < _DRAINS_OF_100:
                await self._engine.drain_turn(session)

    def _fire_sync(self, number: int) -> None:
        chance = random.Random(f"{self._seed}/{number}")
        while (session := self._next()) is not None:
            kinds = self._choose(chance)
            self._note(kinds, functools.partial(self._engine.fire_sync, make_event(session, kinds)))
            if chance.randrange(100) < _DRAINS_OF_100:
                self._engine.drain_turn_sync(session)

    def _choose(self, chance: random.Random) -> tuple[Kind, ...]:
        count = chance.choice((1, 1, 2, 3))
        chosen = chance.choices(self._kinds, [kind.weight for kind in self._kinds], k=count)
        with_text = [kind for kind in chosen if kind.text][:1]  # they want different texts
        return tuple(dict.fromkeys([*with_text, *(kind for kind in chosen if not kind.text)]))

    def _next(self) -> str | None:
        """The session of the next fire, None when it is enough."""
        with self._lock:
            number = next(self._numbers)
            progress = self._enough.progress(number, time.monotonic() - self._started_at)
            for mark in MARKS:
                if progress >= mark and mark not in self.tally.memory:
                    self.tally.memory[mark] = read_memory()
        return None if progress >= 1 else f"s{number % 17}"

    def _note_cancelled(self) -> None:
        with self._lock:
            self.tally.fires += 1
            self.tally.cancelled += 1

    def _note(self, kinds: Sequence[Kind], decide: Callable[[], Decision]) -> None:
        names = ", ".join(kind.name for kind in kinds)
        try:
            decision = decide()
        except Exception as error:  # what must never happen is what this is here to find
            with self._lock:
                self.tally.fires += 1
                self.tally.wrong.append(f"firing {names} raised {error!r}")
            return
        expected = "block" if any(kind.blocks for kind in kinds) else "allow"
        with self._lock:
            self.tally.fires += 1
            for run in decision.runs:
                kind = run.outcome.kind if isinstance(run.outcome, Failure) else None
                self.tally.runs[f"{run.status} ({kind})" if kind not in (None, run.status) else run.status] += 1
            if decision.verdict != expected:
                self.tally.wrong.append(f"{names}: {decision.verdict}, not {expected}: {decision.warnings}")


def make_event(session: str, kinds: Sequence[Kind]) -> Event:
    """A tool call that is meant for these kinds of hooks, and for no others."""
    text = "".join(kind.text for kind in kinds)
    args = {"kinds": " ".join(kind.name for kind in kinds), "text": text}
    return Event(BeforeToolCall(tool=Tool(name="soak", kind="shell", args=args)), session_id=session)
