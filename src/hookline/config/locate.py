"""Where hook files are: one for each layer and dialect, the first of its possible names that exists."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from hookline.dialects.base import Dialect
from hookline.dialects.native import NATIVE
from hookline.errors import ConfigError

_HOOKS_FOLDER = "hooks"


class HookFile(Struct, frozen=True, kw_only=True):
    """A hook file that exists; `shadowed` are files beside it that are not read because of it."""

    layer: Literal["project", "user"]
    dialect: Dialect
    path: Path
    shadowed: tuple[Path, ...] = ()


def default_home(dialect: Dialect = NATIVE) -> Path:
    """
    The user's folder for a dialect: `~/.hookline`, or `%APPDATA%\\hookline` on Windows.

    Raises `ConfigError` where the environment names a home that is not absolute.
    """
    if os.name == "nt":  # pragma: no cover - untested: Windows
        base = os.environ.get("APPDATA")
        return (Path(base) if base else Path.home()) / dialect.folder.removeprefix(".")
    home = os.path.expanduser("~")  # noqa: PTH111 - never raises
    if not os.path.isabs(home):  # noqa: PTH117 - a text from the environment
        raise ConfigError(f"HOME={home!r} is no absolute path: a project could bring its own home that way")
    return Path(home) / dialect.folder


def find_homes(dialects: Sequence[Dialect], native_home: Path) -> dict[str, Path]:
    """The home of each dialect; native's own may have been chosen."""
    return {d.name: native_home if d.name == NATIVE.name else default_home(d) for d in dialects}


def find_hook_files(project: Path, homes: Mapping[str, Path], dialects: Sequence[Dialect]) -> tuple[HookFile, ...]:
    """
    The hook files there are, in the order in which their hooks run: the project's, then the user's.

    A file that is both (by path or by link) counts once, as the user's.
    """
    user = list(_find_in((homes[dialect.name] for dialect in dialects), dialects, "user"))
    own = {_identity(file.path) for file in user}
    folders = (project / dialect.folder for dialect in dialects)
    found = [file for file in _find_in(folders, dialects, "project") if _identity(file.path) not in own]
    return (*found, *user)


def hook_file_candidates(folder: Path, dialect: Dialect) -> tuple[Path, ...]:
    """The paths at which a dialect's hook file may lie below its folder, the preferred one first."""
    return tuple(folder / _HOOKS_FOLDER / name for name in dialect.file_names)


def _find_in(
    folders: Iterator[Path], dialects: Sequence[Dialect], layer: Literal["project", "user"]
) -> Iterator[HookFile]:
    for folder, dialect in zip(folders, dialects, strict=True):
        there = [path for path in hook_file_candidates(folder, dialect) if os.path.lexists(path)]
        if there:
            yield HookFile(layer=layer, dialect=dialect, path=there[0], shadowed=tuple(there[1:]))


def _identity(path: Path) -> tuple[int, int] | Path:
    try:
        status = path.stat()
    except OSError:
        return path
    return status.st_dev, status.st_ino
