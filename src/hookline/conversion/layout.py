"""A native hooks file as a text that people like to read."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookline.config.scalar import resolve_scalar
from hookline.conversion.base import Conversion, Converted, Loss

_WIDTH = 100
_PLAIN = re.compile(r"--|(?:--)?[A-Za-z_./][\w./@%+=-]*( [\w./@%+=-]+)*", re.ASCII)
# Words that YAML 1.1 reads as something else; in quotes no reader has to wonder.
_OLD_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def write_file(conversion: Conversion) -> str:
    """The text of a native hooks file with what a setup has become."""
    lines = [f"# Imported by hookline import from {_show(conversion.source)}.", "#"]
    lines += ["# Each program runs as its own format has it: hookline bridge stands between."]
    if conversion.remarks:
        lines += ["#", "# Different for all hooks here:", *_list(conversion.remarks)]
    if conversion.left_out:
        lines += [
            "#",
            "# Left out or passed over:",
            *_list(f"{_name(loss)}: {loss.message}" for loss in conversion.left_out),
        ]
    lines += ["version: 1"]
    if conversion.settings:
        lines += ["", "settings:", *_write_mapping(conversion.settings, "  ")]
    lines += ["", "hooks:" if conversion.entries else "hooks: []"]
    for position, entry in enumerate(conversion.entries):
        lines += [""] * (position > 0)
        lines += _write_entry(entry)
    return "\n".join(lines) + "\n"


def _write_entry(entry: Converted) -> Iterator[str]:
    yield f"  # {_show(str(entry.place))}"
    if entry.losses:
        yield "  # Not kept:"
        yield from _list((loss.message for loss in entry.losses), "  ")
    first, *rest = _write_mapping(entry.data, "    ")
    yield f"  - {first.strip()}"
    yield from rest


def _write_mapping(data: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in data.items():
        name = f"{indent}{write_scalar(str(key))}:"
        if isinstance(value, Mapping) and value and _is_flat(value):
            yield f"{name} {_write_flow(value)}"
        elif isinstance(value, Mapping) and value:
            yield name
            yield from _write_mapping(value, indent + "  ")
        elif isinstance(value, Mapping):
            yield f"{name} {{}}"
        elif isinstance(value, list):
            yield from _write_list(name, value, indent + "  ")
        else:
            yield f"{name} {write_scalar(value, indent + '  ')}"


def _is_flat(data: Mapping[str, Any]) -> bool:
    """Whether a mapping fits on one line."""
    return all(not isinstance(value, Mapping | list) for value in data.values()) and _fits(_write_flow(data))


def _fits(text: str) -> bool:
    return len(text) <= _WIDTH and "\n" not in text


def _write_flow(data: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{write_scalar(str(key))}: {write_scalar(value)}" for key, value in data.items()) + "}"


def _write_list(name: str, values: Sequence[Any], indent: str) -> Iterator[str]:
    line = "[" + ", ".join(write_scalar(value) for value in values) + "]"
    if _fits(f"{name} {line}") and not any("\n" in str(value) for value in values):
        yield f"{name} {line}"
        return
    yield name
    for value in values:
        yield f"{indent}- {write_scalar(value, indent + '  ')}"


def write_scalar(value: Any, indent: str = "") -> str:
    """A value as YAML 1.2 reads it back; with an `indent` a text of many lines may be a block of lines."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _OLD_WORDS and resolve_scalar(value) == value:
        return value
    if indent and _is_block(value):
        return _write_block(value, indent)
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(map(_escape, value)) + '"'


def _is_block(text: str) -> bool:
    """Whether a text of many lines can be written line by line, without a word on how it is indented."""
    lines = text.split("\n")
    return len(lines) > 1 and lines[0][:1].strip() != "" and all(line.replace("\t", "").isprintable() for line in lines)


def _write_block(text: str, indent: str) -> str:
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    sign = "|-" if ends == 0 else "|" if ends == 1 else "|+"
    lines = [indent + line if line else "" for line in body.split("\n")]
    return "\n".join([sign, *lines, *[""] * (ends - 1)])


def _escape(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _name(loss: Loss) -> str:
    return f"{loss.place}: hook {loss.hook_id!r}"


def _list(texts: Any, indent: str = "") -> Iterator[str]:
    for text in texts:
        first, *rest = _wrap(_show(text), indent)
        yield f"{indent}#   * {first}"
        yield from (f"{indent}#     {line}" for line in rest)


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH - len(indent), break_long_words=False, break_on_hyphens=False) or [""]


def _show(text: str) -> str:
    """A text on one line, with nothing in it that could end a comment."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
