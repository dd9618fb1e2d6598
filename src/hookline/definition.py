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


def digest_definition(hook: Hook) -> str:
    """
    The digest of a hook's event, match, action and execution, and for a script of its bytes.

    Raises `UnreadableDefinitionError` when the script cannot be read.
    """
    action = msgspec.structs.asdict(hook.action)
    if isinstance(hook.action, ScriptAction):
        action["path"] = _name_script(hook.action.path, hook.source.place.path.parent)
        action["script"] = _digest_file(hook.action.path)
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
    text = json.dumps(data, sort_keys=True, default=_to_plain)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _name_script(path: Path, folder: Path) -> str:
    """A script below the folder of its hooks file by its way from there, since the folder differs by machine."""
    plain = os.path.normpath(path)
    below = os.path.relpath(plain, folder)
    return plain if below.startswith("..") else below


def _digest_file(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UnreadableDefinitionError(f"the script {path} cannot be read: {error.strerror or error}") from error


def _to_plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return dict(value)
