"""`hookline explain`: for each hook of an event, whether it would run, and if not, why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from hookline.cli.describe import describe_layer
from hookline.cli.event_options import build_event, event_options
from hookline.cli.listing import ListedHook, Listing, find_unread, make_listing
from hookline.cli.options import home_option, json_option, load, project_option
from hookline.cli.screen import align, paint, reveal, say, say_json, shorten
from hookline.cli.timeline import describe_event
from hookline.dialects.table import get_dialect
from hookline.events import Event
from hookline.hook import Hook
from hookline.match import Search, UnreadableValueError, compile_match, find_mismatch
from hookline.matcher import Matcher, SearchError
from hookline.runners.depth import find_stop_reason, read_depth


class _Explanation(Struct, frozen=True, kw_only=True):
    hook: Hook
    why_not: str | None


@click.command("explain")
@click.argument("event", metavar="EVENT")
@event_options
@project_option
@home_option
@json_option
def command(event: str, project: Path, home: Path | None, as_json: bool, **options: Any) -> None:
    """
    Say for each hook of EVENT whether it would run, or the first condition that fails and the values compared.

    Runs nothing. The event is taken as it is given: what an earlier hook would change of it is not known.
    """
    parsed, warnings = build_event(event, project, **options)
    layers = load(project, home)
    closures = [closure for closure in layers.closures if closure.event == event]
    stopped = find_stop_reason(read_depth(), layers.settings) or (closures and "the event is closed") or None
    listing = make_listing(layers, project, home)
    explanations = asyncio.run(_explain(listing, parsed, stopped))
    warnings += [str(problem) for problem in (*layers.problems, *listing.problems)]
    if as_json:
        say_json(
            {
                "event": event,
                "closed": [closure.reason for closure in closures],
                "hooks": [
                    {
                        "hook": found.hook.id,
                        "layer": found.hook.source.layer,
                        "source": str(found.hook.source.place),
                        "would_run": found.why_not is None,
                        "why_not": found.why_not,
                    }
                    for found in explanations
                ],
                "unread_modules": [
                    {"module": str(module.reading.spec.path), "gaps": list(module.reading.gaps)}
                    for module in find_unread(listing)
                ],
                "warnings": warnings,
            }
        )
        return
    _show(parsed, explanations)
    for closure in closures:
        say(paint(f"  closed: {closure.reason}", "red"))
    for warning in warnings:
        say(f"hookline: {warning}", to_stderr=True)


async def _explain(listing: Listing, event: Event, stopped: str | None) -> list[_Explanation]:
    matcher = Matcher()
    try:
        return [
            _Explanation(
                hook=hook,
                why_not=await _find_why_not(
                    hook, why_not or get_dialect(hook.source.dialect).find_silence(event) or stopped, event, matcher
                ),
            )
            for hook, why_not in _hooks_of(listing, event.name)
        ]
    finally:
        matcher.close()


def _hooks_of(listing: Listing, event_name: str) -> Iterable[tuple[Hook, str]]:
    for found in listing.hooks:
        if found.hook.event == event_name:
            yield found.hook, _describe_obstacle(found)


def _describe_obstacle(found: ListedHook) -> str:
    if found.is_broken:
        return found.why_not
    off = "" if found.hook.enabled else "it is disabled"
    return f"its project's hooks are not loaded: {found.why_not}" if found.why_not else off


async def _find_why_not(hook: Hook, why_not: str | None, event: Event, matcher: Matcher) -> str | None:
    if why_not:
        return why_not
    compiled = compile_match(hook.match)
    try:
        mismatch = find_mismatch(compiled, event)
        if mismatch is not None:
            return mismatch
        found = compiled.test(event)
        for search in found if isinstance(found, tuple) else ():
            if isinstance(search, Search) and not await matcher.search(search):
                shown = shorten(search.subject)
                return f"argument {search.name!r} must match '{search.pattern.text}'; it is {shown!r}"
    except (UnreadableValueError, SearchError) as error:
        return f"its match has no answer, which counts as a failure of the hook: {error}"
    return None


def _show(event: Event, explanations: list[_Explanation]) -> None:
    say(f"{paint(event.name, 'cyan', bold=True)}  {shorten(describe_event(event), 200)}".rstrip())
    rows = [
        (
            describe_layer(found.hook),
            found.hook.id,
            paint("would run", "green") if found.why_not is None else paint("would not run", "yellow"),
            reveal(found.why_not or ""),
        )
        for found in explanations
    ]
    for line in align(rows, indent="  "):
        say(line)
    if not rows:
        say("  no hook is for this event")
