"""File systems with little room, or that may not be written."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

_FILLER = "filler"


class SmallDisk:
    """A folder on a file system that can be filled up, and freed again."""

    def __init__(self, folder: Path, *, is_mounted: bool) -> None:
        self.folder = folder
        self._is_mounted = is_mounted
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self, *, leave: int = 0) -> None:
        """Take all the room there is, except so many bytes."""
        if not self._is_mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (leave, self._limits[1]))
            return
        with open(self.folder / _FILLER, "wb", buffering=0) as file:
            for size in (4096, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"x" * size):
                        pass
            file.truncate(max(0, file.tell() - leave))

    def free(self) -> None:
        """Give the room back."""
        if self._is_mounted:
            (self.folder / _FILLER).unlink(missing_ok=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)


@contextlib.contextmanager
def small_disk(folder: Path, *, size: str = "256k") -> Iterator[SmallDisk]:
    """
    A file system of its own where the system lets us mount one.

    Elsewhere an ordinary folder, where a limit on the size of files of this process makes writing fail.
    """
    folder.mkdir()
    is_mounted = _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    disk = SmallDisk(folder, is_mounted=is_mounted)
    try:
        yield disk
    finally:
        disk.free()
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def unprivileged(*argv: str) -> list[str]:
    """A command that file modes hold for, also when the superuser runs it."""
    if os.geteuid():
        return list(argv)
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *argv]


def _run(*argv: str) -> bool:
    try:
        return subprocess.run(argv, capture_output=True, check=False).returncode == 0
    except OSError as error:
        assert error.errno in (errno.ENOENT, errno.EACCES)
        return False
