"""Providers that look into `pre` and `post` folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from hookline.handlers.discover import EVERY_TOOL, Found, HookItem, HookKind, HookType, SkippedFile
from hookline.hook import LayerName
from hookline.private import read_regular
from hookline.runners.interpreter import has_known_suffix

_HOOKS_FOLDER = "hooks"
# File names that mean all tools; a star cannot be in a name on every system.
_EVERY_TOOL_STEMS = (EVERY_TOOL, "all")
# What editors and people leave beside a file; it may be executable like the file it was copied from.
_LEFTOVERS = ("~", ".bak", ".disabled", ".old", ".orig", ".pyc", ".rej", ".sample", ".swo", ".swp", ".tmp")
_SHEBANG = b"#!"


class _NotAHookError(Exception):
    """A file that was probably meant to be a hook and is none, and why."""


class _NeverAHookError(_NotAHookError):
    """A file that nobody means to be a hook."""


class FolderProvider(Struct, frozen=True, kw_only=True):
    """
    The files of `<root>/pre` and `<root>/post`, in the order of their names; a relative root counts from the cwd.

    A `.py` file is a module. One whose suffix has a known interpreter is a script, and any other that is executable
    and says by `#!` what runs it is a program; both are for the tool that the name before the suffix gives. `all` and
    `*` give every tool. Anything else is skipped.
    """

    name: str
    priority: float
    root: Path
    layer: LayerName = "code"

    def load(self, cwd: Path) -> Found:
        """Look; nothing that is found is run."""
        items: list[HookItem] = []
        skipped: list[SkippedFile] = []
        warnings: list[str] = []
        lost: list[Path] = []
        for hook_type in get_args(HookType):
            folder = cwd / self.root / hook_type
            try:
                names = _list_names(folder)
            except OSError as error:
                warnings.append(f"the folder {folder} cannot be read: {error.strerror}; none of its hooks are there")
                lost.append(folder)
                continue
            for name in names:
                try:
                    items.append(_read_file(folder / name, hook_type, self.layer))
                except _NotAHookError as error:
                    skipped.append(_skip(folder / name, error))
        return Found(items=items, skipped=skipped, warnings=warnings, lost=tuple(lost))


def builtin_providers(
    project: Path, home: Path, *, with_xcsh: bool = False, user_home: Path | None = None
) -> tuple[FolderProvider, ...]:
    """
    The folders that are always looked into, the first of them first: the project's, then the user's.

    `home` is the user's folder of Hookline. With `with_xcsh` those of xcsh and Claude follow; `user_home` is where
    the user's are. A folder that is both counts once, as the user's.
    """
    roots: list[tuple[str, LayerName, Path]] = [
        ("project", "project", project / ".hookline" / _HOOKS_FOLDER),
        ("user", "user", home / _HOOKS_FOLDER),
    ]
    if with_xcsh:
        base = Path.home() if user_home is None else user_home
        for name in ("xcsh", "claude"):
            roots.append((f"{name}-project", "project", project / f".{name}" / _HOOKS_FOLDER))
            roots.append((f"{name}-user", "user", base / f".{name}" / _HOOKS_FOLDER))
    own = _real_paths(root for _, layer, root in roots if layer == "user")
    kept = [(name, layer, root) for name, layer, root in roots if layer == "user" or os.path.realpath(root) not in own]
    return tuple(
        FolderProvider(name=name, priority=100 - 10 * index, root=root, layer=layer)
        for index, (name, layer, root) in enumerate(kept)
    )


def _real_paths(paths: Iterable[Path]) -> set[str]:
    return {os.path.realpath(path) for path in paths}


def is_leftover(name: str) -> bool:
    """Whether a name is that of what editors and people leave beside a file."""
    is_of_emacs = name.startswith(".#") or (name.startswith("#") and name.endswith("#"))
    return is_of_emacs or name.lower().endswith(_LEFTOVERS)


def _list_names(folder: Path) -> list[str]:
    """The names in a folder, none when it is not there; raises `OSError` for one that is and cannot be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names
    except FileNotFoundError:
        if _is_broken_link(folder) or _is_broken_link(folder.parent):
            raise
        return []


def _is_broken_link(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def _skip(path: Path, error: _NotAHookError) -> SkippedFile:
    severity: Literal["warning", "notice"] = "notice" if isinstance(error, _NeverAHookError) else "warning"
    return SkippedFile(path=path, reason=str(error), severity=severity)


def _read_file(path: Path, hook_type: HookType, layer: LayerName) -> HookItem:
    """The item that a file is; raises `_NotAHookError`."""
    _check_name(path.name)
    tool = EVERY_TOOL if path.stem in _EVERY_TOOL_STEMS else path.stem
    return HookItem(name=path.name, path=path, type=hook_type, tool=tool, kind=_classify(path), layer=layer)


def _check_name(name: str) -> None:
    if name.startswith("."):
        raise _NeverAHookError("its name begins with a dot: hidden files are no hooks")
    if is_leftover(name):
        raise _NeverAHookError("its name is that of a copy or leftover of another file")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise _NotAHookError("its name is not UTF-8, so that no tool can have it; rename it") from error


def _classify(path: Path) -> HookKind:
    mode = _look_at(path)
    if stat.S_ISDIR(mode):
        raise _NeverAHookError("it is a folder; hooks are files right in pre and post")
    try:
        start = read_regular(path, len(_SHEBANG))
    except OSError as error:
        raise _NotAHookError(f"it cannot be read: {error.strerror}") from error
    if path.suffix.lower() == ".py":
        return "module"
    if has_known_suffix(path):
        return "script"
    if not os.access(path, os.X_OK):
        raise _NotAHookError(f"there is no known interpreter for {_say_suffix(path)}, and it is not executable")
    if start != _SHEBANG:
        raise _NotAHookError(
            f"there is no known interpreter for {_say_suffix(path)}, and its first line does not name one with #!"
        )
    return "program"


def _say_suffix(path: Path) -> str:
    return repr(path.suffix) if path.suffix else "a name without suffix"


def _look_at(path: Path) -> int:
    """The mode of a file or of what a link leads to."""
    try:
        return path.stat().st_mode
    except OSError as error:
        if path.is_symlink():
            message = f"it is a link to {os.readlink(path)}, which cannot be followed: {error.strerror}"  # noqa: PTH115
            raise _NotAHookError(message) from error
        raise _NotAHookError(f"it cannot be looked at: {error.strerror}") from error
