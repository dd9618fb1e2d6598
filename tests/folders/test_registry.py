"""The index over hook folders, and what a hooks page shows."""

from __future__ import annotations

from datetime import UTC, datetime

from hook_folders import HooksDir
from hookline.folders.state import EMPTY_STATE, RunRecord

AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_hooks_match_in_the_order_of_their_folders(hooks: HooksDir):
    """Case 15 of the folder contract."""
    hooks.add("b", id="y", enabled=True)
    hooks.add("a", id="z", enabled=True)
    index = hooks.index()
    assert [spec.id for spec in index.match("Stop", "")[1]] == ["z", "y"]
    assert [shown["id"] for shown in index.snapshot({})] == ["y", "z"]


def test_matching_hooks_are_split_by_their_mode(hooks: HooksDir):
    """Fact 21 of the folder contract."""
    for name, mode in (("a", "async"), ("b", "sync"), ("c", None), ("d", "sync")):
        hooks.add(name, event="PreToolUse", enabled=True, mode=mode)
    sync, others = hooks.index().match("PreToolUse", "bash")
    assert [spec.id for spec in sync] == ["b", "d"]
    assert [spec.id for spec in others] == ["a", "c"]


def test_only_enabled_hooks_whose_matcher_accepts_match(hooks: HooksDir):
    """Fact 21 of the folder contract."""
    hooks.add("off", event="PreToolUse")
    hooks.add("other", event="PreToolUse", enabled=True, matcher="read_.*")
    hooks.add("mine", event="PreToolUse", enabled=True, matcher="bash")
    index = hooks.index()
    assert [spec.id for spec in index.match("PreToolUse", "bash")[1]] == ["mine"]
    assert index.match("Stop", "bash") == ((), ())


def test_a_matcher_on_an_event_without_a_field_silently_needs_the_empty_text(hooks: HooksDir):
    """Fact 16 of the folder contract."""
    hooks.add("a", enabled=True, matcher="bash")
    hooks.add("b", enabled=True, matcher="bash|")
    assert [spec.id for spec in hooks.index().match("Stop", "")[1]] == ["b"]


def test_an_event_has_hooks_only_when_one_is_enabled(hooks: HooksDir):
    """Fact 21 of the folder contract."""
    hooks.add("on", enabled=True)
    hooks.add("off", event="PreCompact")
    index = hooks.index()
    assert index.has("Stop")
    assert not index.has("PreCompact")


def test_a_spec_is_found_by_its_id_also_when_it_is_off(hooks: HooksDir):
    """Case 19 of the folder contract."""
    hooks.add("d", id="off")
    index = hooks.index()
    found = index.spec_by_id("off")
    assert found is not None
    assert found.directory == "d"
    assert index.spec_by_id("d") is None


def test_an_answer_is_remembered_and_stays_right(hooks: HooksDir):
    hooks.add("a", event="PreToolUse", enabled=True, matcher="bash")
    index = hooks.index()
    assert index.match("PreToolUse", "bash") is index.match("PreToolUse", "bash")
    for number in range(2500):  # more than is remembered
        assert index.match("PreToolUse", f"tool{number}") == ((), ())
    assert index.match("PreToolUse", "x" * 1000) == ((), ())
    assert [spec.id for spec in index.match("PreToolUse", "bash")[1]] == ["a"]
    assert index.match("PostToolUse", "bash") == ((), ())


def test_what_is_invalid_is_handed_out_as_a_copy(hooks: HooksDir):
    """Fact 20 of the folder contract."""
    hooks.add("bad", event="Nope")
    index = hooks.index()
    index.invalid.clear()
    assert index.invalid.keys() == {"bad"}


def test_a_snapshot_always_has_the_same_keys(hooks: HooksDir):
    """Fact 22 of the folder contract."""
    hooks.add("a", mode="")
    assert hooks.index().snapshot({}) == [
        {
            "id": "a",
            "name": "",
            "enabled": False,
            "trigger": {"event": "Stop"},
            "mode": "async",
            "blocking": False,
            "command": "true",
            "timeout": "10m",
            "permissions": {"auto_write": True, "auto_dirs": True},
            "created_by": "",
            "last_fired_at": "0001-01-01T00:00:00Z",
        }
    ]


def test_a_snapshot_shows_what_is_set(hooks: HooksDir):
    """Fact 22 of the folder contract."""
    hooks.add(
        "a",
        name="A",
        enabled=True,
        event="PreToolUse",
        matcher="bash",
        mode="sync",
        blocking=True,
        command=None,
        workflow=[{"command": "ls"}],
        cwd="/tmp",
        timeout="1m",
        permissions={"auto_write": False},
        created_by="ann",
        description="looks",
    )
    state = EMPTY_STATE.take(RunRecord(at=AT, status="allow", is_async=False))
    assert hooks.index().snapshot({"a": state}) == [
        {
            "id": "a",
            "name": "A",
            "enabled": True,
            "trigger": {"event": "PreToolUse", "matcher": "bash"},
            "mode": "sync",
            "blocking": True,
            "workflow_inline": True,
            "cwd": "/tmp",
            "timeout": "1m",
            "description": "looks",
            "permissions": {"auto_write": False, "auto_dirs": True},
            "created_by": "ann",
            "last_fired_at": "2030-01-02T03:04:05Z",
            "recent_runs": [{"at": "2030-01-02T03:04:05Z", "status": "allow", "async": False}],
        }
    ]
