"""The run log of hook folders."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from hook_folders import read_spec
from hookline.folders.journal import (
    Firing,
    Journal,
    describe_error,
    describe_finished,
    describe_fired,
    name_kind,
    new_fire_id,
)
from storage import small_disk

AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
SPEC = read_spec(id="guard", name="Guard", event="PreToolUse", matcher="bash", mode="sync", blocking=True)
FIRING = Firing(spec=SPEC, fire_id="0123abcd", is_async=False)


def test_a_start_is_told_with_what_started_it():
    """Fact 54 of the folder contract."""
    firing = Firing(spec=SPEC, fire_id="0123abcd", is_async=False, thread_id="t", tool_name="bash")
    assert describe_fired(firing, AT) == {
        "phase": "fired",
        "fire_id": "0123abcd",
        "hook_id": "guard",
        "name": "Guard",
        "event": "PreToolUse",
        "matcher": "bash",
        "blocking": True,
        "async": False,
        "kind": "command",
        "thread_id": "t",
        "tool_name": "bash",
        "ts": "2030-01-02T03:04:05Z",
    }
    assert not {"thread_id", "tool_name"} & describe_fired(FIRING, AT).keys()


def test_a_failure_is_told_with_its_source():
    """Fact 54 of the folder contract."""
    line = describe_error(FIRING, AT, source="command_exec", error="exit code 1", exit_code=1)
    assert line == {
        "phase": "error",
        "fire_id": "0123abcd",
        "hook_id": "guard",
        "source": "command_exec",
        "error": "exit code 1",
        "exit_code": 1,
        "ts": "2030-01-02T03:04:05Z",
    }
    assert "exit_code" not in describe_error(FIRING, AT, source="agent", error="no model")


def test_a_failure_is_told_without_secrets():
    line = describe_error(FIRING, AT, source="agent", error="Authorization: Bearer abcdefghijklmnop1234567890")
    assert "abcdefghijklmnop" not in line["error"]


def test_an_end_is_told_with_how_long_it_took():
    """Fact 54 of the folder contract."""
    assert describe_finished(FIRING, AT, status="deny", duration_ms=3.6) == {
        "phase": "finished",
        "fire_id": "0123abcd",
        "hook_id": "guard",
        "status": "deny",
        "duration_ms": 4,
        "ts": "2030-01-02T03:04:05Z",
    }


def test_the_kind_of_an_action_is_told():
    assert name_kind(SPEC) == "command"
    assert name_kind(read_spec(command=None, prompt="p")) == "prompt"
    assert name_kind(read_spec(command=None, workflow_id="w")) == "workflow"
    assert name_kind(read_spec(command=None, workflow=[{"prompt": "p"}])) == "workflow"


def test_the_ids_of_starts_are_short_and_differ():
    """Fact 54 of the folder contract."""
    assert {len(new_fire_id()) for _ in range(10)} == {8}
    assert len({new_fire_id() for _ in range(10)}) == 10


def test_lines_go_to_the_file_of_their_day_in_utc(tmp_path: Path):
    """Fact 54 of the folder contract."""
    journal = Journal(tmp_path / "logs" / "hooks")
    journal.append({"phase": "fired", "name": "é\n"}, AT)
    journal.append({"phase": "finished"}, datetime(2030, 1, 3, 1, tzinfo=timezone(timedelta(hours=2))))
    path = tmp_path / "logs" / "hooks" / "2030-01-02.jsonl"
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
        {"phase": "fired", "name": "é\n"},
        {"phase": "finished"},
    ]
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600


def test_files_of_days_that_are_too_long_ago_are_removed(tmp_path: Path):
    """Fact 54 of the folder contract."""
    for name in ("2029-12-22.jsonl", "2029-12-23.jsonl", "2030-01-01.jsonl", "notes.jsonl", "2000-01-01.txt"):
        (tmp_path / name).touch()
    Journal(tmp_path).append({}, AT)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"2029-12-23.jsonl", "2030-01-01.jsonl", "2030-01-02.jsonl", "notes.jsonl", "2000-01-01.txt"}


def test_old_files_are_removed_again_on_the_next_day(tmp_path: Path):
    journal = Journal(tmp_path, keep_days=1)
    for day in range(4):
        journal.append({}, AT + timedelta(days=day))
    assert {path.name for path in tmp_path.iterdir()} == {"2030-01-04.jsonl", "2030-01-05.jsonl"}


def test_nothing_is_removed_when_everything_is_kept(tmp_path: Path):
    """Fact 54 of the folder contract."""
    (tmp_path / "1999-01-01.jsonl").touch()
    Journal(tmp_path, keep_days=0).append({}, AT)
    Journal(tmp_path, keep_days=10**12).append({}, AT)
    assert (tmp_path / "1999-01-01.jsonl").exists()


def test_a_log_that_cannot_be_written_is_told_once(tmp_path: Path, log_lines: list[str]):
    folder = tmp_path / "logs"
    folder.touch()
    journal = Journal(folder)
    journal.append({}, AT)
    journal.append({}, AT)
    assert len(log_lines) == 1
    assert "cannot be written" in log_lines[0]


def test_a_log_on_a_full_disk_is_told(tmp_path: Path, log_lines: list[str]):
    with small_disk(tmp_path / "disk") as disk:
        journal = Journal(disk.folder)
        journal.append({}, AT)
        disk.fill(leave=10)
        journal.append({"x": "y" * 8192}, AT)
    assert len(log_lines) == 1
    assert "cannot be written" in log_lines[0]


def test_a_log_that_was_mended_is_written_and_a_new_failure_told(tmp_path: Path, log_lines: list[str]):
    folder = tmp_path / "logs"
    folder.touch()
    journal = Journal(folder)
    journal.append({}, AT)
    folder.unlink()
    journal.append({}, AT)
    (folder / "2030-01-03.jsonl").mkdir()
    journal.append({}, AT + timedelta(days=1))
    assert len(log_lines) == 2


def test_a_value_that_is_no_json_is_written_as_it_looks(tmp_path: Path):
    Journal(tmp_path).append({"x": {1}, "y": "\ud800"}, AT)
    assert json.loads((tmp_path / "2030-01-02.jsonl").read_text()) == {"x": "{1}", "y": "\ufffd"}
