"""
Switching a hook folder on or off in its `hook.json`, with everything else of the file kept to the byte.

The edit is taken only when the edited text reads as the same data with that one change.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hookline.errors import HooklineError
from hookline.folders.json_text import JsonError, Member, fold_key, list_members, read_whole, skip_whitespace
from hookline.folders.load import read_spec_bytes
from hookline.folders.registry import FolderRegistry
from hookline.folders.spec import SPEC_FILE

_KEY = "enabled"


class SwitchError(HooklineError):
    """A hook folder that cannot be switched on or off without touching more than was asked for."""


def set_enabled(hooks_dir: Path | None, directory: str, *, is_enabled: bool) -> bool:
    """
    Switch the hook in the folder called `directory` on or off; returns whether that changed the file.

    The file's mode stays; where `hook.json` is a link, the file it leads to is edited.
    Raises `SwitchError`.
    """
    if hooks_dir is None:
        raise SwitchError("there is no hooks folder, so no hook can be switched")
    if directory in {"", ".", ".."} or Path(directory).name != directory:
        raise SwitchError(f"{directory!r} is no name of a hook folder in {hooks_dir}")
    path = hooks_dir / directory / SPEC_FILE
    real = Path(os.path.realpath(path))
    try:
        # Bytes that are no UTF-8 go through unharmed.
        before = read_spec_bytes(real).decode("utf-8", "surrogateescape")
        after = switch_text(before, is_enabled=is_enabled)
        if after == before:
            return False
        _replace(real, after.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise SwitchError(f"{path} cannot be edited: {error.strerror or error}") from error
    except JsonError as error:
        raise SwitchError(f"{path} cannot be edited: {error}") from error
    return True


def set_enabled_by_id(hooks_dir: Path, registry: FolderRegistry, hook_id: str, *, is_enabled: bool) -> bool:
    """
    Switch the hook with this id on or off, wherever its folder is; returns whether that changed the file.

    Raises `SwitchError`, also for an id that no valid hook has. The caller reloads.
    """
    spec = registry.spec_by_id(hook_id)
    if spec is not None:
        return set_enabled(hooks_dir, spec.directory, is_enabled=is_enabled)
    reason = registry.invalid.get(hook_id)
    if reason is not None:
        raise SwitchError(f"the hook {hook_id!r} in {hooks_dir} is not valid, so it cannot be switched: {reason}")
    raise SwitchError(f"there is no hook {hook_id!r} in {hooks_dir}")


def switch_text(text: str, *, is_enabled: bool) -> str:
    """
    The text of a spec with its hook switched on or off, and no other character changed.

    Raises `JsonError` for a text that is no spec, and for one in which the switch stands twice.
    """
    data = read_whole(text)
    start = skip_whitespace(text, 0)
    if not isinstance(data, dict):
        raise JsonError("a spec is an object", start)
    members, end = list_members(text, start)
    found = [member for member in members if member.name == _KEY]
    if len(found) > 1:
        raise JsonError(f"the key {_KEY!r} stands {len(found)} times; keep one of them", found[1].key_span[0])
    edited = _edit(text, members, found, end, "true" if is_enabled else "false")
    if not _is_same_but_for_switch(data, edited, is_enabled=is_enabled):  # pragma: no cover - a net below the scanner
        raise JsonError("it is written in a way that cannot be changed in one place; edit it by hand", start)
    return edited


def _edit(text: str, members: list[Member], found: list[Member], end: int, word: str) -> str:
    if found:
        start, stop = found[0].value_span
        return text[:start] + word + text[stop:]
    comma = "," if members else ""
    return f'{text[:end]}{comma}"{_KEY}":{word}{text[end:]}'


def _is_same_but_for_switch(before: dict[str, Any], edited: str, *, is_enabled: bool) -> bool:
    after = read_whole(edited)
    switches = [after.pop(key) for key in list(after) if fold_key(key) == _KEY]
    rest = {key: value for key, value in before.items() if fold_key(key) != _KEY}
    return switches == [is_enabled] and repr(after) == repr(rest)


def _replace(path: Path, data: bytes) -> None:
    """Put new bytes in place of a file at once, with its mode kept."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix="hook.", suffix=".tmp")
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        shutil.copymode(path, temporary)
        os.replace(temporary, path)  # noqa: PTH105 - a text and a path
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108 - a text
        raise
