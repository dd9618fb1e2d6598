"""Reading a hook's reply as JSON, strictly: stock parts for the dialects whose replies are JSON objects."""

from __future__ import annotations

import json
import math
from typing import Any

_BOM = b"\xef\xbb\xbf"
_WHITESPACE = b" \t\r\n"


class BadReplyError(ValueError):
    """A reply that is not what its dialect asks for; the message says in which way."""


def parse_reply(reply: bytes, *, refuse_duplicates: bool) -> dict[str, Any]:
    """
    The object in a reply; empty when nothing was written.

    A byte order mark is accepted. Raises `BadReplyError` for anything that is not one JSON object in UTF-8
    with finite numbers.
    """
    if not reply.removeprefix(_BOM).strip(_WHITESPACE):
        return {}
    try:
        text = reply.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadReplyError(f"the reply is not UTF-8: {error.reason} at byte {error.start}") from error
    try:
        found = json.loads(
            text,
            parse_float=_parse_float,
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_duplicates if refuse_duplicates else None,
        )
    except BadReplyError:
        raise
    except RecursionError as error:
        raise BadReplyError("the reply is nested too deep") from error
    except ValueError as error:
        raise BadReplyError(f"the reply is not JSON: {error}; it starts with {_start_of(text)}") from error
    if not isinstance(found, dict):
        raise BadReplyError(f"the reply must be a JSON object; it starts with {_start_of(text)}")
    return found


def _start_of(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadReplyError(f"the reply holds {text[:40]}, which is not a finite number")
    return number


def _refuse_constant(text: str) -> float:
    raise BadReplyError(f"the reply holds {text}, which is not a finite number")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadReplyError(f"the reply holds the key {twice!r} twice")
    return found
