"""Times as Go writes them: `1h30m`, `300ms`, `.5s`."""

from __future__ import annotations

import re

_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "μs": 1_000,  # the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_SECOND = _NANOSECONDS["s"]
# Nanoseconds are kept in 64 bits, which is a little more than 292 years.
_LONGEST = 2**63 - 1
_PART = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")
_LONGEST_SHOWN = 60
# A hundred digits decide nothing that sixty-four bits can hold, and converting millions takes long.
_MOST_DIGITS = 100


class DurationError(ValueError):
    """A text that is no duration, with the reason."""


def parse_duration(text: str) -> float:
    """
    The seconds a text such as `1h30m` stands for; they may be negative or 0.

    Raises `DurationError`.
    """
    return _parse_nanoseconds(text) / _SECOND


def _parse_nanoseconds(text: str) -> int:
    rest = text[1:] if text[:1] in {"+", "-"} else text
    is_negative = text.startswith("-")
    if rest == "0":
        return 0
    if not rest:
        raise DurationError(f"{_show(text)} is no duration; write a number and a unit, such as 5s or 1h30m")
    total, index = 0, len(text) - len(rest)
    while index < len(text):
        part = _PART.match(text, index)
        assert part is not None
        total += _read_part(text, part[1], part[2][1:] if part[2] else "", part[3])
        index = part.end()
    if total > _LONGEST + is_negative:
        raise DurationError(f"{_show(text)} is more than a duration can hold (about 292 years)")
    return -total if is_negative else total


def _read_part(text: str, whole: str, fraction: str, unit: str) -> int:
    """One number and its unit in nanoseconds, cut to whole ones part by part, as Go does it."""
    if not whole and not fraction:
        raise DurationError(f"{_show(text)} is no duration; write a number and a unit, such as 5s or 1h30m")
    if not unit:
        raise DurationError(f"{_show(text)} has a number without a unit; write one, such as 5s")
    if unit not in _NANOSECONDS:
        raise DurationError(f"{_show(text)} has the unknown unit {_show(unit)}; the units are ns, us, ms, s, m and h")
    whole = whole.lstrip("0")
    if len(whole) > _MOST_DIGITS:
        raise DurationError(f"{_show(text)} is more than a duration can hold (about 292 years)")
    size = _NANOSECONDS[unit]
    digits = fraction[:_MOST_DIGITS]
    scale: int = 10 ** len(digits)
    return int(whole or "0") * size + int(digits or "0") * size // scale


def check_positive(text: str, seconds: float) -> float:
    """
    The seconds again, if they are more than 0.

    Raises `DurationError`.
    """
    if seconds <= 0:
        raise DurationError(f"{_show(text)} must be positive")
    return seconds


def format_duration(seconds: float) -> str:
    """A time as Go prints it, to the nanosecond: `3.2ms`, `1m30s`, `0s`."""
    total = round(seconds * _SECOND)
    sign = "-" if total < 0 else ""
    total = abs(total)
    if total == 0:
        return "0s"
    if total < _SECOND:
        unit = next(unit for unit in ("ms", "µs", "ns") if total >= _NANOSECONDS[unit])
        return f"{sign}{_format_number(total, _NANOSECONDS[unit])}{unit}"
    minutes, rest = divmod(total, 60 * _SECOND)
    found = f"{_format_number(rest, _SECOND)}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        found = f"{hours}h{minutes}m{found}" if hours else f"{minutes}m{found}"
    return sign + found


def _format_number(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    digits = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def _show(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}...")
