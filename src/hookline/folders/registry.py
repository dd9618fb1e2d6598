"""
The hook folders of a layer, indexed: who concerns an event, and what a hooks page shows.

An index never changes; a reload builds a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookline.folders.load import Loaded
from hookline.folders.spec import FolderSpec
from hookline.folders.state import EMPTY_STATE, State, encode_run, format_time

Matched = tuple[tuple[FolderSpec, ...], tuple[FolderSpec, ...]]
"""The hooks that match, those with mode sync first and then those with mode async."""

# Subjects are the names of tools and the like; a model that makes them up must not fill the memory.
_MOST_REMEMBERED = 1000
_LONGEST_REMEMBERED = 200


class FolderRegistry:
    """An index over what `load_folders` found; it remembers the answers to the last few subjects."""

    __slots__ = ("_by_event", "_by_id", "_invalid", "_remembered", "specs")

    def __init__(self, loaded: Loaded) -> None:
        self.specs = loaded.specs
        self._by_id = {spec.id: spec for spec in loaded.specs}
        self._invalid = dict(loaded.invalid)
        self._remembered: dict[tuple[str, str], Matched] = {}
        self._by_event: dict[str, list[FolderSpec]] = {}
        for spec in loaded.specs:
            if spec.enabled:
                self._by_event.setdefault(spec.event, []).append(spec)

    def has(self, event: str) -> bool:
        """Whether any enabled hook is for this folder event."""
        return event in self._by_event

    def match(self, event: str, subject: str) -> Matched:
        """The enabled hooks for a folder event whose matcher accepts the subject, each mode in load order."""
        if event not in self._by_event:
            return (), ()
        found = self._remembered.get((event, subject))
        if found is None:
            found = self._match(event, subject)
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            if len(subject) <= _LONGEST_REMEMBERED:
                self._remembered[event, subject] = found
        return found

    def _match(self, event: str, subject: str) -> Matched:
        found = [spec for spec in self._by_event[event] if spec.matcher.accepts(subject)]
        return (
            tuple(spec for spec in found if spec.mode == "sync"),
            tuple(spec for spec in found if spec.mode == "async"),
        )

    def spec_by_id(self, hook_id: str) -> FolderSpec | None:
        """The valid spec with this id, whether enabled or not; None when there is none."""
        return self._by_id.get(hook_id)

    @property
    def invalid(self) -> dict[str, str]:
        """A copy of what could not be loaded, and why."""
        return dict(self._invalid)

    def snapshot(self, states: Mapping[str, State]) -> list[dict[str, Any]]:
        """Every valid hook as a hooks page shows it, sorted by id; `states` are by id."""
        return [
            describe_spec(spec, states.get(spec.id, EMPTY_STATE))
            for spec in sorted(self.specs, key=lambda spec: spec.id.encode())
        ]


def describe_spec(spec: FolderSpec, state: State) -> dict[str, Any]:
    """A hook and its history as JSON data, with mode, timeout and permissions as they apply."""
    found: dict[str, Any] = {
        "id": spec.id,
        "name": spec.name,
        "enabled": spec.enabled,
        "trigger": {"event": spec.event},
        "mode": spec.mode,
        "blocking": spec.blocking,
    }
    if spec.matcher.text:
        found["trigger"]["matcher"] = spec.matcher.text
    optional = {
        "command": spec.command,
        "workflow_id": spec.workflow_id,
        "workflow_inline": bool(spec.workflow),
        "prompt": spec.prompt,
        "cwd": spec.cwd,
    }
    found |= {key: value for key, value in optional.items() if value}
    found["timeout"] = spec.timeout
    if spec.description:
        found["description"] = spec.description
    found["permissions"] = {"auto_write": spec.auto_write, "auto_dirs": spec.auto_dirs}
    found["created_by"] = spec.created_by
    found["last_fired_at"] = format_time(state.last_fired_at)
    if state.recent_runs:
        found["recent_runs"] = [encode_run(run) for run in state.recent_runs]
    return found
