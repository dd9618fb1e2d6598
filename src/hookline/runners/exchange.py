"""
The files through which a hook gets its payload and gives its reply.

They live in a private folder of this process, on a memory-backed file system where there is one, under names
that have nothing to do with the hook. A lock held on the folder tells other processes that it is in use; what
processes that are gone left behind is swept when a folder is made.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

from hookline.private import make_private_folder, write_private

try:
    import fcntl
except ImportError:  # pragma: no cover - untested: Windows, where leftovers are not swept
    fcntl = None  # type: ignore[assignment]

REPLY_LIMIT = 1024 * 1024
_MEMORY = Path("/dev/shm")
_FOLDER_MODE = 0o700
_LOCK_NAME = "lock"


class NoRoomError(Exception):
    """There is nowhere to put a payload, with the reasons."""


class UnreadableReplyError(Exception):
    """A reply that is no ordinary readable file any more, or is too large."""


class CallFiles(Struct, frozen=True, kw_only=True):
    """The payload file and the reply file of one run."""

    payload: Path
    reply: Path

    def read_reply(self) -> bytes:
        """
        What the hook wrote; nothing written is empty.

        Never follows a link and never waits. Raises `UnreadableReplyError` saying why it cannot be read; a file
        that is gone counts as that, since nobody can tell what it said.
        """
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            fd = os.open(self.reply, flags)
        except OSError as error:
            what = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise UnreadableReplyError(f"the reply file was replaced or cannot be read: {what}") from error
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableReplyError("the reply file was replaced by something that is not a file")
            data = _read_up_to(fd, REPLY_LIMIT + 1) if status.st_size else b""
        finally:
            os.close(fd)
        if len(data) > REPLY_LIMIT:
            raise UnreadableReplyError(f"the reply is larger than {REPLY_LIMIT} bytes")
        return data

    def discard(self) -> None:
        """Remove both files, whatever has become of them."""
        for path in (self.payload, self.reply):
            _remove(path)


class Exchange:
    """
    The private folder of one engine.

    `fallback` is the folder on disk to use where memory is small or full, and after it the system's own.
    """

    def __init__(self, fallback: Path) -> None:
        self._bases = _usable_bases(fallback)
        self._folders: dict[Path, tuple[Path, IO[bytes]]] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def open_call(self, payload: bytes) -> CallFiles:
        """
        Write a payload and an empty reply, both readable by the user alone.

        Raises `NoRoomError` when no file system takes them.
        """
        if self._is_closed:
            raise NoRoomError("the engine is closed")
        reasons: list[str] = []
        for base in self._bases:
            try:
                return self._write(self._folder_in(base), payload)
            except FileNotFoundError as error:  # the folder was cleaned away; the next call makes a new one
                self._forget(base)
                reasons.append(f"{base}: {error.strerror}")
            except OSError as error:
                reasons.append(f"{base}: {error.strerror or error}")
        raise NoRoomError("no room for the payload: " + "; ".join(reasons))

    def close(self) -> None:
        """Remove the folders."""
        with self._lock:
            self._is_closed = True
            folders, self._folders = self._folders, {}
        for folder, lock in folders.values():
            shutil.rmtree(folder, ignore_errors=True)
            lock.close()

    def _folder_in(self, base: Path) -> Path:
        with self._lock:
            if base not in self._folders:
                self._folders[base] = _make_folder(base)
            return self._folders[base][0]

    def _forget(self, base: Path) -> None:
        with self._lock:
            found = self._folders.pop(base, None)
        if found is not None:
            found[1].close()

    def _write(self, folder: Path, payload: bytes) -> CallFiles:
        name = os.urandom(8).hex()
        files = CallFiles(payload=folder / f"{name}.json", reply=folder / f"{name}.reply")
        try:
            write_private(files.payload, payload)
            write_private(files.reply, b"")
        except OSError:
            files.discard()
            raise
        return files


def _usable_bases(fallback: Path) -> tuple[Path, ...]:
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    memory = [_MEMORY / f"hookline-{user}"] if os.access(_MEMORY, os.W_OK | os.X_OK) else []
    return (*memory, fallback, Path(tempfile.gettempdir()) / f"hookline-{user}")


def _make_folder(base: Path) -> tuple[Path, IO[bytes]]:
    """A new private folder in `base` with its lock held."""
    make_private_folder(base)
    _check_own(base)
    with _open_private(base / _LOCK_NAME) as guard:
        _sweep(base, guard)
        if fcntl is not None:
            fcntl.flock(guard, fcntl.LOCK_SH)  # no sweep while a folder is made that has no lock yet
        folder = Path(tempfile.mkdtemp(dir=base))
        lock = _open_private(folder / _LOCK_NAME)  # held as long as the folder is in use
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def _open_private(path: Path) -> IO[bytes]:
    return open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb")


def _check_own(base: Path) -> None:
    """A folder that others could have prepared is not used: it must be the user's own and closed to others."""
    status = os.lstat(base)
    is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    if not stat.S_ISDIR(status.st_mode) or not is_own:
        raise PermissionError(errno.EPERM, "belongs to somebody else")
    if stat.S_IMODE(status.st_mode) & 0o077:
        base.chmod(_FOLDER_MODE)


def _sweep(base: Path, guard: IO[bytes]) -> None:
    """Remove the folders of processes that are gone, unless somebody is making one just now."""
    if fcntl is None:  # pragma: no cover - untested: Windows
        return
    try:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    for folder in _leftovers(base):
        try:
            with open(folder / _LOCK_NAME, "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:  # its maker died before it had a lock
            pass
        except OSError:
            continue
        shutil.rmtree(folder, ignore_errors=True)


def _leftovers(base: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (entry for entry in base.iterdir() if entry.is_dir() and not entry.is_symlink())


def _read_up_to(fd: int, limit: int) -> bytes:
    data = bytearray()
    while len(data) < limit and (piece := os.read(fd, limit - len(data))):
        data += piece
    return bytes(data)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except FileNotFoundError:
        pass
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
