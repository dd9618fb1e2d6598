"""
Running durable jobs: the fresh ones of this engine, and those that others left behind.

Every run of a job goes through its claim, so that no two processes run it at once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import HooklineError
from hookline.hook import Hook, Settings
from hookline.job import Job, JobSource, JobState, utc_now
from hookline.outbox.retry import give_up_reason, is_given_up, seconds_until_due
from hookline.outbox.store import Claim, OutboxStore
from hookline.outcome import Failure, Run

T = TypeVar("T")
logger = logging.getLogger("hookline")

Attempt = Callable[[Hook, Claim], Awaitable[Run]]
"""Runs a claimed job's hook once."""

RunJob = Callable[[Hook, Job], Awaitable[object]]
"""Runs a pending job of a hook."""

_SOONEST_LOOK_S = 0.2
_LATEST_LOOK_S = 5.0
_AFTER_MISTAKE_S = 30.0
_SKIPPED_ELSEWHERE = "another process runs this job"


class HookKey(Struct, frozen=True, kw_only=True):
    """What finds a job's hook again: the file that defines it, by its real path, and its id there."""

    file: str
    hook_id: str


class _Known(Struct, frozen=True, kw_only=True):
    """The durable hooks of an engine, all its hooks, and the files they are from."""

    hooks: dict[HookKey, Hook]
    files: frozenset[str]
    all: frozenset[HookKey]


class JobWorker:
    """
    Runs claimed jobs and writes down how they end.

    `attempt` runs a hook, and `refuse` says why one must not run. `hooks` are the
    durable hooks of this engine, `files` all files that it has loaded.
    The store is only touched on a thread of its own.
    """

    def __init__(
        self,
        store: OutboxStore,
        hooks: Iterable[Hook],
        files: Iterable[Path],
        settings: Settings,
        *,
        attempt: Attempt,
        refuse: Callable[[Hook], str | None] | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._attempt = attempt
        self._refuse = refuse or (lambda _: None)
        self.use(hooks, files)
        self._threads = concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="hookline-outbox")

    def use(self, hooks: Iterable[Hook], files: Iterable[Path]) -> None:
        """Take these hooks and files for those of this engine from now on."""
        keyed = list(_key_all(hooks))
        # In one step, since a recovery under way looks at it from another thread.
        self._known = _Known(
            hooks={key: hook for key, hook in keyed if hook.execution.is_durable and hook.enabled},
            files=frozenset(str(path.resolve()) for path in files),
            all=frozenset(key for key, _ in keyed),
        )

    async def put(self, job: Job) -> None:
        """Store a job; returns when it is safe. Raises `hookline.outbox.store.OutboxError`."""
        await self._off_loop(self._store.put, job)

    async def run(self, hook: Hook, job_id: str) -> Run:
        """Run a stored job once, if nobody else does."""
        reason = self._refuse(hook)
        if reason is not None:  # the job waits until the hook may run again
            return Run(hook=hook, id=job_id, status="skipped", reason=reason, notes=(f"skipped: {reason}",))
        claim = await self.claim(job_id)
        if claim is None:
            return Run(hook=hook, id=job_id, status="skipped", reason=_SKIPPED_ELSEWHERE)
        return await self.run_claimed(hook, claim)

    async def recover(self, run: RunJob) -> float | None:
        """
        Start what is due of the pending jobs, by `run`; returns the seconds until there is something to look at again.

        Jobs of a fleet and of hooks that are not loaded here are left alone; a job whose hook is gone from its own
        file, and one that was started too often, fails; one that is held elsewhere is looked at again. At most
        `max_parallel_hooks` run at a time, whatever their number. What goes wrong with one job stops no other.
        """
        slots = asyncio.Semaphore(self._settings.max_parallel_hooks)
        running: set[asyncio.Task[None]] = set()
        jobs = self._store.list("pending")
        waits: list[float] = []
        try:
            while (job := await self._off_loop(_next_or_none, jobs)) is not None:
                await slots.acquire()
                task = asyncio.ensure_future(self._recover_one(job, run, waits))
                running.add(task)
                task.add_done_callback(running.discard)
                task.add_done_callback(lambda _: slots.release())
            if running:
                await asyncio.wait(set(running))
        finally:
            for task in running:
                task.cancel()
        return min(waits, default=None)

    async def _recover_one(self, job: Job, run: RunJob, waits: list[float]) -> None:
        try:
            wait_s = await self._look_at(job)
            if wait_s is None:
                return
            if wait_s > 0:
                waits.append(wait_s)
                return
            if not await self._is_free(job.id):
                waits.append(self._look_again_s)
                return
            hook = self._known.hooks.get(_key_of_job(job))
            if hook is not None:
                await run(hook, job)
        except Exception as error:  # boundary: one job must not keep the others from being delivered
            logger.warning("the durable run %s of hook %r was left pending: %s", job.id, job.hook_id, error)
            waits.append(_AFTER_MISTAKE_S)

    async def _is_free(self, job_id: str) -> bool:
        """Whether nobody else holds a pending job now."""
        claim = await self.claim(job_id)
        if claim is None:
            return await self._off_loop(self._is_over, job_id)
        self._store.release(claim)
        return True

    def _is_over(self, job_id: str) -> bool:
        job = self._store.get(job_id)
        return job is None or job.state != "pending"

    @property
    def _look_again_s(self) -> float:
        """When to look again at a job that somebody else holds, in seconds."""
        return min(max(self._settings.outbox_retry_age_s, _SOONEST_LOOK_S), _LATEST_LOOK_S)

    async def tidy(self) -> None:
        """Remove jobs that ended long ago, and what crashed writers left."""
        for state, days in self._keep_days().items():
            await self._off_loop(self._store.purge, state, utc_now() - timedelta(days=days))

    def close(self) -> None:
        """End the threads; what they are at comes to its end."""
        self._threads.shutdown(wait=True)

    def _keep_days(self) -> Mapping[JobState, float]:
        return {"done": self._settings.outbox_keep_done_days, "failed": self._settings.outbox_keep_failed_days}

    async def _look_at(self, job: Job) -> float | None:
        """How long to wait with a pending job in seconds, 0 to run it now, None when it is not for us or is over."""
        if job.route is not None:  # a forwarder sees to it
            return None
        key, known = _key_of_job(job), self._known
        if key not in known.hooks:
            is_gone = key.file in known.files and key not in known.all
            if is_gone:
                await self._give_up(job, f"the hook {job.hook_id!r} is no more in {job.source.file}")
            return None
        if self._refuse(known.hooks[key]) is not None:
            return None
        most = self._settings.outbox_max_retries
        wait_s = seconds_until_due(job, utc_now(), retry_age_s=self._settings.outbox_retry_age_s)
        if wait_s == 0 and is_given_up(job, max_starts=most):
            await self._give_up(job, give_up_reason(job, max_starts=most))
            return None
        return wait_s

    async def _give_up(self, job: Job, reason: str) -> None:
        claim = await self.claim(job.id)
        if claim is not None:
            await self.fail(claim, reason)

    async def fail(self, claim: Claim, reason: str) -> None:
        """Give a claimed job up for good."""
        logger.warning("a durable run of hook %r failed for good: %s", claim.job.hook_id, reason)
        await self._finish(claim, claim.job.failed(reason, utc_now()))

    async def run_claimed(self, hook: Hook, claim: Claim) -> Run:
        """Run a claimed job once, and write down how it ends."""
        try:
            claim = await self._off_loop(self._store.begin, claim, utc_now())
            run = await self._attempt(hook, claim)
        except HooklineError as error:  # a job that cannot be read as what it claims to be will never be
            await self.fail(claim, str(error))
            return Run(hook=hook, id=claim.job.id, status="failed", outcome=Failure(kind="crash", message=str(error)))
        except BaseException:
            self._store.release(claim)
            raise
        if run.status in ("detached", "skipped"):
            # A detached hook's process holds the claim on, and finishes the job; a skipped one waits.
            self._store.release(claim)
            return run
        await self._finish(claim, _end_job(claim.job, run))
        return run

    async def claim(self, job_id: str) -> Claim | None:
        """Claim a job; a claim that comes when nobody waits for it any more is given back."""
        claiming = asyncio.ensure_future(self._off_loop(self._store.claim, job_id))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            claiming.add_done_callback(self._release_late)
            raise

    def _release_late(self, claiming: asyncio.Future[Claim | None]) -> None:
        if not claiming.cancelled() and claiming.exception() is None and (claim := claiming.result()) is not None:
            self._store.release(claim)

    async def _finish(self, claim: Claim, job: Job) -> None:
        """Write the end of a job, whoever is cancelled meanwhile; if that fails it stays pending, and is free."""
        finishing = asyncio.ensure_future(self._off_loop(self._store.finish, claim, job))
        try:
            await asyncio.shield(finishing)
        except OSError:
            self._store.release(claim)
            raise

    async def _off_loop(self, function: Callable[..., T], *arguments: Any) -> T:
        try:
            future = asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)
        except RuntimeError:  # the interpreter is about to exit and takes no more work for threads
            return function(*arguments)
        return await future


def _key_all(hooks: Iterable[Hook]) -> Iterator[tuple[HookKey, Hook]]:
    """Hooks with what finds each again; many are of one file, whose real path takes a while to find."""
    find_real = functools.cache(lambda path: str(path.resolve()))
    for hook in hooks:
        yield HookKey(file=find_real(hook.source.place.path), hook_id=hook.id), hook


def source_of(hook: Hook) -> JobSource:
    """What a job keeps of where its hook is defined."""
    source = hook.source
    return JobSource(layer=source.layer, dialect=source.dialect, file=str(source.place.path.resolve()))


def _key_of_job(job: Job) -> HookKey:
    return HookKey(file=job.source.file, hook_id=job.hook_id)


def _end_job(job: Job, run: Run) -> Job:
    """The job after a run that came to its end."""
    is_done = run.status == "ok"
    error = run.outcome.message if isinstance(run.outcome, Failure) else None if is_done else run.reason or run.status
    return replace(
        job,
        state="done" if is_done else "failed",
        finished_at=utc_now(),
        exit_code=run.exit_code,
        signal=run.signal,
        error=error,
        stdout=run.stdout,
        stderr=run.stderr,
    )


def _next_or_none(jobs: Iterator[Job]) -> Job | None:
    return next(jobs, None)
