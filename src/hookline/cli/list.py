"""`hookline list`: all hooks in the order in which they run."""

from __future__ import annotations

from pathlib import Path

import click

from hookline.cli.describe import describe_action, describe_layer, describe_match, hook_to_json
from hookline.cli.options import home_option, json_option, load, project_option
from hookline.cli.screen import align, paint, problem_to_json, say, say_json, shorten, show_problem
from hookline.config.layers import Layers, find_foreign_files
from hookline.hook import Hook


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
    hooks = [(hook, loaded.is_counted, loaded.why_not) for loaded in layers.files for hook in loaded.reading.hooks]
    if as_json:
        say_json(
            {
                "hooks": [{**hook_to_json(hook), "loaded": is_loaded} for hook, is_loaded, _ in hooks],
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


def _show(layers: Layers, hooks: list[tuple[Hook, bool, str]]) -> None:
    titles = ("HOOK", "EVENT", "MODE", "ON ERROR", "LAYER", "STATE", "MATCH", "RUNS")
    rows = [
        (
            paint(hook.id, "cyan"),
            hook.event,
            hook.execution.mode,
            hook.execution.on_error,
            describe_layer(hook),
            paint(why_not, "yellow") if not is_loaded else "on" if hook.enabled else paint("off", dim=True),
            shorten(describe_match(hook.match), 60),
            shorten(describe_action(hook), 60),
        )
        for hook, is_loaded, why_not in hooks
    ]
    if rows:
        for line in align([[paint(title, bold=True) for title in titles], *rows]):
            say(line)
    elif not layers.files:
        say("no hooks file was found; hookline init writes one")
    for closure in layers.closures:
        say(paint(f"closed: {closure.event}: {closure.reason}", "red"), to_stderr=True)
    for problem in layers.problems:
        for line in show_problem(problem):
            say(line, to_stderr=True)
