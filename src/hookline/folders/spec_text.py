"""The text of a `hook.json` as plain values: the types are right, nothing else has been checked."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from hookline.folders.json_text import JsonError, describe_type, list_members, mend, read_whole, skip_whitespace

_TEXTS = frozenset(
    {
        "id",
        "name",
        "trigger.event",
        "trigger.matcher",
        "mode",
        "command",
        "workflow_id",
        "prompt",
        "cwd",
        "timeout",
        "created_by",
        "description",
        "on_error",
    }
)
_SWITCHES = frozenset({"enabled", "blocking", "permissions.auto_write", "permissions.auto_dirs"})
_GROUPS = frozenset({"trigger", "permissions"})
_WORKFLOW = "workflow"


class SpecText(Struct, frozen=True, kw_only=True):
    """
    What a spec sets, by the path of its key, such as `trigger.event`; `offsets` tell where each value stands.

    A null sets nothing. Of a key that stands twice the last one counts.
    """

    values: dict[str, Any] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)

    def text(self, path: str) -> str:
        """The text at a path; empty when it is not set."""
        return str(self.values.get(path, ""))

    def is_on(self, path: str, *, default: bool = False) -> bool:
        """Whether the switch at a path is on."""
        return bool(self.values.get(path, default))


def read_spec_text(text: str) -> SpecText:
    """
    Read a spec's text.

    Raises `JsonError` for what is no JSON and for values of a wrong type. Unknown keys are passed over.
    """
    value = read_whole(text)
    found = SpecText()
    if value is None:
        return found
    start = skip_whitespace(text, 0)
    if not isinstance(value, dict):
        raise JsonError(f"a spec is an object, not {describe_type(value)}", start)
    _read_members(text, start, "", found)
    return found


def _read_members(text: str, index: int, prefix: str, found: SpecText) -> None:
    for member in list_members(text, index)[0]:
        path, offset = prefix + member.name, member.value_span[0]
        if path in _TEXTS:
            _set(found, path, member.value, str, "a text", offset)
        elif path in _SWITCHES:
            _set(found, path, member.value, bool, "true or false", offset)
        elif path == _WORKFLOW:
            _set(found, path, member.value, list | dict, "a list of steps", offset)
        elif path in _GROUPS and _fits(path, member.value, dict, "an object", offset):
            found.offsets[path] = offset
            _read_members(text, offset, f"{path}.", found)


def _set(found: SpecText, path: str, value: Any, kind: Any, wanted: str, offset: int) -> None:
    if _fits(path, value, kind, wanted, offset):
        found.values[path] = mend(value) if isinstance(value, str) else value
        found.offsets[path] = offset
    elif path not in _TEXTS | {"enabled", "blocking"}:  # those stay what they were, as Go has it
        found.values.pop(path, None)


def _fits(path: str, value: Any, kind: Any, wanted: str, offset: int) -> bool:
    """Whether a value is of its kind; False for null, which leaves things as they are."""
    if value is None:
        return False
    if not isinstance(value, kind):
        raise JsonError(f"{path} must be {wanted}, not {describe_type(value)}", offset)
    return True
