"""Patterns: the answers of `re`, and a bound on the subjects that are searched in place."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings

import pytest
from hypothesis import assume, given

from hookline.patterns.python import MAX_PATTERN_LENGTH, Pattern, PatternError, compile_pattern
from properties import steady
from runaway import RUNAWAYS, TooLongError, at_most_cpu, make_subject, patterns, subjects

# What a search in place may take at the very most; the aim is a hundredth of it.
INLINE_LIMIT_S = 1.0
LONGEST_TRIED = 200_000


def compile_or_skip(text: str) -> Pattern:
    try:
        return compile_pattern(text)
    except PatternError:
        assume(False)
        raise


def compile_elsewhere(text: str, *, within_s: float) -> str:
    """Compile a pattern in a process of its own, which can be ended, and say how long its safe subjects are."""
    code = "import sys; from hookline.patterns import python; print(python.compile_pattern(sys.argv[1]).safe_length)"
    command = [sys.executable, "-c", code, text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=within_s, check=False)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


@steady
@given(patterns, subjects)
def test_the_answer_is_that_of_re(text: str, subject: str):
    pattern = compile_or_skip(text)
    assume(pattern.is_safe_for(subject))
    assert pattern.found_in(subject) == bool(re.search(text, subject))


@steady
@given(patterns)
def test_a_pattern_is_refused_exactly_when_re_refuses_it(text: str):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except re.error as error:
        with pytest.raises(PatternError, match=re.escape(str(error))):
            compile_pattern(text)
    else:
        assert compile_pattern(text).text == text


@steady
@given(patterns)
def test_no_subject_within_the_safe_length_takes_long(text: str):
    pattern = compile_or_skip(text)
    assume(pattern.safe_length >= 0)
    length = min(pattern.safe_length, LONGEST_TRIED)
    for subject in ("a" * length, ("ab" * length)[:length], ("a" * (length - 1) + "!")[:length], " " * length):
        assert pattern.is_safe_for(subject)
        with at_most_cpu(INLINE_LIMIT_S):
            pattern.found_in(subject)


@pytest.mark.parametrize("text", RUNAWAYS)
def test_a_runaway_is_refused_in_place_or_returns_soon(text: str):
    pattern = compile_pattern(text)
    for length in (10, 30, 100, 1000, 10_000, 100_000):
        subject = make_subject(text, length)
        if pattern.is_safe_for(subject):
            with at_most_cpu(INLINE_LIMIT_S):
                pattern.found_in(subject)


@pytest.mark.parametrize("text", [r"(a+)+$", r"(a|a)*b", r"(x+x+)+y", r"(.*)*x", r"^(\w+\s?)*$"])
def test_a_pattern_of_exponential_cost_is_never_searched_in_place(text: str):
    assert not compile_pattern(text).is_safe_for(make_subject(text, 30))


def test_a_text_without_the_letters_of_a_pattern_is_answered_at_once():
    pattern = compile_pattern("(x+x+)+y")
    subject = "x" * 100_000
    assert pattern.is_safe_for(subject)
    with at_most_cpu(INLINE_LIMIT_S):
        assert not pattern.found_in(subject)


def test_letters_of_either_case_are_not_missed_where_case_does_not_count():
    assert compile_pattern("(?i)rm -RF").found_in("RM -rf")
    assert compile_pattern("a(?i:B)c").found_in("abc")


def test_spaces_at_the_end_are_searched_in_place_as_far_as_that_is_quick():
    pattern = compile_pattern(r"\s+$")
    assert pattern.is_safe_for(" " * 300)
    assert not pattern.is_safe_for(" " * 100_000)


def test_a_runaway_really_runs_away():
    """Guards the other tests: were these subjects harmless, they would show nothing."""
    with pytest.raises(TooLongError), at_most_cpu(0.5):
        re.search(r"(a+)+$", make_subject("(a+)+$", 100))


@pytest.mark.parametrize(
    "text",
    ["rm", r"\.py$", r"^src/", "(rm|mv) ", "[a-z]{3}", r"\bsudo\b", "(?i)drop table", "a.c", "é", "x?y", "(?=rm)"],
)
def test_an_everyday_pattern_is_searched_in_place_in_long_texts(text: str):
    assert compile_pattern(text).is_safe_for("x" * 20_000)


def test_a_pattern_with_one_repeat_is_searched_in_place_in_an_argument_of_usual_length():
    assert compile_pattern(r"rm\s+-rf").is_safe_for("x" * 500)


@pytest.mark.parametrize(
    "text", ["(", "[", "a**", "(?P<n>a)(?P<n>b)", r"\1", "(?<=a+)b", "a{3,2}", "*", r"\q", "(?L)a"]
)
def test_a_pattern_that_re_refuses_is_refused_with_its_reason(text: str):
    with pytest.raises(re.error) as theirs:
        re.compile(text)
    with pytest.raises(PatternError, match=re.escape(str(theirs.value))):
        compile_pattern(text)


def test_a_repeat_too_large_for_re_is_refused():
    with pytest.raises(PatternError, match="too large"):
        compile_pattern("a{99999999999}")


def test_a_pattern_nested_too_deep_for_re_is_refused():
    with pytest.raises(PatternError, match="recursion"):
        compile_pattern("(" * 4000 + "a" + ")" * 4000)


def test_a_pattern_of_the_longest_length_is_taken():
    assert compile_pattern("a" * MAX_PATTERN_LENGTH).found_in("a" * MAX_PATTERN_LENGTH)


def test_a_longer_pattern_is_refused_with_the_limit():
    with pytest.raises(PatternError, match="longer than 10000 characters"):
        compile_pattern("a" * (MAX_PATTERN_LENGTH + 1))


def test_a_pattern_error_is_a_value_error():
    assert issubclass(PatternError, ValueError)


def test_a_pattern_that_re_warns_of_compiles_without_a_word():
    with pytest.warns(FutureWarning):
        re.compile("[[a]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compile_pattern("[[a]").found_in("[")


def test_flags_inside_a_pattern_count():
    assert compile_pattern("(?i)RM").found_in("rm")
    assert compile_pattern("(?m)^b").found_in("a\nb")
    assert compile_pattern("(?s)a.b").found_in("a\nb")
    assert compile_pattern("(?x) a  b").found_in("ab")


def test_a_pattern_anchored_in_each_line_is_not_taken_for_one_anchored_once():
    once, each_line = compile_pattern("^a*b"), compile_pattern("(?m)^a*b")
    assert each_line.safe_length < once.safe_length


@pytest.mark.parametrize("text", ["((a*){1000}){1000}", "(((a*){1000}){1000}){1000}", "a*" * 5000, "(?:a*){20000}"])
def test_a_pattern_of_many_repeats_is_judged_promptly(text: str):
    assert compile_elsewhere(text, within_s=10) in {"-1", "0", "1"}


def test_the_same_text_is_compiled_once():
    assert compile_pattern("rm -rf") is compile_pattern("rm -rf")
