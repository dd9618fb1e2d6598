"""Folders and files for the user's eyes only."""

from __future__ import annotations

import os
from pathlib import Path

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


def make_private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, closed to others; raises `OSError`."""
    if path.is_dir():
        return
    make_private_folder(path.parent)
    path.mkdir(mode=_FOLDER_MODE, exist_ok=True)


def write_private(path: Path, data: bytes) -> None:
    """Make a new file closed to others; raises `OSError`."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)
