"""Finding the JSON objects that a text starts or ends with, in a time that only grows with the text."""

from __future__ import annotations

import re
from typing import Any

from hookline.folders.json_text import JsonError, JsonLimitError, read_value, skip_whitespace, trim

# How many openings may turn out to be none in search of the object at the end, and how many characters may be read
# for them.
_MOST_FAILURES = 1000
_MOST_STEPS = 20_000_000
_FENCE = "```"
_FENCE_LINE = re.compile(r"```[^\n`]*\n")
_OBJECT_START = re.compile(r'\{[ \t\r\n]*["}]')


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
    opening = _FENCE_LINE.match(text)
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
    failures, steps = 0, 0
    opening = _OBJECT_START.search(text, start)
    while opening is not None:
        end = opening.start() + 1
        try:
            found, end = read_value(text, opening.start())
            if end == len(text):
                return [found]
        except JsonLimitError:
            raise
        except JsonError as error:
            failures += 1
            steps += error.offset - end
            if failures > _MOST_FAILURES or steps > _MOST_STEPS:
                raise JsonLimitError("the text holds too many openings of objects that are none", end) from error
        opening = _OBJECT_START.search(text, end)
    return []
