"""The history of runs: every run once, secrets taken out, bounded, and whole whatever happens."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import make_failed_run, make_hook, make_run
from entries import command_hook, give_reply, shell_hook, write_file
from hookline import AfterTurn, Event, UserInterrupt, runlog
from hookline.hook import Settings
from hookline.runlog import LogQuery, RunLog, list_log_files, make_record, read_latest, read_records, write_time
from properties import steady
from storage import SmallDisk, small_disk, unprivileged
from support import Bench, make_event, make_result_event
from test_redact import PRIVATE_KEY, SECRETS
from waiting import wait_for_pid, wait_until

SECRET = SECRETS["github"]
UNTIL_GO = "echo $$ > started; while [ ! -e go ]; do sleep 0.02; done"


def turn(bench: Bench, **options: Any) -> Event:
    return Event(AfterTurn(turn=1), **{"cwd": str(bench.project), "session_id": "s1", **options})


def read_log(bench: Bench) -> list[dict[str, Any]]:
    return list(read_records(bench.home / "hooks" / "log", LogQuery()))


async def run_to_the_end(bench: Bench, event: Event) -> list[dict[str, Any]]:
    """Fire an event, wait for everything, close; returns what the log says."""
    engine = bench.open()
    await engine.settle(await engine.fire(event))
    await engine.aclose()
    return read_log(bench)


# Every run once


@pytest.mark.parametrize(
    ("text", "status", "more"),
    [
        ("true", "ok", {"exit_code": 0, "effects": []}),
        ("exit 3", "failed", {"exit_code": 3, "kind": "exit", "error": "exit code 3"}),
        ("kill -KILL $$", "failed", {"signal": 9, "kind": "signal", "exit_code": None}),
        (give_reply(action="block", reason="no"), "blocked", {"effects": ["blocked"]}),
        (give_reply(action="modify", args_override={"a": 1}), "ok", {"effects": ["edited"]}),
        (give_reply(action="ask", reason="sure?"), "ok", {"effects": ["asked"]}),
        ("echo '{' > $HOOKLINE_HOOK_RESULT", "failed", {"kind": "reply"}),
    ],
    ids=["ok", "exit", "signal", "blocked", "edited", "asked", "reply"],
)
async def test_a_blocking_run_is_recorded_once_as_it_ended(
    bench: Bench, text: str, status: str, more: dict[str, Any]
) -> None:
    bench.write(write_file(shell_hook("h", text)))
    (record,) = await run_to_the_end(bench, bench.event())
    assert (record["status"], {key: record[key] for key in more}) == (status, more)


@pytest.mark.parametrize("mode", ["async", "fire_and_forget"])
@pytest.mark.parametrize("delivery", ["best_effort", "durable"])
@pytest.mark.parametrize(("text", "status"), [("true", "ok"), ("exit 3", "failed")])
async def test_a_run_that_nobody_waits_for_is_recorded_once_as_it_ended(
    bench: Bench, mode: str, delivery: str, text: str, status: str
) -> None:
    bench.write(write_file(shell_hook("h", text, event="after_turn", mode=mode, delivery=delivery)))
    (record,) = await run_to_the_end(bench, turn(bench))
    assert (record["status"], record.get("attempt")) == (status, 1 if delivery == "durable" else None)


@pytest.mark.parametrize("mode", ["blocking", "async"])
async def test_a_run_out_of_time_is_recorded_once(bench: Bench, mode: str) -> None:
    bench.write(write_file(shell_hook("h", "sleep 60", event="after_turn", mode=mode, timeout_seconds=0.1)))
    (record,) = await run_to_the_end(bench, turn(bench))
    assert (record["status"], record["kind"]) == ("timeout", "timeout")


@pytest.mark.parametrize("delivery", ["best_effort", "durable"])
async def test_a_cancelled_run_is_recorded_once_with_the_reason(bench: Bench, delivery: str) -> None:
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO, event="after_turn", mode="async", delivery=delivery)))
    await engine.fire(turn(bench))
    await wait_for_pid(bench.project / "started")
    await engine.aclose(grace_s=0)
    (record,) = read_log(bench)
    assert (record["status"], record["reason"]) == ("cancelled", "its session or engine ended before it did")


async def test_a_blocking_run_whose_caller_was_cancelled_is_recorded_once(bench: Bench) -> None:
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO)))
    task = asyncio.create_task(engine.fire(bench.event()))
    await wait_for_pid(bench.project / "started")
    task.cancel()
    await asyncio.wait([task])
    await engine.aclose()
    (record,) = read_log(bench)
    assert record["status"] == "cancelled"


async def test_skipped_runs_are_recorded_with_the_reason(bench: Bench) -> None:
    first = shell_hook("a", give_reply(action="block"))
    bench.write(write_file(first, command_hook("b", "true"), command_hook("c", "true", mode="async")))
    records = await run_to_the_end(bench, bench.event())
    assert [(record["hook"], record["status"]) for record in records] == [
        ("a", "blocked"),
        ("b", "skipped"),
        ("c", "skipped"),
    ]
    assert {record["reason"] for record in records[1:]} == {"hook 'a' blocked the event"}


async def test_a_run_that_edited_its_event_is_recorded_with_the_event_as_it_was_fired(bench: Bench) -> None:
    edit = shell_hook("edit", give_reply(action="modify", args_override={"command": "ls -A"}))
    bench.write(write_file(edit, command_hook("look", "true")))
    edited, looked = await run_to_the_end(bench, bench.event())
    assert edited["before"]["tool"]["args"] == {"command": "ls"}
    assert edited["payload"]["tool"]["args"] == {"command": "ls -A"}
    assert "before" not in looked


def test_secrets_are_taken_out_of_an_event_as_it_was_fired() -> None:
    run = replace(make_run(), effects=("edited",))
    before = make_event(args={"command": "ls", "password": "hunter22"})
    assert "hunter22" not in json.dumps(make_record(run, make_event(), payloads="redacted", before=before))
    assert "before" not in make_record(run, make_event(), payloads="none", before=before)


async def test_a_run_for_which_there_was_no_room_is_recorded(bench: Bench) -> None:
    hook = shell_hook("h", UNTIL_GO, event="after_turn", mode="async")
    engine = bench.open(write_file(hook, settings={"max_parallel_hooks": 1, "max_queued_hooks": 1}))
    for _ in range(3):
        await engine.fire(turn(bench))
    (bench.project / "go").touch()
    await engine.drain_turn("s1")
    await engine.aclose()
    assert Counter(record["status"] for record in read_log(bench)) == {"ok": 2, "skipped": 1}


async def test_runs_of_an_event_that_nobody_waits_for_are_recorded(bench: Bench) -> None:
    bench.write(write_file(command_hook("h", "true", event="user_interrupt")))
    (record,) = await run_to_the_end(bench, Event(UserInterrupt(), cwd=str(bench.project)))
    assert (record["event"], record["status"]) == ("user_interrupt", "ok")


async def test_runs_after_the_close_are_recorded(bench: Bench) -> None:
    engine = bench.open(write_file(command_hook("h", "true", mode="async")))
    await engine.aclose()
    await engine.fire(bench.event())
    (record,) = read_log(bench)
    assert (record["status"], record["reason"]) == ("skipped", "the engine is closed")


async def test_a_record_tells_whose_run_it_was(bench: Bench) -> None:
    path = bench.write(write_file(command_hook("h", "true", event="after_turn", mode="async")))
    event = turn(bench, session_id="s7")
    (record,) = await run_to_the_end(bench, event)
    told = {key: record[key] for key in ("hook", "event", "event_id", "session", "layer", "dialect", "mode", "agent")}
    assert told == {
        "hook": "h",
        "event": "after_turn",
        "event_id": event.event_id,
        "session": "s7",
        "layer": "project",
        "dialect": "native",
        "mode": "async",
        "agent": "main",
    }
    assert record["source"].startswith(str(path))
    assert record["duration_ms"] > 0
    assert abs(datetime.fromisoformat(record["at"]) - datetime.now(UTC)) < timedelta(seconds=60)


async def test_records_can_be_read_while_the_agent_runs(bench: Bench) -> None:
    engine = bench.open(write_file(command_hook("h", "true")))
    await engine.fire(bench.event())
    await wait_until(lambda: len(read_log(bench)) == 1, "the record is there")


async def test_where_nothing_runs_there_is_no_log(bench: Bench) -> None:
    engine = bench.open(write_file(command_hook("h", "true", event="after_turn")))
    await engine.fire(bench.event())
    await engine.aclose()
    assert not (bench.home / "hooks" / "log").exists()


async def test_files_are_closed_to_others(bench: Bench) -> None:
    before = os.umask(0)
    try:
        bench.write(write_file(command_hook("h", "true")))
        await run_to_the_end(bench, bench.event())
    finally:
        os.umask(before)
    folder = bench.home / "hooks" / "log"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, *list_log_files(folder))]
    assert modes == [0o700, 0o600]


# Secrets


def make_secret_run(**options: Any) -> Any:
    hook = make_hook(mode="async")
    failed = make_failed_run(hook, stderr=f"err {SECRET}")
    outcome = replace(failed.outcome, message=f"failed with {SECRET}")
    return replace(failed, stdout=f"out {SECRET}", outcome=outcome, notes=(f"note {SECRET}",), **options)


@pytest.mark.parametrize("where", ["stdout", "stderr", "error", "notes"])
def test_secrets_are_taken_out_of_what_a_run_said(where: str) -> None:
    record = make_record(make_secret_run(), make_event(), payloads="redacted")
    assert SECRET not in json.dumps(record[where])


def test_secrets_are_taken_out_of_a_reason() -> None:
    run = replace(make_run(make_hook()), reason=f"because {SECRET}")
    assert SECRET not in json.dumps(make_record(run, make_event(), payloads="redacted"))


def test_secrets_are_taken_out_of_a_payload_by_shape_and_by_key() -> None:
    event = make_event(args={"command": f"curl {SECRET}", "env": {"password": "hunter22"}, "path": "kept"})
    record = make_record(make_run(), event, payloads="redacted")
    text = json.dumps(record)
    assert SECRET not in text
    assert "hunter22" not in text
    assert record["payload"]["tool"]["args"]["path"] == "kept"


def test_secrets_are_taken_out_of_a_result() -> None:
    record = make_record(make_run(), make_result_event(f"token: {SECRET}"), payloads="redacted")
    assert SECRET not in json.dumps(record)


def test_with_the_policy_full_everything_is_kept() -> None:
    event = make_event(args={"command": SECRET, "password": "hunter22"})
    record = make_record(make_secret_run(), event, payloads="full")
    assert record["payload"]["tool"]["args"] == {"command": SECRET, "password": "hunter22"}
    assert all(SECRET in json.dumps(record[key]) for key in ("stdout", "stderr", "error"))


def test_with_the_policy_none_no_payload_is_kept_and_secrets_are_taken_out_of_the_rest() -> None:
    record = make_record(make_secret_run(), make_event(args={"command": "rosebud"}), payloads="none")
    assert "payload" not in record
    assert "rosebud" not in json.dumps(record)
    assert SECRET not in json.dumps({key: record[key] for key in ("stdout", "stderr", "error")})


@pytest.mark.parametrize(("policy", "is_kept"), [("none", False), ("redacted", False), ("full", True)])
async def test_the_users_settings_choose_the_policy(bench: Bench, policy: str, is_kept: bool) -> None:
    bench.write(f"settings: {{log_payloads: {policy}}}\n", layer="user")
    bench.write(write_file(shell_hook("h", "cat; cat >&2", on_error="ignore")))
    (record,) = await run_to_the_end(bench, bench.event(args={"command": SECRET}))
    assert (SECRET in json.dumps(record)) is is_kept


@steady
@given(st.integers(0, 2600), st.sampled_from([SECRETS["github"], SECRETS["openai"], SECRETS["jwt"], PRIVATE_KEY]))
def test_no_part_of_a_secret_is_kept_where_output_is_cut(after: int, secret: str) -> None:
    """Only the end of an output is kept; where that end begins, there may be a secret."""
    run = make_run(stderr="x " * 3000 + secret + " " + "y " * (after // 2))
    assert find_part(secret, make_record(run, make_event(), payloads="redacted")["stderr"]) is None


@steady
@given(st.integers(1800, 2100), st.sampled_from([SECRETS["github"], SECRETS["openai"], PRIVATE_KEY]))
def test_no_part_of_a_secret_is_kept_where_a_payload_is_cut(before: int, secret: str) -> None:
    text = ("x " * before)[:before] + " " + secret + " and more" * 100
    record = make_record(make_run(), make_event(args={"text": text}), payloads="redacted")
    assert find_part(secret, json.dumps(record["payload"])) is None


def find_part(secret: str, text: str) -> str | None:
    """A part of a secret, long enough to be of use, that stands in a text."""
    size = 14
    body = secret.replace("-----BEGIN OPENSSH PRIVATE KEY-----", "").replace("-----END OPENSSH PRIVATE KEY-----", "")
    parts = (body[start : start + size] for start in range(len(body) - size + 1))
    return next((part for part in parts if part in text), None)


# What is kept of large and odd things


def test_of_much_output_the_end_is_kept() -> None:
    run = replace(make_run(stderr="e" * 9999 + "!"), stdout="o" * 9999 + "!")
    record = make_record(run, make_event(), payloads="redacted")
    assert [(len(record[key]) <= 2000, record[key][-1]) for key in ("stdout", "stderr")] == [(True, "!")] * 2


def test_a_large_payload_is_cut_and_says_so() -> None:
    event = make_event(args={"text": "x" * 100_000, "list": list(range(10_000))})
    record = make_record(make_run(), event, payloads="redacted")
    assert len(json.dumps(record)) < 50_000
    assert "98000 more" in record["payload"]["tool"]["args"]["text"]


@pytest.mark.parametrize("policy", ["redacted", "full"])
@pytest.mark.parametrize(
    "args",
    [
        {f"key {number}": "x" * 1000 for number in range(5000)},
        {"deep": json.loads("[" * 400 + "]" * 400)},
        {"\ud800": "\udfff", "nan": float("nan"), "big": 10**4000},
        {"x" * 100_000: 1},
        {("a", 1): object()},
    ],
    ids=["many", "deep", "odd", "long key", "no json"],
)
async def test_any_payload_gives_one_record_of_bounded_size(tmp_path: Path, policy: Any, args: dict[Any, Any]) -> None:
    RunLog(tmp_path, Settings(log_payloads=policy)).append(make_run(), make_event(args=args))
    (path,) = list_log_files(tmp_path)
    assert len(list(read_records(tmp_path, LogQuery()))) == 1
    assert path.stat().st_size < 400_000


@pytest.mark.parametrize("text", ["a\nb\r\nc", "\u2028\x85\x0b\x0c\x1c", "\x00", "\ud800", "😀"], ids=ascii)
def test_a_record_is_one_line_whatever_a_hook_says(tmp_path: Path, text: str) -> None:
    log = RunLog(tmp_path, Settings())
    for _ in range(2):
        log.append(make_run(stderr=text), make_event())
    assert [record["stderr"] for record in read_records(tmp_path, LogQuery())] == [text, text]


# Bounds


def append(log: RunLog, count: int = 1, *, size: int = 1000) -> None:
    for _ in range(count):
        log.append(make_run(stderr="x" * size), make_event())


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files of about ten records, and room for about five files."""
    monkeypatch.setattr(runlog, "MAX_FILE_BYTES", 16_000)
    monkeypatch.setattr(runlog, "MAX_TOTAL_BYTES", 80_000)
    yield


@pytest.mark.usefixtures("small_files")
def test_a_full_file_is_followed_by_the_next(tmp_path: Path) -> None:
    append(RunLog(tmp_path, Settings()), 25)
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    names = [path.name for path in list_log_files(tmp_path)]
    assert names == [f"{today}-{number:03}.jsonl" for number in range(1, len(names) + 1)]
    assert len(names) >= 2
    assert len(list(read_records(tmp_path, LogQuery()))) == 25


@pytest.mark.usefixtures("small_files")
def test_a_file_that_is_not_full_is_gone_on_with(tmp_path: Path) -> None:
    for _ in range(3):
        append(RunLog(tmp_path, Settings()))
    assert len(list_log_files(tmp_path)) == 1


@pytest.mark.usefixtures("small_files")
def test_the_log_never_takes_much_more_than_its_room(tmp_path: Path) -> None:
    log = RunLog(tmp_path, Settings())
    for _ in range(30):
        append(log, 10)
        assert sum(path.stat().st_size for path in list_log_files(tmp_path)) < 80_000 + 2 * 16_000


@pytest.mark.usefixtures("small_files")
def test_what_is_removed_for_want_of_room_is_the_oldest(tmp_path: Path) -> None:
    """However much is written in a day, the newest records are there, and in their order."""
    log = RunLog(tmp_path, Settings())
    for number in range(300):
        log.append_line(json.dumps({"at": write_time(datetime.now(UTC)), "number": number, "text": "x" * 1000}))
    numbers = [record["number"] for record in read_records(tmp_path, LogQuery())]
    assert numbers == list(range(300 - len(numbers), 300))
    assert len(numbers) >= 60


def test_files_older_than_they_are_to_be_kept_are_removed(tmp_path: Path) -> None:
    for age_days in (1, 2, 3, 30):
        day = datetime.now(UTC) - timedelta(days=age_days)
        (tmp_path / f"{day:%Y-%m-%d}-001.jsonl").write_text("{}\n")
    append(RunLog(tmp_path, Settings(log_keep_days=2)))
    ages = [
        (datetime.now(UTC).date() - datetime.fromisoformat(path.name[:10]).date()).days
        for path in list_log_files(tmp_path)
    ]
    assert ages == [2, 1, 0]


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "2001-01-01-notes.txt").write_text("mine")
    append(RunLog(tmp_path, Settings()))
    assert (tmp_path / "2001-01-01-notes.txt").exists()


# Torn lines


@pytest.mark.parametrize("cut", [1, 2, 10, 500])
def test_a_record_that_was_cut_off_spoils_no_other(tmp_path: Path, cut: int) -> None:
    """B66: the store was cut in the middle of a record."""
    append(RunLog(tmp_path, Settings()), 3)
    (path,) = list_log_files(tmp_path)
    os.truncate(path, path.stat().st_size - cut)
    append(RunLog(tmp_path, Settings()), 2)
    assert len(list(read_records(tmp_path, LogQuery()))) == (5 if cut == 1 else 4)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def test_a_record_torn_by_a_full_disk_spoils_no_other(disk: SmallDisk) -> None:
    """B66: the disk was full during an append; records before and after it are whole, and never fused."""
    folder = disk.folder / "log"
    log = RunLog(folder, Settings())
    append(log, 2)
    (path,) = list_log_files(folder)
    # The rest of the file's last block is all the room there is: a record is torn in the middle.
    disk.fill()
    append(log, 8)
    disk.free()
    append(log, 2)
    records = list(read_records(folder, LogQuery()))
    whole = [line for line in path.read_bytes().splitlines() if line]
    assert len(records) < 12
    assert len(records) >= 4
    assert len(whole) - len(records) in (0, 1)
    assert all(set(record) >= {"at", "run", "hook", "status"} for record in records)


def test_a_full_disk_is_complained_about_once_and_hurts_nobody(
    disk: SmallDisk, caplog: pytest.LogCaptureFixture
) -> None:
    log = RunLog(disk.folder / "log", Settings())
    append(log)
    disk.fill()
    append(log, 30)
    assert len([record for record in caplog.records if "cannot be written" in record.getMessage()]) == 1


def test_lines_that_are_no_records_are_passed_over(tmp_path: Path) -> None:
    log = RunLog(tmp_path, Settings())
    append(log)
    (path,) = list_log_files(tmp_path)
    with path.open("ab") as file:
        file.write(b'\x00\xff{"at"\n[1]\nnull\n"x"\n\n' + b"[" * 100_000 + b"\n")
    append(log)
    assert len(list(read_records(tmp_path, LogQuery()))) == 2


# Many writers


_WRITER = """
import json, sys
from pathlib import Path
from hookline import runlog
from hookline.hook import Settings
runlog.MAX_FILE_BYTES = 400_000
log = runlog.RunLog(Path(sys.argv[1]), Settings())
print("ready", flush=True)
sys.stdin.readline()
for number in range(500):
    log.append_line(json.dumps({"at": "x", "writer": sys.argv[2], "number": number, "text": "x" * (number * 7 % 3000)}))
"""


def test_of_many_processes_that_write_no_record_is_lost_or_fused(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path), str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(4)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=50)
    found = Counter((record["writer"], record["number"]) for record in read_records(tmp_path, LogQuery()))
    assert found == Counter({(str(writer), number): 1 for writer in range(4) for number in range(500)})
    lines = b"".join(path.read_bytes() for path in list_log_files(tmp_path)).splitlines()
    assert all(json.loads(line) for line in lines if line)
    assert len(list_log_files(tmp_path)) >= 2


# A folder that cannot be written


_COMPLAINER = """
import asyncio, logging, sys
from pathlib import Path
from hookline import AfterTurn, Engine, Event
logging.basicConfig(stream=sys.stdout, format="%(message)s")

async def main(project, home):
    async with Engine.open(project, home=home, trust="all") as engine:
        for number in range(3):
            decision = await engine.settle(await engine.fire(Event(AfterTurn(turn=number), cwd=project)))
            print([run.status for run in decision.runs])

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_folder_that_cannot_be_written_is_complained_about_once_and_stops_no_hook(bench: Bench) -> None:
    bench.write(write_file(command_hook("h", "true", event="after_turn")))
    folder = bench.home / "hooks" / "log"
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    command = unprivileged(sys.executable, "-c", _COMPLAINER, str(bench.project), str(bench.home))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("['ok']") == 3
    assert done.stdout.count("cannot be written") == 1
    assert str(folder) in done.stdout


def test_a_file_in_the_way_is_complained_about_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "log").write_text("in the way")
    log = RunLog(tmp_path / "log", Settings())
    append(log, 5)
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


def test_a_log_that_is_removed_under_way_is_begun_anew(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "log", Settings())
    append(log)
    (path,) = list_log_files(tmp_path / "log")
    path.unlink()
    append(log)
    assert len(list(read_records(tmp_path / "log", LogQuery()))) == 1


def test_a_folder_that_is_removed_under_way_is_made_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = RunLog(tmp_path / "log", Settings())
    append(log)
    (path,) = list_log_files(tmp_path / "log")
    path.unlink()
    (tmp_path / "log").rmdir()
    append(log, 2)
    assert len(list(read_records(tmp_path / "log", LogQuery()))) >= 1


# Reading


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({}, [0, 1, 2]),
        ({"hook": "b"}, [1]),
        ({"status": "ok"}, [0, 2]),
        ({"event": "e1", "status": "ok"}, [0]),
        ({"session": "s2"}, [2]),
        ({"since": datetime(2026, 1, 2, tzinfo=UTC)}, [1, 2]),
        ({"until": datetime(2026, 1, 3, tzinfo=UTC)}, [0, 1]),
        ({"since": datetime(2026, 1, 2, tzinfo=UTC), "until": datetime(2026, 1, 3, tzinfo=UTC)}, [1]),
        ({"hook": "none"}, []),
    ],
)
def test_a_query_finds_the_records_for_which_all_of_it_holds(
    tmp_path: Path, query: dict[str, Any], numbers: list[int]
) -> None:
    records = [
        {"at": "2026-01-01T00:00:00.000000Z", "hook": "a", "status": "ok", "event": "e1", "session": "s1"},
        {"at": "2026-01-02T00:00:00.000000Z", "hook": "b", "status": "failed", "event": "e1", "session": "s1"},
        {"at": "2026-01-03T00:00:00.000000Z", "hook": "a", "status": "ok", "event": "e2", "session": "s2"},
    ]
    for number, record in enumerate(records):
        (tmp_path / f"2026-01-0{number + 1}-001.jsonl").write_text(json.dumps({**record, "number": number}) + "\n")
    assert [record["number"] for record in read_records(tmp_path, LogQuery(**query))] == numbers


@steady
@given(st.lists(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.timezones()), min_size=2))
def test_written_times_sort_as_the_times_do(moments: list[datetime]) -> None:
    assert sorted(map(write_time, moments)) == [write_time(moment) for moment in sorted(moments)]


async def test_writing_a_record_costs_a_dispatch_little(bench: Bench) -> None:
    """Records are written on the engine's own thread; one of a large event does not hold the caller's loop."""
    engine = bench.open(write_file(command_hook("h", "true", event="before_tool_call")))
    event = bench.event(args={f"k{number}": "a" * 2000 for number in range(200)})
    await engine.fire(event)
    longest, is_over = 0.0, asyncio.Event()

    async def beat() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not is_over.is_set():
            await asyncio.sleep(0.002)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    heart = asyncio.create_task(beat())
    for _ in range(5):
        await engine.fire(event)
    is_over.set()
    await heart
    assert longest < 0.25


def test_the_reason_of_an_answer_is_kept_cut_and_without_secrets():
    run = make_run(reason=f"{'x' * 1990} {SECRET} {'y' * 5000}")
    reason = make_record(run, make_event(), payloads="redacted")["reason"]
    assert len(reason) <= 2000
    assert SECRET[:8] not in reason
    assert "reason" not in make_record(make_run(), make_event(), payloads="redacted")


# The end of a log


def test_the_last_records_are_read_from_the_end_alone(tmp_path: Path):
    names = ("2030-01-01-001.jsonl", "2030-01-02-001.jsonl", "2030-01-02-002.jsonl")
    for day, name in enumerate(names):
        (tmp_path / name).write_text("".join(f'{{"number": {day}{number}}}\n' for number in range(5)))
    size = (tmp_path / names[0]).stat().st_size
    found = [record["number"] for record in read_latest(tmp_path, most_bytes=2 * size)]
    assert found == [10, 11, 12, 13, 14, 20, 21, 22, 23, 24]
    assert [record["number"] for record in read_latest(tmp_path, most_bytes=size // 2)] == [23, 24]


def test_a_log_that_is_not_there_has_no_last_records(tmp_path: Path):
    assert read_latest(tmp_path / "nowhere", most_bytes=100) == []
