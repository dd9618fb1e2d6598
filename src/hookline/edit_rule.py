"""What hooks may do to the fields of an event, as rules that rows of the event table are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hookline.fields import AfterToolCall

Operation = Literal["merge", "replace", "append", "clear"]
Combination = Literal["chained", "latest", "first"]


_SEVERAL: Mapping[Combination, str] = {
    "chained": "the later wins, and each hook sees the earlier ones",
    "latest": "the last stands",
    "first": "the first stands",
}


class EditRule(Struct, frozen=True, kw_only=True):
    """
    What hooks may do to one field of an event, and what becomes of several edits of it.

    `path` is where the field stands in the event's record; empty for what is handed to the host beside the event,
    such as `reminders`. `chained`: each hook sees the edits before its own; `latest`: the last edit stands;
    `first`: the first edit stands. `kind` is what a new value must be an instance of, `cleared` the value after
    `clear`; `follow` gets the record before and after an edit, and makes what else changes along with the field.
    """

    operations: frozenset[Operation]
    path: tuple[str, ...] = ()
    combination: Combination = "chained"
    kind: type | tuple[type, ...] = object
    cleared: Any = None
    follow: Callable[[Any, Any], Any] | None = None

    @property
    def several(self) -> str:
        """What becomes of the edits of several hooks, in words that go on from "of several, "."""
        return "all stand, in order" if "append" in self.operations else _SEVERAL[self.combination]


def _follow_text(before: AfterToolCall, after: AfterToolCall) -> AfterToolCall:
    """A result that is replaced by a text has no other parts left, not even when it is the text it had."""
    del before
    return after if after.result.content is None else replace(after, result=replace(after.result, content=None))


def _follow_content(before: AfterToolCall, after: AfterToolCall) -> AfterToolCall:
    """The text of a result with new content is that of its blocks."""
    if after is before:
        return after
    return replace(after, result=replace(after.result, text=join_texts(after.result.content or ())))


def join_texts(blocks: Iterable[Any]) -> str:
    """The texts among the blocks of a result, a line each."""
    texts = (block.get("text") for block in blocks if isinstance(block, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


APPEND = EditRule(operations=frozenset({"append"}))
_EITHER: frozenset[Operation] = frozenset({"replace", "clear"})
LATEST = EditRule(operations=_EITHER, combination="latest")
RESULT = {
    "result": EditRule(operations=_EITHER, path=("result", "text"), kind=str, cleared="", follow=_follow_text),
    "content": EditRule(
        operations=_EITHER, path=("result", "content"), kind=(list, tuple), cleared=(), follow=_follow_content
    ),
    "details": EditRule(operations=_EITHER, path=("result", "details")),
    "is_error": EditRule(operations=_EITHER, path=("result", "failed"), kind=bool, cleared=False),
}
