"""
A worker of a fleet: takes jobs from the database and runs them with the hooks of its own machine.

procrastinate hands out the jobs, its heartbeats tell which workers live; a lock of the database, which the hook's
process holds too, keeps a job from being run twice at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
from procrastinate import App, BaseRetryStrategy, RetryDecision
from procrastinate.connector import BaseConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job as Task

from hookline.fleet.database import Database
from hookline.fleet.errors import UnreachableError
from hookline.fleet.hands import Hands, find_age_reason
from hookline.fleet.options import WorkerOptions
from hookline.fleet.patience import PatientJobManager, is_away, is_forgotten
from hookline.fleet.store import FleetStore
from hookline.fleet.watch import Watch
from hookline.hook import Settings
from hookline.job import Job, utc_now
from hookline.outbox.codec import UnreadableJobError, decode_job
from hookline.outbox.retry import give_up_reason, is_given_up
from hookline.outbox.store import Claim
from hookline.outbox.worker import JobWorker
from hookline.runlog import write_time

logger = logging.getLogger("hookline")

TASK_NAME = "hookline"
_POLL_S = 2.0
_EMPTY_S = 0.2
# Workers that are silent are forgotten as their jobs are taken over; the engine would do so in the worst moment.
_FORGOTTEN_S = 30 * 24 * 3600.0
_HELD_S = 2
_UNTRUSTED_S = 30
_AFTER_MISTAKE_S = 10
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 15.0


class DeadLetterError(Exception):
    """A job that will not be started again by itself."""


class GivenBackError(Exception):
    """A job that waits; `wait_s` says how long at least, in seconds."""

    def __init__(self, reason: str, *, wait_s: int) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class FleetWorker:
    """Runs the jobs of a fleet until it is stopped."""

    def __init__(
        self,
        hands: Hands,
        database: Database,
        make_connector: Callable[[], BaseConnector],
        settings: Settings,
        options: WorkerOptions,
    ) -> None:
        self._hands = hands
        self._database = database
        self._make_connector = make_connector
        self._options = options
        self._settings = settings
        self._running: set[asyncio.Task[Any]] = set()
        self._store = _PatientStore(database)
        self._jobs = JobWorker(self._store, hands.hooks, (), settings, attempt=hands.attempt)

    def __str__(self) -> str:
        names = ", ".join(sorted({hook.id for hook in self._hands.hooks}))
        queues = f"the queues {', '.join(self._options.queues)}" if self._options.queues else "all queues"
        return f"a worker for the hooks {names} and {queues}, {self._options.concurrency} at once"

    async def run(self, stop: asyncio.Event) -> None:
        """
        Work until `stop` is set; then give what is running the grace, and the rest back.

        A database that goes away is waited for.
        """
        asyncio.get_running_loop().set_exception_handler(_note_lost)
        delay_s = _FIRST_PAUSE_S
        stopping = asyncio.ensure_future(stop.wait())
        try:
            while not stop.is_set():
                started = time.monotonic()
                try:
                    await asyncio.to_thread(self._store.check)
                    if await self._work(stopping):
                        return
                except (UnreachableError, ConnectorException, psycopg.Error) as error:
                    if is_forgotten(error):
                        logger.warning("this worker was taken for dead, since it was not heard of; it begins anew")
                    elif is_away(error):
                        logger.warning("the fleet's database is away: %s", _describe(error))
                    else:
                        raise
                if time.monotonic() - started > _LONGEST_PAUSE_S:
                    delay_s = _FIRST_PAUSE_S
                await asyncio.wait([stopping], timeout=delay_s * random.uniform(0.5, 1))
                delay_s = min(2 * delay_s, _LONGEST_PAUSE_S)
        finally:
            stopping.cancel()
            self._store.is_closing.set()
            self._jobs.close()

    async def _work(self, stopping: asyncio.Future[Any]) -> bool:
        """Work until stopped, or until nothing is left if that is wanted; False when the engine gave up by itself."""
        connector = self._make_connector()
        app = App(connector=connector)
        app.job_manager = talks = PatientJobManager(connector)
        app.task(name=TASK_NAME, retry=_GiveBack())(self._deliver)
        options = self._options
        served: dict[str, Any] = {"queues": list(options.queues)} if options.queues else {}
        async with app.open_async():
            taking_over = asyncio.ensure_future(self._take_over(talks))
            working = asyncio.ensure_future(
                app.run_worker_async(
                    **served,
                    concurrency=options.concurrency,
                    fetch_job_polling_interval=_POLL_S,
                    install_signal_handlers=False,
                    update_heartbeat_interval=options.silent_s / 3,
                    stalled_worker_timeout=_FORGOTTEN_S,
                )
            )
            emptied = asyncio.ensure_future(self._wait_until_empty())
            try:
                await asyncio.wait([working, stopping, emptied], return_when=asyncio.FIRST_COMPLETED)
                is_ended = not working.done()
                if is_ended:
                    await self._wind_up(working, talks)
                else:
                    await working
                return is_ended
            finally:
                taking_over.cancel()
                emptied.cancel()

    async def _wind_up(self, working: asyncio.Future[Any], talks: PatientJobManager) -> None:
        """
        Let the engine take no more jobs, give those that run the grace, and then give them back.

        If the database is away they cannot be given back; they are taken over later, as those of a dead worker.
        """
        working.cancel()  # which it takes as a wish
        await asyncio.wait([working], timeout=self._options.grace_s)
        for task in self._running:
            task.cancel()
        talks.is_closing = True
        with contextlib.suppress(asyncio.CancelledError):
            await working

    async def _wait_until_empty(self) -> None:
        """Wait until no job is open in the queues; for ever if that is no reason to end."""
        if not self._options.is_until_empty:
            await asyncio.Event().wait()
        queues = list(self._options.queues) or None
        while True:
            await asyncio.sleep(_EMPTY_S)
            with contextlib.suppress(UnreachableError):
                (row,) = await asyncio.to_thread(self._database.ask, "open", queues=queues)
                if not row["is_any"]:
                    return

    async def _take_over(self, talks: PatientJobManager) -> None:
        """Give back, again and again, what dead workers held."""
        watch = Watch(silent_s=self._options.silent_s)
        while True:
            await asyncio.sleep(self._options.silent_s / 3)
            try:
                asked = time.monotonic()
                beats = await asyncio.to_thread(self._database.ask, "beats")
                dead = watch.find_dead(beats, asked, time.monotonic(), mine=talks.worker_id)
                values = {"ids": list(dead), "beats": list(dead.values())}
                rows = await asyncio.to_thread(self._database.ask, "take_over", **values)
            except UnreachableError:  # the worker notices that too
                watch.forget()
                continue
            for row in rows:
                logger.warning("the job %s was left by a worker that is gone; it is queued again", row["id"])

    async def _deliver(self, job: str) -> None:
        """Run a job, and tell the engine by an exception when it did not end well."""
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            await self._deliver_one(job)
        finally:
            self._running.discard(task)

    async def _deliver_one(self, job: str) -> None:
        try:
            given = decode_job(job.encode("ascii", "replace"))
        except UnreadableJobError as error:
            logger.warning("a job in the fleet's queue cannot be read: %s", error)
            raise DeadLetterError(f"unreadable: {error}") from error
        claim = await self._jobs.claim(given.id)
        if claim is None:
            await self._explain(given.id)
            return
        found = await asyncio.to_thread(self._hands.find_hook, claim.job)
        reason = self._find_objection(claim.job) or (found if isinstance(found, str) else None)
        if reason is not None:
            await self._jobs.fail(claim, reason)
            self._note_refused(claim.job, reason)
            raise DeadLetterError(reason)
        assert not isinstance(found, str)
        change = self._hands.find_change(found)
        if change is not None:
            self._store.release(claim)
            logger.warning("the job %s waits: %s", given.id, change)
            raise GivenBackError(change, wait_s=_UNTRUSTED_S)
        run = await self._jobs.run_claimed(found, claim)
        if run.status == "skipped":
            raise GivenBackError(run.reason or "skipped", wait_s=_UNTRUSTED_S)
        if run.status != "ok":
            raise DeadLetterError(run.status)

    async def _explain(self, job_id: str) -> None:
        """Why a job cannot be claimed: it is over, which whoever ran it could not tell the engine, or it runs."""
        job = await asyncio.to_thread(self._store.get, job_id)
        if job is not None and job.state == "failed":
            raise DeadLetterError(job.error or "failed")
        if job is not None and job.state == "pending":
            raise GivenBackError("its hook still runs, started by a worker that is gone", wait_s=_HELD_S)

    def _find_objection(self, job: Job) -> str | None:
        most = self._settings.outbox_max_retries
        return give_up_reason(job, max_starts=most) if is_given_up(job, max_starts=most) else find_age_reason(job)

    def _note_refused(self, job: Job, reason: str) -> None:
        """Write a job that was not run to the run log."""
        record = {
            "at": write_time(utc_now()),
            "run": job.id,
            "hook": job.hook_id,
            "event": job.event,
            "session": str(job.payload.get("session_id", "")),
            "status": "skipped",
            "reason": reason,
            "attempt": job.starts,
        }
        self._hands.log.append_line(json.dumps(record))


class _GiveBack(BaseRetryStrategy):
    """Which failures of a task make it wait again: everything that says nothing about the job itself."""

    def get_retry_decision(self, *, exception: BaseException, job: Task) -> RetryDecision | None:
        del job
        if isinstance(exception, DeadLetterError):
            return None
        if isinstance(exception, GivenBackError):
            return RetryDecision(retry_in={"seconds": exception.wait_s})
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision()
        if is_away(exception):
            return RetryDecision(retry_in={"seconds": _HELD_S})
        return RetryDecision(retry_in={"seconds": _AFTER_MISTAKE_S})


class _PatientStore(FleetStore):
    """A store that writes down an end however long that takes, so that a job that is over is not run again."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.is_closing = threading.Event()

    def finish(self, claim: Claim, job: Job) -> None:
        while True:
            try:
                return super().finish(claim, job)
            except UnreachableError:
                if self.is_closing.wait(_FIRST_PAUSE_S):
                    raise


def _note_lost(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What the engine could not tell the database about a job, which is looked at again; anything else is a mistake."""
    error = context.get("exception")
    if isinstance(error, ConnectorException):
        logger.info("the engine could not tell the database how a job ended: %s", _describe(error))
    else:
        loop.default_exception_handler(context)


def _describe(error: BaseException) -> str:
    return str(error.__cause__ or error).strip() or type(error).__name__
