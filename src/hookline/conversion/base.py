"""What comes of a setup of another format: entries of a native file, and what of it could not be kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from msgspec import Struct

from hookline.bridge.program import OWN_PREFIX, Format
from hookline.dialects.entry import MAX_ID_LENGTH
from hookline.hook import Execution, Hook, Match
from hookline.problem import Place

# What the program's time limit leaves for the start of the bridge, and for ending a program that does not end.
_MARGIN_S = 10.0
# So that a number can be put behind an id that is taken.
_LONGEST_ID = MAX_ID_LENGTH - 12


class Loss(Struct, frozen=True, kw_only=True):
    """
    One thing about a hook that could not be kept, at its place in the setup.

    It is `dangerous` when the hook kept something closed that may be open now. What `is_left_out` is a hook that has
    no entry.
    """

    hook_id: str
    place: Place
    message: str
    is_dangerous: bool = False
    is_left_out: bool = False


class Converted(Struct, frozen=True, kw_only=True):
    """An entry of a native file, as data in the order in which it is written, and what it does not keep."""

    data: Mapping[str, Any]
    place: Place
    losses: tuple[Loss, ...] = ()


class Conversion(Struct, frozen=True, kw_only=True):
    """
    What comes of a setup.

    `remarks` are about all of its hooks; `left_out` are those that have no entry.
    """

    source: str
    entries: tuple[Converted, ...] = ()
    left_out: tuple[Loss, ...] = ()
    settings: Mapping[str, Any] = {}
    remarks: tuple[str, ...] = ()

    @property
    def losses(self) -> Sequence[Loss]:
        """Everything that was not kept, in the order of the setup, each thing once."""
        found = dict.fromkeys([*(loss for entry in self.entries for loss in entry.losses), *self.left_out])
        return sorted(found, key=lambda loss: (str(loss.place.path), loss.place.line, loss.place.column))

    @property
    def is_dangerous(self) -> bool:
        """Whether something may be open now that a hook of the setup kept closed."""
        return any(loss.is_dangerous for loss in self.losses)


class Origin(Struct, frozen=True, kw_only=True):
    """A hook of the setup, as far as every format has these."""

    format: Format
    id: str
    place: Place
    event: str
    execution: Execution
    enabled: bool = True
    description: str = ""

    @classmethod
    def of(cls, format: Format, hook: Hook) -> Self:  # noqa: A002 - the name of the field
        """What a loaded hook of this format says."""
        return cls(
            format=format,
            id=hook.id,
            place=hook.source.place,
            event=hook.event,
            execution=hook.execution,
            enabled=hook.enabled,
            description=hook.description,
        )


class Bridge(Struct, frozen=True, kw_only=True):
    """How the bridge runs a hook: options by their names, the program's words, its variables and directory."""

    words: Sequence[str]
    options: Sequence[str] = ()
    env: Mapping[str, str] = {}
    cwd: str = ""


class Ids:
    """Gives the entries of a file their ids: those of the setup, where they can be."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, hook_id: str, part: str = "") -> str:
        """An id that is not taken yet; `part` tells the entries of one hook apart."""
        plain = "".join(letter if letter.isprintable() else "_" for letter in hook_id).strip() or "hook"
        wanted = f"{plain[:_LONGEST_ID]}.{part}"[:_LONGEST_ID] if part else plain[:_LONGEST_ID]
        found = next(name for name in _number(wanted) if name not in self._taken)
        self._taken.add(found)
        return found


def make_entry(origin: Origin, bridge: Bridge, match: Match, entry_id: str) -> dict[str, Any]:
    """The entry that runs a hook by the bridge."""
    data: dict[str, Any] = {"id": entry_id}
    if origin.description:
        data["description"] = origin.description
    if not origin.enabled:
        data["enabled"] = False
    data["event"] = origin.event
    if matched := _write_match(match):
        data["match"] = matched
    return data | {"run": _write_run(origin, bridge, entry_id), "execution": _write_execution(origin.execution)}


def find_unwritable(data: Any) -> str | None:
    """Why data cannot stand in a file or be handed to a program, None when it can."""
    if isinstance(data, str):
        if "\0" in data:
            return "it holds a NUL character"
        return None if data.isascii() or _is_text(data) else "it holds half a character"
    if isinstance(data, Mapping):
        data = [*data.keys(), *data.values()]
    if isinstance(data, list | tuple):
        return next((fault for each in data if (fault := find_unwritable(each)) is not None), None)
    return None


def number(value: float) -> float:
    """A number as people write it: 5 and not 5.0."""
    return int(value) if value == int(value) else value


def _number(wanted: str) -> Iterator[str]:
    yield wanted
    count = 2
    while True:
        yield f"{wanted}-{count}"
        count += 1


def _write_match(match: Match) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("profile", "tool_kind", "tool_name"):
        if (value := getattr(match, name)) is not None:
            found[name] = value
    if match.profiles:
        found["profiles"] = list(match.profiles)
    if match.args:
        found["args"] = {
            name: {key: value for key in ("equals", "contains", "regex") if (value := getattr(wanted, key)) is not None}
            for name, wanted in match.args.items()
        }
    return found


def _write_run(origin: Origin, bridge: Bridge, entry_id: str) -> dict[str, Any]:
    own_id = [] if entry_id == origin.id else [f"--id={origin.id}"]
    timeout = f"--timeout={number(origin.execution.timeout_s)!r}"
    argv = ["hookline", "bridge", origin.format, *own_id, timeout, *bridge.options, "--"]
    run: dict[str, Any] = {"type": "command", "argv": argv, "args": list(bridge.words)}
    if bridge.env:
        run["env"] = {f"{OWN_PREFIX}{name}": value for name, value in bridge.env.items()}
    if bridge.cwd:
        run["cwd"] = bridge.cwd
    return run


def _write_execution(execution: Execution) -> dict[str, Any]:
    found: dict[str, Any] = {"mode": execution.mode}
    if execution.is_detached:
        found["detach"] = True
    if execution.is_durable:
        found["delivery"] = "durable"
    return found | {"timeout_seconds": number(execution.timeout_s + _MARGIN_S), "on_error": execution.on_error}


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
