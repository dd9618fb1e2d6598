"""What goes into a hook object and what comes out of it, as records and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from msgspec import Struct, field

from hookline.dialects.reply import BadReplyError, parse_reply

ObjectEvent = Literal["session_start", "session_end", "user_prompt_submit", "pre_tool_use", "post_tool_use", "turn_end"]
Policy = Literal["block", "allow", "warn"]
"""What an object's failure means: it blocks what can be blocked, means nothing, or is told."""

OBJECT_EVENTS: tuple[ObjectEvent, ...] = get_args(ObjectEvent)
POLICIES: tuple[Policy, ...] = get_args(Policy)
_TOOL_EVENTS = frozenset({"pre_tool_use", "post_tool_use"})
_GATES = frozenset({"user_prompt_submit", "pre_tool_use"})
_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:)(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-]\d{2}:\d{2}))", re.ASCII
)
_UUID = re.compile(r"(?:(?:session|turn)_)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})")


class BadRecordError(ValueError):
    """JSON that is no payload, outcome or matcher; the message says in which way."""


class Allow(Struct, frozen=True, kw_only=True):
    """Go on without changing anything."""

    def to_data(self) -> dict[str, Any]:
        """The outcome as it stands in JSON."""
        return {"decision": "allow"}

    def to_json(self) -> str:
        """The outcome as a JSON text."""
        return to_json(self.to_data())


class Mutate(Struct, frozen=True, kw_only=True):
    """Change what the event is about; what a patch may hold depends on the event."""

    patch: Any
    reason: str | None = None

    def to_data(self) -> dict[str, Any]:
        """The outcome as it stands in JSON."""
        return {"decision": "mutate", "patch": self.patch} | _without_none(reason=self.reason)

    def to_json(self) -> str:
        """The outcome as a JSON text; raises `BadRecordError` for a patch that has none."""
        return to_json(self.to_data())


class Block(Struct, frozen=True, kw_only=True):
    """Stop what the event announces; means nothing where that cannot be stopped."""

    reason: str
    user_message: str | None = None

    def to_data(self) -> dict[str, Any]:
        """The outcome as it stands in JSON."""
        return {"decision": "block", "reason": self.reason} | _without_none(user_message=self.user_message)

    def to_json(self) -> str:
        """The outcome as a JSON text."""
        return to_json(self.to_data())


class Error(Struct, frozen=True, kw_only=True):
    """The hook itself failed; its policy says what that means."""

    message: str

    def to_data(self) -> dict[str, Any]:
        """The outcome as it stands in JSON."""
        return {"decision": "error", "message": self.message}

    def to_json(self) -> str:
        """The outcome as a JSON text."""
        return to_json(self.to_data())


class LateError(Error, frozen=True, kw_only=True):
    """The hook did not answer within its time; in JSON an error like others."""


HookOutcome = Allow | Mutate | Block | Error


def _now() -> datetime:
    return datetime.now(UTC)


class HookPayload(Struct, frozen=True, kw_only=True):
    """
    What one hook object is told of one event.

    `turn_id` is None for events of a session. `ts` is kept to the microsecond.
    """

    event: ObjectEvent
    hook_id: str
    session_id: str
    turn_id: str | None = None
    ts: datetime = field(default_factory=_now)
    data: Any = None

    def to_data(self) -> dict[str, Any]:
        """The payload as it stands in JSON; without a turn there is no key for it."""
        turn = {} if self.turn_id is None else {"turn_id": self.turn_id}
        return {
            "event": self.event,
            "hook_id": self.hook_id,
            "session_id": self.session_id,
            **turn,
            "ts": _write_instant(self.ts),
            "data": self.data,
        }

    def to_json(self) -> str:
        """The payload as a JSON text; raises `BadRecordError` for data that has none."""
        return to_json(self.to_data())

    @classmethod
    def from_json(cls, text: str | bytes) -> HookPayload:
        """Read a payload; raises `BadRecordError` for anything else. Keys that are not known mean nothing."""
        found = parse_object(text)
        if "data" not in found:
            raise BadRecordError("the key 'data' is missing; it may be null")
        return cls(
            event=parse_event_name(_take_text(found, "event")),
            hook_id=_take_text(found, "hook_id"),
            session_id=_take_text(found, "session_id"),
            turn_id=take_optional_text(found, "turn_id"),
            ts=_parse_instant(_take_text(found, "ts")),
            data=found["data"],
        )


def parse_outcome(text: str | bytes) -> HookOutcome:
    """
    Read an outcome.

    Keys that are not known mean nothing; no key may stand twice. Raises `BadRecordError` for anything else.
    """
    found = parse_object(text)
    decision = _take_text(found, "decision")
    if decision == "allow":
        return Allow()
    if decision == "mutate":
        if "patch" not in found:
            raise BadRecordError("a decision to mutate needs the key 'patch'")
        return Mutate(patch=found["patch"], reason=take_optional_text(found, "reason"))
    if decision == "block":
        return Block(reason=_take_text(found, "reason"), user_message=take_optional_text(found, "user_message"))
    if decision == "error":
        return Error(message=_take_text(found, "message"))
    raise _unknown_word("decision", decision, ("allow", "mutate", "block", "error"))


def parse_event_name(text: str) -> ObjectEvent:
    """Read the name of one of the six events, letter by letter; raises `BadRecordError`."""
    for name in OBJECT_EVENTS:
        if name == text:
            return name
    raise _unknown_word("event", text, OBJECT_EVENTS)


def parse_policy(text: str) -> Policy:
    """Read the word for an error policy, letter by letter; raises `BadRecordError`."""
    for policy in POLICIES:
        if policy == text:
            return policy
    raise _unknown_word("error policy", text, POLICIES)


def supports_matcher(event: str) -> bool:
    """Whether the event is about a tool call, so that a matcher has something to look at."""
    return event in _TOOL_EVENTS


def can_block(event: str) -> bool:
    """Whether a block stops what the event announces."""
    return event in _GATES


def show_id(kind: Literal["session", "turn"], text: str) -> str:
    """
    An id as payloads show it: `session_` or `turn_` and 32 hexadecimal digits where it is a UUID.

    Any other id is shown as the host writes it, so that it is found again in the host's own records.
    """
    found = _UUID.fullmatch(text.lower())
    return f"{kind}_{''.join(found.groups())}" if found else text


def parse_object(text: str | bytes) -> dict[str, Any]:
    """The one JSON object in a text, with no key twice; raises `BadRecordError`."""
    try:
        encoded = text if isinstance(text, bytes) else text.encode()
        if not encoded.strip():
            raise BadRecordError("the text is empty; it must hold a JSON object")
        return parse_reply(encoded, refuse_duplicates=True)
    except (BadReplyError, UnicodeEncodeError) as error:
        raise BadRecordError(str(error)) from error


def to_json(data: Mapping[str, Any]) -> str:
    """Data as a JSON text on one line; raises `BadRecordError` for what has no such form."""
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":"), default=_to_dict)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadRecordError(f"the data has no JSON form: {error}") from error


def take_optional_text(found: Mapping[str, Any], key: str) -> str | None:
    """The text at a key, None where there is none; raises `BadRecordError` for another type."""
    value = found.get(key)
    if value is not None and not isinstance(value, str):
        raise BadRecordError(f"{key!r} must be text, not {type(value).__name__}")
    return value


def _take_text(found: Mapping[str, Any], key: str) -> str:
    if key not in found:
        raise BadRecordError(f"the key {key!r} is missing")
    value = take_optional_text(found, key)
    if value is None:
        raise BadRecordError(f"{key!r} must be text, not null")
    return value


def _unknown_word(what: str, word: str, known: tuple[str, ...]) -> BadRecordError:
    return BadRecordError(f"unknown {what} {word!r}; it must be one of {', '.join(known)}")


def _without_none(**optional: str | None) -> dict[str, Any]:
    return {key: value for key, value in optional.items() if value is not None}


def _to_dict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _write_instant(instant: datetime) -> str:
    spec = "seconds" if not instant.microsecond else "microseconds" if instant.microsecond % 1000 else "milliseconds"
    return instant.astimezone(UTC).isoformat(timespec=spec).replace("+00:00", "Z")


def _parse_instant(text: str) -> datetime:
    """A time of RFC 3339; what is finer than a microsecond is left out, and a leap second is the one before."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise BadRecordError(f"'ts' is {text[:60]!r}; it must be a time such as 2026-01-31T12:00:00Z")
    day, minute, second, fraction, offset = found.groups()
    second = "59" if second == "60" else second
    try:
        return datetime.fromisoformat(
            f"{day}T{minute}{second}.{(fraction or '')[:6]:0<6}{offset or '+00:00'}"
        ).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadRecordError(f"'ts' is {text[:60]!r}: {error}") from error
