"""Detached hooks: they outlive their host, are finished without it, and leave no secret behind."""

from __future__ import annotations

import json
import os
import signal
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from entries import command_hook, make_entry, shell_hook, write_file
from hookline import AfterTurn, Engine, Event, Failure, Run
from hookline.job import Job
from hosts import start_host
from jobs import is_emptied, open_outbox
from support import Bench
from waiting import is_running, wait_for_end, wait_until

UNTIL_GO = "echo $$ $PPID > pids; while [ ! -e go ]; do sleep 0.02; done; echo > finished"
DELIVERIES = pytest.mark.parametrize("delivery", ["best_effort", "durable"])
_FIRE = "engine = open_engine(); decision = engine.fire_sync(turn()); say('fired', describe(decision.runs))\n"


def detached_hook(text: str, *, delivery: str = "best_effort", **options: Any) -> dict[str, Any]:
    return shell_hook(
        "job", text, event="after_turn", mode="fire_and_forget", detach=True, delivery=delivery, **options
    )


def write_hooks(*hooks: Mapping[str, Any], **settings: Any) -> str:
    return write_file(*hooks, settings={"outbox_retry_age_seconds": 0.2, **settings})


def turn(bench: Bench) -> Event:
    return Event(AfterTurn(turn=1), cwd=str(bench.project), session_id="s1")


async def launch(bench: Bench, engine: Engine) -> Run:
    """Fire an event that one detached hook is for; returns its run once that has been started."""
    (run,) = (await engine.settle(await engine.fire(turn(bench)))).runs
    return run


async def read_pids(bench: Bench) -> tuple[int, int]:
    """The process of the hook, and the one that stands between."""
    path = bench.project / "pids"
    await wait_until(lambda: path.exists() and path.read_text().endswith("\n"), "the hook has started")
    hook, supervisor = path.read_text().split()
    return int(hook), int(supervisor)


def go(bench: Bench) -> None:
    (bench.project / "go").touch()


def read_log(bench: Bench) -> list[dict[str, Any]]:
    paths = sorted((bench.home / "hooks" / "log").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines() if line]


async def wait_for_record(bench: Bench) -> dict[str, Any]:
    """What the run log says of the end of the only run."""
    await wait_until(lambda: any(is_end(record) for record in read_log(bench)), "the end is in the log")
    (record,) = (record for record in read_log(bench) if is_end(record))
    return record


def is_end(record: Mapping[str, Any]) -> bool:
    return record["status"] != "detached"


def output_of(bench: Bench, run: Run) -> Path:
    return bench.home / "hooks" / "logs" / f"{run.id}.log"


def calls_of(bench: Bench) -> list[Path]:
    """What lies where detached hooks read their payloads."""
    folder = bench.home / "hooks" / "detached"
    return sorted(folder.iterdir()) if folder.exists() else []


def get(bench: Bench, run: Run) -> Job:
    job = open_outbox(bench.home).get(run.id)
    assert job is not None
    return job


async def until_emptied(bench: Bench) -> None:
    store = open_outbox(bench.home)
    await wait_until(lambda: is_emptied(store), "no job is pending", within_s=10)


# Outliving the host


@DELIVERIES
@pytest.mark.parametrize(
    "end",
    [
        lambda host: host.kill(),
        lambda host: host.kill(signal.SIGTERM),
        lambda host: host.kill(signal.SIGINT),
        lambda host: host.process.communicate(b"exit\n"),
    ],
    ids=["kill", "term", "interrupt", "exit"],
)
async def test_a_detached_hook_goes_on_when_its_host_has_ended(
    bench: Bench, delivery: str, end: Callable[[Any], object]
) -> None:
    """B64, case 7: however the host ends, the hook ends by itself, and its end is written down."""
    bench.write(write_hooks(detached_hook(f"{UNTIL_GO}; echo bye", delivery=delivery)))
    with start_host(bench, f"{_FIRE}sys.stdin.readline()", stdin=-1) as host:
        assert host.read("fired") == ("job=detached" if delivery == "best_effort" else "job=queued")
        hook, _ = await read_pids(bench)
        end(host)
    assert is_running(hook)
    go(bench)
    record = await wait_for_record(bench)
    assert (bench.project / "finished").exists()
    assert (record["status"], record["exit_code"], record["stdout"]) == ("ok", 0, "bye\n")
    if delivery == "durable":
        await until_emptied(bench)
        assert open_outbox(bench.home).count() == {"pending": 0, "done": 1, "failed": 0}


async def test_an_engine_that_closes_does_not_wait_for_a_detached_hook(bench: Bench) -> None:
    engine = bench.open(write_hooks(detached_hook(UNTIL_GO)))
    await launch(bench, engine)
    hook, _ = await read_pids(bench)
    started = time.monotonic()
    await engine.aclose()
    assert time.monotonic() - started < 3
    assert is_running(hook)
    go(bench)
    assert (await wait_for_record(bench))["status"] == "ok"


async def test_a_detached_hook_has_no_time_limit(bench: Bench) -> None:
    await launch(bench, bench.open(write_hooks(detached_hook("sleep 0.5", timeout_seconds=0.05))))
    assert (await wait_for_record(bench))["status"] == "ok"


async def test_detached_hooks_take_no_slot(bench: Bench) -> None:
    other = shell_hook("other", "echo > other", event="after_turn", mode="async")
    engine = bench.open(write_hooks(detached_hook(UNTIL_GO), other, max_parallel_hooks=1))
    await engine.settle(await engine.fire(turn(bench)))
    assert (bench.project / "other").exists()
    go(bench)
    await wait_for_record(bench)


async def test_a_detached_hook_has_a_session_of_its_own(bench: Bench) -> None:
    await launch(bench, bench.open(write_hooks(detached_hook(UNTIL_GO))))
    hook, supervisor = await read_pids(bench)
    assert os.getsid(hook) == supervisor != os.getsid(0)
    go(bench)
    await wait_for_record(bench)


# How it ends


async def test_a_run_is_logged_as_detached_at_its_start_and_once_at_its_end(bench: Bench) -> None:
    run = await launch(bench, bench.open(write_hooks(detached_hook("echo out; echo err >&2"))))
    await wait_for_record(bench)
    records = read_log(bench)
    assert [record["status"] for record in records] == ["detached", "ok"]
    assert {record["run"] for record in records} == {run.id}
    assert records[1]["duration_ms"] > 0


@DELIVERIES
async def test_a_hook_that_fails_is_failed(bench: Bench, delivery: str) -> None:
    run = await launch(bench, bench.open(write_hooks(detached_hook("echo no >&2; exit 3", delivery=delivery))))
    record = await wait_for_record(bench)
    found = (record["status"], record["kind"], record["exit_code"], record["signal"], record["error"], record["stdout"])
    assert found == ("failed", "exit", 3, None, "exit code 3", "no\n")
    if delivery == "durable":
        await until_emptied(bench)
        assert (get(bench, run).state, get(bench, run).exit_code) == ("failed", 3)


@DELIVERIES
async def test_a_hook_that_is_killed_is_failed(bench: Bench, delivery: str) -> None:
    run = await launch(bench, bench.open(write_hooks(detached_hook("kill -KILL $$", delivery=delivery))))
    record = await wait_for_record(bench)
    found = (record["status"], record["kind"], record["exit_code"], record["signal"])
    assert found == ("failed", "signal", None, 9)
    if delivery == "durable":
        await until_emptied(bench)
        assert (get(bench, run).state, get(bench, run).signal) == ("failed", 9)


@DELIVERIES
@pytest.mark.parametrize(
    ("run", "needle"),
    [
        ({"type": "script", "path": "gone.sh"}, "gone.sh"),
        ({"type": "command", "argv": ["no-such-program"]}, "no-such-program"),
        ({"type": "shell", "shell": "true", "cwd": "/no/such/folder"}, "/no/such/folder"),
        ({"type": "command", "argv": ["true"], "env": {"A": "x" * 200_000}}, "variable A"),
    ],
    ids=["script", "program", "folder", "environment"],
)
async def test_a_hook_that_cannot_be_started_is_failed_at_once(
    bench: Bench, delivery: str, run: dict[str, Any], needle: str
) -> None:
    entry = make_entry("job", run, event="after_turn", mode="fire_and_forget", detach=True, delivery=delivery)
    ended = await launch(bench, bench.open(write_hooks(entry)))
    assert isinstance(ended.outcome, Failure)
    assert (ended.status, ended.outcome.kind) == ("failed", "spawn")
    assert needle in ended.outcome.message
    assert calls_of(bench) == []
    if delivery == "durable":
        assert (get(bench, ended).state, get(bench, ended).error) == ("failed", ended.outcome.message)


@pytest.mark.parametrize("text", ["é" * 2000, "😀" * 2000, "a b" * 700], ids=["accents", "emoji", "ascii"])
async def test_a_large_event_is_no_hindrance(bench: Bench, text: str) -> None:
    """What a model puts into the arguments of a tool must not keep a hook from running."""
    hook = {**detached_hook("cat > payload"), "event": "before_tool_call"}
    engine = bench.open(write_hooks(hook))
    args = {f"a{number}": text for number in range(100)}
    decision = await engine.settle(await engine.fire(bench.event(args=args)))
    assert decision.runs[0].status == "detached", decision.runs[0].outcome
    assert (await wait_for_record(bench))["status"] == "ok"
    assert json.loads(bench.read("payload"))["tool"]["args"] == args


async def test_output_goes_to_a_file_closed_to_others(bench: Bench) -> None:
    before = os.umask(0)
    try:
        run = await launch(bench, bench.open(write_hooks(detached_hook("echo out; echo err >&2"))))
    finally:
        os.umask(before)
    await wait_for_record(bench)
    output = output_of(bench, run)
    assert output.read_text() == "out\nerr\n"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (output, output.parent)] == [0o600, 0o700]


async def test_of_much_output_the_end_is_in_the_log_and_all_of_it_in_its_file(bench: Bench) -> None:
    run = await launch(bench, bench.open(write_hooks(detached_hook("yes x | head -c 1000000; echo; echo last"))))
    record = await wait_for_record(bench)
    assert record["stdout"].endswith("x\n\nlast\n")
    assert len(record["stdout"]) <= 2000
    assert output_of(bench, run).stat().st_size > 1_000_000


@DELIVERIES
async def test_its_payload_is_removed_in_the_end(bench: Bench, delivery: str) -> None:
    await launch(bench, bench.open(write_hooks(detached_hook(f"cat > payload; {UNTIL_GO}", delivery=delivery))))
    await read_pids(bench)
    assert len(calls_of(bench)) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in calls_of(bench)} == {0o600}
    go(bench)
    await wait_until(lambda: calls_of(bench) == [], "the files of the call are gone")
    assert json.loads(bench.read("payload"))["event"] == "after_turn"


async def test_payloads_that_nobody_finished_are_swept_in_the_end(bench: Bench) -> None:
    """A hook whose supervisor was killed leaves its payload; it is not kept for ever."""
    forgotten = bench.home / "hooks" / "detached" / "0123.json"
    forgotten.parent.mkdir(parents=True)
    forgotten.write_text("{}")
    os.utime(forgotten, (time.time() - 365 * 24 * 3600,) * 2)
    await launch(bench, bench.open(write_hooks(detached_hook("true"))))
    await wait_for_record(bench)
    await wait_until(lambda: not forgotten.exists(), "the old payload is gone", within_s=3)


async def test_nothing_of_it_runs_on_in_the_end(bench: Bench) -> None:
    await launch(bench, bench.open(write_hooks(detached_hook(UNTIL_GO, delivery="durable"))))
    hook, supervisor = await read_pids(bench)
    go(bench)
    await until_emptied(bench)
    await wait_for_end(supervisor)
    assert not is_running(hook)


# Secrets


@DELIVERIES
async def test_no_secret_of_the_environment_is_ever_on_disk(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, delivery: str
) -> None:
    monkeypatch.setenv("SOME_VARIABLE", "correct-horse-battery")
    text = f'[ "$SOME_VARIABLE" = correct-horse-battery ] && [ "$OWN" = staple-staple ] && {UNTIL_GO}'
    await launch(bench, bench.open(write_hooks(detached_hook(text, delivery=delivery, env={"OWN": "staple-staple"}))))
    await read_pids(bench)
    assert find_below(bench.home, b"correct-horse-battery") == []
    assert find_below(bench.home, b"staple-staple") == []
    go(bench)
    record = await wait_for_record(bench)
    assert record["status"] == "ok"
    assert find_below(bench.home, b"correct-horse-battery") == []


@pytest.mark.parametrize("policy", ["none", "redacted", "full"])
async def test_a_payload_is_not_shown_to_other_users_in_the_list_of_processes(bench: Bench, policy: str) -> None:
    """Command lines can be read by everybody on the machine."""
    bench.write(f"settings: {{log_payloads: {policy}}}\n", layer="user")
    hook = {**detached_hook(UNTIL_GO), "event": "before_tool_call"}
    engine = bench.open(write_hooks(hook))
    await engine.settle(await engine.fire(bench.event(args={"command": "rosebud"})))
    _, supervisor = await read_pids(bench)
    assert not [process for process in family_of(supervisor) if "rosebud" in " ".join(process.cmdline())]
    go(bench)
    record = await wait_for_record(bench)
    assert ("rosebud" in json.dumps(record)) is (policy != "none")


@pytest.mark.parametrize(("policy", "is_kept"), [("none", False), ("redacted", False), ("full", True)])
async def test_secrets_in_its_output_are_redacted_in_the_log(bench: Bench, policy: str, is_kept: bool) -> None:
    bench.write(f"settings: {{log_payloads: {policy}}}\n", layer="user")
    await launch(bench, bench.open(write_hooks(detached_hook("echo sk-abcdefghijklmnopqrstuvwx; exit 1"))))
    record = await wait_for_record(bench)
    assert ("sk-abcdefghijklmnopqrstuvwx" in record["stdout"]) is is_kept


def find_below(folder: Path, needle: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]


def family_of(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


# Killed supervisors


async def test_when_its_supervisor_is_killed_the_hook_goes_on(bench: Bench) -> None:
    engine = bench.open(write_hooks(detached_hook(UNTIL_GO, delivery="durable")))
    run = await launch(bench, engine)
    hook, supervisor = await read_pids(bench)
    os.kill(supervisor, signal.SIGKILL)
    await wait_for_end(supervisor)
    assert is_running(hook)
    assert (get(bench, run).state, open_outbox(bench.home).claim(run.id)) == ("pending", None)
    go(bench)
    await wait_for_end(hook)
    assert (bench.project / "finished").exists()
    assert get(bench, run).state == "pending"


async def test_a_job_whose_supervisor_was_killed_is_started_again_with_its_id_and_the_next_attempt(
    bench: Bench,
) -> None:
    """B65: it is not started while the hook runs on, and then once more."""
    note = 'cat > "$HOOKLINE_JOB_ID.$HOOKLINE_JOB_ATTEMPT"; echo "$HOOKLINE_JOB_ID $HOOKLINE_JOB_ATTEMPT" >> attempts'
    text = f"{note}; {UNTIL_GO}"
    engine = bench.open(write_hooks(detached_hook(text, delivery="durable")))
    run = await launch(bench, engine)
    hook, supervisor = await read_pids(bench)
    os.kill(supervisor, signal.SIGKILL)
    await engine.aclose()
    with bench.open() as second:
        await launch(bench, second)
        assert is_running(hook)
        assert bench.read("attempts").count(run.id) == 1
    go(bench)
    await wait_for_end(hook)
    bench.open()
    await until_emptied(bench)
    assert (get(bench, run).state, get(bench, run).starts, get(bench, run).error) == ("done", 2, None)
    assert [line for line in bench.read("attempts").splitlines() if run.id in line] == [f"{run.id} 1", f"{run.id} 2"]
    assert bench.read(f"{run.id}.1") == bench.read(f"{run.id}.2")


async def test_a_living_engine_starts_a_job_again_whose_supervisor_was_killed(bench: Bench) -> None:
    text = 'echo $$ $PPID > pids; [ "$HOOKLINE_JOB_ATTEMPT" = 2 ] || sleep 0.3'
    engine = bench.open(write_hooks(detached_hook(text, delivery="durable")))
    run = await launch(bench, engine)
    _, supervisor = await read_pids(bench)
    os.kill(supervisor, signal.SIGKILL)
    bench.open()
    await until_emptied(bench)
    assert (get(bench, run).state, get(bench, run).starts) == ("done", 2)


async def test_a_killed_hook_and_supervisor_leave_the_job_pending(bench: Bench) -> None:
    run = await launch(bench, bench.open(write_hooks(detached_hook(UNTIL_GO, delivery="durable"))))
    _, supervisor = await read_pids(bench)
    os.killpg(supervisor, signal.SIGKILL)
    await wait_for_end(supervisor)
    await wait_until(lambda: open_outbox(bench.home).claim(run.id) is not None, "nobody holds the job")
    assert get(bench, run).state == "pending"


async def test_a_background_child_of_a_finished_hook_does_not_hold_its_job(bench: Bench) -> None:
    text = "sleep 60 > /dev/null 2>&1 & echo $! $! > pids; exit 1"
    run = await launch(bench, bench.open(write_hooks(detached_hook(text, delivery="durable"))))
    child, _ = await read_pids(bench)
    try:
        await until_emptied(bench)
        assert is_running(child)
        store = open_outbox(bench.home)
        assert store.retry(run.id) is not None
        assert store.claim(run.id) is not None
    finally:
        os.kill(child, signal.SIGKILL)


async def test_a_hook_of_any_kind_can_be_detached(bench: Bench) -> None:
    bench.write_script("note.sh", 'echo "script $1" > "$2"')
    script = make_entry(
        "script",
        {"type": "script", "path": "note.sh", "args": ["a b", "one"]},
        event="after_turn",
        mode="fire_and_forget",
        detach=True,
    )
    command = command_hook("command", "touch", "two $x", event="after_turn", mode="fire_and_forget", detach=True)
    engine = bench.open(write_hooks(script, command))
    await engine.fire(turn(bench))
    await wait_until(lambda: (bench.project / "two $x").exists() and (bench.project / "one").exists(), "both ran")
    assert bench.read("one") == "script a b\n"


async def test_a_chrys_hook_can_be_detached(bench: Bench) -> None:
    """Its payload is in the file that it is told, and its input is closed."""
    hook = make_entry(
        "job",
        {"type": "shell", "shell": 'cat; cat "$CHRYS_HOOK_PAYLOAD_FILE" > payload'},
        event="after_turn",
        mode="fire_and_forget",
        detach=True,
        delivery="durable",
    )
    bench.write(write_file(hook), dialect="chrys")
    run = await launch(bench, bench.open(dialects=["chrys"]))
    record = await wait_for_record(bench)
    await until_emptied(bench)
    assert (record["status"], record["stdout"], get(bench, run).state) == ("ok", "", "done")
    assert json.loads(bench.read("payload"))["event"] == "after_turn"
