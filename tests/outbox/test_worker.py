"""Running durable jobs, over a real outbox; what stands for a hook here is a function."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_hook
from hookline.hook import Hook, Settings
from hookline.job import Job, JobState, utc_now
from hookline.outbox.files import FileOutbox
from hookline.outbox.store import Claim, OutboxError, OutboxStore
from hookline.outbox.worker import JobWorker, source_of
from hookline.outcome import Failure, Run, RunStatus
from hookline.problem import Place
from jobs import HOUR_S, make_job
from waiting import count_descriptors, wait_until

_AGE_S = 60.0


class Desk:
    """An outbox, a hooks file with one durable hook, and workers over them that note what they run."""

    def __init__(self, root: Path) -> None:
        self.file = root / "hooks.yaml"
        self.file.touch()
        self.store = FileOutbox(root / "outbox")
        self.hook = self.make_hook("job")
        self.ran: list[tuple[str, int]] = []
        self.running = 0
        self.most_running = 0
        self.status: RunStatus = "ok"
        self.go = asyncio.Event()
        self.go.set()

    def make_hook(self, hook_id: str, *, file: Path | None = None, is_durable: bool = True, **options: Any) -> Hook:
        hook = make_hook(hook_id, event="after_turn", mode="async", is_durable=is_durable, **options)
        return replace(hook, source=replace(hook.source, place=Place(path=file or self.file, line=1, column=1)))

    def put(self, **fields: Any) -> Job:
        """A job of the hook, an hour old unless told otherwise."""
        job = make_job(**{"file": self.file.resolve(), "age_s": HOUR_S, **fields})
        self.store.put(job)
        return job

    @asynccontextmanager
    async def open(
        self, *hooks: Hook, store: OutboxStore | None = None, files: list[Path] | None = None, **settings: Any
    ) -> AsyncIterator[JobWorker]:
        worker = JobWorker(
            store or self.store,
            hooks or (self.hook,),
            [self.file] if files is None else files,
            Settings(**{"outbox_retry_age_s": _AGE_S, **settings}),
            attempt=self.attempt,
        )
        try:
            yield worker
        finally:
            await asyncio.to_thread(worker.close)

    async def recover(self, *hooks: Hook, **options: Any) -> float | None:
        async with self.open(*hooks, **options) as worker:

            async def run(hook: Hook, job: Job) -> None:
                with contextlib.suppress(OSError):  # as the engine's thread takes note of any error
                    await worker.run(hook, job.id)

            return await worker.recover(run)

    async def attempt(self, hook: Hook, claim: Claim) -> Run:
        self.ran.append((claim.job.id, claim.job.starts))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await self.go.wait()
            await asyncio.sleep(0)
        finally:
            self.running -= 1
        return Run(hook=hook, id=claim.job.id, status=self.status, stdout="out", exit_code=0)

    def get(self, job: Job) -> Job:
        found = self.store.get(job.id)
        assert found is not None
        return found


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


class Wrapped:
    """A store that notes on which threads it is used, and fails or waits where it is told to."""

    def __init__(self, store: FileOutbox, **before: Callable[[], object]) -> None:
        self._store = store
        self._before = before
        self.threads: set[threading.Thread] = set()

    def _call(self, name: str, *arguments: Any) -> Any:
        self.threads.add(threading.current_thread())
        self._before.get(name, lambda: None)()
        return getattr(self._store, name)(*arguments)

    def put(self, job: Job) -> None:
        self._call("put", job)

    def claim(self, job_id: str) -> Claim | None:
        return self._call("claim", job_id)

    def begin(self, claim: Claim, now: datetime) -> Claim:
        return self._call("begin", claim, now)

    def finish(self, claim: Claim, job: Job) -> None:
        self._call("finish", claim, job)

    def release(self, claim: Claim) -> None:
        self._store.release(claim)

    def get(self, job_id: str) -> Job | None:
        return self._call("get", job_id)

    def list(self, state: JobState) -> Iterator[Job]:
        for job in self._store.list(state):
            self.threads.add(threading.current_thread())
            self._before.get("list", lambda: None)()
            yield job

    def retry(self, job_id: str) -> Job | None:
        return self._call("retry", job_id)

    def purge(self, state: JobState, before: datetime) -> int:
        return self._call("purge", state, before)

    def count(self) -> Mapping[JobState, int]:
        return self._call("count")


# What is run


async def test_a_job_that_is_old_enough_is_run(desk: Desk) -> None:
    job = desk.put()
    assert await desk.recover() is None
    assert desk.ran == [(job.id, 1)]
    assert desk.get(job).state == "done"


async def test_a_young_job_is_left_alone_until_its_age(desk: Desk) -> None:
    job = desk.put(age_s=20)
    wait_s = await desk.recover()
    assert wait_s == pytest.approx(40, abs=10)
    assert desk.get(job) == job


async def test_the_age_counts_from_the_last_start(desk: Desk) -> None:
    desk.put(starts=1, last_start=utc_now() - timedelta(seconds=10))
    assert await desk.recover() == pytest.approx(50, abs=10)
    assert desk.ran == []


async def test_of_several_young_jobs_the_soonest_says_when_to_come_back(desk: Desk) -> None:
    for age_s in (10, 50, 20):
        desk.put(age_s=age_s)
    assert await desk.recover() == pytest.approx(10, abs=8)


async def test_a_job_of_an_earlier_start_is_run_once_more(desk: Desk) -> None:
    job = desk.put(starts=1, last_start=utc_now() - timedelta(seconds=HOUR_S))
    await desk.recover()
    assert desk.ran == [(job.id, 2)]


async def test_a_finished_job_keeps_what_its_hook_said(desk: Desk) -> None:
    job = desk.put()
    before = utc_now()
    await desk.recover()
    found = desk.get(job)
    assert (found.state, found.starts, found.exit_code, found.stdout, found.error) == ("done", 1, 0, "out", None)
    assert found.finished_at is not None
    assert found.last_start is not None
    assert before <= found.last_start <= found.finished_at


@pytest.mark.parametrize("status", ["failed", "timeout", "blocked"])
async def test_a_run_that_did_not_end_well_fails_its_job_for_good(desk: Desk, status: RunStatus) -> None:
    desk.status = status
    job = desk.put()
    await desk.recover()
    assert desk.get(job).state == "failed"
    assert await desk.recover() is None
    assert desk.ran == [(job.id, 1)]


async def test_a_failed_job_says_why(desk: Desk) -> None:
    job = desk.put()

    async def attempt(hook: Hook, claim: Claim) -> Run:
        return Run(hook=hook, status="failed", outcome=Failure(kind="exit", message="exit code 3"), exit_code=3)

    desk.attempt = attempt  # type: ignore[method-assign]
    await desk.recover()
    assert (desk.get(job).error, desk.get(job).exit_code) == ("exit code 3", 3)


async def test_a_detached_run_leaves_the_job_to_its_own_process(desk: Desk) -> None:
    desk.status = "detached"
    job = desk.put()
    await desk.recover()
    assert (desk.get(job).state, desk.get(job).starts) == ("pending", 1)


# How often


async def test_a_job_that_was_started_as_often_as_it_may_be_fails(desk: Desk) -> None:
    job = desk.put(starts=3, last_start=utc_now() - timedelta(seconds=HOUR_S))
    await desk.recover()
    assert desk.ran == []
    assert (desk.get(job).state, desk.get(job).starts) == ("failed", 3)
    assert "started 3 times" in (desk.get(job).error or "")


async def test_a_job_in_its_last_start_is_not_given_up_before_its_age(desk: Desk) -> None:
    job = desk.put(starts=3, last_start=utc_now())
    assert await desk.recover() is not None
    assert desk.get(job).state == "pending"


async def test_where_no_start_is_allowed_a_job_that_never_started_fails(desk: Desk) -> None:
    job = desk.put()
    await desk.recover(outbox_max_retries=0)
    assert (desk.ran, desk.get(job).state) == ([], "failed")


async def test_where_one_start_is_allowed_a_job_that_never_started_is_run(desk: Desk) -> None:
    job = desk.put()
    await desk.recover(outbox_max_retries=1)
    assert (desk.ran, desk.get(job).state) == ([(job.id, 1)], "done")


async def test_where_one_start_is_allowed_a_job_that_was_started_fails(desk: Desk) -> None:
    job = desk.put(starts=1, last_start=utc_now() - timedelta(seconds=HOUR_S))
    await desk.recover(outbox_max_retries=1)
    assert (desk.ran, desk.get(job).state) == ([], "failed")


@pytest.mark.parametrize("field", ["created_at", "last_start"])
async def test_after_the_clock_was_set_back_a_job_is_run_at_once(desk: Desk, field: str) -> None:
    """A job from the future is due: its age is unknown, and nothing else may keep it for years."""
    desk.put(**{"starts": int(field == "last_start"), field: utc_now() + timedelta(days=400)})
    assert await desk.recover() is None
    assert len(desk.ran) == 1


# Whose


async def test_a_job_of_another_project_is_left_alone(desk: Desk, tmp_path: Path) -> None:
    job = desk.put(file=tmp_path / "other" / "hooks.yaml")
    assert await desk.recover() is None
    assert desk.get(job) == job


async def test_a_job_of_another_hook_of_the_same_name_is_left_alone(desk: Desk, tmp_path: Path) -> None:
    """The same id in the user's file is another hook."""
    other = desk.put(file=tmp_path / "user.yaml")
    mine = desk.put()
    await desk.recover()
    assert (desk.get(other), desk.get(mine).state) == (other, "done")


async def test_a_job_whose_hook_is_gone_from_its_file_fails(desk: Desk) -> None:
    job = desk.put(hook_id="old")
    await desk.recover()
    assert desk.get(job).state == "failed"
    assert desk.get(job).error == f"the hook 'old' is no more in {desk.file.resolve()}"


async def test_a_job_whose_file_could_not_be_loaded_is_left_alone(desk: Desk) -> None:
    job = desk.put(hook_id="old")
    await desk.recover(files=[])
    assert desk.get(job) == job


async def test_a_job_of_a_disabled_hook_is_left_alone(desk: Desk) -> None:
    job = desk.put()
    await desk.recover(replace(desk.hook, enabled=False))
    assert (desk.ran, desk.get(job)) == ([], job)


async def test_a_job_of_a_hook_that_is_durable_no_more_is_left_alone(desk: Desk) -> None:
    job = desk.put()
    await desk.recover(desk.make_hook("job", is_durable=False))
    assert (desk.ran, desk.get(job)) == ([], job)


async def test_a_hook_is_found_again_through_a_link_to_its_file(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    hook = desk.make_hook("job", file=tmp_path / "link" / "hooks.yaml")
    job = desk.put(file=source_of(hook).file)
    await desk.recover()
    assert desk.get(job).state == "done"


# How many at once


async def test_no_more_run_at_once_than_may(desk: Desk) -> None:
    jobs = [desk.put() for _ in range(12)]
    desk.go.clear()
    task = asyncio.create_task(desk.recover(max_parallel_hooks=3))
    await wait_until(lambda: desk.running == 3, "three run")
    desk.go.set()
    await task
    assert desk.most_running == 3
    assert {desk.get(job).state for job in jobs} == {"done"}
    assert sorted(desk.ran) == sorted((job.id, 1) for job in jobs)


async def test_a_job_that_another_runs_is_not_run(desk: Desk) -> None:
    job = desk.put()
    claim = FileOutbox(desk.store._root).claim(job.id)
    await desk.recover()
    assert desk.ran == []
    assert claim is not None


async def test_a_job_that_another_runs_is_looked_at_again(desk: Desk) -> None:
    """That other may die, and somebody who lives must take over."""
    job = desk.put()
    other = FileOutbox(desk.store._root)
    claim = other.claim(job.id)
    assert claim is not None
    assert await desk.recover() is not None


async def test_a_run_of_a_job_that_another_runs_is_skipped(desk: Desk) -> None:
    job = desk.put()
    claim = desk.store.claim(job.id)
    assert claim is not None
    async with desk.open() as worker:
        run = await worker.run(desk.hook, job.id)
    assert (run.status, run.reason) == ("skipped", "another process runs this job")


# Cancelled and failing


@asynccontextmanager
async def running(desk: Desk, worker: JobWorker, job: Job) -> AsyncIterator[asyncio.Task[Run]]:
    """A run that does not come to its end by itself."""
    desk.go.clear()
    task = asyncio.create_task(worker.run(desk.hook, job.id))
    await wait_until(lambda: desk.running == 1, "the hook runs")
    yield task
    desk.go.set()


async def test_a_cancelled_job_stays_pending_with_its_start(desk: Desk) -> None:
    job = desk.put()
    async with desk.open() as worker, running(desk, worker, job) as task:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (desk.get(job).state, desk.get(job).starts) == ("pending", 1)


async def test_a_cancelled_job_can_be_run_again(desk: Desk) -> None:
    job = desk.put()
    async with desk.open() as worker, running(desk, worker, job) as task:
        task.cancel()
        await asyncio.wait([task])
    await desk.recover(outbox_retry_age_s=0)
    assert desk.ran == [(job.id, 1), (job.id, 2)]
    assert desk.get(job).state == "done"


@pytest.mark.parametrize("step", ["claim", "begin"])
async def test_a_run_that_is_cancelled_while_it_takes_its_job_gives_it_back(desk: Desk, step: str) -> None:
    job = desk.put()
    reached, go = threading.Event(), threading.Event()

    def hold() -> None:
        reached.set()
        assert go.wait(10)

    async with desk.open(store=Wrapped(desk.store, **{step: hold})) as worker:
        task = asyncio.create_task(worker.run(desk.hook, job.id))
        await wait_until(reached.is_set, f"the store is at {step}")
        task.cancel()
        await asyncio.sleep(0)
        go.set()
        await asyncio.wait([task])
        # The thread that holds the claim may still be about to let go of it.
        await wait_until(lambda: FileOutbox(desk.store._root).claim(job.id) is not None, "the job is free")
    assert desk.ran == []


async def test_a_run_that_is_cancelled_while_its_end_is_written_is_finished(desk: Desk) -> None:
    job = desk.put()
    reached, go = threading.Event(), threading.Event()

    def hold() -> None:
        reached.set()
        assert go.wait(10)

    async with desk.open(store=Wrapped(desk.store, finish=hold)) as worker:
        task = asyncio.create_task(worker.run(desk.hook, job.id))
        await wait_until(reached.is_set, "the end is being written")
        task.cancel()
        go.set()
        await asyncio.wait([task])
    assert desk.get(job).state == "done"


async def test_a_mistake_of_ours_leaves_the_job_pending(desk: Desk) -> None:
    job = desk.put()

    async def attempt(hook: Hook, claim: Claim) -> Run:
        raise ZeroDivisionError

    desk.attempt = attempt  # type: ignore[method-assign]
    async with desk.open() as worker:
        with pytest.raises(ZeroDivisionError):
            await worker.run(desk.hook, job.id)
    assert desk.get(job).state == "pending"
    assert desk.store.claim(job.id) is not None


@pytest.mark.parametrize("step", ["begin", "finish"])
async def test_a_job_whose_run_cannot_be_written_down_stays_pending_and_is_given_back(desk: Desk, step: str) -> None:
    job = desk.put()
    async with desk.open(store=Wrapped(desk.store, **{step: _raise_no_space})) as worker:
        before = count_descriptors()
        with pytest.raises(OSError, match="No space"):
            await worker.run(desk.hook, job.id)
        assert count_descriptors() == before
    assert desk.get(job).state == "pending"
    assert desk.store.claim(job.id) is not None


def _raise_no_space() -> None:
    raise OSError(28, "No space left on device")


async def test_a_job_that_cannot_be_written_down_does_not_stop_the_others(desk: Desk) -> None:
    """The first finish fails for want of room; the jobs after it are run all the same."""
    jobs = [desk.put() for _ in range(3)]
    failures = [True]

    def fail_once() -> None:
        if failures and failures.pop():
            _raise_no_space()

    await desk.recover(store=Wrapped(desk.store, finish=fail_once), max_parallel_hooks=1)
    assert sorted(desk.get(job).state for job in jobs) == ["done", "done", "pending"]


async def test_a_job_that_cannot_be_given_up_does_not_stop_the_others(desk: Desk) -> None:
    """Writing down that a hook is gone fails; the jobs after it are run all the same."""
    desk.put(job_id="0", hook_id="old")
    job = desk.put(job_id="1")
    failures = [True]

    def fail_once() -> None:
        if failures and failures.pop():
            _raise_no_space()

    await desk.recover(store=Wrapped(desk.store, finish=fail_once))
    assert desk.get(job).state == "done"


async def test_what_the_store_refuses_is_told_to_whoever_puts(desk: Desk) -> None:
    def refuse() -> None:
        raise OutboxError("full")

    async with desk.open(store=Wrapped(desk.store, put=refuse)) as worker:
        with pytest.raises(OutboxError, match="full"):
            await worker.put(make_job())


# Threads and time


async def test_the_store_is_never_touched_on_the_event_loop(desk: Desk) -> None:
    store = Wrapped(desk.store)
    desk.put()
    desk.put(hook_id="old")
    async with desk.open(store=store) as worker:
        await worker.put(make_job(file=desk.file.resolve(), age_s=HOUR_S))
        await worker.recover(lambda hook, job: worker.run(hook, job.id))
        await worker.tidy()
    assert len(desk.ran) == 2
    assert threading.current_thread() not in store.threads


async def test_the_event_loop_runs_on_while_the_store_is_slow(desk: Desk) -> None:
    desk.put()
    beats: list[float] = []
    async with desk.open(store=Wrapped(desk.store, claim=lambda: time.sleep(0.3))) as worker:
        task = asyncio.create_task(worker.recover(lambda hook, job: worker.run(hook, job.id)))
        while not task.done():
            beats.append(time.monotonic())
            await asyncio.sleep(0.01)
    assert max(later - sooner for sooner, later in pairwise(beats)) < 0.25


@pytest.mark.parametrize(
    ("state", "setting"), [("done", "outbox_keep_done_days"), ("failed", "outbox_keep_failed_days")]
)
async def test_jobs_that_ended_long_ago_are_removed(desk: Desk, state: JobState, setting: str) -> None:
    paths = []
    for age_days in (1, 3):
        job = desk.put()
        claim = desk.store.claim(job.id)
        assert claim is not None
        desk.store.finish(claim, replace(job, state=state, finished_at=utc_now()))
        path = desk.store._root / state / f"{job.id}.json"
        os.utime(path, (time.time() - age_days * 24 * HOUR_S,) * 2)
        paths.append(path)
    async with desk.open(**{setting: 2}) as worker:
        await worker.tidy()
    assert [path.exists() for path in paths] == [True, False]


async def test_pending_jobs_are_never_removed_by_age(desk: Desk) -> None:
    job = desk.put(age_s=1000 * 24 * HOUR_S, hook_id="elsewhere", file="elsewhere.yaml")
    async with desk.open() as worker:
        await worker.tidy()
    assert desk.get(job) == job
