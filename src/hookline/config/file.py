"""One hook file, from its bytes to what its dialect reads in it."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from msgspec import Struct, field

from hookline.config.json_text import parse_json
from hookline.config.locate import HookFile
from hookline.config.text import MAX_FILE_SIZE, UnreadableTextError, decode_text, parse_yaml, unreadable
from hookline.dialects.base import Dialect, Reading
from hookline.document import Document
from hookline.private import read_regular


class LoadedFile(Struct, frozen=True, kw_only=True):
    """
    One hook file after reading.

    `digest` is that of the bytes that were read.
    `document` is None when the text could not be read as data at all. `is_counted` tells whether its hooks may
    run; those of a project that is not trusted do not, and `why_not` says so in a word.
    """

    file: HookFile
    digest: str = ""
    document: Document | None = None
    reading: Reading = field(default_factory=Reading)
    is_counted: bool = True
    why_not: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether the file says nothing about its hooks any more."""
        return self.document is None or self.reading.is_lost


def load_file(file: HookFile) -> LoadedFile:
    """Read one hook file; whatever is wrong with it becomes a problem of its reading."""
    digest = ""
    try:
        data = _read_bytes(file.path)
        digest = hashlib.sha256(data).hexdigest()
        document = parse_document(decode_text(data, file.path), file.path, file.dialect)
    except UnreadableTextError as error:
        return LoadedFile(file=file, digest=digest, reading=Reading(problems=(error.problem,)))
    reading = file.dialect.read(document, file.layer, is_trusted_file=file.layer == "user")
    return LoadedFile(file=file, digest=digest, document=document, reading=reading)


def parse_document(text: str, path: Path, dialect: Dialect) -> Document:
    """The data of a hook file's text; raises `UnreadableTextError`."""
    if path.suffix == ".json":
        return parse_json(text, path)
    return parse_yaml(text, path, version=dialect.yaml_version)


def _read_bytes(path: Path) -> bytes:
    """The bytes of a regular file, never more than may be read; a FIFO or device in its place is refused."""
    try:
        return read_regular(path, MAX_FILE_SIZE + 1)
    except OSError as error:
        is_ours = error.errno == errno.EINVAL
        message = str(error.strerror) if is_ours else f"the file cannot be read: {error.strerror}"
        cure = "check that it exists and that you may read it"
        raise unreadable(path, code="unreadable-file", message=message, cure=cure) from error
