"""Hookline's own format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from hookline.dialects.base import Reading
from hookline.dialects.entry import FileRules
from hookline.dialects.hookfile import read_hook_file
from hookline.dialects.reply import BadReplyError, parse_reply
from hookline.dialects.spec import NativeExecutionSpec, NativeHookSpec, NativeSettingsSpec
from hookline.dialects.wire import encode_envelope, encode_record, to_json
from hookline.document import Document
from hookline.events import Event
from hookline.hook import Hook, LayerName
from hookline.outcome import Answer, Edit, Failure, Verdict

_RULES = FileRules(
    dialect="native",
    hook_spec=NativeHookSpec,
    execution_spec=NativeExecutionSpec,
    settings_spec=NativeSettingsSpec,
    root_keys=("version", "dialects", "settings", "modules", "hooks"),
    default_bad_reply="error",
    is_all_or_nothing=False,
    closes_when_provoked=True,
    rechecks_guards=True,
    strips_legacy_kinds=False,
    user_keys=frozenset(
        {
            "dialects",
            "disabled_ids",
            "max_hook_depth",
            "recheck_guards",
            "on_bad_reply",
            "log_keep_days",
            "log_payloads",
        }
        | {"outbox_keep_done_days", "outbox_keep_failed_days"}
    ),
)
_VERDICTS: dict[str, Verdict] = {"allow": "allow", "modify": "allow", "ask": "ask", "block": "block"}
_REPLY_KEYS = frozenset({"action", "reason", "user_message", "args_override", "system_reminder", "extra_context"})
_BLOCKING_EXIT_CODE = 2


class NativeDialect(Struct, frozen=True):
    """The dialect `native`."""

    name: str = "native"
    folder: str = ".hookline"
    script_folders: tuple[str, ...] = (".hookline",)
    file_names: tuple[str, ...] = ("hooks.yaml", "hooks.yml", "hooks.json")
    yaml_version: str = "1.2"
    is_stdin_payload: bool = True
    replies_on_stdout: bool = False
    variable_prefix: str = "HOOKLINE"
    home_template: str = "hookline_home"
    prefers_uv: bool = False

    def read(self, document: Document, layer: LayerName, *, is_trusted_file: bool) -> Reading:
        """Read a hook file; a bad entry is left out and its neighbours load."""
        return read_hook_file(document, _RULES, layer, is_trusted_file=is_trusted_file)

    def shell(self, environment: Mapping[str, str]) -> str:
        """The shell of `shell` actions, the same on every machine."""
        del environment
        return "/bin/sh"

    def encode(self, event: Event, *, is_cwd_missing: bool) -> dict[str, Any]:
        """The payload: the documented fields, and who and what the event belongs to."""
        payload = encode_envelope(event)
        payload["event_id"] = event.event_id
        if event.turn_id is not None:
            payload["turn_id"] = event.turn_id
        payload["agent"] = asdict(event.agent)
        if is_cwd_missing:
            payload["cwd_missing"] = True
        return payload | encode_record(event.fields)

    def to_json(self, payload: Mapping[str, Any]) -> bytes:
        """The bytes of a payload."""
        return to_json(payload)

    def decode_reply(self, reply: bytes, hook: Hook) -> Answer | Failure:
        """Read a reply strictly: what cannot be understood may have been meant as a block."""
        try:
            return _decode(parse_reply(reply, refuse_duplicates=True))
        except BadReplyError as error:
            if hook.execution.on_bad_reply == "ignore":
                return Answer(ignored=(str(error),))
            return Failure(kind="reply", message=str(error))

    def decode_exit(self, exit_code: int, stderr: str, hook: Hook) -> Answer | Failure:
        """Exit code 2 of a blocking gate hook blocks, with its stderr as the reason; others are failures."""
        if exit_code == _BLOCKING_EXIT_CODE and hook.is_gate:
            return Answer(verdict="block", reason=stderr.strip() or None)
        return Failure(kind="exit", message=f"exit code {exit_code}")

    def find_silence(self, event: Event) -> None:
        """Nothing keeps them out."""
        del event


def _decode(reply: dict[str, Any]) -> Answer:
    action = _text(reply, "action") if reply.get("action") != "" else ""
    action = "allow" if action is None else action
    verdict = _VERDICTS.get(action.lower())
    if verdict is None:
        raise BadReplyError(f"the reply's action is {action!r}; it must be allow, block, modify or ask")
    override = reply.get("args_override")
    if override is not None and not isinstance(override, dict):
        raise BadReplyError("the reply's args_override must be an object")
    ignored = [f"unknown reply key {key!r}" for key in reply if key not in _REPLY_KEYS]
    edits: tuple[Edit, ...] = ()
    if override is not None and action.lower() == "modify":
        edits = (Edit(field="args", operation="merge", value=override),)
    elif override is not None:
        ignored.append("args_override without action: modify")
    if verdict == "allow":
        ignored += [f"{key} without action: block or ask" for key in ("reason", "user_message") if reply.get(key)]
    return Answer(
        verdict=verdict,
        reason=_text(reply, "reason"),
        user_message=_text(reply, "user_message"),
        edits=edits,
        reminders=_texts(reply, "system_reminder"),
        context=_texts(reply, "extra_context"),
        ignored=tuple(ignored),
    )


def _text(reply: dict[str, Any], key: str) -> str | None:
    value = reply.get(key)
    if value is not None and not isinstance(value, str):
        raise BadReplyError(f"the reply's {key} must be text, not {type(value).__name__}")
    return value or None


def _texts(reply: dict[str, Any], key: str) -> tuple[str, ...]:
    text = _text(reply, key)
    return () if text is None else (text,)


NATIVE = NativeDialect()
