"""A hook object that asks a shell command: the payload on its stdin, an outcome on its stdout."""

from __future__ import annotations

import os
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import IO, Any

from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import ConfigError
from hookline.objects.matcher import HookMatcher
from hookline.objects.records import (
    Allow,
    BadRecordError,
    Block,
    Error,
    HookOutcome,
    HookPayload,
    LateError,
    ObjectEvent,
    Policy,
    parse_outcome,
)
from hookline.process.child import TOKEN_VARIABLE, Child, Command
from hookline.process.ending import kill_child
from hookline.process.run import Ended, NotStarted, run_process
from hookline.runners.depth import read_depth
from hookline.runners.environment import DEPTH_VARIABLE, inherit_environment

VARIABLE_PREFIX = "AGENTYK_HOOK_"
PAYLOAD_VARIABLE = f"{VARIABLE_PREFIX}PAYLOAD_JSON"
DEFAULT_TIMEOUT_MS = 5000
_SHELL = "/bin/sh"
_UNEXPLAINED = "hook exited unsuccessfully"
# The system's limit for one variable: its name, the sign and a byte at its end included (MAX_ARG_STRLEN of Linux).
_VARIABLE_BYTES = 128 * 1024


class ShellLimits(Struct, frozen=True, kw_only=True):
    """What a shell hook may be: bytes of its command and of its outputs together, variables, time."""

    command_bytes: int = 16 * 1024
    variables: int = 16
    least_timeout_ms: int = 100
    most_timeout_ms: int = 30_000
    output_bytes: int = 64 * 1024


DEFAULT_LIMITS = ShellLimits()

running_adopt: ContextVar[Callable[[Child], None] | None] = ContextVar("running_adopt", default=None)
"""Who sees to the end of processes of the hook object that this code runs for, None where nobody has said so."""


def check_shell(
    command: str, env: Mapping[str, str], timeout_ms: int, limits: ShellLimits = DEFAULT_LIMITS
) -> tuple[str, ...]:
    """Everything that keeps a command from being a shell hook, in words."""
    found = []
    if not command.strip():
        found.append("the command is empty")
    if "\0" in command:
        found.append("the command holds a NUL character")
    size = len(command.encode("utf-8", "replace"))
    if size > limits.command_bytes:
        found.append(f"the command has {size} bytes; the most is {limits.command_bytes}")
    if len(env) > limits.variables:
        found.append(f"env has {len(env)} variables; the most is {limits.variables}")
    for name, value in env.items():
        if not name or "=" in name or not _is_usable(name) or not _fits(name, value):
            found.append(f"env: the variable {name!r} cannot be handed over")
    if not limits.least_timeout_ms <= timeout_ms <= limits.most_timeout_ms:
        least, most = limits.least_timeout_ms, limits.most_timeout_ms
        found.append(f"timeout_ms is {timeout_ms}; it must be from {least} to {most}")
    return tuple(found)


class ShellHook:
    """
    A hook object that runs `/bin/sh -c COMMAND`.

    The command gets the payload as JSON on its stdin and in `AGENTYK_HOOK_PAYLOAD_JSON`, which is left unset for a
    payload of more than 128 KiB, and names and ids in other variables of that prefix, empty where there is none and
    unset where they cannot be handed over. `env` is added to the host's environment; `cwd` is the host's own unless
    it is given. What it wrote counts once the command itself has ended. At the end of its time all that it started
    is ended; `adopt`, which gets the child then and when a caller goes away, may be given to see to that elsewhere.
    An engine that the hook is attached to does so by itself.

    Raises `ConfigError` for a command outside of the limits.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the contract
        event: ObjectEvent,
        command: str,
        *,
        matcher: HookMatcher | None = None,
        on_error: Policy = "warn",
        env: Mapping[str, str] | None = None,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        cwd: str = "",
        description: str = "",
        limits: ShellLimits = DEFAULT_LIMITS,
        adopt: Callable[[Child], None] | None = None,
    ) -> None:
        problems = check_shell(command, env or {}, timeout_ms, limits)
        if problems:
            raise ConfigError(f"hook `{id}`: {'; '.join(problems)}")
        self.id = id
        self.event = event
        self.command = command
        self.matcher = matcher
        self.on_error = on_error
        self.env = dict(env or {})
        self.timeout_ms = timeout_ms
        self.cwd = cwd
        self.description = description
        self.limits = limits
        self._given_adopt = adopt

    async def run(self, payload: HookPayload) -> HookOutcome:
        """Run the command to its end or its time limit."""
        try:
            text = payload.to_json()
            with _open_unnamed() as stdin:
                stdin.write(text.encode())
                stdin.seek(0)
                ended = await self._run_command(self._make_command(payload, text, stdin.fileno()))
        except (BadRecordError, OSError) as error:
            return Error(message=f"it cannot be asked: {error}")
        return self._read(ended)

    async def _run_command(self, command: Command) -> Ended | NotStarted:
        adopt = self._given_adopt or running_adopt.get() or _end_aside
        ended = await run_process(command, adopt=adopt)
        if isinstance(ended, Ended) or PAYLOAD_VARIABLE not in command.env:
            return ended
        # Some systems take less than 128 KiB; what is asked must not keep a guard from starting.
        env = {name: value for name, value in command.env.items() if name != PAYLOAD_VARIABLE}
        return await run_process(replace(command, env=env), adopt=adopt)

    def _make_command(self, payload: HookPayload, text: str, stdin: int) -> Command:
        return Command(
            argv=(_SHELL, "-c", self.command),
            env=self._build_environment(payload, text),
            cwd=self.cwd or os.getcwd(),  # noqa: PTH109 - a text
            timeout_s=self.timeout_ms / 1000,
            kill_grace_s=0.0,
            stdin=stdin,
            output_limit=self.limits.output_bytes + 1,
        )

    def _build_environment(self, payload: HookPayload, text: str) -> dict[str, str]:
        own = describe_payload(payload) | {PAYLOAD_VARIABLE: text}
        environment = {
            name: value
            for name, value in (inherit_environment() | self.env).items()
            if not name.startswith(VARIABLE_PREFIX) or (name in self.env and name not in own)
        }
        environment |= {name: value for name, value in own.items() if _fits(name, value)}
        environment[DEPTH_VARIABLE] = str(read_depth() + 1)
        environment[TOKEN_VARIABLE] = uuid.uuid4().hex
        return environment

    def _read(self, ended: Ended | NotStarted) -> HookOutcome:
        if isinstance(ended, NotStarted):
            return Error(message=ended.message)
        if ended.timed_out:
            return LateError(message=f"hook timed out after {self.timeout_ms} ms")
        if ended.output_bytes > self.limits.output_bytes:
            return Error(message=f"hook wrote {ended.output_bytes} bytes; the most is {self.limits.output_bytes}")
        return read_output(ended)

    def __repr__(self) -> str:
        return f"<shell hook {self.id!r}>"


def read_output(ended: Ended) -> HookOutcome:
    """
    What a command that ended by itself says.

    A decision on stdout counts whatever the exit code; with nothing there, any end but exit code 0 is a block.
    """
    stdout = ended.stdout.strip()
    if not stdout:
        if ended.status.exit_code == 0:
            return Allow()
        if ended.status.exit_code is None and ended.status.signal is None:
            return Error(message="its exit status was taken by another part of this process (is SIGCHLD ignored?)")
        return Block(reason=ended.stderr.strip() or _UNEXPLAINED)
    if not stdout.startswith("{"):
        start = stdout if len(stdout) <= 60 else f"{stdout[:57]}..."
        return Error(message=f"its output is not a JSON decision: {start!r}")
    try:
        return parse_outcome(stdout)
    except BadRecordError as error:
        return Error(message=f"its output is not a JSON decision: {error}")


def describe_payload(payload: HookPayload) -> dict[str, str]:
    """The variables that tell a command what it is asked about, without the payload itself."""
    data: Mapping[str, Any] = payload.data if isinstance(payload.data, Mapping) else {}
    values = {
        "EVENT": payload.event,
        "ID": payload.hook_id,
        "SESSION_ID": payload.session_id,
        "TURN_ID": payload.turn_id,
        "TOOL_NAME": data.get("tool_name"),
        "TOOL_CALL_ID": data.get("tool_call_id"),
    }
    return {f"{VARIABLE_PREFIX}{name}": value if isinstance(value, str) else "" for name, value in values.items()}


def _open_unnamed() -> IO[bytes]:
    """A file without a name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("payload"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)  # pragma: no cover - macOS


def _fits(name: str, value: str) -> bool:
    return _is_usable(value) and len(name) + len(os.fsencode(value)) + 2 <= _VARIABLE_BYTES


def _is_usable(text: str) -> bool:
    """Whether a text can stand in an environment."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _end_aside(child: Child) -> None:
    """Kill a child and all it started, on a thread of its own, so that neither the loop nor its end matters."""
    threading.Thread(target=kill_child, args=(child,), name="hookline-shell-hook-end").start()
