"""Times as Go writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.folders.duration import DurationError, check_positive, format_duration, parse_duration
from properties import steady


def refuse(text: str) -> str:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5s", 5),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("300ms", 0.3),
        (".5s", 0.5),
        ("1.s", 1),
        ("+5s", 5),
        ("-1s", -1),
        ("-.5m", -30),
        ("10us", 0.00001),
        ("10µs", 0.00001),
        ("10μs", 0.00001),
        ("7ns", 7e-9),
        ("0", 0),
        ("+0", 0),
        ("-0", 0),
        ("0s", 0),
        ("1s1s", 2),
        ("00000000000000000000000000005s", 5),
        ("2562047h47m16.854775807s", 9223372036.854775807),
        ("-9223372036854775808ns", -9223372036.854775808),
        ("0.0000000001s", 0),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, seconds: float):
    """Fact 10 of the folder contract."""
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no duration"),
        ("+", "is no duration"),
        ("s", "is no duration"),
        (".s", "is no duration"),
        ("--5s", "is no duration"),
        (" 5s", "is no duration"),
        ("nope", "is no duration"),
        ("5", "without a unit"),
        ("1s5", "without a unit"),
        ("1.5.5s", "without a unit"),
        ("1d", "unknown unit 'd'"),
        ("5s ", "unknown unit 's '"),
        ("1e3s", "unknown unit 'e'"),
        ("5S", "unknown unit 'S'"),
        ("\u0665s", "is no duration"),
        ("9999999h", "more than a duration can hold"),
        ("9223372036854775808ns", "more than a duration can hold"),
        ("2562047h47m16.854775808s", "more than a duration can hold"),
        ("9" * 100_000 + "s", "more than a duration can hold"),
    ],
)
def test_a_text_that_is_no_duration_is_refused_with_the_reason(text: str, reason: str):
    """Fact 10 of the folder contract."""
    message = refuse(text)
    assert reason in message
    assert len(message) < 300


@pytest.mark.parametrize("text", ["0", "0s", "-1s"])
def test_a_duration_that_is_not_positive_is_refused_by_a_check_of_its_own(text: str):
    with pytest.raises(DurationError, match="must be positive"):
        check_positive(text, parse_duration(text))


def test_a_positive_duration_passes_the_check():
    assert check_positive("5s", 5) == 5


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0032, "3.2ms"),
        (1e-9, "1ns"),
        (0.0000011, "1.1µs"),
        (0.1, "100ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (60, "1m0s"),
        (90.5, "1m30.5s"),
        (3600, "1h0m0s"),
        (5400.25, "1h30m0.25s"),
        (-1.5, "-1.5s"),
        (-0.002, "-2ms"),
    ],
)
def test_a_duration_is_printed_as_go_prints_it(seconds: float, text: str):
    """Fact 25 of the folder contract."""
    assert format_duration(seconds) == text


@given(st.integers(-(10**15), 10**15))
@steady
def test_what_is_printed_reads_as_the_same_time(nanoseconds: int):
    assert parse_duration(format_duration(nanoseconds / 1e9)) == pytest.approx(nanoseconds / 1e9, abs=1e-9)


UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


@given(st.lists(st.tuples(st.integers(0, 10**4), st.sampled_from(sorted(UNITS))), min_size=1, max_size=5))
@steady
def test_the_parts_of_a_duration_add_up(parts: list[tuple[int, str]]):
    text = "".join(f"{number}{unit}" for number, unit in parts)
    assert parse_duration(text) == pytest.approx(sum(number * UNITS[unit] for number, unit in parts) / 1e9)


@given(st.text("0123456789.+-nuµmshd ", max_size=12))
@steady
def test_any_text_is_read_or_refused(text: str):
    try:
        assert isinstance(parse_duration(text), float)
    except DurationError as error:
        assert repr(text) in str(error)
