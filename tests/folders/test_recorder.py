"""Writing down the runs of hook folders, where nobody waits for it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hook_folders import HooksDir
from hookline.config.folders import FolderSet, find_folders
from hookline.folders.history import STATE_FILE, load_state
from hookline.folders.recorder import FolderRecorder
from hookline.outcome import Answer, Failure, Run
from support import make_event


@pytest.fixture
def folders(hooks: HooksDir) -> FolderSet:
    hooks.add("d", event="PreToolUse", mode="sync", enabled=True)
    hooks.add("late", event="PreToolUse", enabled=True)
    return find_folders(hooks.path)


def make_run(folders: FolderSet, hook_id: str = "d", **parts: Any) -> Run:
    hook = next(hook for hook in folders.hooks if hook.id == hook_id)
    return Run(**{"hook": hook, "status": "ok", "outcome": Answer(), "duration_ms": 1.5, **parts})


def read_log(folders: FolderSet) -> list[dict[str, Any]]:
    assert folders.path is not None
    files = (folders.path.parent / "logs" / "hooks").glob("*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def statuses(folders: FolderSet, hook_id: str = "d") -> list[str]:
    assert folders.path is not None
    return [run.status for run in load_state(folders.path / hook_id).recent_runs]


def test_a_run_is_written_by_another_thread(folders: FolderSet, monkeypatch: pytest.MonkeyPatch):
    """W16 of the folder contract: who fires waits for no disk."""
    threads: list[str] = []
    recorder = FolderRecorder(folders.find_spec)
    monkeypatch.setattr(
        "hookline.folders.recorder.record_run", lambda *given: threads.append(threading.current_thread().name)
    )
    recorder.note(make_run(folders), make_event())
    recorder.close()
    assert len(threads) == 1
    assert threads[0] != threading.current_thread().name


def test_runs_stand_in_the_order_in_which_they_were_noted(folders: FolderSet):
    recorder = FolderRecorder(folders.find_spec)
    for _ in range(2):
        recorder.note(make_run(folders), make_event())
    recorder.note(make_run(folders, outcome=Failure(kind="exit", message="exit code 1")), make_event())
    recorder.flush()
    assert statuses(folders) == ["allow", "allow", "error"]
    recorder.close()


def test_a_hook_that_nobody_waits_for_is_logged_when_it_starts(folders: FolderSet):
    """Fact 54 of the folder contract."""
    recorder = FolderRecorder(folders.find_spec)
    queued = make_run(folders, "late", status="queued", outcome=None, duration_ms=None)
    recorder.note(queued, make_event())
    recorder.flush()
    assert [(line["phase"], line["async"]) for line in read_log(folders)] == [("fired", True)]
    assert statuses(folders, "late") == []
    recorder.note(replace(queued, status="ok", outcome=Answer()), make_event())
    recorder.close()
    assert [line["phase"] for line in read_log(folders)] == ["fired", "finished"]
    assert statuses(folders, "late") == ["done"]


def test_what_did_not_run_is_no_run(folders: FolderSet):
    recorder = FolderRecorder(folders.find_spec)
    recorder.note(make_run(folders, status="skipped", outcome=None), make_event())
    recorder.close()
    assert (statuses(folders), read_log(folders)) == ([], [])


def test_hooks_of_other_kinds_are_none_of_its_business(folders: FolderSet):
    recorder = FolderRecorder(folders.find_spec)
    run = make_run(folders)
    native = replace(run.hook, source=replace(run.hook.source, dialect="native"))
    recorder.note(replace(run, hook=native), make_event())
    recorder.close()
    assert statuses(folders) == []


def test_what_comes_after_the_end_is_written_too(folders: FolderSet):
    recorder = FolderRecorder(folders.find_spec)
    recorder.close()
    recorder.note(make_run(folders), make_event())
    assert statuses(folders) == ["allow"]


def test_a_history_that_cannot_be_written_is_told_of(folders: FolderSet, log_lines: list[str]):
    assert folders.path is not None
    Path(folders.path / "d" / STATE_FILE).mkdir()
    recorder = FolderRecorder(folders.find_spec)
    recorder.note(make_run(folders), make_event())
    recorder.close()
    assert any("is not recorded" in line for line in log_lines)
    assert [line["phase"] for line in read_log(folders)] == ["fired", "finished"]


def test_a_mistake_of_ours_ends_nothing(folders: FolderSet, log_lines: list[str], monkeypatch: pytest.MonkeyPatch):
    recorder = FolderRecorder(folders.find_spec)
    with monkeypatch.context() as patch:
        patch.setattr("hookline.folders.recorder.record_run", lambda *given: 1 / 0)
        recorder.note(make_run(folders), make_event())
        recorder.flush()
    recorder.note(make_run(folders), make_event())
    recorder.close()
    assert statuses(folders) == ["allow"]
    assert any("is not recorded" in line for line in log_lines)
