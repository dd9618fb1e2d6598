"""What a plain word means: by YAML 1.2's core schema, and by YAML 1.1 where that is asked for."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from hookline.config.scalar import OldResolver, is_finite, resolve_scalar
from properties import steady

LONG_NUMBER = "1" * 5000


def show(value: Any) -> str:
    """A value with its type, so that 1, 1.0 and true differ."""
    return f"{type(value).__name__} {value!r}"


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_a_null_is_null(text: str):
    assert resolve_scalar(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, True) for text in ("true", "True", "TRUE")),
        *((text, False) for text in ("false", "False", "FALSE")),
        ("0", 0),
        ("12", 12),
        ("+12", 12),
        ("-7", -7),
        ("007", 7),
        ("0o17", 15),
        ("0xfF", 255),
        ("1.5", 1.5),
        ("+1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("1.5e+3", 1500.0),
    ],
)
def test_a_word_of_the_core_schema_is_its_value(text: str, value: Any):
    assert show(resolve_scalar(text)) == show(value)


@pytest.mark.parametrize("text", [".inf", ".Inf", ".INF", "+.inf"])
def test_infinity_is_read(text: str):
    assert resolve_scalar(text) == math.inf


def test_negative_infinity_is_read():
    assert resolve_scalar("-.inf") == -math.inf


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_not_a_number_is_read(text: str):
    assert math.isnan(resolve_scalar(text))


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "y", "n", "Y", "N"),
        *("tRUE", "nULL", "None", "nil"),
        *("12:30", "1:30:00", "190:20:30.15", "1_000", "0b1010", "0777_7", "1,000"),
        *("2001-01-01", "2001-12-14t21:59:43.10-05:00"),
        *("=", "<<", "-", "+", ".", "..", "...", "-.", "+.", "e3", ".e3", "0x", "0o", "0o8", "-0x1", "-0o7", "0X1f"),
        *("1e", "1.e", "infinity", "inf", "nan", "+.nan", ".iNf", "1.2.3", "1-2", "٣", "1٣"),
    ],
)
def test_what_looks_like_a_value_in_other_versions_is_text(text: str):
    assert resolve_scalar(text) == text


@pytest.mark.parametrize("resolve", [resolve_scalar, OldResolver()], ids=["1.2", "1.1"])
def test_a_number_that_is_too_long_cannot_be_read(resolve: Any):
    with pytest.raises(ValueError, match="4300 digits"):
        resolve(LONG_NUMBER)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("No", False),
        ("ON", True),
        ("off", False),
        ("y", "y"),
        ("n", "n"),
        ("12:30", 750),
        ("1_000", 1000),
        ("0b101", 5),
        ("017", 15),
        ("0o17", "0o17"),
        ("1e3", "1e3"),
        ("1.5e+3", 1500.0),
        ("2001-01-01", datetime.date(2001, 1, 1)),
        ("=", "="),
        ("<<", "<<"),
        ("", None),
        ("~", None),
        ("true", True),
        ("12", 12),
    ],
)
def test_a_word_is_read_by_the_older_version_where_that_is_asked_for(text: str, value: Any):
    assert show(OldResolver()(text)) == show(value)


def test_a_date_that_does_not_exist_cannot_be_read_by_the_older_version():
    with pytest.raises(ValueError, match="month must be in"):
        OldResolver()("2001-99-99")


words = st.from_regex(r"[-+~.0-9a-zA-Z_:=<]{0,8}", fullmatch=True) | st.sampled_from(
    ["1:2", "0x_1", "1_0.5", "0b_", ".5", "-0", "+1:30", "2001-1-1", "Yes", "oN", "0b1", "1.", "+.inf"]
)


def is_plain(text: str) -> bool:
    """Whether a text is one plain word to PyYAML, and not a list, a mapping or nothing."""
    try:
        [item] = yaml.compose(f"- {text}", yaml.SafeLoader).value
    except yaml.YAMLError:
        return False
    return isinstance(item, yaml.ScalarNode) and item.value == text


@steady
@given(words)
def test_the_older_version_is_that_of_pyyaml(text: str):
    assume(is_plain(text) and text not in ("=", "<<"))  # those two have no value of their own here
    try:
        [theirs] = yaml.safe_load(f"- {text}")
    except ValueError:
        with pytest.raises(ValueError):
            OldResolver()(text)
    else:
        assert show(OldResolver()(text)) == show(theirs)


@pytest.mark.parametrize(
    ("value", "finite"),
    [(1.5, True), (10**400, True), ("inf", True), (None, True), (math.inf, False), (math.nan, False)],
)
def test_only_infinite_numbers_and_no_numbers_are_not_finite(value: Any, finite: bool):
    assert is_finite(value) is finite
