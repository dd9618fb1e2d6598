"""`hookline fire`: report an event, run its hooks, print the decision."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from hookline.cli.event_options import build_event, event_options
from hookline.cli.listing import Listing, make_listing
from hookline.cli.options import broken_config_option, home_option, json_option, load, project_option, silence_log
from hookline.cli.person import find_ui, keep_apart
from hookline.cli.screen import say, say_json
from hookline.cli.timeline import decision_to_json, show_decision
from hookline.config.layers import BrokenConfig
from hookline.engine import Engine
from hookline.events import Event
from hookline.outcome import Decision

EXIT_CODES = {"allow": 0, "block": 2, "ask": 3}


@click.command("fire")
@click.argument("event", metavar="EVENT")
@event_options
@project_option
@home_option
@broken_config_option
@json_option
def command(
    event: str, project: Path, home: Path | None, broken_config: BrokenConfig, as_json: bool, **options: Any
) -> int:
    """
    Report EVENT, run the hooks it concerns, wait for all of them, and print what they decide.

    Loads the modules. Their handlers may ask you questions where this is a terminal and the extra ui is installed.

    Exits with 0 when no hook objects, 2 when one blocks, 3 when one wants a human asked, and 1 when Hookline
    itself could not do its work. See hookline events for the names and fields.
    """
    silence_log()
    parsed, unknown = build_event(event, project, **options)
    layers = load(project, home, broken_config=broken_config, remember_guards=True)
    with keep_apart(as_json), Engine(layers, ui=None if as_json else find_ui()) as engine:
        engine.load_modules()
        decision = asyncio.run(_fire(engine, parsed))
    warnings = [str(problem) for problem in engine.problems]
    warnings += unknown
    warnings += decision.warnings
    if as_json:
        say_json(decision_to_json(decision, parsed, warnings))
    else:
        show_decision(decision, parsed, left_out=_describe_left_out(make_listing(layers, project, home), event))
    for warning in warnings:
        if warning == decision.reason and not as_json:
            continue  # shown as the decision already
        say(f"hookline: {warning}", to_stderr=True)
    return EXIT_CODES[decision.verdict]


def _describe_left_out(listing: Listing, event: str) -> str:
    """Which hooks for this event were not asked since their project's do not count, in a word."""
    left_out = [
        (found.hook.id, found.why_not)
        for found in listing.hooks
        if found.why_not and not found.is_broken and found.hook.event == event and found.hook.enabled
    ]
    if not left_out:
        return ""
    names = ", ".join(hook_id for hook_id, _ in left_out)
    return f"not asked, since this project's hooks are {left_out[0][1]}: {names}"


async def _fire(engine: Engine, event: Event) -> Decision:
    """Fire and wait as an agent would: the end of a session has its grace, everything else runs to its end."""
    decision = await engine.fire(event)
    if event.name == "session_end":
        await engine.drain_session(event.session_id)
    return await engine.settle(decision)
