"""The format of Chrys / iCode, for the files its users already have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hookline.dialects.base import Reading
from hookline.dialects.entry import FileRules
from hookline.dialects.hookfile import read_hook_file
from hookline.dialects.reply import BadReplyError, parse_reply
from hookline.dialects.spec import ExecutionSpec, HookSpec, SettingsSpec
from hookline.dialects.wire import encode_envelope, encode_record, to_json
from hookline.document import Document
from hookline.events import Event
from hookline.fields import AfterTurn, ToolResult
from hookline.hook import Hook, LayerName
from hookline.outcome import Answer, Edit, Failure

_RULES = FileRules(
    dialect="chrys",
    hook_spec=HookSpec,
    execution_spec=ExecutionSpec,
    settings_spec=SettingsSpec,
    root_keys=("version", "settings", "hooks"),
    default_bad_reply="ignore",
    is_all_or_nothing=True,
    closes_when_provoked=False,
    rechecks_guards=False,
    strips_legacy_kinds=True,
)
# What events have come to carry since, and its users do not know.
_LATER: Mapping[type, frozenset[str]] = {
    AfterTurn: frozenset({"messages", "response", "error", "tool_calls", "iterations"}),
    ToolResult: frozenset({"content", "details"}),
}
# The events on which each text of a reply means anything.
_REMINDED = frozenset({"user_prompt_submit"})
_ANNOTATED = frozenset({"after_tool_call", "tool_error"})


class ChrysDialect(Struct, frozen=True):
    """The dialect `chrys`."""

    name: str = "chrys"
    folder: str = ".chrys"
    script_folders: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ("hooks.yaml", "hooks.yml", "hooks.json")
    yaml_version: str = "1.1"
    is_stdin_payload: bool = False
    replies_on_stdout: bool = False
    variable_prefix: str = "CHRYS"
    home_template: str = "chrys_home"
    prefers_uv: bool = True

    def read(self, document: Document, layer: LayerName, *, is_trusted_file: bool) -> Reading:
        """Read a hook file; one bad entry switches it off as a whole, as documented."""
        return read_hook_file(document, _RULES, layer, is_trusted_file=is_trusted_file)

    def shell(self, environment: Mapping[str, str]) -> str:
        """The user's own shell."""
        return environment.get("SHELL") or "/bin/sh"

    def encode(self, event: Event, *, is_cwd_missing: bool) -> dict[str, Any]:
        """The payload: exactly the documented fields."""
        del is_cwd_missing
        return encode_envelope(event) | encode_record(event.fields, leave_out=_LATER)

    def to_json(self, payload: Mapping[str, Any]) -> bytes:
        """The bytes of a payload."""
        return to_json(payload)

    def decode_reply(self, reply: bytes, hook: Hook) -> Answer | Failure:
        """Read a reply leniently: what cannot be understood decides nothing and is reported."""
        try:
            return _decode(parse_reply(reply, refuse_duplicates=False), hook)
        except BadReplyError as error:
            return Answer(ignored=(str(error),))

    def decode_exit(self, exit_code: int, stderr: str, hook: Hook) -> Failure:
        """Every code but 0 is a failure."""
        del stderr, hook
        return Failure(kind="exit", message=f"exit code {exit_code}")

    def find_silence(self, event: Event) -> None:
        """Nothing keeps them out."""
        del event


def _decode(reply: dict[str, Any], hook: Hook) -> Answer:
    action = reply.get("action")
    word = action.lower() if isinstance(action, str) else None
    ignored: list[str] = []
    if action is not None and word not in ("allow", "block", "modify"):
        ignored.append(f"the reply's action is {action!r}; it must be allow, block or modify")
    edits: tuple[Edit, ...] = ()
    override = reply.get("args_override")
    if override is not None and not isinstance(override, dict):
        ignored.append("args_override is no object")
    elif override is not None and word == "modify":
        edits = (Edit(field="args", operation="merge", value=override),)
    elif override is not None:
        ignored.append("args_override without action: modify")
    reason = reply.get("reason")
    return Answer(
        verdict="block" if word == "block" else "allow",
        reason=None if reason is None or reason == "" else str(reason),
        edits=edits,
        reminders=_take_text(reply, "system_reminder", hook, _REMINDED, ignored),
        context=_take_text(reply, "extra_context", hook, _ANNOTATED, ignored),
        ignored=tuple(ignored),
    )


def _take_text(
    reply: dict[str, Any], key: str, hook: Hook, events: frozenset[str], ignored: list[str]
) -> tuple[str, ...]:
    value = reply.get(key)
    if value is None or value == "":
        return ()
    if not isinstance(value, str):
        ignored.append(f"{key} is no text")
    elif hook.event not in events:
        ignored.append(f"{key} means nothing on {hook.event}")
    else:
        return (value,)
    return ()


CHRYS = ChrysDialect()
