"""Builders for hook entries as data, for tests in which the text of a hooks file is not the point."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

GATE = "before_tool_call"


def write_file(*entries: Mapping[str, Any], **root: Any) -> str:
    """The text of a hooks file with these entries; JSON is YAML too."""
    return json.dumps({"hooks": list(entries), **root}, ensure_ascii=False)


def shell_hook(hook_id: str, text: str, **options: Any) -> dict[str, Any]:
    """A blocking hook that runs a text under a shell; see `make_entry` for the options."""
    return make_entry(hook_id, {"type": "shell", "shell": text}, **options)


def command_hook(hook_id: str, *argv: str, **options: Any) -> dict[str, Any]:
    """A blocking hook that runs a program; see `make_entry` for the options."""
    return make_entry(hook_id, {"type": "command", "argv": list(argv)}, **options)


def script_hook(hook_id: str, path: str, **options: Any) -> dict[str, Any]:
    """A blocking hook that runs a script; see `make_entry` for the options."""
    return make_entry(hook_id, {"type": "script", "path": path}, **options)


def make_entry(
    hook_id: str,
    run: Mapping[str, Any],
    *,
    event: str = GATE,
    mode: str = "blocking",
    match: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    **execution: Any,
) -> dict[str, Any]:
    """An entry; what is not named here goes to `execution`."""
    run = dict(run) | ({} if env is None else {"env": env}) | ({} if cwd is None else {"cwd": cwd})
    entry = {"id": hook_id, "event": event, "run": run, "execution": {"mode": mode, **execution}}
    return entry if match is None else {**entry, "match": match}


def give_reply(**reply: Any) -> str:
    """Shell text that gives a reply."""
    return f'printf %s {shlex.quote(json.dumps(reply))} > "$HOOKLINE_HOOK_RESULT"'


def write_reply(text: str) -> str:
    """Shell text that puts a text, JSON or not, where the reply is looked for."""
    return f'printf %s {shlex.quote(text)} > "$HOOKLINE_HOOK_RESULT"'
