"""
What tells one definition of a hook from another, wherever its file stands.

Two machines that have the same hooks file, and the same script beside it, compute the same digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec

from hookline.errors import HooklineError
from hookline.hook import Hook, ScriptAction

_VERSION = 1


class UnreadableDefinitionError(HooklineError):
    """A hook whose script cannot be read, and why."""


class Definition:
    """
    A hook's event, match, action and execution, and for a script its bytes.

    All but the script is put together once.
    """

    def __init__(self, hook: Hook) -> None:
        action = msgspec.structs.asdict(hook.action)
        self._script = hook.action.path if isinstance(hook.action, ScriptAction) else None
        if self._script is not None:
            action["path"] = _name_script(self._script, hook.source.place.path.parent)
        data = {
            "version": _VERSION,
            "id": hook.id,
            "event": hook.event,
            "dialect": hook.source.dialect,
            "match": msgspec.to_builtins(hook.match),
            "kind": type(hook.action).__name__,
            "action": action,
            "execution": msgspec.to_builtins(hook.execution),
        }
        self._fixed = hashlib.sha256(json.dumps(data, sort_keys=True, default=_to_plain).encode("ascii"))

    def digest(self) -> str:
        """The digest of the definition as it is now; raises `UnreadableDefinitionError` for an unreadable script."""
        if self._script is None:
            return self._fixed.hexdigest()
        whole = self._fixed.copy()
        whole.update(_digest_file(self._script))
        return whole.hexdigest()


def _name_script(path: Path, folder: Path) -> str:
    """A script below the folder of its hooks file by its way from there, since the folder differs by machine."""
    plain = os.path.normpath(path)
    below = os.path.relpath(plain, folder)
    return plain if below.startswith("..") else below


def _digest_file(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError as error:
        raise UnreadableDefinitionError(f"the script {path} cannot be read: {error.strerror or error}") from error


def _to_plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return dict(value)
