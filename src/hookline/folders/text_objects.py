"""Finding the JSON objects that a text starts or ends with, in a time that only grows with the text."""

from __future__ import annotations

import re
from typing import Any

from hookline.folders.json_text import JsonError, JsonLimitError, read_value, skip_whitespace, trim

# How often the text may be gone through in search of the object at its end, and how much is always granted.
_MOST_PASSES = 8
_LEAST_STEPS = 1_000_000
# What an attempt costs besides the characters it reads, and one that ends in too deep a nesting.
_ATTEMPT_STEPS = 20
_DEEP_STEPS = 10_000
_FENCE = "```"
_OPENING = re.compile(r"```[^\n`]*\n")


def find_objects(text: str) -> list[dict[str, Any]]:
    """
    The objects at the start and at the end of a trimmed text, in this order; a fence around one is passed over.

    Raises `JsonLimitError` for an object that is too large to be read, and for a text that takes too long to search.
    """
    first, end = _read_first(text)
    body = trim(text.removesuffix(_FENCE))
    if end >= len(body) or not body.endswith("}"):
        return first
    return first + _read_last(body, end)


def _read_first(text: str) -> tuple[list[dict[str, Any]], int]:
    """The object at the start, if there is one, and the offset behind it."""
    opening = _OPENING.match(text)
    start = skip_whitespace(text, opening.end() if opening else 0)
    if not text.startswith("{", start):
        return [], 0
    try:
        found, end = read_value(text, start)
    except JsonLimitError:
        raise
    except JsonError:
        return [], 0
    return [found], end


def _read_last(text: str, start: int) -> list[dict[str, Any]]:
    """The object at the end, if there is one: the first that starts after `start` and reaches the end."""
    steps = max(_LEAST_STEPS, _MOST_PASSES * len(text))
    index = text.find("{", start)
    while index != -1:
        try:
            found, end = read_value(text, index)
            if end == len(text):
                return [found]
        except JsonLimitError:
            end = index + 1
            steps -= _DEEP_STEPS
        except JsonError as error:
            steps -= error.offset - index
            end = index + 1
        steps -= _ATTEMPT_STEPS
        if steps < 0:
            raise JsonLimitError("it holds too many braces that open nothing", index)
        index = text.find("{", end)
    return []
