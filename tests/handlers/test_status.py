"""The status line: cleaned, ordered and cut."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.handlers.status import StatusLine, clean_text, cut_to_width, measure_width, render_status


def test_the_line_shows_the_texts_in_the_order_of_their_keys():
    """Case 40: set_status(b, "y\\nz"), set_status(a, "x   x\\t!")."""
    line = StatusLine()
    line.set("b", "y\nz")
    line.set("a", "x   x\t!")
    assert line.render() == "x x ! y z"


def test_none_takes_a_text_away():
    """Case 40: set_status(a, None)."""
    line = StatusLine()
    line.set("b", "y\nz")
    line.set("a", "x   x\t!")
    line.set("a", None)
    assert line.render() == "y z"


def test_none_for_a_key_without_text_changes_nothing():
    line = StatusLine()
    line.set("a", None)
    assert line.render() == ""


def test_a_key_has_one_text():
    line = StatusLine()
    line.set("a", "one")
    line.set("a", "two")
    assert line.render() == "two"


def test_a_line_that_is_too_long_is_cut_with_an_ellipsis():
    """Case 40: "hello world" in 5."""
    assert render_status({"a": "hello world"}, 5) == "hell…"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;2;1;2;3mtrue colour", "true colour"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1bPdevice\x1b\\text", "text"),
        ("\x9b31mred", "red"),
        ("\x9d0;title\x9ctext", "text"),
        ("\x1b(Btext\x1b7", "text"),
        ("cut off\x1b[3", "cut off"),
        ("cut off\x1b", "cut off"),
        ("cut off\x1b]0;title", "cut off"),
        ("\x1b]0;a\x1b[31mred", "red"),
    ],
)
def test_whole_control_sequences_are_removed(text: str, cleaned: str):
    assert clean_text(text) == cleaned


def test_control_characters_are_removed():
    assert clean_text("a\x00b\x07c\x7fd\x85e") == "abcde"


def test_breaks_and_tabs_become_spaces_and_runs_of_spaces_one():
    assert clean_text(" a\r\nb\tc\u2028d    e ") == "a b c d e"


def test_marks_of_direction_are_removed():
    assert clean_text("safe\u202egnp.exe") == "safegnp.exe"


def test_half_a_pair_is_replaced():
    assert clean_text("a\ud800b") == "a\ufffdb"


def test_a_text_of_nothing_leaves_no_gap():
    assert render_status({"a": "x", "b": "\x1b[0m", "c": "y"}) == "x y"


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("\uff71", 1),
        ("\uff21", 2),
        ("한", 2),
        ("\u1112\u1161\u11ab", 2),
        ("😀", 2),
        ("", 0),
    ],
)
def test_wide_characters_take_two_columns_and_marks_none(text: str, width: int):
    assert measure_width(text) == width


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("日本語", 2, "…"),
        ("日本語", 1, "…"),
        ("日本語", 0, ""),
        ("abc", -1, ""),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_a_text_is_cut_between_characters(text: str, width: int, cut: str):
    assert cut_to_width(text, width) == cut


@given(st.dictionaries(st.text(max_size=3), st.text()), st.integers(0, 40))
def test_a_line_always_fits_and_holds_nothing_a_terminal_obeys(texts: dict[str, str], width: int):
    line = render_status(texts, width)
    assert measure_width(line) <= width
    assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in line)
