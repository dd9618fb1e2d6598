"""One child process: its start, its exit as something an event loop can wait for, and its group."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping

from msgspec import Struct

from hookline.process.output import OUTPUT_LIMIT

# The name in a child's environment by which it and its descendants are found again.
TOKEN_VARIABLE = "HOOKLINE_RUN_ID"


class Command(Struct, frozen=True, kw_only=True):
    """
    A program to run: arguments, environment, working directory and limits in seconds.

    `argv[0]` is taken as it is; nothing is looked up. `stdin` is an open descriptor, None for an empty input;
    `inherited` are more open descriptors that the program gets under their numbers. `output_limit` is how many
    bytes are kept of each output.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    timeout_s: float
    kill_grace_s: float
    stdin: int | None = None
    inherited: tuple[int, ...] = ()
    output_limit: int = OUTPUT_LIMIT


class Status(Struct, frozen=True, kw_only=True):
    """How a process ended; both are None when its status was taken away by somebody else."""

    exit_code: int | None = None
    signal: int | None = None

    @classmethod
    def from_code(cls, code: int) -> Status:
        """Read the form in which `subprocess` reports an exit, where a negative number is a signal."""
        return cls(signal=-code) if code < 0 else cls(exit_code=code)


class Child:
    """
    A started process, its two output pipes, and a descriptor that becomes readable when it has exited.

    The process leads a session and a group of its own. Until `reap` is called it keeps its process id, so
    that a signal to its group can never reach a stranger.
    """

    __slots__ = ("_kqueue", "_popen", "_status", "command", "exit_fd", "pid", "started_at")

    def __init__(self, command: Command) -> None:
        """Start the process; raises `OSError` or `ValueError` when that is not possible."""
        self.command = command
        self._kqueue: select.kqueue | None = None  # type: ignore[name-defined,unused-ignore]  # macOS
        self._status: Status | None = None
        self._popen = subprocess.Popen(
            command.argv,
            env=command.env,
            cwd=command.cwd,
            stdin=subprocess.DEVNULL if command.stdin is None else command.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=command.inherited,
        )
        self.pid = self._popen.pid
        self.started_at = time.time()
        self.exit_fd = self._watch_exit()

    def _watch_exit(self) -> int | None:
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                return os.pidfd_open(self.pid)
            return None  # pragma: no cover - a kernel before 5.3, or its descriptors are used up
        if hasattr(select, "kqueue"):  # pragma: no cover - macOS and the BSDs
            self._kqueue = select.kqueue()
            exits = select.kevent(
                self.pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD | select.KQ_EV_ONESHOT, select.KQ_NOTE_EXIT
            )
            with contextlib.suppress(ProcessLookupError):
                self._kqueue.control([exits], 0)
                return self._kqueue.fileno()
        return None  # pragma: no cover - elsewhere `has_exited` is asked again and again

    @property
    def output_fds(self) -> tuple[int, int]:
        """The reading ends of stdout and stderr, set not to block."""
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        fds = self._popen.stdout.fileno(), self._popen.stderr.fileno()
        for fd in fds:
            os.set_blocking(fd, False)
        return fds

    @property
    def has_exited(self) -> bool:
        """Whether the process itself has ended; its descendants may live on."""
        return self.peek() is not None

    def peek(self) -> Status | None:
        """How the process ended, None while it runs; its process id stays taken where the system allows it."""
        if self._status is not None:
            return self._status
        if not hasattr(os, "waitid"):  # pragma: no cover - macOS before Python 3.13
            return self._collect(os.WNOHANG)
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self._collect(os.WNOHANG)
        if found is None:
            return None
        return Status(exit_code=found.si_status) if found.si_code == os.CLD_EXITED else Status(signal=found.si_status)

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and all that stayed in its group."""
        if self._status is not None:
            return
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:  # pragma: no cover - macOS answers so for a group of zombies
            pass

    def reap(self) -> Status:
        """Take the exit status of the process, which must have exited, and let go of all descriptors."""
        status = self._collect(0) or Status()
        self.close()
        return status

    def _collect(self, options: int) -> Status | None:
        if self._status is None:
            try:
                pid, code = os.waitpid(self.pid, options)
            except ChildProcessError:
                # The host ignores SIGCHLD or waited for all its children. `subprocess` would call this exit 0.
                self._status = Status()
            else:
                if pid == 0:
                    return None
                self._status = Status.from_code(os.waitstatus_to_exitcode(code))
            self._popen.returncode = self._status.exit_code or 0
        return self._status

    def close(self) -> None:
        """Close the pipes and the watch on the exit."""
        for stream in (self._popen.stdout, self._popen.stderr):
            if stream is not None:
                stream.close()
        if self._kqueue is not None:  # pragma: no cover - macOS
            self._kqueue.close()
        elif self.exit_fd is not None:
            os.close(self.exit_fd)
        self.exit_fd = None

    def __repr__(self) -> str:
        return f"<child {self.pid} {self.command.argv[0]!r}>"


def describe_start_error(error: OSError | ValueError, command: Command) -> str:
    """Say in words why a process could not be started."""
    if isinstance(error, OSError):
        if error.errno == errno.E2BIG:
            return f"too long for the system: {_find_longest(command)}"
        if not os.path.isdir(command.cwd):  # noqa: PTH112 - also a text that no path can be made of
            return f"the working directory {command.cwd!r} does not exist"
        reason = error.strerror or str(error)
        if error.errno == errno.ENOEXEC:
            reason += "; it lacks a first line such as #!/bin/sh"
        if error.errno == errno.EACCES:
            reason += "; is it executable?"
        return f"cannot start {command.argv[0]!r}: {reason}"
    return f"cannot start {command.argv[0]!r}: an argument or variable cannot be handed over: {error}"


def _find_longest(command: Command) -> str:
    """The longest of a command's arguments and variables, in words."""
    name, value = max(command.env.items(), key=lambda item: len(item[1]), default=("", ""))
    number, argument = max(enumerate(command.argv), key=lambda item: len(item[1]))
    if len(argument) > len(value):
        return f"argument {number} has {len(argument)} characters"
    return f"the variable {name} has {len(value)} characters"


TERMINATE = signal.SIGTERM
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the latter
