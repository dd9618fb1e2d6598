"""Values inside a tool's arguments: the path that leads to one, and its text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from hookline.match import UnreadableValueError

Step = str | int
_SHORT = 16_384
# What a number, a key's place and the like count for.
_ROOM_OF_A_VALUE = 8
_STEP = re.compile(r"""\[([0-9]{1,9})\]|\['([^']*)'\]|\["([^"]*)"\]|\.+|([^.\[\]]+)""")


class PathError(ValueError):
    """A path that cannot be read."""


def parse_path(text: str) -> tuple[Step, ...]:
    """
    Read a path such as `$.edits[0].text`: keys of objects, places in lists.

    `$`, `$.` and nothing at all lead to the arguments as a whole; the `$.` may be left out; empty keys between
    dots do not count. A key that holds dots or brackets is written `['a.b']`. Raises `PathError`.
    """
    if text == "$":
        return ()
    rest = text.removeprefix("$.") if text.startswith("$.") else text.removeprefix("$") if text[:2] == "$[" else text
    steps: list[Step] = []
    position = 0
    while position < len(rest):
        found = _STEP.match(rest, position)
        if found is None:
            raise PathError(
                f"the path {text!r} cannot be read at {rest[position:][:20]!r}; "
                "write keys with dots, places in lists as [0], other keys as ['a.b']"
            )
        place, *keys = found.groups()
        steps += [int(place)] if place is not None else [key for key in keys if key is not None]
        position = found.end()
    return tuple(steps)


def find_text(arguments: Any, path: tuple[Step, ...]) -> str | None:
    """
    The text of the value at the end of a path; None where there is none, or null.

    Raises `UnreadableValueError` for a value that has no text.
    """
    value = find_value(arguments, path)
    return value if value is None or isinstance(value, str) else to_text(value)


def find_value(arguments: Any, path: tuple[Step, ...]) -> Any:
    """The value at the end of a path; None where there is none."""
    value = arguments
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list | tuple) or step >= len(value):
                return None
            value = value[step]
        else:
            if not isinstance(value, Mapping) or step not in value:
                return None
            value = value[step]
    return value


def is_short(value: Any) -> bool:
    """Whether a value has a text of some thousand characters at most, told without making it."""
    room, waiting = _SHORT, [value]
    while waiting:
        item = waiting.pop()
        room -= len(item) if isinstance(item, str) else _ROOM_OF_A_VALUE
        if isinstance(item, Mapping | list | tuple):
            room -= len(item) * _ROOM_OF_A_VALUE
        if room < 0:
            return False
        if isinstance(item, Mapping):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item
    return True


def to_text(value: Any) -> str:
    """
    A value as compact JSON with sorted keys, everything outside ASCII written as it is.

    Numbers are written as programs in Rust write them, where the hook's pattern comes from: 5.0, 1e100. Raises
    `UnreadableValueError` for what has no JSON form.
    """
    try:
        return "".join(_write(value))
    except (RecursionError, ValueError) as error:
        raise UnreadableValueError(f"the value cannot be read as text: {error}") from error


def _write(value: Any) -> Iterator[str]:
    if value is None or isinstance(value, bool | int | str):
        yield json.dumps(value, ensure_ascii=False)
    elif isinstance(value, float):
        yield _write_float(value)
    elif isinstance(value, Mapping):
        yield "{"
        for position, key in enumerate(sorted(map(_check_key, value))):
            yield f"{',' if position else ''}{json.dumps(key, ensure_ascii=False)}:"
            yield from _write(value[key])
        yield "}"
    elif isinstance(value, list | tuple):
        yield "["
        for position, item in enumerate(value):
            yield "," if position else ""
            yield from _write(item)
        yield "]"
    else:
        raise ValueError(f"it holds a value of type {type(value).__name__}")


def _check_key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"it holds a key of type {type(key).__name__}")  # noqa: TRY004 - told apart nowhere
    return key


def _write_float(value: float) -> str:
    """The shortest text that is read as the same number; with an exponent below 1e-5 and from 1e16 on."""
    if not math.isfinite(value):
        raise ValueError(f"it holds {value}, which is no number of JSON")
    if value == 0:
        return repr(value)
    sign, figures, power = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(power, int)
    digits = "".join(map(str, figures))
    point = len(digits) + power
    if power >= 0 and point <= 16:
        text = f"{digits}{'0' * power}.0"
    elif 0 < point <= 16:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -5 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        text = f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1}"
    return f"-{text}" if sign else text
