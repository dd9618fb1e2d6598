"""
What the handlers of modules return, by the rules of xcsh, and the folders its users keep scripts in.

A result is a mapping of keys that the event's row gives a meaning: `block` (or `cancel`) with a `reason` on a
gate, and the event's edits under the names that handlers know them by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from hookline.dialects.base import Reading
from hookline.dialects.reply import BadReplyError, parse_reply
from hookline.dialects.wire import encode_record, to_json
from hookline.document import Document
from hookline.events import Event, EventType, get_event_type
from hookline.hook import Hook, LayerName
from hookline.outcome import Answer, Edit, Failure, Outcome, Verdict

BLOCKED = "Tool execution was blocked by a hook"
"""The reason where a handler blocks and gives none."""

# The edits whose key in a result is another word than the engine's.
_KEYS = {"args": "input"}
# The edits for which None is a value like any other; for the rest it is no opinion.
_CLEARED_BY_NONE = frozenset({"details"})
_STOP_KEYS = ("block", "cancel")
_TEXT_KEYS = ("reason", "user_message")


class _WrongKindError(ValueError):
    """A value of a result that cannot be what its key means."""


def decode_result(returned: Any, row: EventType) -> Outcome:
    """
    What a handler says by what it returned, which is not None.

    A wrong type under a key that counts is a failure: it may have been meant as a block.
    """
    if isinstance(returned, Answer):
        return returned
    if isinstance(returned, Struct):
        returned = {key: value for key, value in asdict(returned).items() if value is not UNSET}
    if not isinstance(returned, Mapping):
        is_heard = row.gate or bool(row.edits)
        return Answer(ignored=(f"a return value of type {type(returned).__name__}",) if is_heard else ())
    try:
        return _decode(returned, row)
    except _WrongKindError as error:
        return Failure(kind="reply", message=str(error))


def _decode(result: Mapping[str, Any], row: EventType) -> Answer:
    known = {_KEYS.get(name, name): name for name in row.edits}
    flags = {key: _read_flag(result, key) for key in (*_STOP_KEYS, "ask")} if row.gate else {}
    verdict: Verdict = "allow"
    if flags.get("block") or flags.get("cancel"):
        verdict = "block"
    elif flags.get("ask"):
        verdict = "ask"
    reason = _read_text(result, "reason") if row.gate else None
    texts = {name: _read_texts(result, key) for key, name in known.items() if "append" in row.edits[name].operations}
    meant = {*known, *(("ask", *_STOP_KEYS, *_TEXT_KEYS) if row.gate else ())}
    return Answer(
        verdict=verdict,
        reason=(reason or BLOCKED) if verdict == "block" else reason,
        user_message=_read_text(result, "user_message") if row.gate else None,
        edits=tuple(_read_edits(result, row, known)),
        reminders=texts.get("reminders", ()),
        context=texts.get("context", ()),
        ignored=tuple(
            f"the result's key {key!r}, which means nothing on {row.name}" for key in result if key not in meant
        ),
    )


def _read_edits(result: Mapping[str, Any], row: EventType, known: Mapping[str, str]) -> Iterator[Edit]:
    for key, name in known.items():
        rule = row.edits[name]
        if "append" in rule.operations:
            continue
        if key not in result:
            # The last result stands as a whole: what it leaves out is taken back.
            if rule.combination == "latest":
                yield Edit(field=name, operation="clear")
            continue
        value = result[key]
        if value is None:
            if name in _CLEARED_BY_NONE or rule.combination == "latest":
                yield Edit(field=name, operation="clear")
        elif name == "content" and isinstance(value, str):
            yield Edit(field=name, operation="replace", value=[{"type": "text", "text": value}])
        elif isinstance(value, rule.kind):
            yield Edit(field=name, operation="replace", value=value)
        else:
            raise _WrongKindError(f"the result's {key} must not be {type(value).__name__}")


def _read_flag(result: Mapping[str, Any], key: str) -> bool:
    value = result.get(key)
    if value is not None and not isinstance(value, bool):
        raise _WrongKindError(f"the result's {key} must be True or False, not {type(value).__name__}")
    return bool(value)


def _read_text(result: Mapping[str, Any], key: str) -> str | None:
    value = result.get(key)
    if value is not None and not isinstance(value, str):
        raise _WrongKindError(f"the result's {key} must be text, not {type(value).__name__}")
    return value or None


def _read_texts(result: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = result.get(key)
    if value is None or value == "":
        return ()
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise _WrongKindError(f"the result's {key} must be text or a list of texts, not {type(value).__name__}")
    return tuple(texts)


class XcshDialect(Struct, frozen=True):
    """The dialect `xcsh`: it has no hook files, and its handlers are Python functions."""

    name: str = "xcsh"
    folder: str = ".xcsh"
    script_folders: tuple[str, ...] = (".xcsh", ".claude")
    file_names: tuple[str, ...] = ()
    yaml_version: str = "1.2"
    is_stdin_payload: bool = True
    replies_on_stdout: bool = False
    variable_prefix: str = "HOOKLINE"
    home_template: str = "xcsh_home"
    prefers_uv: bool = False

    def read(self, document: Document, layer: LayerName, *, is_trusted_file: bool) -> Reading:
        """There is no file to read."""
        del document, layer, is_trusted_file
        return Reading()

    def shell(self, environment: Mapping[str, str]) -> str:
        """The shell of scripts, the same on every machine."""
        del environment
        return "/bin/sh"

    def encode(self, event: Event, *, is_cwd_missing: bool) -> dict[str, Any]:
        """The event's own fields under the engine's names."""
        del is_cwd_missing
        return {"type": event.type.aliases.get(self.name, event.name)} | encode_record(event.fields)

    def to_json(self, payload: Mapping[str, Any]) -> bytes:
        """The bytes of a payload."""
        return to_json(payload)

    def decode_reply(self, reply: bytes, hook: Hook) -> Answer | Failure:
        """A result written as JSON."""
        try:
            return decode_result(parse_reply(reply, refuse_duplicates=True), get_event_type(hook.event))
        except BadReplyError as error:
            return Failure(kind="reply", message=str(error))

    def decode_exit(self, exit_code: int, stderr: str, hook: Hook) -> Answer | Failure:
        """Every code but 0 is a failure."""
        del stderr, hook
        return Failure(kind="exit", message=f"exit code {exit_code}")

    def find_silence(self, event: Event) -> None:
        """Nothing keeps them out."""
        del event


XCSH = XcshDialect()
