"""Which tool calls a hook object is for: names, and a look at one value of the arguments."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hookline.objects.records import BadRecordError, parse_object, supports_matcher, take_optional_text, to_json
from hookline.objects.value import PathError, Step, find_text, parse_path
from hookline.patterns.linear import LinearPattern, LinearPatternError, compile_linear

_SPECIAL = "?[]{}"


class HookMatcher(Struct, frozen=True, kw_only=True):
    """
    Conditions on a tool call, of which all that are given must hold; none given is every call.

    `tool_name` is the exact name. `tool_name_glob` is a list of names such as `bash|edit_*`, where a star at the
    end stands for any ending. `args_jsonpath` leads to a value of the arguments, which must be there and not be
    empty; a regular expression of Rust's (`match_regex`, or by its other name `deny_regex`) must be found in it.
    """

    tool_name: str | None = None
    tool_name_glob: str | None = None
    args_jsonpath: str | None = None
    match_regex: str | None = None
    deny_regex: str | None = None

    def to_data(self) -> dict[str, Any]:
        """The matcher as it stands in JSON, what is not given as null."""
        return {name: getattr(self, name) for name in self.__struct_fields__}

    def to_json(self) -> str:
        """The matcher as a JSON text."""
        return to_json(self.to_data())

    @classmethod
    def from_data(cls, data: Any) -> HookMatcher:
        """Read a matcher; keys that are not known mean nothing. Raises `BadRecordError`."""
        if not isinstance(data, dict):
            raise BadRecordError(f"a matcher must be an object, not {type(data).__name__}")
        return cls(**{name: take_optional_text(data, name) for name in cls.__struct_fields__})

    @classmethod
    def from_json(cls, text: str | bytes) -> HookMatcher:
        """Read a matcher from a JSON text; raises `BadRecordError`."""
        return cls.from_data(parse_object(text))

    def validate(self, event: str, hook_id: str) -> tuple[str, ...]:
        """
        Everything about this matcher that keeps a hook from being attached, in words.

        Beside contradictions that is what would make a hook never fire, and nobody notice.
        """
        if not supports_matcher(event):
            return (f"hook `{hook_id}` has a matcher on non-tool event `{event}`",)
        found = (*self._find_contradictions(), *self._find_bad_names(), *self._find_bad_pattern())
        return tuple(f"hook `{hook_id}`: {problem}" for problem in found)

    def _find_contradictions(self) -> list[str]:
        found = []
        if self.match_regex is not None and self.deny_regex is not None:
            found.append("match_regex and deny_regex are mutually exclusive")
        if (self.match_regex is not None or self.deny_regex is not None) and self.args_jsonpath is None:
            found.append("a regex matcher requires args_jsonpath; write $ for the arguments as a whole")
        return found

    def _find_bad_names(self) -> list[str]:
        found = []
        if self.tool_name_glob is not None:
            found += [
                f"tool_name_glob {self.tool_name_glob!r}: {problem}"
                for problem in map(_find_bad_alternative, self.tool_name_glob.split("|"))
                if problem is not None
            ]
        if self.args_jsonpath is not None:
            try:
                parse_path(self.args_jsonpath)
            except PathError as error:
                found.append(f"args_jsonpath: {error}")
        return found

    def _find_bad_pattern(self) -> list[str]:
        found = []
        for pattern in (self.match_regex, self.deny_regex):
            if pattern is not None:
                try:
                    compile_linear(pattern, "rust")
                except LinearPatternError as error:
                    found.append(f"invalid hook matcher regex: {error}")
        return found

    def compile(self) -> CompiledHookMatcher:
        """The matcher ready to be asked; one that `validate` has objections to matches nothing it cannot read."""
        is_readable = not self._find_contradictions() and not self._find_bad_pattern()
        pattern = self.match_regex if self.match_regex is not None else self.deny_regex
        path: tuple[Step, ...] | None = None
        if self.args_jsonpath is not None:
            try:
                path = parse_path(self.args_jsonpath)
            except PathError:
                is_readable = False
        return CompiledHookMatcher(
            tool_name=self.tool_name,
            names=None if self.tool_name_glob is None else _Names.from_glob(self.tool_name_glob),
            path=path,
            pattern=compile_linear(pattern, "rust") if is_readable and pattern is not None else None,
            is_readable=is_readable,
        )


class _Names(Struct, frozen=True, kw_only=True):
    """A glob: names to be met exactly, and beginnings of names."""

    exact: frozenset[str]
    beginnings: tuple[str, ...]

    @classmethod
    def from_glob(cls, glob: str) -> _Names:
        alternatives = [alternative for part in glob.split("|") if (alternative := part.strip())]
        return cls(
            exact=frozenset(name for name in alternatives if not name.endswith("*")),
            beginnings=tuple(name[:-1] for name in alternatives if name.endswith("*")),
        )

    def hold(self, name: str) -> bool:
        return name in self.exact or name.startswith(self.beginnings)


class CompiledHookMatcher(Struct, frozen=True, kw_only=True):
    """A matcher whose patterns are compiled; takes time only as the texts are long."""

    tool_name: str | None
    names: _Names | None
    path: tuple[Step, ...] | None
    pattern: LinearPattern | None
    is_readable: bool

    def matches(self, tool_name: str, arguments: Any) -> bool:
        """
        Whether the hook is for this call.

        A value that is missing or null satisfies no condition. Raises `hookline.match.UnreadableValueError` for a
        value that has no text, since a guard must learn of it.
        """
        if not self.is_readable:
            return False
        if self.tool_name is not None and self.tool_name != tool_name:
            return False
        if self.names is not None and not self.names.hold(tool_name):
            return False
        if self.path is None:
            return True
        text = find_text(arguments, self.path)
        if text is None:
            return False
        return bool(text) if self.pattern is None else self.pattern.search(text)


def _find_bad_alternative(part: str) -> str | None:
    name = part.strip()
    if not name:
        return "an empty name between the bars matches nothing; leave it out"
    if "*" in name[:-1]:
        return f"in {name!r} a star stands elsewhere than at the end, where it would mean itself"
    special = next((character for character in _SPECIAL if character in name), None)
    if special is not None:
        return f"in {name!r} the {special!r} would mean itself; only a star at the end is special"
    return None
