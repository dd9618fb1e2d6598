"""JSON to data, with the place of everything; `json` itself decides what is JSON."""

from __future__ import annotations

import bisect
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hookline.config.text import MAX_DEPTH, unreadable
from hookline.document import Defect, Document, Marks, Position

_scan_string: Callable[[str, int], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[^\s,\]}]+")


def parse_json(text: str, path: Path) -> Document:
    """
    Read a JSON text, strictly.

    Raises `hookline.config.text.UnreadableTextError` for a text that is no JSON.
    """
    if not text.strip():
        return Document(path=path, data=None)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        position = (error.lineno, error.colno)
        cure = "JSON has no comments and no trailing commas; hooks.yaml allows both"
        raise unreadable(path, position, code="json-syntax", message=error.msg, cure=cure) from error
    except (RecursionError, ValueError) as error:
        raise unreadable(path, code="json-syntax", message=f"cannot be read: {error}") from error
    return _Scanner(text, path).scan()


class _Scanner:
    """Goes through a text that is known to be JSON and notes where everything stands."""

    def __init__(self, text: str, path: Path) -> None:
        self._text = text
        self._path = path
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._marks: Marks = {}
        self._defects: list[Defect] = []
        self._trail: list[Any] = []

    def scan(self) -> Document:
        data, _ = self._value(self._skip(0))
        return Document(path=self._path, data=data, marks=self._marks, defects=tuple(self._defects))

    def _skip(self, index: int) -> int:
        match = _SPACE.match(self._text, index)
        return match.end() if match else index

    def _position(self, index: int) -> Position:
        line = bisect.bisect_right(self._line_starts, index)
        return line, index - self._line_starts[line - 1] + 1

    def _value(self, index: int) -> tuple[Any, int]:
        if len(self._trail) > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
            raise unreadable(self._path, self._position(index), code="json-syntax", message=message)
        first = self._text[index]
        if first == '"':
            return self._string(index)
        if first == "{":
            return self._mapping(index)
        if first == "[":
            return self._list(index)
        match = _WORD.match(self._text, index)
        assert match is not None
        value = json.loads(match.group())
        if isinstance(value, float) and not math.isfinite(value):
            message = f"{match.group()} is not a finite number"
            self._add_defect("not-finite", message, index, "write a number")
        return value, match.end()

    def _string(self, index: int) -> tuple[str, int]:
        text, end = _scan_string(self._text, index + 1)
        try:
            text.encode()
        except UnicodeEncodeError:
            self._add_defect("bad-scalar", "the text holds half of a character", index, "write the character whole")
            text = text.encode("utf-8", "replace").decode()
        return text, end

    def _mapping(self, index: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        marks = self._marks[id(found)] = {}
        index = self._skip(index + 1)
        while self._text[index] != "}":
            key_index = index
            key, index = self._string(index)
            value_index = self._skip(self._skip(index) + 1)
            self._trail.append(key)
            if key in found:
                line, column = marks[key][0]
                message = f"the key {key!r} stands twice; the first is at line {line}, column {column}"
                self._add_defect("duplicate-key", message, key_index, "keep one of them")
            found[key], index = self._value(value_index)
            self._trail.pop()
            first = marks[key][0] if key in marks else self._position(key_index)
            marks[key] = (first, self._position(value_index))
            index = self._after_item(index)
        return found, index + 1

    def _list(self, index: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        marks = self._marks[id(found)] = {}
        index = self._skip(index + 1)
        while self._text[index] != "]":
            position = self._position(index)
            self._trail.append(len(found))
            value, end = self._value(index)
            self._trail.pop()
            marks[len(found)] = (position, position)
            found.append(value)
            index = self._after_item(end)
        return found, index + 1

    def _after_item(self, index: int) -> int:
        index = self._skip(index)
        return self._skip(index + 1) if self._text[index] == "," else index

    def _add_defect(self, code: str, message: str, index: int, cure: str) -> None:
        self._defects.append(
            Defect(path=tuple(self._trail), code=code, message=message, position=self._position(index), cure=cure)
        )
