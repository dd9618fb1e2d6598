"""`hookline list`: all hooks in the order in which they run."""

from __future__ import annotations

from pathlib import Path

import click

from hookline.catalogue import Listed, describe_action, describe_hooks, describe_invalid
from hookline.cli.describe import describe_layer, describe_match
from hookline.cli.options import home_option, json_option, load, project_option
from hookline.cli.screen import align, paint, problem_to_json, say, say_json, shorten, show_problem
from hookline.config.layers import Layers, find_foreign_files


@click.command("list")
@project_option
@home_option
@json_option
def command(project: Path, home: Path | None, as_json: bool) -> None:
    """
    Show all hooks of the project and of yours, in the order in which they run, and what was left out.

    Runs nothing, so it shows a project's hooks whether you trust them or not; those that would not run say so.
    """
    layers = load(project, home)
    foreign = find_foreign_files(layers.project, layers)
    hooks = [Listed(hook=hook, why_not=loaded.why_not) for loaded in layers.files for hook in loaded.reading.hooks]
    hooks += [Listed(hook=hook) for hook in layers.folders.hooks]
    if as_json:
        say_json(
            {
                "hooks": describe_hooks(hooks, layers),
                "invalid": describe_invalid(layers.problems),
                "closed_events": [
                    {"event": closure.event, "hook": closure.hook_id, "reason": closure.reason}
                    for closure in layers.closures
                ],
                "problems": [problem_to_json(problem) for problem in layers.problems],
                "disabled_dialects": [{"dialect": file.dialect.name, "file": str(file.path)} for file in foreign],
            }
        )
        return
    _show(layers, hooks)
    for file in foreign:
        say(f"not read: {file.path} (enable the dialect {file.dialect.name}: see hookline check)", to_stderr=True)


def _show(layers: Layers, hooks: list[Listed]) -> None:
    titles = ("HOOK", "EVENT", "MODE", "ON ERROR", "LAYER", "STATE", "MATCH", "RUNS")
    rows = [
        (
            paint(listed.hook.id, "cyan"),
            listed.hook.event,
            listed.hook.execution.mode,
            listed.hook.execution.on_error,
            describe_layer(listed.hook),
            _describe_state(listed),
            shorten(describe_match(listed.hook.match), 60),
            shorten(describe_action(listed.hook), 60),
        )
        for listed in hooks
    ]
    if rows:
        for line in align([[paint(title, bold=True) for title in titles], *rows]):
            say(line)
    elif not layers.files and not layers.folders.loaded.invalid:
        say("no hooks file was found; hookline init writes one")
    for closure in layers.closures:
        say(paint(f"closed: {closure.event}: {closure.reason}", "red"), to_stderr=True)
    for problem in layers.problems:
        for line in show_problem(problem):
            say(line, to_stderr=True)


def _describe_state(listed: Listed) -> str:
    if listed.why_not:
        return paint(listed.why_not, "yellow")
    return "on" if listed.hook.enabled else paint("off", dim=True)
