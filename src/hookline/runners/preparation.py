"""From a hook and an event to the command that is to be run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from hookline.dialects.base import Dialect
from hookline.dialects.table import get_dialect
from hookline.hook import CommandAction, Hook, ScriptAction, ShellAction
from hookline.process.child import TOKEN_VARIABLE, Child, Command
from hookline.process.output import OUTPUT_LIMIT
from hookline.process.run import Ended, run_process
from hookline.runners.base import Payload
from hookline.runners.environment import WorkingDirectory, build_environment, choose_directory, template_values
from hookline.runners.exchange import REPLY_LIMIT, CallFiles
from hookline.runners.interpreter import NoInterpreterError, choose_interpreter

_SHIM_TIMEOUT_S = 10.0


class Surroundings(Struct, frozen=True, kw_only=True):
    """What all runs of an engine share: its project, the home of each dialect, and how deep it is nested."""

    project: Path
    homes: Mapping[str, Path]
    depth: int = 0


class UnrunnableError(Exception):
    """A hook whose program cannot be found, and why."""


class Preparation:
    """
    Prepares commands: working directory, environment, program.

    `adopt` takes over a look behind a version manager's shim that does not come to its end.
    """

    def __init__(self, surroundings: Surroundings, *, adopt: Callable[[Child, str], None]) -> None:
        self._surroundings = surroundings
        self._adopt = adopt
        self._behind_shims: dict[str, str] = {}

    def choose_directory(self, hook: Hook, payload: Payload) -> WorkingDirectory:
        """Where the hook is to run."""
        return choose_directory(hook, payload.event, self._values(hook, payload), project=self._surroundings.project)

    async def prepare(
        self, hook: Hook, payload: Payload, files: CallFiles, directory: WorkingDirectory, *, run_id: str
    ) -> Command:
        """The command of one run, without its input; raises `UnrunnableError`."""
        dialect = get_dialect(hook.source.dialect)
        environment = build_environment(
            hook,
            dialect,
            self._values(hook, payload),
            files,
            run_id=run_id,
            depth=self._surroundings.depth,
            delivery=payload.delivery,
        )
        try:
            argv = await self._build_argv(hook, dialect, environment)
        except (NoInterpreterError, FileNotFoundError) as error:
            raise UnrunnableError(str(error)) from error
        return Command(
            argv=argv,
            env=environment,
            cwd=directory.path,
            timeout_s=hook.execution.timeout_s,
            kill_grace_s=hook.execution.kill_grace_s,
            output_limit=REPLY_LIMIT if dialect.replies_on_stdout else OUTPUT_LIMIT,
            inherited=() if payload.delivery is None else payload.delivery.inheritable,
        )

    def _values(self, hook: Hook, payload: Payload) -> dict[str, str]:
        dialect, around = get_dialect(hook.source.dialect), self._surroundings
        return template_values(dialect, payload.event, project=around.project, home=around.homes[dialect.name])

    async def _build_argv(self, hook: Hook, dialect: Dialect, environment: Mapping[str, str]) -> tuple[str, ...]:
        action = hook.program
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
            env={name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE},
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
