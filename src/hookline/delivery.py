"""
The hooks nobody waits for, by the way they are delivered: best effort, durable, detached, or both.

This puts the outbox, the runners and the background thread together; none of them knows the others.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from hookline.background import Background, ClosedError
from hookline.definition import Definition, UnreadableDefinitionError
from hookline.dialects.native import NATIVE
from hookline.dialects.table import get_dialect
from hookline.dialects.wire import UnencodableError, to_json
from hookline.errors import HooklineError
from hookline.events import Event
from hookline.hook import Hook, Settings
from hookline.job import Job, Route, utc_now
from hookline.outbox.files import read_boot_id, read_host
from hookline.outbox.store import Claim, OutboxError, OutboxStore
from hookline.outbox.worker import JobWorker, source_of
from hookline.outcome import Failure, Run
from hookline.payload import parse_payload
from hookline.runlog import make_record
from hookline.runners.base import Delivery, Payload, Runner
from hookline.runners.checked import Refuse, stop_run
from hookline.runners.detached import DetachedLauncher

T = TypeVar("T")
Wait = Callable[[concurrent.futures.Future[T]], Awaitable[T]]
logger = logging.getLogger("hookline")

LEFT_TO_FLEET = "left to the fleet"
_SOONEST_RESCAN_S = 0.1


class Deliveries:
    """Starts hooks that nobody waits for, and recovers durable runs that others left behind."""

    def __init__(
        self,
        *,
        background: Background,
        runner: Runner,
        launcher: DetachedLauncher | None,
        refuse: Refuse,
        store: OutboxStore,
        hooks: Sequence[Hook],
        files: Sequence[Path],
        settings: Settings,
    ) -> None:
        self._background = background
        self._runner = runner
        self._launcher = launcher
        self._refuse = refuse
        self._settings = settings
        self._worker = JobWorker(store, hooks, files, settings, attempt=self._attempt, refuse=refuse)
        self._durable_runner = _DurableRunner(self._worker)
        self._needs_care = _need_care(hooks)
        self._definitions = _define(hooks)
        self._is_recovering = False
        self._looks_again = False

    def use(self, hooks: Sequence[Hook], files: Sequence[Path]) -> None:
        """Take these hooks and files for those of this engine from now on."""
        self._worker.use(hooks, files)
        self._needs_care = _need_care(hooks)
        self._definitions = _define(hooks)
        self.recover_soon()

    async def start(self, hook: Hook, payload: Payload, wait: Wait[Any]) -> Run:
        """
        Start a hook; a durable run is stored before this returns.

        `wait` waits for something on the background thread. What cannot be stored is run all the same, once,
        and says that it is not durable.
        """
        if hook.execution.where == "fleet":
            return await self._leave_to_fleet(hook, payload, wait)
        if hook.execution.is_durable:
            return await self._start_durable(hook, payload, wait)
        if hook.execution.is_detached and self._launcher is not None:
            return await self._launch(self._launcher, hook, payload)
        return self._background.start(hook, payload, self._runner)

    async def _start_durable(self, hook: Hook, payload: Payload, wait: Wait[Any]) -> Run:
        run = Run(hook=hook, status="queued")
        try:
            job = _make_job(hook, payload, run.id)
            await wait(self._background.submit(self._worker.put(job)))
        except (OutboxError, UnencodableError, ClosedError) as error:
            run = replace(run, notes=(f"not durable: {error}",))
            return self._background.start(hook, payload, self._runner, run=run)
        # What every attempt reads is what was stored.
        stored = Payload(payload.event, stored=job.payload)
        started = self._background.start(hook, stored, self._durable_runner, run=run)
        if started.status == "skipped":
            self.recover_soon()
            return replace(run, reason="waits in the outbox")
        return started

    async def _leave_to_fleet(self, hook: Hook, payload: Payload, wait: Wait[Any]) -> Run:
        """Store a run that others are to do; what cannot be stored fails, for it must not run here."""
        reason = self._refuse(hook)
        if reason is not None:
            return stop_run(hook, reason)
        run = Run(hook=hook, status="queued", reason=LEFT_TO_FLEET)
        try:
            definition = self._definitions.get(id(hook)) or Definition(hook)
            route = _make_route(hook, payload.event, definition.digest())
            job = replace(_make_job(hook, payload, run.id), route=route)
            await wait(self._background.submit(self._worker.put(job)))
        except (OutboxError, UnencodableError, UnreadableDefinitionError, ClosedError) as error:
            failure = Failure(kind="spawn", message=f"cannot be left to the fleet: {error}")
            return replace(run, status="failed", reason=None, outcome=failure)
        return run

    async def _launch(
        self, launcher: DetachedLauncher, hook: Hook, payload: Payload, *, run_id: str | None = None
    ) -> Run:
        reason = self._refuse(hook)
        if reason is not None:
            return stop_run(hook, reason, run_id=run_id)
        attempt = None if payload.delivery is None else payload.delivery.attempt
        run = Run(hook=hook, status="detached", attempt=attempt)
        policy = self._settings.log_payloads
        record = {**make_record(run, payload.event, payloads=policy), "payloads": policy}
        record = json.loads(json.dumps(record, default=repr))
        return await launcher.launch(hook, payload, record=record, run_id=run_id or run.id)

    async def _attempt(self, hook: Hook, claim: Claim) -> Run:
        """Run a claimed job's hook once."""
        job = claim.job
        event, _ = parse_payload(job.event, job.payload)
        delivery = Delivery(job_id=job.id, attempt=job.starts, inheritable=claim.inheritable)
        payload = Payload(event, delivery=delivery, stored=job.payload)
        if hook.execution.is_detached and self._launcher is not None:
            run = await self._launch(self._launcher, hook, payload, run_id=job.id)
        else:
            run = await self._runner.run(hook, payload, run_id=job.id)
        return replace(run, attempt=job.starts)

    def recover_soon(self) -> None:
        """Start what others left behind, on the background thread, if there is anything durable or detached here."""
        self._looks_again = True
        if not self._needs_care or self._is_recovering:
            return
        self._is_recovering = True
        try:
            self._background.submit_loose(self._recover(), gets_grace=False)
        except ClosedError:
            self._is_recovering = False

    async def _recover(self) -> None:
        """Recover what is due, and come back for what is not due yet, as long as there is some."""
        try:
            if self._launcher is not None:
                self._launcher.tidy(keep_days=self._settings.log_keep_days)
            await self._worker.tidy()
            wait_s: float | None = None
            while self._looks_again or wait_s is not None:
                await asyncio.sleep(0 if wait_s is None else max(wait_s, _SOONEST_RESCAN_S))
                self._looks_again = False
                wait_s = await self._worker.recover(self._run_recovered)
        except Exception as error:  # boundary: a store that cannot be read must not fail in silence
            logger.warning("the outbox cannot be recovered: %s", error)
        finally:
            self._is_recovering = False

    async def _run_recovered(self, hook: Hook, job: Job) -> None:
        if self._background.has_flight(job.id):
            return
        claim = await self._worker.claim(job.id)
        if claim is None:
            return
        try:
            event, _ = parse_payload(job.event, job.payload)
        except HooklineError as error:
            await self._worker.fail(claim, f"its payload cannot be read: {error}")
            return
        run = Run(hook=hook, id=job.id, status="queued")
        await self._background.fly(Payload(event, stored=job.payload), _ClaimedRunner(self._worker, claim), run)

    def close(self) -> None:
        """End the threads of the outbox, and let go of detached hooks."""
        self._worker.close()
        if self._launcher is not None:
            self._launcher.close()


def _need_care(hooks: Sequence[Hook]) -> bool:
    return any(hook.enabled and (hook.execution.is_durable or hook.execution.is_detached) for hook in hooks)


def _define(hooks: Sequence[Hook]) -> dict[int, Definition]:
    return {id(hook): Definition(hook) for hook in hooks if hook.execution.where == "fleet"}


class _DurableRunner:
    """Runs a stored job by its id, which is the run's."""

    def __init__(self, worker: JobWorker) -> None:
        self._worker = worker

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        del payload
        assert run_id is not None
        return await self._worker.run(hook, run_id)


class _ClaimedRunner:
    """Runs a job that is claimed already."""

    def __init__(self, worker: JobWorker, claim: Claim) -> None:
        self._worker = worker
        self._claim = claim

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        del payload, run_id
        return await self._worker.run_claimed(hook, self._claim)


def _make_route(hook: Hook, event: Event, digest: str) -> Route:
    """How the job of a fleet's hook travels."""
    execution = hook.execution
    return Route(
        digest=digest,
        queue=execution.queue,
        priority=execution.priority,
        lock=event.session_id if execution.order == "session" else "",
        max_age_s=execution.max_age_s,
    )


def _make_job(hook: Hook, payload: Payload, job_id: str) -> Job:
    """The job of a durable run; raises `UnencodableError` for a payload that cannot be stored."""
    dialect = get_dialect(hook.source.dialect)
    data = payload.to_data(dialect, is_cwd_missing=False)
    if dialect is NATIVE:
        data = {**data, "job_id": job_id}
    return Job(
        id=job_id,
        hook_id=hook.id,
        event=payload.event.name,
        payload=json.loads(to_json(data)),
        source=source_of(hook),
        created_at=utc_now(),
        host=read_host(),
        boot_id=read_boot_id(),
    )
