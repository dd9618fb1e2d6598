"""
What is there at some roots: the identity of every file, so that two looks tell whether anything has changed.

Nothing is read. What editors leave behind, and what Hookline writes itself, does not count.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from hookline.config.roots import WatchRoot
from hookline.handlers.folders import is_leftover

MAX_ENTRIES = 10_000
MAX_DEPTH = 30
# By a file of this name Vim finds out whether it may write in a folder.
_VIM_PROBE = "4913"
_SKIPPED_FOLDERS = frozenset({".git", ".hg", "__pycache__", "node_modules"})
# A file that was changed this shortly before the look can change again without looking different.
_UNSETTLED_NS = 50_000_000

Identity = tuple[int, ...]


class Inventory(Struct, frozen=True, kw_only=True):
    """
    The identity of each file and folder that counts, by its path.

    `folders` are those in which something has to happen for anything to change, with their identities: those that
    count, those above them, and those that links lead to. `is_cut` tells that there was too much to look at.
    """

    entries: dict[str, Identity]
    folders: dict[str, Identity]
    is_cut: bool = False


def take_inventory(roots: Iterable[WatchRoot]) -> Inventory:
    """Look at everything below these roots; what vanishes meanwhile is not there."""
    taker = _Taker()
    for root in roots:
        taker.add_root(root)
    return Inventory(entries=taker.entries, folders=taker.folders, is_cut=taker.is_cut)


class _Taker:
    def __init__(self) -> None:
        self.entries: dict[str, Identity] = {}
        self.folders: dict[str, Identity] = {}
        self.is_cut = False
        self._visited: set[Identity] = set()
        self._now_ns = time.time_ns()

    def add_root(self, root: WatchRoot) -> None:
        for folder in _find_above(root.path):
            self._add_watched(folder)
        self._follow(root.path)
        if root.path.is_dir():
            self._add_folder(root.path, root, 0)
        else:
            self._add_file(root.path)

    def _add_folder(self, path: Path, root: WatchRoot, depth: int) -> None:
        if len(self.entries) >= MAX_ENTRIES or depth > MAX_DEPTH:
            self.is_cut = True
            return
        try:
            status = path.stat()
            names = sorted(os.listdir(path))  # noqa: PTH208 - names
        except OSError:
            return
        identity = (status.st_dev, status.st_ino)
        self.entries[str(path)] = self.folders[str(path)] = identity
        if identity in self._visited:  # by a link, perhaps from within itself
            return
        self._visited.add(identity)
        for name in names:
            if _counts(name, root, depth):
                self._add_entry(path / name, root, depth)

    def _add_entry(self, path: Path, root: WatchRoot, depth: int) -> None:
        if path.is_symlink():
            self._follow(path)
        if not path.is_dir():
            self._add_file(path)
        elif path.name not in _SKIPPED_FOLDERS:
            self._add_folder(path, root, depth + 1)

    def _add_file(self, path: Path) -> None:
        if len(self.entries) >= MAX_ENTRIES:
            self.is_cut = True
            return
        try:
            status = _stat_anything(path)
        except OSError:
            return
        identity: Identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if abs(self._now_ns - status.st_ctime_ns) < _UNSETTLED_NS:
            identity = (*identity, self._now_ns)
        self.entries[str(path)] = identity

    def _follow(self, path: Path) -> None:
        """Where a path leads by links, things may happen that are seen nowhere else."""
        real = Path(os.path.realpath(path))
        if real != path:
            self._add_watched(real.parent)

    def _add_watched(self, folder: Path) -> None:
        try:
            status = folder.stat()
        except OSError:
            return
        self.folders[str(folder)] = (status.st_dev, status.st_ino)


def _find_above(path: Path) -> list[Path]:
    """The folders among a path and the two above it; if none exists, the nearest above that does."""
    chain = [path, *path.parents]
    near = [folder for folder in chain[:3] if folder.is_dir()]
    return near or [next(folder for folder in chain[3:] if folder.is_dir())]


def _stat_anything(path: Path) -> os.stat_result:
    """What is at a path: where a link leads, or the link itself when it leads nowhere."""
    try:
        return path.stat()
    except OSError:
        return path.lstat()


def _counts(name: str, root: WatchRoot, depth: int) -> bool:
    if is_leftover(name) or name == _VIM_PROBE or name.startswith(root.skipped_starts):
        return False
    return depth > 0 or name not in root.skipped
