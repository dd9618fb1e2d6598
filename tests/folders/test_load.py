"""Reading a folder of hook folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hook_folders import HooksDir, make_spec
from hookline.folders.load import MAX_SPEC_BYTES, BrokenGuard, Loaded, load_folders


def test_folders_are_read_in_the_byte_order_of_their_names(hooks: HooksDir):
    """Fact 18 of the folder contract."""
    for name in ("b", "a", "ä", "B", ".dot", "a.b"):
        hooks.add(name)
    assert [spec.directory for spec in hooks.load().specs] == [".dot", "B", "a", "a.b", "b", "ä"]


def test_an_unsupported_event_is_reported_and_others_load(hooks: HooksDir):
    """Case 3 of the folder contract."""
    hooks.add("good")
    hooks.add("bad", event="Nope")
    loaded = hooks.load()
    assert [spec.id for spec in loaded.specs] == ["good"]
    assert loaded.invalid.keys() == {"bad"}
    assert "'Nope'" in loaded.invalid["bad"]


def test_bad_json_is_reported_under_the_name_of_its_folder(hooks: HooksDir):
    """Case 17 of the folder contract."""
    hooks.add("broken", '{"id": "x", }')
    hooks.add("good")
    (hooks.path / "empty").mkdir()
    (hooks.path / "file").write_text("{}")
    loaded = hooks.load()
    assert [spec.id for spec in loaded.specs] == ["good"]
    assert list(loaded.invalid) == ["broken"]
    assert loaded.invalid["broken"].startswith("parse: ")


def test_a_problem_has_its_place(hooks: HooksDir):
    path = hooks.add("slow", '{\n  "trigger": {"event": "Stop"},\n  "command": "x",\n  "timeout": "5"\n}')
    (problem,) = hooks.load().problems
    assert (problem.place.path, problem.place.line, problem.place.column) == (path, 4, 14)
    assert (problem.code, problem.hook_id, problem.severity) == ("wrong-type", "slow", "error")
    assert problem.message == hooks.load().invalid["slow"]


def test_a_fault_of_the_text_has_its_place(hooks: HooksDir):
    hooks.add("broken", '{\n  "trigger": 7\n}')
    (problem,) = hooks.load().problems
    assert (problem.code, problem.place.line, problem.place.column) == ("json-syntax", 2, 14)


def test_a_spec_that_cannot_be_read_is_reported(hooks: HooksDir):
    """Fact 18 of the folder contract."""
    (hooks.path / "odd" / "hook.json").mkdir(parents=True)
    hooks.add("huge", " " * MAX_SPEC_BYTES + "{}")
    (hooks.path / "dangling").mkdir()
    (hooks.path / "dangling" / "hook.json").symlink_to("nowhere")
    loaded = hooks.load()
    assert loaded.invalid.keys() == {"odd", "huge", "dangling"}
    assert all(text.startswith("read: ") for text in loaded.invalid.values())
    assert {problem.code for problem in loaded.problems} == {"unreadable-file"}


def test_a_pipe_in_place_of_a_spec_makes_nobody_wait(hooks: HooksDir):
    (hooks.path / "pipe").mkdir()
    os.mkfifo(hooks.path / "pipe" / "hook.json")
    assert hooks.load().invalid == {"pipe": "read: this is not a regular file"}


def test_an_invalid_spec_is_reported_under_its_id(hooks: HooksDir):
    """Fact 18 of the folder contract."""
    hooks.add("d", id="other", event="Nope")
    assert hooks.load().invalid.keys() == {"other"}


@pytest.mark.parametrize("hook_id", ["../x", "", "a/b"])
def test_a_bad_id_is_reported_under_the_name_of_its_folder(hooks: HooksDir, hook_id: str):
    """Case 41 of the folder contract."""
    hooks.add("d", id=hook_id)
    loaded = hooks.load()
    assert not loaded.specs
    assert loaded.invalid.keys() == {"d"}


def test_the_first_of_two_folders_with_one_id_stays_active(hooks: HooksDir):
    """Case 16 of the folder contract."""
    hooks.add("a", id="same", command="one")
    hooks.add("b", id="same", command="two")
    loaded = hooks.load()
    assert [(spec.directory, spec.command) for spec in loaded.specs] == [("a", "one")]
    assert loaded.invalid["same"].startswith("duplicate hook id")
    assert [problem.code for problem in loaded.problems] == ["duplicate-id"]


def test_of_several_problems_under_one_key_the_last_stands_and_all_are_told(hooks: HooksDir):
    """Fact 18 of the folder contract."""
    hooks.add("a", id="same", event="Nope")
    hooks.add("b", id="same", mode="later")
    loaded = hooks.load()
    assert "later" in loaded.invalid["same"]
    assert len(loaded.problems) == 2


def test_a_link_to_a_folder_is_not_followed_and_told(hooks: HooksDir, tmp_path: Path):
    """Fact 18 of the folder contract."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "hook.json").write_text(json.dumps(make_spec()))
    (hooks.path / "link").symlink_to(elsewhere)
    loaded = hooks.load()
    assert not loaded.specs
    assert not loaded.invalid
    assert [(problem.code, problem.severity) for problem in loaded.problems] == [("folder-link", "warning")]


def test_other_links_are_passed_over(hooks: HooksDir, tmp_path: Path):
    (hooks.path / "link").symlink_to(tmp_path)
    assert hooks.load() == Loaded()


def test_a_spec_may_be_a_link_to_a_file(hooks: HooksDir, tmp_path: Path):
    (tmp_path / "shared.json").write_text(json.dumps(make_spec()))
    (hooks.path / "a").mkdir()
    (hooks.path / "a" / "hook.json").symlink_to(tmp_path / "shared.json")
    assert [spec.id for spec in hooks.load().specs] == ["a"]


def test_bytes_that_are_no_text_are_replaced(hooks: HooksDir):
    path = hooks.add("a", name="N")
    path.write_bytes(path.read_bytes().replace(b"N", b"\xff"))
    assert hooks.load().specs[0].name == "\ufffd"


def test_a_folder_whose_name_is_no_text_needs_an_id(hooks: HooksDir):
    hooks.add(os.fsdecode(b"\xff"))
    (reason,) = hooks.load().invalid.values()
    assert "is no plain name" in reason


def test_where_there_is_no_hooks_folder_nothing_is_loaded(tmp_path: Path):
    """Fact 19 of the folder contract."""
    (tmp_path / "file").write_text("")
    for path in (None, tmp_path / "none", tmp_path / "file"):
        assert load_folders(path) == Loaded()


def test_a_hooks_folder_that_cannot_be_read_is_told(tmp_path: Path):
    """Fact 19 of the folder contract: nothing is loaded, and nothing raised."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    loaded = load_folders(loop)
    assert (loaded.specs, loaded.invalid) == ((), {})
    assert [problem.code for problem in loaded.problems] == ["unreadable-file"]


def test_a_guard_whose_id_is_taken_is_told_apart(hooks: HooksDir):
    hooks.add("a", id="same")
    keys = {"id": "same", "event": "PreToolUse", "mode": "sync", "blocking": True, "on_error": "block"}
    hooks.add("b", enabled=True, **keys)
    hooks.add("c", enabled=False, **keys)
    (guard,) = hooks.load().broken_guards
    assert (guard.event, guard.hook_id) == ("PreToolUse", "same")
    assert "duplicate hook id" in guard.reason


def test_a_guard_that_is_not_valid_is_told_apart(hooks: HooksDir):
    hooks.add("guard", event="PreToolUse", enabled=True, mode="sync", blocking=True, on_error="block", matcher="(")
    hooks.add("other", event="Stop", enabled=True, timeout="5")
    (guard,) = hooks.load().broken_guards
    assert isinstance(guard, BrokenGuard)
    assert (guard.event, guard.hook_id) == ("PreToolUse", "guard")
    assert "invalid matcher" in guard.reason
