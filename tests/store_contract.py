"""What every outbox store must do: the protocol's promises, one test each, over whatever store is opened."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Protocol

import pytest
from msgspec.structs import replace

from hookline.job import Job, JobState, utc_now
from hookline.outbox.store import Claim, OutboxError, OutboxStore
from jobs import make_job
from waiting import wait_until

_CLAIMER = """
import sys
from datetime import datetime, UTC
from msgspec.structs import replace
print("ready", flush=True)
sys.stdin.readline()
for job in list(store.list("pending")):
    claim = store.claim(job.id)
    if claim is not None:
        claim = store.begin(claim, datetime.now(UTC))
        print(job.id, flush=True)
        store.finish(claim, replace(claim.job, state="done", finished_at=datetime.now(UTC)))
"""

# Claims a job and starts a process that inherits the claim and lives until its input ends.
_HOLDER = """
import subprocess, sys, time
claim = store.claim(sys.argv[1])
child = subprocess.Popen(["cat"], stdin=0, stdout=subprocess.DEVNULL, pass_fds=claim.inheritable)
print("claimed", flush=True)
time.sleep(600)
"""


class Place(Protocol):
    """Where a store is: opens it as many times as one likes."""

    def open(self) -> OutboxStore:
        """Open it once more."""


class SharedPlace(Place, Protocol):
    """One that other processes reach too."""

    program: str
    """How another process opens the store: the beginning of a Python program, after which `store` is open."""


class StoreContract:
    """Subclass it with a fixture `place`."""

    @pytest.fixture
    def store(self, place: Place) -> OutboxStore:
        return place.open()

    # put, get

    def test_a_job_is_read_as_it_was_put(self, store: OutboxStore) -> None:
        job = make_job(host="here", boot_id="b")
        store.put(job)
        assert store.get(job.id) == job

    def test_a_job_is_seen_by_whoever_opens_the_store(self, place: Place, store: OutboxStore) -> None:
        store.put(job := make_job())
        assert place.open().get(job.id) == job

    @pytest.mark.parametrize(
        "value",
        ["\ud800 half a character", "\x00\x1b[31m", 2**70, 1.5, None, {"": [{}, []]}, "\u2028 日本語 😀"],
        ids=["surrogate", "control", "large", "float", "null", "nested", "unicode"],
    )
    def test_a_payload_keeps_any_json_value(self, store: OutboxStore, value: Any) -> None:
        store.put(job := make_job(payload={"value": value}))
        assert store.get(job.id) == job

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), object()], ids=["nan", "infinite", "object"])
    def test_what_is_no_json_is_not_accepted(self, store: OutboxStore, value: Any) -> None:
        with pytest.raises(OutboxError):
            store.put(make_job(payload={"value": value}))
        assert list(store.list("pending")) == []

    def test_a_job_that_is_not_there_is_none(self, store: OutboxStore) -> None:
        assert store.get(make_job().id) is None

    @pytest.mark.parametrize("job_id", ["", ".", "..", "../outbox", "a/b", "/etc/passwd", "x" * 5000, "\x00", "ä"])
    def test_an_id_that_is_none_finds_nothing(self, store: OutboxStore, job_id: str) -> None:
        store.put(make_job())
        assert (store.get(job_id), store.retry(job_id)) == (None, None)

    # claim, release

    def test_a_claim_holds_the_job_as_it_is_stored(self, store: OutboxStore) -> None:
        store.put(job := make_job())
        assert take(store, job).job == job

    def test_a_claimed_job_cannot_be_claimed(self, place: Place, store: OutboxStore) -> None:
        store.put(job := make_job())
        take(store, job)
        assert (store.claim(job.id), place.open().claim(job.id)) == (None, None)

    def test_a_released_job_can_be_claimed(self, place: Place, store: OutboxStore) -> None:
        store.put(job := make_job())
        store.release(take(store, job))
        assert place.open().claim(job.id) is not None

    def test_a_released_job_stays_pending_with_its_starts(self, store: OutboxStore) -> None:
        store.put(job := make_job())
        store.release(store.begin(take(store, job), utc_now()))
        found = get(store, job)
        assert (found.state, found.starts) == ("pending", 1)

    @pytest.mark.parametrize("state", ["done", "failed"])
    def test_a_finished_job_cannot_be_claimed(self, store: OutboxStore, state: JobState) -> None:
        job = put_finished(store, state)
        assert store.claim(job.id) is None

    def test_a_job_that_is_not_there_cannot_be_claimed(self, store: OutboxStore) -> None:
        assert store.claim(make_job().id) is None

    def test_claims_of_several_jobs_are_held_side_by_side(self, store: OutboxStore) -> None:
        jobs = [make_job(), make_job()]
        for job in jobs:
            store.put(job)
        assert [take(store, job).job for job in jobs] == jobs

    # begin

    def test_begin_counts_a_start_and_its_time(self, store: OutboxStore) -> None:
        store.put(job := make_job())
        now = utc_now()
        claim = store.begin(take(store, job), now)
        assert claim.job == get(store, job) == replace(job, starts=1, last_start=now)

    def test_begin_counts_on_after_a_release(self, store: OutboxStore) -> None:
        store.put(job := make_job())
        for _ in range(3):
            store.release(store.begin(take(store, job), utc_now()))
        assert get(store, job).starts == 3

    def test_a_job_that_has_begun_stays_claimed(self, place: Place, store: OutboxStore) -> None:
        store.put(job := make_job())
        store.begin(take(store, job), utc_now())
        assert place.open().claim(job.id) is None

    # finish

    @pytest.mark.parametrize("state", ["done", "failed"])
    def test_a_finished_job_is_where_its_state_says(self, store: OutboxStore, state: JobState) -> None:
        job = put_finished(store, state, exit_code=3, stdout="out", stderr="err", error="why")
        assert store.get(job.id) == job
        assert ids(store, state) == [job.id]
        assert ids(store, "pending") == []

    def test_finish_gives_the_claim_back(self, store: OutboxStore) -> None:
        job = put_finished(store, "failed")
        assert store.retry(job.id) is not None
        assert store.claim(job.id) is not None

    # list, count

    def test_a_new_store_is_empty(self, store: OutboxStore) -> None:
        assert store.count() == {"pending": 0, "done": 0, "failed": 0}
        assert [ids(store, state) for state in ("pending", "done", "failed")] == [[], [], []]

    def test_jobs_are_listed_and_counted_by_their_state(self, store: OutboxStore) -> None:
        jobs = sorted(make_job().id for _ in range(3))
        for job_id in jobs:
            store.put(make_job(job_id))
        done = put_finished(store, "done")
        assert sorted(ids(store, "pending")) == jobs
        assert ids(store, "done") == [done.id]
        assert store.count() == {"pending": 3, "done": 1, "failed": 0}

    def test_a_claimed_job_is_listed_as_pending(self, store: OutboxStore) -> None:
        store.put(job := make_job())
        take(store, job)
        assert ids(store, "pending") == [job.id]

    def test_a_listing_passes_over_jobs_that_are_finished_meanwhile(self, store: OutboxStore) -> None:
        for _ in range(3):
            store.put(make_job())
        listing = store.list("pending")
        first = next(listing)
        for job in list(store.list("pending")):
            if job.id != first.id:
                store.finish(take(store, job), replace(job, state="done"))
        assert list(listing) == []

    # retry

    def test_a_retried_job_is_pending_as_if_it_were_new(self, store: OutboxStore) -> None:
        job = put_finished(store, "failed", exit_code=1, error="why", stdout="out", starts=3, last_start=utc_now())
        fresh = make_job(job.id, created_at=job.created_at)
        assert store.retry(job.id) == store.get(job.id) == fresh
        assert store.count() == {"pending": 1, "done": 0, "failed": 0}

    def test_a_done_job_is_not_retried(self, store: OutboxStore) -> None:
        job = put_finished(store, "done")
        assert store.retry(job.id) is None
        assert store.get(job.id) == job

    def test_a_pending_job_is_not_retried(self, store: OutboxStore) -> None:
        store.put(job := make_job(starts=2))
        assert store.retry(job.id) is None
        assert store.get(job.id) == job

    def test_a_job_can_be_retried_again_and_again(self, store: OutboxStore) -> None:
        job = put_finished(store, "failed")
        for _ in range(3):
            assert store.retry(job.id) is not None
            store.finish(claim := take(store, job), replace(claim.job, state="failed"))
        assert ids(store, "failed") == [job.id]

    def test_retry_while_others_claim_never_loses_the_job(self, place: Place) -> None:
        """Two retry, two claim and fail it again; whatever the order, the job is there in the end, once."""
        job = put_finished(place.open(), "failed")
        barrier = threading.Barrier(4)

        def retry() -> int:
            store = place.open()
            barrier.wait()
            return sum(store.retry(job.id) is not None for _ in range(150))

        def work() -> int:
            store, count = place.open(), 0
            barrier.wait()
            for _ in range(150):
                claim = store.claim(job.id)
                if claim is not None:
                    store.finish(claim, replace(claim.job, state="failed"))
                    count += 1
            return count

        *retried, worked, worked_too = run_side_by_side(retry, retry, work, work)
        store = place.open()
        count = store.count()
        assert count["pending"] + count["failed"] == 1
        assert sum(retried) - worked - worked_too == count["pending"]
        assert store.get(job.id) is not None

    # purge

    def test_purge_removes_what_ended_before(self, store: OutboxStore) -> None:
        job = put_finished(store, "done")
        assert store.purge("done", utc_now() + timedelta(hours=1)) == 1
        assert store.get(job.id) is None

    def test_purge_keeps_what_ended_after(self, store: OutboxStore) -> None:
        job = put_finished(store, "done")
        assert store.purge("done", utc_now() - timedelta(hours=1)) == 0
        assert store.get(job.id) == job

    def test_purge_keeps_the_jobs_of_other_states(self, store: OutboxStore) -> None:
        failed = put_finished(store, "failed")
        store.put(make_job())
        store.purge("done", utc_now() + timedelta(hours=1))
        assert store.count() == {"pending": 1, "done": 0, "failed": 1}
        assert ids(store, "failed") == [failed.id]

    # many at once

    def test_of_many_threads_that_claim_a_job_one_wins(self, place: Place) -> None:
        store = place.open()
        for _ in range(25):
            store.put(job := make_job())
            barrier = threading.Barrier(6)
            claims = run_side_by_side(*[lambda job=job, barrier=barrier: claim_after(place, barrier, job)] * 6)
            assert sum(claim is not None for claim in claims) == 1


class SharedStoreContract(StoreContract):
    """The same for a store that several processes share."""

    def test_of_many_processes_that_claim_jobs_one_wins_each(self, place: SharedPlace) -> None:
        store = place.open()
        jobs = [make_job().id for _ in range(60)]
        for job_id in jobs:
            store.put(make_job(job_id))
        claimers = [start(place.program + _CLAIMER) for _ in range(4)]
        for claimer in claimers:
            assert claimer.stdout is not None
            assert claimer.stdout.readline() == "ready\n"
        said = [claimer.communicate("go\n", timeout=30)[0] for claimer in claimers]
        assert Counter(line for text in said for line in text.split()) == Counter(jobs)
        assert store.count() == {"pending": 0, "done": 60, "failed": 0}
        assert {job.starts for job in store.list("done")} == {1}

    # the death of a holder

    async def test_the_claim_of_a_process_ends_with_it(self, place: SharedPlace, store: OutboxStore) -> None:
        store.put(job := make_job())
        with holding(place, job) as holder:
            assert holder.stdin is not None
            holder.kill()
            holder.stdin.close()
            await wait_until(lambda: store.claim(job.id) is not None, "the job can be claimed")

    async def test_a_child_that_inherited_the_claim_holds_it_after_the_death_of_the_holder(
        self, place: SharedPlace, store: OutboxStore
    ) -> None:
        store.put(job := make_job())
        with holding(place, job) as holder:
            assert holder.stdin is not None
            holder.kill()
            holder.wait()
            assert store.claim(job.id) is None
            holder.stdin.close()
            await wait_until(lambda: store.claim(job.id) is not None, "the job can be claimed")

    async def test_a_child_that_inherited_the_claim_holds_it_after_its_release(
        self, place: SharedPlace, store: OutboxStore
    ) -> None:
        store.put(job := make_job())
        claim = take(store, job)
        with inheriting(claim.inheritable) as child:
            store.release(claim)
            assert place.open().claim(job.id) is None
            assert child.stdin is not None
            child.stdin.close()
            await wait_until(lambda: store.claim(job.id) is not None, "the job can be claimed")

    def test_finish_takes_the_claim_also_from_a_child_that_inherited_it(self, store: OutboxStore) -> None:
        store.put(job := make_job())
        claim = take(store, job)
        with inheriting(claim.inheritable):
            store.finish(claim, replace(job, state="failed"))
            assert store.retry(job.id) is not None
            assert store.claim(job.id) is not None


def take(store: OutboxStore, job: Job) -> Claim:
    claim = store.claim(job.id)
    assert claim is not None
    return claim


def get(store: OutboxStore, job: Job) -> Job:
    found = store.get(job.id)
    assert found is not None
    return found


def ids(store: OutboxStore, state: JobState) -> list[str]:
    return [job.id for job in store.list(state)]


def put_finished(store: OutboxStore, state: JobState, **fields: Any) -> Job:
    """A job that has come to its end."""
    store.put(job := make_job())
    finished = replace(job, state=state, finished_at=utc_now(), **fields)
    store.finish(take(store, job), finished)
    return finished


def claim_after(place: Place, barrier: threading.Barrier, job: Job) -> Claim | None:
    store = place.open()
    barrier.wait()
    return store.claim(job.id)


def run_side_by_side(*functions: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(functions)) as threads:
        return [future.result() for future in [threads.submit(function) for function in functions]]


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@contextlib.contextmanager
def holding(place: SharedPlace, job: Job) -> Iterator[subprocess.Popen[str]]:
    """A process that has claimed a job, with a child that lives until the input of both ends."""
    with start(place.program + _HOLDER, job.id) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "claimed\n"
        yield holder
        holder.kill()


@contextlib.contextmanager
def inheriting(descriptors: Sequence[int]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has inherited descriptors and lives until its input ends."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=descriptors) as child:
        yield child
