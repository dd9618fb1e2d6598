"""A hook program of another format, the event it is asked about, and the environment it is asked in."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import ConfigError, PayloadError
from hookline.events import Event
from hookline.payload import parse_payload
from hookline.problem import Place
from hookline.process.child import TOKEN_VARIABLE
from hookline.runners.depth import read_depth
from hookline.runners.environment import DEPTH_VARIABLE

Format = Literal["chrys", "vix", "objects"]
Kind = Literal["shell", "command", "script"]

OWN_PREFIX = "HOOKLINE_ENV_"
"""What the names of variables start with that are handed to the program without it, as the hook's own."""

PLACE = Place(path=Path("<bridge>"))
"""Where the hook of a program stands that no file is known of."""

HERE = "."
"""The directory that the native hook was started in: the one that its author chose, or the session's."""

_NATIVE_VARIABLES = ("HOOKLINE_HOOK_ID", "HOOKLINE_HOOK_EVENT", "HOOKLINE_HOOK_PAYLOAD_FILE", "HOOKLINE_HOOK_RESULT")


class Program(Struct, frozen=True, kw_only=True):
    """
    A hook program and what its own format says of it.

    `words` are a text for a shell, a program or a script with its arguments, as `kind` says. `matcher` is a pattern
    on the event's subject for hook folders, and the JSON of a matcher for hook objects. A program that may not block
    is heard all the same; of one that nobody waits for nothing counts.
    """

    format: Format
    words: tuple[str, ...]
    hook_id: str
    kind: Kind = "shell"
    timeout_s: float = 30.0
    matcher: str = ""
    env: Mapping[str, str] = {}
    may_block: bool = True
    is_heard: bool = True

    def read_shell_text(self) -> str:
        """The one text that a shell is to run; raises `ConfigError` for anything else."""
        if self.kind != "shell" or len(self.words) != 1:
            raise ConfigError(f"a hook of {self.format} runs one text under a shell; put it in quotes")
        return self.words[0]


class Surplus(Struct, frozen=True, kw_only=True):
    """What the native hook around has put into the environment, taken out of it again."""

    env: Mapping[str, str]
    run_id: str | None
    depth: int


def take_surplus() -> Surplus:
    """
    Take out of this process's environment what belongs to the native hook and not to the program in it.

    The program counts as nested as deep as if it were the hook itself.
    """
    for name in _NATIVE_VARIABLES:
        os.environ.pop(name, None)
    own = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(OWN_PREFIX)}
    depth = max(read_depth() - 1, 0)
    os.environ[DEPTH_VARIABLE] = str(depth)
    env = {name.removeprefix(OWN_PREFIX): value for name, value in own.items()}
    return Surplus(env=env, run_id=os.environ.get(TOKEN_VARIABLE), depth=depth)


def read_event(payload: Mapping[str, Any]) -> Event:
    """The event that a native payload was made from; raises `PayloadError` or `UnknownEventError`."""
    name = payload.get("event")
    if not isinstance(name, str):
        raise PayloadError("the payload does not name its event")
    event, _ = parse_payload(name, payload)
    stamp = payload.get("timestamp")
    with contextlib.suppress(TypeError, ValueError):  # one that cannot be read is that of now
        event = replace(event, timestamp=datetime.fromisoformat(stamp))  # type: ignore[arg-type]
    return event
