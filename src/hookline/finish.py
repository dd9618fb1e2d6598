"""
Writing down how a detached hook ended: what its supervisor turns into when the hook is over.

Started as `python -I -S -c ... NOTE EXIT_CODE`, where the note is an open file; imports as little as it can.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hookline.hook import Settings
from hookline.job import utc_now
from hookline.outbox.files import FileOutbox
from hookline.redact import redact_text
from hookline.runlog import RunLog, write_time

_TAIL = 2000
# Read in front of what is kept, so that a secret that begins before the cut is known as one.
_MARGIN = 8192
_FIRST_SIGNAL_CODE = 128
_LAST_SIGNAL_CODE = 128 + 64


def finish(note: dict[str, Any], exit_code: int) -> None:
    """Complete the run's record, finish its job if it has one, and remove its payload."""
    output = _read_tail(note["output"])
    signal = exit_code - _FIRST_SIGNAL_CODE if _FIRST_SIGNAL_CODE < exit_code <= _LAST_SIGNAL_CODE else None
    error = None if exit_code == 0 else f"ended by signal {signal}" if signal else f"exit code {exit_code}"
    _log(note, exit_code, signal, error, output)
    if note["job"] is not None:
        _finish_job(note, exit_code, signal, error, output)
    for path in note["files"]:
        try:
            os.unlink(path)  # noqa: PTH108 - a text
        except OSError:
            continue


def _log(note: dict[str, Any], exit_code: int, signal: int | None, error: str | None, output: str) -> None:
    now = datetime.now(UTC)
    record = dict(note["record"])
    started = datetime.fromisoformat(record["at"])
    payloads = record.pop("payloads", "redacted")
    record |= {
        "at": write_time(now),
        "status": "ok" if error is None else "failed",
        "duration_ms": round((now - started).total_seconds() * 1000, 3),
        "exit_code": None if signal else exit_code,
        "signal": signal,
        "stdout": (output if payloads == "full" else redact_text(output))[-_TAIL:],
    }
    if error is not None:
        record |= {"kind": "signal" if signal else "exit", "error": error}
    RunLog(Path(note["log"]), Settings()).append_line(json.dumps(record))


def _finish_job(note: dict[str, Any], exit_code: int, signal: int | None, error: str | None, output: str) -> None:
    store = FileOutbox(Path(note["outbox"]))
    claim = store.adopt(note["job"], note["lock"][0])
    if claim is None:
        return
    job = replace(
        claim.job,
        state="done" if error is None else "failed",
        finished_at=utc_now(),
        exit_code=None if signal else exit_code,
        signal=signal,
        error=error,
        stdout=output[-_TAIL:],
    )
    store.finish(claim, job)


def _read_tail(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL - _MARGIN))
            return file.read(_TAIL + _MARGIN).decode("utf-8", "replace")
    except OSError:
        return ""
