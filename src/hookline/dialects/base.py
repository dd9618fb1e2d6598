"""What a dialect is: how its files are read, and how an event and a reply look on its wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from hookline.document import Document
from hookline.events import Event
from hookline.hook import Hook, LayerName
from hookline.outcome import Answer, Failure
from hookline.problem import Place, Problem
from hookline.registry import Closure


class ModuleEntry(Struct, frozen=True, kw_only=True):
    """A module that a hook file names: its path as written, and what is said of it; `timeout_s` is in seconds."""

    path: str
    place: Place
    is_required: bool = False
    timeout_s: float | None = None
    enabled: bool = True


class Reading(Struct, frozen=True, kw_only=True):
    """
    What a hook file says.

    `settings` holds only what the file sets, by the names of `hookline.hook.Settings`; `entries` tells for
    each hook which entry of the file it is. `dialects` is the list a user's own file may name. `is_lost` tells
    that a mistake above the entries hides hooks that were probably meant.
    """

    hooks: tuple[Hook, ...] = ()
    entries: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    dialects: tuple[str, ...] | None = None
    modules: tuple[ModuleEntry, ...] = ()
    closures: tuple[Closure, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_lost: bool = False


class Dialect(Protocol):
    """One format. Adding one is a module beside this and a line in `hookline.dialects.table`."""

    @property
    def name(self) -> str:
        """The dialect's name, as settings and listings write it."""

    @property
    def folder(self) -> str:
        """The folder below a project or a user's home that holds its `hooks/`, such as `.hookline`."""

    @property
    def script_folders(self) -> tuple[str, ...]:
        """The folders whose `hooks/pre` and `hooks/post` hold modules and scripts, such as `.hookline`."""

    @property
    def file_names(self) -> tuple[str, ...]:
        """The file names looked for in that folder's `hooks/`; the first that exists is read."""

    @property
    def yaml_version(self) -> str:
        """The version of YAML that its users write for."""

    @property
    def is_stdin_payload(self) -> bool:
        """Whether a hook reads its payload on stdin too; otherwise stdin is empty."""

    @property
    def replies_on_stdout(self) -> bool:
        """Whether what a hook writes to stdout is its reply; otherwise it writes that to a file of its own."""

    @property
    def variable_prefix(self) -> str:
        """What the names of a hook's environment variables start with, such as `HOOKLINE`."""

    @property
    def home_template(self) -> str:
        """The name of the template that stands for this dialect's home, without `${}`; empty without templates."""

    @property
    def prefers_uv(self) -> bool:
        """Whether Python scripts run under `uv` whenever it is found, not only when they carry metadata."""

    def read(self, document: Document, layer: LayerName, *, is_trusted_file: bool) -> Reading:
        """
        Read a hook file's data into hooks, with every problem located.

        `is_trusted_file` is true for a user's own file, which may set what a project must not.
        """

    def shell(self, environment: Mapping[str, str]) -> str:
        """The shell that runs a `shell` action."""

    def encode(self, event: Event, *, is_cwd_missing: bool) -> dict[str, Any]:
        """The payload of an event as this dialect's hooks see it."""

    def to_json(self, payload: Mapping[str, Any]) -> bytes:
        """
        The bytes of a payload.

        Raises `hookline.dialects.wire.UnencodableError` for values that JSON does not have.
        """

    def decode_reply(self, reply: bytes, hook: Hook) -> Answer | Failure:
        """What a hook that ended well says by its reply."""

    def decode_exit(self, exit_code: int, stderr: str, hook: Hook) -> Answer | Failure:
        """
        What a hook that ended with a code other than 0 says.

        `stderr` is its stdout where it replies on that and wrote nothing to stderr.
        """

    def find_silence(self, event: Event) -> str | None:
        """Why no hook of this dialect runs at an event, whatever it is; None when they do."""
