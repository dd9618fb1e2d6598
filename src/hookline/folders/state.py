"""The history of one hook: its state as a record, and as the text of a `state.json`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from hookline.errors import HooklineError
from hookline.folders.duration import format_duration
from hookline.folders.json_text import JsonError, mend, read_whole
from hookline.outcome import Answer, Failure, Run

MOST_RUNS = 10
# What Go writes for a time that never was.
_NEVER = "0001-01-01T00:00:00Z"
_GO_NEVER = datetime(1, 1, 1, tzinfo=UTC)


class StateError(HooklineError):
    """A state that cannot be read or written."""


class RunRecord(Struct, frozen=True, kw_only=True):
    """
    One run of a hook, as its history tells it.

    `status` is allow, deny, context or modify for a run the agent waited for, done for another, and error for
    one that failed, whatever kind it was; `error` says how it failed. `duration` is written as Go does.
    """

    at: datetime
    status: str
    is_async: bool
    event: str = ""
    error: str = ""
    thread_id: str = ""
    duration: str = ""


class State(Struct, frozen=True, kw_only=True):
    """What is remembered of a hook; `recent_runs` has the newest last, and no more than ten."""

    last_fired_at: datetime | None = None
    last_status: str = ""
    last_error: str = ""
    last_fire_id: str = ""
    recent_runs: tuple[RunRecord, ...] = ()

    def take(self, record: RunRecord) -> State:
        """The state after one more run."""
        return State(
            last_fired_at=record.at,
            last_status=record.status,
            last_error=record.error,
            last_fire_id=self.last_fire_id,
            recent_runs=(*self.recent_runs, record)[-MOST_RUNS:],
        )


EMPTY_STATE = State()


def describe_run(run: Run, *, at: datetime, event: str, is_async: bool, thread_id: str = "") -> RunRecord:
    """
    A run of a hook as a record; `at` is when it started, `event` the event of the hook's spec.

    Whatever did not end well is an error with its reason.
    """
    status, error = _sum_up(run, is_async=is_async)
    duration = "" if run.duration_ms is None else format_duration(run.duration_ms / 1000)
    return RunRecord(
        at=at, status=status, is_async=is_async, event=event, error=error, thread_id=thread_id, duration=duration
    )


def _sum_up(run: Run, *, is_async: bool) -> tuple[str, str]:
    if isinstance(run.outcome, Failure):
        return "error", f"{run.outcome.kind}: {run.outcome.message}"
    if run.status not in {"ok", "blocked"}:
        return "error", f"{run.status}: {run.reason}" if run.reason else run.status
    if is_async:
        return "done", ""
    return (_name_behavior(run.outcome), "") if run.outcome is not None else ("allow", "")


def _name_behavior(answer: Answer) -> str:
    if answer.verdict == "block":
        return "deny"
    if answer.edits:
        return "modify"
    return "context" if answer.context else "allow"


def encode_run(record: RunRecord) -> dict[str, Any]:
    """A record as JSON data; what is empty is left out."""
    found: dict[str, Any] = {"at": format_time(record.at), "status": record.status, "async": record.is_async}
    optional = {
        "event": record.event,
        "error": record.error,
        "thread_id": record.thread_id,
        "duration": record.duration,
    }
    return found | {key: value for key, value in optional.items() if value}


def encode_state(state: State) -> bytes:
    """The bytes of a `state.json`."""
    found: dict[str, Any] = {"last_fired_at": format_time(state.last_fired_at)}
    optional = {
        "last_status": state.last_status,
        "last_error": state.last_error,
        "last_fire_id": state.last_fire_id,
        "recent_runs": [encode_run(record) for record in state.recent_runs],
    }
    found |= {key: value for key, value in optional.items() if value}
    return f"{mend(json.dumps(found, indent=2, ensure_ascii=False))}\n".encode()


def parse_state(text: str) -> State:
    """
    Read the text of a `state.json`; unknown keys are passed over.

    Raises `StateError`.
    """
    try:
        found = read_whole(text)
    except JsonError as error:
        raise StateError(f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise StateError("it is no object")
    runs = _read(found, "recent_runs", list, [])
    if not all(isinstance(run, dict) for run in runs):
        raise StateError("recent_runs is no list of runs")
    at = _read_time(found, "last_fired_at")
    return State(
        last_fired_at=None if at == _GO_NEVER else at,
        last_status=_read(found, "last_status", str, ""),
        last_error=_read(found, "last_error", str, ""),
        last_fire_id=_read(found, "last_fire_id", str, ""),
        recent_runs=tuple(_read_run(run) for run in runs[-MOST_RUNS:]),
    )


def _read_run(found: dict[str, Any]) -> RunRecord:
    return RunRecord(
        at=_read_time(found, "at"),
        status=_read(found, "status", str, ""),
        is_async=_read(found, "async", bool, default=False),
        event=_read(found, "event", str, ""),
        error=_read(found, "error", str, ""),
        thread_id=_read(found, "thread_id", str, ""),
        duration=_read(found, "duration", str, ""),
    )


def _read(found: dict[str, Any], key: str, kind: type, default: Any) -> Any:
    value = found.get(key)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise StateError(f"{key} is {value!r}")
    return value


def _read_time(found: dict[str, Any], key: str) -> datetime:
    text = _read(found, key, str, _NEVER)
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise StateError(f"{key} is no time: {text!r}") from error


def format_time(moment: datetime | None) -> str:
    """A time in UTC as Go writes it: with the digits of the second that it needs; None is a time that never was."""
    if moment is None:
        return _NEVER
    moment = moment.astimezone(UTC)
    fraction = f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y}".rjust(4, "0") + f"{moment:-%m-%dT%H:%M:%S}{fraction}Z"
