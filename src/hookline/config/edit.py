"""
Switching a hook on or off in its file, with everything else of the file kept to the byte.

The edit is made at the place the parser names, and taken only when the edited text reads as the same data with
that one change; anything else is refused, and the file stays as it is.
"""

from __future__ import annotations

import contextlib
import copy
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hookline.config.file import parse_document
from hookline.config.text import UnreadableTextError
from hookline.dialects.base import Dialect
from hookline.document import Document
from hookline.errors import HooklineError

_BOM = b"\xef\xbb\xbf"
_JSON_LINE = re.compile("\n")
_YAML_LINE = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_WORD = re.compile(r"[A-Za-z]+")


class EditError(HooklineError):
    """A hooks file that cannot be edited without touching more than was asked for."""


def set_enabled(path: Path, dialect: Dialect, index: int, *, is_enabled: bool, hook_id: str | None = None) -> bool:
    """
    Switch the entry at `index` of a file on or off; returns whether that changed anything.

    With a `hook_id` only if it is still the entry of that hook.

    Raises `EditError` when it cannot be done in place, and `OSError` when the file cannot be written.
    """
    real = Path(os.path.realpath(path))
    data = real.read_bytes()
    bom, body = (_BOM, data[len(_BOM) :]) if data.startswith(_BOM) else (b"", data)
    try:
        text = body.decode("utf-8")
        before = parse_document(text, path, dialect)
    except (UnicodeDecodeError, UnreadableTextError) as error:
        raise EditError(f"{path} cannot be read: {error}") from error
    try:
        entry = before.data["hooks"][index]
        is_entry = isinstance(entry, dict) and (hook_id is None or str(entry.get("id")).strip() == hook_id)
    except (TypeError, KeyError, IndexError):
        is_entry = False
    if not is_entry:
        raise EditError(f"{path} has changed meanwhile: there is no hook any more at entry {index + 1}")
    if entry.get("enabled", True) is is_enabled:
        return False
    edited = _edit(text, before, index, is_enabled=is_enabled)
    wanted = copy.deepcopy(before.data)
    wanted["hooks"][index]["enabled"] = is_enabled
    if edited is None or not _reads_as(edited, wanted, before, dialect):
        raise EditError(
            f"{before.place('hooks', index)} is written in a way that cannot be changed in one place; edit it by hand"
        )
    _replace(real, bom + edited.encode("utf-8"))
    return True


def _edit(text: str, document: Document, index: int, *, is_enabled: bool) -> str | None:
    entry = document.data["hooks"][index]
    word = "true" if is_enabled else "false"
    if "enabled" in entry:
        start = _offset(text, document, "hooks", index, "enabled")
        found = _WORD.match(text, start)
        return None if found is None else text[:start] + word + text[found.end() :]
    first_key = next(iter(entry))
    start = _offset(text, document, "hooks", index, first_key, at_key=True)
    is_json = document.path.suffix == ".json"
    opening = _offset(text, document, "hooks", index)
    if text[opening] == "{":
        return f"{text[:start]}{_quote('enabled', is_json)}: {word}, {text[start:]}"
    line_start = text.rfind("\n", 0, start) + 1
    newline = "\r\n" if "\r\n" in text else "\n"
    return f"{text[:start]}enabled: {word}{newline}{' ' * (start - line_start)}{text[start:]}"


def _quote(word: str, is_json: bool) -> str:
    return f'"{word}"' if is_json else word


def _offset(text: str, document: Document, *keys: Any, at_key: bool = False) -> int:
    place = document.place(*keys, at_key=at_key)
    breaks = _JSON_LINE if document.path.suffix == ".json" else _YAML_LINE
    starts = [0, *(found.end() for found in breaks.finditer(text))]
    return starts[place.line - 1] + place.column - 1


def _reads_as(text: str, wanted: Any, before: Document, dialect: Dialect) -> bool:
    try:
        after = parse_document(text, before.path, dialect)
    except UnreadableTextError:
        return False
    return bool(after.data == wanted) and len(after.defects) == len(before.defects)


def _replace(path: Path, data: bytes) -> None:
    """Put new bytes in place of a file at once, with its mode kept."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        shutil.copymode(path, temporary)
        os.replace(temporary, path)  # noqa: PTH105 - both are texts
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108 - as above
        raise
