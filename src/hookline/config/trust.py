"""
Whether a project's hooks may run: only as the content that the user has trusted.

The record of that content is in the user's home, under the project's real path; nothing in a repository can
grant trust. What this gives is detection of changed content, not a sandbox.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from hookline.config.snapshot import Snapshot
from hookline.config.store import name_for, read_json, write_json
from hookline.errors import ConfigError
from hookline.hook import Hook

TrustState = Literal["new", "trusted", "changed"]
TrustMode = Literal["recorded", "all", "none"]
Trust = TrustMode | Collection[str]
"""How a project's hooks are judged: by the user's record, always or never trusted, or by digests."""

_MODES = ("recorded", "all", "none")


class GuardedEvent(Struct, frozen=True, kw_only=True):
    """A gate event and the hook that guards it."""

    event: str
    hook_id: str


class TrustRecord(Struct, frozen=True, kw_only=True):
    """What a user trusted: the digest of each covered file, and the events that content guards."""

    digests: dict[str, str]
    guards: tuple[GuardedEvent, ...] = ()


class Judgement(Struct, frozen=True, kw_only=True):
    """
    How a project's hooks stand.

    For `changed`, `changes` names what differs and `guards` the events that stay closed because of it.
    """

    state: TrustState
    changes: tuple[str, ...] = ()
    guards: tuple[GuardedEvent, ...] = ()


def check_trust(trust: Trust) -> Trust:
    """The value itself; raises `ConfigError` when it means nothing."""
    is_known = trust in _MODES if isinstance(trust, str) else _are_digests(trust)
    if not is_known:
        raise ConfigError(f"unknown trust {trust!r}; it must be one of {', '.join(_MODES)}, or a list of digests")
    return trust


def _are_digests(trust: object) -> bool:
    return isinstance(trust, Collection) and all(isinstance(digest, str) for digest in trust)


def find_guards(hooks: Iterable[Hook]) -> tuple[GuardedEvent, ...]:
    """The gate events that these hooks keep closed when they cannot answer."""
    return tuple(GuardedEvent(event=hook.event, hook_id=hook.id) for hook in hooks if hook.enabled and hook.is_guard)


class TrustStore:
    """The records of one user, one file for each project."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "trust"

    def get(self, project: Path) -> TrustRecord | None:
        """The record of a project, None when it was never trusted."""
        data = read_json(self.path_of(project))
        if data is None or data.get("project") != os.path.realpath(project):
            return None
        digests, guards = data.get("files"), data.get("guards")
        if not isinstance(digests, dict) or not isinstance(guards, list):
            return None
        return TrustRecord(digests={str(k): str(v) for k, v in digests.items()}, guards=read_guards(guards))

    def put(self, snapshot: Snapshot, guards: Sequence[GuardedEvent]) -> None:
        """Record content as trusted; raises `OSError` when the home cannot be written."""
        data = {
            "project": os.path.realpath(snapshot.project),
            "recorded_at": datetime.datetime.now(datetime.UTC).isoformat(),
            "digest": snapshot.digest,
            "files": snapshot.digests,
            "guards": write_guards(guards),
        }
        write_json(self.path_of(snapshot.project), data)

    def remove(self, project: Path) -> bool:
        """Forget a project; tells whether there was a record."""
        try:
            self.path_of(project).unlink()
        except FileNotFoundError:
            return False
        return True

    def path_of(self, project: Path) -> Path:
        """Where the record of a project is, or would be."""
        return self._folder / name_for(project)


def judge(snapshot: Snapshot, record: TrustRecord | None) -> Judgement:
    """Compare the content there is with the content that was trusted."""
    if record is None:
        return Judgement(state="new")
    found = snapshot.digests
    changes = [name for name, digest in record.digests.items() if found.get(name) != digest]
    changes += [name for name in found if name not in record.digests]
    if not changes:
        return Judgement(state="trusted")
    # A folder is listed after what changed in it.
    changes.sort(key=lambda name: (record.digests.get(name, found.get(name, "")).startswith("folder:"), name))
    return Judgement(state="changed", changes=tuple(changes), guards=record.guards)


def write_guards(guards: Sequence[GuardedEvent]) -> list[dict[str, str]]:
    """Guarded events as JSON data."""
    return [{"event": guard.event, "hook": guard.hook_id} for guard in guards]


def read_guards(data: Iterable[Any]) -> tuple[GuardedEvent, ...]:
    """Guarded events from JSON data."""
    return tuple(
        GuardedEvent(event=str(item.get("event")), hook_id=str(item.get("hook")))
        for item in data
        if isinstance(item, dict)
    )
