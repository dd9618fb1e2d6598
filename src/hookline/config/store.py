"""Small private files of JSON in the user's home, written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from hookline.private import make_private_folder


def name_for(folder: Path, entry: str = "") -> str:
    """A file name for what is kept about a folder, or an entry of it; the names themselves may hold anything."""
    path = os.path.join(os.path.realpath(folder), entry)  # noqa: PTH118 - a text to be digested
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32] + ".json"


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file; None when there is no file, or none that can be read as one."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write a file for the user's eyes only, by way of a temporary one; raises `OSError`."""
    make_private_folder(path.parent)
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with open(fd, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1, ensure_ascii=True)
            file.write("\n")
            file.flush()
            os.fsync(fd)
        os.replace(temporary, path)  # noqa: PTH105 - both are texts
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108 - as above
        raise
