"""
Deciding whether a hook is meant by an event: a `Match` compiled once, asked at every dispatch.

A match asks for an exact profile, tool kind and tool name, for texts in the tool's arguments, and for whatever
its predicate asks. Values that are not text are compared as Python's `str` of them. A missing argument or a null
never matches. It may also ask for a pattern on the event's subject, the one text that tells its occurrences apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hookline.events import Event
from hookline.hook import ArgumentMatch, Match, Predicate, SubjectMatch
from hookline.patterns.python import Pattern, compile_pattern

if TYPE_CHECKING:
    from hookline.patterns.linear import LinearPattern

_LONGEST_SHOWN = 200
_SUBJECTS: Mapping[str, Callable[[Any], str]] = {
    "session_start": lambda fields: "startup",
    "session_restored": lambda fields: "resume",
    "before_tool_call": lambda fields: str(fields.tool.name),
    "after_tool_call": lambda fields: str(fields.tool.name),
    "tool_error": lambda fields: str(fields.tool.name),
    "permission_request": lambda fields: str(fields.tool.name),
    "approval_requested": lambda fields: str(fields.tool.name),
    "approval_resolved": lambda fields: str(fields.tool.name),
    "sub_agent_start": lambda fields: str(fields.sub_agent.name),
    "sub_agent_end": lambda fields: str(fields.sub_agent.name),
    "pre_compact": lambda fields: str(fields.trigger),
    "post_compact": lambda fields: str(fields.trigger),
}


class UnreadableValueError(ValueError):
    """A tool argument that cannot be turned into text, so that no condition on it has an answer."""


class Search(Struct, frozen=True, kw_only=True):
    """A search left to be done out of place, since it might take long; `name` is the argument it is about."""

    pattern: Pattern
    subject: str
    name: str = ""


class Look(Struct, frozen=True, kw_only=True):
    """A predicate left to be asked on a thread, since the event's texts are long."""

    predicate: Predicate
    event: Event


class _Condition(Struct, frozen=True, kw_only=True):
    """The compiled conditions on one argument."""

    name: str
    equals: str | None
    contains: str | None
    pattern: Pattern | None


def find_subject(event: Event) -> str:
    """
    The text that tells an event's occurrences apart: the tool's or sub-agent's name, what set off a compaction,
    whether a session starts up or resumes. It is empty for other events.
    """
    read = _SUBJECTS.get(event.name)
    return "" if read is None else read(event.fields)


class CompiledMatch(Struct, frozen=True, kw_only=True):
    """A match ready to be asked; `test` never takes longer than the texts are long."""

    profile: str | None
    profiles: frozenset[str]
    tool_kind: str | None
    tool_name: str | None
    needs_tool: bool
    conditions: tuple[_Condition, ...]
    predicate: Predicate | None = None
    subject: LinearPattern | None = None

    @property
    def asks_more_than_names(self) -> bool:
        """Whether names of tools, kinds of tools and subjects do not yet say whether the event is meant."""
        return bool(self.profile is not None or self.profiles or self.conditions or self.predicate is not None)

    def test(self, event: Event) -> bool | tuple[Search | Look, ...]:
        """
        Whether the event is meant, or the searches and looks that all must succeed for it to be.

        Raises `UnreadableValueError` when an argument has no text.
        """
        if self.profile is not None and event.profile != self.profile:
            return False
        if self.profiles and event.profile not in self.profiles:
            return False
        if self.subject is not None and not self.subject.fullmatch(find_subject(event)):
            return False
        tool = event.tool if self.needs_tool else None
        if self.needs_tool and (
            tool is None
            or (self.tool_kind is not None and tool.kind != self.tool_kind)
            or (self.tool_name is not None and tool.name != self.tool_name)
        ):
            return False
        predicate = self.predicate
        if predicate is None:
            return self._test_arguments(tool.args) if tool is not None and self.conditions else True
        is_quick = predicate.is_quick(event)
        if is_quick and not predicate.holds(event):
            return False
        found = self._test_arguments(tool.args) if tool is not None and self.conditions else True
        if is_quick or found is False:
            return found
        return (*(found if isinstance(found, tuple) else ()), Look(predicate=predicate, event=event))

    def _test_arguments(self, args: Mapping[str, Any]) -> bool | tuple[Search, ...]:
        searches: list[Search] = []
        for condition in self.conditions:
            value = args.get(condition.name)
            if value is None:
                return False
            text = value if type(value) is str else _to_text(condition.name, value)
            if condition.equals is not None and text != condition.equals:
                return False
            if condition.contains is not None and condition.contains not in text:
                return False
            pattern = condition.pattern
            if pattern is None:
                continue
            if not pattern.is_safe_for(text):
                searches.append(Search(pattern=pattern, subject=text, name=condition.name))
            elif not pattern.found_in(text):
                return False
        return tuple(searches) or True


def compile_match(match: Match) -> CompiledMatch:
    """
    Compile a match.

    Raises `hookline.patterns.python.PatternError` for a pattern that `re` refuses, and
    `hookline.patterns.linear.LinearPatternError` for one on the subject that its flavour does not take.
    """
    return CompiledMatch(
        profile=match.profile,
        profiles=frozenset(match.profiles),
        tool_kind=match.tool_kind,
        tool_name=match.tool_name,
        needs_tool=match.needs_tool,
        conditions=tuple(_compile_condition(name, wanted) for name, wanted in match.args.items()),
        predicate=match.predicate,
        subject=None if match.subject is None else _compile_subject(match.subject),
    )


def _compile_subject(wanted: SubjectMatch) -> LinearPattern:
    # Imported when there is such a pattern: it is a good deal of code, and most hooks have none.
    from hookline.patterns.linear import compile_whole  # noqa: PLC0415

    return compile_whole(wanted.pattern, wanted.flavour)


def _compile_condition(name: str, wanted: ArgumentMatch) -> _Condition:
    return _Condition(
        name=name,
        equals=wanted.equals,
        contains=wanted.contains,
        pattern=None if wanted.regex is None else compile_pattern(wanted.regex),
    )


def _to_text(name: str, value: Any) -> str:
    try:
        return str(value)
    except Exception as error:  # a host's value may do anything; the guard that asked must learn of it
        raise UnreadableValueError(f"argument {name!r} cannot be read as text: {error}") from error


def find_mismatch(match: CompiledMatch, event: Event) -> str | None:
    """
    The first condition that does not hold, with the values compared; None when none is sure to fail.

    Says in words what `CompiledMatch.test` decides, and leaves aside the searches that it leaves aside.
    Raises `UnreadableValueError` when an argument has no text.
    """
    for name, wanted, found in _compare_names(match, event):
        if wanted != found:
            return f"{name} must be {wanted!r}; the event has {found!r}"
    if match.profiles and event.profile not in match.profiles:
        return f"profile must be one of {sorted(match.profiles)}; the event has {event.profile!r}"
    subject = find_subject(event)
    if match.subject is not None and not match.subject.fullmatch(subject):
        return f"the event's subject must match {match.subject.text!r} as a whole; it is {_shorten(subject)}"
    tool = event.tool
    if match.needs_tool and tool is None:
        return f"the match asks for a tool; {event.name} is about none"
    mismatch = None if match.predicate is None else match.predicate.find_mismatch(event)
    if mismatch is not None:
        return mismatch
    args = {} if tool is None else tool.args
    for condition in match.conditions:
        mismatch = _find_argument_mismatch(condition, args.get(condition.name))
        if mismatch is not None:
            return f"argument {condition.name!r} {mismatch}"
    return None


def _compare_names(match: CompiledMatch, event: Event) -> list[tuple[str, str, str | None]]:
    tool = event.tool
    pairs = [
        ("profile", match.profile, event.profile),
        ("tool_kind", match.tool_kind, tool.kind if tool else None),
        ("tool_name", match.tool_name, tool.name if tool else None),
    ]
    return [(name, wanted, found) for name, wanted, found in pairs if wanted is not None]


def _find_argument_mismatch(condition: _Condition, value: Any) -> str | None:
    if value is None:
        return "is missing or null"
    text = value if type(value) is str else _to_text(condition.name, value)
    shown = _shorten(text)
    if condition.equals is not None and text != condition.equals:
        return f"must equal {condition.equals!r}; it is {shown}"
    if condition.contains is not None and condition.contains not in text:
        return f"must contain {condition.contains!r}; it is {shown}"
    pattern = condition.pattern
    if pattern is not None and pattern.is_safe_for(text) and not pattern.found_in(text):
        return f"must match '{pattern.text}'; it is {shown}"
    return None


def _shorten(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")
