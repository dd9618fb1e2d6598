"""Ending a child and everything it started: asked first, then killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hookline.process.child import KILL, TERMINATE, TOKEN_VARIABLE, Child, Status

if TYPE_CHECKING:
    import psutil

_POLL_S = 0.02
_AFTER_KILL_S = 5.0


async def end_child(child: Child) -> Status:
    """
    End a child with all its descendants, those that left its group included.

    Sends SIGTERM, waits for at most the command's kill grace until nothing of it runs, then sends SIGKILL.
    Returns how the child itself ended.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + child.command.kill_grace_s
    child.signal_group(TERMINATE)
    _signal_strays(child, TERMINATE)
    while loop.time() < deadline and _is_anything_left(child):
        await asyncio.sleep(_POLL_S)
    child.signal_group(KILL)
    _signal_strays(child, KILL)
    killed_by = loop.time() + _AFTER_KILL_S
    while not child.has_exited and loop.time() < killed_by:
        await asyncio.sleep(_POLL_S / 4)
    if not child.has_exited:  # pragma: no cover - a process the kernel cannot end, such as one in a dead mount
        child.close()
        return Status()
    return child.reap()


def kill_child(child: Child) -> None:
    """End a child with all its descendants at once; for an interpreter that is about to exit."""
    child.signal_group(KILL)
    _signal_strays(child, KILL)
    child.reap()


def _is_anything_left(child: Child) -> bool:
    return not child.has_exited or any(True for _ in _find_descendants(child))


def _signal_strays(child: Child, number: int) -> None:
    import psutil  # noqa: PLC0415 - needed only when something has to be ended

    for process in _find_descendants(child):
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def _find_descendants(child: Child) -> Iterator[psutil.Process]:
    """The living processes that carry the child's token or belong to its session, without the child itself."""
    import psutil  # noqa: PLC0415 - needed only when something has to be ended

    token = child.command.env.get(TOKEN_VARIABLE)
    for process in psutil.process_iter():
        if process.pid in (child.pid, os.getpid()):
            continue
        with contextlib.suppress(psutil.Error, OSError):
            if process.create_time() < child.started_at - 1:
                continue
            is_descendant = _is_in_session(process.pid, child.pid) or _carries(process, token)
            if is_descendant and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def _is_in_session(pid: int, leader: int) -> bool:
    return hasattr(os, "getsid") and os.getsid(pid) == leader


def _carries(process: psutil.Process, token: str | None) -> bool:
    return token is not None and process.environ().get(TOKEN_VARIABLE) == token
