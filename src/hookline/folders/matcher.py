"""Which occurrences of its event a hook folder is for: a pattern on one fact of the event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hookline.folders.event_names import EVENTS_BY_NAME
from hookline.folders.json_text import trim
from hookline.patterns.linear import LinearPattern, compile_whole


class Matcher(Struct, frozen=True, kw_only=True):
    """
    A matcher compiled once, when its hook is loaded.

    `text` is what the author wrote; without a `pattern` everything matches.
    """

    text: str = ""
    pattern: LinearPattern | None = None

    def accepts(self, subject: str) -> bool:
        """Whether the subject matches as a whole."""
        return self.pattern is None or self.pattern.fullmatch(subject)


def compile_matcher(text: str) -> Matcher:
    """
    Compile a matcher; an empty one and `*` match everything.

    It must be a pattern by itself, so that it cannot get out of being matched as a whole.
    Raises `hookline.patterns.linear.LinearPatternError`.
    """
    trimmed = trim(text)
    return Matcher(text=text, pattern=None if trimmed in {"", "*"} else compile_whole(trimmed, "go"))


def match_field(event_name: str, facts: Mapping[str, Any]) -> str:
    """
    The text that matchers of a folder event look at, out of the event's own facts; empty where they see none.

    `facts` are named as in the payload, for example `tool_name`.
    """
    row = EVENTS_BY_NAME[event_name]
    return str(facts.get(row.match_key, "")) if row.match_key else ""
