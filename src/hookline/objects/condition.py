"""The match of a hook object: what its matcher asks of a tool call, as a part of the engine's own match."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hookline.events import Event
from hookline.fields import Tool
from hookline.hook import Match
from hookline.objects.matcher import CompiledHookMatcher, HookMatcher
from hookline.objects.records import ObjectEvent, supports_matcher
from hookline.objects.value import find_text, find_value, is_short
from hookline.objects.wire import is_told

_LONGEST_SHOWN = 200


class MatcherPredicate(Struct, frozen=True, kw_only=True):
    """What a matcher asks beside the exact name of a tool; never holds for a call that was denied."""

    matcher: HookMatcher
    compiled: CompiledHookMatcher

    def is_quick(self, event: Event) -> bool:
        """Whether no long text has to be looked at."""
        tool, compiled = event.tool, self.compiled
        if tool is None or compiled.path is None or (compiled.names is not None and not compiled.names.hold(tool.name)):
            return True
        return is_short(find_value(tool.args, compiled.path))

    def holds(self, event: Event) -> bool:
        """Whether the hook is for the event's call; raises `hookline.match.UnreadableValueError`."""
        tool = event.tool
        return tool is not None and is_told(event) and self.compiled.matches(tool.name, tool.args)

    def find_mismatch(self, event: Event) -> str | None:
        """Why the hook is not for the event, in words; raises `hookline.match.UnreadableValueError`."""
        tool = event.tool
        if tool is None:
            return f"the matcher asks for a tool; {event.name} is about none"
        if not is_told(event):
            return "hook objects are not told of a tool call that was denied"
        return None if self.compiled.matches(tool.name, tool.args) else self._name_mismatch(tool)

    def _name_mismatch(self, tool: Tool) -> str:
        """The condition that does not hold for a call that does not match."""
        matcher, compiled = self.matcher, self.compiled
        if compiled.names is not None and not compiled.names.hold(tool.name):
            return f"tool_name must be one of {matcher.tool_name_glob!r}; the event has {tool.name!r}"
        where = f"the value at {matcher.args_jsonpath or '$'!r} of the arguments"
        text = None if compiled.path is None else find_text(tool.args, compiled.path)
        if text is None:
            return f"{where} is missing or null"
        if compiled.pattern is None:
            return f"{where} is an empty text"
        shown = repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")
        return f"{where} must match '{compiled.pattern.text}'; it is {shown}"

    def __str__(self) -> str:
        given = self.matcher.to_data().items()
        return ", ".join(f"{name} {value!r}" for name, value in given if value is not None) or "not denied"


def make_match(event: ObjectEvent, matcher: HookMatcher | None) -> Match:
    """
    The match of an object, its patterns compiled.

    The exact name of a tool becomes a word of the match itself, by which a registry finds its hooks.
    """
    if not supports_matcher(event):
        return Match()
    rest = HookMatcher() if matcher is None else replace(matcher, tool_name=None)
    # Every call that is about to run is told; of those that are over, not every one.
    is_unconditional = rest == HookMatcher() and event == "pre_tool_use"
    return Match(
        tool_name=None if matcher is None else matcher.tool_name,
        predicate=None if is_unconditional else MatcherPredicate(matcher=rest, compiled=rest.compile()),
    )
