"""What a hook object's matcher asks, as a part of the engine's match; and why a call is not meant, in words."""

from __future__ import annotations

from typing import Any

import pytest

from hookline import AfterToolCall, BeforeToolCall, Event, SessionStart, Tool, ToolResult
from hookline.match import Look, UnreadableValueError, compile_match, find_mismatch
from hookline.objects.condition import MatcherPredicate, make_match
from hookline.objects.matcher import HookMatcher


def call(name: str = "bash", **args: Any) -> Event:
    return Event(BeforeToolCall(tool=Tool(name=name, args=args)))


def find(event: Event, **conditions: str) -> str | None:
    """Why the event is not meant, None when it is; the match itself says the same."""
    compiled = compile_match(make_match("pre_tool_use", HookMatcher(**conditions)))
    mismatch = find_mismatch(compiled, event)
    assert compiled.test(event) is (mismatch is None)
    return mismatch


def test_the_exact_name_of_a_tool_is_a_word_of_the_match_itself():
    """So that objects for other tools cost nothing."""
    match = make_match("pre_tool_use", HookMatcher(tool_name="bash"))
    assert (match.tool_name, match.predicate) == ("bash", None)


@pytest.mark.parametrize("event", ["session_start", "user_prompt_submit", "turn_end", "pre_tool_use"])
def test_without_a_matcher_nothing_is_asked(event: Any):
    match = make_match(event, None)
    assert (match.tool_name, match.predicate) == (None, None)


def test_a_call_that_was_denied_is_not_meant():
    """Fact 27."""
    match = compile_match(make_match("post_tool_use", None))
    denied = Event(AfterToolCall(tool=Tool(name="bash"), result=ToolResult(approval_rejected=True)))
    assert match.test(denied) is False
    assert find_mismatch(match, denied) == "hook objects are not told of a tool call that was denied"
    assert match.test(Event(AfterToolCall(tool=Tool(name="bash"), result=ToolResult()))) is True


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ({"tool_name": "edit"}, "tool_name must be 'edit'; the event has 'bash'"),
        ({"tool_name_glob": "edit_*"}, "tool_name must be one of 'edit_*'; the event has 'bash'"),
        ({"args_jsonpath": "$.x"}, "the value at '$.x' of the arguments is missing or null"),
        ({"args_jsonpath": "$.empty"}, "the value at '$.empty' of the arguments is an empty text"),
        (
            {"args_jsonpath": "$.command", "deny_regex": "^rm"},
            "the value at '$.command' of the arguments must match '^rm'; it is 'ls'",
        ),
    ],
)
def test_a_mismatch_is_told_in_words(conditions: dict[str, str], words: str):
    assert find(call(command="ls", empty=""), **conditions) == words


def test_a_long_value_is_cut_where_it_is_shown():
    mismatch = find(call(command="x" * 1000), args_jsonpath="$.command", match_regex="y")
    assert mismatch is not None
    assert len(mismatch) < 300


def test_a_call_that_is_meant_has_no_mismatch():
    assert find(call(command="rm x"), tool_name="bash", args_jsonpath="$.command", match_regex="^rm") is None


def test_an_event_without_a_tool_is_not_meant():
    predicate = make_match("pre_tool_use", HookMatcher(tool_name_glob="*")).predicate
    assert isinstance(predicate, MatcherPredicate)
    assert not predicate.holds(Event(SessionStart()))
    assert predicate.find_mismatch(Event(SessionStart())) == "the matcher asks for a tool; session_start is about none"


def test_a_value_without_a_text_has_no_answer():
    match = compile_match(make_match("pre_tool_use", HookMatcher(args_jsonpath="$")))
    for ask in (match.test, lambda event: find_mismatch(match, event)):
        with pytest.raises(UnreadableValueError):
            ask(call(x=float("nan")))


@pytest.mark.parametrize("value", ["x" * 20_000, ["x" * 90] * 200, {"k" * 9_000: "v" * 9_000}, [0] * 3_000])
def test_a_long_value_is_left_to_be_looked_at_aside(value: Any):
    match = compile_match(make_match("pre_tool_use", HookMatcher(tool_name_glob="b*", args_jsonpath="$.x")))
    found = match.test(call(x=value))
    assert isinstance(found, tuple)
    (look,) = found
    assert isinstance(look, Look)
    assert look.predicate.holds(look.event)
    assert match.test(call("edit", x=value)) is False
    assert match.test(call(y=value, x="")) is False


def test_a_value_in_itself_is_left_to_be_looked_at_aside():
    ring: list[Any] = []
    ring.append(ring)
    match = compile_match(make_match("pre_tool_use", HookMatcher(args_jsonpath="$.x")))
    assert isinstance(match.test(call(x=ring)), tuple)


def test_a_match_is_shown_by_what_it_asks():
    shown = [
        str(make_match("post_tool_use", matcher).predicate)
        for matcher in (HookMatcher(tool_name="a", args_jsonpath="$.b", match_regex="c"), None)
    ]
    assert shown == ["args_jsonpath '$.b', match_regex 'c'", "not denied"]
