"""Folders and files for the user's eyes only."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


def make_private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, closed to others; raises `OSError`."""
    if path.is_dir():
        return
    if os.path.lexists(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    make_private_folder(path.parent)
    path.mkdir(mode=_FOLDER_MODE, exist_ok=True)


def read_regular(path: Path, limit: int) -> bytes:
    """
    The first bytes of a regular file.

    Never waits, whatever was put in the file's place; raises `OSError` for anything but a regular file.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "this is not a regular file")
        data = bytearray()
        while len(data) < limit and (piece := os.read(fd, limit - len(data))):
            data += piece
        return bytes(data)
    finally:
        os.close(fd)


def write_private(path: Path, data: bytes) -> None:
    """Make a new file closed to others; raises `OSError`."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)
