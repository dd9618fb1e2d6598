"""
Loading: from the hook files of all layers to the hooks, settings and problems an engine starts with.

Nothing here runs anything of a hook. What is left out is always reported.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hookline.config.json_text import parse_json
from hookline.config.locate import HookFile, default_home, find_homes, find_hook_files, hook_file_candidates
from hookline.config.text import MAX_FILE_SIZE, UnreadableTextError, decode_text, parse_yaml, unreadable
from hookline.dialects.base import Dialect, Reading
from hookline.dialects.native import NATIVE
from hookline.dialects.table import DIALECTS, get_dialect
from hookline.document import Document
from hookline.errors import ConfigError
from hookline.hook import Hook, Settings
from hookline.problem import Place, Problem
from hookline.registry import Closure

Trust = Literal["all", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedFile:
    """
    One hook file after reading.

    `document` is None when the text could not be read as data at all, and `is_untrusted` when the file was
    left alone because its project is not trusted.
    """

    file: HookFile
    document: Document | None = None
    reading: Reading = field(default_factory=Reading)
    is_untrusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """What all hook files say together, in the order in which hooks run."""

    project: Path
    homes: dict[str, Path]
    files: tuple[LoadedFile, ...]
    hooks: tuple[Hook, ...]
    closures: tuple[Closure, ...]
    settings: Settings
    problems: tuple[Problem, ...]


def load_layers(
    project: Path, *, home: Path | None = None, dialects: Sequence[str] | None = None, trust: Trust = "none"
) -> Layers:
    """
    Find and read all hook files of a project and its user.

    `home` is native's user folder. `dialects` names the formats to read, in the order of their layers; if it
    is None the user's own file says which. Raises `ConfigError` for an unknown dialect or trust.
    """
    if trust not in ("all", "none"):
        raise ConfigError(f"unknown trust {trust!r}; it must be 'all' or 'none'")
    native_home = home if home is not None else default_home()
    enabled, problems = _choose_dialects(native_home, dialects)
    homes = find_homes(enabled, native_home)
    files = [
        LoadedFile(file=file, is_untrusted=True) if file.layer == "project" and trust == "none" else load_file(file)
        for file in find_hook_files(project, homes, enabled)
    ]
    readings = [file.reading for file in files]
    problems += [problem for reading in readings for problem in reading.problems]
    problems += _find_untrusted(files)
    problems += _find_collisions(readings)
    return Layers(
        project=project,
        homes=homes,
        files=tuple(files),
        hooks=tuple(hook for reading in readings for hook in reading.hooks),
        closures=tuple(closure for reading in readings for closure in reading.closures),
        settings=_merge_settings(readings),
        problems=tuple(problems),
    )


def load_file(file: HookFile) -> LoadedFile:
    """Read one hook file; whatever is wrong with it becomes a problem of its reading."""
    try:
        document = _read_document(file.path, file.dialect)
    except UnreadableTextError as error:
        return LoadedFile(file=file, reading=Reading(problems=(error.problem,)))
    reading = file.dialect.read(document, file.layer, is_trusted_file=file.layer == "user")
    return LoadedFile(file=file, document=document, reading=reading)


def find_foreign_files(project: Path, layers: Layers) -> tuple[HookFile, ...]:
    """The hook files of dialects that are known but not enabled."""
    others = [dialect for dialect in DIALECTS.values() if dialect.name not in layers.homes]
    return find_hook_files(project, find_homes(others, default_home()), others)


def _read_document(path: Path, dialect: Dialect) -> Document:
    text = decode_text(_read_bytes(path), path)
    if path.suffix == ".json":
        return parse_json(text, path)
    return parse_yaml(text, path, version=dialect.yaml_version)


def _read_bytes(path: Path) -> bytes:
    """The bytes of a regular file, never more than may be read; a FIFO or device in its place is refused."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise unreadable(path, code="unreadable-file", message="this is not a regular file")
            return file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        message = f"the file cannot be read: {error.strerror}"
        cure = "check that it exists and that you may read it"
        raise unreadable(path, code="unreadable-file", message=message, cure=cure) from error


def _choose_dialects(native_home: Path, names: Sequence[str] | None) -> tuple[list[Dialect], list[Problem]]:
    """The dialects to read; native is always one of them."""
    problems: list[Problem] = []
    if names is None:
        names, problems = _dialects_of_user(native_home)
    chosen = [get_dialect(name) for name in dict.fromkeys(names)]
    return (chosen if NATIVE in chosen else [NATIVE, *chosen]), problems


def _dialects_of_user(native_home: Path) -> tuple[list[str], list[Problem]]:
    for path in hook_file_candidates(native_home, NATIVE):
        if os.path.lexists(path):
            loaded = load_file(HookFile(layer="user", dialect=NATIVE, path=path))
            named = loaded.reading.dialects or ()
            document = loaded.document
            problems = [
                Problem(
                    severity="error",
                    code="unknown-dialect",
                    message=f"unknown dialect {name!r}",
                    place=document.place("dialects") if document else Place(path=path),
                    cure=f"known: {', '.join(DIALECTS)}",
                )
                for name in named
                if name not in DIALECTS
            ]
            return [name for name in named if name in DIALECTS], problems
    return [], []


def _find_untrusted(files: Iterable[LoadedFile]) -> list[Problem]:
    """One notice for a project whose hooks were left alone."""
    paths = [loaded.file.path for loaded in files if loaded.is_untrusted]
    if not paths:
        return []
    others = f" (and {', '.join(str(path) for path in paths[1:])})" if paths[1:] else ""
    return [
        Problem(
            severity="notice",
            code="untrusted",
            message=f"this project's hooks are not loaded{others}: they are code that came with the project",
            place=Place(path=paths[0]),
            cure='read them, then set HOOKLINE_TRUST=all for the command line or pass trust="all" to Engine.open',
        )
    ]


def _find_collisions(readings: Sequence[Reading]) -> list[Problem]:
    first: dict[str, Hook] = {}
    problems = []
    for hook in (hook for reading in readings for hook in reading.hooks):
        earlier = first.setdefault(hook.id, hook)
        if earlier is not hook:
            problems.append(
                Problem(
                    severity="warning",
                    code="id-collision",
                    message=f"the same id is used at {earlier.source.place}; both hooks run",
                    place=hook.source.place,
                    hook_id=hook.id,
                    cure="give one of them another id, so that logs tell them apart",
                )
            )
    return problems


def _merge_settings(readings: Iterable[Reading]) -> Settings:
    merged: dict[str, Any] = {}
    for reading in readings:
        merged = {**reading.settings, **merged}
    return Settings(**merged)
