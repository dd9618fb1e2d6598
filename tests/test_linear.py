"""Patterns of Go and Rust: their syntax, their answers, and no text on which they run away."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.linear import MAX_PATTERN_LENGTH, Flavour, LinearPatternError, compile_linear, compile_whole
from properties import steady

FLAVOURS: tuple[Flavour, ...] = ("go",)

# What Python, Go and Rust read alike on a text of ASCII characters.
_ATOMS = st.sampled_from(
    ["a", "b", "ab", ".", r"\w", r"\s", r"\d", "[ab]", "[^b]", "[a-c1]", " ", "^", r"\.", "(?i:A)"]
)
_REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,3}", "{2,}", "{1,9}"])
_GROUPS = st.sampled_from(["(%s)", "(?:%s)", "(?i:%s)", "(?s:%s)", "(?P<n>%s)"])


def _repeat(atom: str, repeat: str) -> str:
    return atom if atom == "^" else atom + repeat


_PIECES = st.lists(st.builds(_repeat, _ATOMS, _REPEATS), min_size=1, max_size=3).map("".join)
_GROUPED = st.builds(lambda form, bodies: form % "|".join(bodies), _GROUPS, st.lists(_PIECES, min_size=1, max_size=3))
safe_patterns = st.tuples(
    st.sampled_from(["", "^", "(?i)", "(?s)", "(?m)^"]), _PIECES, st.one_of(st.just(""), _GROUPED), _PIECES
).map("".join)
ascii_subjects = st.text("abcAB 1_.\n-", max_size=20)


def refuse(text: str, flavour: Flavour) -> str:
    with pytest.raises(LinearPatternError) as caught:
        compile_linear(text, flavour)
    return str(caught.value)


@pytest.mark.parametrize("flavour", FLAVOURS)
@steady
@given(text=safe_patterns, subject=ascii_subjects)
def test_the_answers_are_those_of_re_where_the_syntax_is_the_same(flavour: Flavour, text: str, subject: str):
    pattern = compile_linear(text, flavour)
    assert pattern.search(subject) == bool(re.search(text, subject, re.ASCII))
    assert pattern.fullmatch(subject) == bool(re.fullmatch(text, subject, re.ASCII))


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("text", ["(?=a)", "(?!a)", "(?<=a)", "(?<!a)"])
def test_look_around_is_refused_by_name(flavour: Flavour, text: str):
    assert "look-around is not supported" in refuse(text, flavour)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("text", [r"(a)\1", r"(?P<n>a)(?P=n)", r"(?<n>a)\k<n>"])
def test_a_back_reference_is_refused_by_name(flavour: Flavour, text: str):
    assert "back-references are not supported" in refuse(text, flavour)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("text", ["(", "a)", "[", "*a", r"\Z", "[b-a]", r"\p{Nope}", "\\", "(?P<n", "(?>a)"])
def test_what_is_no_pattern_is_refused(flavour: Flavour, text: str):
    assert refuse(text, flavour)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_pattern_that_is_too_long_is_refused(flavour: Flavour):
    assert "longer than" in refuse("a" * (MAX_PATTERN_LENGTH + 1), flavour)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_pattern_that_grows_too_big_is_refused(flavour: Flavour):
    assert refuse("((a{99}){99}){99}", flavour)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_pattern_with_half_of_a_character_is_refused(flavour: Flavour):
    assert "half of a character" in refuse("a\ud800", flavour)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_dollar_holds_at_the_end_of_the_text_alone(flavour: Flavour):
    pattern = compile_linear("b$", flavour)
    assert (pattern.search("ab"), pattern.search("b\n")) == (True, False)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_dot_takes_no_newline(flavour: Flavour):
    assert not compile_linear("a.b", flavour).search("a\nb")
    assert compile_linear("(?s)a.b", flavour).search("a\nb")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_both_spellings_of_a_named_group_are_read(flavour: Flavour):
    assert compile_linear(r"(?P<one>a)(?<two>b)\z", flavour).search("ab")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_half_of_a_character_counts_as_the_replacement_character(flavour: Flavour):
    assert compile_linear("^a\ufffdb$", flavour).search("a\ud800b")
    assert not compile_linear("^ab$", flavour).search("a\ud800b")


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("text", ["(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*a){20}b", "^(a?){40}a{40}$"])
def test_no_pattern_runs_away(flavour: Flavour, text: str):
    started = time.process_time()
    assert not compile_linear(text, flavour).search("a" * 20_000 + "!")
    assert time.process_time() - started < 2


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_nothing_is_written_to_stderr(flavour: Flavour, capfd: pytest.CaptureFixture[str]):
    refuse("(", flavour)
    assert capfd.readouterr().err == ""


def test_a_whole_match_takes_no_more_than_the_whole():
    pattern = compile_whole("write_file|edit_file", "go")
    assert [pattern.search(name) for name in ("edit_file", "read_file", "write_file2")] == [True, False, False]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_whole_match_cannot_be_got_out_of(flavour: Flavour):
    with pytest.raises(LinearPatternError, match=re.escape("unexpected )")):
        compile_whole("a)|(?:b", flavour)


def test_classes_of_go_are_of_ascii():
    assert not compile_linear(r"\d|\w|\s", "go").search("٣é\u2003")
    assert compile_linear(r"\bé", "go").search("aé")


@pytest.mark.parametrize(
    ("text", "subject"), [("[[:alpha:]]+$", "ab"), (r"^\pL$", "é"), (r"^\p{Greek}$", "Ω"), (r"^\Qa.b\E$", "a.b")]
)
def test_what_go_adds_is_read(text: str, subject: str):
    assert compile_linear(text, "go").search(subject)
    assert not compile_linear(text, "go").search("1")


def test_any_byte_is_no_syntax_of_go():
    assert r"\C" in refuse(r"a\C", "go")
    assert compile_linear(r"\\C\Q\C\E", "go").search(r"\C\C")
