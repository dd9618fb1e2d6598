"""`hookline bridge`: run a hook program of another format inside a native hook."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from hookline.bridge.answer import Said, to_reply
from hookline.bridge.program import Format, Kind, Program, read_event, take_surplus
from hookline.bridge.run import Way, run_program
from hookline.cli.screen import say
from hookline.errors import ConfigError, PayloadError
from hookline.events import Event
from hookline.outcome import Failure

_PAYLOAD_VARIABLE = "HOOKLINE_HOOK_PAYLOAD_FILE"
_REPLY_VARIABLE = "HOOKLINE_HOOK_RESULT"
_ID_VARIABLE = "HOOKLINE_HOOK_ID"
_EXIT_TERMINATED = 128 + signal.SIGTERM
# A native hook would take it for a block.
_BLOCKING_EXIT_CODE = 2


@click.command("bridge")
@click.argument("format_", metavar="FORMAT", type=click.Choice(["chrys", "vix", "objects"]))
@click.argument("words", metavar="WORDS...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--id", "hook_id", metavar="ID", help=f"The hook's id in its own format (default: ${_ID_VARIABLE}).")
@click.option(
    "--run",
    "kind",
    type=click.Choice(["shell", "command", "script"]),
    default="shell",
    help="What WORDS are: a text for a shell, or a program or script with its arguments; the latter for chrys alone.",
)
@click.option(
    "--timeout",
    "timeout_s",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    help="The program's time limit (default: 30).",
)
@click.option("--matcher", metavar="TEXT", default="", help="vix: a matcher. objects: a matcher as JSON.")
@click.option("--no-block", is_flag=True, help="vix: a hook that is not blocking; what it denies is context.")
@click.option("--no-reply", is_flag=True, help="A hook that nobody waits for: what it says counts for nothing.")
def command(
    format_: Format,
    words: tuple[str, ...],
    hook_id: str | None,
    kind: Kind,
    timeout_s: float,
    matcher: str,
    no_block: bool,
    no_reply: bool,
) -> int:
    """
    Run a hook program of another FORMAT inside a native hook.

    Reads the native payload, runs WORDS as hooks of the format are run, and gives what they say as a native reply.
    hookline import writes hooks that do so. By hand, the payload is read from stdin and the reply is printed.

    Exits with 0 when the program could answer, and otherwise with 1 or the program's own status.
    """
    event = read_event(_read_payload(os.environ.get(_PAYLOAD_VARIABLE)))
    reply_file = os.environ.get(_REPLY_VARIABLE)
    hook_id = hook_id or os.environ.get(_ID_VARIABLE) or "bridge"
    surplus = take_surplus()
    program = Program(
        format=format_,
        words=words,
        hook_id=hook_id,
        kind=kind,
        timeout_s=timeout_s,
        matcher=matcher,
        env=surplus.env,
        may_block=not no_block,
        is_heard=not no_reply,
    )

    # The module of the format alone, since a bridge is started for each run of a hook.
    way: Way = import_module(f"hookline.bridge.{format_}").WAY

    async def run() -> Said | None:
        task = asyncio.current_task()
        assert task is not None
        with contextlib.suppress(NotImplementedError):  # Windows has no such signals
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            return await run_program(way, program, event, surplus)
        except asyncio.CancelledError:  # the time of the hook around is up
            return None

    said = asyncio.run(run())
    return _EXIT_TERMINATED if said is None else _tell(said, event, reply_file, program)


def _tell(said: Said, event: Event, reply_file: str | None, program: Program) -> int:
    """Hand on what the program wrote and what it said; returns the exit status."""
    if said.run is not None:
        sys.stderr.write(said.run.stderr)
        # Elsewhere stdout is the reply, which is read already; by hand, stdout is for the reply alone.
        stdout = sys.stderr if reply_file is None else sys.stdout
        stdout.write(said.run.stdout if program.format == "chrys" else "")
    for note in said.notes:
        say(f"hookline bridge: ignored: {note}", to_stderr=True)
    if isinstance(said.outcome, Failure):
        say(f"hookline bridge: {said.outcome.message}", to_stderr=True)
        status = None if said.run is None else said.run.exit_code
        return status if status not in (None, 0, _BLOCKING_EXIT_CODE) else 1
    if not program.is_heard:
        return 0
    reply = to_reply(said.outcome)
    if reply != {"action": "allow"}:
        _write_reply(_to_json(reply), reply_file)
    elif reply_file is None:
        say(f"no objection to {event.name}", to_stderr=True)
    return 0


def _read_payload(name: str | None) -> dict[str, Any]:
    try:
        data = json.loads(sys.stdin.buffer.read() if name is None else Path(name).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise PayloadError(f"the payload cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise PayloadError(f"the payload must be a JSON object, not {type(data).__name__}")
    return data


def _to_json(reply: dict[str, Any]) -> str:
    """A reply that is no longer than what it was made from, unless it holds half a character."""
    text = json.dumps(reply, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(reply)
    return text


def _write_reply(text: str, name: str | None) -> None:
    if name is None:
        sys.stdout.buffer.write(f"{text}\n".encode())
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"the reply cannot be written: {error.strerror}") from error
