"""`hookline list`: all hooks in the order in which they run."""

from __future__ import annotations

from pathlib import Path

import click

from hookline.catalogue import describe_action, describe_hooks, describe_invalid
from hookline.cli.describe import describe_layer, describe_match
from hookline.cli.listing import ListedHook, Listing, describe_left_out, listing_to_json, make_listing
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
    What a module registers is read from its source; where that does not tell everything, it says so.
    """
    layers = load(project, home)
    foreign = find_foreign_files(layers.project, layers)
    listing = make_listing(layers, project, home)
    if as_json:
        say_json(
            {
                "hooks": describe_hooks(listing.hooks, layers),
                "invalid": describe_invalid([*layers.problems, *listing.problems]),
                **listing_to_json(listing),
                "closed_events": [
                    {"event": closure.event, "hook": closure.hook_id, "reason": closure.reason}
                    for closure in layers.closures
                ],
                "problems": [problem_to_json(problem) for problem in (*layers.problems, *listing.problems)],
                "disabled_dialects": [{"dialect": file.dialect.name, "file": str(file.path)} for file in foreign],
            }
        )
        return
    _show(layers, listing)
    for file in foreign:
        say(f"not read: {file.path} (enable the dialect {file.dialect.name}: see hookline check)", to_stderr=True)


def _show(layers: Layers, listing: Listing) -> None:
    titles = ("HOOK", "EVENT", "MODE", "ON ERROR", "LAYER", "STATE", "MATCH", "RUNS")
    rows = [
        (
            paint(found.hook.id, "cyan"),
            found.hook.event,
            found.hook.execution.mode,
            found.hook.execution.on_error,
            describe_layer(found.hook),
            _describe_state(found),
            shorten(describe_match(found.hook.match), 60),
            shorten(describe_action(found.hook), 60),
        )
        for found in listing.hooks
    ]
    if rows:
        for line in align([[paint(title, bold=True) for title in titles], *rows]):
            say(line)
    elif not layers.files and not listing.modules and not layers.folders.loaded.invalid:
        say("no hooks file was found; hookline init writes one")
    for closure in layers.closures:
        say(paint(f"closed: {closure.event}: {closure.reason}", "red"), to_stderr=True)
    for text in describe_left_out(listing):
        say(text, to_stderr=True)
    for problem in (*layers.problems, *listing.problems):
        for line in show_problem(problem):
            say(line, to_stderr=True)


def _describe_state(found: ListedHook) -> str:
    if found.why_not:
        return paint(found.why_not, "yellow")
    return "on" if found.hook.enabled else paint("off", dim=True)
