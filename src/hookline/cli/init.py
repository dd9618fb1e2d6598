"""`hookline init`: a first hooks file, with a guard that works."""

from __future__ import annotations

import os
from pathlib import Path

import click

from hookline.cli.options import home_option, project_option
from hookline.cli.screen import paint, say
from hookline.config.locate import default_home, hook_file_candidates
from hookline.dialects.native import NATIVE
from hookline.errors import ConfigError

TEMPLATE = r"""# Hooks of Hookline. Look for mistakes: hookline check. See what is loaded: hookline list.
version: 1

hooks:
  # A guard: it runs before each shell command that matches, and the agent waits for it.
  # Exit code 2 blocks the command; what it writes to stderr is the reason the model is told.
  - id: no-rm-rf
    description: Refuse recursive forced deletion.
    event: before_tool_call
    match:
      tool_kind: shell
      args:
        command: {regex: '\brm\b(?=[^;&|]*\s(-\w*[rR]|--recursive))(?=[^;&|]*\s(-\w*f|--force))'}
    run:
      type: shell
      shell: echo "rm -rf is not allowed here; remove single files instead" >&2; exit 2
    execution:
      mode: blocking
      timeout_seconds: 5
      on_error: block # if the guard itself cannot run, the command does not run either

  # A note to yourself: it runs after each turn, and the agent does not wait for it.
  - id: turn-log
    description: Append a line to a log after each turn.
    event: after_turn
    run:
      type: shell
      shell: echo "a turn has ended" >> "${TMPDIR:-/tmp}/hookline-turns.log"
    execution:
      mode: async
"""


@click.command("init")
@click.option("--user", is_flag=True, help="Write your own hooks file instead of the project's.")
@project_option
@home_option
def command(user: bool, project: Path, home: Path | None) -> None:
    """Write a first hooks file, with a guard that works. Never overwrites one."""
    base = (home or default_home()) if user else project / NATIVE.folder
    path = hook_file_candidates(base.absolute(), NATIVE)[0]
    for candidate in hook_file_candidates(base.absolute(), NATIVE):
        if os.path.lexists(candidate):
            raise ConfigError(f"{candidate} is there already; edit it, or move it away")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    say(f"wrote {paint(str(path), bold=True)}")
    if not user:
        say("A project's hooks are code that comes with it, so they run only once you trust them:")
        say("  hookline trust")
    say("Try the guard:")
    say("  hookline fire before_tool_call --tool bash --kind shell --arg 'command=rm -rf build'")
