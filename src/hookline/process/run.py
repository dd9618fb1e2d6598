"""Running a command to its end or its time limit, on the caller's event loop."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

from msgspec import Struct

from hookline.process.child import TERMINATE, Child, Command, Status, describe_start_error
from hookline.process.output import HeadTail

# After the leader's exit its pipes get this long to be closed by children that are just ending.
_PIPE_GRACE_S = 0.05
# After SIGTERM the caller waits this long for the usual case, a process that ends at once.
_PROMPT_END_S = 0.1
_CHUNK = 64 * 1024
# What is still read after the exit: more than a pipe can hold, so all that the leader wrote.
_LATE_CHUNKS = 64


class Ended(Struct, frozen=True, kw_only=True):
    """
    A process that was started and has had its time.

    After a time limit the status may still be unknown: what is left of the process is being ended elsewhere.
    `is_cut` says that there was more output than is kept, `is_stdout_cut` that it was of stdout; `output_bytes` is what
    both outputs came to.
    """

    status: Status
    timed_out: bool
    duration_s: float
    stdout: str
    stderr: str
    is_cut: bool = False
    output_bytes: int = 0
    is_stdout_cut: bool = False


class NotStarted(Struct, frozen=True, kw_only=True):
    """A process that could not be started, and why."""

    message: str


async def run_process(
    command: Command, *, adopt: Callable[[Child], None], stop: asyncio.Future[None] | None = None
) -> Ended | NotStarted:
    """
    Run a command and return when its process has exited or its time is up.

    The result never waits for grandchildren, nor for anybody to let go of a pipe. A child whose time is up,
    or whose caller was cancelled, is handed to `adopt`, which must see to its end (`ending.end_child`).
    A `stop` that is done means that the time is up now.
    """
    if os.name == "nt":  # pragma: no cover - untested: Windows
        return await _run_on_windows(command, stop)
    try:
        child = Child(command)
    except (OSError, ValueError) as error:
        return NotStarted(message=describe_start_error(error, command))
    watch = _Watch(child)
    started = time.monotonic()
    try:
        has_exited = await watch.wait_for_exit(command.timeout_s, stop)
        if has_exited:
            await watch.wait_for_pipes()
        else:
            child.signal_group(TERMINATE)
            await watch.wait_for_exit(_PROMPT_END_S)
    except BaseException:
        watch.stop()
        adopt(child)
        raise
    watch.stop()
    if has_exited:
        status = child.reap()
    else:
        status = child.peek() or Status()
        adopt(child)
    return Ended(
        status=status,
        timed_out=not has_exited,
        duration_s=time.monotonic() - started,
        stdout=watch.stdout.text(),
        stderr=watch.stderr.text(),
        is_cut=watch.stdout.is_cut or watch.stderr.is_cut,
        output_bytes=watch.stdout.total + watch.stderr.total,
        is_stdout_cut=watch.stdout.is_cut,
    )


async def _run_on_windows(
    command: Command, stop: asyncio.Future[None] | None
) -> Ended | NotStarted:  # pragma: no cover - untested: Windows
    from hookline.process.windows import run_in_threads  # noqa: PLC0415 - only there

    running = asyncio.ensure_future(run_in_threads(command))
    if stop is not None:
        await asyncio.wait((running, stop), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            running.cancel()
            await asyncio.wait((running,))
            return Ended(status=Status(), timed_out=True, duration_s=0.0, stdout="", stderr="", is_cut=True)
    try:
        status, timed_out, duration_s, outputs = await running
    except (OSError, ValueError) as error:
        return NotStarted(message=describe_start_error(error, command))
    stdout, stderr = outputs
    return Ended(
        status=status,
        timed_out=timed_out,
        duration_s=duration_s,
        stdout=stdout.text(),
        stderr=stderr.text(),
        is_cut=stdout.is_cut or stderr.is_cut,
        output_bytes=stdout.total + stderr.total,
    )


class _Watch:
    """Follows a child on the running loop: takes in its output and notices its exit."""

    def __init__(self, child: Child) -> None:
        self.stdout = HeadTail(child.command.output_limit)
        self.stderr = HeadTail(child.command.output_limit)
        self._child = child
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._open = dict(zip(child.output_fds, (self.stdout, self.stderr), strict=True))
        for fd in self._open:
            self._loop.add_reader(fd, self._read, fd)
        self._exit_fd = child.exit_fd
        self._has_exited = False
        if self._exit_fd is not None:
            self._loop.add_reader(self._exit_fd, self._notice_exit)
        else:  # pragma: no cover - only where the system has no descriptor for an exit
            self._poll = self._loop.create_task(self._poll_exit())

    async def wait_for_exit(self, limit_s: float, stop: asyncio.Future[None] | None = None) -> bool:
        return await self._wait_until(lambda: self._has_exited, limit_s, stop)

    async def wait_for_pipes(self) -> None:
        """Take in what the exited child wrote, and give late writers a moment to finish."""
        for fd in tuple(self._open):
            for _ in range(_LATE_CHUNKS):
                if not self._read(fd):
                    break
        if self._open:
            await self._wait_until(lambda: not self._open, _PIPE_GRACE_S)

    def stop(self) -> None:
        for fd in tuple(self._open):
            self._forget(fd)
        if self._exit_fd is not None:
            self._loop.remove_reader(self._exit_fd)
        else:  # pragma: no cover - see __init__
            self._poll.cancel()

    async def _wait_until(
        self, holds: Callable[[], bool], limit_s: float, stop: asyncio.Future[None] | None = None
    ) -> bool:
        expired = False

        def expire(_: object = None) -> None:
            nonlocal expired
            expired = True
            self._changed.set()

        timer = self._loop.call_later(limit_s, expire)
        if stop is not None:
            stop.add_done_callback(expire)
        try:
            while not holds() and not expired:
                self._changed.clear()
                await self._changed.wait()
        finally:
            timer.cancel()
            if stop is not None:
                stop.remove_done_callback(expire)
        return holds()

    def _notice_exit(self) -> None:
        assert self._exit_fd is not None
        self._loop.remove_reader(self._exit_fd)
        self._has_exited = True
        self._changed.set()

    async def _poll_exit(self) -> None:  # pragma: no cover - see __init__
        while not self._child.has_exited:
            await asyncio.sleep(0.01)
        self._has_exited = True
        self._changed.set()

    def _read(self, fd: int) -> bool:
        """Read once; tells whether there may be more at once."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._open[fd].add(data)
            return True
        self._forget(fd)
        return False

    def _forget(self, fd: int) -> None:
        self._loop.remove_reader(fd)
        del self._open[fd]
        if not self._open:
            self._changed.set()
