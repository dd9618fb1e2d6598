"""What Claude Code hands to hook callbacks as the result of a tool, and what it takes back from them."""

from __future__ import annotations

import json
from typing import Any

Output = dict[str, Any]


def say(event: str, **output: Any) -> Output:
    """An answer to an event of Claude Code."""
    return {"hookSpecificOutput": {"hookEventName": event, **output}}


def read_response(response: Any) -> str:
    """What a tool returned, as a text: that of a shell or of a server's tool as it is, other things as JSON."""
    if isinstance(response, dict) and "stdout" in response:
        return "\n".join(text for text in (response["stdout"], response.get("stderr")) if text)
    parts = response if isinstance(response, list) else [response]
    texts = [part if isinstance(part, str) else part.get("text", "") for part in parts if isinstance(part, str | dict)]
    is_text = not isinstance(response, dict) and len(texts) == len(parts)
    return "\n".join(text for text in texts if text) if is_text else json.dumps(response)


def tell(response: Any, before: str, after: str) -> Output:
    """What Claude Code is told of a tool's result."""
    if after == before:
        return {}
    added = after.removeprefix(f"{before}\n")
    if added != after:
        return say("PostToolUse", additionalContext=added)
    edited = _edit_response(response, after)
    if edited is None:  # it would show the model what it was to hide
        return {"continue_": False, "stopReason": "a hook put a text in place of a result that can be no text"}
    return say("PostToolUse", updatedToolOutput=edited)


def _edit_response(response: Any, text: str) -> Any:
    """The same as Claude Code takes it from a hook, with another text; None if it would take nothing."""
    if isinstance(response, dict) and "stdout" in response:
        return {**response, "stdout": text, "stderr": ""}
    if isinstance(response, list):
        others = [part for part in response if isinstance(part, dict) and part.get("type") != "text"]
        return [{"type": "text", "text": text}, *others]
    if isinstance(response, str):
        return text
    try:
        edited = json.loads(text)
    except ValueError:
        return None
    return edited if isinstance(edited, dict) and edited.keys() == response.keys() else None
