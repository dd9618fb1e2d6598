"""The files that remember the runs of hook folders."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hook_folders import HooksDir
from hookline.folders.history import (
    STATE_FILE,
    delete_state,
    drop_removed,
    load_state,
    load_states,
    record_run,
    save_state,
)
from hookline.folders.state import EMPTY_STATE, RunRecord, StateError

AT = datetime(2030, 1, 2, tzinfo=UTC)
RECORD = RunRecord(at=AT, status="done", is_async=True, event="Stop")


def add(hooks: HooksDir, directory: str = "d", **keys: str) -> Path:
    return hooks.add(directory, **keys).parent


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_is_added_to_the_state_file_of_its_folder(hooks: HooksDir):
    """Facts 23 and 28 of the folder contract, and W10: by the folder's name, not by the id."""
    folder = add(hooks, id="other")
    state = record_run(folder, RECORD)
    assert state == EMPTY_STATE.take(RECORD)
    assert load_state(folder) == state
    assert not (hooks.path / "other").exists()
    assert list_names(folder) == ["hook.json", "state.json"]


def test_a_late_record_never_makes_a_folder_again(hooks: HooksDir):
    """W15 of the folder contract."""
    folder = add(hooks)
    shutil.rmtree(folder)
    assert record_run(folder, RECORD) is None
    assert not folder.exists()


def test_a_late_record_leaves_no_state_in_a_folder_without_a_hook(hooks: HooksDir):
    """W15 of the folder contract."""
    folder = add(hooks)
    (folder / "hook.json").unlink()
    assert record_run(folder, RECORD) is None
    assert not list_names(folder)


def test_a_record_does_not_go_through_a_link_to_a_folder(hooks: HooksDir, tmp_path: Path):
    folder = add(hooks)
    shutil.move(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError):
        record_run(folder, RECORD)
    assert list_names(tmp_path / "elsewhere") == ["hook.json"]


def test_a_history_that_cannot_be_read_is_told_and_started_anew(hooks: HooksDir):
    folder = add(hooks)
    (folder / STATE_FILE).write_text("{")
    with pytest.raises(StateError, match="cannot be read"):
        load_state(folder)
    assert record_run(folder, RECORD) == EMPTY_STATE.take(RECORD)


def test_a_state_that_cannot_be_written_is_told_and_leaves_nothing_behind(hooks: HooksDir):
    folder = add(hooks)
    (folder / STATE_FILE).mkdir()
    (folder / STATE_FILE / "x").touch()
    with pytest.raises(StateError, match="cannot be written"):
        record_run(folder, RECORD)
    with pytest.raises(StateError, match="cannot be written"):
        save_state(folder, EMPTY_STATE)
    assert list_names(folder) == ["hook.json", STATE_FILE]


def test_a_state_is_not_saved_without_a_folder(hooks: HooksDir):
    with pytest.raises(StateError, match="cannot be written"):
        save_state(hooks.path / "none", EMPTY_STATE)
    assert not (hooks.path / "none").exists()


def test_a_saved_state_is_loaded(hooks: HooksDir):
    folder = add(hooks)
    save_state(folder, EMPTY_STATE.take(RECORD))
    assert load_state(folder).recent_runs == (RECORD,)


def test_records_of_many_threads_are_all_kept(hooks: HooksDir):
    folder = add(hooks)
    threads = [threading.Thread(target=record_run, args=(folder, RECORD)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(load_state(folder).recent_runs) == 8
    assert list_names(folder) == ["hook.json", "state.json"]


def test_records_of_two_processes_are_all_kept(hooks: HooksDir):
    folder = add(hooks)
    program = (
        "import sys; from pathlib import Path; from datetime import datetime, UTC\n"
        "from hookline.folders.history import record_run; from hookline.folders.state import RunRecord\n"
        "for _ in range(5): record_run(Path(sys.argv[1]), RunRecord(at=datetime.now(UTC), status='x', is_async=True))"
    )
    children = [subprocess.Popen([sys.executable, "-c", program, str(folder)]) for _ in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    assert len(load_state(folder).recent_runs) == 10


def test_a_lock_that_is_not_let_go_is_told(hooks: HooksDir, monkeypatch: pytest.MonkeyPatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr("hookline.folders.history._LOCK_WAIT_S", 0.01)
    folder = add(hooks)
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with pytest.raises(StateError, match="kept it locked"):
            record_run(folder, RECORD)
    finally:
        os.close(fd)


def test_deleting_a_state_leaves_the_folder(hooks: HooksDir):
    """Facts 23 and 29 of the folder contract."""
    folder = add(hooks)
    record_run(folder, RECORD)
    delete_state(folder)
    delete_state(folder)
    delete_state(hooks.path / "none")
    assert list_names(folder) == ["hook.json"]


def test_a_state_that_cannot_be_deleted_is_told(hooks: HooksDir):
    folder = add(hooks)
    (folder / STATE_FILE).mkdir()
    with pytest.raises(StateError, match="cannot be removed"):
        delete_state(folder)


def test_a_hook_without_a_history_has_an_empty_state(hooks: HooksDir):
    assert load_state(add(hooks)) == EMPTY_STATE


def test_the_states_of_many_hooks_are_read_by_their_ids(hooks: HooksDir):
    """W10 of the folder contract."""
    record_run(add(hooks, "a", id="x"), RECORD)
    (add(hooks, "b") / STATE_FILE).write_text("[]")
    states, errors = load_states(hooks.path, hooks.load().specs)
    assert states == {"x": EMPTY_STATE.take(RECORD)}
    assert len(errors) == 1
    assert "b/state.json" in str(errors[0])


def test_a_reload_drops_the_states_of_hooks_that_are_gone_and_keeps_those_of_invalid_ones(hooks: HooksDir):
    """Fact 23 of the folder contract."""
    folders = {name: add(hooks, name, id=f"id-{name}") for name in ("gone", "broken", "invalid", "kept", "renamed")}
    for folder in folders.values():
        record_run(folder, RECORD)
    before = hooks.load()
    (folders["gone"] / "hook.json").unlink()
    (folders["broken"] / "hook.json").write_text("{")
    add(hooks, "invalid", id="id-invalid", event="Nope")
    add(hooks, "renamed", id="new")
    assert drop_removed(hooks.path, before, hooks.load()) == []
    assert [name for name in folders if not (folders[name] / STATE_FILE).exists()] == ["gone"]


def test_a_state_behind_a_link_to_a_folder_is_not_dropped(hooks: HooksDir, tmp_path: Path):
    folder = add(hooks)
    record_run(folder, RECORD)
    before = hooks.load()
    shutil.move(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert drop_removed(hooks.path, before, hooks.load()) == []
    assert json.loads((tmp_path / "elsewhere" / STATE_FILE).read_text())


def test_a_state_that_cannot_be_dropped_is_told(hooks: HooksDir):
    folder = add(hooks)
    (folder / STATE_FILE).mkdir()
    before = hooks.load()
    (folder / "hook.json").unlink()
    (error,) = drop_removed(hooks.path, before, hooks.load())
    assert "cannot be removed" in str(error)
