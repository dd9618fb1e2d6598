"""
The history of runs: what ran, when, how long, and how it ended.

One line of JSON a run, in a file for each day and size, appended by any number of processes. A line starts on a
new line whatever was written before it, so that a record torn by a full disk spoils no other.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from hookline.events import Event
from hookline.hook import LogPayloads, Settings
from hookline.outcome import Answer, Failure, Run
from hookline.private import make_private_folder
from hookline.redact import REDACTED, is_secret, redact, redact_text

logger = logging.getLogger("hookline")

MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_TOTAL_BYTES = 128 * 1024 * 1024
_TAIL = 2000
# Longer than any secret that is looked for.
_MARGIN = 8192
_LONGEST_TEXT = 2000
_MAX_DEPTH = 20
_MOST_ITEMS = 200
# How many characters of a payload are kept, and what any other value than a text counts for.
_ROOM = 16_000
_ROOM_OF_A_VALUE = 8
_CUT = "[cut]"


class LogQuery(Struct, frozen=True, kw_only=True):
    """Which records are asked for; all that is set must hold."""

    hook: str | None = None
    status: str | None = None
    event: str | None = None
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def accepts(self, record: dict[str, Any]) -> bool:
        """Whether a record is one of those."""
        for key in ("hook", "status", "event", "session"):
            wanted = getattr(self, key)
            if wanted is not None and record.get(key) != wanted:
                return False
        at = str(record.get("at", ""))
        is_late_enough = self.since is None or at >= write_time(self.since)
        return is_late_enough and (self.until is None or at < write_time(self.until))


def make_record(run: Run, event: Event, *, payloads: LogPayloads, before: Event | None = None) -> dict[str, Any]:
    """
    A run as a record; `payloads` says what is kept of the event's own fields and of the hook's output.

    `before` is the event as it was fired, of which a run that edited it keeps the fields too.
    """
    source = run.hook.source
    record: dict[str, Any] = {
        "at": write_time(datetime.now(UTC)),
        "run": run.id,
        "hook": run.hook.id,
        "event": event.name,
        "event_id": event.event_id,
        "session": event.session_id,
        "agent": event.agent.id,
        "layer": source.layer,
        "dialect": source.dialect,
        "source": str(source.place),
        "mode": run.hook.execution.mode,
        "status": run.status,
        "effects": list(run.effects),
        "duration_ms": run.duration_ms,
        "exit_code": run.exit_code,
        "signal": run.signal,
    }
    if isinstance(run.outcome, Failure):
        record |= {"kind": run.outcome.kind, "error": run.outcome.message}
    elif (reason := _reason_of(run)) is not None:
        record["reason"] = reason[: _LONGEST_TEXT + _MARGIN]
    if run.attempt is not None:  # a durable run has the id of its job
        record["attempt"] = run.attempt
    is_clean = payloads != "full"
    if run.notes:
        record["notes"] = list(run.notes)
    for key, text in (("stdout", run.stdout), ("stderr", run.stderr)):
        kept = text[-_TAIL - _MARGIN :]
        record[key] = (redact_text(kept) if is_clean else kept)[-_TAIL:]
    if payloads != "none":
        record["payload"] = _Cutter(redacts=is_clean).cut(_fields_of(event))
        if before is not None and "edited" in run.effects:
            record["before"] = _Cutter(redacts=is_clean).cut(_fields_of(before))
    if is_clean:
        for key in ("error", "reason", "notes"):
            if key in record:
                record[key] = redact(record[key])
    if "reason" in record:
        record["reason"] = record["reason"][:_LONGEST_TEXT]
    return record


def _reason_of(run: Run) -> str | None:
    """Why the run did not come about, else why its hook says what it says."""
    if run.reason is None and isinstance(run.outcome, Answer):
        return run.outcome.reason
    return run.reason


def _fields_of(value: Any) -> Any:
    if isinstance(value, Event):
        return _fields_of(value.fields)
    if isinstance(value, Struct):
        return {name: _fields_of(getattr(value, name)) for name in value.__struct_fields__}
    return value


class _Cutter:
    """
    Copies a value as far as there is room for it, without its secrets if it `redacts`.

    Long texts are cut, what is too much or too deep is left out.
    """

    def __init__(self, *, redacts: bool) -> None:
        self._redacts = redacts
        self._room = _ROOM

    def cut(self, value: Any, depth: int = 0) -> Any:
        if self._room <= 0 or depth > _MAX_DEPTH:
            return _CUT
        if isinstance(value, str):
            return self._cut_text(value)
        self._room -= _ROOM_OF_A_VALUE
        if isinstance(value, Mapping):
            items = itertools.islice(value.items(), _MOST_ITEMS)
            return {str(key): self._cut_item(key, item, depth) for key, item in items}
        if isinstance(value, list | tuple):
            return [self.cut(item, depth + 1) for item in itertools.islice(value, _MOST_ITEMS)]
        return value

    def _cut_item(self, key: Any, item: Any, depth: int) -> Any:
        return REDACTED if self._redacts and is_secret(key, item) else self.cut(item, depth + 1)

    def _cut_text(self, text: str) -> str:
        limit = min(_LONGEST_TEXT, self._room)
        # Searched a little further than it is kept, so that a secret at the cut is known as one.
        kept = redact_text(text[: limit + _MARGIN])[:limit] if self._redacts else text[:limit]
        self._room -= len(kept)
        return kept if len(text) <= limit else f"{kept}[{len(text) - limit} more characters]"


class RunLog:
    """The log in a folder; nothing is created before the first record."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self._path: Path | None = None
        self._has_complained = False

    def append(self, run: Run, event: Event, *, before: Event | None = None) -> None:
        """Write a record; a log that cannot be written is complained about once and stops nobody."""
        try:
            record = make_record(run, event, payloads=self._settings.log_payloads, before=before)
            line = json.dumps(record, default=repr)
        except (ValueError, TypeError, RecursionError):
            line = json.dumps(
                {"at": write_time(datetime.now(UTC)), "run": run.id, "hook": run.hook.id, "status": run.status}
            )
        self.append_line(line)

    def append_line(self, line: str) -> None:
        """Write one record that is JSON already."""
        data = f"\n{line}\n".encode("ascii", "backslashreplace")
        try:
            try:
                _append(self._choose_file(), data)
            except FileNotFoundError:  # the folder was removed under way
                self._path = None
                _append(self._choose_file(), data)
        except OSError as error:
            if not self._has_complained:
                logger.warning("the run log %s cannot be written: %s", self._folder, error)
            self._has_complained = True

    def purge(self) -> None:
        """Remove files older than the settings say, and the oldest ones while there is too much."""
        oldest = (datetime.now(UTC) - timedelta(days=self._settings.log_keep_days)).strftime("%Y-%m-%d")
        paths = list_log_files(self._folder)
        total = sum(_size(path) for path in paths)
        for path in paths[:-1]:
            if path.name[:10] >= oldest and total <= MAX_TOTAL_BYTES:
                break
            total -= _size(path)
            with contextlib.suppress(OSError):
                path.unlink()

    def _choose_file(self) -> Path:
        """Today's file, or the next one of today when that is full."""
        today = datetime.now(UTC).strftime("%Y-%m-%d")
        current = self._path
        if current is not None and current.name.startswith(today) and _size(current) < MAX_FILE_BYTES:
            return current
        make_private_folder(self._folder)
        # Numbers only rise, also when the first files of a day have been removed for want of room.
        numbers = [_number_of(path) for path in list_log_files(self._folder) if path.name.startswith(today)]
        number = max(numbers, default=1)
        while _size(path := self._folder / f"{today}-{number:03}.jsonl") >= MAX_FILE_BYTES:
            number += 1
        self._path = path
        self.purge()
        return path


def _append(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.write(fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(fd)


def _number_of(path: Path) -> int:
    number = path.stem[len("2000-01-01-") :]
    return int(number) if number.isdigit() else 0


def list_log_files(folder: Path) -> list[Path]:
    """The files of a log, the oldest first."""
    return sorted(folder.glob("*.jsonl"), key=lambda path: (path.name[:10], _number_of(path), path.name))


def read_records(folder: Path, query: LogQuery) -> Iterator[dict[str, Any]]:
    """The records a query asks for, the oldest first; torn lines are passed over."""
    for path in list_log_files(folder):
        if query.since is not None and path.name[:10] < query.since.strftime("%Y-%m-%d"):
            continue
        try:
            with path.open("rb") as file:
                yield from parse_lines(file, query)
        except OSError:
            continue


def read_latest(folder: Path, *, most_bytes: int) -> list[dict[str, Any]]:
    """The records in the last part of a log, the oldest first, however large the log is."""
    found: list[dict[str, Any]] = []
    for path in reversed(list_log_files(folder)):
        try:
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - most_bytes))
                found[:0] = parse_lines(file.read(most_bytes).splitlines(), LogQuery())
        except OSError:
            continue
        most_bytes -= size
        if most_bytes <= 0:
            break
    return found


def parse_lines(lines: Iterable[bytes], query: LogQuery) -> Iterator[dict[str, Any]]:
    """The records in these lines that a query asks for."""
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and query.accepts(record):
            yield record


def write_time(moment: datetime) -> str:
    """A time as records hold it; times sort as texts."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
