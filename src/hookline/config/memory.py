"""
What the last good version of a hooks file or folder guarded, remembered for the day it cannot be read.

A file that is no YAML or JSON any more says nothing about its guards; without this memory a typo would open them.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from hookline.config.store import name_for, read_json, write_json
from hookline.config.trust import GuardedEvent, read_guards, write_guards
from hookline.registry import Closure

logger = logging.getLogger("hookline")


class GuardMemory:
    """The memory of one user, one file for each hooks file."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "hooks" / "memory"

    def recall(self, path: Path) -> tuple[GuardedEvent, ...]:
        """The events that the file guarded when it was last read."""
        data = read_json(self._file_for(path)) or {}
        guards = data.get("guards")
        return read_guards(guards) if isinstance(guards, list) else ()

    def recall_dialects(self, path: Path) -> tuple[str, ...]:
        """The dialects that the file named when it was last read."""
        data = read_json(self._file_for(path)) or {}
        names = data.get("dialects")
        return tuple(str(name) for name in names) if isinstance(names, list) else ()

    def recall_folder(self, folder: Path) -> tuple[GuardedEvent, ...]:
        """The events that all files right in a folder guarded when they were last read."""
        real = os.path.realpath(folder)
        kept = [read_json(path) or {} for path in sorted(self._folder.glob("*.json"))]
        inside = [data for data in kept if os.path.dirname(str(data.get("file", ""))) == real]  # noqa: PTH120 - a text
        return tuple(guard for data in inside for guard in read_guards(data.get("guards") or ()))

    def remember(self, path: Path, guards: tuple[GuardedEvent, ...], dialects: tuple[str, ...] = ()) -> None:
        """Keep what the file guards now, and the dialects it names; nothing is written when nothing is new."""
        if guards == self.recall(path) and dialects == self.recall_dialects(path):
            return
        try:
            write_json(
                self._file_for(path),
                {"file": os.path.realpath(path), "guards": write_guards(guards), "dialects": list(dialects)},
            )
        except OSError as error:
            logger.warning("what %s guards could not be remembered: %s", path, error)

    def recall_folders(self, path: Path) -> dict[str, tuple[GuardedEvent, ...]]:
        """The events that each hook folder in `path` guarded when it was last read, by the folder's name."""
        folders = (read_json(self._file_for(path)) or {}).get("folders")
        if not isinstance(folders, dict):
            return {}
        return {name: read_guards(guards) for name, guards in folders.items() if isinstance(guards, list)}

    def remember_folders(self, path: Path, guards: dict[str, tuple[GuardedEvent, ...]]) -> None:
        """Keep what the hook folders in `path` guard now; nothing is written when nothing is new."""
        if guards == self.recall_folders(path):
            return
        folders = {name: write_guards(found) for name, found in guards.items()}
        try:
            write_json(self._file_for(path), {"file": os.path.realpath(path), "folders": folders})
        except OSError as error:
            logger.warning("what the hooks in %s guard could not be remembered: %s", path, error)

    def _file_for(self, path: Path) -> Path:
        """By where the file is listed: what stands in its place may be a link by now."""
        return self._folder / name_for(path.parent, path.name)


def close_module(path: Path, why: str, home: Path) -> list[Closure]:
    """The gates that a module guarded when it could still be loaded, to be kept closed."""
    return _close(GuardMemory(home).recall(path), f"the module {path}", why)


def close_folder(folder: Path, home: Path) -> list[Closure]:
    """The gates that the modules of a folder guarded when it could still be read, to be kept closed."""
    return _close(GuardMemory(home).recall_folder(folder), f"a module in {folder}", "the folder cannot be read")


def _close(guards: tuple[GuardedEvent, ...], what: str, why: str) -> list[Closure]:
    return [
        Closure(
            event=guard.event,
            hook_id=guard.hook_id,
            reason=(
                f"{guard.event} was guarded by hook {guard.hook_id!r} of {what}, which cannot be loaded now ({why}): "
                f"mend it, take it out, or pass --broken-config open for one run without it"
            ),
        )
        for guard in guards
    ]
