"""
JSON objects as Go reads them into records, with the place of every key and value.

`json` decides what is JSON. Keys are compared without regard to case, and a value that should be a text or a
switch must be one.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from msgspec import Struct

_WHITESPACE = re.compile(r"[ \t\r\n]*")
# White space as Unicode and Go have it; Python counts four separators of ASCII to it besides.
_UNICODE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_HALVES = re.compile("[\ud800-\udfff]")
_LONGEST_SHOWN = 60


class JsonError(ValueError):
    """A text that is not what was asked for, with the reason; `offset` is where in the text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class JsonLimitError(JsonError):
    """A text that may be JSON but is too large in some way to be read."""


class Member(Struct, frozen=True, kw_only=True):
    """One key of an object and its value; a span is the offsets of the first character and behind the last."""

    key: str
    value: Any
    key_span: tuple[int, int]
    value_span: tuple[int, int]

    @property
    def name(self) -> str:
        """The key as it is compared."""
        return fold_key(self.key)


def fold_key(key: str) -> str:
    """A key without its case: character for character, so that no key gets longer."""
    if key.isascii():
        return key.lower()
    return "".join(folded if len(folded := letter.casefold()) == 1 else letter for letter in key)


def trim(text: str) -> str:
    """A text without the white space around it."""
    return text.strip(_UNICODE_SPACE)


def mend(text: str, by: str = "\ufffd") -> str:
    """A text with each half of a character replaced, by U+FFFD unless told otherwise."""
    return _HALVES.sub(lambda _: by, text)


def skip_whitespace(text: str, index: int) -> int:
    """The first place from `index` on that is no white space to JSON."""
    match = _WHITESPACE.match(text, index)
    assert match is not None
    return match.end()


def read_value(text: str, index: int = 0) -> tuple[Any, int]:
    """
    The JSON value that starts at `index`, and the offset behind it.

    Raises `JsonError`; numbers that no computer holds are refused.
    """
    try:
        return _DECODER.raw_decode(text, index)
    except JsonError as error:
        raise type(error)(str(error), index) from error
    except json.JSONDecodeError as error:
        is_at_end = error.pos >= len(text)
        message = "unexpected end of the text" if is_at_end else f"{error.msg.lower()}, not {_show(text[error.pos :])}"
        raise JsonError(message, error.pos) from error
    except RecursionError as error:
        raise JsonLimitError("nested too deep", index) from error
    except ValueError as error:  # an integer with thousands of digits
        raise JsonLimitError(f"a number is too long: {error}", index) from error


def read_whole(text: str) -> Any:
    """
    The one JSON value that the text is.

    Raises `JsonError`, also when anything comes behind the value.
    """
    value, end = read_value(text, skip_whitespace(text, 0))
    end = skip_whitespace(text, end)
    if end < len(text):
        raise JsonError(f"{_show(text[end:])} stands behind the value", end)
    return value


def list_members(text: str, index: int) -> tuple[list[Member], int]:
    """
    The members of the object that starts at `index`, in order and with duplicates, and the offset of its `}`.

    The text must be known to be JSON there.
    """
    found: list[Member] = []
    index = skip_whitespace(text, index + 1)
    while text[index] != "}":
        key, key_end = read_value(text, index)
        value_start = skip_whitespace(text, skip_whitespace(text, key_end) + 1)
        value, value_end = read_value(text, value_start)
        found.append(Member(key=key, value=value, key_span=(index, key_end), value_span=(value_start, value_end)))
        index = skip_whitespace(text, value_end)
        if text[index] == ",":
            index = skip_whitespace(text, index + 1)
    return found, index


def describe_type(value: Any) -> str:
    """What kind of JSON value this is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a bool"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"


def _refuse_constant(text: str) -> Any:
    raise JsonError(f"{text} is no JSON", 0)


def _read_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonLimitError(f"the number {text[:_LONGEST_SHOWN]} is too large", 0)
    return number


def _show(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}...")


_DECODER = json.JSONDecoder(parse_float=_read_float, parse_constant=_refuse_constant)
