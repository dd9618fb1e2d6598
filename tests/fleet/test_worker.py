"""A worker over the engine's memory, with real hooks: what is run, what is refused, what is given back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fleets import NOTE, MemoryFleet, fleet_hook, make_fleet_job, read_notes, write_hooks
from msgspec.structs import replace

from hookline.config.layers import load_layers
from hookline.errors import ConfigError
from hookline.fleet.hands import Hands
from hookline.job import Job
from hookline.runlog import LogQuery, read_records
from jobs import HOUR_S, make_job
from support import Bench
from waiting import wait_until


@pytest.fixture
def fleet(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> MemoryFleet:
    monkeypatch.setattr("hookline.fleet.worker._POLL_S", 0.05)
    monkeypatch.setattr("hookline.fleet.worker._EMPTY_S", 0.05)
    return MemoryFleet(bench)


def get(fleet: MemoryFleet, job: Job) -> Job:
    found = fleet.store.get(job.id)
    assert found is not None
    return found


def read_log(bench: Bench) -> list[dict[str, Any]]:
    return list(read_records(bench.home / "hooks" / "log", LogQuery()))


async def run_one(fleet: MemoryFleet, job: Job, **options: Any) -> Job:
    """The job after a worker had nothing more to do."""
    fleet.store.put(job)
    await fleet.work_off(**options)
    return get(fleet, job)


async def test_a_job_is_run_with_its_payload_id_and_attempt(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench, fleet_hook(bench, f"{NOTE}; cat; echo oops >&2"))
    done = await run_one(fleet, job := make_fleet_job(bench))
    assert (done.state, done.exit_code, done.starts) == ("done", 0, 1)
    assert json.loads(done.stdout) == job.payload
    assert done.stderr == "oops\n"
    assert read_notes(bench) == [f"{job.id} 1"]
    assert fleet.database.task(job.id)["status"] == "succeeded"


async def test_a_run_is_written_to_the_workers_run_log(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench, fleet_hook(bench, "echo out; exit 3"))
    job = await run_one(fleet, make_fleet_job(bench))
    (record,) = read_log(bench)
    assert (record["run"], record["status"], record["exit_code"], record["stdout"]) == (job.id, "failed", 3, "out\n")
    assert record["duration_ms"] > 0
    assert record["attempt"] == 1


async def test_a_hook_that_fails_is_not_asked_again_and_its_job_is_kept(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench, fleet_hook(bench, f"{NOTE}; exit 3"))
    job = make_fleet_job(bench)
    failed = await run_one(fleet, job)
    assert (failed.state, failed.exit_code, failed.error) == ("failed", 3, "exit code 3")
    assert failed.payload == job.payload
    assert fleet.database.task(job.id)["status"] == "failed"
    assert len(read_notes(bench)) == 1


async def test_a_hook_that_is_not_known_here_is_refused(bench: Bench, fleet: MemoryFleet, log_lines: list[str]) -> None:
    write_hooks(bench)
    job = await run_one(fleet, replace(make_fleet_job(bench), hook_id="other"))
    reason = "refused: no hook 'other' for after_turn is defined and trusted here"
    assert (job.state, job.error, job.starts) == ("failed", reason, 0)
    assert any(reason in line for line in log_lines)
    (record,) = read_log(bench)
    assert (record["hook"], record["status"], record["reason"]) == ("other", "skipped", reason)
    assert read_notes(bench) == []


async def test_a_hook_that_is_defined_differently_here_is_refused(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench)
    job = make_fleet_job(bench)
    write_hooks(bench, fleet_hook(bench, f"{NOTE} # another text"))
    failed = await run_one(fleet, job)
    assert failed.state == "failed"
    assert failed.error is not None
    assert failed.error.startswith("refused: the hook 'job' is defined differently here")
    assert read_notes(bench) == []


async def test_a_script_that_changed_after_the_job_was_made_is_refused(bench: Bench, fleet: MemoryFleet) -> None:
    hook = {
        **fleet_hook(bench),
        "run": {"type": "script", "path": "note.sh", "env": {"NOTES": str(bench.root / "notes")}},
    }
    script = bench.write_script("note.sh", NOTE, layer="user")
    write_hooks(bench, hook)
    good, bad = make_fleet_job(bench), make_fleet_job(bench)
    assert (await run_one(fleet, good)).state == "done"
    script.write_text(f"{NOTE}\n# changed\n")
    assert (await run_one(fleet, bad)).state == "failed"
    assert read_notes(bench) == [f"{good.id} 1"]


async def test_a_script_that_cannot_be_read_here_is_refused(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench, {**fleet_hook(bench), "run": {"type": "script", "path": "note.sh"}})
    script = bench.write_script("note.sh", NOTE, layer="user")
    job = make_fleet_job(bench)
    script.unlink()
    failed = await run_one(fleet, job)
    assert failed.error is not None
    assert "is defined differently here (the script" in failed.error


async def test_a_job_that_names_no_definition_is_refused(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench)
    job = await run_one(fleet, make_job())
    assert job.error == "refused: the job does not say which definition of its hook it was made for"


async def test_a_refused_job_is_run_when_it_is_retried_where_its_hook_is_known(
    bench: Bench, fleet: MemoryFleet
) -> None:
    write_hooks(bench)
    job = make_fleet_job(bench)
    write_hooks(bench, fleet_hook(bench, "exit 9"))
    await run_one(fleet, job)
    write_hooks(bench)
    assert fleet.store.retry(job.id) is not None
    await fleet.work_off()
    assert get(fleet, job).state == "done"


async def test_a_job_that_is_too_old_is_not_started(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench)
    old = await run_one(fleet, make_fleet_job(bench, age_s=HOUR_S, route={"max_age_s": 60.0}))
    assert old.error is not None
    assert old.error.endswith("more than 60 (max_age_seconds)")
    young = await run_one(fleet, make_fleet_job(bench, age_s=HOUR_S, route={"max_age_s": 2 * HOUR_S}))
    assert young.state == "done"


async def test_a_job_that_was_started_as_often_as_it_may_is_given_up(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench, outbox_max_retries=2)
    given_up = await run_one(fleet, make_fleet_job(bench, starts=2))
    assert given_up.error == "started 2 times without coming to an end; the most is 2 (outbox_max_retries)"
    last = await run_one(fleet, make_fleet_job(bench, starts=1))
    assert (last.state, last.starts) == ("done", 2)


async def test_higher_priorities_run_first(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench)
    jobs = [make_fleet_job(bench, route={"priority": priority}) for priority in (0, 5, -5)]
    for job in jobs:
        fleet.store.put(job)
    await fleet.work_off(concurrency=1)
    assert [line.split()[0] for line in read_notes(bench)] == [jobs[1].id, jobs[0].id, jobs[2].id]


async def test_the_jobs_of_a_session_run_one_after_another(bench: Bench, fleet: MemoryFleet) -> None:
    text = f'mkdir "$NOTES.busy" || exit 7; {NOTE}; sleep 0.05; rmdir "$NOTES.busy"'
    write_hooks(bench, fleet_hook(bench, text))
    jobs = [make_fleet_job(bench, route={"lock": "s1"}) for _ in range(4)]
    for job in jobs:
        fleet.store.put(job)
    await fleet.work_off(concurrency=4)
    assert [line.split()[0] for line in read_notes(bench)] == [job.id for job in jobs]
    assert fleet.store.count()["done"] == 4


async def test_a_worker_serves_only_its_queues(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench)
    audit, other = make_fleet_job(bench, route={"queue": "audit"}), make_fleet_job(bench, route={"queue": "other"})
    for job in (audit, other):
        fleet.store.put(job)
    async with fleet.working(queues=("audit",)):
        await wait_until(lambda: get(fleet, audit).state == "done", "the job of the queue is done")
    assert get(fleet, other).state == "pending"


async def test_a_worker_that_is_stopped_gives_running_jobs_back(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench, fleet_hook(bench, f"{NOTE}; [ $HOOKLINE_JOB_ATTEMPT = 1 ] || exit 0; sleep 60"))
    fleet.store.put(job := make_fleet_job(bench))
    async with fleet.working(grace_s=0.1):
        await wait_until(lambda: len(read_notes(bench)) == 1, "the hook runs")
    waiting = get(fleet, job)
    assert (waiting.state, waiting.starts) == ("pending", 1)
    assert fleet.database.task(job.id)["status"] == "todo"
    await fleet.work_off()
    assert (get(fleet, job).state, get(fleet, job).starts) == ("done", 2)


async def test_a_worker_that_is_stopped_lets_a_job_end_within_the_grace(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench, fleet_hook(bench, f"{NOTE}; sleep 0.3"))
    fleet.store.put(job := make_fleet_job(bench))
    async with fleet.working(grace_s=10):
        await wait_until(lambda: len(read_notes(bench)) == 1, "the hook runs")
    assert get(fleet, job).state == "done"


async def test_a_job_whose_hook_still_runs_elsewhere_waits(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench)
    fleet.store.put(job := make_fleet_job(bench))
    lock = fleet.database.lock(job.id)
    assert lock is not None
    async with fleet.working():
        await wait_until(lambda: fleet.database.task(job.id)["attempts"] > 0, "the job was looked at")
        fleet.database.task(job.id)["scheduled_at"] = None
        assert (get(fleet, job).state, get(fleet, job).starts) == ("pending", 0)
        lock.free()
        await wait_until(lambda: get(fleet, job).state == "done", "the job is done")


async def test_a_job_that_a_dead_worker_held_is_taken_over(
    bench: Bench, fleet: MemoryFleet, log_lines: list[str]
) -> None:
    write_hooks(bench)
    fleet.store.put(job := make_fleet_job(bench, starts=1))
    fleet.database.task(job.id).update(status="doing", worker_id=77)
    async with fleet.working(silent_s=0.3):
        await wait_until(lambda: get(fleet, job).state == "done", "the job is done")
    assert get(fleet, job).starts == 2
    assert f"the job {job.id} was left by a worker that is gone; it is queued again" in log_lines


async def test_a_job_that_was_over_when_its_worker_died_is_not_run_again(bench: Bench, fleet: MemoryFleet) -> None:
    """A crash after its end was written down and before the engine was told."""
    write_hooks(bench)
    fleet.store.put(job := make_fleet_job(bench))
    fleet.database.task(job.id).update(status="doing", worker_id=77)
    claim = fleet.store.claim(job.id)
    assert claim is not None
    fleet.store.finish(claim, job.failed("why", job.created_at))
    async with fleet.working(silent_s=0.3):
        await wait_until(lambda: fleet.database.task(job.id)["status"] == "failed", "the engine knows")
    assert get(fleet, job).error == "why"
    assert read_notes(bench) == []


async def test_a_database_that_goes_away_is_waited_for(bench: Bench, fleet: MemoryFleet, log_lines: list[str]) -> None:
    write_hooks(bench)
    fleet.database.is_down = True
    async with fleet.working():
        await wait_until(lambda: bool(log_lines), "it is said that the database is away")
        fleet.database.is_down = False
        fleet.store.put(job := make_fleet_job(bench))
        await wait_until(lambda: get(fleet, job).state == "done", "the job is done")
    assert log_lines[0] == "the fleet's database is away: the memory does not answer"


def test_a_machine_without_a_hook_of_a_fleet_cannot_be_a_worker(bench: Bench) -> None:
    write_hooks(bench, fleet_hook(bench, where="local"))
    with pytest.raises(ConfigError, match="no hook here says where: fleet"):
        Hands(load_layers(bench.project, home=bench.home))


def test_a_hook_cannot_be_a_worker(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    write_hooks(bench)
    monkeypatch.setenv("HOOKLINE_HOOK_DEPTH", "3")
    with pytest.raises(ConfigError, match="no worker can run here"):
        Hands(load_layers(bench.project, home=bench.home))


async def test_how_a_hook_ended_is_written_down_when_the_database_is_back(bench: Bench, fleet: MemoryFleet) -> None:
    write_hooks(bench, fleet_hook(bench, f'{NOTE}; while [ ! -e "$NOTES.go" ]; do sleep 0.02; done'))
    fleet.store.put(job := make_fleet_job(bench))
    async with fleet.working():
        await wait_until(lambda: len(read_notes(bench)) == 1, "the hook runs")
        fleet.database.is_down = True
        (bench.root / "notes.go").touch()
        await wait_until(lambda: bool(read_log(bench)), "the hook has ended")
        fleet.database.is_down = False
        await wait_until(lambda: get(fleet, job).state == "done", "its end is written down")
    assert len(read_notes(bench)) == 1


async def test_a_job_of_a_project_that_changed_since_it_was_trusted_waits(
    bench: Bench, fleet: MemoryFleet, log_lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_hooks(bench)
    fleet.store.put(job := make_fleet_job(bench))
    monkeypatch.setattr(Hands, "find_change", lambda _self, _hook: "hooks.yaml has changed since you trusted it")
    async with fleet.working():
        await wait_until(lambda: fleet.database.task(job.id)["attempts"] > 0, "the job was given back")
    assert (get(fleet, job).state, get(fleet, job).starts) == ("pending", 0)
    assert f"the job {job.id} waits: hooks.yaml has changed since you trusted it" in log_lines
