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
from hookline.handlers.copying import copy_data
from hookline.handlers.walk import Said, Walk
from hookline.handlers.workers import MOST_STUCK, Workers
from hookline.hook import HandlerAction, Hook
from hookline.match import compile_match
from hookline.outcome import Answer, Failure, Outcome, QuietRuns, Run, RunStatus
from hookline.registry import Entry, Stretch, make_stretch
from hookline.runners.base import Payload, Progress

MakeContext = Callable[[Event, bool], Any]
"""Makes the context that handlers get beside an event; the flag tells whether they are async."""

_LONGEST_TEXT = 4000
_LONGEST_TRACE = 20_000


class HandlerRunner:
    """Calls handlers, on this loop or on threads of their own, and reads what they return."""

    def __init__(self, make_context: MakeContext) -> None:
        self._make_context = make_context
        self.workers = Workers()

    @property
    def stuck_count(self) -> int:
        """How many plain handlers are past their time limit and still run."""
        return self.workers.stuck_count

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
            has_gone = await walk.go(self.workers)
        except asyncio.CancelledError:
            note_cancelled(stretch.entries[walk.position].hook)
            raise
        if not has_gone:
            return _refuse(stretch, first, event)
        quiet = QuietRuns(hooks=stretch.hooks, took=tuple(walk.quiet))
        if walk.said is None:
            return Progress(quiet=quiet, run=None, position=len(stretch.entries))
        hook = stretch.entries[walk.said.position].hook
        try:
            run = await self._finish(hook, walk.said, event)
        except asyncio.CancelledError:
            note_cancelled(hook)
            raise
        return Progress(quiet=quiet, run=run, position=walk.said.position + 1)

    async def _finish(self, hook: Hook, said: Said, event: Event) -> Run:
        """The run of a handler that said something; what a plain one returned may still have to be awaited."""
        if not inspect.isawaitable(said.returned):
            return self._make_run(hook, said, event)
        awaitable, took_s = said.returned, said.took_s
        action = HandlerAction(function=lambda event, context: awaitable, origin=_origin_of(hook), is_async=True)
        execution = replace(hook.execution, timeout_s=max(hook.execution.timeout_s - took_s, 0.001))
        run = await self.run(replace(hook, action=action, execution=execution), Payload(event))
        outcome = Failure(kind="timeout", message=_describe_lateness(hook)) if run.status == "timeout" else run.outcome
        duration_ms = round((run.duration_ms or 0) + took_s * 1000, 3)
        return replace(run, hook=hook, outcome=outcome, duration_ms=duration_ms)

    def _make_run(self, hook: Hook, said: Said, event: Event) -> Run:
        outcome = self._read(hook, said, event)
        status: RunStatus = "ok"
        if isinstance(outcome, Failure):
            status = "timeout" if said.is_late else "failed"
        stderr = "".join(traceback.format_exception(said.error)) if said.error is not None else ""
        duration_ms = round(said.took_s * 1000, 3)
        return Run(hook=hook, status=status, outcome=outcome, duration_ms=duration_ms, stderr=stderr[-_LONGEST_TRACE:])

    def _read(self, hook: Hook, said: Said, event: Event) -> Outcome:
        if said.is_late:
            message = _describe_lateness(hook)
            if (stuck := self.stuck_count) and not _is_async(hook):
                message += f"; plain handlers that are past their limit and still run: {stuck}, at most {MOST_STUCK}"
            return Failure(kind="timeout", message=message)
        if said.error is not None:
            return Failure(kind="crash", message=_describe(said.error))
        try:
            return _keep_values(decode_result(said.returned, event.type))
        except Exception as error:  # boundary: what it returned is an object of the handler's own making
            return Failure(kind="reply", message=f"its result cannot be read: {_describe(error)}")

    def close(self) -> None:
        """End the threads that are kept for plain handlers."""
        self.workers.close()


def _refuse(stretch: Stretch, first: int, event: Event) -> Progress:
    """What becomes of a walk that no thread can be had for: the first handler that is meant has failed."""
    nobody = QuietRuns()
    for position, entry in enumerate(stretch.entries[first:], first):
        if entry.match.test(event):
            message = f"it was not called: {MOST_STUCK} plain handlers are past their time limit and still running"
            run = Run(hook=entry.hook, status="failed", outcome=Failure(kind="spawn", message=message))
            return Progress(quiet=nobody, run=run, position=position + 1)
    return Progress(quiet=nobody, run=None, position=len(stretch.entries))


def _keep_values(outcome: Outcome) -> Outcome:
    """The outcome with edits that stay as they are, whatever the handler does later to what it has returned."""
    if not isinstance(outcome, Answer) or not outcome.edits:
        return outcome
    return replace(outcome, edits=tuple(replace(edit, value=copy_data(edit.value)) for edit in outcome.edits))


def _describe_lateness(hook: Hook) -> str:
    return f"no answer within {hook.execution.timeout_s:g} s from the handler of {_origin_of(hook)}"


def _hear_nothing(hook: Hook) -> None:
    del hook


def _describe(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # boundary: the text is made by the handler's own class
        text = ""
    if isinstance(error, SystemExit):
        text = f"the handler tried to exit the interpreter ({text})"
    if isinstance(error, KeyError) and text:  # the text is the bare key
        text = f"KeyError: {text}"
    text = text or type(error).__name__
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."


def _origin_of(hook: Hook) -> str:
    assert isinstance(hook.action, HandlerAction)
    return hook.action.origin


def _is_async(hook: Hook) -> bool:
    return isinstance(hook.action, HandlerAction) and hook.action.is_async
