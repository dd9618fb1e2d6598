"""Hooks that write down every event they are told of, and reading that again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from entries import shell_hook
from hookline import EVENT_TYPES
from hookline.cli.trust import record_trust, snapshot_project
from hookline.config.layers import load_layers
from hookline.config.trust import TrustStore

LOG = "events.jsonl"


def record_all() -> list[dict[str, Any]]:
    """One blocking hook for each event; appends the payload as a line to a file in the session's directory."""
    # In one write, so that hooks side by side do not mix their lines.
    text = f'line=$(cat); printf "%s\\n" "$line" >> {LOG}'
    return [shell_hook(f"record {row.name}", text, event=row.name) for row in EVENT_TYPES]


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The payloads that were written down, in order; a line that is still being written is left out."""
    path = folder / LOG
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"] for event in events]


def trust_project(project: Path, home: Path) -> None:
    """Record that the user trusts a project's hooks as they are now."""
    layers = load_layers(project, home=home, trust="all")
    record_trust(TrustStore(home), layers, snapshot_project(layers))
