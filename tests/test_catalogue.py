"""What there is to know of an engine's hooks, whatever their dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import make_hook, match_args
from entries import shell_hook, write_file
from hook_folders import HooksDir
from hookline import BeforeToolCall, ConfigError, Engine, Event, HooklineError, Tool
from hookline.catalogue import find_meant
from hookline.hook import Hook, Match, SubjectMatch
from hookline.registry import Registry
from support import Bench, make_event, make_prompt_event
from trusting import open_recorded, trust_project


@pytest.fixture
def folders(bench: Bench) -> HooksDir:
    path = bench.root / "vix" / "hooks"
    path.mkdir(parents=True)
    return HooksDir(path)


def meant(event: Event, *hooks: Hook) -> tuple[list[str], list[str], list[str]]:
    found = find_meant(Registry(hooks), event)
    return tuple([hook.id for hook in part] for part in (found.waited_for, found.started, found.undecided))  # type: ignore[return-value]


def find(engine: Engine, hook_id: str) -> dict[str, Any]:
    hooks: list[dict[str, Any]] = engine.snapshot()["hooks"]
    return next(hook for hook in hooks if hook["id"] == hook_id)


def on_subject(pattern: str, hook_id: str = "h", **options: Any) -> Hook:
    return make_hook(hook_id, match=Match(subject=SubjectMatch(pattern=pattern)), **options)


# Who is meant


def test_the_hooks_that_are_meant_are_told_apart_by_whether_the_agent_waits():
    """Fact 21 of the folder contract."""
    hooks = [make_hook("b"), make_hook("s", mode="async"), make_hook("off", enabled=False)]
    assert meant(make_event(), *hooks, on_subject("edit", "other")) == (["b"], ["s"], [])


@pytest.mark.parametrize(
    ("pattern", "tool", "is_meant"),
    [
        ("write_file|edit_file", "edit_file", True),
        ("write_file|edit_file", "read_file", False),
        ("write_file|edit_file", "write_file2", False),
        ("bash", "BASH", False),
        ("bash", "bash\n", False),
        ("(?i)bash", "BASH", True),
        ("mcp__.*", "mcp__fs__read", True),
        ("mcp__.*", "mcp__a\nb", False),
    ],
)
def test_patterns_on_the_subject_match_it_as_a_whole(pattern: str, tool: str, is_meant: bool):
    """Cases 10, 11 and 12 of the folder contract."""
    assert bool(meant(make_event(tool=tool), on_subject(pattern))[0]) is is_meant


def test_a_pattern_where_there_is_no_subject_holds_if_it_takes_the_empty_text():
    """Fact 16 of the folder contract."""
    hooks = [on_subject(pattern, pattern, event="user_prompt_submit") for pattern in ("bash", "bash|")]
    assert meant(make_prompt_event(), *hooks)[0] == ["bash|"]


def test_subjects_that_a_model_makes_up_are_not_kept_for_ever():
    registry = Registry([on_subject("x.*")])
    for number in range(2500):
        assert bool(registry.select(make_event(tool=f"x{number}")).blocking)
    assert not registry.select(make_event(tool="y" * 1000)).blocking
    assert len(registry._index["before_tool_call"].selections) <= 1000


def test_what_only_a_longer_search_or_nothing_at_all_can_tell_is_undecided():
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError

    slow = make_hook("slow", match=match_args(command={"regex": "(x+x+)+y"}))
    event = Event(BeforeToolCall(tool=Tool(name="t", args={"command": "x" * 5000 + "y"})))
    assert meant(event, slow)[2] == ["slow"]
    assert meant(Event(BeforeToolCall(tool=Tool(name="t", args={"command": Mute()}))), slow)[2] == ["slow"]


# The hooks by id, and what is known of them


def test_a_hook_is_found_by_its_id_enabled_or_not(bench: Bench, folders: HooksDir):
    """Case 19 of the folder contract."""
    folders.add("off")
    engine = bench.open(write_file({**shell_hook("n", "true"), "enabled": False}), vix_hooks=folders.path)
    assert [engine.find_hook(name) is not None for name in ("off", "n", "nobody")] == [True, True, False]


def test_the_snapshot_is_in_the_order_of_ids(bench: Bench, folders: HooksDir):
    """Case 15 of the folder contract."""
    folders.add("b", id="y")
    folders.add("a", id="z")
    engine = bench.open(write_file(shell_hook("n", "true")), vix_hooks=folders.path)
    assert [hook["id"] for hook in engine.snapshot()["hooks"]] == ["n", "y", "z"]


def test_the_snapshot_tells_how_a_hook_runs(bench: Bench, folders: HooksDir):
    folders.add("d", event="PreToolUse", mode="sync", enabled=True, timeout="1m30s", matcher="bash")
    found = find(bench.open(vix_hooks=folders.path), "d")
    assert found["spec"]["timeout"] == "1m30s"
    assert (found["mode"], found["timeout_seconds"], found["may_block"]) == ("blocking", 90.0, False)
    assert (found["layer"], found["dialect"], found["trust"], found["kind"]) == ("user", "vix", "own", "shell")
    assert (found["match"]["subject"], found["last_run"], found["recent_runs"]) == ("bash", None, [])


def test_a_spec_for_two_events_is_one_hook_of_the_snapshot(bench: Bench, folders: HooksDir):
    folders.add("d", event="ThreadStart")
    engine = bench.open(vix_hooks=folders.path)
    assert [hook["events"] for hook in engine.snapshot()["hooks"]] == [["session_start", "session_restored"]]


async def test_the_snapshot_has_the_last_runs_of_every_dialect(bench: Bench, folders: HooksDir):
    folders.add("d", event="PreToolUse", mode="sync", enabled=True, command="exit 1")
    engine = bench.open(write_file(shell_hook("n", "exit 1")), vix_hooks=folders.path)
    engine.on("before_tool_call", lambda event, context: None, id="code")
    await engine.fire(bench.event())
    engine.close()
    for name, status in (("d", "error"), ("n", "failed"), ("code", "ok")):
        run = find(engine, name)["last_run"]
        assert (name, run["status"], run["async"]) == (name, status, False)
    assert find(engine, "n")["last_run"]["error"] == "exit code 1"
    assert find(engine, "code")["kind"] == "handler"


def test_the_snapshot_has_what_could_not_be_loaded_and_what_is_closed(bench: Bench, folders: HooksDir):
    keys: dict[str, Any] = {"mode": "sync", "blocking": True, "enabled": True, "on_error": "block", "timeout": "5"}
    path = folders.add("bad", event="PreToolUse", **keys)
    engine = bench.open(vix_hooks=folders.path)
    [invalid] = engine.snapshot()["invalid"]
    assert (invalid["id"], invalid["code"]) == ("bad", "wrong-type")
    assert invalid["source"].startswith(f"{path}:1:")
    assert [closed["hook"] for closed in engine.snapshot()["closed_events"]] == ["bad"]
    assert [problem.hook_id for problem in engine.invalid] == ["bad"]


def test_the_snapshot_tells_of_hooks_that_are_not_trusted(bench: Bench):
    engine = bench.open(write_file(shell_hook("n", "true")), trust="recorded")
    found = find(engine, "n")
    assert (found["loaded"], found["trust"]) == (False, "untrusted")


def test_the_snapshot_is_json(bench: Bench, folders: HooksDir):
    folders.add("d", command=None, workflow=[{"command": "ls"}, {"prompt": "p"}])
    engine = bench.open(write_file(shell_hook("n", "true")), vix_hooks=folders.path)
    json.dumps(engine.snapshot())
    assert find(engine, "d")["runs"] == "workflow: ls; p"


# Switching


def test_a_hook_folder_is_switched_on_disk_and_in_the_engine(bench: Bench, folders: HooksDir):
    """Case 38 of the folder contract."""
    text = '{ "id":"x", "trigger":{"event":"Stop"}, "enabled" : false, "command":"true", "k":1 }\n'
    path = folders.add("dir", text=text)
    engine = bench.open(vix_hooks=folders.path)
    assert not engine.listens("after_turn")
    assert engine.set_enabled("x", is_enabled=True)
    assert engine.listens("after_turn")
    assert path.read_text() == text.replace("false", "true")
    assert not engine.set_enabled("x", is_enabled=True)


def test_a_hook_of_a_file_is_switched_on_disk_and_in_the_engine(bench: Bench):
    path = bench.write("hooks:\n  - {id: n, event: after_turn, run: {type: shell, shell: x}}\n", layer="user")
    engine = bench.open()
    assert engine.set_enabled("n", is_enabled=False)
    assert not engine.listens("after_turn")
    assert "enabled: false" in path.read_text()
    assert engine.set_enabled("n", is_enabled=True)
    assert engine.listens("after_turn")


def test_what_was_trusted_is_not_edited_behind_its_back(bench: Bench):
    path = bench.write(write_file(shell_hook("n", "true")))
    before = path.read_text()
    trust_project(bench)
    engine = open_recorded(bench)
    assert find(engine, "n")["trust"] == "trusted"
    with pytest.raises(ConfigError, match="use hookline enable or hookline disable"):
        engine.set_enabled("n", is_enabled=False)
    assert path.read_text() == before


@pytest.mark.parametrize("hook_id", ["nobody", "code", "bad"])
def test_what_is_in_no_file_cannot_be_switched(bench: Bench, folders: HooksDir, hook_id: str):
    """Fact 30 of the folder contract."""
    folders.add("bad", "{")
    engine = bench.open(vix_hooks=folders.path)
    engine.on("after_turn", lambda event, context: None, id="code")
    with pytest.raises(HooklineError, match=hook_id):
        engine.set_enabled(hook_id, is_enabled=True)


def test_an_id_that_two_hooks_have_must_be_told_apart(bench: Bench, folders: HooksDir):
    folders.add("n", event="Stop")
    bench.write(write_file(shell_hook("n", "true")))
    engine = bench.open(vix_hooks=folders.path)
    with pytest.raises(ConfigError, match="several hooks have the id 'n'"):
        engine.set_enabled("n", is_enabled=True)
    assert engine.set_enabled("n", is_enabled=True, layer="user")


# Starting by hand


async def test_hooks_of_every_dialect_are_started_by_hand(bench: Bench):
    engine = bench.open(write_file({**shell_hook("n", "cat > seen; exit 1"), "enabled": False}))
    calls: list[str] = []
    engine.on("after_turn", lambda event, context: calls.append(event.type), id="code")
    decision = await engine.settle(engine.trigger("n"))
    assert decision.runs[0].status == "failed"
    assert json.loads(bench.read("seen"))["event"] == "before_tool_call"
    await engine.settle(engine.trigger("code"))
    assert len(calls) == 1
