"""Waiting for conditions instead of sleeping, and a look at processes, descriptors and memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

POLL_S = 0.02


async def wait_until(holds: Callable[[], bool], what: str, *, within_s: float = 20) -> None:
    """Wait until a condition holds; fails with `what` when it does not come to hold."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        await asyncio.sleep(POLL_S)


async def wait_for_pid(path: Path) -> int:
    """The process id that a hook writes, with a newline, into a file."""
    await wait_until(lambda: path.exists() and path.read_text().endswith("\n"), f"{path.name} was written")
    return int(path.read_text())


async def wait_for_end(pid: int, *, within_s: float = 20) -> None:
    """Wait until a process does not run any more."""
    await wait_until(lambda: not is_running(pid), f"process {pid} ended", within_s=within_s)


def is_running(pid: int) -> bool:
    """Whether a process lives; one that only waits to be collected does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def find_in_session(leader: int) -> list[int]:
    """The living processes of a session or group."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError):
            if leader in (os.getsid(pid), os.getpgid(pid)) and is_running(pid):
                found.append(pid)
    return found


@contextlib.contextmanager
def ended_in_the_end(pid: int) -> Iterator[int]:
    """A process that may outlive a test's subject, but not the test."""
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def count_descriptors() -> int:
    """How many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


class PeakMemory:
    """The most memory this process takes from now on, beyond what it takes now."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")
        self._before = _read_status("VmRSS")

    @property
    def growth(self) -> int:
        """In bytes."""
        return max(0, _read_status("VmHWM") - self._before)


def _read_status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
