"""Matchers of hook objects: which calls they take, and what is refused before one is attached."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.match import UnreadableValueError
from hookline.objects.matcher import HookMatcher
from hookline.objects.records import BadRecordError
from hookline.objects.value import PathError, parse_path, to_text
from properties import steady


def matches(name: str = "bash", /, arguments: Any = None, **conditions: str) -> bool:
    return HookMatcher(**conditions).compile().matches(name, arguments)


def refuse(**conditions: str) -> str:
    problems = HookMatcher(**conditions).validate("pre_tool_use", "h")
    assert problems
    return "\n".join(problems)


def test_an_empty_matcher_takes_every_call():
    """Case 10: ("bash", {}) and ("", null)."""
    assert matches("bash", {})
    assert matches("", None)


def test_a_name_is_met_exactly():
    """Case 11: "bash" is not "Bash", "bash " or "bash2"."""
    assert [matches(name, tool_name="bash") for name in ("bash", "Bash", "bash ", "bash2")] == [True, *[False] * 3]


def test_an_empty_name_is_met_by_an_empty_name():
    """Fact 11: "" matches only ""."""
    assert (matches("", tool_name=""), matches("bash", tool_name="")) == (True, False)


def test_a_glob_is_a_list_of_names_and_beginnings():
    """Case 12: bash|edit_*."""
    found = [matches(name, tool_name_glob="bash|edit_*") for name in ("bash", "edit_", "edit_file", "read_file")]
    assert found == [True, True, True, False]


def test_names_of_a_glob_are_trimmed():
    """Fact 12: " bash | edit_* " works."""
    assert matches("bash", tool_name_glob=" bash | edit_* ")
    assert matches("edit_x", tool_name_glob=" bash | edit_* ")


def test_a_star_alone_takes_every_name():
    """Case 14: "*" matches everything, the empty name included."""
    assert [matches(name, tool_name_glob="*") for name in ("", "bash")] == [True, True]


def test_a_star_elsewhere_means_itself_and_is_refused():
    """Case 15: *_file does not match write_file; the better value refuses it before it never fires."""
    assert (matches("write_file", tool_name_glob="*_file"), matches("*_file", tool_name_glob="*_file")) == (False, True)
    assert "a star stands elsewhere than at the end" in refuse(tool_name_glob="bash|*_file")
    assert "a star stands elsewhere than at the end" in refuse(tool_name_glob="**")


@pytest.mark.parametrize("glob", ["bash?", "b[ae]sh", "{a,b}"])
def test_other_special_characters_are_refused(glob: str):
    """A7: what looks like a glob and would never fire is refused."""
    assert "would mean itself" in refuse(tool_name_glob=glob)


@pytest.mark.parametrize("glob", ["bash|", "|bash", "", " ", "a||b"])
def test_an_empty_alternative_matches_nothing_and_is_refused(glob: str):
    """Case 16: an empty alternative never matches, not even the empty name."""
    assert not matches("", tool_name_glob=glob)
    assert "an empty name" in refuse(tool_name_glob=glob)


def test_all_conditions_must_hold():
    """Case 18: name bash and glob edit* hold for no call. Fact 10."""
    assert not any(matches(name, tool_name="bash", tool_name_glob="edit*") for name in ("bash", "edit_file"))


@pytest.mark.parametrize("path", ["$.command", "command"])
@pytest.mark.parametrize(
    ("arguments", "is_match"),
    [({"command": "x"}, True), ({"command": ""}, False), ({}, False), ({"command": None}, False), (None, False)],
)
def test_a_path_asks_for_a_value(path: str, arguments: Any, is_match: bool):
    """Case 19: a text that is there and not empty."""
    assert matches(arguments=arguments, args_jsonpath=path) is is_match


@pytest.mark.parametrize("value", [False, 0, {}, []])
def test_any_value_but_null_and_the_empty_text_is_one(value: Any):
    """Case 20: false, 0, {} and [] have a text. Fact 15."""
    assert matches(arguments={"a": value}, args_jsonpath="$.a")


def test_a_path_goes_into_objects():
    """Case 21: $.a.b."""
    assert matches(arguments={"a": {"b": "v"}}, args_jsonpath="$.a.b")
    assert not matches(arguments={"a": [1]}, args_jsonpath="$.a.b")


@pytest.mark.parametrize("path", ["$", "$.", ""])
def test_the_root_is_the_whole_arguments(path: str):
    """Case 23: "$" is the whole arguments. Fact 13: so are "" and "$."."""
    assert matches(arguments={"a": "rm"}, args_jsonpath=path, match_regex='^\\{"a":"rm"\\}$')


def test_a_path_goes_into_lists():
    """Case 23: "$.a[0]" resolves; A13."""
    arguments = {"a": [{"b": "x"}, "y"], "c.d": {"e'": "z"}}
    for path, wanted in [("$.a[0].b", "x"), ("a[1]", "y"), ("$['c.d'][\"e'\"]", "z"), ("$.a[0]['b']", "x")]:
        assert matches(arguments=arguments, args_jsonpath=path, match_regex=f"^{wanted}$"), path
    assert not matches(arguments=arguments, args_jsonpath="$.a[2]")
    assert not matches(arguments=arguments, args_jsonpath="$.a[0][0]")
    assert matches(arguments=["x"], args_jsonpath="$[0]")


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.a..b", ("a", "b")),
        ("$..a", ("a",)),
        ("a.b.", ("a", "b")),
        ("$.a.0", ("a", "0")),
        ("$x", ("$x",)),
        ("$.$", ("$",)),
    ],
)
def test_paths_are_read_as_ever_otherwise(path: str, steps: tuple[str, ...]):
    """Fact 13: empty keys do not count; a number between dots is a key."""
    assert parse_path(path) == steps


def test_a_number_between_dots_is_a_key():
    """Fact 13: $.a.0 takes the key "0" of an object, and no place of a list."""
    assert matches(arguments={"a": {"0": "x"}}, args_jsonpath="$.a.0")
    assert not matches(arguments={"a": ["x"]}, args_jsonpath="$.a.0")


@pytest.mark.parametrize("path", ["$.a[", "$.a[]", "$.a[*]", "$.a[-1]", "$.a]", "$.a['b]", "$.a[b]", "$.a[0:1]"])
def test_a_path_that_cannot_be_read_is_refused(path: str):
    """A7: a path that cannot be read is refused; if asked, it leads nowhere."""
    assert "cannot be read" in refuse(args_jsonpath=path)
    assert not matches(arguments={"a": ["x"]}, args_jsonpath=path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (5.0, "5.0"),
        (True, "true"),
        ({"b": 2, "a": 1}, '{"a":1,"b":2}'),
        ([1, 2], "[1,2]"),
        (1e100, "1e100"),
        (1.5e-7, "1.5e-7"),
        (0.00001, "0.00001"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e16"),
        (1.25e20, "1.25e20"),
        (-12.5, "-12.5"),
        (-0.0, "-0.0"),
        (123456789012345.67, "123456789012345.67"),
        ({"é<\n": ["\x01", None]}, '{"é<\\n":["\\u0001",null]}'),
        ([], "[]"),
        ((1,), "[1]"),
    ],
)
def test_other_values_are_compared_as_compact_json(value: Any, text: str):
    """Fact 14: keys sorted, numbers as the reference writes them, everything outside ASCII as it is."""
    assert to_text(value) == text


@steady
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_back_from_its_text(value: float):
    assert float(to_text(value)) == value


@steady
@given(st.text("$.a0[]'\" *", max_size=10))
def test_any_path_is_read_or_refused(path: str):
    try:
        assert isinstance(parse_path(path), tuple)
    except PathError as error:
        assert str(error)


@pytest.mark.parametrize("value", [{1, 2}, {1: 2}, float("nan"), [object()]])
def test_a_value_without_a_text_is_never_passed_over(value: Any):
    """A guard that asks for a value nobody can read must learn of it."""
    with pytest.raises(UnreadableValueError, match="cannot be read as text"):
        matches(arguments={"a": value}, args_jsonpath="$.a", match_regex="x")


def test_a_value_nested_too_deep_is_never_passed_over():
    value: Any = "x"
    for _ in range(100_000):
        value = [value]
    with pytest.raises(UnreadableValueError):
        matches(arguments={"a": value}, args_jsonpath="$.a", match_regex="x")


def test_name_path_and_pattern_together():
    """Case 24."""
    wanted = {"tool_name_glob": "bash|edit_*", "args_jsonpath": "$.command", "match_regex": r"^rm\s+-rf"}
    assert matches("bash", {"command": "rm -rf build"}, **wanted)
    assert not matches("read_file", {"command": "rm -rf build"}, **wanted)
    assert not matches("bash", {"command": "cargo test"}, **wanted)


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("rf", "rm -rf x", True),
        ("RF", "rm -rf x", False),
        ("(?i)RF", "rm -rf x", True),
        ("b$", "b\n", False),
        (r"^\d$", "٣", True),
    ],
)
def test_a_pattern_is_searched_for_as_rust_does(pattern: str, text: str, is_match: bool):
    """Case 25: a search; case-sensitive; (?i) works; $ is the end of the text alone. Fact 16."""
    assert matches(arguments={"a": text}, args_jsonpath="a", match_regex=pattern) is is_match


@pytest.mark.parametrize("pattern", [".*", "^$", ""])
@pytest.mark.parametrize("arguments", [{}, {"a": None}, None])
def test_a_missing_value_satisfies_no_pattern(pattern: str, arguments: Any):
    """Fact 17, the better value: a missing path matches no pattern, not even one that takes the empty text."""
    assert not matches(arguments=arguments, args_jsonpath="$.a", match_regex=pattern)
    assert matches(arguments={"a": ""}, args_jsonpath="$.a", match_regex=pattern)


def test_a_deny_pattern_is_the_same_test():
    """Case 28: deny_regex fires when it is found."""
    assert matches(arguments={"a": "x"}, args_jsonpath="a", deny_regex="x")
    assert not matches(arguments={"a": "y"}, args_jsonpath="a", deny_regex="x")


def test_both_patterns_are_refused_and_match_nothing():
    """Case 28: both regexes are invalid, and never match."""
    both = {"args_jsonpath": "a", "match_regex": "x", "deny_regex": "x"}
    assert refuse(**both) == "hook `h`: match_regex and deny_regex are mutually exclusive"
    assert not matches(arguments={"a": "x"}, **both)


def test_a_pattern_without_a_path_is_refused_and_matches_nothing():
    """Case 29: a regex without a path is invalid. Fact 18."""
    assert refuse(match_regex="x").startswith("hook `h`: a regex matcher requires args_jsonpath")
    assert not matches(arguments="x", match_regex="x")


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a" * 20_000])
def test_a_pattern_that_does_not_compile_is_refused_and_matches_nothing(pattern: str):
    """Case 29: "(" and look-ahead are invalid. Facts 16 and 19."""
    assert refuse(args_jsonpath="a", deny_regex=pattern).startswith("hook `h`: invalid hook matcher regex: ")
    assert not matches(arguments={"a": "a"}, args_jsonpath="a", deny_regex=pattern)


@pytest.mark.parametrize("matcher", [HookMatcher(), HookMatcher(tool_name="bash")])
def test_a_matcher_has_no_place_on_other_events(matcher: HookMatcher):
    """Fact 3: not even an empty one."""
    assert matcher.validate("turn_end", "h") == ("hook `h` has a matcher on non-tool event `turn_end`",)


def test_every_problem_is_told():
    text = refuse(tool_name_glob="a||*b", args_jsonpath="$[", match_regex="(", deny_regex="[")
    assert len(text.splitlines()) == 6


def test_a_good_matcher_has_no_problems():
    matcher = HookMatcher(tool_name="", tool_name_glob="bash|edit_*", args_jsonpath="$.a[0]", match_regex="x")
    assert matcher.validate("post_tool_use", "h") == ()


def test_a_matcher_goes_to_json_and_back():
    """Case 9, fact 9: nulls are written, unknown keys mean nothing."""
    matcher = HookMatcher(tool_name="bash")
    assert json.loads(matcher.to_json()) == {
        "tool_name": "bash",
        "tool_name_glob": None,
        "args_jsonpath": None,
        "match_regex": None,
        "deny_regex": None,
    }
    assert HookMatcher.from_json(matcher.to_json()) == matcher
    assert HookMatcher.from_json('{"more": 1}') == HookMatcher()


@pytest.mark.parametrize("text", ['{"tool_name": 5}', "[]", "x", '{"tool_name": "a", "tool_name": "b"}'])
def test_what_is_no_matcher_is_refused(text: str):
    """Fact 9: a wrong type is an error."""
    with pytest.raises(BadRecordError):
        HookMatcher.from_json(text)


def test_patterns_are_compiled_once():
    """A6: a compiled matcher holds its pattern; matching compiles nothing."""
    compiled = HookMatcher(args_jsonpath="a", match_regex="x").compile()
    assert compiled.pattern is not None
    assert compiled.pattern.search("x")
