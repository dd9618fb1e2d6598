"""Patterns of Go and Rust: their syntax, their answers, and no text on which they run away."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hookline.patterns.linear import MAX_PATTERN_LENGTH, Flavour, LinearPatternError, compile_linear, compile_whole
from properties import steady

FLAVOURS: tuple[Flavour, ...] = ("go", "rust")

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
    with pytest.raises(LinearPatternError, match=r"unexpected \)|unopened group"):
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


# Rust


def find(text: str, subject: str) -> bool:
    return compile_linear(text, "rust").search(subject)


# Characters on which Python, Rust and RE2 agree whether they are part of a word, a digit, or white space.
mixed_subjects = st.text("aBk1_ .\né٣Ω\u017f\u212a😀\u2003", max_size=16)
ATOMS_OF_RUST = r"""\b \B a é . \w \W \s \S \d \D [\w.] [^\W_] [^\S\n] [^a] _ [a-zé] (?i:k) (?i:[^k]) (?s:.)
    [A-z] [\W_] Ω"""
_RUST_ATOMS = st.sampled_from(ATOMS_OF_RUST.split())
rust_patterns = st.tuples(
    st.sampled_from(["", "(?i)", "(?s)"]),
    st.lists(
        st.builds(lambda atom, repeat: atom if atom in (r"\b", r"\B") else atom + repeat, _RUST_ATOMS, _REPEATS),
        min_size=1,
        max_size=5,
    ).map("".join),
).map("".join)


@settings(steady, max_examples=300)
@given(text=rust_patterns, subject=mixed_subjects)
def test_classes_and_boundaries_of_rust_go_by_unicode(text: str, subject: str):
    pattern = compile_linear(text, "rust")
    # An empty text has no boundary and no inside for `re` before 3.14.
    assume(subject or r"\B" not in text)
    assert pattern.search(subject) == bool(re.search(text, subject))
    assert pattern.fullmatch(subject) == bool(re.fullmatch(text, subject))


@pytest.mark.parametrize(
    ("text", "subject", "is_found"),
    [
        (r"\brm\b", "rm -rf", True),
        (r"\brm\b", "é rm é", True),
        (r"\brm\b", "érm", False),
        (r"\brm\b", "rmé", False),
        (r"\brm\b", "_rm é", False),
        (r"^é\b é", "é é", True),
        (r"\b_\b", "é _ é", True),
        (r"\B", "é", False),
        (r"\B", "😀", True),
        (r"^\w$", "\u200d", True),
        (r"^\w$", "Ⓐ", True),
        (r"^\w$", "½", False),
        (r"^\d$", "٣", True),
        (r"^\s$", "\x1c", False),
        (r"^\s$", "\x0b", True),
        (r"^[^\W\d_]+$", "éa", True),
        (r"^[^\W\d_]+$", "é1", False),
        (r"^[a-z&&[^aeiou]]$", "b", True),
        (r"^[a-z&&[^aeiou]]$", "e", False),
        (r"^[\w--\d_]$", "5", False),
        (r"^[\w--\d_]$", "é", True),
        (r"^[a-c~~b-d]+$", "ad", True),
        (r"^[a-c~~b-d]+$", "b", False),
        (r"^(?i)[a-z&&[^k]]$", "K", False),
        (r"^[]a]$", "]", True),
        (r"^[-a]+$", "-a", True),
        (r"^[a-]+$", "-a", True),
        (r"^[[:^alpha:]]$", "é", True),
        (r"^[[:word:]]$", "é", False),
        (r"^\pL\p{Lu}\p{Greek}\p{sc=latin}\p{Uppercase_Letter}$", "éÉΩaA", True),
        (r"^\p{gc!=L}$", "1", True),
        (r"^\P{L}$", "é", False),
        (r"\bé[[:punct:]\pP]\b", "é_", True),
        (r"^\x41\x{1F600}\u0041\U00000041\u{41}$", "A😀AAA", True),
        ("(?x) a b [ c d ] # and so on )", "abd", True),
        (r"(?x)a\ b", "a b", True),
        (r"(?x)(?-x) a", "a", False),
        (r"^(?:a{2}){2}$", "aaaa", True),
        (r"^a{2}{2}$", "aaaa", True),
        (r"^a**$", "aa", True),
        (r"^a{ 1 , 2 }$", "aa", True),
        (r"^a\{\}\-\/\#\&\~\%$", "a{}-/#&~%", True),
        (r"(?i)straSSe", "STRASSE", True),
        ("(?i)k", "\u212a", True),
        ("(?U)^a+$", "aa", True),
        ("(?i:a)b", "aB", False),
        ("(?m)^b$", "a\nb\nc", True),
        ("^é_$", "é_", True),
        ("a\\z", "a", True),
        ("[a&&b]", "a", False),
    ],
)
def test_a_pattern_of_rust_has_the_answer_of_rust(text: str, subject: str, is_found: bool):
    assert find(text, subject) is is_found


REFUSED = r"""a{ a{,2} a{2,1} {2} (?i)* |* (?) (?z) (?i (?ii) (?i-) \q \xZZ \x \x{110000} \x{D800} \p \p{ \p{L
    [a-\d] [b-a] [a [[a] (?<>a) (?<1>a) (?<n (?<n>a)(?<n>b) [\b] \Qa\E \C (?:a"""


@pytest.mark.parametrize("text", REFUSED.split())
def test_what_rust_refuses_is_refused(text: str):
    assert refuse(text, "rust")


@pytest.mark.parametrize("text", ["(?-u)a", "(?R)a", r"\b{start}a", r"\<a", r"\p{Alphabetic}", r"\pC", "a{1001}"])
def test_what_cannot_be_translated_is_refused(text: str):
    assert refuse(text, "rust")


def test_a_pattern_of_rust_is_refused_where_it_goes_wrong():
    assert refuse("ab(?=c)", "rust") == "look-around is not supported ((?=) (at character 4)"


def test_deep_nesting_is_refused():
    assert "nested too deeply" in refuse("(" * 300 + ")" * 300, "rust")
    assert "nested too deeply" in refuse("[" * 300 + "a" + "]" * 300, "rust")


def test_boundaries_do_not_run_away_outside_ascii():
    started = time.process_time()
    assert not find(r"\b(\w+\s?)*\b!", "é " * 20_000)
    assert time.process_time() - started < 4


@steady
@given(st.text("ab()[]{}|*+?\\^$.-&~:#xPpwWbB0{,}<>=!é ", max_size=12), st.text("ab é_", max_size=6))
def test_any_text_is_a_pattern_of_rust_or_refused(text: str, subject: str):
    try:
        pattern = compile_linear(text, "rust")
    except LinearPatternError as error:
        assert str(error)
    else:
        assert pattern.search(subject) in (True, False)
