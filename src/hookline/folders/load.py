"""
Reading a folder of hook folders: each sub-folder with a `hook.json` is one hook.

A folder that cannot be read or is not valid is reported and disturbs no other.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

from msgspec import Struct, field

from hookline.folders.json_text import JsonError
from hookline.folders.spec import SPEC_FILE, FolderSpec, SpecError, find_place, parse_spec
from hookline.private import read_regular
from hookline.problem import Place, Problem, Severity

MAX_SPEC_BYTES = 4 * 1024 * 1024
_LONGEST_REMEMBERED = 16 * 1024


class BrokenGuard(Struct, frozen=True, kw_only=True):
    """An enabled guard that could not be loaded: the folder event it was to guard, and why it does not."""

    event: str
    hook_id: str
    reason: str


class Loaded(Struct, frozen=True, kw_only=True):
    """
    What a hooks folder holds.

    `specs` stand in the order in which their hooks are matched. `invalid` has one text for each id, or for a
    folder's name where there is no id to go by; `problems` says the same, with places.
    """

    specs: tuple[FolderSpec, ...] = ()
    invalid: dict[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    broken_guards: tuple[BrokenGuard, ...] = ()


def load_folders(hooks_dir: Path | None) -> Loaded:
    """
    Read every hook folder, in the byte order of their names.

    Links to folders are not followed. A hooks folder that is not there holds no hooks; without one (None) neither.
    """
    if hooks_dir is None:
        return Loaded()
    reader = _Reader(hooks_dir)
    try:
        with os.scandir(hooks_dir) as entries:
            found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
    except (FileNotFoundError, NotADirectoryError):
        return Loaded()
    except OSError as error:
        message = f"the hooks folder cannot be read, so none of its hooks is loaded: {error.strerror}"
        reader.add("unreadable-file", message, hooks_dir)
        return reader.finish()
    for entry in found:
        reader.take(entry)
    return reader.finish()


class _Reader:
    """Collects what one pass over the folders finds."""

    def __init__(self, hooks_dir: Path) -> None:
        self._hooks_dir = hooks_dir
        self._specs: dict[str, FolderSpec] = {}
        self._invalid: dict[str, str] = {}
        self._problems: list[Problem] = []
        self._broken_guards: list[BrokenGuard] = []

    def finish(self) -> Loaded:
        return Loaded(
            specs=tuple(self._specs.values()),
            invalid=self._invalid,
            problems=tuple(self._problems),
            broken_guards=tuple(self._broken_guards),
        )

    def take(self, entry: os.DirEntry[str]) -> None:
        """Read one entry of the hooks folder."""
        path = self._hooks_dir.joinpath(entry.name, SPEC_FILE)
        if entry.is_symlink():
            if os.path.lexists(path):
                message = f"{entry.name!r} is a link to a folder, which is not followed"
                cure = "move the folder here, and let only its hook.json be a link"
                self.add("folder-link", message, path.parent, severity="warning", cure=cure)
            return
        if not entry.is_dir(follow_symlinks=False) or not os.path.lexists(path):
            return
        try:
            data = read_spec_bytes(path)
        except OSError as error:
            self._refuse(entry.name, f"read: {error.strerror or error}", path, code="unreadable-file")
            return
        # Text that is not UTF-8 is read as Go reads it.
        self._take_text(data.decode("utf-8", "replace"), entry.name, path)

    def _take_text(self, text: str, directory: str, path: Path) -> None:
        try:
            spec = parse_spec(text, path) if len(text) > _LONGEST_REMEMBERED else _parse_again(text, path)
        except JsonError as error:
            self._refuse(directory, f"parse: {error}", path, find_place(path, text, error.offset), code="json-syntax")
        except SpecError as error:
            place = find_place(path, text, error.offset)
            self._refuse(error.hook_id or directory, str(error), path, place, code=error.code)
            if error.guarded_event is not None:
                self._add_broken_guard(error.guarded_event, error.hook_id or directory, f"{place}: {error}")
        else:
            self._add(spec)

    def _add(self, spec: FolderSpec) -> None:
        first = self._specs.setdefault(spec.id, spec)
        if first is not spec:
            message = f"duplicate hook id {spec.id!r}: the folder {first.directory!r} has it already, and stays active"
            self._refuse(spec.id, message, spec.place.path, spec.place, code="duplicate-id")
            if spec.enabled and spec.is_guard:
                self._add_broken_guard(spec.event, spec.id, f"{spec.place}: {message}")

    def _add_broken_guard(self, event: str, hook_id: str, reason: str) -> None:
        self._broken_guards.append(BrokenGuard(event=event, hook_id=hook_id, reason=reason))

    def _refuse(self, key: str, message: str, path: Path, place: Place | None = None, *, code: str) -> None:
        self._invalid[key] = message
        self.add(code, message, path, place=place, hook_id=key)

    def add(
        self,
        code: str,
        message: str,
        path: Path,
        *,
        severity: Severity = "error",
        place: Place | None = None,
        hook_id: str | None = None,
        cure: str = "",
    ) -> None:
        """Add a problem, about the file as a whole unless a place is given."""
        where = place or Place(path=path)
        self._problems.append(
            Problem(severity=severity, code=code, message=message, place=where, hook_id=hook_id, cure=cure)
        )


@functools.lru_cache(maxsize=1024)
def _parse_again(text: str, path: Path) -> FolderSpec:
    """The spec of a text; a reload finds most of them as they were."""
    return parse_spec(text, path)


def read_spec_bytes(path: Path) -> bytes:
    """The bytes of a spec file; raises `OSError`, also for what is no file of a sane size."""
    data = read_regular(path, MAX_SPEC_BYTES + 1)
    if len(data) > MAX_SPEC_BYTES:
        raise OSError(f"the file has more than {MAX_SPEC_BYTES // 1024 // 1024} MiB")
    return data
