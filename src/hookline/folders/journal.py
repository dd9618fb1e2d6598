"""
The run log of hook folders: a line when a hook is fired, when it fails and when it has finished.

One JSON object a line, in a file for each day (UTC), which any number of processes append to.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
import uuid
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from hookline.folders.json_text import mend
from hookline.folders.spec import FolderSpec
from hookline.folders.state import format_time
from hookline.redact import redact_text

logger = logging.getLogger("hookline")

DEFAULT_KEEP_DAYS = 10
_FIRE_ID_LENGTH = 8
# A thousand years; more would lead to before the calendar begins.
_MOST_DAYS = 365_000
_DAY_FILE = re.compile(r"(\d{4}-\d{2}-\d{2})\.jsonl")


class Firing(Struct, frozen=True, kw_only=True):
    """One start of a hook: what the lines about it have in common."""

    spec: FolderSpec
    fire_id: str
    is_async: bool
    thread_id: str = ""
    tool_name: str = ""


def new_fire_id() -> str:
    """An id for one start of a hook."""
    return uuid.uuid4().hex[:_FIRE_ID_LENGTH]


def describe_fired(firing: Firing, at: datetime) -> dict[str, Any]:
    """The line that says that a hook was started."""
    spec = firing.spec
    return {
        **_start_line("fired", firing),
        "name": spec.name,
        "event": spec.event,
        "matcher": spec.matcher.text,
        "blocking": spec.blocking,
        "async": firing.is_async,
        "kind": name_kind(spec),
        **({"thread_id": firing.thread_id} if firing.thread_id else {}),
        **({"tool_name": firing.tool_name} if firing.tool_name else {}),
        "ts": format_time(at),
    }


def describe_error(
    firing: Firing, at: datetime, *, source: Literal["command_exec", "agent"], error: str, exit_code: int | None = None
) -> dict[str, Any]:
    """The line that says that a hook failed, without secrets."""
    return {
        **_start_line("error", firing),
        "source": source,
        "error": redact_text(error),
        **({"exit_code": exit_code} if exit_code is not None else {}),
        "ts": format_time(at),
    }


def describe_finished(firing: Firing, at: datetime, *, status: str, duration_ms: float) -> dict[str, Any]:
    """The line that says that a hook has ended, and how."""
    return {
        **_start_line("finished", firing),
        "status": status,
        "duration_ms": round(duration_ms),
        "ts": format_time(at),
    }


def name_kind(spec: FolderSpec) -> Literal["command", "workflow", "prompt"]:
    """What kind of action a spec has."""
    if spec.command:
        return "command"
    return "prompt" if spec.prompt else "workflow"


def _start_line(phase: str, firing: Firing) -> dict[str, Any]:
    return {"phase": phase, "fire_id": firing.fire_id, "hook_id": firing.spec.id}


class Journal:
    """
    The log in a folder; nothing is created before the first line.

    Files are removed when they are more than `keep_days` old, 0 keeps them all. A log that cannot be written is
    complained about once, and again after it could be written meanwhile; it stops nobody.
    """

    def __init__(self, folder: Path, *, keep_days: int = DEFAULT_KEEP_DAYS) -> None:
        self._folder = folder
        self._keep_days = keep_days
        self._purged_on: date | None = None
        self._has_complained = False

    def append(self, line: dict[str, Any], now: datetime) -> None:
        """Write one line to the file of the day of `now`; the first line of a day also removes old files."""
        today = now.astimezone(UTC).date()
        data = f"{mend(json.dumps(line, ensure_ascii=False, default=repr))}\n".encode()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            _append(self._folder / f"{today.isoformat()}.jsonl", data)
        except OSError as error:
            if not self._has_complained:
                logger.warning("the run log %s cannot be written: %s", self._folder, error)
            self._has_complained = True
            return
        self._has_complained = False
        if self._purged_on != today:
            self._purged_on = today
            self.purge(now)

    def purge(self, now: datetime) -> None:
        """Remove the files of days that are too long ago; other files stay."""
        if not self._keep_days:
            return
        oldest = now.astimezone(UTC).date() - timedelta(days=min(self._keep_days, _MOST_DAYS))
        for path in self._folder.glob("*.jsonl"):
            found = _DAY_FILE.fullmatch(path.name)
            if found is not None and found[1] < oldest.isoformat():
                with contextlib.suppress(OSError):  # another process may have removed it
                    path.unlink()


def _append(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        if os.write(fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(fd)
