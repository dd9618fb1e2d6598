"""Running a hook as a subprocess: payload out, process run, reply in."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable

from msgspec.structs import replace

from hookline.dialects.base import Dialect
from hookline.dialects.table import get_dialect
from hookline.dialects.wire import UnencodableError
from hookline.hook import Hook
from hookline.outcome import Answer, Failure, Outcome, Run
from hookline.process.child import Child
from hookline.process.run import Ended, NotStarted, run_process
from hookline.runners.base import Payload
from hookline.runners.environment import WorkingDirectory
from hookline.runners.exchange import REPLY_LIMIT, CallFiles, Exchange, NoRoomError, UnreadableReplyError
from hookline.runners.preparation import Preparation, UnrunnableError


class CommandRunner:
    """
    Runs script, command and shell actions.

    `adopt` takes over children whose time is up or whose caller is gone.
    """

    def __init__(self, preparation: Preparation, exchange: Exchange, *, adopt: Callable[[Child, str], None]) -> None:
        self._preparation = preparation
        self._exchange = exchange
        self._adopt = adopt

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Run the hook to its end or its time limit."""
        run_id = run_id or uuid.uuid4().hex
        dialect = get_dialect(hook.source.dialect)
        directory = self._preparation.choose_directory(hook, payload)
        notes = describe_directory(directory)
        try:
            data = payload.encode(dialect, is_cwd_missing=directory.missing is not None)
            files = self._exchange.open_call(data)
        except (UnencodableError, NoRoomError) as error:
            failure = Failure(kind="spawn", message=str(error), provokable=True)
            return Run(hook=hook, id=run_id, status="failed", outcome=failure, notes=notes)
        try:
            ended = await self._run_process(hook, payload, files, directory, run_id=run_id)
            return _to_run(hook, dialect, ended, files, run_id=run_id, notes=notes)
        finally:
            files.discard()

    async def _run_process(
        self, hook: Hook, payload: Payload, files: CallFiles, directory: WorkingDirectory, *, run_id: str
    ) -> Ended | NotStarted:
        try:
            command = await self._preparation.prepare(hook, payload, files, directory, run_id=run_id)
        except UnrunnableError as error:
            return NotStarted(message=str(error))
        if not get_dialect(hook.source.dialect).is_stdin_payload:
            return await run_process(command, adopt=lambda child: self._adopt(child, run_id))
        stdin = os.open(files.payload, os.O_RDONLY)
        try:
            return await run_process(replace(command, stdin=stdin), adopt=lambda child: self._adopt(child, run_id))
        finally:
            os.close(stdin)


def describe_directory(directory: WorkingDirectory) -> tuple[str, ...]:
    """A note where the hook does not run in the session's own directory because that is gone."""
    if directory.missing is None:
        return ()
    return (f"the session's directory {directory.missing!r} is gone; ran in {directory.path!r}",)


def _to_run(
    hook: Hook,
    dialect: Dialect,
    ended: Ended | NotStarted,
    files: CallFiles,
    *,
    run_id: str,
    notes: tuple[str, ...],
) -> Run:
    if isinstance(ended, NotStarted):
        failure = Failure(kind="spawn", message=ended.message)
        return Run(hook=hook, id=run_id, status="failed", outcome=failure, notes=notes)
    outcome, reply = _read_outcome(hook, dialect, ended, files)
    is_failure = isinstance(outcome, Failure)
    return Run(
        hook=hook,
        id=run_id,
        status="timeout" if ended.timed_out else "failed" if is_failure else "ok",
        outcome=outcome,
        exit_code=None if ended.timed_out else ended.status.exit_code,
        signal=ended.status.signal,
        duration_ms=round(ended.duration_s * 1000, 3),
        stdout=ended.stdout,
        stderr=ended.stderr,
        reply=reply,
        notes=notes,
    )


def _read_outcome(hook: Hook, dialect: Dialect, ended: Ended, files: CallFiles) -> tuple[Outcome, str | None]:
    """What the run means, and the text of its reply if that was looked at."""
    failure = _find_failure(hook, ended)
    if failure is not None:
        return failure, None
    exit_code = ended.status.exit_code
    assert exit_code is not None
    if exit_code != 0:
        is_told_on_stdout = dialect.replies_on_stdout and not ended.stderr.strip()
        return dialect.decode_exit(exit_code, ended.stdout if is_told_on_stdout else ended.stderr, hook), None
    if dialect.replies_on_stdout:
        return _read_stdout(hook, dialect, ended), ended.stdout
    try:
        reply = files.read_reply()
    except UnreadableReplyError as error:
        if hook.execution.on_bad_reply == "ignore" or not hook.is_blocking:
            return Answer(ignored=(str(error),)), None
        return Failure(kind="reply", message=str(error)), None
    text = reply.decode("utf-8", "replace")
    if not hook.is_blocking:
        return Answer(ignored=(f"the reply of a hook in mode {hook.execution.mode}",) if reply.strip() else ()), text
    return dialect.decode_reply(reply, hook), text


def _read_stdout(hook: Hook, dialect: Dialect, ended: Ended) -> Outcome:
    if ended.is_stdout_cut and ended.stdout.lstrip().startswith("{"):
        message = f"the reply is larger than {REPLY_LIMIT} bytes, so a decision in it cannot be read"
        return Failure(kind="reply", message=message, provokable=True)
    return dialect.decode_reply(ended.stdout.encode("utf-8", "replace"), hook)


def _find_failure(hook: Hook, ended: Ended) -> Failure | None:
    """Why a process gave no exit code of its own, None when it did."""
    status = ended.status
    if ended.timed_out:
        return Failure(kind="timeout", message=f"no end within {hook.execution.timeout_s:g} s")
    if status.signal is not None:
        return Failure(kind="signal", message=f"ended by {_name_signal(status.signal)}")
    if status.exit_code is None:
        message = "its exit status was taken by another part of this process (is SIGCHLD ignored?)"
        return Failure(kind="exit", message=message)
    return None


def _name_signal(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return f"signal {number}"
