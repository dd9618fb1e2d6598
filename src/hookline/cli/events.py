"""`hookline events`: the event table."""

from __future__ import annotations

from typing import Any

import click

from hookline.cli.options import json_option
from hookline.cli.screen import align, paint, say, say_json
from hookline.events import EVENT_TYPES, EventType


@click.command("events")
@json_option
def command(as_json: bool) -> None:
    """
    Show all events: when each happens and what hooks may do on it.

    A gate is an event whose hooks can stop what it announces. Edits name what a blocking hook may change.
    """
    if as_json:
        say_json({"events": [_to_json(row) for row in EVENT_TYPES]})
        return
    header = [paint(word, bold=True) for word in ("EVENT", "SCOPE", "GATE", "EDITS", "FIELDS", "MEANING")]
    rows = [
        (
            paint(row.name, "cyan"),
            row.scope,
            "gate" if row.gate else "",
            _describe_edits(row),
            ", ".join(row.field_names),
            row.meaning,
        )
        for row in EVENT_TYPES
    ]
    for line in align([header, *rows]):
        say(line)


def _describe_edits(row: EventType) -> str:
    return ", ".join(f"{name} ({'/'.join(sorted(rule.operations))})" for name, rule in row.edits.items())


def _to_json(row: EventType) -> dict[str, Any]:
    return {
        "name": row.name,
        "meaning": row.meaning,
        "scope": row.scope,
        "gate": row.gate,
        "fields": list(row.field_names),
        "edits": {name: sorted(rule.operations) for name, rule in row.edits.items()},
    }
