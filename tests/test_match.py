"""Whether a hook is meant by an event."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import match_args
from hookline.events import Event
from hookline.hook import ArgumentMatch, Match, SubjectMatch
from hookline.match import Look, Search, UnreadableValueError, compile_match, find_mismatch
from hookline.patterns.linear import LinearPatternError
from hookline.patterns.python import PatternError
from support import make_event, make_prompt_event, make_result_event


def holds(match: Match, event: Event) -> bool:
    found = compile_match(match).test(event)
    assert isinstance(found, bool)
    return found


def fits(value: Any, **wanted: str) -> bool:
    """Whether a condition holds for an argument's value."""
    return holds(Match(args={"x": ArgumentMatch(**wanted)}), make_event(args={"x": value}))


def test_an_empty_match_holds_for_everything():
    assert holds(Match(), make_event())
    assert holds(Match(), make_prompt_event())


def test_a_profile_must_be_equal():
    assert holds(Match(profile="Code"), make_event(profile="Code"))
    assert not holds(Match(profile="Code"), make_event(profile="code"))


def test_a_profile_may_be_one_of_several():
    assert holds(Match(profiles=("A", "B")), make_event(profile="B"))
    assert not holds(Match(profiles=("A", "B")), make_event(profile="C"))


def test_an_empty_list_of_profiles_restricts_nothing():
    assert holds(Match(profiles=()), make_event(profile="C"))


def test_profile_and_profiles_must_both_hold():
    match = Match(profile="A", profiles=("A", "B"))
    assert holds(match, make_event(profile="A"))
    assert not holds(match, make_event(profile="B"))


def test_an_empty_profile_asks_for_an_event_without_one():
    assert holds(Match(profile=""), make_event())
    assert not holds(Match(profile=""), make_event(profile="A"))


def test_a_tool_name_is_no_pattern():
    assert holds(Match(tool_name="bash"), make_event(tool="bash"))
    assert not holds(Match(tool_name="ba.*"), make_event(tool="bash"))
    assert not holds(Match(tool_name="bas"), make_event(tool="bash"))


def test_a_tool_kind_must_be_equal():
    assert holds(Match(tool_kind="shell"), make_event(kind="shell"))
    assert not holds(Match(tool_kind="shell"), make_event(kind="Shell"))


@pytest.mark.parametrize("match", [Match(tool_name=""), Match(tool_kind=""), match_args(x={})])
def test_a_condition_on_a_tool_never_holds_without_one(match: Match):
    assert not holds(match, make_prompt_event())


def test_a_result_event_is_matched_by_its_tool():
    assert holds(Match(tool_name="edit"), make_result_event())


def test_equals_compares_the_whole_text():
    assert fits("README.md", equals="README.md")
    assert not fits("README.md ", equals="README.md")
    assert not fits("readme.md", equals="README.md")


def test_contains_looks_for_a_part_and_is_no_pattern():
    assert fits("src/app.py", contains="c/a")
    assert not fits("src/app.py", contains="*.py")
    assert not fits("src/app.py", contains="APP")


def test_regex_searches_anywhere():
    assert fits("src/app.py", regex=r"\.py$")
    assert fits("src/app.py", regex="app")
    assert not fits("src/app.pyc", regex=r"\.py$")


def test_all_operators_of_an_argument_must_hold():
    wanted = {"contains": "src/", "regex": r"\.py$"}
    assert fits("src/a.py", **wanted)
    assert not fits("src/a.txt", **wanted)
    assert not fits("lib/a.py", **wanted)


def test_all_arguments_must_hold():
    match = match_args(a={"equals": "1"}, b={"equals": "2"})
    assert holds(match, make_event(args={"a": "1", "b": "2"}))
    assert not holds(match, make_event(args={"a": "1", "b": "3"}))
    assert not holds(match, make_event(args={"a": "1"}))


def test_an_argument_without_conditions_must_be_there():
    assert fits("")
    assert fits(0)
    assert fits(False)
    assert not fits(None)
    assert not holds(match_args(x={}), make_event(args={}))


@pytest.mark.parametrize("wanted", [{"equals": "None"}, {"contains": ""}, {"regex": ""}, {"regex": "None"}])
def test_null_never_matches(wanted: dict[str, str]):
    assert not fits(None, **wanted)


def test_no_arguments_named_are_no_filter():
    assert holds(Match(args={}), make_event(args={}))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10, "10"),
        (10.0, "10.0"),
        (True, "True"),
        (False, "False"),
        (["a", 1], "['a', 1]"),
        ({"a": None}, "{'a': None}"),
    ],
)
def test_values_that_are_not_text_are_compared_as_python_shows_them(value: Any, text: str):
    assert fits(value, equals=text)
    assert fits(value, contains=text[1:])
    assert fits(value, regex=f"^{text[0]}" if text[0].isalnum() else "^.")


def test_a_true_is_not_matched_as_json_writes_it():
    assert not fits(True, equals="true")


def test_an_empty_text_is_contained_in_everything():
    assert fits("", contains="")
    assert fits("abc", contains="")


def test_an_empty_pattern_is_found_everywhere():
    assert fits("", regex="")


def test_half_characters_are_compared_like_others():
    assert fits("a\ud800b", equals="a\ud800b")
    assert fits("a\ud800b", contains="\ud800")
    assert fits("a\ud800b", regex="\ud800b$")


def test_a_search_that_might_take_long_is_left_open():
    subject = "x" * 100_000 + "!y"
    compiled = compile_match(match_args(x={"regex": "(x+x+)+y"}))
    found = compiled.test(make_event(args={"x": subject}))
    assert isinstance(found, tuple)
    assert [(type(search), search.pattern.text, search.subject) for search in found] == [(Search, "(x+x+)+y", subject)]


def test_a_search_left_open_does_not_hide_a_condition_that_fails():
    match = match_args(x={"regex": "(x+x+)+y"}, y={"equals": "1"})
    assert not holds(match, make_event(args={"x": "x" * 100 + "!y", "y": "2"}))


def test_several_searches_can_be_left_open():
    match = match_args(x={"regex": "(x+x+)+y"}, y={"regex": "(y+y+)+z"})
    found = compile_match(match).test(make_event(args={"x": "x" * 100 + "!y", "y": "y" * 100 + "!z"}))
    assert isinstance(found, tuple)
    assert len(found) == 2


def test_a_pattern_that_does_not_compile_is_refused_when_compiled():
    with pytest.raises(PatternError):
        compile_match(match_args(x={"regex": "["}))


class Unreadable:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


def test_a_value_without_a_text_has_no_answer():
    with pytest.raises(UnreadableValueError, match="argument 'x' cannot be read as text: no text for you"):
        fits(Unreadable(), equals="a")


def test_a_value_too_deep_to_be_shown_has_no_answer():
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(UnreadableValueError, match="argument 'x' cannot be read as text"):
        fits(value, contains="a")


def test_a_value_without_a_text_matters_only_where_it_is_asked_for():
    assert holds(match_args(y={"equals": "1"}), make_event(args={"x": Unreadable(), "y": "1"}))


def test_a_match_needs_a_tool_only_when_it_names_something_of_it():
    assert not Match(profile="A", profiles=("A",)).needs_tool
    assert Match(tool_kind="shell").needs_tool
    assert Match(tool_name="bash").needs_tool
    assert match_args(x={}).needs_tool


class Asked:
    """A predicate that answers as told."""

    def __init__(self, answer: bool, *, is_quick: bool = True) -> None:
        self._answer = answer
        self._is_quick = is_quick

    def is_quick(self, event: Event) -> bool:
        return self._is_quick

    def holds(self, event: Event) -> bool:
        return self._answer

    def find_mismatch(self, event: Event) -> str | None:
        return None if self._answer else "no"


@pytest.mark.parametrize("answer", [True, False])
def test_a_predicate_must_hold_beside_all_else(answer: bool):
    compiled = compile_match(Match(tool_name="bash", predicate=Asked(answer)))
    assert compiled.test(make_event()) is answer
    assert find_mismatch(compiled, make_event()) == (None if answer else "no")
    assert compiled.test(make_event(tool="edit")) is False


def test_a_predicate_that_is_not_quick_is_left_to_be_asked_aside():
    predicate = Asked(False, is_quick=False)
    match = replace(match_args(command={"equals": "ls"}), predicate=predicate)
    event = make_event()
    assert compile_match(match).test(event) == (Look(predicate=predicate, event=event),)
    assert compile_match(match).test(make_event(args={"command": "rm"})) is False


# The subject


def on_subject(pattern: str, **options: Any) -> Match:
    return Match(subject=SubjectMatch(pattern=pattern, **options))


def test_the_subject_must_match_as_a_whole():
    assert holds(on_subject("bash|edit"), make_event(tool="edit"))
    assert not holds(on_subject("bash|edit"), make_event(tool="edits"))


def test_where_there_is_no_subject_it_is_empty():
    assert holds(on_subject("a|"), make_prompt_event())
    assert not holds(on_subject("a"), make_prompt_event())


def test_a_pattern_on_the_subject_must_stand_by_itself():
    """Fact 14 and W14 of the folder contract."""
    for pattern in ("a)|(?:b", "**", "(", "(?=a)", r"(a)\1"):
        with pytest.raises(LinearPatternError):
            compile_match(on_subject(pattern))


def test_a_mismatch_of_the_subject_is_told_in_words():
    found = find_mismatch(compile_match(on_subject("bash")), make_event(tool="x" * 300))
    assert found is not None
    assert found.startswith("the event's subject must match '^(?:bash)$' as a whole; it is 'xxx")
    assert len(found) < 300


@pytest.mark.parametrize(
    ("match", "asks"),
    [
        (Match(), False),
        (Match(tool_name="a", tool_kind="b"), False),
        (on_subject("a"), False),
        (Match(profile="a"), True),
        (match_args(x={}), True),
    ],
)
def test_a_match_may_be_answered_by_names_alone(match: Match, asks: bool):
    assert compile_match(match).asks_more_than_names is asks
