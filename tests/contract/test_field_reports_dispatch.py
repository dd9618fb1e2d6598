"""Bugs that users of other hook engines reported, of the kinds that live in matching, loading, trust and order."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from entries import command_hook, give_reply, shell_hook, write_file
from hookline import AfterTurn, Agent, ConfigError, Engine, Event, Run, SessionStart
from hookline.config.layers import load_layers
from hookline.config.lint import lint_file
from hookline.outcome import EMPTY_DECISION
from support import Bench, find_run, make_event
from waiting import is_running, wait_for_end, wait_for_pid

DEPTH = "HOOKLINE_HOOK_DEPTH"


def run_cli(bench: Bench, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a verb of the command line on the bench's project and home."""
    command = [sys.executable, "-m", "hookline", *arguments, "--project", str(bench.project), "--home", str(bench.home)]
    return subprocess.run(
        command,
        env={**os.environ, "NO_COLOR": "1", **environment},
        cwd=bench.root,
        capture_output=True,
        text=True,
        check=False,
    )


# B28


def make_tool_hook(tool_name: str | None) -> dict[str, Any]:
    return command_hook("m", "true", match=None if tool_name is None else {"tool_name": tool_name})


@pytest.mark.parametrize(
    ("wanted", "tool", "is_meant"),
    [
        ("Write", "Write", True),
        ("Writ", "Write", False),
        ("Write", "Writ", False),
        ("write", "Write", False),
        ("Write ", "Write", False),
        ("Write|Edit", "Edit", False),
        ("Write|Edit", "Write|Edit", True),
        ("mcp__db__.*", "mcp__db__query", False),
        ("mcp__db", "mcp__db__query", False),
        ("*", "x", False),
        (None, "x", True),
    ],
)
async def test_b28_a_tool_name_is_exact(bench: Bench, wanted: str | None, tool: str, is_meant: bool) -> None:
    """B28 (anthropics/claude-code#44446): a native tool name is compared as it is; without one every tool is meant."""
    engine = bench.open(write_file(make_tool_hook(wanted)))
    decision = await engine.fire(bench.event(tool=tool))
    assert [run.hook.id for run in decision.runs] == (["m"] if is_meant else [])


@pytest.mark.parametrize(
    ("wanted", "tool", "is_meant"), [("Write", "Write", True), ("Write|Edit", "Edit", False), (None, "x", True)]
)
def test_b28_explain_answers_as_the_engine_does(bench: Bench, wanted: str | None, tool: str, is_meant: bool) -> None:
    """B28 (anthropics/claude-code#44446): explain tells of a hook what firing would do, and why it would not run."""
    bench.write(write_file(make_tool_hook(wanted)))
    ended = run_cli(bench, "explain", "before_tool_call", "--tool", tool, "--json", HOOKLINE_TRUST="all")
    (told,) = json.loads(ended.stdout)["hooks"]
    assert told["would_run"] is is_meant
    assert bool(told["why_not"]) is not is_meant


@pytest.mark.parametrize(
    ("name", "is_warned_of"),
    [
        ("Write|Edit", True),
        ("Write|Edit ", True),
        ("mcp__db__.*", True),
        ("*", True),
        ("^Write$", True),
        ("Edi[t]", True),
        ("Write", False),
        ("mcp__db__query", False),
        ("read-file.v2", False),
    ],
)
def test_b28_a_tool_name_that_looks_like_a_pattern_is_warned_of(bench: Bench, name: str, is_warned_of: bool) -> None:
    """B28 (anthropics/claude-code#44446): a pattern where an exact name belongs does not fail without a word."""
    bench.write(write_file(command_hook("m", "true", match={"tool_name": name})))
    layers = load_layers(bench.project, home=bench.home, trust="all")
    found = [p for loaded in layers.files for p in lint_file(loaded) if p.code == "literal-tool-name"]
    assert [problem.hook_id for problem in found] == (["m"] if is_warned_of else [])


# B29

MAIN = Agent(id="main")
SUB = Agent(id="sub-1", name="helper", parent_id="main", depth=1)
SUB_SUB = Agent(id="sub-2", parent_id="sub-1", depth=2)


@pytest.mark.parametrize("agent", [MAIN, SUB, SUB_SUB], ids=lambda agent: agent.id)
async def test_b29_every_agent_gets_the_same_decision(bench: Bench, agent: Agent) -> None:
    """B29 (anthropics/claude-code#40580): a guard's block counts for the main agent, its sub-agents and theirs."""
    engine = bench.open(write_file(command_hook("guard", "sh", "-c", "echo no >&2; exit 2")))
    decision = await engine.fire(bench.event(agent=agent))
    assert (decision.verdict, decision.reason) == ("block", "no")


@pytest.mark.parametrize("agent", [MAIN, SUB, SUB_SUB], ids=lambda agent: agent.id)
async def test_b29_the_payload_tells_which_agent_acts(bench: Bench, agent: Agent) -> None:
    """B29 (anthropics/claude-code#40580): the payload carries the agent's id, its parent's id and its depth."""
    engine = bench.open(write_file(shell_hook("guard", "cat > seen")))
    await engine.fire(bench.event(agent=agent))
    told = json.loads(bench.read("seen"))["agent"]
    assert (told["id"], told["parent_id"], told["depth"]) == (agent.id, agent.parent_id, agent.depth)


@pytest.mark.parametrize("depth", ["0", "1", "2"])
async def test_b29_an_inherited_depth_below_the_limit_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, depth: str
) -> None:
    """B29 (anthropics/claude-code#40580): an engine inside a hook runs its hooks and tells them one depth more."""
    monkeypatch.setenv(DEPTH, depth)
    engine = bench.open(write_file(shell_hook("guard", f"echo ${DEPTH} >&2; exit 2")))
    decision = await engine.fire(bench.event())
    assert (decision.verdict, decision.reason) == ("block", str(int(depth) + 1))


@pytest.mark.parametrize("depth", ["3", "7", "-1", "1.0", "zero", "", "٣", "9" * 400])
async def test_b29_a_depth_that_is_too_deep_closes_guards(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, depth: str
) -> None:
    """B29 (anthropics/claude-code#40580): the inherited switch cannot open a guard, whatever it holds."""
    monkeypatch.setenv(DEPTH, depth)
    engine = bench.open(write_file(shell_hook("guard", "touch ran", on_error="block")))
    decision = await engine.fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert DEPTH in decision.reason
    assert not (bench.project / "ran").exists()


@pytest.mark.parametrize("mode", ["blocking", "async", "fire_and_forget"])
async def test_b29_a_depth_that_is_too_deep_skips_the_others_visibly(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, log_lines: list[str], mode: str
) -> None:
    """B29 (anthropics/claude-code#40580): a hook that is switched off is in the decision, its warnings and the log."""
    monkeypatch.setenv(DEPTH, "3")
    engine = bench.open(write_file(shell_hook("watch", "touch ran", mode=mode)))
    decision = await engine.settle(await engine.fire(bench.event()))
    run = find_run(decision, "watch")
    assert run.status == "skipped"
    assert run.reason is not None
    assert DEPTH in run.reason
    (warning,) = decision.warnings
    assert warning in log_lines
    assert not (bench.project / "ran").exists()


async def test_b29_a_hook_cannot_set_the_depth(bench: Bench) -> None:
    """B29 (anthropics/claude-code#40580): a hook's own environment does not change the depth it hands on."""
    engine = bench.open(write_file(shell_hook("h", f"echo ${DEPTH}", env={DEPTH: "0"})))
    decision = await engine.fire(bench.event())
    assert find_run(decision, "h").stdout == "1\n"


# B35

OLD_WORDS = """
hooks:
  - id: a
    on: before_tool_call
    run: {type: command, argv: [touch, a]}
  - id: b
    event: before_tool_call
    run: {type: command, argv: [touch, b]}
    enabled: yes
  - id: c
    event: before_tool_call
    run: {type: command, argv: [touch, c]}
    execution: {timeout_seconds: 1:30}
  - id: d
    event: before_tool_call
    run: {type: command, argv: [touch, d]}
    execution: {mode: no}
  - id: e
    event: before_tool_call
    run: {type: command, argv: [touch, e]}
    execution: {mode: blocking}
"""


@pytest.mark.parametrize(
    ("hook_id", "code", "word"),
    [
        ("a", "unknown-key", "'on'"),
        ("b", "wrong-type", "'yes'"),
        ("c", "wrong-type", "'1:30'"),
        ("d", "wrong-type", "'no'"),
    ],
)
def test_b35_words_of_old_yaml_are_shown_as_written(bench: Bench, hook_id: str, code: str, word: str) -> None:
    """B35 (tya5/reyn#4519): on, yes, 1:30 and no are what they look like; where that is wrong the error shows them."""
    engine = bench.open(OLD_WORDS)
    (problem,) = [p for p in engine.problems if p.hook_id == hook_id and p.code == code]
    assert problem.severity == "error"
    assert word in problem.message
    assert problem.cure
    assert problem.place.line > 0


def test_b35_a_hook_with_an_unknown_on_key_is_told_to_name_its_event(bench: Bench) -> None:
    """B35 (tya5/reyn#4519): the hook that says `on` is told that `event` is missing."""
    engine = bench.open(OLD_WORDS)
    messages = [p.message for p in engine.problems if p.hook_id == "a" and p.code == "missing-key"]
    assert messages == ["the key 'event' is missing"]


async def test_b35_the_hooks_around_such_words_run(bench: Bench) -> None:
    """B35 (tya5/reyn#4519): no other hook of the file is lost, and none runs in a way its author did not mean."""
    engine = bench.open(OLD_WORDS)
    await engine.fire(bench.event())
    assert sorted(path.name for path in bench.project.iterdir()) == [".hookline", "e"]


# B36

MIXED = """
hooks:
  - {id: a, event: before_tool_call, run: {type: command, argv: [touch, a]}, execution: {mode: blocking}}
  - {id: b, event: before_tool_call, run: {type: command, argv: [touch, b]}, match: {type: always}}
  - {id: c, event: after_turn, run: {type: command, argv: [touch, c]}, execution: {mode: blocking}}
  - {id: d, event: before_tool_cal, run: {type: command, argv: [touch, d]}}
"""


async def test_b36_one_bad_entry_leaves_its_neighbours_alone(bench: Bench) -> None:
    """B36 (anthropics/claude-code#75081): the good entries of a file work, whatever stands between them."""
    engine = bench.open(MIXED)
    await engine.fire(bench.event())
    await engine.fire(Event(AfterTurn(turn=1), cwd=str(bench.project)))
    assert [hook.id for hook in engine.hooks] == ["a", "c"]
    assert sorted(path.name for path in bench.project.iterdir()) == [".hookline", "a", "c"]


@pytest.mark.parametrize(("hook_id", "line", "word"), [("b", 4, "'type'"), ("d", 6, "'before_tool_cal'")])
def test_b36_a_bad_entry_is_reported_with_its_place_and_reason(
    bench: Bench, log_lines: list[str], hook_id: str, line: int, word: str
) -> None:
    """B36 (anthropics/claude-code#75081): a rejected entry is a problem with file, line and reason, also in the log."""
    engine = bench.open(MIXED)
    (problem,) = [problem for problem in engine.problems if problem.hook_id == hook_id]
    assert (problem.severity, problem.place.line) == ("error", line)
    assert word in problem.message
    assert str(problem) in log_lines


@pytest.mark.parametrize("verb", [("check",), ("list",), ("fire", "before_tool_call", "--tool", "bash")], ids=" ".join)
def test_b36_every_verb_shows_bad_entries(bench: Bench, verb: tuple[str, ...]) -> None:
    """B36 (anthropics/claude-code#75081): check, list and fire show file and line of each rejected entry."""
    path = bench.write(MIXED)
    ended = run_cli(bench, *verb, HOOKLINE_TRUST="all")
    shown = ended.stdout if verb == ("check",) else ended.stderr
    assert f"{path}:4:" in shown
    assert f"{path}:6:" in shown


@pytest.mark.parametrize("verb", ["check", "list"])
def test_b36_bad_entries_are_in_the_data_that_verbs_print(bench: Bench, verb: str) -> None:
    """B36 (anthropics/claude-code#75081): with --json too each rejected entry has its file and line."""
    path = bench.write(MIXED)
    problems = json.loads(run_cli(bench, verb, "--json", HOOKLINE_TRUST="all").stdout)["problems"]
    told = {(p["hook"], p["file"], p["line"]) for p in problems if p["severity"] == "error"}
    assert told == {("b", str(path), 4), ("d", str(path), 6)}


def test_b36_check_fails_for_bad_entries(bench: Bench) -> None:
    """B36 (anthropics/claude-code#75081): check exits with 1 when an entry was rejected, and with 0 when none was."""
    bench.write(MIXED)
    assert run_cli(bench, "check").returncode == 1
    bench.write(write_file(command_hook("a", "true", on_error="warn")))
    assert run_cli(bench, "check").returncode == 0


@pytest.mark.parametrize(
    "fault",
    ["match: {type: always}", "timeout: 5", "enabled: 'yes'", "match: {args: {n: {regex: '('}}}", "id: first"],
)
async def test_b36_a_rejected_guard_keeps_its_gate_closed(bench: Bench, fault: str) -> None:
    """B36 (anthropics/claude-code#75081): what a fail-closed guard watched over stays shut until it is mended."""
    entry = f"""
    hooks:
      - {{id: first, event: after_turn, run: {{type: command, argv: ["true"]}}}}
      - event: before_tool_call
        run: {{type: command, argv: ["true"]}}
        execution: {{mode: blocking, on_error: block}}
        {fault}
    """
    engine = bench.open(entry if fault.startswith("id") else entry.replace("- event", "- id: guard\n        event"))
    decision = await engine.fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert str(bench.hooks_folder() / "hooks.yaml") in decision.reason


async def test_b36_a_rejected_guard_leaves_other_events_open(bench: Bench) -> None:
    """B36 (anthropics/claude-code#75081): only the events that the rejected guard watched over are closed."""
    guard = {**command_hook("guard", "true", on_error="block"), "evnt": "x"}
    engine = bench.open(write_file(guard, command_hook("c", "touch", "c", event="after_turn")))
    await engine.fire(Event(AfterTurn(turn=1), cwd=str(bench.project)))
    assert (bench.project / "c").exists()
    assert not engine.listens("user_prompt_submit")


@pytest.mark.parametrize("change", [{"enabled": False}, {"execution": {"mode": "blocking", "on_error": "warn"}}])
async def test_b36_a_rejected_entry_that_was_no_guard_closes_nothing(bench: Bench, change: dict[str, Any]) -> None:
    """B36 (anthropics/claude-code#75081): an entry that is switched off, or open on failure, closes no gate."""
    engine = bench.open(write_file({**command_hook("h", "true", on_error="block"), "evnt": "x", **change}))
    assert await engine.fire(bench.event()) is EMPTY_DECISION


# B40


def write_both_layers(bench: Bench) -> None:
    """The user's guard, and a project with an unrelated hook and a guard of the same name that allows all."""
    bench.write(write_file(command_hook("guard", "sh", "-c", "echo mine >&2; exit 2")), layer="user")
    unrelated = command_hook("fmt", "true", event="after_tool_call")
    bench.write(write_file(unrelated, shell_hook("guard", give_reply(action="allow"))))


async def test_b40_a_project_cannot_remove_the_users_guard(bench: Bench) -> None:
    """B40 (woojubb/robota#2024): the user's guard decides, although the project has hooks and one of the same name."""
    write_both_layers(bench)
    decision = await bench.open().fire(bench.event())
    assert (decision.verdict, decision.reason) == ("block", "mine")
    assert [(run.hook.source.layer, run.status) for run in decision.runs] == [("project", "ok"), ("user", "blocked")]


def test_b40_the_hooks_of_both_layers_are_there(bench: Bench) -> None:
    """B40 (woojubb/robota#2024): layers are added to one another, and a name used in both is reported."""
    write_both_layers(bench)
    engine = bench.open()
    assert [(hook.source.layer, hook.id) for hook in engine.hooks] == [
        ("project", "fmt"),
        ("project", "guard"),
        ("user", "guard"),
    ]
    assert [(problem.code, problem.hook_id) for problem in engine.problems] == [("id-collision", "guard")]


def test_b40_a_disabled_hook_of_the_same_name_disables_nothing(bench: Bench) -> None:
    """B40 (woojubb/robota#2024): a project's `enabled: false` does not reach the user's hook."""
    write_both_layers(bench)
    engine = bench.open(write_file({**command_hook("guard", "true"), "enabled": False}))
    assert [(hook.source.layer, hook.enabled) for hook in engine.hooks] == [("project", False), ("user", True)]
    assert engine.listens("before_tool_call")


@pytest.mark.parametrize("setting", ["max_hook_depth: 1000000", "recheck_guards: false"])
def test_b40_a_project_cannot_weaken_guards_by_settings(bench: Bench, setting: str) -> None:
    """B40 (woojubb/robota#2024): a setting that guards rest upon is the user's alone, and an attempt is reported."""
    engine = bench.open(f"settings: {{{setting}}}\nhooks: []\n")
    plain = bench.open("hooks: []\n")
    assert engine.settings == plain.settings
    assert [problem.code for problem in engine.problems] == ["not-yours-to-set"]


def test_b40_list_shows_where_each_hook_comes_from(bench: Bench) -> None:
    """B40 (woojubb/robota#2024): list tells layer and file of each hook, so that equal names can be told apart."""
    write_both_layers(bench)
    ended = run_cli(bench, "list", "--json", HOOKLINE_TRUST="all")
    told = [(hook["id"], hook["layer"], hook["source"].partition(":")[0]) for hook in json.loads(ended.stdout)["hooks"]]
    project, user = (str(bench.hooks_folder(layer) / "hooks.yaml") for layer in ("project", "user"))
    assert told == [("fmt", "project", project), ("guard", "project", project), ("guard", "user", user)]


# B45


def write_trap(bench: Bench, **options: Any) -> Path:
    """A project whose hooks leave a trace if anything runs them; returns where."""
    trace = bench.root / "pwned"
    script = bench.write_script("trap.sh", f"touch '{trace}'")
    script.chmod(0o755)
    bench.write(
        write_file(
            command_hook("x", "touch", str(trace), event="session_start", **options),
            command_hook("y", str(script), on_error="block"),
            command_hook("z", "touch", str(trace), event="session_start", mode="fire_and_forget"),
        )
    )
    return trace


async def test_b45_an_untrusted_projects_hooks_never_run(bench: Bench) -> None:
    """B45 (anthropics/claude-code#31242): opening and using an engine runs nothing of a project nobody trusted."""
    trace = write_trap(bench)
    async with Engine.open(bench.project, home=bench.home) as engine:
        for event in (Event(SessionStart(), cwd=str(bench.project)), bench.event()):
            decision = await engine.settle(await engine.fire(event))
            assert decision is EMPTY_DECISION
        assert engine.hooks == ()
    assert not trace.exists()


def test_b45_untrusted_hooks_are_reported(bench: Bench) -> None:
    """B45 (anthropics/claude-code#31242): one notice says which file was left alone and what to do about it."""
    write_trap(bench)
    with Engine.open(bench.project, home=bench.home) as engine:
        (problem,) = engine.problems
    assert (problem.severity, problem.code) == ("notice", "untrusted")
    assert problem.place.path == bench.hooks_folder() / "hooks.yaml"
    assert problem.cure


@pytest.mark.parametrize(
    "verb",
    [
        ("list",),
        ("list", "--json"),
        ("check",),
        ("check", "--json"),
        ("explain", "session_start"),
        ("explain", "before_tool_call", "--tool", "bash"),
        ("fire", "session_start"),
        ("fire", "before_tool_call", "--tool", "bash"),
    ],
    ids=" ".join,
)
def test_b45_no_verb_runs_untrusted_hooks(bench: Bench, verb: tuple[str, ...]) -> None:
    """B45 (anthropics/claude-code#31242): listing, checking and firing leave no trace of an untrusted project."""
    trace = write_trap(bench)
    ended = run_cli(bench, *verb)
    assert ended.returncode == 0, ended.stderr
    assert not trace.exists()


def test_b45_reading_verbs_run_nothing_of_a_trusted_project_either(bench: Bench) -> None:
    """B45 (anthropics/claude-code#31242): even for a trusted project listing, checking and explaining run nothing."""
    trace = write_trap(bench)
    for verb in (("list",), ("check",), ("explain", "session_start")):
        run_cli(bench, *verb, HOOKLINE_TRUST="all")
    assert not trace.exists()


@pytest.mark.parametrize("verb", [("list",), ("fire", "session_start")], ids=" ".join)
def test_b45_the_command_line_says_that_hooks_were_left_alone(bench: Bench, verb: tuple[str, ...]) -> None:
    """B45 (anthropics/claude-code#31242): on stderr stands that there are hooks and that they are untrusted."""
    write_trap(bench)
    ended = run_cli(bench, *verb)
    assert "untrusted" in ended.stderr
    assert str(bench.hooks_folder() / "hooks.yaml") in ended.stderr


async def test_b45_the_environment_cannot_grant_trust_to_the_library(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B45 (anthropics/claude-code#31242): agents load a repository's .env, so the library reads no variables."""
    trace = write_trap(bench)
    monkeypatch.setenv("HOOKLINE_TRUST", "all")
    monkeypatch.setenv("HOOKLINE_HOME", str(bench.project / ".hookline"))
    monkeypatch.setenv("HOME", str(bench.root))
    async with Engine.open(bench.project) as engine:
        await engine.settle(await engine.fire(Event(SessionStart(), cwd=str(bench.project))))
        assert engine.hooks == ()
    assert not trace.exists()


@pytest.mark.parametrize("line", ["trust: all", "settings: {trust: all}", "dialects: [native, chrys]"])
async def test_b45_a_project_cannot_trust_itself(bench: Bench, line: str) -> None:
    """B45 (anthropics/claude-code#31242): nothing in a project's own file makes its hooks trusted or adds formats."""
    trace = write_trap(bench)
    path = bench.hooks_folder() / "hooks.yaml"
    path.write_text(f"{line}\nhooks: {json.dumps(json.loads(path.read_text())['hooks'])}\n")
    bench.write(write_file(command_hook("w", "touch", str(trace), event="session_start")), dialect="chrys")
    async with Engine.open(bench.project, home=bench.home) as engine:
        await engine.settle(await engine.fire(Event(SessionStart(), cwd=str(bench.project))))
        assert engine.hooks == ()
    assert not trace.exists()


def test_b45_a_home_inside_the_project_is_refused(bench: Bench) -> None:
    """B45 (anthropics/claude-code#31242): a home that came with the repository would make its hooks trusted."""
    write_trap(bench)
    with pytest.raises(ConfigError):
        Engine.open(bench.project, home=bench.project / ".hookline").close()


async def test_b45_hooks_that_appear_later_are_not_trusted(bench: Bench) -> None:
    """B45 (anthropics/claude-code#31242): a hooks file that was absent at the start and comes later does not run."""
    async with Engine.open(bench.project, home=bench.home) as engine:
        trace = write_trap(bench)
        await engine.settle(await engine.fire(Event(SessionStart(), cwd=str(bench.project))))
        await engine.settle(await engine.fire(bench.event()))
    assert not trace.exists()


async def test_b45_the_users_own_hooks_run_beside_untrusted_ones(bench: Bench) -> None:
    """B45 (anthropics/claude-code#31242): leaving a project's hooks alone costs the user none of their own."""
    trace = write_trap(bench)
    bench.write(write_file(command_hook("mine", "sh", "-c", "exit 2")), layer="user")
    async with Engine.open(bench.project, home=bench.home) as engine:
        decision = await engine.fire(bench.event())
    assert [run.hook.id for run in decision.runs] == ["mine"]
    assert decision.verdict == "block"
    assert not trace.exists()


# B64

LATE = "echo $$ > started; echo s >> a; while [ ! -e go ]; do sleep 0.05; done; echo d >> a"


async def start_late(bench: Bench) -> tuple[Engine, Any, int]:
    """An engine with an async hook of after_turn that runs until it is told to end."""
    engine = bench.open(write_file(shell_hook("a", LATE, event="after_turn", mode="async", kill_grace_seconds=0.2)))
    fired = await engine.fire(Event(AfterTurn(turn=1), session_id="s1", cwd=str(bench.project)))
    return engine, fired, await wait_for_pid(bench.project / "started")


async def test_b64_closing_ends_an_async_hook_after_its_grace(bench: Bench) -> None:
    """B64 (anthropics/claude-code#83396): an async hook that outlasts the grace of a closing engine is ended."""
    engine, _, pid = await start_late(bench)
    await engine.aclose(grace_s=1)
    await wait_for_end(pid)
    assert bench.read("a") == "s\n"


async def test_b64_an_async_hook_cancelled_by_closing_is_recorded(bench: Bench) -> None:
    """B64 (anthropics/claude-code#83396): settling after the close tells that the hook was cancelled, and why."""
    engine, fired, _ = await start_late(bench)
    await engine.aclose(grace_s=1)
    run = find_run(await engine.settle(fired), "a")
    assert run.status == "cancelled"
    assert run.reason


async def test_b64_an_async_hook_cancelled_by_closing_is_logged(bench: Bench, log_lines: list[str]) -> None:
    """B64 (anthropics/claude-code#83396): a host that only closes its engine finds the cancelled hook in the log."""
    engine, _, _ = await start_late(bench)
    await engine.aclose(grace_s=1)
    assert [line for line in log_lines if "'a'" in line]


async def test_b64_the_end_of_the_session_records_a_cancelled_hook(bench: Bench) -> None:
    """B64 (anthropics/claude-code#83396): draining the session for 1 s returns the run as cancelled."""
    engine, fired, pid = await start_late(bench)
    drained = await engine.drain_session("s1", grace_s=1)
    assert [(run.hook.id, run.status) for run in drained] == [("a", "cancelled")]
    assert find_run(await engine.settle(fired), "a").status == "cancelled"
    await wait_for_end(pid)


async def test_b64_with_a_larger_grace_the_hook_finishes(bench: Bench) -> None:
    """B64 (anthropics/claude-code#83396): an async hook that ends within the grace runs to its end."""
    engine, _, pid = await start_late(bench)
    closing = asyncio.create_task(engine.aclose(grace_s=30))
    done, _ = await asyncio.wait({closing}, timeout=0.3)
    assert not done
    assert is_running(pid)
    (bench.project / "go").touch()
    await closing
    assert bench.read("a") == "s\nd\n"


HOST_THAT_ENDS = """
import os, sys, time
from hookline import AfterTurn, Engine, Event
project, home, way = sys.argv[1:]
engine = Engine.open(project, home=home, trust="all")
engine.fire_sync(Event(AfterTurn(turn=1), cwd=project))
while not os.path.exists(os.path.join(project, "started")):
    time.sleep(0.02)
if way == "close":
    engine.close(grace_s=0)
"""


def run_host_that_ends(bench: Bench, way: str) -> subprocess.CompletedProcess[str]:
    bench.write(write_file(shell_hook("a", LATE, event="after_turn", mode="async")))
    return subprocess.run(
        [sys.executable, "-c", HOST_THAT_ENDS, str(bench.project), str(bench.home), way],
        capture_output=True,
        text=True,
        check=False,
        timeout=40,
    )


@pytest.mark.parametrize("way", ["exit", "close"])
async def test_b64_a_host_that_ends_leaves_no_hook_behind(bench: Bench, way: str) -> None:
    """B64 (anthropics/claude-code#83396): by plain exit too an async hook is ended."""
    ended = run_host_that_ends(bench, way)
    assert ended.returncode == 0
    await wait_for_end(await wait_for_pid(bench.project / "started"))


@pytest.mark.parametrize("way", ["exit", "close"])
def test_b64_a_host_that_ends_tells_of_the_cancelled_hook(bench: Bench, way: str) -> None:
    """B64 (anthropics/claude-code#83396): by plain exit too a line on stderr tells which hook was cancelled."""
    assert "'a'" in run_host_that_ends(bench, way).stderr


# B78


def rewriting_hook(hook_id: str, delay_s: float) -> dict[str, Any]:
    reply = give_reply(action="modify", args_override={"command": hook_id})
    return shell_hook(hook_id, f"sleep {delay_s}; cat > in.{hook_id}.$HOOKLINE_RUN_ID; {reply}")


@pytest.mark.parametrize(("delay_of_a", "delay_of_b"), [(0.4, 0), (0, 0.4)])
async def test_b78_declared_order_decides_and_not_speed(bench: Bench, delay_of_a: float, delay_of_b: float) -> None:
    """B78 (anthropics/claude-code#83353): of two rewrites of one input the later declared stands, 10 times of 10."""
    engine = bench.open(write_file(rewriting_hook("A", delay_of_a), rewriting_hook("B", delay_of_b)))
    decisions = await asyncio.gather(*(engine.fire(bench.event()) for _ in range(10)))
    assert [decision.edits for decision in decisions] == [{"args": {"command": "B"}}] * 10


async def test_b78_both_rewrites_are_in_the_result(bench: Bench) -> None:
    """B78 (anthropics/claude-code#83353): the decision tells that two hooks edited the input, in their order."""
    engine = bench.open(write_file(rewriting_hook("A", 0), rewriting_hook("B", 0)))
    decision = await engine.fire(bench.event())

    def told(run: Run) -> tuple[str, tuple[str, ...]]:
        return run.hook.id, run.effects

    assert [told(run) for run in decision.runs] == [("A", ("edited",)), ("B", ("edited",))]


async def test_b78_a_later_hook_sees_the_rewritten_input(bench: Bench) -> None:
    """B78 (anthropics/claude-code#83353): the second hook's payload holds what the first one made of the input."""
    engine = bench.open(write_file(rewriting_hook("A", 0), rewriting_hook("B", 0)))
    await engine.fire(make_event(cwd=str(bench.project), args={"command": "ls"}))
    seen = {path.name[3]: json.loads(path.read_text())["tool"]["args"] for path in bench.project.glob("in.*")}
    assert seen == {"A": {"command": "ls"}, "B": {"command": "A"}}
