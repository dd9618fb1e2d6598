"""Durable hooks at the engine, with real processes: stored before `fire` returns, run, finished, run again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from entries import command_hook, make_entry, shell_hook, write_file
from hookline import AfterTurn, Engine, Event, Run, SessionStart
from hookline.job import Job, utc_now
from hookline.outbox.codec import encode_job
from hookline.outbox.files import FileOutbox
from hosts import run_host, start_host
from jobs import HOUR_S, is_emptied, is_old_enough, make_job, open_outbox
from storage import small_disk
from support import Bench, find_run, make_prompt_event
from waiting import is_running, wait_for_pid, wait_until

UNTIL_GO = "echo $$ > started; while [ ! -e go ]; do sleep 0.02; done; echo > finished"
NOTE = 'echo "$HOOKLINE_JOB_ID $HOOKLINE_JOB_ATTEMPT" >> attempts'
MODES = pytest.mark.parametrize("mode", ["async", "fire_and_forget"])


def durable_hook(text: str, hook_id: str = "job", *, mode: str = "async", **execution: Any) -> dict[str, Any]:
    return shell_hook(hook_id, text, event="after_turn", mode=mode, delivery="durable", **execution)


def write_hooks(*hooks: Mapping[str, Any], **settings: Any) -> str:
    return write_file(*hooks, settings={"outbox_retry_age_seconds": 0.2, **settings})


def turn(bench: Bench, number: int = 1, **options: Any) -> Event:
    return Event(AfterTurn(turn=number), cwd=str(bench.project), session_id="s1", **options)


async def fire(bench: Bench, engine: Engine, number: int = 1) -> Run:
    """Fire an event that one hook is for."""
    (run,) = (await engine.fire(turn(bench, number))).runs
    return run


async def settle(bench: Bench, engine: Engine, hook_id: str = "job") -> Run:
    """Fire an event and wait for the hook."""
    return find_run(await engine.settle(await engine.fire(turn(bench))), hook_id)


def get(bench: Bench, job_id: str) -> Job:
    """A job, as another process sees it."""
    job = open_outbox(bench.home).get(job_id)
    assert job is not None
    return job


def put_pending(bench: Bench, count: int = 1, **fields: Any) -> list[str]:
    """Jobs of the project's hook that a host left behind an hour ago."""
    file = (bench.hooks_folder() / "hooks.yaml").resolve()
    jobs = [make_job(**{"file": file, "age_s": HOUR_S, **fields}) for _ in range(count)]
    for job in jobs:
        open_outbox(bench.home).put(replace(job, payload={**job.payload, "cwd": str(bench.project)}))
    return [job.id for job in jobs]


async def until_emptied(bench: Bench) -> None:
    store = open_outbox(bench.home)
    await wait_until(lambda: is_emptied(store), "no job is pending", within_s=10)


def lines(bench: Bench, name: str = "attempts") -> list[str]:
    path = bench.project / name
    return path.read_text().splitlines() if path.exists() else []


# Stored, run, finished


@MODES
async def test_a_job_is_on_disk_before_fire_returns(bench: Bench, mode: str) -> None:
    run = await fire(bench, bench.open(write_hooks(durable_hook("sleep 60", mode=mode))))
    job = get(bench, run.id)
    assert (run.status, job.state, job.hook_id, job.event) == ("queued", "pending", "job", "after_turn")
    assert job.source.file == str((bench.hooks_folder() / "hooks.yaml").resolve())


@MODES
async def test_a_hook_that_ends_well_is_done(bench: Bench, mode: str) -> None:
    run = await settle(bench, bench.open(write_hooks(durable_hook("echo hi; echo oh >&2", mode=mode))))
    job = get(bench, run.id)
    assert (run.status, run.attempt) == ("ok", 1)
    assert (job.state, job.starts, job.exit_code, job.error) == ("done", 1, 0, None)
    assert (job.stdout, job.stderr) == ("hi\n", "oh\n")


@MODES
async def test_a_hook_that_fails_is_failed(bench: Bench, mode: str) -> None:
    run = await settle(bench, bench.open(write_hooks(durable_hook("echo no >&2; exit 3", mode=mode))))
    job = get(bench, run.id)
    assert run.status == "failed"
    assert (job.state, job.exit_code, job.error, job.stderr) == ("failed", 3, "exit code 3", "no\n")


async def test_a_hook_that_is_killed_is_failed(bench: Bench) -> None:
    run = await settle(bench, bench.open(write_hooks(durable_hook("kill -KILL $$"))))
    job = get(bench, run.id)
    assert (job.state, job.exit_code, job.signal) == ("failed", None, 9)


async def test_a_hook_out_of_time_is_failed(bench: Bench) -> None:
    run = await settle(bench, bench.open(write_hooks(durable_hook("sleep 60", timeout_seconds=0.2))))
    job = get(bench, run.id)
    assert (run.status, job.state) == ("timeout", "failed")
    assert job.error == "no end within 0.2 s"


async def test_a_hook_that_cannot_be_started_is_failed(bench: Bench) -> None:
    entry = make_entry(
        "job", {"type": "script", "path": "gone.sh"}, event="after_turn", mode="async", delivery="durable"
    )
    run = await settle(bench, bench.open(write_hooks(entry)))
    job = get(bench, run.id)
    assert (run.status, job.state) == ("failed", "failed")
    assert "gone.sh" in (job.error or "")


async def test_a_cancelled_hook_stays_pending(bench: Bench) -> None:
    engine = bench.open(write_hooks(durable_hook(UNTIL_GO)))
    run = await fire(bench, engine)
    await wait_for_pid(bench.project / "started")
    (ended,) = await engine.drain_session("s1", grace_s=0)
    job = get(bench, run.id)
    assert (ended.status, job.state, job.starts) == ("cancelled", "pending", 1)


async def test_a_hook_that_waited_for_its_turn_when_its_session_ended_stays_pending(bench: Bench) -> None:
    engine = bench.open(write_hooks(durable_hook(UNTIL_GO), max_parallel_hooks=1))
    await fire(bench, engine)
    second = await fire(bench, engine)
    await wait_for_pid(bench.project / "started")
    await engine.drain_session("s1", grace_s=0)
    assert (get(bench, second.id).state, get(bench, second.id).starts) == ("pending", 0)


async def test_a_hook_whose_background_child_lives_on_is_done_and_can_be_retried(bench: Bench) -> None:
    """The child has inherited the claim; it must not hold a job that is over."""
    engine = bench.open(write_hooks(durable_hook("sleep 60 > /dev/null 2>&1 & echo $! > child; exit 1")))
    run = await settle(bench, engine)
    child = await wait_for_pid(bench.project / "child")
    try:
        store = open_outbox(bench.home)
        assert is_running(child)
        assert store.retry(run.id) is not None
        assert store.claim(run.id) is not None
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("mode", ["blocking", "async"])
async def test_only_a_durable_hook_that_nobody_waits_for_is_stored(bench: Bench, mode: str) -> None:
    hook = shell_hook(
        "a", NOTE, event="after_turn", mode=mode, delivery="durable" if mode == "blocking" else "best_effort"
    )
    await settle(bench, bench.open(write_hooks(hook)), "a")
    assert lines(bench) == [" "]
    assert open_outbox(bench.home).count() == {"pending": 0, "done": 0, "failed": 0}


async def test_each_hook_of_an_event_has_a_job_of_its_own(bench: Bench) -> None:
    hooks = (durable_hook("exit 1", "a"), durable_hook("true", "b", mode="fire_and_forget"))
    engine = bench.open(write_hooks(*hooks))
    decision = await engine.settle(await engine.fire(turn(bench)))
    states = {job.hook_id: job.state for run in decision.runs for job in [get(bench, run.id)]}
    assert states == {"a": "failed", "b": "done"}


async def test_a_closed_engine_says_that_it_stores_nothing(bench: Bench) -> None:
    engine = bench.open(write_hooks(durable_hook("true")))
    await engine.aclose()
    run = await fire(bench, engine)
    assert (run.status, run.reason) == ("skipped", "the engine is closed")


async def test_under_trio_jobs_are_stored_and_run_too(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook(NOTE)))
    said, _ = run_host(
        bench,
        """
        import trio
        async def main():
            with open_engine() as engine:
                decision = await engine.settle(await engine.fire(turn()))
            say(describe(decision.runs))
        trio.run(main)
        """,
    )
    assert said == "job=ok\n"
    assert open_outbox(bench.home).count()["done"] == 1


# What a hook is told


async def test_a_hook_is_told_its_job_in_payload_and_environment(bench: Bench) -> None:
    run = await settle(bench, bench.open(write_hooks(durable_hook(f"{NOTE}; cat > payload"))))
    payload = json.loads(bench.read("payload"))
    assert lines(bench) == [f"{run.id} 1"]
    assert (payload["job_id"], payload["event"], payload["turn"]) == (run.id, "after_turn", 1)


async def test_a_hook_that_is_not_durable_is_told_of_no_job(bench: Bench) -> None:
    hook = shell_hook("job", f"{NOTE}; cat > payload", event="after_turn", mode="async")
    await settle(bench, bench.open(write_hooks(hook)))
    assert lines(bench) == [" "]
    assert "job_id" not in json.loads(bench.read("payload"))


async def test_every_attempt_reads_the_same_payload_and_id(bench: Bench) -> None:
    text = f'{NOTE}; cat > "payload$HOOKLINE_JOB_ATTEMPT"; [ "$HOOKLINE_JOB_ATTEMPT" = 2 ] || sleep 60'
    engine = bench.open(write_hooks(durable_hook(text)))
    run = await fire(bench, engine)
    await wait_until(lambda: (bench.project / "payload1").exists() and bench.read("payload1") != "", "it has read")
    await engine.aclose(grace_s=0)
    bench.open()
    await until_emptied(bench)
    assert lines(bench) == [f"{run.id} 1", f"{run.id} 2"]
    assert bench.read("payload1") == bench.read("payload2")
    assert (get(bench, run.id).state, get(bench, run.id).starts) == ("done", 2)


async def test_a_recovered_hook_runs_where_its_event_was(bench: Bench) -> None:
    (bench.project / "there").mkdir()
    text = f'pwd >> {bench.project}/where; [ "$HOOKLINE_JOB_ATTEMPT" = 2 ] || sleep 60'
    engine = bench.open(write_hooks(durable_hook(text)))
    await engine.fire(replace(turn(bench), cwd=str(bench.project / "there")))
    await wait_until(lambda: len(lines(bench, "where")) == 1, "it has started")
    await engine.aclose(grace_s=0)
    bench.open()
    await until_emptied(bench)
    assert lines(bench, "where") == [str(bench.project / "there")] * 2


async def test_a_payload_with_anything_json_has_no_trouble(bench: Bench) -> None:
    text = "\ud800 \x00 日本語 😀"
    hook = shell_hook("job", "cat > payload", event="user_prompt_submit", mode="async", delivery="durable")
    engine = bench.open(write_hooks(hook))
    decision = await engine.settle(await engine.fire(make_prompt_event(text, cwd=str(bench.project))))
    assert decision.runs[0].status == "ok"
    assert json.loads(bench.read("payload"))["text"] == text


# Not accepted


async def test_a_job_that_is_not_accepted_runs_once_and_says_that_it_is_not_durable(bench: Bench) -> None:
    (bench.home / "hooks").mkdir(parents=True)
    (bench.home / "hooks" / "outbox").write_text("in the way")
    engine = bench.open(write_hooks(durable_hook(NOTE)))
    decision = await engine.fire(turn(bench))
    assert any("not durable: the outbox does not accept the job" in note for note in decision.runs[0].notes)
    assert any("not durable" in warning for warning in decision.warnings)
    decision = await engine.settle(decision)
    assert (decision.runs[0].status, lines(bench)) == ("ok", [" "])


async def test_on_a_full_disk_a_hook_runs_once_and_after_space_is_freed_the_next_is_durable(bench: Bench) -> None:
    """B66: on the full disk the caller sees that the event is not durable; the next one is stored and delivered."""
    bench.write(write_hooks(durable_hook(NOTE)))
    with small_disk(bench.root / "disk") as disk, Engine.open(bench.project, home=disk.folder, trust="all") as engine:
        await engine.settle(await engine.fire(turn(bench)))
        disk.fill()
        refused = await engine.settle(await engine.fire(turn(bench)))
        disk.free()
        accepted = await engine.settle(await engine.fire(turn(bench)))
        store = FileOutbox(disk.folder / "hooks" / "outbox")
        counts = dict(store.count())
    assert [lines(bench)[1], counts["done"], counts["pending"]] == [" ", 2, 0]
    assert any("not durable" in warning for warning in refused.warnings)
    assert (accepted.warnings, accepted.runs[0].status) == ((), "ok")


async def test_a_payload_that_cannot_be_stored_is_reported(bench: Bench) -> None:
    """NaN is no JSON: nothing can be stored, and the hook cannot be told."""
    hook = shell_hook("job", NOTE, event="before_tool_call", mode="async", delivery="durable")
    engine = bench.open(write_hooks(hook))
    decision = await engine.settle(await engine.fire(bench.event(args={"x": float("nan")})))
    assert decision.runs[0].status == "failed"
    assert any("not durable" in warning for warning in decision.warnings)
    assert open_outbox(bench.home).count() == {"pending": 0, "done": 0, "failed": 0}


# Too many


async def test_a_job_for_which_there_is_no_room_waits_in_the_outbox(bench: Bench) -> None:
    engine = bench.open(write_hooks(durable_hook(UNTIL_GO), max_parallel_hooks=1, max_queued_hooks=1))
    runs = [await fire(bench, engine, number) for number in range(4)]
    assert [run.status for run in runs] == ["queued"] * 4
    assert [run.reason for run in runs] == [None, None, "waits in the outbox", "waits in the outbox"]
    assert open_outbox(bench.home).count()["pending"] == 4


async def test_jobs_that_waited_in_the_outbox_are_run_by_the_same_engine_each_once(bench: Bench) -> None:
    text = f"{NOTE}; while [ ! -e go ]; do sleep 0.02; done"
    engine = bench.open(write_hooks(durable_hook(text), max_parallel_hooks=1, max_queued_hooks=1))
    runs = [await fire(bench, engine, number) for number in range(5)]
    (bench.project / "go").touch()
    await until_emptied(bench)
    assert sorted(lines(bench)) == sorted(f"{run.id} 1" for run in runs)
    assert open_outbox(bench.home).count()["done"] == 5


async def test_a_job_that_comes_to_wait_while_the_outbox_is_recovered_is_run_too(bench: Bench) -> None:
    """The look through the outbox has passed it by already when it is stored."""
    text = f"{NOTE}; while [ ! -e go ]; do sleep 0.02; done"
    bench.write(write_hooks(durable_hook(text), max_parallel_hooks=1, max_queued_hooks=1))
    put_pending(bench)
    engine = bench.open()
    await wait_until(lambda: len(lines(bench)) == 1, "the old job is run")
    runs = [await fire(bench, engine, number) for number in range(3)]
    assert "waits in the outbox" in [run.reason for run in runs]
    (bench.project / "go").touch()
    await until_emptied(bench)
    assert open_outbox(bench.home).count()["done"] == 4


# Recovery


async def test_an_engine_runs_what_was_left_behind(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook(NOTE)))
    jobs = put_pending(bench, 3)
    bench.open()
    await until_emptied(bench)
    assert sorted(lines(bench)) == sorted(f"{job_id} 1" for job_id in jobs)


async def test_an_engine_comes_back_for_what_is_not_old_enough_yet(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook(NOTE), outbox_retry_age_seconds=0.5))
    (job_id,) = put_pending(bench, age_s=0)
    started = time.monotonic()
    bench.open()
    await until_emptied(bench)
    assert time.monotonic() - started >= 0.3
    assert get(bench, job_id).state == "done"


async def test_an_engine_without_durable_hooks_leaves_the_outbox_alone(bench: Bench) -> None:
    bench.write(write_hooks(shell_hook("other", "true", event="after_turn", mode="async")))
    put_pending(bench, hook_id="gone")
    engine = bench.open()
    await settle(bench, engine, "other")
    assert open_outbox(bench.home).count()["pending"] == 1


async def test_a_job_that_was_started_too_often_fails_at_the_next_start(bench: Bench) -> None:
    """Case 8: after three starts that came to no end it fails."""
    bench.write(write_hooks(durable_hook(NOTE)))
    (job_id,) = put_pending(bench, starts=3, last_start=utc_now())
    bench.open()
    await until_emptied(bench)
    assert lines(bench) == []
    assert (get(bench, job_id).state, get(bench, job_id).starts) == ("failed", 3)


async def test_a_job_whose_hook_is_gone_fails_at_the_next_start(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook("true", "new")))
    (job_id,) = put_pending(bench)
    bench.open()
    await until_emptied(bench)
    assert "the hook 'job' is no more in" in (get(bench, job_id).error or "")


async def test_jobs_of_another_project_wait_for_it(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook(NOTE)))
    (theirs,) = put_pending(bench, file=bench.root / "elsewhere" / "hooks.yaml")
    (mine,) = put_pending(bench)
    bench.open()
    await wait_until(lambda: get(bench, mine).state == "done", "the job of this project is done")
    assert get(bench, theirs).state == "pending"


async def test_a_project_that_is_not_trusted_runs_none_of_its_jobs(bench: Bench) -> None:
    """What a repository brought is not run because it was stored before; nor is it thrown away."""
    bench.write(write_hooks(durable_hook(NOTE)))
    (job_id,) = put_pending(bench)
    bench.write(write_hooks(durable_hook("true", "mine")), layer="user")
    with bench.open(trust="none") as engine:
        await settle(bench, engine, "mine")
    assert (get(bench, job_id).state, lines(bench)) == ("pending", [])


@pytest.mark.parametrize(
    "fields", [{"payload": {"event": "before_turn"}}, {"payload": {"turn": "none"}}, {"event": "no_such_event"}]
)
async def test_a_job_that_no_event_can_be_made_of_fails_with_the_reason(bench: Bench, fields: dict[str, Any]) -> None:
    """It would be looked at for ever, and nobody would hear of it."""
    bench.write(write_hooks(durable_hook(NOTE)))
    (job_id,) = put_pending(bench, **fields)
    bench.open()
    await until_emptied(bench)
    assert (get(bench, job_id).state, lines(bench)) == ("failed", [])
    assert get(bench, job_id).error


async def test_a_job_that_no_event_can_be_made_of_does_not_stop_the_others(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook(NOTE)))
    put_pending(bench, job_id="0", payload={"turn": "none"})
    (good,) = put_pending(bench, job_id="1")
    bench.open()
    await wait_until(lambda: get(bench, good).state == "done", "the good job is done")


async def test_torn_and_foreign_files_are_set_aside_and_the_rest_is_delivered(bench: Bench) -> None:
    """B66: a store cut in the middle of a record loses that record alone, which is kept and counted."""
    bench.write(write_hooks(durable_hook(NOTE)))
    jobs = sorted(put_pending(bench, 3))
    pending = bench.home / "hooks" / "outbox" / "pending"
    os.truncate(pending / f"{jobs[1]}.json", (pending / f"{jobs[1]}.json").stat().st_size - 10)
    (pending / "readme.txt").write_text("hello")
    bench.open()
    await until_emptied(bench)
    assert sorted(line.split()[0] for line in lines(bench)) == [jobs[0], jobs[2]]
    assert open_outbox(bench.home).count() == {"pending": 0, "done": 2, "failed": 2}


async def test_what_crashed_writers_left_is_swept_at_the_start(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook(NOTE)))
    put_pending(bench)
    stale = bench.home / "hooks" / "outbox" / "pending" / ".x.0a1b2c3d"
    stale.write_bytes(b"half")
    os.utime(stale, (time.time() - 2 * HOUR_S,) * 2)
    bench.open()
    await until_emptied(bench)
    await wait_until(lambda: not stale.exists(), "the stale file is gone", within_s=3)


async def test_what_ended_long_ago_is_removed_at_the_start(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook("true")))
    bench.write("settings: {outbox_keep_done_days: 2}", layer="user")
    (old,) = put_pending(bench)
    with bench.open():
        await until_emptied(bench)
    path = bench.home / "hooks" / "outbox" / "done" / f"{old}.json"
    os.utime(path, (time.time() - 3 * 24 * HOUR_S,) * 2)
    bench.open()
    await wait_until(lambda: not path.exists(), "the old job is removed")


async def test_recovered_runs_are_in_the_run_log_each_once_with_their_attempt(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook(NOTE)))
    jobs = put_pending(bench, 3, starts=1, last_start=utc_now())
    engine = bench.open()
    await until_emptied(bench)
    await engine.aclose()
    records = read_log(bench)
    assert sorted(record["run"] for record in records) == sorted(jobs)
    assert {(record["status"], record["attempt"]) for record in records} == {("ok", 2)}


async def test_two_engines_on_one_home_run_each_job_once(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook(f"{NOTE}; sleep 0.02")))
    jobs = put_pending(bench, 24)
    for _ in range(2):
        bench.open()
    await until_emptied(bench)
    assert sorted(lines(bench)) == sorted(f"{job_id} 1" for job_id in jobs)


async def test_what_another_engine_runs_is_no_run_of_this_one(bench: Bench) -> None:
    """The log tells of runs that happened; a look at somebody else's job is none."""
    bench.write(write_hooks(durable_hook(UNTIL_GO)))
    (job_id,) = put_pending(bench)
    bench.open()
    await wait_for_pid(bench.project / "started")
    second = bench.open()
    (own,) = put_pending(bench)
    await wait_until(lambda: get(bench, own).starts == 1, "the second engine has looked at both")
    (bench.project / "go").touch()
    await until_emptied(bench)
    await second.aclose()
    assert sorted((record["run"], record["status"]) for record in read_log(bench)) == sorted(
        [(job_id, "ok"), (own, "ok")]
    )


async def test_of_two_engines_one_that_lives_finishes_what_the_other_left(bench: Bench) -> None:
    """Case 9: one is killed; what it was at is run by the other, without anybody starting a new one."""
    bench.write(write_hooks(durable_hook(f"{NOTE}; [ $HOOKLINE_JOB_ATTEMPT = 2 ] || sleep 60"), max_parallel_hooks=2))
    jobs = put_pending(bench, 2)
    with start_host(bench, "engine = open_engine(); say('ready'); time.sleep(600)") as host:
        await wait_until(lambda: len(lines(bench)) == 2, "the first engine runs both jobs")
        await wait_until(lambda: is_old_enough(bench.home), "both are old enough to be looked at")
        bench.open()
        await wait_until(lambda: len(list((bench.home / "hooks" / "outbox" / "locks").iterdir())) == 2, "both are held")
        hooks = [int(pid) for pid in find_hook_pids(bench)]
        host.kill()
    for pid in hooks:
        os.kill(pid, signal.SIGKILL)
    await until_emptied(bench)
    assert {get(bench, job_id).state for job_id in jobs} == {"done"}


def find_hook_pids(bench: Bench) -> list[str]:
    """The processes that run in the project below a host."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                is_below = (entry / "cwd").readlink() == bench.project
                is_hook = b"HOOKLINE_JOB_ID=" in (entry / "environ").read_bytes()
            except OSError:
                continue
            if is_below and is_hook:
                found.append(entry.name)
    return found


# Chrys


async def test_a_chrys_hook_is_stored_and_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its payload holds is documented, and stays so; the environment tells of the job."""
    bench.write(chrys_file(f'{NOTE}; cat "$CHRYS_HOOK_PAYLOAD_FILE" > payload'), dialect="chrys")
    monkeypatch.setenv("SHELL", "/bin/sh")
    engine = bench.open(dialects=["chrys"])
    run = await settle(bench, engine)
    assert (get(bench, run.id).state, lines(bench)) == ("done", [f"{run.id} 1"])
    assert set(json.loads(bench.read("payload"))) >= {
        "schema",
        "event",
        "timestamp",
        "session_id",
        "profile",
        "cwd",
        "turn",
    }
    assert "job_id" not in json.loads(bench.read("payload"))


async def test_a_chrys_hook_that_was_left_behind_is_run_again_with_the_same_payload(bench: Bench) -> None:
    text = (
        'cat "$CHRYS_HOOK_PAYLOAD_FILE" > "payload$HOOKLINE_JOB_ATTEMPT"; [ "$HOOKLINE_JOB_ATTEMPT" = 2 ] || sleep 60'
    )
    bench.write(chrys_file(text), dialect="chrys")
    engine = bench.open(dialects=["chrys"])
    run = await fire(bench, engine)
    await wait_until(lambda: (bench.project / "payload1").exists() and bench.read("payload1") != "", "it has read")
    await engine.aclose(grace_s=0)
    bench.open(dialects=["chrys"])
    await until_emptied(bench)
    assert (get(bench, run.id).state, get(bench, run.id).source.dialect) == ("done", "chrys")
    assert bench.read("payload1") == bench.read("payload2")


def chrys_file(text: str) -> str:
    return write_file(
        make_entry("job", {"type": "shell", "shell": text}, event="after_turn", mode="async", delivery="durable"),
        settings={"outbox_retry_age_seconds": 0.2},
    )


# Other ways to come and go


async def test_two_hooks_of_the_same_name_in_two_layers_are_two(bench: Bench) -> None:
    bench.write(write_hooks(durable_hook("echo user >> who")), layer="user")
    bench.write(write_hooks(durable_hook("echo project >> who")))
    put_pending(bench)
    put_pending(bench, file=(bench.hooks_folder("user") / "hooks.yaml").resolve())
    bench.open()
    await until_emptied(bench)
    assert sorted(lines(bench, "who")) == ["project", "user"]


async def test_a_home_that_is_removed_under_way_costs_durability_but_no_run(bench: Bench) -> None:
    engine = bench.open(write_hooks(durable_hook(NOTE)))
    await settle(bench, engine)
    shutil.rmtree(bench.home)
    run = await settle(bench, engine)
    assert run.status == "ok"
    assert len(lines(bench)) == 2


async def test_a_hook_of_a_session_event_is_durable_too(bench: Bench) -> None:
    hook = command_hook("job", "true", event="session_start", mode="async", delivery="durable")
    engine = bench.open(write_hooks(hook))
    decision = await engine.settle(await engine.fire(Event(SessionStart(), cwd=str(bench.project))))
    assert get(bench, decision.runs[0].id).state == "done"


async def test_a_job_of_an_older_version_lacks_nothing(bench: Bench) -> None:
    """Fields that are unknown are passed over, those that are missing have their defaults."""
    bench.write(write_hooks(durable_hook(NOTE)))
    put_pending(bench)
    (path,) = (bench.home / "hooks" / "outbox" / "pending").iterdir()
    data = json.loads(path.read_text())
    kept = {"id", "hook_id", "event", "payload", "source", "created_at"}
    path.write_text(json.dumps({key: data[key] for key in kept} | {"novelty": 1}))
    bench.open()
    await until_emptied(bench)
    assert len(lines(bench)) == 1
    assert encode_job(get(bench, data["id"]))


def read_log(bench: Bench) -> list[dict[str, Any]]:
    paths = sorted((bench.home / "hooks" / "log").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines() if line]
