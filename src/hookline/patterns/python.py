"""
Regular expressions with the answers of `re` and a bound on any input.

A user's pattern meets text that a model chose, and `re` can neither be stopped nor made to let other threads
run. So every pattern is looked at once, when it is loaded: `safe_length` is the longest subject on which it
cannot take more than a fixed number of steps, whatever the text. Such a search runs in place, at the speed
of `re`. Anything longer is left to a process of its own that can be killed (`hookline.matcher`). Both use
`re` itself, so the answer never depends on the way taken.
"""

from __future__ import annotations

import functools
import math
import re
import warnings
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

try:
    # The parse tree is private to CPython; where it cannot be had or read, no subject counts as safe.
    from re import _constants, _parser  # type: ignore[attr-defined]
except ImportError:  # pragma: no cover - an interpreter without these modules
    _parser = None

MAX_PATTERN_LENGTH = 10_000
# About 10 ms of `re` at worst on a slow machine.
MAX_INLINE_STEPS = 2_000_000
_UNBOUNDED = math.inf
# More repeats than that are not counted out: no subject is safe for them.
_MOST_SPANS = 20
_LONGEST_SAFE = 1 << 22


class PatternError(ValueError):
    """A pattern that `re` does not take, with the reason."""


class Pattern(Struct, frozen=True, kw_only=True):
    """
    A compiled pattern; subjects of up to `safe_length` characters may be searched in place.

    `literal` is a text without which nothing can match; empty where the pattern demands none.
    """

    text: str
    compiled: re.Pattern[str]
    safe_length: int
    literal: str = ""

    def is_safe_for(self, subject: str) -> bool:
        """Whether `found_in` is sure to return soon for this subject."""
        return len(subject) <= self.safe_length or self.literal not in subject

    def found_in(self, subject: str) -> bool:
        """Whether some part of the subject matches, as `re.search` has it."""
        return self.literal in subject and self.compiled.search(subject) is not None


@functools.lru_cache(maxsize=4096)  # checking a file and indexing it compile the same patterns
def compile_pattern(text: str) -> Pattern:
    """
    Compile a pattern in Python's syntax.

    Raises `PatternError` when `re` refuses it, or when it is longer than `MAX_PATTERN_LENGTH` characters.
    """
    if len(text) > MAX_PATTERN_LENGTH:
        raise PatternError(f"longer than {MAX_PATTERN_LENGTH} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error) or type(error).__name__) from error
    safe_length, literal = _analyse(text, compiled.flags)
    return Pattern(text=text, compiled=compiled, safe_length=safe_length, literal=literal)


def _analyse(text: str, flags: int) -> tuple[int, str]:
    """How long a subject is safe, and which text it must hold to match at all."""
    if _parser is None:  # pragma: no cover - see the import
        return -1, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _parser.parse(text, flags & ~re.DEBUG)
        return _measure_safe_length(_Cost.of(tree)), _find_literal(tree)
    except (NotImplementedError, RecursionError):
        return -1, ""


def _find_literal(tree: Any) -> str:
    """The longest run of letters that stand side by side in every match; none when case does not count."""
    if tree.state.flags & re.IGNORECASE:
        return ""
    runs = [""]
    for operator, argument in tree:
        if operator is _constants.LITERAL:
            runs[-1] += chr(argument)
        elif operator is not _constants.AT:
            runs.append("")
    return max(runs, key=len)


def _measure_safe_length(cost: _Cost) -> int:
    low, high = -1, _LONGEST_SAFE
    while low < high:
        middle = (low + high + 1) // 2
        if cost.steps(middle) <= MAX_INLINE_STEPS:
            low = middle
        else:
            high = middle - 1
    return low


class _Cost(Struct, frozen=True, kw_only=True):
    """
    An upper bound on what a backtracking search can do, as a function of the subject's length.

    `nodes` counts the elements of the pattern, `spans` the repeats that may end at any place of the text,
    `factor` the other choices (alternatives, repeats with a limit). A search starts at each place, each
    start tries each way to lay the spans out (a choice of ordered places), and each way passes each element.
    `back_references` compare up to the whole text each time; `is_anchored` patterns start at one place only.
    """

    nodes: int = 0
    spans: int = 0
    factor: float = 1
    back_references: int = 0
    is_anchored: bool = False

    @classmethod
    def of(cls, tree: Any) -> _Cost:
        cost = _add_up(_cost_of(*item) for item in tree)
        anchors = (_constants.AT_BEGINNING, _constants.AT_BEGINNING_STRING)
        at_start = bool(len(tree)) and tree[0][0] is _constants.AT and tree[0][1] in anchors
        multiline = bool(tree.state.flags & re.MULTILINE)
        return _Cost(
            nodes=cost.nodes,
            spans=cost.spans,
            factor=cost.factor,
            back_references=cost.back_references,
            is_anchored=at_start and not multiline,
        )

    def steps(self, length: int) -> float:
        if self.factor == _UNBOUNDED or self.spans > _MOST_SPANS:
            return _UNBOUNDED
        places = self.spans if self.is_anchored else self.spans + 1
        ways = math.comb(length + places, places)
        each = (self.nodes + 1) * (1 + self.back_references * length)
        try:
            return length + ways * each * self.factor
        except OverflowError:
            return _UNBOUNDED


def _add_up(costs: Iterable[_Cost]) -> _Cost:
    nodes, spans, factor, references = 0, 0, 1.0, 0
    for cost in costs:
        nodes += cost.nodes
        spans += cost.spans
        factor *= cost.factor
        references += cost.back_references
    return _Cost(nodes=nodes, spans=spans, factor=factor, back_references=references)


def _cost_of(operator: Any, argument: Any) -> _Cost:
    """The cost of one element; raises `NotImplementedError` for one that is not known here."""
    kinds = _constants
    if operator in (kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY, kinds.AT):
        return _Cost(nodes=1)
    if operator is kinds.IN:
        return _Cost(nodes=1 + len(argument))
    if operator is kinds.GROUPREF:
        return _Cost(nodes=1, back_references=1)
    if operator is kinds.SUBPATTERN:
        return _add_up(_cost_of(*item) for item in argument[3])
    if operator is getattr(kinds, "ATOMIC_GROUP", None):
        return _add_up(_cost_of(*item) for item in argument)
    if operator in (kinds.ASSERT, kinds.ASSERT_NOT):
        return _add_up(_cost_of(*item) for item in argument[1])
    if operator is kinds.BRANCH:
        return _either(_add_up(_cost_of(*item) for item in branch) for branch in argument[1])
    if operator is kinds.GROUPREF_EXISTS:
        _, yes, no = argument
        return _either(_add_up(_cost_of(*item) for item in branch) for branch in (yes, no or ()))
    repeats = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, getattr(kinds, "POSSESSIVE_REPEAT", None))
    if operator in repeats:
        return _repeat(*argument)
    raise NotImplementedError(operator)


def _either(branches: Iterable[_Cost]) -> _Cost:
    """Alternatives: all of them are tried, so the ways add up; the spans of the worst one bound the rest."""
    costs = list(branches)
    total = _add_up(costs)
    return _Cost(
        nodes=total.nodes,
        spans=max(cost.spans for cost in costs),
        factor=sum(cost.factor for cost in costs),
        back_references=total.back_references,
    )


def _repeat(least: int, most: Any, body: Any) -> _Cost:
    inner = _add_up(_cost_of(*item) for item in body)
    is_unlimited = most is _constants.MAXREPEAT
    is_simple = inner.spans == 0 and inner.factor == 1
    if is_unlimited:
        # One way through the body: only where the repeat ends is open. Several ways multiply each time round.
        return _Cost(
            nodes=inner.nodes * max(1, least) + 1,
            spans=1,
            factor=1 if is_simple else _UNBOUNDED,
            back_references=inner.back_references,
        )
    count = int(most)
    try:
        factor = 1.0 if is_simple else inner.factor**count
    except OverflowError:
        factor = _UNBOUNDED
    return _Cost(
        nodes=inner.nodes * max(1, count) + 1,
        spans=inner.spans * count,
        factor=factor * (count - least + 1),
        back_references=inner.back_references * count,
    )
