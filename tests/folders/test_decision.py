"""What commands and texts of hook folders say, and how several are one."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.folders.decision import (
    NO_OPINION,
    NO_REASON,
    Reply,
    combine,
    downgrade,
    read_command,
    read_text,
    to_answer,
)
from hookline.outcome import Answer, Edit, Failure
from json_values import objects
from properties import steady

DENY = '{"behavior":"deny","reason":"r"}'
DENIED = Reply(behavior="deny", reason="r")


def command(stdout: str = "", *, exit_code: int = 0, stderr: str = "") -> Reply:
    reply = read_command(exit_code, stdout, stderr)
    assert isinstance(reply, Reply), reply
    return reply


def text(found: str) -> Reply:
    reply = read_text(found)
    assert isinstance(reply, Reply), reply
    return reply


def is_context(reply: Reply, wanted: str) -> bool:
    return (reply.behavior, reply.context) == ("context", wanted)


def modify(**input: Any) -> Reply:  # noqa: A002
    return Reply(behavior="modify", input=input)


def context(found: str) -> Reply:
    return Reply(behavior="context", context=found)


def deny(reason: str, **keys: Any) -> Reply:
    return Reply(behavior="deny", reason=reason, **keys)


# Commands


@pytest.mark.parametrize("stdout", ["", " \n\t"])
def test_a_command_that_says_nothing_has_no_objection(stdout: str):
    """Case 20 of the folder contract."""
    assert command(stdout, stderr="a warning") == NO_OPINION


@pytest.mark.parametrize(
    ("stdout", "stderr", "reason"),
    [
        ("so", " nope\n", "nope"),
        (" so ", " \n", "so"),
        ("", "", ""),
        ('{"behavior":"allow"}', "", '{"behavior":"allow"}'),
    ],
)
def test_exit_code_2_is_a_deny(stdout: str, stderr: str, reason: str):
    """Case 21 and fact 34 of the folder contract."""
    assert command(stdout, exit_code=2, stderr=stderr) == deny(reason)


def test_a_deny_without_a_reason_is_shown_with_one():
    """Case 21 of the folder contract."""
    assert to_answer(deny(""), "PreToolUse").reason == NO_REASON == "blocked by hook"


@pytest.mark.parametrize("exit_code", [1, 127, -1, 3])
def test_any_other_exit_code_is_a_failure_whatever_was_written(exit_code: int):
    """Case 23 and fact 35 of the folder contract, and W5."""
    failure = read_command(exit_code, DENY, "")
    assert failure == Failure(kind="exit", message=f"exit code {exit_code}")


def test_a_decision_object_is_read():
    """Cases 24 and 25 of the folder contract."""
    assert command(f" {DENY} \n") == DENIED
    assert command('{"behavior":"modify","input":{"path":"x"}}') == modify(path="x")
    assert command('{"behavior":"allow"}') == NO_OPINION
    assert command('{"behavior":"context","context":"c"}') == context("c")


def test_any_other_text_is_context():
    """Case 26 and fact 36 of the folder contract."""
    assert command('{"foo":1}') == context('{"foo":1}')
    assert command(" note\n") == context("note")


def test_keys_of_a_decision_are_read_in_any_case_and_others_passed_over():
    """Fact 37 of the folder contract."""
    assert command('{"Behavior":"deny","REASON":"r","colour":1}') == DENIED
    assert command('{"behavior":"allow","behavior":"deny","reason":"a","reason":"r"}') == DENIED


def test_a_modify_may_have_no_input():
    """Fact 37 of the folder contract."""
    assert command('{"behavior":"modify"}') == Reply(behavior="modify")
    assert command('{"behavior":"modify","input":null,"reason":null}') == Reply(behavior="modify")


def test_numbers_keep_their_digits():
    """Fact 37 of the folder contract, better than the reference."""
    assert command('{"behavior":"modify","input":{"n":12345678901234567890}}').input == {"n": 12345678901234567890}


@pytest.mark.parametrize(
    ("stdout", "message"),
    [
        ('{"behavior":"DENY"}', "its behavior is 'DENY'; it must be one of allow, deny, modify, context"),
        ('{"behavior":""}', "its behavior is ''"),
        ('{"behavior":null}', "behavior must be a text, not null"),
        ('{"behavior":["deny"]}', "behavior must be a text, not a list"),
        ('{"behavior":"deny","reason":5}', "reason must be a text, not a number"),
        ('{"behavior":"context","context":{}}', "context must be a text, not an object"),
        ('{"behavior":"modify","input":[1]}', "input must be an object, not a list"),
    ],
)
def test_a_decision_that_cannot_be_understood_is_a_failure(stdout: str, message: str):
    """Fact 37 of the folder contract, F: it is not context."""
    for failure in (read_command(0, stdout, ""), read_text(stdout)):
        assert isinstance(failure, Failure)
        assert failure.kind == "reply"
        assert message in failure.message


@pytest.mark.parametrize(
    "stdout", ['{"decision":"block"}', f"[{DENY}]", f"\ufeff{DENY}", f"{DENY}\nthanks", f"ok {DENY}"]
)
def test_a_command_must_write_nothing_but_its_decision(stdout: str):
    """Fact 37 of the folder contract: and its author is told when it looks as if one was meant."""
    reply = command(stdout)
    assert is_context(reply, stdout)
    assert bool(reply.notes) == ("behavior" in stdout)
    assert to_answer(reply, "PreToolUse").ignored == reply.notes


@pytest.mark.parametrize(
    "stdout",
    [
        '{"behavior":"deny","input":' + "[" * 100_000,
        '{"behavior":"deny","n":' + "9" * 5000 + "}",
        '{"behavior":"deny","n":1e999}',
    ],
)
def test_an_object_that_is_too_much_to_read_is_a_failure(stdout: str):
    for failure in (read_command(0, stdout, ""), read_text(stdout)):
        assert isinstance(failure, Failure)
        assert failure.kind == "reply"


# Texts


def test_an_empty_text_has_no_objection():
    """Fact 38 of the folder contract."""
    assert text(" \n") == NO_OPINION


def test_a_block_line_is_a_deny_with_the_rest_as_its_reason():
    """Case 28 and fact 38 of the folder contract."""
    assert text("BLOCK: too risky") == deny("too risky")
    assert text("BLOCK:") == deny("")
    assert text("\nBLOCK: a\nb\n") == deny("a\nb")


@pytest.mark.parametrize("found", ["block: x", "BLOCK : x", "I would BLOCK: x", "UNBLOCK: x"])
def test_what_only_resembles_a_block_line_is_context(found: str):
    """Case 28 and fact 38 of the folder contract."""
    assert is_context(text(found), found)


def test_a_later_line_may_block():
    """Fact 39 of the folder contract, F."""
    assert text("ok\nBLOCK: r\nand more") == deny("r\nand more")
    assert text("ok\r\nBLOCK: r") == deny("r")


@pytest.mark.parametrize(
    "found",
    [
        DENY,
        f"I think: {DENY}",
        f"{DENY}\nthanks",
        f"```json\n{DENY}\n```",
        f"```\n{DENY}\n```",
        f"My answer:\n```json\n{DENY}\n```\n",
        f"```json\n{DENY}\n```\nthanks",
        f"use {{x}} and {{ then {DENY}",
        f'{{"a":1}} but {DENY}',
        f'{{"a": {DENY}',
        f"BLOCK: never mind\n{DENY}",
    ],
)
def test_a_decision_at_the_start_or_the_end_of_a_text_counts(found: str):
    """Fact 39 of the folder contract, F."""
    assert text(found) == DENIED


@pytest.mark.parametrize("found", [f"see {DENY} above", f"[{DENY}]", f"see\n```\n{DENY}\n```\nabove"])
def test_a_decision_in_the_middle_of_a_text_is_context_and_told(found: str):
    reply = text(found)
    assert is_context(reply, found)
    assert reply.notes


def test_of_two_decisions_in_a_text_the_stricter_one_counts():
    assert text(f'{DENY}\nor rather\n{{"behavior":"allow"}}') == DENIED
    assert text(f'{{"behavior":"allow"}}\nor rather\n{DENY}') == DENIED


def test_two_decisions_in_a_text_that_replace_different_things_are_a_failure():
    found = '{"behavior":"modify","input":{"a":1}} or {"behavior":"modify","input":{"a":2}}'
    assert isinstance(read_text(found), Failure)


def test_an_object_that_is_no_decision_is_context():
    for found in ('{"foo":1}', 'ok {"foo":1}', "a } b"):
        assert text(found) == context(found)


@pytest.mark.parametrize(
    ("found", "is_told"),
    [
        ("{" * 400_000 + "}", False),
        ('x {"a":' * 100_000 + "}", True),
        ('x {"a":' + '[{"":' * 100_000 + "}", True),
        ('x {"a":1}' * 100_000 + "}", False),
        ("x " + '{"a":' * 200 + "[" + "1," * 500_000 + "}", True),
    ],
)
def test_a_text_full_of_braces_is_searched_in_bounded_time(found: str, is_told: bool):
    start = time.monotonic()
    outcome = read_text(found)
    assert time.monotonic() - start < 10
    assert isinstance(outcome, Failure) == is_told


@given(st.text('{}"`:\\ behaviordn\n', max_size=40))
@steady
def test_any_text_says_something(found: str):
    assert isinstance(read_text(found), Reply | Failure)
    assert isinstance(read_command(0, found, ""), Reply | Failure)


@given(objects, st.text(max_size=10).map(lambda before: before.replace("{", "")))
@steady
def test_a_decision_is_found_behind_any_text(replacement: dict[str, Any], before: str):
    try:
        found = json.dumps({"behavior": "modify", "input": replacement}, allow_nan=False)
    except ValueError:
        return
    assert read_text(f"{before}{found}") == read_text(found)


# Several as one


def test_the_strictest_of_several_wins_and_every_context_is_kept():
    """Case 30 of the folder contract."""
    combined = combine([context("c1"), modify(a=1), deny("stop"), NO_OPINION])
    assert combined.reply == Reply(behavior="deny", reason="stop", input={"a": 1}, context="c1")
    assert combined.conflicts == ()


def test_contexts_are_joined_and_the_first_deny_gives_the_reason():
    """Case 31 and fact 40 of the folder contract."""
    assert combine([context("a"), context("b")]).reply == context("a\nb")
    assert combine([]).reply == NO_OPINION
    assert combine([deny("a"), deny("b")]).reply == deny("a")
    assert combine([deny(""), deny("b")]).reply == deny("")
    assert combine([deny("a", context="x"), Reply(context="y"), context(""), context(" ")]).reply.context == "x\ny\n "


def test_differing_replacements_are_a_conflict_in_which_the_first_stands():
    """Case 33 of the folder contract, F, and W7."""
    combined = combine([modify(a=1), modify(b=1)])
    assert combined.reply == modify(a=1)
    assert combined.conflicts == ("the replacement of hook 2 differs from an earlier one, which stands",)


def test_equal_replacements_are_no_conflict():
    assert combine([modify(a=1), modify(a=1)]).conflicts == ()
    assert combine([modify(a=1), modify(a=True)]).conflicts


def test_a_modify_without_an_input_shadows_nobody():
    """Case 33 of the folder contract, F, and W7."""
    combined = combine([Reply(behavior="modify"), modify(b=1)])
    assert (combined.reply, combined.conflicts) == (modify(b=1), ())


def test_a_replacement_stays_on_a_later_deny_but_comes_not_after_one():
    """Fact 40 of the folder contract."""
    assert combine([modify(a=1), deny("r")]).reply.input == {"a": 1}
    assert combine([deny("r"), modify(a=1)]).reply.input is None


def test_an_empty_replacement_is_one():
    assert combine([modify(), modify(b=1)]).reply == modify()


# Hooks that may not block


def test_the_deny_of_a_hook_that_may_not_block_is_context():
    """Fact 41 of the folder contract."""
    reply = downgrade(deny("r", context="lost"))
    assert is_context(reply, "r")
    assert reply.notes


def test_the_modify_of_a_hook_that_may_not_block_is_nothing():
    """Fact 41 of the folder contract."""
    reply = downgrade(Reply(behavior="modify", input={"a": 1}, context="lost"))
    assert (reply.behavior, reply.input, reply.context) == ("allow", None, "")
    assert reply.notes


@pytest.mark.parametrize("reply", [NO_OPINION, context("c"), Reply(context="c")])
def test_what_changes_nothing_stays(reply: Reply):
    """Fact 41 of the folder contract."""
    assert downgrade(reply) is reply


# As Hookline's own answer


def test_a_deny_is_a_block():
    assert to_answer(deny("r", context="c"), "PreToolUse") == Answer(verdict="block", reason="r", context=("c",))


def test_a_modify_replaces_the_arguments_of_a_tool():
    """Fact 49 of the folder contract."""
    edits = (Edit(field="args", operation="replace", value={"path": "x"}),)
    assert to_answer(modify(path="x"), "PreToolUse") == Answer(edits=edits)


def test_a_modify_replaces_a_prompt():
    """Fact 49 of the folder contract."""
    edits = (Edit(field="text", operation="replace", value="hi"),)
    assert to_answer(modify(prompt="hi", more=1), "UserPromptSubmit") == Answer(edits=edits)


@pytest.mark.parametrize(
    ("reply", "event"),
    [
        (modify(prompt=5), "UserPromptSubmit"),
        (modify(text="hi"), "UserPromptSubmit"),
        (modify(a=1), "PermissionRequest"),
        (modify(a=1), "PostToolUse"),
        (Reply(behavior="modify"), "PreToolUse"),
    ],
)
def test_a_modify_that_changes_nothing_is_told(reply: Reply, event: str):
    """Fact 49 of the folder contract."""
    answer = to_answer(reply, event)
    assert (answer.verdict, answer.edits) == ("allow", ())
    assert len(answer.ignored) == 1


def test_context_is_context():
    """W6 of the folder contract."""
    assert to_answer(context("c"), "PreToolUse") == Answer(context=("c",))
    assert to_answer(NO_OPINION, "Stop") == Answer()
