"""What Claude Code hands to hook callbacks as the result of a tool, and what it takes back from them."""

from __future__ import annotations

import json
from typing import Any

Data = dict[str, Any]


def say(event: str, **output: Any) -> Data:
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


def tell(data: Data, before: str, after: str) -> Data:
    """What Claude Code is told of how a tool call ended, whose text hooks made another one of."""
    if after == before:
        return {}
    added = after.removeprefix(f"{before}\n")
    if added != after or "tool_response" not in data:
        return say(data["hook_event_name"], additionalContext=added)
    edited = _edit_response(data["tool_response"], after)
    if edited is None:  # the model would see what hooks hide from it
        return {"continue_": False, "stopReason": f"Claude Code cannot be told what hooks made of {data['tool_name']}"}
    return say(data["hook_event_name"], updatedToolOutput=edited)


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
