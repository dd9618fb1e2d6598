"""Running a program for a handler: no shell, a limit, and an end of everything it started."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import signal as signals
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from hookline.errors import HooklineError
from hookline.process.child import TOKEN_VARIABLE, Child, Command, Status
from hookline.process.ending import end_child, kill_child
from hookline.process.run import Ended, NotStarted, run_process

_KILL_GRACE_S = 2.0
# So often the signal is looked at: it may belong to another thread or event loop, where nothing wakes this one.
_LOOK_S = 0.02
_OUTPUT_LIMIT = 8 * 1024 * 1024
_NO_LIMIT_S = 10 * 365 * 24 * 3600.0
# What a shell reports for a program that was ended by a signal is the signal's number and this.
_SIGNAL_BASE = 128
_TERMINATED = _SIGNAL_BASE + signals.SIGTERM


class ExecError(HooklineError):
    """A program that cannot be started, or whose end cannot be told."""


class Signal(Protocol):
    """Something that is set once, such as `asyncio.Event` or `threading.Event`."""

    def is_set(self) -> bool:
        """Whether it has been set."""
        ...


class ExecResult(Struct, frozen=True, kw_only=True):
    """
    What a program wrote and how it ended.

    `code` is its exit code, 128 and the number of the signal if one ended it, and never 0 for one that was
    `killed`: because its time was up (`timed_out`) or because the caller's signal was set. Of each output the first
    and the last of 8 MiB are kept; `is_cut` says that there was more.
    """

    stdout: str
    stderr: str
    code: int
    killed: bool = False
    timed_out: bool = False
    is_cut: bool = False


async def exec_command(
    command: str,
    args: Sequence[str] = (),
    *,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    signal: Signal | None = None,
    env: Mapping[str, str] | None = None,
) -> ExecResult:
    """
    Run a program with arguments, which no shell looks at, and return when it has ended.

    A name without a slash is looked up in `PATH`. `cwd` is this process's own if not given, `timeout` is in
    seconds, `env` adds to this process's environment. Its input is empty. Once the time is up, the signal is set,
    or the caller is cancelled, the program and all that it started gets SIGTERM, and SIGKILL 2 s later; this
    returns when nothing of it runs any more. Raises `ExecError` for a program or folder that is missing.
    """
    built = _build_command(command, args, cwd=cwd, timeout=timeout, env=env)
    if signal is not None and not callable(getattr(signal, "is_set", None)):
        raise TypeError(f"signal must have a method is_set, such as asyncio.Event, not {signal!r}")
    if signal is not None and signal.is_set():
        return ExecResult(stdout="", stderr="", code=_TERMINATED, killed=True)
    stop = None if signal is None else asyncio.ensure_future(_wait_for(signal))
    left: list[Child] = []
    try:
        ended = await run_process(built, adopt=left.append, stop=stop)
    finally:
        was_stopped = stop is not None and stop.done()
        if stop is not None:
            stop.cancel()
        statuses = [await _end(child) for child in left]
    if isinstance(ended, NotStarted):
        raise ExecError(ended.message)
    if stop is not None and was_stopped:
        stop.result()
    return _to_result(command, ended, statuses[0] if statuses else ended.status, was_stopped=was_stopped)


def _build_command(
    command: str,
    args: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None,
    timeout: float | None,
    env: Mapping[str, str] | None,
) -> Command:
    if not isinstance(command, str) or not command:
        raise TypeError(f"command must be the name of a program, not {command!r}")
    if isinstance(args, str) or not all(isinstance(arg, str) for arg in args):
        raise TypeError(f"args must be a list of texts, not {args!r}; no shell takes a text apart")
    if timeout is not None and (math.isnan(timeout) or timeout <= 0):
        raise ValueError(f"timeout must be more than 0 seconds, not {timeout!r}")
    environment = {**os.environ, **(env or {}), TOKEN_VARIABLE: uuid.uuid4().hex}
    return Command(
        argv=(_find_program(command, environment), *args),
        env=environment,
        cwd=os.fspath(cwd) if cwd is not None else str(Path.cwd()),
        timeout_s=_NO_LIMIT_S if timeout is None else min(timeout, _NO_LIMIT_S),
        kill_grace_s=_KILL_GRACE_S,
        output_limit=_OUTPUT_LIMIT,
    )


def _find_program(command: str, environment: Mapping[str, str]) -> str:
    if os.path.dirname(command):  # noqa: PTH120 - a text; a path would lose its leading dot
        return command
    # An entry that is no absolute path would mean the folder that the program runs in.
    entries = [entry for entry in environment.get("PATH", os.defpath).split(os.pathsep) if Path(entry).is_absolute()]
    found = shutil.which(command, path=os.pathsep.join(entries) or os.devnull)
    if found is None:
        raise ExecError(f"cannot start {command!r}: there is no such program in PATH")
    return found


async def _wait_for(signal: Signal) -> None:
    while not signal.is_set():
        await asyncio.sleep(_LOOK_S)


async def _end(child: Child) -> Status:
    try:
        return await end_child(child)
    except BaseException:  # cancelled once more: there is no time left to ask
        kill_child(child)
        raise


def _to_result(command: str, ended: Ended, status: Status, *, was_stopped: bool) -> ExecResult:
    # A signal that was set in the moment of the end has not killed anything.
    killed = ended.timed_out
    code = status.exit_code if status.signal is None else _SIGNAL_BASE + status.signal
    if killed:
        code = code or _TERMINATED
    if code is None:
        raise ExecError(
            f"the exit status of {command!r} was taken by another part of this process (is SIGCHLD ignored?)"
        )
    return ExecResult(
        stdout=ended.stdout,
        stderr=ended.stderr,
        code=code,
        killed=killed,
        timed_out=killed and not was_stopped,
        is_cut=ended.is_cut,
    )
