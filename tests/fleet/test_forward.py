"""Forwarding: a job leaves the outbox once the fleet has it, and reaches the fleet once."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from memory import MemoryDatabase
from msgspec.structs import replace

from hookline.fleet.errors import FleetError, RefusedError, UnreachableError
from hookline.fleet.forward import Forwarder, Tally, sole_forwarder
from hookline.fleet.store import FleetStore
from hookline.job import Job, Route, utc_now
from hookline.outbox.files import FileOutbox
from jobs import make_job

pytestmark = pytest.mark.usefixtures("log_lines")


def make(**fields: Any) -> Job:
    route = {"digest": "d", "queue": "hooks", **fields.pop("route", {})}
    return make_job(route=Route(**route), **fields)


class Ground:
    """An outbox and a fleet."""

    def __init__(self, root: Path) -> None:
        self.outbox = FileOutbox(root)
        self.database = MemoryDatabase()
        self.fleet = FleetStore(self.database)
        self.forwarder = Forwarder(self.outbox, self.fleet)

    def put(self, **fields: Any) -> Job:
        self.outbox.put(job := make(**fields))
        return job


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "outbox")


def test_a_forwarded_job_is_pending_in_the_fleet_and_done_here(ground: Ground) -> None:
    job = ground.put()
    assert ground.forwarder.run() == Tally(sent=1)
    assert ground.fleet.get(job.id) == job
    here = ground.outbox.get(job.id)
    assert here is not None
    assert here.state == "done"
    assert here.forwarded_at is not None


def test_a_job_of_no_fleet_is_left_alone(ground: Ground) -> None:
    ground.outbox.put(job := make_job())
    assert ground.forwarder.run() == ground.forwarder.run() == Tally()
    assert ground.outbox.get(job.id) == job


def test_a_job_that_the_fleet_has_already_is_moved_and_not_sent_again(ground: Ground) -> None:
    """A crash after the fleet took it and before it was moved."""
    job = ground.put()
    ground.fleet.put_all([job])
    assert ground.forwarder.run() == Tally(known=1)
    assert ground.outbox.count() == {"pending": 0, "done": 1, "failed": 0}
    assert ground.fleet.count() == {"pending": 1, "done": 0, "failed": 0}


def test_a_job_that_is_over_here_is_not_sent(ground: Ground, tmp_path: Path) -> None:
    """A crash between writing how it ended and removing the pending file."""
    job = ground.put()
    pending = tmp_path / "outbox" / "pending" / f"{job.id}.json"
    data = pending.read_bytes()
    ground.outbox.give_up(job.failed("why", utc_now()))
    pending.write_bytes(data)
    assert ground.forwarder.run() == Tally()
    assert ground.outbox.count() == {"pending": 0, "done": 0, "failed": 1}


def test_a_forwarded_job_is_kept_from_when_it_was_forwarded(ground: Ground, tmp_path: Path) -> None:
    job = ground.put()
    os.utime(tmp_path / "outbox" / "pending" / f"{job.id}.json", (1, 1))
    before = utc_now()
    ground.forwarder.run()
    assert ground.outbox.purge("done", before - timedelta(seconds=1)) == 0
    here = ground.outbox.get(job.id)
    assert here is not None
    assert here.forwarded_at is not None
    assert abs(here.forwarded_at - before) < timedelta(seconds=5)


def test_a_fleet_that_does_not_answer_leaves_all_jobs_pending(ground: Ground) -> None:
    ground.put()
    ground.database.is_down = True
    with pytest.raises(UnreachableError):
        ground.forwarder.run()
    assert ground.outbox.count() == {"pending": 1, "done": 0, "failed": 0}


def test_many_jobs_are_sent_in_the_order_in_which_they_were_made(ground: Ground, tmp_path: Path) -> None:
    now = utc_now()
    jobs = [make(created_at=now + timedelta(microseconds=number)) for number in range(450)]
    for job in reversed(jobs):  # all within one tick of the clock, and by name in no order
        ground.outbox.put(job)
        os.utime(tmp_path / "outbox" / "pending" / f"{job.id}.json", (1, 1))
    assert ground.forwarder.run() == Tally(sent=450)
    assert [job.id for job in ground.fleet.list("pending")] == [job.id for job in jobs]


def test_large_jobs_go_in_small_batches(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.fleet.forward._MOST_BYTES", 3000)
    sizes: list[int] = []
    put_all = ground.fleet.put_all
    monkeypatch.setattr(ground.fleet, "put_all", lambda jobs: (sizes.append(len(jobs)), put_all(jobs))[1])
    for _ in range(3):
        ground.put(payload={"text": "x" * 2000})
    ground.forwarder.run()
    assert sizes == [1, 1, 1]


def test_a_job_that_the_fleet_cannot_take_fails_here_and_the_others_go(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [ground.put() for _ in range(5)]
    forward = ground.fleet.put_all

    def refuse(given: list[Job]) -> int:
        if jobs[2] in given:
            raise RefusedError("too large")
        return forward(given)

    monkeypatch.setattr(ground.fleet, "put_all", refuse)
    assert ground.forwarder.run() == Tally(sent=4, refused=1)
    failed = ground.outbox.get(jobs[2].id)
    assert failed is not None
    assert (failed.state, failed.error) == ("failed", "the fleet does not accept it: too large")


def test_a_torn_file_is_set_aside_and_the_others_go(ground: Ground, tmp_path: Path) -> None:
    ground.put()
    (tmp_path / "outbox" / "pending" / "torn.json").write_bytes(b"{")
    assert ground.forwarder.run() == Tally(sent=1)
    assert ground.outbox.count() == {"pending": 0, "done": 1, "failed": 1}


def test_a_retried_job_is_forwarded_with_its_route(ground: Ground) -> None:
    job = ground.put()
    claim = ground.outbox.claim(job.id)
    assert claim is not None
    ground.outbox.finish(claim, replace(job, state="failed"))
    assert ground.outbox.retry(job.id) == job
    assert ground.forwarder.run() == Tally(sent=1)


def test_a_second_forwarder_is_refused_and_told_who_is_at_work(tmp_path: Path) -> None:
    with sole_forwarder(tmp_path), pytest.raises(FleetError, match=f"process {os.getpid()}"), sole_forwarder(tmp_path):
        pass
    with sole_forwarder(tmp_path):
        pass


class Pauses:
    """Ends after so many pauses; does something at each."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        if not self.steps:
            return True
        self.steps.pop(0)()
        return False


def test_a_following_forwarder_sends_what_comes(ground: Ground) -> None:
    said: list[str] = []
    ground.forwarder.follow(pause=Pauses(ground.put, ground.put), report=said.append)
    assert said == ["1 forwarded", "1 forwarded"]


def test_a_following_forwarder_waits_longer_and_longer_for_a_fleet_and_goes_on(ground: Ground) -> None:
    job = ground.put()
    ground.database.is_down = True
    said: list[str] = []
    pauses = Pauses(*[lambda: None] * 10, lambda: setattr(ground.database, "is_down", False))
    ground.forwarder.follow(pause=pauses, report=said.append)
    assert pauses.seconds[0] <= 1
    assert 15 <= pauses.seconds[9] <= 60
    assert said[0] == "the memory does not answer; trying again within 1 s"
    assert said[-1] == "1 forwarded"
    assert ground.fleet.get(job.id) == job


def test_a_job_travels_with_its_queue_priority_and_lock(ground: Ground) -> None:
    job = ground.put(route={"queue": "audit", "priority": 5, "lock": "s1"})
    ground.forwarder.run()
    task = ground.database.task(job.id)
    assert (task["queue_name"], task["priority"], task["lock"]) == ("audit", 5, "s1")
