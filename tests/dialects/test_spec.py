"""The shape of a hook file: everything that does not fit it is told, at its place and with a cure."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.dialects.spec import (
    ExecutionSpec,
    HookSpec,
    MatchSpec,
    Misfit,
    NativeHookSpec,
    NativeSettingsSpec,
    RunSpec,
    SettingsSpec,
    convert,
    suggest,
)
from properties import steady

RUN = {"type": "shell", "shell": "x"}
HOOK = {"id": "a", "event": "after_turn", "run": RUN}
COMMAND = {"type": "command", "argv": ["x"]}
TIMEOUT, GRACE = "timeout_seconds", "shutdown_grace_seconds"
PARALLEL, RECHECK = "max_parallel_hooks", "recheck_guards"


def misfits(data: Any, spec: type[msgspec.Struct]) -> list[Misfit]:
    found = convert(data, spec)
    assert isinstance(found, list), found
    return found


def only_misfit(data: Any, spec: type[msgspec.Struct]) -> Misfit:
    [misfit] = misfits(data, spec)
    return misfit


def test_data_that_fit_are_read():
    found = convert({**HOOK, "execution": {"mode": "async"}}, HookSpec)
    assert isinstance(found, HookSpec)
    assert found.execution is not None
    assert (found.id, found.execution.mode, found.execution.timeout_seconds) == ("a", "async", 30.0)


WRONG: list[tuple[Any, type[msgspec.Struct], tuple[Any, ...], str]] = [
    (5, HookSpec, (), "the entry must be a mapping, not 5"),
    (None, HookSpec, (), "the entry must be a mapping, not null (nothing)"),
    ([], HookSpec, (), "the entry must be a mapping, not a list"),
    ({**HOOK, "id": 5}, HookSpec, ("id",), "id must be text, not 5"),
    ({**HOOK, "id": True}, HookSpec, ("id",), "id must be text, not true"),
    ({**HOOK, "id": None}, HookSpec, ("id",), "id must be text, not null (nothing)"),
    ({**HOOK, "id": {}}, HookSpec, ("id",), "id must be text, not a mapping"),
    ({**HOOK, "enabled": 1}, HookSpec, ("enabled",), "enabled must be true or false, not 1"),
    ({**HOOK, "enabled": "on"}, HookSpec, ("enabled",), "enabled must be true or false, not 'on'"),
    ({**HOOK, "run": "x"}, HookSpec, ("run",), "run must be a mapping, not 'x'"),
    ({**RUN, "type": "sh"}, RunSpec, ("type",), "type must be one of script, command, shell, not 'sh'"),
    ({**RUN, "shell": ""}, RunSpec, ("shell",), "shell must be text that is not empty, not ''"),
    ({**COMMAND, "argv": "ls"}, RunSpec, ("argv",), "argv must be a list of texts with at least one, not 'ls'"),
    ({**RUN, "env": {"A": 1}}, RunSpec, ("env", "A"), "env.A must be text, not 1"),
    ({**RUN, "env": ["A=1"]}, RunSpec, ("env",), "env must be a mapping, not a list"),
    ({TIMEOUT: 0}, ExecutionSpec, (TIMEOUT,), "timeout_seconds must be a number greater than 0, not 0"),
    ({TIMEOUT: "30"}, ExecutionSpec, (TIMEOUT,), "timeout_seconds must be a number greater than 0, not '30'"),
    ({TIMEOUT: True}, ExecutionSpec, (TIMEOUT,), "timeout_seconds must be a number greater than 0, not true"),
    ({"mode": "x"}, ExecutionSpec, ("mode",), "mode must be one of blocking, async, fire_and_forget, not 'x'"),
    ({"on_error": "x"}, ExecutionSpec, ("on_error",), "on_error must be one of block, warn, ignore, not 'x'"),
    (
        {"mode": None},
        ExecutionSpec,
        ("mode",),
        "mode must be one of blocking, async, fire_and_forget, not null (nothing)",
    ),
    ({"detach": "no"}, ExecutionSpec, ("detach",), "detach must be true or false, not 'no'"),
    ({PARALLEL: 0}, SettingsSpec, (PARALLEL,), "max_parallel_hooks must be an integer of at least 1, not 0"),
    ({PARALLEL: 2.5}, SettingsSpec, (PARALLEL,), "max_parallel_hooks must be an integer of at least 1, not 2.5"),
    ({PARALLEL: "4"}, SettingsSpec, (PARALLEL,), "max_parallel_hooks must be an integer of at least 1, not '4'"),
    ({GRACE: -0.5}, SettingsSpec, (GRACE,), "shutdown_grace_seconds must be a number of at least 0, not -0.5"),
    ({RECHECK: 1}, NativeSettingsSpec, (RECHECK,), "recheck_guards must be true or false, not 1"),
    ({"args": {"p": {"equals": 10}}}, MatchSpec, ("args", "p", "equals"), "args.p.equals must be text, not 10"),
    ({"args": {"p": {"regex": {}}}}, MatchSpec, ("args", "p", "regex"), "args.p.regex must be text, not a mapping"),
    ({"args": {"p": "x"}}, MatchSpec, ("args", "p"), "args.p must be a mapping, not 'x'"),
    ({"profiles": "a"}, MatchSpec, ("profiles",), "profiles must be a list of texts, not 'a'"),
]


@pytest.mark.parametrize(("data", "spec", "path", "message"), WRONG, ids=[message for *_, message in WRONG])
def test_a_value_of_the_wrong_type_is_told(data: Any, spec: type[msgspec.Struct], path: tuple[Any, ...], message: str):
    misfit = only_misfit(data, spec)
    assert (misfit.code, misfit.path, misfit.message) == ("wrong-type", path, message)
    assert not misfit.is_key


@pytest.mark.parametrize(
    ("data", "spec", "cure"),
    [
        ({**HOOK, "id": 5}, HookSpec, 'put it in quotes: "5"'),
        ({**HOOK, "id": True}, HookSpec, 'put it in quotes: "True"'),
        ({**HOOK, "enabled": "on"}, HookSpec, "write true or false, without quotes"),
        ({**COMMAND, "argv": "ls -l"}, RunSpec, "write it as a list: ['ls -l']"),
        ({TIMEOUT: "30"}, ExecutionSpec, "without quotes"),
        ({PARALLEL: "4"}, SettingsSpec, "without quotes"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_with_its_cure(data: Any, spec: type[msgspec.Struct], cure: str):
    assert cure in only_misfit(data, spec).cure


def test_a_key_that_is_no_text_is_told_at_the_key():
    misfit = only_misfit({**RUN, "env": {1: "x"}}, RunSpec)
    assert (misfit.path, misfit.is_key) == (("env", 1), True)
    assert misfit.message == "the key 1 is read as a number, not as text"
    assert misfit.cure == "put the key in quotes"


@pytest.mark.parametrize(("key", "kind"), [(True, "a boolean"), (None, "null"), (1.5, "a number")])
def test_a_key_is_told_by_what_it_is_read_as(key: Any, kind: str):
    assert f"is read as {kind}" in only_misfit({"args": {key: {}}}, MatchSpec).message


def test_a_missing_key_is_told_where_it_should_be():
    misfit = only_misfit({"id": "a", "run": RUN}, HookSpec)
    assert (misfit.code, misfit.path, misfit.message, misfit.cure) == (
        "missing-key",
        (),
        "the key 'event' is missing",
        "add event:",
    )


@pytest.mark.parametrize(
    ("key", "spec", "cure"),
    [
        ("evnt", HookSpec, "did you mean 'event'?"),
        ("enable", HookSpec, "did you mean 'enabled'?"),
        ("zzz", HookSpec, "known: id, event, run, execution, match, enabled, description"),
        (5, HookSpec, "known: id, event, run, execution, match, enabled, description"),
    ],
)
def test_an_unknown_key_is_told_at_the_key_with_the_one_it_resembles(key: Any, spec: Any, cure: str):
    misfit = only_misfit({**HOOK, key: 1}, spec)
    assert (misfit.code, misfit.path, misfit.is_key) == ("unknown-key", (key,), True)
    assert misfit.message == f"unknown key {key!r}"
    assert misfit.cure == cure


def test_everything_that_does_not_fit_is_told_at_once():
    data = {"event": 5, "run": {"shell": 1, "z": 2}, "execution": {"mode": "x", "timeout_seconds": -1}}
    found = sorted((misfit.code, misfit.path) for misfit in misfits(data, HookSpec))
    assert found == [
        ("missing-key", ()),
        ("missing-key", ("run",)),
        ("unknown-key", ("run", "z")),
        ("wrong-type", ("event",)),
        ("wrong-type", ("execution", "mode")),
        ("wrong-type", ("execution", "timeout_seconds")),
        ("wrong-type", ("run", "shell")),
    ]


def test_every_wrong_item_of_a_list_is_told():
    found = misfits({**COMMAND, "argv": ["x", 1, "y", None]}, RunSpec)
    assert [misfit.path for misfit in found] == [("argv", 1), ("argv", 3)]


def test_a_wrong_item_of_a_list_is_not_told_as_the_list():
    message = only_misfit({**COMMAND, "argv": ["x", 1]}, RunSpec).message
    assert message.startswith(("argv[1] ", "argv.1 "))


@pytest.mark.parametrize(("key", "value"), [("kill_grace_seconds", 1), ("on_bad_reply", "error")])
def test_keys_of_native_executions_are_unknown_elsewhere(key: str, value: Any):
    data = {**HOOK, "execution": {key: value}}
    assert isinstance(convert(data, NativeHookSpec), NativeHookSpec)
    assert only_misfit(data, HookSpec).path == ("execution", key)


def test_a_number_without_end_does_not_fit():
    assert only_misfit({"timeout_seconds": 10**400}, ExecutionSpec).path == ("timeout_seconds",)


def test_a_long_value_is_shown_by_its_start():
    assert len(only_misfit({"mode": "x" * 1000}, ExecutionSpec).message) < 200


@pytest.mark.parametrize(
    ("word", "otherwise", "cure"),
    [
        ("aftr_turn", "", "did you mean 'after_turn'?"),
        ("zzz", "see elsewhere", "see elsewhere"),
        ("zzz", "", "known: after_turn, before_turn"),
    ],
)
def test_a_cure_for_a_mistyped_word(word: str, otherwise: str, cure: str):
    assert suggest(word, ["after_turn", "before_turn"], otherwise=otherwise) == cure


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
keys = (
    st.sampled_from(["id", "event", "run", "type", "shell", "argv", "env", "match", "args", "equals", "mode"]) | plain
)
anything = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=15,
)


@steady
@given(anything)
def test_whatever_does_not_fit_has_at_least_one_misfit(data: Any):
    found = convert(data, NativeHookSpec)
    assert isinstance(found, NativeHookSpec) or found


@steady
@given(anything)
def test_a_whole_hook_with_anything_in_one_place_fits_or_has_a_misfit_below_it(data: Any):
    for key in ("run", "match", "execution", "description"):
        found = convert({**HOOK, key: data}, NativeHookSpec)
        if isinstance(found, list):
            assert found
            assert all(misfit.path[0] == key for misfit in found)
