"""Sets of characters as a bracket of RE2 writes them: texts that can be joined, and plain ranges where they cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

Ranges = tuple[tuple[int, int], ...]
"""Ranges of code points, both ends included, in order and apart from each other."""

Resolve = Callable[[str], Ranges]
"""The characters that a bracket in RE2's syntax takes."""

LAST = 0x10FFFF
_UNDERSCORE = ord("_")


class CharSet(Struct, frozen=True, kw_only=True):
    """
    A set of characters: those in `ranges`, those that `names` stand for, and for each of `without` all others.

    `names` and `without` are what may stand between brackets. No underscore is in `names`.
    """

    ranges: Ranges = ()
    names: str = ""
    without: tuple[str, ...] = ()

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet(
            ranges=join_ranges((*self.ranges, *other.ranges)),
            names=self.names + other.names,
            without=self.without + other.without,
        )

    def write(self, *, with_underscore: bool = True) -> str:
        """The set as a pattern for one character; without the underscore if that is not to be taken."""
        ranges, more = self.ranges, ""
        if not with_underscore:
            ranges, more = subtract_ranges(ranges, ((_UNDERSCORE, _UNDERSCORE),)), write_ranges([(_UNDERSCORE,) * 2])
        inner = write_ranges(ranges) + self.names
        parts = [f"[{inner}]"] if inner else []
        parts += [f"[^{rest}{more}]" for rest in self.without]
        if not parts:
            return rf"[^\x{{0}}-\x{{{LAST:X}}}]"
        return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"

    def negate(self, resolve: Resolve) -> CharSet:
        """All other characters."""
        if not self.without:
            return CharSet(without=(write_ranges(self.ranges) + self.names,)) if self.ranges or self.names else ALL
        return CharSet(ranges=negate_ranges(resolve(self.write())))


def join_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The characters of all the ranges."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def negate_ranges(ranges: Ranges) -> Ranges:
    """The characters outside the ranges."""
    found, start = [], 0
    for low, high in ranges:
        if start < low:
            found.append((start, low - 1))
        start = high + 1
    return tuple(found) if start > LAST else (*found, (start, LAST))


def subtract_ranges(ranges: Ranges, others: Ranges) -> Ranges:
    """The characters of `ranges` that are not in `others`."""
    return negate_ranges(join_ranges((*negate_ranges(ranges), *others)))


def intersect_ranges(ranges: Ranges, others: Ranges) -> Ranges:
    """The characters that are in both."""
    return subtract_ranges(ranges, negate_ranges(others))


def write_ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Ranges as they stand between brackets."""
    return "".join(
        _write_character(low) if low == high else f"{_write_character(low)}-{_write_character(high)}"
        for low, high in ranges
    )


def _write_character(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and character.isalnum() else f"\\x{{{code:X}}}"


ALL = CharSet(ranges=((0, LAST),))
