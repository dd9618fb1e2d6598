"""The format of vix: folders with a `hook.json` each, whose commands read the event on stdin and reply on stdout."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hookline.dialects.base import Reading
from hookline.document import Document
from hookline.events import Event, get_event_type
from hookline.folders.decision import Reply, downgrade, read_command, read_text, to_answer
from hookline.folders.envelope import encode_event, to_json
from hookline.folders.silence import find_silence
from hookline.hook import Hook, LayerName
from hookline.outcome import Answer, Failure

LONGEST_TEXT = 30_000
"""How many characters of what a hook says are put before a model."""


class VixDialect(Struct, frozen=True):
    """The dialect `vix`; its folders are loaded by `hookline.config.folders`."""

    name: str = "vix"
    folder: str = ".vix"
    script_folders: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()
    yaml_version: str = "1.2"
    is_stdin_payload: bool = True
    replies_on_stdout: bool = True
    variable_prefix: str = "HOOKLINE"
    home_template: str = ""
    prefers_uv: bool = False

    def read(self, document: Document, layer: LayerName, *, is_trusted_file: bool) -> Reading:
        """There is no file with a list of hooks."""
        del document, layer, is_trusted_file
        return Reading()

    def shell(self, environment: Mapping[str, str]) -> str:
        """Bash, wherever the search path has it."""
        return shutil.which("bash", path=environment.get("PATH", os.defpath)) or "bash"

    def encode(self, event: Event, *, is_cwd_missing: bool) -> dict[str, Any]:
        """The envelope of the event, and its facts."""
        del is_cwd_missing
        return encode_event(event)

    def to_json(self, payload: Mapping[str, Any]) -> bytes:
        """The bytes of a payload as Go writes them."""
        return to_json(payload)

    def decode_reply(self, reply: bytes, hook: Hook) -> Answer | Failure:
        """What a command that ended well says by its stdout: a decision object, or a text for the model."""
        return _answer(read_command(0, reply.decode("utf-8", "replace"), ""), hook)

    def decode_exit(self, exit_code: int, stderr: str, hook: Hook) -> Answer | Failure:
        """Exit code 2 denies, with what was written as the reason; others are failures."""
        return _answer(read_command(exit_code, "", stderr), hook)

    def decode_text(self, text: str, hook: Hook) -> Answer | Failure:
        """What the final text of a prompt or a workflow says."""
        return _answer(read_text(text), hook)

    def find_silence(self, event: Event) -> str | None:
        """Why no hook folder runs now: the user's switch, or a session that hooks and jobs started themselves."""
        return find_silence(os.environ, event.facts.origin)


def name_event(hook: Hook) -> str:
    """The event of a hook as its spec names it."""
    return get_event_type(hook.event).aliases[VIX.name]


def folder_of(hook: Hook) -> Path:
    """The folder of a hook."""
    return hook.source.place.path.parent


def _answer(reply: Reply | Failure, hook: Hook) -> Answer | Failure:
    if isinstance(reply, Failure):
        return reply
    if not hook.is_blocking:
        is_decision = reply.behavior in ("deny", "modify")
        return Answer(ignored=(f"{reply.behavior}: nobody waits for this hook",) if is_decision else ())
    if not hook.execution.may_block:
        reply = downgrade(reply)
    return to_answer(replace(reply, reason=_cut(reply.reason), context=_cut(reply.context)), name_event(hook))


def _cut(text: str) -> str:
    """A text that a model can be shown."""
    left_out = len(text) - LONGEST_TEXT
    return text if left_out <= 0 else f"{text[:LONGEST_TEXT]}\n[{left_out} more characters left out]"


VIX = VixDialect()
