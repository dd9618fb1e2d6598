"""What a process holds: descriptors, threads, memory, and the processes that carry its mark."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from msgspec import Struct

from hookline.process.child import TOKEN_VARIABLE
from soak.hooks import LEFT_VARIABLE

# In the environment of this soak and of all that it starts.
MARK_VARIABLE = "HOOKLINE_SOAK"
_LONG_ENOUGH_S = 20.0


class Holdings(Struct, frozen=True, kw_only=True):
    """How much of each there is at one moment."""

    processes: int
    descriptors: int
    threads: int
    files: int


def measure(mark: str, folders: tuple[Path, ...]) -> Holdings:
    """What is held now; `folders` are those in which no file is to stay."""
    return Holdings(
        processes=len(find_processes(mark)),
        descriptors=psutil.Process().num_fds(),
        threads=threading.active_count(),
        files=sum(1 for folder in folders for _ in _list_files(folder)),
    )


def find_processes(mark: str, *, is_left: bool = False) -> list[psutil.Process]:
    """The living processes of hooks of this soak; with `is_left` only those that hooks were meant to leave."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            environment = process.environ()
            is_ours = environment.get(MARK_VARIABLE) == mark and TOKEN_VARIABLE in environment
            is_wanted = is_ours and (LEFT_VARIABLE in environment or not is_left)
            if is_wanted and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_left_processes(mark: str) -> int:
    """End what well-meaning hooks left running, which is theirs to do; returns how many there were."""
    left = find_processes(mark, is_left=True)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=_LONG_ENOUGH_S)
    return len(left)


def read_memory() -> int:
    """Resident memory of this process, in bytes."""
    return int(psutil.Process().memory_info().rss)


def wait_until(holds: Callable[[], bool]) -> bool:
    """Wait until a condition holds, but not for ever; tells whether it does."""
    deadline = time.monotonic() + _LONG_ENOUGH_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _list_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir() and path.name != "lock"]
