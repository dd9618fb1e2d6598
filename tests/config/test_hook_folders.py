"""The hook folders of a user, as hooks of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hook_folders import HooksDir, read_spec
from hookline import ConfigError
from hookline.config.folders import find_folders, make_hooks
from hookline.config.layers import find_foreign_files, load_layers, reload_folders
from hookline.hook import PromptAction, ShellAction, SubjectMatch, WorkflowAction, WorkflowStep
from support import Bench


@pytest.fixture
def folders(bench: Bench) -> HooksDir:
    path = bench.root / ".vix" / "hooks"
    path.mkdir(parents=True)
    return HooksDir(path)


def load(bench: Bench, path: Path | None = None, **options: Any) -> Any:
    return load_layers(bench.project, home=bench.home, vix_hooks=path, **options)


def test_the_folders_of_the_users_home_are_read_where_the_dialect_is_enabled(
    bench: Bench, folders: HooksDir, monkeypatch: pytest.MonkeyPatch
):
    """Fact 1 of the folder contract."""
    monkeypatch.setenv("HOME", str(bench.root))
    folders.add("d")
    assert load(bench, dialects=["native"]).hooks == ()
    [hook] = load(bench, dialects=["native", "vix"]).hooks
    assert (hook.id, hook.source.layer, hook.source.dialect) == ("d", "user", "vix")


def test_the_users_own_file_may_enable_the_dialect(bench: Bench, folders: HooksDir, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(bench.root))
    folders.add("d")
    bench.write("dialects: [native, vix]\nhooks: []\n", layer="user")
    assert [hook.id for hook in load(bench).hooks] == ["d"]


def test_a_project_has_no_hook_folders(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """Fact 1 of the folder contract: home level only."""
    monkeypatch.setenv("HOME", str(bench.root / "nobody"))
    path = bench.project / ".vix" / "hooks"
    path.mkdir(parents=True)
    HooksDir(path).add("d")
    assert load(bench, dialects=["vix"], trust="all").hooks == ()


def test_a_folder_that_is_given_enables_the_dialect(bench: Bench, folders: HooksDir):
    folders.add("d")
    assert [hook.id for hook in load(bench, folders.path).hooks] == ["d"]


def test_a_project_cannot_bring_the_folder_of_the_user(bench: Bench):
    with pytest.raises(ConfigError, match="a project must not bring its own folder of hook folders"):
        load(bench, bench.project / "hooks")


def test_dialects_stand_in_the_order_in_which_they_are_named(bench: Bench, folders: HooksDir):
    folders.add("b", id="z")
    folders.add("a", id="y")
    bench.write("hooks: [{id: n, event: after_turn, run: {type: shell, shell: x}}]", layer="user")
    assert [hook.id for hook in load(bench, folders.path).hooks] == ["n", "y", "z"]
    found = load(bench, folders.path, dialects=["vix", "native"])
    assert [hook.id for hook in found.hooks] == ["y", "z", "n"]


def test_what_cannot_be_loaded_is_a_problem_with_its_place(bench: Bench, folders: HooksDir):
    """Cases 3 and 17 of the folder contract."""
    path = folders.add("bad", event="Nope")
    folders.add("broken", "{")
    folders.add("good")
    layers = load(bench, folders.path)
    assert [hook.id for hook in layers.hooks] == ["good"]
    assert [(problem.code, problem.hook_id, problem.place.path) for problem in layers.problems] == [
        ("unknown-event", "bad", path),
        ("json-syntax", "broken", folders.path / "broken" / "hook.json"),
    ]


def test_a_guard_that_cannot_be_loaded_keeps_its_gate_closed(bench: Bench, folders: HooksDir):
    folders.add("g", **GUARD, timeout="never")
    [closure] = load(bench, folders.path).closures
    assert (closure.event, closure.hook_id, closure.dialect) == ("before_tool_call", "g", "vix")
    assert "could not be loaded" in closure.reason


GUARD: dict[str, Any] = {"event": "PreToolUse", "enabled": True, "mode": "sync", "blocking": True, "on_error": "block"}


@pytest.mark.parametrize("text", ["{", '{"trigger": 5}'])
def test_a_guard_whose_spec_says_nothing_any_more_keeps_its_gate_closed(bench: Bench, folders: HooksDir, text: str):
    folders.add("dir", id="g", **GUARD)
    assert load(bench, folders.path).closures == ()
    folders.add("dir", text)
    for _ in range(2):
        [closure] = load(bench, folders.path).closures
        assert (closure.event, closure.hook_id) == ("before_tool_call", "g")
        assert "was guarded by hook 'g'" in closure.reason
    assert load(bench, folders.path, broken_config="open").closures == ()


def test_a_guard_that_is_taken_away_or_off_keeps_nothing_closed(bench: Bench, folders: HooksDir):
    path = folders.add("a", **GUARD)
    folders.add("b", **GUARD)
    load(bench, folders.path)
    path.unlink()
    folders.add("b", **{**GUARD, "enabled": False})
    assert load(bench, folders.path).closures == ()
    folders.add("b", "{")
    assert load(bench, folders.path).closures == ()


def test_looking_alone_remembers_nothing(bench: Bench, folders: HooksDir):
    folders.add("a", **GUARD)
    load(bench, folders.path, remember_guards=False)
    folders.add("a", "{")
    assert load(bench, folders.path).closures == ()


def test_a_reload_keeps_closed_what_a_broken_spec_guarded(bench: Bench, folders: HooksDir):
    folders.add("a", **GUARD)
    layers = load(bench, folders.path)
    folders.add("a", "{")
    broken = reload_folders(layers)
    assert [closure.hook_id for closure in broken.closures] == ["a"]
    folders.add("a", **GUARD)
    assert reload_folders(broken).closures == ()


def test_the_switch_of_all_hook_folders_is_told(bench: Bench, folders: HooksDir, monkeypatch: pytest.MonkeyPatch):
    """Fact 55 of the folder contract."""
    monkeypatch.setenv("VIX_DISABLE_HOOKS", "1")
    folders.add("d")
    [problem] = load(bench, folders.path).problems
    assert (problem.code, problem.severity) == ("switched-off", "notice")
    assert "VIX_DISABLE_HOOKS=1" in problem.message


def test_folders_of_a_dialect_that_is_off_are_named(bench: Bench, folders: HooksDir, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(bench.root))
    assert find_foreign_files(bench.project, load(bench)) == ()
    folders.add("d")
    [file] = find_foreign_files(bench.project, load(bench))
    assert (file.dialect.name, file.path) == ("vix", folders.path)


def test_ids_that_other_files_use_are_told_of_also_after_a_reload(bench: Bench, folders: HooksDir):
    folders.add("n")
    bench.write("hooks: [{id: n, event: after_turn, run: {type: shell, shell: x}}]", layer="user")
    layers = load(bench, folders.path)
    assert [problem.code for problem in layers.problems] == ["id-collision"]
    assert [problem.code for problem in reload_folders(layers).problems] == ["id-collision"]
    folders.add("n", id="m")
    assert reload_folders(layers).problems == ()


def test_a_reload_takes_what_is_there_now(bench: Bench, folders: HooksDir):
    folders.add("bad", "{")
    layers = load(bench, folders.path)
    folders.add("bad", enabled=True)
    after = reload_folders(layers)
    assert ([hook.id for hook in after.hooks], after.problems) == (["bad"], ())


# One spec


def test_a_start_of_a_thread_is_two_events():
    hooks = list(make_hooks(read_spec(event="ThreadStart")))
    assert [(hook.id, hook.event) for hook in hooks] == [("d", "session_start"), ("d", "session_restored")]


@pytest.mark.parametrize(
    ("matcher", "events"),
    [("startup", ["session_start"]), ("resume", ["session_restored"]), ("neither", ["session_start"])],
)
def test_a_start_of_a_thread_is_for_the_sources_that_match(matcher: str, events: list[str]):
    """Fact 16 of the folder contract; one that never matches is listed all the same."""
    assert [hook.event for hook in make_hooks(read_spec(event="ThreadStart", matcher=matcher))] == events


@pytest.mark.parametrize(
    ("keys", "mode", "may_block", "timeout_s"),
    [
        ({"event": "PreToolUse", "mode": "sync", "blocking": True}, "blocking", True, 5.0),
        ({"event": "PostToolUse", "mode": "sync"}, "blocking", False, 5.0),
        ({"event": "PreToolUse"}, "fire_and_forget", False, 600.0),
        ({"event": "Stop", "mode": "sync"}, "fire_and_forget", False, 5.0),
        ({"event": "ThreadStart", "mode": "sync", "timeout": "7s"}, "fire_and_forget", False, 7.0),
    ],
)
def test_modes_are_what_the_event_allows(keys: dict[str, Any], mode: str, may_block: bool, timeout_s: float):
    """Fact 45 of the folder contract."""
    execution = next(make_hooks(read_spec(**keys))).execution
    assert (execution.mode, execution.may_block, execution.timeout_s) == (mode, may_block, timeout_s)


def test_the_policy_for_failures_is_that_of_the_spec():
    """W4 of the folder contract."""
    hook = next(make_hooks(read_spec(event="PreToolUse", mode="sync", blocking=True, on_error="block", enabled=True)))
    assert (hook.execution.on_error, hook.execution.on_provoked_error, hook.is_guard) == ("block", "block", True)


def test_matchers_are_patterns_on_the_subject():
    """Fact 12 of the folder contract."""
    hook = next(make_hooks(read_spec(event="PreToolUse", matcher=" bash|edit ")))
    assert hook.match.subject == SubjectMatch(pattern="bash|edit")
    assert next(make_hooks(read_spec(event="PreToolUse", matcher="*"))).match.subject is None


def test_every_kind_of_action_is_kept():
    keys: dict[str, Any] = {"cwd": "/x", "permissions": {"auto_write": False}}
    command = next(make_hooks(read_spec(cwd="/x"))).action
    prompt = next(make_hooks(read_spec(command=None, prompt="p", **keys))).action
    named = next(make_hooks(read_spec(command=None, workflow_id="w", **keys))).action
    inline = next(make_hooks(read_spec(command=None, workflow=[{"command": "ls"}], **keys))).action
    assert command == ShellAction(text="true", cwd="/x")
    assert prompt == PromptAction(prompt="p", title="Hook: d", cwd="/x", auto_write=False)
    assert named == WorkflowAction(name="w", title="Hook: d", cwd="/x", auto_write=False)
    assert inline == WorkflowAction(steps=(WorkflowStep(command="ls"),), title="Hook: d", cwd="/x", auto_write=False)


def test_without_a_folder_there_is_nothing(tmp_path: Path):
    """Fact 19 of the folder contract."""
    assert find_folders(None).hooks == find_folders(tmp_path / "nowhere").hooks == ()
