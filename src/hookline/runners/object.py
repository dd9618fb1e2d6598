"""Running hook objects: asked on the caller's loop or on a thread, within the time of each."""

from __future__ import annotations

import functools
import inspect
import traceback
import uuid
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hookline.events import Event
from hookline.handlers.copying import copy_data
from hookline.handlers.walk import Said, call_alone
from hookline.handlers.workers import MOST_STUCK, Workers
from hookline.hook import Hook, ObjectAction
from hookline.objects.protocol import describe_raised, read_answer
from hookline.objects.records import HookPayload, ObjectEvent
from hookline.objects.shell import running_adopt
from hookline.objects.wire import make_payload, to_answer
from hookline.outcome import Failure, Outcome, Run, RunStatus
from hookline.process.child import Child
from hookline.runners.base import Payload

# An object that ends by itself at its limit is given up only if it is this much later.
_MARGIN_S = 5.0
_SHORTEST_S = 0.001


class ObjectRunner:
    """
    Asks hook objects, each by its own payload, and reads what they return.

    `adopt` sees to the end of processes that objects leave behind when their time is up or their caller went away;
    it is told the id of the run.
    """

    def __init__(self, adopt: Callable[[Child, str], None]) -> None:
        self._adopt = adopt
        self._workers = Workers()

    @property
    def stuck_count(self) -> int:
        """How many plain objects are past their time limit and still run."""
        return self._workers.stuck_count

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Ask an object; cancelling this gives it up at once."""
        assert isinstance(hook.action, ObjectAction)
        run_id = uuid.uuid4().hex if run_id is None else run_id
        told = make_payload(payload.event, hook.id)
        # What the object does to its payload reaches nobody.
        told = replace(told, data=copy_data(told.data))
        token = running_adopt.set(functools.partial(self._adopt_for, run_id))
        try:
            said = await self._ask(hook, hook.action, payload.event, told)
        finally:
            running_adopt.reset(token)
        if said is None:
            message = f"{MOST_STUCK} plain hook objects are past their time limit and stuck"
            return Run(hook=hook, id=run_id, status="failed", outcome=Failure(kind="spawn", message=message))
        return _make_run(hook, said, told.event, run_id)

    def _adopt_for(self, run_id: str, child: Child) -> None:
        self._adopt(child, run_id)

    async def _ask(self, hook: Hook, action: ObjectAction, event: Event, told: HookPayload) -> Said | None:
        limit_s = hook.execution.timeout_s + (_MARGIN_S if action.keeps_time else 0.0)

        def ask(*_: Any) -> Any:
            return action.object.run(told)

        said = await self._call(hook, ask, event, limit_s, is_async=action.is_async)
        if said is None or not inspect.isawaitable(said.returned):
            return said
        awaitable = said.returned
        left_s = max(limit_s - said.took_s, _SHORTEST_S)
        rest = await self._call(hook, lambda *_: awaitable, event, left_s, is_async=True)
        return None if rest is None else replace(rest, took_s=said.took_s + rest.took_s)

    async def _call(
        self, hook: Hook, function: Callable[..., Any], event: Event, limit_s: float, *, is_async: bool
    ) -> Said | None:
        if limit_s != hook.execution.timeout_s:
            hook = replace(hook, execution=replace(hook.execution, timeout_s=limit_s))
        return await call_alone(hook, function, event, self._workers, is_async=is_async)


def _make_run(hook: Hook, said: Said, event: ObjectEvent, run_id: str) -> Run:
    outcome = _read(hook, said, event)
    status: RunStatus = "ok"
    if isinstance(outcome, Failure):
        status = "timeout" if outcome.kind == "timeout" else "failed"
    return Run(
        hook=hook,
        id=run_id,
        status=status,
        outcome=outcome,
        duration_ms=round(said.took_s * 1000, 3),
        stderr="" if said.error is None else "".join(traceback.format_exception(said.error)),
    )


def _read(hook: Hook, said: Said, event: ObjectEvent) -> Outcome:
    if said.is_late:
        return Failure(kind="timeout", message=f"hook timed out after {hook.execution.timeout_s * 1000:g} ms")
    return to_answer(read_answer(said.returned) if said.error is None else describe_raised(said.error), event)
