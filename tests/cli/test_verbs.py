"""The verbs that trust, explain, try and switch hooks, write a first file, and show how it all works."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entries import command_hook, give_reply, script_hook, shell_hook, write_file
from hookline.config.trust import TrustStore
from support import Bench
from terminal import find_hookline, make_environment, run_hookline, talk_to_hookline
from trusting import codes_of, open_recorded, trust_project

BEFORE = ("before_tool_call", "--tool", "bash", "--kind", "shell", "--arg", "command=rm -rf build")
HOSTILE_NAME = b"a\x1b[2K\xff.sh"


def is_trusted(bench: Bench) -> bool:
    return codes_of(open_recorded(bench)) == []


def fill(bench: Bench) -> None:
    """A project with two hooks, one of them a script."""
    bench.write_script("h.sh", "true\n")
    bench.write(write_file(shell_hook("first", "touch ran"), script_hook("second", "h.sh", on_error="block")))


# trust


def test_trust_records_what_a_person_accepts(bench: Bench):
    fill(bench)
    talk = talk_to_hookline(bench, "trust", answer="y")
    assert talk.status == 0
    assert is_trusted(bench)


@pytest.mark.parametrize("answer", ["n", ""])
def test_trust_records_nothing_when_a_person_declines(bench: Bench, answer: str):
    fill(bench)
    talk = talk_to_hookline(bench, "trust", answer=answer)
    assert talk.status == 1
    assert "nothing was trusted" in talk.shown
    assert TrustStore(bench.home).get(bench.project) is None


def test_trust_records_nothing_when_the_terminal_is_closed(bench: Bench):
    fill(bench)
    talk = talk_to_hookline(bench, "trust", answer="\x04")
    assert talk.status != 0
    assert TrustStore(bench.home).get(bench.project) is None


@pytest.mark.parametrize("stdin", ["", "y\n"])
def test_trust_is_refused_without_a_terminal(bench: Bench, stdin: str):
    fill(bench)
    ended = run_hookline(bench, "trust", stdin=stdin)
    assert ended.returncode == 1
    assert "in a terminal" in ended.stderr
    assert TrustStore(bench.home).get(bench.project) is None


@pytest.mark.parametrize("depth", ["1", "", "x"])
def test_trust_is_refused_inside_a_hook(bench: Bench, depth: str):
    fill(bench)
    talk = talk_to_hookline(bench, "trust", HOOKLINE_HOOK_DEPTH=depth)
    assert talk.status == 1
    assert "inside a hook" in talk.shown
    assert TrustStore(bench.home).get(bench.project) is None


def test_trust_at_depth_zero_is_a_persons(bench: Bench):
    fill(bench)
    assert talk_to_hookline(bench, "trust", HOOKLINE_HOOK_DEPTH="0").status == 0
    assert is_trusted(bench)


@pytest.mark.parametrize("trust", ["all", "none"])
def test_trust_asks_whatever_the_environment_says(bench: Bench, trust: str):
    fill(bench)
    talk = talk_to_hookline(bench, "trust", answer="n", HOOKLINE_TRUST=trust)
    assert "first" in talk.shown
    assert talk.status == 1


def test_trust_of_a_folder_that_is_named(bench: Bench):
    fill(bench)
    assert talk_to_hookline(bench, "trust", str(bench.project), "--home", str(bench.home)).status == 0
    assert is_trusted(bench)


def test_trust_runs_nothing(bench: Bench):
    fill(bench)
    talk_to_hookline(bench, "trust")
    assert not (bench.project / "ran").exists()


def shown_by_trust(bench: Bench, *entries: dict[str, Any]) -> str:
    """What a person is shown who is asked to trust these hooks."""
    bench.write(write_file(*entries))
    return talk_to_hookline(bench, "trust", answer="n").shown


def test_trust_shows_what_modules_register_and_runs_none(bench: Bench):
    bench.write("modules: [guards.py, broken.py]")
    bench.write_script("broken.py", "def hook(api)")
    bench.write_script(
        "guards.py",
        """
        open("ran", "w").close()
        def hook(api):
            api.on("tool_call", print)
            api.register_command("go", print)
            for event in EVENTS:
                api.on(event, print)
        """,
    )
    shown = talk_to_hookline(bench, "trust", answer="n").shown
    assert "guards.py runs in the agent's own process" in shown
    assert "guards:tool_call at before_tool_call" in shown
    assert "command /go" in shown
    assert "registers more than can be read without running it" in shown
    assert "broken.py:1:1: the module cannot be loaded: SyntaxError" in shown
    assert not (bench.project / "ran").exists()


def test_trust_shows_each_hook_with_its_event(bench: Bench):
    shown = shown_by_trust(bench, shell_hook("one", "true"), shell_hook("two", "true", event="after_turn"))
    assert "one" in shown
    assert "before_tool_call" in shown
    assert "two" in shown
    assert "after_turn" in shown


@pytest.mark.parametrize(
    "text",
    ["echo " + "long " * 100 + "&& touch end", "echo one\necho two\ntouch end", "echo" + " " * 500 + "; touch end"],
    ids=["long", "lines", "spaces"],
)
def test_trust_shows_the_whole_text_of_a_command(bench: Bench, text: str):
    shown = shown_by_trust(bench, shell_hook("h", text))
    for line in text.splitlines():
        assert line in shown


def test_trust_shows_program_and_arguments_as_they_are_told_apart(bench: Bench):
    shown = shown_by_trust(bench, command_hook("h", "echo", "two words", "; rm", "", "'"))
    assert "echo 'two words' '; rm' ''" in shown


def test_trust_shows_what_a_hook_sets_in_the_environment(bench: Bench):
    """A search path or a preloaded library decides what runs as much as the command does."""
    shown = shown_by_trust(bench, command_hook("h", "lint", env={"PATH": "${workspace_cwd}/bin:/usr/bin"}))
    assert "PATH" in shown
    assert "${workspace_cwd}/bin:/usr/bin" in shown


def test_trust_shows_where_a_hook_runs(bench: Bench):
    assert "${workspace_cwd}/odd" in shown_by_trust(bench, command_hook("h", "./run", cwd="${workspace_cwd}/odd"))


def test_trust_shows_the_files_that_are_covered_and_their_digest(bench: Bench):
    fill(bench)
    shown = talk_to_hookline(bench, "trust", answer="n").shown
    for part in (".hookline/hooks/hooks.yaml", ".hookline/hooks/h.sh", "sha256:"):
        assert part in shown


def test_trust_shows_what_is_not_covered(bench: Bench):
    shown = shown_by_trust(bench, command_hook("h", "make", "lint"))
    _, _, uncovered = shown.partition("Not covered")
    assert "make" in uncovered


def test_trust_shows_what_has_changed(bench: Bench):
    fill(bench)
    trust_project(bench)
    bench.write_script("h.sh", "touch ran\n")
    talk = talk_to_hookline(bench, "trust")
    _, _, changed = talk.shown.partition("Changed since you trusted them")
    assert ".hookline/hooks/h.sh" in changed.partition("Covered")[0]
    assert is_trusted(bench)


def test_trust_shows_that_a_hooks_file_cannot_be_read(bench: Bench):
    path = bench.write("hooks:\n\t- id: a\n")
    assert f"{path}:2:1" in talk_to_hookline(bench, "trust", answer="n").shown


def test_trust_shows_which_entries_are_left_out(bench: Bench):
    assert "'evnt'" in shown_by_trust(bench, {**shell_hook("h", "true"), "evnt": "x"})


@pytest.mark.parametrize("is_new", [True, False])
def test_trust_spells_out_odd_file_names(bench: Bench, is_new: bool):
    """A file's name cannot steer the terminal of who is asked, nor stop the question."""
    fill(bench)
    if not is_new:
        trust_project(bench)
    Path(os.fsdecode(os.fsencode(bench.hooks_folder()) + b"/" + HOSTILE_NAME)).touch()
    talk = talk_to_hookline(bench, "trust")
    assert talk.status == 0
    assert "\x1b" not in talk.shown
    assert is_trusted(bench)


def test_trust_spells_out_odd_names_among_what_is_not_covered(bench: Bench):
    bench.write_script("a\x1b[2K.py", "true\n")
    assert "\x1b" not in shown_by_trust(bench, script_hook("h", "a\x1b[2K.py"))


def test_trust_of_what_is_trusted_already_asks_nothing(bench: Bench):
    fill(bench)
    trust_project(bench)
    ended = run_hookline(bench, "trust")
    assert ended.returncode == 0
    assert "trusted already" in ended.stdout


def test_trust_of_a_project_without_hooks_says_so(bench: Bench):
    ended = run_hookline(bench, "trust")
    assert ended.returncode == 1
    assert "has no hooks" in ended.stderr


def test_trust_of_a_project_whose_trusted_hooks_are_gone_names_the_way_out(bench: Bench):
    fill(bench)
    trust_project(bench)
    shutil.rmtree(bench.hooks_folder())
    ended = run_hookline(bench, "trust")
    assert ended.returncode == 1
    assert "hookline untrust" in ended.stderr


def test_trust_takes_what_was_shown_and_not_what_came_while_it_waited(bench: Bench):
    fill(bench)
    talk_to_hookline(bench, "trust", meanwhile=lambda: bench.write_script("h.sh", "touch ran\n"))
    assert codes_of(open_recorded(bench)) == ["trust-changed"]


def test_trust_of_another_folder_trusts_that_one_only(bench: Bench):
    fill(bench)
    other = bench.root / "other"
    shutil.copytree(bench.project, other)
    assert talk_to_hookline(bench, "trust", str(other)).status == 0
    assert TrustStore(bench.home).get(other) is not None
    assert not is_trusted(bench)


def test_trust_covers_the_formats_that_are_enabled(bench: Bench):
    fill(bench)
    bench.write(write_file(command_hook("foreign", "true")), dialect="chrys")
    talk = talk_to_hookline(bench, "trust", HOOKLINE_DIALECTS="native,chrys")
    assert "foreign" in talk.shown
    assert codes_of(open_recorded(bench, dialects=["native", "chrys"])) == []


def test_trust_that_cannot_be_recorded_is_a_failure(bench: Bench):
    fill(bench)
    bench.home.mkdir()
    (bench.home / "trust").touch()
    talk = talk_to_hookline(bench, "trust")
    assert talk.status == 1
    assert "cannot be recorded" in talk.shown


# untrust


def test_untrust_takes_trust_back(bench: Bench):
    fill(bench)
    trust_project(bench)
    ended = run_hookline(bench, "untrust")
    assert ended.returncode == 0
    assert "not trusted any more" in ended.stdout
    assert codes_of(open_recorded(bench)) == ["untrusted"]


def test_untrust_opens_what_a_changed_project_kept_closed(bench: Bench):
    fill(bench)
    trust_project(bench)
    shutil.rmtree(bench.hooks_folder())
    assert run_hookline(bench, "fire", *BEFORE).returncode == 2
    run_hookline(bench, "untrust")
    assert run_hookline(bench, "fire", *BEFORE).returncode == 0


def test_untrust_of_a_project_that_was_not_trusted_says_so(bench: Bench):
    ended = run_hookline(bench, "untrust")
    assert ended.returncode == 0
    assert "was not trusted" in ended.stdout


def test_untrust_of_a_project_that_is_gone(bench: Bench):
    fill(bench)
    trust_project(bench)
    shutil.rmtree(bench.project)
    ended = run_hookline(bench, "untrust", str(bench.project), cwd=bench.root)
    assert "not trusted any more" in ended.stdout


# explain


def explain(bench: Bench, *arguments: str, **environment: str) -> dict[str, Any]:
    ended = run_hookline(bench, "explain", *arguments, "--json", **{"HOOKLINE_TRUST": "all", **environment})
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def why_not(bench: Bench, entry: dict[str, Any], *arguments: str) -> str | None:
    """Why a hook would not run at this event."""
    bench.write(write_file(entry))
    (told,) = explain(bench, *arguments)["hooks"]
    assert told["would_run"] is (told["why_not"] is None)
    reason: str | None = told["why_not"]
    return reason


def on(**match: Any) -> dict[str, Any]:
    return command_hook("h", "true", match=match)


CALL = ("before_tool_call", "--tool", "bash", "--kind", "shell", "--profile", "Code", "--arg", "command=ls -la")


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        ({**on(), "enabled": False}, ["disabled"]),
        (on(profile="Plan"), ["profile", "'Plan'", "'Code'"]),
        (on(profiles=["Plan", "Ask"]), ["profile", "'Plan'", "'Ask'", "'Code'"]),
        (on(tool_kind="search"), ["tool_kind", "'search'", "'shell'"]),
        (on(tool_name="edit"), ["tool_name", "'edit'", "'bash'"]),
        (on(args={"path": {}}), ["'path'", "missing"]),
        (on(args={"command": {"equals": "ls"}}), ["'command'", "equal", "'ls'", "'ls -la'"]),
        (on(args={"command": {"contains": "rm"}}), ["'command'", "contain", "'rm'", "'ls -la'"]),
        (on(args={"command": {"regex": "^rm"}}), ["'command'", "match", "'^rm'", "'ls -la'"]),
        (on(args={"command": {"regex": "(b+)+$"}}), ["'command'", "match", "'(b+)+$'", "'ls -la'"]),
        (on(args={"command": {"regex": "(?=.*rm)"}}), ["'command'", "match", "'(?=.*rm)'", "'ls -la'"]),
    ],
    ids=lambda value: json.dumps(value.get("match", "off")) if isinstance(value, dict) else "",
)
def test_explain_names_the_first_condition_that_fails_and_the_values_compared(
    bench: Bench, entry: dict[str, Any], parts: list[str]
):
    told = why_not(bench, entry, *CALL)
    assert told is not None
    assert [part for part in parts if part not in told] == []


def test_explain_names_only_the_first_condition_that_fails(bench: Bench):
    told = why_not(bench, on(profile="Plan", tool_name="edit"), *CALL)
    assert told is not None
    assert "edit" not in told


def test_explain_of_a_match_on_a_tool_at_an_event_without_one(bench: Bench):
    told = why_not(bench, command_hook("h", "true", event="after_turn", match={"tool_name": "bash"}), "after_turn")
    assert told is not None
    assert "tool_name" in told


def test_explain_of_a_hook_that_would_run(bench: Bench):
    entry = on(profile="Code", tool_kind="shell", tool_name="bash", args={"command": {"regex": "^ls"}})
    assert why_not(bench, entry, *CALL) is None


def test_explain_of_a_project_that_is_not_trusted(bench: Bench):
    fill(bench)
    told = explain(bench, *CALL, HOOKLINE_TRUST="recorded")["hooks"]
    assert [hook["would_run"] for hook in told] == [False, False]
    assert all("untrusted" in hook["why_not"] for hook in told)


def test_explain_of_a_project_that_has_changed(bench: Bench):
    fill(bench)
    trust_project(bench)
    bench.write_script("new.sh", "true")
    found = explain(bench, *CALL, HOOKLINE_TRUST="recorded")
    assert all("changed" in hook["why_not"] for hook in found["hooks"])
    assert "new.sh" in found["closed"][0]


def test_explain_of_a_closed_event_says_that_no_hook_would_run(bench: Bench):
    """An event that is closed runs no hook of any layer, and so it is told."""
    fill(bench)
    bench.write(write_file(command_hook("mine", "true")), layer="user")
    trust_project(bench)
    bench.write_script("new.sh", "true")
    found = explain(bench, *CALL, HOOKLINE_TRUST="recorded")
    assert {hook["hook"]: hook["would_run"] for hook in found["hooks"]} == {
        "first": False,
        "second": False,
        "mine": False,
    }


def test_explain_says_that_an_engine_nested_too_deeply_runs_no_hook(bench: Bench):
    bench.write(write_file(command_hook("h", "true")))
    (told,) = explain(bench, *CALL, HOOKLINE_HOOK_DEPTH="3")["hooks"]
    assert not told["would_run"]
    assert "HOOKLINE_HOOK_DEPTH" in told["why_not"]


@pytest.mark.parametrize("fault", [{"evnt": "x"}, {"match": {"args": {"command": {"regex": "("}}}}])
def test_explain_tells_of_entries_that_were_left_out(bench: Bench, fault: dict[str, Any]):
    path = bench.write(write_file({**command_hook("h", "true"), **fault}))
    ended = run_hookline(bench, "explain", *CALL, HOOKLINE_TRUST="all")
    assert str(path) in ended.stderr


def test_explain_says_which_hooks_are_for_other_events_by_leaving_them_out(bench: Bench):
    bench.write(write_file(command_hook("h", "true", event="after_turn")))
    assert explain(bench, *CALL)["hooks"] == []
    assert "no hook is for this event" in run_hookline(bench, "explain", *CALL, HOOKLINE_TRUST="all").stdout


def test_explain_tells_layers_in_the_order_in_which_they_run(bench: Bench):
    bench.write(write_file(command_hook("theirs", "true")))
    bench.write(write_file(command_hook("mine", "true")), layer="user")
    told = explain(bench, *CALL)["hooks"]
    assert [(hook["hook"], hook["layer"]) for hook in told] == [("theirs", "project"), ("mine", "user")]


def test_explain_runs_nothing(bench: Bench):
    fill(bench)
    explain(bench, *CALL)
    assert not (bench.project / "ran").exists()


def test_explain_for_people_says_the_same(bench: Bench):
    bench.write(write_file(command_hook("yes", "true"), {**on(tool_name="edit"), "id": "no"}))
    lines = run_hookline(bench, "explain", *CALL, HOOKLINE_TRUST="all").stdout.splitlines()
    assert [line.split() for line in lines if " yes " in line] == [["project", "yes", "would", "run"]]
    (told,) = [line for line in lines if " no " in line]
    assert "would not run" in told
    assert "tool_name must be 'edit'; the event has 'bash'" in told


def test_explain_of_an_unknown_event_names_the_known_ones(bench: Bench):
    ended = run_hookline(bench, "explain", "before_tool")
    assert ended.returncode == 1
    assert "'before_tool'" in ended.stderr
    assert "before_tool_call" in ended.stderr


def test_explain_of_arguments_with_half_a_character_is_no_failure(bench: Bench):
    bench.write(write_file(on(args={"command": {"contains": "rm"}})))
    payload = r'{"tool": {"name": "bash", "args": {"command": "\ud800 \u001b[2K"}}}'
    ended = run_hookline(bench, "explain", "before_tool_call", "--payload", "-", stdin=payload, HOOKLINE_TRUST="all")
    assert ended.returncode == 0, ended.stderr
    assert "\x1b" not in ended.stdout


# Many matches at once, so that a table of events tells whether explain and the engine agree.
MATCHES: list[dict[str, Any] | None] = [
    None,
    {"profile": "Code"},
    {"profiles": ["Plan", "Code"]},
    {"profiles": []},
    {"tool_name": "bash"},
    {"tool_name": "bash|edit"},
    {"tool_kind": "filesystem.write"},
    {"args": {"path": {}}},
    {"args": {"n": {"equals": "10"}}},
    {"args": {"flag": {"equals": "True"}}},
    {"args": {"command": {"contains": "rm"}}},
    {"args": {"command": {"regex": r"^rm\b"}}},
    {"args": {"command": {"regex": r"(x+x+)+y"}}},
    {"args": {"command": {"regex": r"(?<!no-)rm"}}},
    {"tool_name": "bash", "args": {"command": {"contains": "r", "regex": "m$"}}},
]
CALLS: dict[str, tuple[str, ...]] = {
    "rm": ("--tool", "bash", "--kind", "shell", "--arg", "command=rm"),
    "no-rm": ("--tool", "bash", "--kind", "shell", "--arg", "command=no-rm x", "--profile", "Code"),
    "write": ("--tool", "edit", "--kind", "filesystem.write", "--arg", "path=a", "--arg", "n:=10", "--profile", "Plan"),
    "null": ("--tool", "bash|edit", "--arg", "path:=null", "--arg", "flag:=true", "--arg", 'n:="10"'),
    "many x": ("--tool", "bash", "--arg", f"command={'x' * 40}"),
    "list": ("--tool", "bash", "--arg", 'command:=["rm", 1]', "--arg", "path:={}"),
    "nothing": (
        "--tool",
        "x",
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("event", ["before_tool_call", "after_tool_call"])
def test_explain_agrees_with_the_engine(bench: Bench, event: str, call: tuple[str, ...]):
    entries = [command_hook(f"h{n}", "true", event=event, match=match) for n, match in enumerate(MATCHES)]
    bench.write(write_file(*entries, {**command_hook("off", "true", event=event), "enabled": False}))
    told = {hook["hook"]: hook["would_run"] for hook in explain(bench, event, *call)["hooks"]}
    fired = run_hookline(bench, "fire", event, *call, "--json", HOOKLINE_TRUST="all")
    ran = {run["hook"] for run in json.loads(fired.stdout)["runs"]}
    assert {hook for hook, would_run in told.items() if would_run} == ran
    assert len(told) == len(MATCHES) + 1


# test


def test_test_runs_a_hook_on_a_sample_payload_and_shows_everything(bench: Bench):
    bench.write(write_file(shell_hook("h", f"cat; echo oops >&2; {give_reply(action='block', reason='no')}")))
    ended = run_hookline(bench, "test", "h", HOOKLINE_TRUST="all")
    assert ended.returncode == 0
    for part in (
        "ok",
        " ms",
        "input:",
        '"before_tool_call"',
        "stdout:",
        "stderr:",
        "oops",
        "reply:",
        '"block"',
        "means:",
    ):
        assert part in ended.stdout


def run_test(bench: Bench, *arguments: str, **options: str) -> dict[str, Any]:
    """What `test --json` prints."""
    ended = run_hookline(bench, "test", *arguments, "--json", **{"HOOKLINE_TRUST": "all", **options})
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_test_tells_the_same_as_data(bench: Bench):
    bench.write(write_file(shell_hook("h", f"echo out; {give_reply(action='ask', reason='sure?')}")))
    found = run_test(bench, "h")
    assert (found["hook"], found["status"], found["exit_code"], found["stdout"]) == ("h", "ok", 0, "out\n")
    assert json.loads(found["reply"]) == {"action": "ask", "reason": "sure?"}
    assert (found["answer"]["verdict"], found["answer"]["reason"]) == ("ask", "sure?")
    assert found["duration_ms"] >= 0


@pytest.mark.parametrize(
    "match",
    [
        {"profile": "Plan"},
        {"profiles": ["Ask", "Plan"]},
        {"tool_name": "edit", "tool_kind": "filesystem.write"},
        {"args": {"path": {}}},
        {"args": {"n": {"equals": "10"}, "text": {"contains": "abc"}}},
    ],
    ids=json.dumps,
)
def test_test_makes_up_a_payload_that_fits_the_match(bench: Bench, match: dict[str, Any]):
    bench.write(write_file(command_hook("h", "true", match=match)))
    assert run_test(bench, "h")["warnings"] == []


@pytest.mark.parametrize("event", ["session_start", "user_prompt_submit", "tool_error", "sub_agent_end", "pre_compact"])
def test_test_makes_up_a_payload_of_any_event(bench: Bench, event: str):
    bench.write(write_file(shell_hook("h", "cat", event=event)))
    found = run_test(bench, "h")
    assert found["status"] == "ok"
    assert json.loads(found["stdout"])["event"] == event


@pytest.mark.parametrize("mode", ["async", "fire_and_forget"])
def test_test_waits_for_a_hook_of_any_mode(bench: Bench, mode: str):
    bench.write(write_file(shell_hook("h", "echo out", mode=mode)))
    assert run_test(bench, "h")["stdout"] == "out\n"


@pytest.mark.parametrize(
    "options", [{"delivery": "durable"}, {"delivery": "durable", "detach": True}, {"detach": True}]
)
def test_test_waits_for_a_hook_of_any_delivery(bench: Bench, options: dict[str, Any]):
    bench.write(write_file(shell_hook("h", "echo out", mode="fire_and_forget", **options)))
    assert run_test(bench, "h")["stdout"] == "out\n"


def test_test_takes_a_payload_that_is_given(bench: Bench):
    bench.write(write_file(shell_hook("h", "cat")))
    payload = json.dumps({"tool": {"name": "x", "args": {"a": 1}}, "session_id": "s7"})
    ended = run_hookline(bench, "test", "h", "--json", "--payload", "-", stdin=payload, HOOKLINE_TRUST="all")
    seen = json.loads(json.loads(ended.stdout)["stdout"])
    assert (seen["tool"]["name"], seen["tool"]["args"], seen["session_id"]) == ("x", {"a": 1}, "s7")


def test_test_takes_single_values_in_place_of_the_samples(bench: Bench):
    bench.write(write_file(shell_hook("h", "cat")))
    seen = json.loads(run_test(bench, "h", "--tool", "edit", "--arg", "path=a.py", "--session", "s7")["stdout"])
    assert (seen["tool"]["name"], seen["tool"]["args"]["path"], seen["session_id"]) == ("edit", "a.py", "s7")


def test_test_runs_a_hook_whose_match_does_not_hold_and_says_so(bench: Bench):
    bench.write(write_file(shell_hook("h", "echo out", match={"tool_name": "edit"})))
    found = run_test(bench, "h", "--tool", "bash")
    assert found["stdout"] == "out\n"
    (warning,) = found["warnings"]
    assert "tool_name must be 'edit'; the event has 'bash'" in warning


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("echo oops >&2; exit 1", "exit"),
        ("kill -9 $$", "signal"),
        ("sleep 60", "timeout"),
        ('echo "{" > "$HOOKLINE_HOOK_RESULT"', "reply"),
    ],
)
def test_test_of_a_hook_that_fails_exits_with_1_and_says_how(bench: Bench, text: str, kind: str):
    bench.write(write_file(shell_hook("h", text, timeout_seconds=5 if kind != "timeout" else 0.3)))
    ended = run_hookline(bench, "test", "h", "--json", HOOKLINE_TRUST="all")
    assert ended.returncode == 1
    assert json.loads(ended.stdout)["kind"] == kind


def test_test_of_a_program_that_is_not_there_exits_with_1(bench: Bench):
    bench.write(write_file(command_hook("h", "no-such-program")))
    ended = run_hookline(bench, "test", "h", HOOKLINE_TRUST="all")
    assert ended.returncode == 1
    assert "no-such-program" in ended.stdout


@pytest.mark.parametrize("text", ["exit 2", give_reply(action="block"), "true"])
def test_test_of_a_hook_that_works_exits_with_0_whatever_it_decides(bench: Bench, text: str):
    bench.write(write_file(shell_hook("h", text)))
    assert run_hookline(bench, "test", "h", HOOKLINE_TRUST="all").returncode == 0


def test_test_of_a_hook_that_is_switched_off_runs_it(bench: Bench):
    bench.write(write_file({**shell_hook("h", "echo out"), "enabled": False}))
    assert run_test(bench, "h")["stdout"] == "out\n"


def test_test_of_an_untrusted_projects_hook_is_refused(bench: Bench):
    fill(bench)
    ended = run_hookline(bench, "test", "first")
    assert ended.returncode == 1
    assert "untrusted" in ended.stderr
    assert "hookline trust" in ended.stderr
    assert not (bench.project / "ran").exists()


def test_test_of_a_changed_projects_hook_is_refused(bench: Bench):
    fill(bench)
    trust_project(bench)
    bench.write_script("new.sh", "true")
    ended = run_hookline(bench, "test", "first")
    assert ended.returncode == 1
    assert "changed" in ended.stderr
    assert not (bench.project / "ran").exists()


def test_test_of_a_trusted_projects_hook_runs_it(bench: Bench):
    fill(bench)
    trust_project(bench)
    assert run_hookline(bench, "test", "first").returncode == 0
    assert (bench.project / "ran").exists()


def test_test_of_an_unknown_id_names_the_known_ones(bench: Bench):
    fill(bench)
    ended = run_hookline(bench, "test", "third", HOOKLINE_TRUST="all")
    assert ended.returncode == 1
    assert "'third'" in ended.stderr
    assert "first, second" in ended.stderr


def test_test_of_an_entry_that_was_left_out_says_why(bench: Bench):
    path = bench.write(write_file({**shell_hook("h", "true"), "evnt": "x"}))
    ended = run_hookline(bench, "test", "h", HOOKLINE_TRUST="all")
    assert ended.returncode == 1
    assert str(path) in ended.stderr
    assert "'evnt'" in ended.stderr


def test_test_of_an_id_of_two_layers_needs_one_to_be_named(bench: Bench):
    bench.write(write_file(shell_hook("h", "echo theirs")))
    bench.write(write_file(shell_hook("h", "echo mine")), layer="user")
    ended = run_hookline(bench, "test", "h", HOOKLINE_TRUST="all")
    assert ended.returncode == 1
    assert "--layer" in ended.stderr
    assert run_test(bench, "h", "--layer", "user")["stdout"] == "mine\n"
    assert run_test(bench, "h", "--layer", "project")["stdout"] == "theirs\n"


def test_test_of_a_users_hook_needs_no_trust_in_the_project(bench: Bench):
    fill(bench)
    bench.write(write_file(shell_hook("mine", "echo out")), layer="user")
    assert run_test(bench, "mine", HOOKLINE_TRUST="recorded")["stdout"] == "out\n"


# enable, disable


def read_flags(bench: Bench, layer: str = "project") -> dict[str, bool]:
    """The hooks of a layer, and whether each is on, as list tells."""
    told = json.loads(run_hookline(bench, "list", "--json", HOOKLINE_TRUST="all").stdout)["hooks"]
    return {hook["id"]: hook["enabled"] for hook in told if hook["layer"] == layer}


def test_disable_switches_a_hook_off_and_enable_on_again(bench: Bench):
    fill(bench)
    assert run_hookline(bench, "disable", "first").returncode == 0
    assert read_flags(bench) == {"first": False, "second": True}
    assert run_hookline(bench, "enable", "first").returncode == 0
    assert read_flags(bench) == {"first": True, "second": True}


def test_disable_keeps_everything_else_of_the_file(bench: Bench):
    text = "# mine\r\nhooks:\r\n- id: a # first\r\n  event: after_turn\r\n  run: {type: shell, shell: 'true'}\r\n"
    path = bench.write("")
    path.write_bytes(text.encode())
    run_hookline(bench, "disable", "a")
    assert path.read_bytes().decode() == text.replace("- id", "- enabled: false\r\n  id")


@pytest.mark.parametrize("verb", ["enable", "disable"])
def test_switching_to_what_is_so_already_says_so_and_writes_nothing(bench: Bench, verb: str):
    path = bench.write(write_file({**command_hook("h", "true"), "enabled": verb == "enable"}))
    before = path.stat()
    ended = run_hookline(bench, verb, "h")
    assert ended.returncode == 0
    assert f"{verb}d already" in ended.stdout
    assert os.path.samestat(path.stat(), before)


def test_switching_says_in_which_file(bench: Bench):
    fill(bench)
    ended = run_hookline(bench, "disable", "first")
    assert f"hook 'first' of {bench.hooks_folder() / 'hooks.yaml'} is disabled now" in ended.stdout


def test_a_trusted_project_stays_trusted_when_its_hook_is_switched(bench: Bench):
    fill(bench)
    trust_project(bench)
    ended = run_hookline(bench, "disable", "first")
    assert "stays trusted" in ended.stdout
    assert is_trusted(bench)


def test_a_guard_that_is_switched_off_keeps_nothing_closed_when_the_project_changes_later(bench: Bench):
    fill(bench)
    trust_project(bench)
    run_hookline(bench, "disable", "second")
    bench.write_script("new.sh", "true")
    assert run_hookline(bench, "fire", *BEFORE).returncode == 0


@pytest.mark.parametrize("change", [lambda bench: None, lambda bench: bench.write_script("new.sh", "true")])
def test_switching_a_hook_trusts_no_project_that_was_not(bench: Bench, change: Callable[[Bench], object]):
    fill(bench)
    is_new = change(bench) is None
    if not is_new:
        (bench.hooks_folder() / "new.sh").unlink()
        trust_project(bench)
        change(bench)
    ended = run_hookline(bench, "disable", "first")
    assert ended.returncode == 0
    assert codes_of(open_recorded(bench)) == ["untrusted" if is_new else "trust-changed"]


def test_switching_a_users_hook_trusts_no_project(bench: Bench):
    fill(bench)
    bench.write(write_file(command_hook("mine", "true")), layer="user")
    run_hookline(bench, "disable", "mine")
    assert read_flags(bench, "user") == {"mine": False}
    assert codes_of(open_recorded(bench)) == ["untrusted"]


def test_switching_an_id_of_two_layers_needs_one_to_be_named(bench: Bench):
    for layer in ("project", "user"):
        bench.write(write_file(command_hook("h", "true")), layer=layer)
    ended = run_hookline(bench, "disable", "h")
    assert ended.returncode == 1
    assert "--layer" in ended.stderr
    assert run_hookline(bench, "disable", "h", "--layer", "user").returncode == 0
    assert (read_flags(bench), read_flags(bench, "user")) == ({"h": True}, {"h": False})


def test_switching_an_unknown_id_names_the_known_ones(bench: Bench):
    fill(bench)
    ended = run_hookline(bench, "disable", "third")
    assert ended.returncode == 1
    assert "'third'" in ended.stderr
    assert "first, second" in ended.stderr


def test_switching_an_id_that_the_named_layer_does_not_have(bench: Bench):
    fill(bench)
    ended = run_hookline(bench, "disable", "first", "--layer", "user")
    assert ended.returncode == 1
    assert read_flags(bench)["first"]


def test_switching_in_a_file_that_cannot_be_changed_in_one_place_is_refused(bench: Bench):
    text = "hooks:\n- &a {id: a, event: after_turn, run: {type: shell, shell: x}}\n- {<<: *a, id: b}\n"
    path = bench.write(text)
    ended = run_hookline(bench, "disable", "a")
    assert ended.returncode == 1
    assert f"{path}:2:3" in ended.stderr
    assert "has a bug" not in ended.stderr
    assert path.read_text() == text


def test_switching_in_a_file_with_another_bad_entry_works(bench: Bench):
    bench.write("hooks:\n- {id: a, event: after_turn, run: {type: shell, shell: x}}\n- {id: b, id: c}\n")
    ended = run_hookline(bench, "disable", "a")
    assert ended.returncode == 0, ended.stderr
    assert read_flags(bench) == {"a": False}


@pytest.mark.parametrize("sign", ["\u2028", "\u0085", "\r"], ids=ascii)
def test_switching_in_a_file_with_odd_line_ends_is_no_failure_of_ours(bench: Bench, sign: str):
    path = bench.write("")
    entry = "{id: a, event: after_turn, run: {type: shell, shell: x}}"
    path.write_bytes(f"# one{sign}# two\nhooks:\n- {entry}\n".encode())
    assert "has a bug" not in run_hookline(bench, "disable", "a").stderr


def test_switching_through_a_link_keeps_the_link_and_the_mode(bench: Bench):
    target = bench.root / "dotfiles.yaml"
    target.write_text(write_file(command_hook("mine", "true")))
    target.chmod(0o640)
    bench.hooks_folder("user").mkdir(parents=True)
    (bench.hooks_folder("user") / "hooks.yaml").symlink_to(target)
    assert run_hookline(bench, "disable", "mine").returncode == 0
    assert (bench.hooks_folder("user") / "hooks.yaml").is_symlink()
    assert read_flags(bench, "user") == {"mine": False}
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


# init


def test_init_writes_a_file_without_problems(bench: Bench):
    ended = run_hookline(bench, "init")
    assert ended.returncode == 0
    checked = run_hookline(bench, "check", HOOKLINE_TRUST="all")
    assert checked.returncode == 0
    assert "0 errors, 0 warnings" in checked.stdout


def test_init_says_where(bench: Bench):
    assert str(bench.hooks_folder() / "hooks.yaml") in run_hookline(bench, "init").stdout


def test_the_guard_of_init_blocks(bench: Bench):
    run_hookline(bench, "init")
    ended = run_hookline(bench, "fire", *BEFORE, HOOKLINE_TRUST="all")
    assert ended.returncode == 2
    assert "rm -rf is not allowed" in ended.stdout


def test_the_guard_of_init_lets_other_commands_pass(bench: Bench):
    run_hookline(bench, "init")
    call = ("before_tool_call", "--tool", "bash", "--kind", "shell", "--arg", "command=ls")
    assert run_hookline(bench, "fire", *call, HOOKLINE_TRUST="all").returncode == 0


def follow(bench: Bench, said: str) -> list[subprocess.CompletedProcess[str]]:
    """Run the commands that a text says to type, those that need a person left out."""
    environment = make_environment(bench, PATH=f"{Path(find_hookline()).parent}:{os.environ['PATH']}")
    lines = [line.strip() for line in said.splitlines() if line.startswith("  ") and line.strip() != "hookline trust"]
    options: dict[str, Any] = {"cwd": bench.project, "env": environment, "capture_output": True, "text": True}
    return [subprocess.run(["/bin/sh", "-c", line], check=False, **options) for line in lines]


def test_what_init_says_to_try_works(bench: Bench):
    said = run_hookline(bench, "init").stdout
    assert "  hookline trust\n" in said
    assert talk_to_hookline(bench, "trust").status == 0
    (ended,) = follow(bench, said)
    assert ended.returncode == 2, ended.stderr


def test_what_init_says_to_try_works_for_the_users_own_file(bench: Bench):
    said = run_hookline(bench, "init", "--user").stdout
    (ended,) = follow(bench, said)
    assert ended.returncode == 2, ended.stderr


def test_init_for_the_user_writes_to_the_home(bench: Bench):
    run_hookline(bench, "init", "--user")
    assert (bench.hooks_folder("user") / "hooks.yaml").exists()
    assert not bench.hooks_folder().exists()


@pytest.mark.parametrize("name", ["hooks.yaml", "hooks.yml", "hooks.json"])
@pytest.mark.parametrize("arguments", [(), ("--user",)])
def test_init_overwrites_nothing(bench: Bench, name: str, arguments: tuple[str, ...]):
    path = bench.write("hooks: []\n", layer="user" if arguments else "project", name=name)
    ended = run_hookline(bench, "init", *arguments)
    assert ended.returncode == 1
    assert str(path) in ended.stderr
    assert path.read_text() == "hooks: []\n"
    assert list(path.parent.iterdir()) == [path]


def test_init_does_not_write_through_a_dangling_link(bench: Bench):
    bench.hooks_folder().mkdir(parents=True)
    (bench.hooks_folder() / "hooks.yaml").symlink_to(bench.root / "outside.yaml")
    assert run_hookline(bench, "init").returncode == 1
    assert not (bench.root / "outside.yaml").exists()


def test_init_that_cannot_write_says_so(bench: Bench):
    (bench.project / ".hookline").touch()
    ended = run_hookline(bench, "init")
    assert ended.returncode == 1
    assert "cannot be written" in ended.stderr


# demo


@pytest.fixture
def demo(bench: Bench) -> subprocess.CompletedProcess[str]:
    return run_hookline(bench, "demo", TMPDIR=str(bench.root))


def test_demo_shows_a_block_an_edit_and_context_and_leaves_nothing(
    bench: Bench, demo: subprocess.CompletedProcess[str]
):
    assert (demo.returncode, demo.stderr) == (0, "")
    assert "blocked: rm -rf is not allowed here" in demo.stdout
    assert "edited" in demo.stdout
    assert "→ args now" in demo.stdout
    assert "→ context:" in demo.stdout
    assert "→ reminder:" in demo.stdout
    assert list(bench.root.glob("hookline-demo-*")) == []


def test_demo_keeps_its_folder_on_request(bench: Bench):
    ended = run_hookline(bench, "demo", "--keep", TMPDIR=str(bench.root))
    (kept,) = bench.root.glob("hookline-demo-*")
    assert f"the folder is kept: {kept / 'project'}" in ended.stdout
    assert (kept / "project" / ".hookline" / "hooks" / "hooks.yaml").exists()


def test_demo_does_not_touch_the_users_home(bench: Bench, demo: subprocess.CompletedProcess[str]):
    assert demo.returncode == 0
    assert not bench.home.exists()
    assert not (bench.root / ".hookline").exists()


def test_demo_needs_no_linter(bench: Bench):
    """Where the linter is not installed the demo says so in its hook, and goes on."""
    ended = run_hookline(bench, "demo", TMPDIR=str(bench.root), PATH="/usr/bin:/bin")
    assert ended.returncode == 0, ended.stderr
    assert "blocked: rm -rf is not allowed here" in ended.stdout
