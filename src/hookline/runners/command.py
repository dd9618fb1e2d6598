"""Running a hook as a subprocess: payload out, process run, reply in."""

from __future__ import annotations

import os
import shutil
import signal
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from hookline.dialects.base import Dialect
from hookline.dialects.table import get_dialect
from hookline.dialects.wire import UnencodableError
from hookline.hook import CommandAction, Hook, ScriptAction, ShellAction
from hookline.outcome import Answer, Failure, Outcome, Run
from hookline.process.child import Child, Command
from hookline.process.run import Ended, NotStarted, run_process
from hookline.runners.base import Payload
from hookline.runners.environment import (
    WorkingDirectory,
    build_environment,
    choose_directory,
    template_values,
)
from hookline.runners.exchange import CallFiles, Exchange, NoRoomError, UnreadableReplyError
from hookline.runners.interpreter import NoInterpreterError, choose_interpreter

_SHIM_TIMEOUT_S = 10.0


class Surroundings(Struct, frozen=True, kw_only=True):
    """What all runs of an engine share: its project, the home of each dialect, and how deep it is nested."""

    project: Path
    homes: Mapping[str, Path]
    depth: int = 0


class CommandRunner:
    """
    Runs script, command and shell actions.

    `adopt` takes over children whose time is up or whose caller is gone.
    """

    def __init__(self, surroundings: Surroundings, exchange: Exchange, *, adopt: Callable[[Child, str], None]) -> None:
        self._surroundings = surroundings
        self._exchange = exchange
        self._adopt = adopt
        self._behind_shims: dict[str, str] = {}

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Run the hook to its end or its time limit."""
        run_id = run_id or uuid.uuid4().hex
        dialect = get_dialect(hook.source.dialect)
        around = self._surroundings
        values = template_values(dialect, payload.event, project=around.project, home=around.homes[dialect.name])
        directory = choose_directory(hook, payload.event, values, project=around.project)
        notes: tuple[str, ...] = ()
        if directory.missing is not None:
            notes = (f"the session's directory {directory.missing!r} is gone; ran in {directory.path!r}",)
        try:
            data = payload.encode(dialect, is_cwd_missing=directory.missing is not None)
            files = self._exchange.open_call(data)
        except (UnencodableError, NoRoomError) as error:
            failure = Failure(kind="spawn", message=str(error), provokable=True)
            return Run(hook=hook, id=run_id, status="failed", outcome=failure, notes=notes)
        try:
            environment = build_environment(hook, dialect, values, files, run_id=run_id, depth=around.depth)
            ended = await self._start(hook, dialect, directory, environment, files, run_id)
            return _to_run(hook, dialect, ended, files, run_id=run_id, notes=notes)
        finally:
            files.discard()

    async def _start(
        self,
        hook: Hook,
        dialect: Dialect,
        directory: WorkingDirectory,
        environment: Mapping[str, str],
        files: CallFiles,
        run_id: str,
    ) -> Ended | NotStarted:
        try:
            argv = await self._build_argv(hook, dialect, environment)
        except (NoInterpreterError, FileNotFoundError) as error:
            return NotStarted(message=str(error))
        stdin = os.open(files.payload, os.O_RDONLY) if dialect.is_stdin_payload else None
        command = Command(
            argv=argv,
            env=environment,
            cwd=directory.path,
            timeout_s=hook.execution.timeout_s,
            kill_grace_s=hook.execution.kill_grace_s,
            stdin=stdin,
        )
        try:
            return await run_process(command, adopt=lambda child: self._adopt(child, run_id))
        finally:
            if stdin is not None:
                os.close(stdin)

    async def _build_argv(self, hook: Hook, dialect: Dialect, environment: Mapping[str, str]) -> tuple[str, ...]:
        action = hook.action
        search_path = environment.get("PATH", os.defpath)
        if isinstance(action, ShellAction):
            return _shell_argv(action, dialect, environment)
        if isinstance(action, CommandAction):
            return (_find_program(action.argv[0], search_path), *action.argv[1:], *action.args)
        return (*await self._interpreter_for(action, dialect, search_path), str(action.path), *action.args)

    async def _interpreter_for(self, action: ScriptAction, dialect: Dialect, search_path: str) -> tuple[str, ...]:
        if not action.path.is_file():
            raise FileNotFoundError(f"the script {str(action.path)!r} does not exist")
        found = choose_interpreter(
            action.path, action.interpreter, search_path=search_path, prefers_uv=dialect.prefers_uv
        )
        if not found.is_shim:
            return found.argv
        shim, *arguments = found.argv
        if shim not in self._behind_shims:
            self._behind_shims[shim] = await self._look_behind(shim)
        return (self._behind_shims[shim], *arguments)

    async def _look_behind(self, shim: str) -> str:
        """The interpreter a version manager's shim stands for, asked where no project can choose it."""
        command = Command(
            argv=(shim, "-I", "-c", "import sys; print(sys.executable)"),
            env=dict(os.environ),
            cwd=os.path.expanduser("~"),  # noqa: PTH111 - never raises
            timeout_s=_SHIM_TIMEOUT_S,
            kill_grace_s=1.0,
        )
        ended = await run_process(command, adopt=lambda child: self._adopt(child, ""))
        if isinstance(ended, Ended) and ended.status.exit_code == 0 and os.access(ended.stdout.strip(), os.X_OK):
            return ended.stdout.strip()
        return shim


def _shell_argv(action: ShellAction, dialect: Dialect, environment: Mapping[str, str]) -> tuple[str, ...]:
    if os.name == "nt":  # pragma: no cover - untested: Windows
        return (environment.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c", action.text)
    return (dialect.shell(environment), "-c", action.text)


def _find_program(name: str, search_path: str) -> str:
    if os.path.dirname(name):  # noqa: PTH120 - whether it names a folder, as the system decides it
        return name
    found = shutil.which(name, path=search_path)
    if found is None:
        raise FileNotFoundError(f"the program {name!r} was not found on PATH")
    return found


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
        return dialect.decode_exit(exit_code, ended.stderr, hook), None
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
