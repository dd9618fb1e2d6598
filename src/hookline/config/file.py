"""One hook file, from its bytes to what its dialect reads in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct, field

from hookline.config.json_text import parse_json
from hookline.config.locate import HookFile
from hookline.config.text import MAX_FILE_SIZE, UnreadableTextError, decode_text, parse_yaml, unreadable
from hookline.dialects.base import Dialect, Reading
from hookline.document import Document


class LoadedFile(Struct, frozen=True, kw_only=True):
    """
    One hook file after reading.

    `document` is None when the text could not be read as data at all. `is_counted` tells whether its hooks may
    run; those of a project that is not trusted do not, and `why_not` says so in a word.
    """

    file: HookFile
    document: Document | None = None
    reading: Reading = field(default_factory=Reading)
    is_counted: bool = True
    why_not: str = ""


def load_file(file: HookFile) -> LoadedFile:
    """Read one hook file; whatever is wrong with it becomes a problem of its reading."""
    try:
        document = parse_document(decode_text(_read_bytes(file.path), file.path), file.path, file.dialect)
    except UnreadableTextError as error:
        return LoadedFile(file=file, reading=Reading(problems=(error.problem,)))
    reading = file.dialect.read(document, file.layer, is_trusted_file=file.layer == "user")
    return LoadedFile(file=file, document=document, reading=reading)


def parse_document(text: str, path: Path, dialect: Dialect) -> Document:
    """The data of a hook file's text; raises `UnreadableTextError`."""
    if path.suffix == ".json":
        return parse_json(text, path)
    return parse_yaml(text, path, version=dialect.yaml_version)


def _read_bytes(path: Path) -> bytes:
    """The bytes of a regular file, never more than may be read; a FIFO or device in its place is refused."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise unreadable(path, code="unreadable-file", message="this is not a regular file")
            return file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        message = f"the file cannot be read: {error.strerror}"
        cure = "check that it exists and that you may read it"
        raise unreadable(path, code="unreadable-file", message=message, cure=cure) from error
