"""Patterns and subjects for tests of matching: random ones, and those that are known to run away."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from hypothesis import strategies as st

# Each with a subject of the given length on which plain backtracking takes for ever, or nearly so.
RUNAWAYS = {
    r"(a+)+$": "a",
    r"(a|a)*b": "a",
    r"(a|aa)+$": "a",
    r"(x+x+)+y": "x",
    r"\s+$": " ",
    r"(.*)*x": "a",
    r"(.*a){20}": "a",
    r"((a{0,9}){0,9}){0,9}b": "a",
    r"(?:a?){40}a{40}b": "a",
    r"a*a*a*a*a*b": "a",
    r"^(\w+\s?)*$": "a",
    r"(?:(?:a+)?)+?b": "a",
    r"(a*)\1*b": "a",
    r"(?=(a+)+b)": "a",
    r"(?i:(A|a)+)b": "a",
    r"(?>(a+)+)b": "a",
}


def make_subject(pattern: str, length: int) -> str:
    """
    A subject that makes a runaway pattern run: what it repeats, and then something that it does not want.

    A letter at the pattern's end is there too, but where it is of no use.
    """
    end = f"!\n{pattern[-1]}" if pattern[-1].isalpha() else "!"
    return RUNAWAYS[pattern] * (length - len(end)) + end


class TooLongError(Exception):
    """A computation that took more time of the processor than it may."""


@contextmanager
def at_most_cpu(seconds: float) -> Iterator[None]:
    """
    End what runs inside after so many seconds of processor time.

    Counts only what this process itself computes, so that a busy machine does not count. `re` can be ended so.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


_ATOMS = st.sampled_from(
    ["a", "b", "ab", ".", r"\w", r"\s", r"\b", "[ab]", "[^b]", "é", " ", "$", "^", r"\.", "(?i:A)", r"(?<=a)", "(?!b)"]
)
_REPEATS = st.sampled_from(
    ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,3}", "{2,}", "{1,9}", "{3,30}?", "*+", "{,5}"]
)
_GROUPS = st.sampled_from(["(%s)", "(?:%s)", "(?=%s)", "(?!%s)", "(?>%s)", "(?i:%s)", r"(%s)\1"])


def _extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequence = st.lists(inner, min_size=1, max_size=3).map("".join)
    alternatives = st.lists(sequence, min_size=1, max_size=3).map("|".join)
    grouped = st.builds(lambda form, body: form % body, _GROUPS, alternatives)
    return st.tuples(grouped, _REPEATS).map("".join)


_STARTS = st.sampled_from(["", "", "^", r"\A", "(?m)^", "(?s)", "(?x) "])
_ENDS = st.sampled_from(["", "$", "b", r"\Z"])
_PIECES = st.recursive(st.tuples(_ATOMS, _REPEATS).map("".join), _extend, max_leaves=6)

patterns = st.tuples(_STARTS, st.lists(_PIECES, max_size=3).map("".join), _ENDS).map("".join)
subjects = st.text("ab é.\nA\ud800", max_size=30)
