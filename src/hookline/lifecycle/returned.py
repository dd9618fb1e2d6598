"""What a tool returns as hooks see it, and what its caller gets of what they make of it."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hookline.edit_rule import join_texts
from hookline.fields import ToolResult

logger = logging.getLogger("hookline")

Read = Callable[[Any], ToolResult]
"""From what a tool returned to the result that hooks see."""

Write = Callable[[Any, ToolResult], Any]
"""From what a tool returned, None if it raised, and the result as hooks left it, to what the caller gets instead."""

_PARTS = ("content", "details", "is_error")


def read_returned(returned: Any) -> ToolResult:
    """
    What a tool returned as a result.

    A mapping or an object with `content` gives that, its `details` and `is_error`. Anything else is a text, data as
    JSON.
    """
    if isinstance(returned, ToolResult):
        return returned
    if not _has_parts(returned):
        return ToolResult(text=_to_text(returned))
    content, details, is_error = (_get(returned, name) for name in _PARTS)
    if isinstance(content, str):
        return ToolResult(text=content, details=details, failed=bool(is_error))
    blocks = list(content)
    return ToolResult(text=join_texts(blocks), content=blocks, details=details, failed=bool(is_error))


def write_returned(returned: Any, result: ToolResult, *, name: str) -> Any:
    """
    What the caller of a tool gets after hooks have changed its result, in the shape of what it returned.

    A tool that raised has shown no shape: it gives the text, or the whole result if that has other parts too. So does
    an object that cannot be copied with other parts: what hooks took out of it must not get out.
    """
    if isinstance(returned, ToolResult):
        return result
    if _has_parts(returned):
        try:
            return _replace_parts(returned, result)
        except Exception as error:  # boundary: how an object is copied and set is its own code
            kind = type(returned).__name__
            logger.warning("tool %s: a %s cannot take what hooks made of it (%s), so it is a result", name, kind, error)
            return result
    if returned is None and (result.details is not None or not _is_text(result)):
        return result
    if result.details is not None or not _is_text(result):
        logger.warning("tool %s returns text, so of what hooks made of its result only the text is kept", name)
    return result.text


def _is_text(result: ToolResult) -> bool:
    return all(isinstance(block, Mapping) and block.get("type") == "text" for block in result.blocks)


def _has_parts(returned: Any) -> bool:
    if isinstance(returned, type):
        return False
    content = _get(returned, "content")
    return isinstance(content, str | list | tuple)


def _get(returned: Any, name: str) -> Any:
    if isinstance(returned, Mapping):
        return returned.get(name)
    try:
        return getattr(returned, name, None)
    except Exception:  # boundary: a property is the tool's own code, and no failure of the tool
        return None


def _replace_parts(returned: Any, result: ToolResult) -> Any:
    """A copy with the parts that hooks have changed; the others stay the objects they are."""
    before = read_returned(returned)
    content: Sequence[Any] | str = result.text if result.content is None else result.content
    if before.content is None and _is_text(result):
        content = result.text  # it was a text, and nothing else has come to it
    changes = {
        name: after
        for name, now, after in (
            ("content", before.text if before.content is None else before.content, content),
            ("details", before.details, result.details),
            ("is_error", before.failed, result.failed),
        )
        if now is not after and repr(now) != repr(after)
    }
    if "content" in changes and isinstance(content, str) and before.content is not None:
        changes["content"] = [{"type": "text", "text": content}]
    if isinstance(returned, Mapping):
        return {**returned, **changes}
    if isinstance(returned, Struct):
        return replace(returned, **changes)
    copied = copy.copy(returned)
    for name, value in changes.items():
        object.__setattr__(copied, name, value)  # also of a frozen record, which is a copy that nobody has seen yet
    return copied


def _to_text(returned: Any) -> str:
    if returned is None:
        return ""
    if isinstance(returned, Mapping | list | tuple):
        try:
            return json.dumps(returned, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            pass
    try:
        return str(returned)
    except Exception as error:  # boundary: as above; hooks are told that there is something
        return f"<{type(returned).__name__} without a text: {error}>"
