"""A configuration text as plain data, with the place of every key and value in it."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from hookline.problem import Place, Problem

Position = tuple[int, int]
"""Line and column, counted from 1."""

Marks = dict[int, dict[Any, tuple[Position, Position]]]
"""For the identity of each mapping or list: where each of its keys and values stands."""


_INDEXED_KEYS = 2


class Defect(Struct, frozen=True, kw_only=True):
    """A fault of the text at one value, such as a key that stands twice; `path` leads to the value."""

    path: tuple[Any, ...]
    code: str
    message: str
    position: Position
    cure: str = ""


class OldScalar(Struct, frozen=True, kw_only=True):
    """A plain word that YAML 1.1 reads as something else than YAML 1.2 does."""

    text: str
    position: Position


class Document(Struct, frozen=True, kw_only=True):
    """
    The data of one file and the places in it.

    `data` is made of dicts, lists and scalars; None when the file is empty.
    """

    path: Path
    data: Any
    marks: Marks = field(default_factory=dict)
    defects: tuple[Defect, ...] = ()
    old_scalars: tuple[OldScalar, ...] = ()
    # The defects by the start of their path: a file may have many, and each entry asks for its own.
    _by_start: dict[tuple[Any, ...], list[Defect]] = field(default_factory=dict)

    def place(self, *keys: Hashable, at_key: bool = False) -> Place:
        """
        Where the value at the end of `keys` stands, or its key.

        Leads to the closest enclosing value when there is none.
        """
        node: Any = self.data
        position: Position = (1, 1)
        for key in keys:
            found = self.marks.get(id(node), {}).get(key)
            if found is None:
                break
            position = found[0] if at_key else found[1]
            node = node[key]
        return self.at(position)

    def at(self, position: Position) -> Place:
        """A position in this file as a place."""
        return Place(path=self.path, line=position[0], column=position[1])

    def defects_below(self, *keys: Hashable) -> list[Problem]:
        """The defects of the values below `keys`, as errors."""
        return [
            self.to_problem(defect)
            for defect in self._by_start.get(keys[:_INDEXED_KEYS], ())
            if defect.path[: len(keys)] == keys
        ]

    def to_problem(self, defect: Defect) -> Problem:
        """A defect as an error at its place."""
        return Problem(
            severity="error",
            code=defect.code,
            message=defect.message,
            place=self.at(defect.position),
            cure=defect.cure,
        )

    def __post_init__(self) -> None:
        for defect in self.defects:
            for length in range(min(len(defect.path), _INDEXED_KEYS) + 1):
                self._by_start.setdefault(defect.path[:length], []).append(defect)
