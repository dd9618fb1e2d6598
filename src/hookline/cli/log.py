"""`hookline log`: the history of runs."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from hookline.cli.options import home_option, json_option, resolve_home
from hookline.cli.screen import align, paint, say, say_json, shorten
from hookline.errors import ConfigError
from hookline.runlog import LogQuery, list_log_files, parse_lines, read_records

_AGO = re.compile(r"(?P<number>\d+)(?P<unit>[smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_STATUS_COLOURS = {"ok": "green", "blocked": "red", "failed": "red", "timeout": "red", "cancelled": "yellow"}
_FOLLOW_EVERY_S = 0.2


@click.command("log")
@click.option("--hook", metavar="ID", help="Only runs of this hook.")
@click.option("--status", metavar="STATUS", help="Only runs that ended so: ok, blocked, failed, timeout ...")
@click.option("--event", metavar="EVENT", help="Only runs for this event.")
@click.option("--session", metavar="ID", help="Only runs of this session.")
@click.option("--since", metavar="TIME", help="Only runs since then: 10m, 2h, 3d, or a date and time.")
@click.option("--until", metavar="TIME", help="Only runs before then.")
@click.option("-n", "count", type=click.IntRange(min=0), default=50, help="At most so many, the newest (default: 50).")
@click.option("--follow", is_flag=True, help="Go on showing new runs until interrupted.")
@home_option
@json_option
def command(home: Path | None, count: int, follow: bool, as_json: bool, **options: str | None) -> None:
    """
    Show what ran, when (in UTC), how long, and how it ended, the newest last.

    With --json each run is one JSON object on a line of its own.
    """
    folder = resolve_home(home) / "hooks" / "log"
    query = LogQuery(
        hook=options["hook"],
        status=options["status"],
        event=options["event"],
        session=options["session"],
        since=_parse_time(options["since"]),
        until=_parse_time(options["until"]),
    )
    position = _end_of(folder)
    records = deque(read_records(folder, query), maxlen=count)
    _show(records, as_json=as_json)
    if not records and not follow and not as_json:
        say("nothing has run yet, or nothing that you asked for", to_stderr=True)
    if follow:
        for record in _follow(folder, query, position):
            _show([record], as_json=as_json)


def _show(records: Any, *, as_json: bool) -> None:
    if as_json:
        for record in records:
            say_json(record)
        return
    for line in align([_cells(record) for record in records]):
        say(line)


def _cells(record: dict[str, Any]) -> tuple[str, ...]:
    took = record.get("duration_ms")
    status = _text(record, "status")
    return (
        _text(record, "at")[:19].replace("T", " "),
        _text(record, "event"),
        _text(record, "layer"),
        paint(_text(record, "hook"), "cyan"),
        paint(status, _STATUS_COLOURS.get(status)),
        f"{took:.0f} ms" if isinstance(took, int | float) else "",
        shorten(_explain(record), 100),
    )


def _text(record: dict[str, Any], key: str) -> str:
    """A value of a record for a terminal; records may be written by hand or by a later version."""
    return shorten(str(record.get(key) or ""), 200)


def _explain(record: dict[str, Any]) -> str:
    parts = [str(record[key]) for key in ("error", "reason") if record.get(key)]
    effects = record.get("effects")
    parts += [str(effect) for effect in effects if effect != "blocked"] if isinstance(effects, list) else []
    if record.get("status") in ("failed", "blocked", "timeout") and record.get("stderr"):
        stderr = str(record["stderr"]).strip()
        parts += [stderr] if stderr not in parts else []  # which is the reason where a hook says nothing else
    return ", ".join(parts)


def _parse_time(text: str | None) -> datetime | None:
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago["unit"]]: int(ago["number"])})
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        message = f"{text!r} is no time: write 10m, 2h or 3d ago, or a date and time such as 2026-01-31T12:00"
        raise ConfigError(message) from error


def _end_of(folder: Path) -> tuple[Path | None, int]:
    files = list_log_files(folder)
    return (files[-1], files[-1].stat().st_size) if files else (None, 0)


def _follow(folder: Path, query: LogQuery, position: tuple[Path | None, int]) -> Iterator[dict[str, Any]]:
    """New records as they are written, across files."""
    path, offset = position
    while True:
        later = [file for file in list_log_files(folder) if path is None or file >= path]
        for file in later:
            start = offset if file == path else 0
            with open(file, "rb") as stream:
                stream.seek(start)
                data = stream.read()
            whole = data.rfind(b"\n") + 1
            yield from parse_lines(data[:whole].splitlines(), query)
            path, offset = file, start + whole
        time.sleep(_FOLLOW_EVERY_S)
