"""`hookline events`: the event table, and all about single events."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import click

from hookline.cli.options import json_option
from hookline.cli.screen import align, paint, say, say_json
from hookline.events import EVENT_TYPES, EventType, find_event_types, get_event_type

# What is left of 120 columns beside the others.
_MEANING_WIDTH = 74


@click.command("events")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
def command(names: tuple[str, ...], as_json: bool) -> None:
    """
    Show all events: when each happens and what hooks may do on it.

    A gate is an event whose hooks can stop what it announces. On an event with edits a blocking hook can change or
    add something. With a NAME, which may be one of another format's: its fields, its edits and all its names.
    """
    found = {name for given in names for name in _find_names(given)}
    rows = tuple(row for row in EVENT_TYPES if row.name in found or not names)
    if as_json:
        say_json({"events": [_to_json(row) for row in rows]})
        return
    for line in _show_details(rows) if names else _show_table():
        say(line)


def _find_names(given: str) -> tuple[str, ...]:
    """The names of the events that have the given one in any format. Raises `UnknownEventError`."""
    return tuple(row.name for row in find_event_types(given)) or (get_event_type(given).name,)


def _show_table() -> Iterator[str]:
    cells = [[paint(word, bold=True) for word in ("EVENT", "SCOPE", "GATE", "EDITS", "MEANING")]]
    for row in EVENT_TYPES:
        first, *more = textwrap.wrap(row.meaning, _MEANING_WIDTH)
        marks = ("gate" if row.gate else "", "edits" if row.edits else "")
        cells.append([paint(row.name, "cyan"), row.scope, *marks, first])
        cells += [["", "", "", "", line] for line in more]
    yield from align(cells)
    yield ""
    yield "hookline events NAME shows an event's fields, its edits and its names in other formats."


def _show_details(rows: tuple[EventType, ...]) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number:
            yield ""
        yield "  ".join((paint(row.name, "cyan"), row.scope, *(["gate"] if row.gate else [])))
        yield f"  {row.meaning}"
        yield from align(_list_details(row), indent="  ")


def _list_details(row: EventType) -> Iterator[tuple[str, str]]:
    if row.payload_names:
        yield "fields", ", ".join(row.payload_names)
    for number, (name, rule) in enumerate(row.edits.items()):
        operations = "/".join(sorted(rule.operations))
        yield "" if number else "edits", f"{name} ({operations}); of several, {rule.several}"
    aliases = _list_aliases(row).items()
    if aliases:
        yield "names", ", ".join(f"{alias} in {dialect}" for dialect, alias in aliases)


def _list_aliases(row: EventType) -> dict[str, str]:
    """The event's names in the other formats."""
    return {dialect: alias for dialect, alias in row.aliases.items() if dialect != "native"}


def _to_json(row: EventType) -> dict[str, Any]:
    return {
        "name": row.name,
        "meaning": row.meaning,
        "scope": row.scope,
        "gate": row.gate,
        "fields": list(row.payload_names),
        "edits": {name: sorted(rule.operations) for name, rule in row.edits.items()},
        "aliases": _list_aliases(row),
    }
