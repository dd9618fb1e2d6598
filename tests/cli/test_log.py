"""`hookline log`, as the installed program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from entries import command_hook, shell_hook, write_file
from hookline.hook import Settings
from hookline.runlog import RunLog, write_time
from support import Bench
from terminal import find_hookline, make_environment, run_hookline


def record(number: int = 0, *, age_s: float = 0, **fields: Any) -> dict[str, Any]:
    """A record of a run that ended `age_s` seconds ago."""
    return {
        "at": write_time(datetime.now(UTC) - timedelta(seconds=age_s)),
        "run": f"{number:032x}",
        "hook": "h",
        "event": "after_turn",
        "session": "s1",
        "layer": "user",
        "status": "ok",
        "effects": [],
        "duration_ms": 12.3,
        **fields,
    }


def write_log(bench: Bench, *records: dict[str, Any]) -> None:
    log = RunLog(bench.home / "hooks" / "log", Settings())
    for one in records:
        log.append_line(json.dumps(one))


def read_json(bench: Bench, *options: str) -> list[dict[str, Any]]:
    done = run_hookline(bench, "log", "--json", *options)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def hooks_of(records: list[dict[str, Any]]) -> list[str]:
    return [one["hook"] for one in records]


# What is shown


def test_a_run_is_a_line_with_when_what_and_how_it_ended(bench: Bench) -> None:
    at = "2026-02-03T04:05:06.789012Z"
    failure = {"status": "failed", "error": "exit code 3", "stderr": "oh no"}
    write_log(bench, record(at=at, hook="lint", event="after_tool_call", **failure))
    done = run_hookline(bench, "log")
    assert (done.returncode, done.stderr) == (0, "")
    expected = "2026-02-03 04:05:06 after_tool_call user lint failed 12 ms exit code 3, oh no"
    assert " ".join(done.stdout.split()) == expected


def test_the_newest_run_is_the_last(bench: Bench) -> None:
    write_log(bench, *(record(hook=name) for name in "abc"))
    assert hooks_of(read_json(bench)) == ["a", "b", "c"]


def test_real_runs_are_shown(bench: Bench) -> None:
    bench.write(write_file(shell_hook("guard", "exit 1"), command_hook("note", "true", mode="async")))
    run_hookline(bench, "fire", "before_tool_call", "--tool", "bash", HOOKLINE_TRUST="all")
    found = {one["hook"]: (one["status"], one["event"], one["layer"]) for one in read_json(bench)}
    assert found == {
        "guard": ("failed", "before_tool_call", "project"),
        "note": ("ok", "before_tool_call", "project"),
    }


def test_with_json_each_run_is_an_object_on_a_line(bench: Bench) -> None:
    records = [record(0, text="a\nb\u2028"), record(1)]
    write_log(bench, *records)
    assert read_json(bench) == records


def test_where_nothing_ran_that_is_said_on_stderr(bench: Bench) -> None:
    done = run_hookline(bench, "log")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "",
        "nothing has run yet, or nothing that you asked for\n",
    )


def test_where_nothing_ran_json_is_empty(bench: Bench) -> None:
    assert read_json(bench) == []


def test_control_characters_play_no_tricks_with_a_terminal(bench: Bench) -> None:
    write_log(bench, record(hook="\x1b[2Jh", event="e\x07", status="failed", error="\x1b[31mred"))
    done = run_hookline(bench, "log")
    assert not set(done.stdout) & {"\x1b", "\x07"}


def test_reading_the_log_makes_nothing(bench: Bench) -> None:
    run_hookline(bench, "log")
    assert not bench.home.exists()


# Filters


@pytest.mark.parametrize(
    ("options", "hooks"),
    [
        (["--hook", "a"], ["a"]),
        (["--event", "before_turn"], ["c"]),
        (["--session", "s2"], ["d"]),
        (["--status", "ok", "--session", "s1"], ["a", "c"]),
        (["-n", "2"], ["c", "d"]),
        (["-n", "1", "--status", "failed"], ["b"]),
    ],
    ids=" ".join,
)
def test_only_the_runs_that_are_asked_for_are_shown(bench: Bench, options: list[str], hooks: list[str]) -> None:
    write_log(
        bench,
        record(hook="a"),
        record(hook="b", status="failed"),
        record(hook="c", event="before_turn"),
        record(hook="d", session="s2"),
    )
    assert hooks_of(read_json(bench, *options)) == hooks


def test_fifty_runs_are_shown_unless_more_are_asked_for(bench: Bench) -> None:
    write_log(bench, *(record(number) for number in range(60)))
    assert [len(read_json(bench)), len(read_json(bench, "-n", "1000"))] == [50, 60]


@pytest.mark.parametrize(
    ("options", "hooks"),
    [
        (["--since", "90s"], ["now"]),
        (["--since", "3d"], ["day", "hour", "minute", "now"]),
        (["--until", "10m"], ["day", "hour"]),
        (["--since", "2h", "--until", "90s"], ["hour", "minute"]),
    ],
    ids=" ".join,
)
def test_times_are_told_as_long_ago(bench: Bench, options: list[str], hooks: list[str]) -> None:
    ages = {"day": 86400, "hour": 3600, "minute": 120, "now": 0}
    write_log(bench, *(record(hook=name, age_s=age_s) for name, age_s in ages.items()))
    assert hooks_of(read_json(bench, *options)) == hooks


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_a_date_and_time_is_meant_where_the_user_is(bench: Bench, zone: str) -> None:
    write_log(bench, record(hook="before", age_s=7200), record(hook="after", age_s=1800))
    code = "import datetime, sys; print((datetime.datetime.now() - datetime.timedelta(hours=1)).isoformat())"
    local = subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "TZ": zone}, text=True)
    done = run_hookline(bench, "log", "--json", "--since", local.strip(), TZ=zone)
    assert hooks_of([json.loads(line) for line in done.stdout.splitlines()]) == ["after"]


def test_a_date_and_time_may_have_a_zone(bench: Bench) -> None:
    write_log(bench, record(hook="before", age_s=7200), record(hook="after", age_s=1800))
    moment = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    assert hooks_of(read_json(bench, "--until", moment)) == ["before"]


@pytest.mark.parametrize(
    "options",
    [
        ["--since", "yesterday"],
        ["--since", "10"],
        ["--since", ""],
        ["--until", "2026-13-01"],
        ["--until", "99999999999d"],
    ],
    ids=" ".join,
)
def test_what_is_no_time_is_refused_with_the_cure(bench: Bench, options: list[str]) -> None:
    done = run_hookline(bench, "log", *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is no time: write 10m, 2h or 3d ago" in done.stderr
    assert "has a bug" not in done.stderr


@pytest.mark.parametrize(("text", "zone"), [("0001-01-01", "Asia/Tokyo"), ("9999-12-31T23:59:59", "America/New_York")])
def test_the_first_and_the_last_of_all_times_hurt_nobody(bench: Bench, text: str, zone: str) -> None:
    """Where the user is they lie beyond what a clock can show."""
    assert "has a bug" not in run_hookline(bench, "log", "--since", text, TZ=zone).stderr


# Damage


def test_torn_lines_are_passed_over(bench: Bench) -> None:
    write_log(bench, record(hook="a"), record(hook="b"))
    (path,) = (bench.home / "hooks" / "log").iterdir()
    os.truncate(path, path.stat().st_size - 10)
    write_log(bench, record(hook="c"))
    assert hooks_of(read_json(bench)) == ["a", "c"]


def test_strange_records_hurt_nobody(bench: Bench) -> None:
    """Written by a later version, or by hand."""
    strange: list[Any] = [
        {},
        {"duration_ms": "long"},
        {"effects": None},
        {"effects": 3},
        {"at": 1, "hook": [], "layer": {}},
        {"status": "failed", "stderr": 5},
    ]
    write_log(bench, record(hook="a"), *strange)
    done = run_hookline(bench, "log")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + len(strange)


# Following


@contextmanager
def following(bench: Bench, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`hookline log --follow` under way; it has shown what was there before."""
    with subprocess.Popen(
        [find_hookline(), "log", "--follow", "--json", *options],
        env={**make_environment(bench), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(20, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()


def read_hook(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.stderr.read() if process.stderr else ""
    hook: str = json.loads(line)["hook"]
    return hook


def test_who_follows_sees_what_is_written_later(bench: Bench) -> None:
    write_log(bench, record(hook="before"))
    with following(bench) as process:
        assert read_hook(process) == "before"
        write_log(bench, record(hook="later"))
        assert read_hook(process) == "later"
        write_log(bench, record(hook="still later"))
        assert read_hook(process) == "still later"


def test_who_follows_an_empty_log_sees_its_first_record(bench: Bench) -> None:
    with following(bench) as process:
        time.sleep(0.5)  # nothing tells that it has begun to wait
        write_log(bench, record(hook="first"))
        assert read_hook(process) == "first"


def test_who_follows_sees_only_what_was_asked_for(bench: Bench) -> None:
    write_log(bench, record(hook="a"), record(hook="b"))
    with following(bench, "--hook", "b") as process:
        assert read_hook(process) == "b"
        write_log(bench, record(1, hook="a"), record(2, hook="b", status="failed"))
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["status"] == "failed"


def test_who_follows_sees_what_goes_to_the_next_file(bench: Bench) -> None:
    write_log(bench, record(hook="a"))
    folder = bench.home / "hooks" / "log"
    (first,) = folder.iterdir()
    with following(bench) as process:
        assert read_hook(process) == "a"
        second = Path(str(first).replace("-001", "-002"))
        second.write_text(json.dumps(record(hook="b")) + "\n")
        assert read_hook(process) == "b"


def test_who_follows_sees_a_record_once_it_is_whole(bench: Bench) -> None:
    write_log(bench, record(hook="a"))
    (path,) = (bench.home / "hooks" / "log").iterdir()
    line = json.dumps(record(hook="torn")) + "\n"
    with following(bench) as process, path.open("a", buffering=1) as file:
        assert read_hook(process) == "a"
        file.write(line[:20])
        file.flush()
        time.sleep(0.5)  # until it has looked at the half of it
        file.write(line[20:])
        file.flush()
        assert read_hook(process) == "torn"


def test_who_follows_is_not_hurt_by_the_removal_of_old_files(bench: Bench) -> None:
    write_log(bench, record(hook="a"))
    folder = bench.home / "hooks" / "log"
    (first,) = folder.iterdir()
    with following(bench) as process:
        assert read_hook(process) == "a"
        first.unlink()
        Path(str(first).replace("-001", "-002")).write_text(json.dumps(record(hook="b")) + "\n")
        assert read_hook(process) == "b"


def test_following_ends_with_an_interrupt(bench: Bench) -> None:
    write_log(bench, record(hook="a"))
    with following(bench) as process:
        read_hook(process)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=20)
        assert (process.returncode, complaints.strip()) == (130, "interrupted")


def test_following_ends_when_nobody_reads_any_more(bench: Bench) -> None:
    write_log(bench, record(hook="a"))
    with following(bench) as process:
        read_hook(process)
        assert process.stdout is not None
        process.stdout.close()
        write_log(bench, record(hook="b"))
        assert process.wait(20) == 1
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_a_reason_that_is_on_stderr_too_is_shown_once(bench: Bench) -> None:
    write_log(bench, record(status="blocked", reason="not now", stderr="not now\n"))
    assert run_hookline(bench, "log").stdout.count("not now") == 1
