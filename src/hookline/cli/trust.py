"""`hookline trust`: allow a project's hooks to run, as they are now."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from hookline.catalogue import describe_action
from hookline.cli.options import home_option, load, resolve_home
from hookline.cli.screen import paint, reveal, say, show_problem
from hookline.config.layers import Layers
from hookline.config.project import project_guards
from hookline.config.snapshot import Snapshot, UncoverableError
from hookline.config.trust import TrustStore, judge
from hookline.dialects.table import get_dialect
from hookline.errors import ConfigError
from hookline.handlers.reading import ModuleReading, read_module
from hookline.runners.environment import DEPTH_VARIABLE


@click.command("trust")
@click.argument("project", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@home_option
def command(project: Path, home: Path | None) -> int:
    """
    Show what hooks of a project (by default: here) would run, and let them run as they are now.

    Needs a terminal and a person at it: an agent can type commands too. When anything of the content changes,
    nothing of it runs until you look again. This detects changes; it is no sandbox.
    """
    if os.environ.get(DEPTH_VARIABLE, "0") != "0":
        raise ConfigError("hookline trust does not work inside a hook: trust is for a person to give")
    layers = load(project, home, trust="all")
    if not layers.parts.paths:
        is_known = TrustStore(resolve_home(home)).get(layers.project) is not None
        hint = "; what you trusted is gone: hookline untrust does without it" if is_known else ""
        raise ConfigError(f"{layers.project} has no hooks{hint}")
    store = TrustStore(resolve_home(home))
    snapshot = snapshot_project(layers)
    record = store.get(layers.project)
    judgement = judge(snapshot, record)
    if judgement.state == "trusted":
        say(f"{layers.project} is trusted already, as it is now")
        return 0
    _show(layers, snapshot, judgement.changes)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("hookline trust asks a person: run it yourself in a terminal")
    if not click.confirm("Let these hooks run with your permissions?", default=False):
        say("nothing was trusted")
        return 1
    record_trust(store, layers, snapshot)
    say(paint(f"{layers.project} is trusted as it is now", "green"))
    return 0


def snapshot_project(layers: Layers) -> Snapshot:
    """The content of a project's hooks; raises `ConfigError` when it cannot be covered."""
    dialects = [get_dialect(name) for name in layers.homes]
    try:
        return layers.parts.take_snapshot(layers.project, dialects)
    except (UncoverableError, OSError) as error:
        raise ConfigError(f"the hooks of {layers.project} cannot be trusted: {error}") from error


def record_trust(store: TrustStore, layers: Layers, snapshot: Snapshot) -> None:
    """Write the record; raises `ConfigError` when the home cannot be written."""
    own = [loaded for loaded in layers.files if loaded.file.layer == "project"]
    try:
        store.put(snapshot, project_guards(own))
    except OSError as error:
        raise ConfigError(f"the trust cannot be recorded: {error}") from error


def _show_module(reading: ModuleReading) -> None:
    say(f"  {paint('module', 'cyan')} {reveal(str(reading.spec.path))} runs in the agent's own process:")
    for hook in reading.hooks:
        say(f"      {paint(reveal(hook.id), 'cyan')} at {hook.event}")
    for command in reading.commands:
        say(f"      command /{reveal(command.name)}")
    for problem in reading.problems:
        say(f"      {paint(reveal(f'{problem.place}: {problem.message}'), 'yellow')}")


def _show(layers: Layers, snapshot: Snapshot, changes: tuple[str, ...]) -> None:
    say(f"Hooks of {paint(str(layers.project), bold=True)}:")
    hooks = [hook for loaded in layers.files if loaded.file.layer == "project" for hook in loaded.reading.hooks]
    for hook in hooks:
        say(f"  {paint(hook.id, 'cyan')} at {hook.event} runs:")
        for line in reveal(describe_action(hook)).splitlines():
            say(f"      {line}")
        if hook.program.cwd:
            say(f"      in {reveal(hook.program.cwd)}")
        for name, value in hook.program.env.items():
            say(f"      with {reveal(name)}={reveal(value)}")
    for hook in layers.modules.hooks:
        if hook.source.layer == "project":
            say(f"  {paint(hook.id, 'cyan')} at {hook.event} runs:")
            say(f"      {reveal(describe_action(hook))}")
    for spec in layers.modules.specs:
        if spec.layer == "project":
            _show_module(read_module(spec, layers.settings))
    for loaded in layers.files:
        if loaded.file.layer == "project":
            for problem in loaded.reading.problems:
                for line in show_problem(problem):
                    say(line)
    if changes:
        say("Changed since you trusted them:")
        for name in changes:
            say(f"  {paint(name, 'yellow')}")
    files = [name for name, digest in snapshot.digests.items() if not digest.startswith("folder:")]
    say(f"Covered ({snapshot.digest}):")
    for name in files:
        say(f"  {reveal(name)}")
    if snapshot.not_covered:
        say("Not covered, so a change there would not be noticed:")
        for text in snapshot.not_covered:
            say(f"  {paint(text, 'yellow')}")
