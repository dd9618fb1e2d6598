"""
Running a command on Windows, where pipes and exits cannot be waited for by every event loop.

Written and not tested: threads read the pipes and wait for the end; a process tree is ended by its parents' ids.
"""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from typing import IO

from hookline.process.child import Command, Status
from hookline.process.output import HeadTail

_CHUNK = 64 * 1024
_PIPE_GRACE_S = 0.05


async def run_in_threads(
    command: Command,
) -> tuple[Status, bool, float, tuple[HeadTail, HeadTail]]:  # pragma: no cover - untested: Windows
    """
    Run a command to its end or its time limit; then its whole tree is ended at once.

    Returns its status, whether its time was up, how long it took in seconds, and its two outputs. Raises
    `OSError` or `ValueError` when it cannot be started.
    """
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: ASYNC220 - as quick as anything that would avoid it
        command.argv,
        env=command.env,
        cwd=command.cwd,
        stdin=subprocess.DEVNULL if command.stdin is None else command.stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    outputs = HeadTail(command.output_limit), HeadTail(command.output_limit)
    readers = [
        threading.Thread(target=_drain, args=pair, daemon=True)
        for pair in zip((process.stdout, process.stderr), outputs, strict=True)
    ]
    for reader in readers:
        reader.start()
    timed_out = False
    try:
        await asyncio.to_thread(process.wait, command.timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        if process.poll() is None:
            await asyncio.to_thread(_end_tree, process)
    for reader in readers:
        await asyncio.to_thread(reader.join, _PIPE_GRACE_S)
    took = time.monotonic() - started
    return Status.from_code(process.returncode or 0), timed_out, took, outputs


def _drain(stream: IO[bytes], output: HeadTail) -> None:  # pragma: no cover - untested: Windows
    while data := stream.read(_CHUNK):
        output.add(data)


def _end_tree(process: subprocess.Popen[bytes]) -> None:  # pragma: no cover - untested: Windows
    import psutil  # noqa: PLC0415 - needed only when something has to be ended

    try:
        descendants = psutil.Process(process.pid).children(recursive=True)
    except psutil.Error:
        descendants = []
    for descendant in descendants:
        try:
            descendant.kill()
        except psutil.Error:
            continue
    process.kill()
    process.wait()
