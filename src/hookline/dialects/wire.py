"""An event as JSON data: stock parts for the dialects whose payload is an envelope around the event's fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hookline.events import Event
from hookline.fields import LOCAL_FIELDS

SCHEMA = 1
_NOTHING: Mapping[type, frozenset[str]] = {}


class UnencodableError(ValueError):
    """A payload that has no JSON form."""


def encode_envelope(event: Event) -> dict[str, Any]:
    """The fields that every payload starts with."""
    return {
        "schema": SCHEMA,
        "event": event.name,
        "timestamp": event.timestamp.isoformat().replace("+00:00", "Z"),
        "session_id": event.session_id,
        "profile": event.profile,
        "cwd": event.cwd,
    }


def encode_record(record: Any, *, leave_out: Mapping[type, frozenset[str]] = _NOTHING) -> dict[str, Any]:
    """
    A record as a dict, without what is optional and not there, and what lives in the host's process alone.

    `leave_out` names fields of records that a dialect does not know.
    """
    found: dict[str, Any] = {}
    unknown = LOCAL_FIELDS | leave_out.get(type(record), frozenset())
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if value is not None and name not in unknown:
            found[name] = encode_record(value, leave_out=leave_out) if isinstance(value, Struct) else value
    return found


def to_json(payload: Mapping[str, Any]) -> bytes:
    """
    The payload's bytes: JSON with everything outside ASCII escaped, so that no locale can misread it.

    Raises `UnencodableError` for values that JSON does not have.
    """
    try:
        return json.dumps(payload, allow_nan=False, default=_refuse).encode("ascii")
    except UnencodableError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise UnencodableError(f"the payload has no JSON form: {error}") from error


def _refuse(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Struct):  # a record in a list that the host has filled, such as the results of a step
        return encode_record(value)
    raise UnencodableError(f"the payload has no JSON form: it holds a value of type {type(value).__name__}")
