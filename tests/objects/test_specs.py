"""Lists of shell hooks in JSON: what is read, and what is told about the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.config.json_text import parse_json
from hookline.objects.matcher import HookMatcher
from hookline.objects.shell import ShellLimits
from hookline.objects.specs import SpecReading, read_specs


def read_text(text: str, **options: Any) -> SpecReading:
    return read_specs(parse_json(text, Path("hooks.json")), **options)


def make_spec(**changes: Any) -> dict[str, Any]:
    return {"event": "pre_tool_use", "executor": {"type": "bash", "command": "true"}} | changes


def read(*specs: Any, **options: Any) -> SpecReading:
    return read_text(json.dumps(specs, indent=1), **options)


def refuse(*specs: Any) -> str:
    """The problems of specs of which none is read."""
    reading = read(*specs)
    assert not reading.hooks
    return "\n".join(map(str, reading.problems))


def test_a_whole_spec_is_read():
    reading = read(
        make_spec(
            id="user:guard",
            executor={"type": "bash", "command": "check", "env": {"A": "b"}},
            matcher={"tool_name": "bash", "args_jsonpath": "$.command", "deny_regex": "rm"},
            timeout_ms=100,
            on_error="block",
            description="No rm.",
            source="user",
        )
    )
    assert reading.problems == ()
    (hook,) = reading.hooks
    assert (hook.id, hook.event, hook.command, hook.env) == ("user:guard", "pre_tool_use", "check", {"A": "b"})
    assert hook.matcher == HookMatcher(tool_name="bash", args_jsonpath="$.command", deny_regex="rm")
    assert (hook.timeout_ms, hook.on_error, hook.description) == (100, "block", "No rm.")


def test_what_is_left_out_has_its_value():
    reading = read(make_spec(event="turn_end"), make_spec())
    assert reading.problems == ()
    first, second = reading.hooks
    assert (first.id, second.id) == ("turn_end_0", "pre_tool_use_1")
    assert (first.timeout_ms, first.on_error, first.matcher, first.env) == (5000, "warn", None, {})


def test_a_bad_spec_leaves_its_neighbours_alone():
    reading = read(make_spec(id="a"), make_spec(id="b", event="PreToolUse"), make_spec(id="c"))
    assert [hook.id for hook in reading.hooks] == ["a", "c"]
    (problem,) = reading.problems
    assert (problem.severity, problem.hook_id, problem.place.line) == ("error", "b", 11)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"event": "before_tool_call"}, "event must be one of session_start"),
        ({"executor": {"type": "webhook", "command": "x"}}, "executor.type must be one of bash"),
        ({"executor": {"type": "bash"}}, "the key 'command' is missing"),
        ({"executor": {"type": "bash", "command": ""}}, "the command is empty"),
        ({"executor": {"type": "bash", "command": "x" * 17_000}}, "the command has 17000 bytes"),
        ({"executor": {"type": "bash", "command": "x", "env": {"A": 5}}}, "executor.env.A must be text"),
        ({"executor": {"type": "bash", "command": "x", "env": {"A=": ""}}}, "cannot be handed over"),
        ({"timeout_ms": 99}, "timeout_ms is 99; it must be from 100 to 30000"),
        ({"timeout_ms": "5000"}, "timeout_ms must be an integer"),
        ({"on_error": "Block"}, "on_error must be one of block, allow, warn"),
        ({"id": 5}, "id must be text"),
        ({"id": ""}, "the id is empty"),
        ({"matcher": {"tool_name": 5}}, "matcher.tool_name must be text"),
        ({"matcher": {"tool_name_glob": "*_file"}}, "a star stands elsewhere"),
        ({"matcher": {"match_regex": "x"}}, "requires args_jsonpath"),
        ({"matcher": {"args_jsonpath": "a", "match_regex": "("}}, "invalid hook matcher regex"),
        ({"event": "turn_end", "matcher": {"tool_name": "x"}}, "has a matcher on non-tool event `turn_end`"),
    ],
)
def test_what_does_not_fit_is_told(changes: dict[str, Any], said: str):
    """A16: limits and matchers are checked when a list is read."""
    assert said in refuse(make_spec(**changes))


def test_every_problem_of_a_spec_is_told():
    text = refuse({"event": "x", "executor": {"type": "y"}, "timeout_ms": "z"})
    assert len(text.splitlines()) == 4


@pytest.mark.parametrize("spec", [5, "x", None, []])
def test_an_entry_that_is_no_object_is_told(spec: Any):
    assert "must be a mapping" in refuse(spec)


@pytest.mark.parametrize("text", ["{}", '"x"', ""])
def test_a_text_that_is_no_list_is_told(text: str):
    (problem,) = read_text(text).problems
    assert (problem.severity, problem.message) == ("error", "the file must be a list of hooks")


def test_an_empty_list_has_no_hooks_and_no_problems():
    assert read() == SpecReading()


def test_a_key_that_stands_twice_is_told():
    reading = read_text('[{"event": "turn_end", "event": "session_end", "executor": {"type": "bash", "command": "x"}}]')
    assert reading.hooks == ()
    assert "the key 'event' stands twice" in str(reading.problems[0])


def test_a_key_that_is_not_known_is_told_and_read_over():
    reading = read(make_spec(on_eror="block", matcher={"tool": "x", "tool_name": "y"}))
    assert len(reading.hooks) == 1
    assert [problem.severity for problem in reading.problems] == ["warning", "warning"]
    assert "did you mean 'on_error'?" in str(reading.problems[0])


def test_an_id_that_stands_twice_is_told():
    """A16: ids are unique."""
    reading = read(make_spec(id="a"), make_spec(id="a"))
    assert len(reading.hooks) == 1
    assert "the id 'a' stands twice" in str(reading.problems[0])


def test_an_empty_matcher_without_a_tool_is_left_out():
    """The peer takes an empty matcher on any event; its meaning is kept, and told."""
    reading = read(make_spec(event="turn_end", matcher={}))
    assert (reading.hooks[0].matcher, reading.problems[0].severity) == (None, "warning")


def test_limits_are_settings():
    """A19."""
    assert read(make_spec(timeout_ms=60_000), limits=ShellLimits(most_timeout_ms=60_000)).hooks
