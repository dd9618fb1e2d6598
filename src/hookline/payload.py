"""Events from outside: a payload as JSON data, read into the record of the event it claims to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import PayloadError
from hookline.events import MAIN_AGENT, Event, EventType, get_event_type
from hookline.fields import LOCAL_FIELDS, Agent

# The envelope around an event's own fields; `schema` and `timestamp` are written anew.
_ENVELOPE = {"schema", "event", "timestamp", "event_id", "session_id", "turn_id", "agent", "profile", "cwd"}


def parse_payload(event_name: str, payload: Mapping[str, Any], *, cwd: str = "") -> tuple[Event, tuple[str, ...]]:
    """
    The event in a payload, and the keys of the payload that mean nothing on it.

    `cwd` is the working directory where the payload names none. Raises `UnknownEventError` for the name and
    `PayloadError` for a payload that lacks a field or holds a wrong one.
    """
    row = get_event_type(event_name)
    named = payload.get("event", event_name)
    if named != event_name:
        raise PayloadError(f"the payload is one of {named!r}, not of {event_name!r}")
    event = Event(_parse_record(row, payload), cwd=_parse_text(payload, "cwd") or cwd)
    event = replace(
        event,
        session_id=_parse_text(payload, "session_id"),
        turn_id=_parse_text(payload, "turn_id") or None,
        profile=_parse_text(payload, "profile"),
        event_id=_parse_text(payload, "event_id") or event.event_id,
        agent=_parse_agent(payload.get("agent")),
    )
    return event, tuple(_find_unknown(event.fields, payload))


def _find_unknown(record: Struct, data: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The keys of the data that no field of the record stands for, at any depth."""
    known = {*record.__struct_fields__} - LOCAL_FIELDS
    for key, value in data.items():
        if key in known:
            inner = getattr(record, key)
            if isinstance(inner, Struct) and isinstance(value, Mapping):
                yield from _find_unknown(inner, value, f"{prefix}{key}.")
        elif prefix or key not in _ENVELOPE:
            yield f"{prefix}{key}"


def _parse_record(row: EventType, payload: Mapping[str, Any]) -> Any:
    try:
        return msgspec.convert({name: payload[name] for name in row.payload_names if name in payload}, row.record)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise PayloadError(f"the payload of {row.name} does not fit: {error}") from error


def _parse_text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    if value is not None and not isinstance(value, str):
        raise PayloadError(f"the payload's {key} must be text, not {type(value).__name__}")
    return value or ""


def _parse_agent(data: Any) -> Agent:
    if data is None:
        return MAIN_AGENT
    try:
        return msgspec.convert(data, Agent)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise PayloadError(f"the payload's agent does not fit: {error}") from error
