"""`hookline outbox`, as the installed program."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

import pytest
from msgspec.structs import replace

from entries import shell_hook, write_file
from hookline.job import Job, JobState, utc_now
from hookline.outbox.codec import job_to_data
from jobs import HOUR_S, is_emptied, make_job, open_outbox
from support import Bench
from terminal import run_hookline
from waiting import wait_until


def put(bench: Bench, state: JobState = "pending", **fields: Any) -> Job:
    """A job in a state."""
    store = open_outbox(bench.home)
    job = make_job(**{key: value for key, value in fields.items() if key in ("job_id", "age_s", "file", "payload")})
    store.put(job)
    if state != "pending":
        claim = store.claim(job.id)
        assert claim is not None
        rest = {key: value for key, value in fields.items() if key not in ("job_id", "age_s", "file", "payload")}
        job = replace(job, state=state, finished_at=utc_now(), **rest)
        store.finish(claim, job)
    return job


def outbox(bench: Bench, *arguments: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    done = run_hookline(bench, "outbox", *arguments)
    assert done.returncode == int(fails), done.stderr
    assert "Traceback" not in done.stderr
    return done


# list


def test_jobs_are_listed_with_their_age_and_counted(bench: Bench) -> None:
    pending = put(bench, age_s=2 * HOUR_S)
    failed = put(bench, "failed", error="exit code 3", starts=1)
    done = outbox(bench, "list")
    first, second, last = done.stdout.splitlines()
    assert first.split() == [pending.id, "pending", "after_turn", "job", "2", "h", "old", "started", "0", "times"]
    assert second.split()[:4] == [failed.id, "failed", "after_turn", "job"]
    assert second.endswith("exit code 3")
    assert last == "1 pending, 0 done, 1 failed"


def test_an_empty_outbox_is_listed_as_such_and_nothing_is_made(bench: Bench) -> None:
    assert outbox(bench, "list").stdout == "0 pending, 0 done, 0 failed\n"
    assert not bench.home.exists()


def test_only_the_states_that_are_asked_for_are_listed(bench: Bench) -> None:
    states = ["pending", "failed"]
    jobs: dict[str, Job] = {state: put(bench, state) for state in ("pending", "done", "failed")}  # type: ignore[arg-type]
    options = [option for state in states for option in ("--state", state)]
    listed = json.loads(outbox(bench, "list", "--json", *options).stdout)
    assert [job["id"] for job in listed["jobs"]] == [jobs[state].id for state in states]
    assert listed["counts"] == {"pending": 1, "done": 1, "failed": 1}


def test_as_json_a_job_has_everything_but_its_payload_and_output(bench: Bench) -> None:
    job = put(bench, "failed", exit_code=3, error="no", stdout="out", stderr="err", starts=2)
    data = job_to_data(job)
    (listed,) = json.loads(outbox(bench, "list", "--json").stdout)["jobs"]
    assert listed == {key: data[key] for key in data if key not in ("payload", "stdout", "stderr")}


def test_jobs_are_listed_from_the_oldest(bench: Bench) -> None:
    ages = [30, 10, 20]
    jobs = {age: put(bench, age_s=age) for age in ages}
    listed = json.loads(outbox(bench, "list", "--json").stdout)["jobs"]
    assert [job["id"] for job in listed] == [jobs[age].id for age in (30, 20, 10)]


def test_torn_files_are_listed_as_failed(bench: Bench) -> None:
    put(bench)
    (bench.home / "hooks" / "outbox" / "pending" / "a.json").write_text("{")
    assert outbox(bench, "list").stdout.splitlines()[-1] == "1 pending, 0 done, 1 failed"


def test_control_characters_of_a_job_play_no_tricks_with_a_terminal(bench: Bench) -> None:
    put(bench, "failed", error="\x1b[2J", hook_id="\x1b[31mh")
    assert "\x1b" not in outbox(bench, "list").stdout


# show


@pytest.mark.parametrize("state", ["pending", "done", "failed"])
def test_a_job_is_shown_whole(bench: Bench, state: JobState) -> None:
    job = put(bench, state, payload={"event": "after_turn", "text": "ü"})
    assert json.loads(outbox(bench, "show", job.id).stdout) == job_to_data(job)


@pytest.mark.parametrize("job_id", ["none", "../failed/x", "", "\u65e5"])
def test_an_id_that_is_none_is_said(bench: Bench, job_id: str) -> None:
    put(bench)
    done = outbox(bench, "show", job_id, fails=True)
    assert f"no job has the id {job_id!r}; see hookline outbox list" in done.stderr


# retry


def test_a_failed_job_is_pending_again(bench: Bench) -> None:
    job = put(bench, "failed", starts=3)
    assert outbox(bench, "retry", job.id).stdout == "1 of 1 jobs are pending again\n"
    assert open_outbox(bench.home).get(job.id) == make_job(job.id, created_at=job.created_at)


def test_all_failed_jobs_can_be_retried_at_once(bench: Bench) -> None:
    for state in ("failed", "failed", "done", "pending"):
        put(bench, state)  # type: ignore[arg-type]
    assert outbox(bench, "retry", "--all").stdout == "2 of 2 jobs are pending again\n"
    assert open_outbox(bench.home).count() == {"pending": 3, "done": 1, "failed": 0}


def test_notes_of_torn_files_are_not_retried(bench: Bench) -> None:
    put(bench)
    (bench.home / "hooks" / "outbox" / "pending" / "a.json").write_text("{")
    outbox(bench, "list")
    assert outbox(bench, "retry", "--all").stdout == "0 of 0 jobs are pending again\n"


@pytest.mark.parametrize("state", ["pending", "done"])
def test_only_failed_jobs_are_retried(bench: Bench, state: JobState) -> None:
    job = put(bench, state)
    done = outbox(bench, "retry", job.id, fails=True)
    assert done.stdout == "0 of 1 jobs are pending again\n"
    assert job.id in done.stderr
    assert open_outbox(bench.home).get(job.id) == job


def test_of_several_the_missing_ones_are_named_and_the_others_retried(bench: Bench) -> None:
    job = put(bench, "failed")
    done = outbox(bench, "retry", "none", job.id, fails=True)
    assert done.stdout == "1 of 2 jobs are pending again\n"
    assert "no failed job that can be retried has the id none" in done.stderr


def test_without_an_id_nothing_is_retried(bench: Bench) -> None:
    put(bench, "failed")
    assert "name the jobs to retry, or say --all" in outbox(bench, "retry", fails=True).stderr
    assert open_outbox(bench.home).count()["failed"] == 1


async def test_a_retried_job_is_run_by_the_next_agent(bench: Bench) -> None:
    hook = shell_hook("job", "echo $HOOKLINE_JOB_ATTEMPT >> ran", event="after_turn", mode="async", delivery="durable")
    path = bench.write(write_file(hook, settings={"outbox_retry_age_seconds": 0}))
    payload = {"event": "after_turn", "turn": 1, "cwd": str(bench.project)}
    job = put(bench, "failed", file=path.resolve(), starts=3, payload=payload)
    outbox(bench, "retry", job.id)
    bench.open()
    store = open_outbox(bench.home)
    await wait_until(lambda: is_emptied(store), "the job is over")
    assert bench.read("ran") == "1\n"
    assert store.count() == {"pending": 0, "done": 1, "failed": 0}


# purge


def test_purge_removes_what_is_over(bench: Bench) -> None:
    for state in ("pending", "done", "done", "failed"):
        put(bench, state)  # type: ignore[arg-type]
    assert outbox(bench, "purge").stdout == "2 done removed\n1 failed removed\n"
    assert open_outbox(bench.home).count() == {"pending": 1, "done": 0, "failed": 0}


def test_purge_can_be_told_which_state(bench: Bench) -> None:
    put(bench, "done")
    put(bench, "failed")
    assert outbox(bench, "purge", "--state", "done").stdout == "1 done removed\n"
    assert open_outbox(bench.home).count() == {"pending": 0, "done": 0, "failed": 1}


def test_purge_can_be_told_how_old(bench: Bench) -> None:
    jobs = [put(bench, "done"), put(bench, "done")]
    path = bench.home / "hooks" / "outbox" / "done" / f"{jobs[0].id}.json"
    os.utime(path, (time.time() - 3 * 24 * HOUR_S,) * 2)
    assert outbox(bench, "purge", "--older-than", "2").stdout == "1 done removed\n0 failed removed\n"
    assert open_outbox(bench.home).get(jobs[1].id) == jobs[1]


@pytest.mark.parametrize(
    "options",
    [["--state", "pending"], ["--older-than", "-1"], ["--older-than", "nan"], ["--older-than", "1e300"]],
    ids=" ".join,
)
def test_pending_jobs_cannot_be_purged_nor_strange_ages_asked_for(bench: Bench, options: list[str]) -> None:
    put(bench)
    put(bench, "done")
    done = run_hookline(bench, "outbox", "purge", *options)
    assert "has a bug" not in done.stderr
    assert open_outbox(bench.home).count() == {"pending": 1, "done": 1, "failed": 0}
