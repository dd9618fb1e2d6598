"""`hookline list`: all hooks in the order in which they run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from hookline.cli.options import home_option, json_option, load, project_option
from hookline.cli.screen import align, paint, problem_to_json, say, say_json, shorten, show_problem
from hookline.config.layers import Layers, find_foreign_files
from hookline.hook import CommandAction, Hook, Match, ScriptAction, ShellAction


@click.command("list")
@project_option
@home_option
@json_option
def command(project: Path, home: Path | None, as_json: bool) -> None:
    """Show all hooks of the project and of yours, in the order in which they run, and what was left out."""
    layers = load(project, home)
    foreign = find_foreign_files(project.absolute(), layers)
    if as_json:
        say_json(
            {
                "hooks": [_to_json(hook) for hook in layers.hooks],
                "closed_events": [{"event": c.event, "reason": c.reason} for c in layers.closures],
                "problems": [problem_to_json(problem) for problem in layers.problems],
                "disabled_dialects": [{"dialect": f.dialect.name, "file": str(f.path)} for f in foreign],
            }
        )
        return
    _show(layers)
    for file in foreign:
        say(f"not read: {file.path} (enable the dialect {file.dialect.name}: see hookline check)", to_stderr=True)


def _show(layers: Layers) -> None:
    header = [paint(word, bold=True) for word in ("HOOK", "EVENT", "MODE", "ON ERROR", "LAYER", "MATCH", "RUNS")]
    rows = [
        (
            paint(hook.id, "cyan") if hook.enabled else paint(f"{hook.id} (disabled)", dim=True),
            hook.event,
            hook.execution.mode,
            hook.execution.on_error,
            _name_layer(hook),
            shorten(_describe_match(hook.match), 60),
            shorten(_describe_action(hook), 60),
        )
        for hook in layers.hooks
    ]
    if rows:
        for line in align([header, *rows]):
            say(line)
    elif not layers.files:
        say("no hooks file was found; hookline init writes one")
    for closure in layers.closures:
        say(paint(f"closed: {closure.event}: {closure.reason}", "red"), to_stderr=True)
    for problem in layers.problems:
        for line in show_problem(problem):
            say(line, to_stderr=True)


def _name_layer(hook: Hook) -> str:
    source = hook.source
    return source.layer if source.dialect == "native" else f"{source.layer}/{source.dialect}"


def _describe_match(match: Match) -> str:
    parts = [f"{name}={value}" for name in ("profile", "tool_kind", "tool_name") if (value := getattr(match, name))]
    if match.profiles:
        parts.append(f"profile in {', '.join(match.profiles)}")
    for name, wanted in match.args.items():
        signs = (("==", wanted.equals), ("contains", wanted.contains), ("~", wanted.regex))
        conditions = [f"{name} {sign} {value!r}" for sign, value in signs if value is not None]
        parts += conditions or [f"{name} given"]
    return ", ".join(parts) or "every one"


def _describe_action(hook: Hook) -> str:
    action = hook.action
    if isinstance(action, ScriptAction):
        return shlex.join([*action.interpreter, str(action.path), *action.args])
    if isinstance(action, CommandAction):
        return shlex.join([*action.argv, *action.args])
    assert isinstance(action, ShellAction)
    return action.text


def _to_json(hook: Hook) -> dict[str, Any]:
    match = hook.match
    return {
        "id": hook.id,
        "event": hook.event,
        "enabled": hook.enabled,
        "description": hook.description,
        "layer": hook.source.layer,
        "dialect": hook.source.dialect,
        "source": str(hook.source.place),
        "match": {
            "profile": match.profile,
            "profiles": list(match.profiles),
            "tool_kind": match.tool_kind,
            "tool_name": match.tool_name,
            "args": {
                name: {"equals": wanted.equals, "contains": wanted.contains, "regex": wanted.regex}
                for name, wanted in match.args.items()
            },
        },
        "runs": _describe_action(hook),
        "mode": hook.execution.mode,
        "timeout_seconds": hook.execution.timeout_s,
        "on_error": hook.execution.on_error,
    }
