"""Ending a child and everything it started: asked first, then killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
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
    Returns how the child itself ended, once nothing of it runs any more.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + child.command.kill_grace_s
    # Known from now on: when their parents have ended nothing may tell any more whose descendants they are.
    known = _find_descendants(child, {})
    child.signal_group(TERMINATE)
    _signal(known, TERMINATE)
    while loop.time() < deadline and (not child.has_exited or _find_descendants(child, known)):
        await asyncio.sleep(_POLL_S)
    known = _find_descendants(child, known)
    child.signal_group(KILL)
    _signal(known, KILL)
    killed_by = loop.time() + _AFTER_KILL_S
    # A signal that was sent has not taken effect yet.
    while loop.time() < killed_by and (not child.has_exited or any(map(_is_running, known.values()))):
        await asyncio.sleep(_POLL_S / 4)
    if not child.has_exited:  # pragma: no cover - a process the kernel cannot end, such as one in a dead mount
        child.close()
        return Status()
    return child.reap()


def kill_child(child: Child) -> None:
    """End a child with all its descendants at once; for an interpreter that is about to exit."""
    known = _find_descendants(child, {})
    child.signal_group(KILL)
    _signal(known, KILL)
    child.reap()


def _signal(processes: Mapping[int, psutil.Process], number: int) -> None:
    import psutil  # noqa: PLC0415 - needed only when something has to be ended

    for process in processes.values():
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def _is_running(process: psutil.Process) -> bool:
    import psutil  # noqa: PLC0415 - needed only when something has to be ended

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _find_descendants(child: Child, known: Mapping[int, psutil.Process]) -> dict[int, psutil.Process]:
    """
    The living processes that the child started, directly or not, by their ids, without the child itself.

    Told by what is `known`, by their parents as long as those live, by the child's session, and by the token in
    their environment.
    """
    import psutil  # noqa: PLC0415 - needed only when something has to be ended

    token = child.command.env.get(TOKEN_VARIABLE)
    found: dict[int, psutil.Process] = {}
    family = {child.pid}
    for process in sorted(psutil.process_iter(), key=_started_at):
        if process.pid in (child.pid, os.getpid()):
            continue
        with contextlib.suppress(psutil.Error, OSError):
            if process.create_time() < child.started_at - 1:
                continue
            is_descendant = (
                known.get(process.pid) == process
                or process.ppid() in family
                or _is_in_session(process.pid, child.pid)
                or _carries(process, token)
            )
            if is_descendant and process.status() != psutil.STATUS_ZOMBIE:
                family.add(process.pid)
                found[process.pid] = process
    return found


def _started_at(process: psutil.Process) -> float:
    """When a process was started, so that parents come before their children."""
    import psutil  # noqa: PLC0415 - needed only when something has to be ended

    try:
        return process.create_time()
    except psutil.Error:
        return 0.0


def _is_in_session(pid: int, leader: int) -> bool:
    return hasattr(os, "getsid") and os.getsid(pid) == leader


def _carries(process: psutil.Process, token: str | None) -> bool:
    return token is not None and process.environ().get(TOKEN_VARIABLE) == token
