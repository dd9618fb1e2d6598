"""
Text to data, with the place of everything: a strict reader of YAML and JSON.

YAML is read by version 1.2, so `yes`, `on` and `12:30` are text, unless the reader asks for 1.1. Keys that
stand twice, numbers that are not finite, foreign tags, a second document and runaway aliases are errors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from hookline.config.scalar import OldResolver, Resolver, is_finite, resolve_scalar
from hookline.document import Defect, Document, Marks, OldScalar, Position
from hookline.problem import Place, Problem

MAX_FILE_SIZE = 4 * 1024 * 1024
MAX_DEPTH = 50
_MAX_EXPANDED_NODES = 1_000_000
# Longer integers than that cannot be shown: Python refuses to turn them into text.
_MOST_BITS = 14_000
_STANDARD_TAGS = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:null": type(None),
}
_MERGE_KEY = "<<"
_NO_KEY = object()
_MERGE = object()


class UnreadableTextError(Exception):
    """A text that is no data at all; carries the located problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def decode_text(data: bytes, path: Path) -> str:
    """
    The text of a configuration file.

    Raises `UnreadableTextError` when it is too large or not UTF-8.
    """
    if len(data) > MAX_FILE_SIZE:
        raise unreadable(
            path,
            code="file-too-large",
            message=f"the file has more than {MAX_FILE_SIZE} bytes",
            cure="split it, or move what is no configuration elsewhere",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        position = _position_of(before, len(before))
        raise unreadable(
            path,
            position,
            code="not-utf8",
            message=f"byte 0x{error.object[error.start]:02x} is not UTF-8",
            cure="save the file as UTF-8",
        ) from error


def unreadable(
    path: Path, position: Position = (0, 0), *, code: str, message: str, cure: str = ""
) -> UnreadableTextError:
    """The exception for a text that cannot be read at all, with its place."""
    place = Place(path=path, line=position[0], column=position[1])
    return UnreadableTextError(Problem(severity="error", code=code, message=message, place=place, cure=cure))


def parse_yaml(text: str, path: Path, *, version: str = "1.2") -> Document:
    """
    Read a YAML text; `version` is "1.2" or "1.1".

    Raises `UnreadableTextError` for a text that is no YAML; faults at single values become the document's defects.
    """
    builder = _Builder(path, OldResolver() if version == "1.1" else resolve_scalar)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        message = ", ".join(part for part in (error.context, error.problem) if part)
        raise unreadable(
            path, position, code="yaml-syntax", message=message, cure=_guess_cure(text, position)
        ) from error
    except yaml.reader.ReaderError as error:
        position = _position_of(text, _index_of(text, error))
        number = error.character if isinstance(error.character, int) else ord(error.character[:1] or "?")
        message = f"the character {chr(number)!r} (number {number}) is not allowed in YAML"
        raise unreadable(
            path,
            position,
            code="yaml-syntax",
            message=message,
            cure="remove it, or escape it in double quotes",
        ) from error
    return builder.finish()


def _guess_cure(text: str, position: Position) -> str:
    lines = text.splitlines()
    line = lines[position[0] - 1] if 0 < position[0] <= len(lines) else ""
    if line[: len(line) - len(line.lstrip())].count("\t"):
        return "indent with spaces, not tabs"
    return "check the indentation and quotes at and just above this place"


def _index_of(text: str, error: yaml.reader.ReaderError) -> int:
    """Where in the text a reader stopped; the reader in C counts bytes, the one in Python characters."""
    if not hasattr(yaml, "CSafeLoader"):  # pragma: no cover - PyYAML built without libyaml
        return int(error.position)
    return len(text.encode("utf-8", "surrogatepass")[: error.position].decode("utf-8", "ignore"))


def _position_of(text: str, index: int) -> Position:
    before = text[:index]
    return before.count("\n") + 1, index - before.rfind("\n")


class _Frame:
    """A mapping or list under construction."""

    __slots__ = ("anchor", "container", "key", "key_position", "merges", "size", "start")

    def __init__(self, container: dict[Any, Any] | list[Any], start: Position, anchor: str | None) -> None:
        self.container = container
        self.start = start
        self.anchor = anchor
        self.key: Any = _NO_KEY
        self.key_position: Position = start
        self.merges: list[Any] = []
        self.size = 1


class _Builder:
    """Builds data from parser events, without recursion."""

    def __init__(self, path: Path, resolve: Resolver) -> None:
        self._path = path
        self._resolve = resolve
        self._is_old = resolve is not resolve_scalar
        self._stack: list[_Frame] = []
        self._root: Any = None
        self._documents = 0
        self._marks: Marks = {}
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._defects: list[Defect] = []
        self._old_scalars: list[OldScalar] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._take_scalar,
            yaml.MappingStartEvent: self._take_start,
            yaml.SequenceStartEvent: self._take_start,
            yaml.MappingEndEvent: self._take_end,
            yaml.SequenceEndEvent: self._take_end,
            yaml.AliasEvent: self._take_alias,
            yaml.DocumentStartEvent: self._take_document,
        }

    def take(self, event: Any) -> None:
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def finish(self) -> Document:
        return Document(
            path=self._path,
            data=self._root,
            marks=self._marks,
            defects=tuple(self._defects),
            old_scalars=tuple(self._old_scalars),
        )

    def _take_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            message = "a second document starts here; only one is read"
            raise unreadable(
                self._path, _start_of(event), code="yaml-syntax", message=message, cure="remove the line ---"
            )

    def _take_scalar(self, event: Any) -> None:
        position = _start_of(event)
        value = self._value_of(event, position)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        self._put(value, position, 1, is_plain=event.implicit[0])

    def _value_of(self, event: Any, position: Position) -> Any:
        text = event.value
        if event.tag is not None and event.tag != "!":
            return self._tagged_value(event.tag, text, position)
        if not event.implicit[0] or event.tag == "!":
            return text
        value = self._resolve_plain(text, position)
        if self._is_old and text and _reads_otherwise(text, value):
            self._old_scalars.append(OldScalar(text=text, position=position))
        return value

    def _resolve_plain(self, text: str, position: Position) -> Any:
        try:
            value = self._resolve(text)
        except ValueError as error:
            message = f"{_shorten(text)} cannot be read: {error}"
            self._add_defect("bad-scalar", message, position, "put it in quotes")
            return text
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            self._add_defect("bad-scalar", "the number is too long", position, "put it in quotes")
            return text
        if not is_finite(value):
            self._add_defect("not-finite", f"{text} is not a finite number", position, "write a number")
        return value

    def _tagged_value(self, tag: str, text: str, position: Position) -> Any:
        kind = _STANDARD_TAGS.get(tag)
        if kind is str:
            return text
        value = self._resolve_plain(text, position) if kind is not None else text
        if kind is None or type(value) is not kind:
            self._add_defect("foreign-tag", f"the tag {tag} is not read", position, "remove the tag")
        return value

    def _take_start(self, event: Any) -> None:
        position = _start_of(event)
        if len(self._stack) >= MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
            raise unreadable(self._path, position, code="yaml-syntax", message=message)
        if event.tag is not None and event.tag not in ("!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            self._add_defect("foreign-tag", f"the tag {event.tag} is not read", position, "remove the tag")
        container: dict[Any, Any] | list[Any] = {} if type(event) is yaml.MappingStartEvent else []
        self._marks[id(container)] = {}
        self._stack.append(_Frame(container, position, event.anchor))

    def _take_end(self, _: Any) -> None:
        frame = self._stack.pop()
        self._merge(frame)
        if frame.anchor is not None:  # known only now, so that nothing can contain itself
            self._anchors[frame.anchor] = (frame.container, frame.size)
        self._put(frame.container, frame.start, frame.size)

    def _take_alias(self, event: Any) -> None:
        position = _start_of(event)
        if event.anchor not in self._anchors:
            message = f"the alias *{event.anchor} names nothing that is complete here"
            raise unreadable(self._path, position, code="yaml-syntax", message=message, cure="define the anchor first")
        value, size = self._anchors[event.anchor]
        self._put(value, position, size)

    def _put(self, value: Any, position: Position, size: int, *, is_plain: bool = False) -> None:
        if not self._stack:
            self._root = value
            return
        frame = self._stack[-1]
        frame.size += size
        if frame.size > _MAX_EXPANDED_NODES:
            raise unreadable(self._path, position, code="yaml-syntax", message="the aliases expand to too much")
        container = frame.container
        if isinstance(container, list):
            self._marks[id(container)][len(container)] = (position, position)
            container.append(value)
        elif frame.key is _NO_KEY:
            self._start_pair(frame, value, position, is_merge=is_plain and value == _MERGE_KEY)
        else:
            self._finish_pair(frame, container, value, position)

    def _start_pair(self, frame: _Frame, key: Any, position: Position, *, is_merge: bool) -> None:
        frame.key, frame.key_position = key, position
        if is_merge:
            frame.key = _MERGE
        elif isinstance(key, dict | list):
            frame.key = repr(id(key))
            self._add_defect("bad-key", "a key must be text", position, "write the key as text")
        elif not is_merge and key in frame.container:
            first = self._marks[id(frame.container)][key][0]
            message = f"the key {key!r} stands twice; the first is at line {first[0]}, column {first[1]}"
            self._add_defect("duplicate-key", message, position, "keep one of them", key=key)

    def _finish_pair(self, frame: _Frame, container: dict[Any, Any], value: Any, position: Position) -> None:
        key, frame.key = frame.key, _NO_KEY
        if key is _MERGE:
            frame.merges.append(value)
            return
        container[key] = value
        marks = self._marks[id(container)]
        first = marks[key][0] if key in marks else frame.key_position
        marks[key] = (first, position)

    def _merge(self, frame: _Frame) -> None:
        for merged in frame.merges:
            for source in merged if isinstance(merged, list) else [merged]:
                if not isinstance(source, dict) or not isinstance(frame.container, dict):
                    self._add_defect("bad-merge", "<< takes a mapping or a list of them", frame.start)
                    continue
                for key, value in source.items():
                    if key not in frame.container:
                        frame.container[key] = value
                        self._marks[id(frame.container)][key] = self._marks[id(source)][key]

    def _add_defect(self, code: str, message: str, position: Position, cure: str = "", *, key: Any = _NO_KEY) -> None:
        path = [self._next_step(frame) for frame in self._stack]
        if path and key is not _NO_KEY:
            path[-1] = key
        self._defects.append(Defect(path=tuple(path), code=code, message=message, position=position, cure=cure))

    @staticmethod
    def _next_step(frame: _Frame) -> Any:
        if isinstance(frame.container, list):
            return len(frame.container)
        return _MERGE_KEY if frame.key is _MERGE else frame.key


def _reads_otherwise(text: str, value: Any) -> bool:
    """Whether YAML 1.2 reads a plain word as something else than `value`."""
    try:
        return bool(resolve_scalar(text) != value)
    except ValueError:
        return True


def _start_of(event: Any) -> Position:
    mark = event.start_mark
    return mark.line + 1, mark.column + 1


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
