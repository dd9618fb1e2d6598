"""Running handlers: hooks that are Python functions in this process."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hookline.dialects.xcsh import decode_result
from hookline.events import Event
from hookline.handlers.walk import Said, Walk
from hookline.handlers.workers import MOST_STUCK, Workers
from hookline.hook import HandlerAction, Hook
from hookline.match import compile_match
from hookline.outcome import Failure, Outcome, QuietRuns, Run, RunStatus
from hookline.registry import Entry, Stretch, make_stretch
from hookline.runners.base import Payload, Progress

MakeContext = Callable[[Event, bool], Any]
"""Makes the context that handlers get beside an event; the flag tells whether they are async."""


class HandlerRunner:
    """Calls handlers, on this loop or on threads of their own, and reads what they return."""

    def __init__(self, make_context: MakeContext) -> None:
        self._make_context = make_context
        self._workers = Workers()

    @property
    def stuck_count(self) -> int:
        """How many plain handlers are past their time limit and still run."""
        return self._workers.stuck_count

    def close(self) -> None:
        """End the threads of plain handlers, each when its handler has returned."""
        self._workers.close()

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Call one handler."""
        stretch = make_stretch([Entry(hook=hook, match=compile_match(hook.match))])
        progress = await self.walk(replace(stretch, is_conditional=False), 0, payload.event, _hear_nothing)
        runs = [progress.run] if progress.run is not None else progress.quiet.make()
        return runs[0] if run_id is None else replace(runs[0], id=run_id)

    async def walk(
        self, stretch: Stretch, first: int, event: Event, note_cancelled: Callable[[Hook], None]
    ) -> Progress:
        """
        Call the handlers of a stretch from a position on, until one has something to say.

        `note_cancelled` hears which handler was running when this is cancelled.
        """
        walk = Walk(stretch, first, event, self._make_context(event, stretch.is_async))
        try:
            has_gone = await walk.go(self._workers)
        except asyncio.CancelledError:
            note_cancelled(stretch.entries[walk.position].hook)
            raise
        if not has_gone:
            failure = Failure(kind="spawn", message=f"{MOST_STUCK} plain handlers are past their time limit and stuck")
            run = Run(hook=stretch.entries[first].hook, status="failed", outcome=failure)
            return Progress(quiet=QuietRuns(runs=()), run=run, position=first + 1)
        quiet = QuietRuns(runs=tuple((stretch.entries[position].hook, took_s) for position, took_s in walk.quiet))
        if walk.said is None:
            return Progress(quiet=quiet, run=None, position=len(stretch.entries))
        hook = stretch.entries[walk.said.position].hook
        run = await self._finish(hook, walk.said, event)
        return Progress(quiet=quiet, run=run, position=walk.said.position + 1)

    async def _finish(self, hook: Hook, said: Said, event: Event) -> Run:
        """The run of a handler that said something; what a plain one returned may still have to be awaited."""
        if not inspect.isawaitable(said.returned):
            return _make_run(hook, said, event)
        awaitable, took_s = said.returned, said.took_s
        action = HandlerAction(function=lambda event, context: awaitable, origin=_origin_of(hook), is_async=True)
        execution = replace(hook.execution, timeout_s=max(hook.execution.timeout_s - took_s, 0.001))
        run = await self.run(replace(hook, action=action, execution=execution), Payload(event))
        return replace(run, hook=hook)


def _hear_nothing(hook: Hook) -> None:
    del hook


def _make_run(hook: Hook, said: Said, event: Event) -> Run:
    outcome = _read(hook, said, event)
    status: RunStatus = "ok"
    if isinstance(outcome, Failure):
        status = "timeout" if said.is_late else "failed"
    stderr = "".join(traceback.format_exception(said.error)) if said.error is not None else ""
    duration_ms = round(said.took_s * 1000, 3)
    return Run(hook=hook, status=status, outcome=outcome, duration_ms=duration_ms, stderr=stderr)


def _read(hook: Hook, said: Said, event: Event) -> Outcome:
    if said.is_late:
        message = f"no answer within {hook.execution.timeout_s:g} s from the handler of {_origin_of(hook)}"
        return Failure(kind="timeout", message=message)
    if said.error is None:
        return decode_result(said.returned, event.type)
    text = str(said.error)
    if isinstance(said.error, SystemExit):
        text = f"the handler tried to exit the interpreter ({text})"
    return Failure(kind="crash", message=text or type(said.error).__name__)


def _origin_of(hook: Hook) -> str:
    assert isinstance(hook.action, HandlerAction)
    return hook.action.origin
