"""Keeps messages that are only for debugging away from the model, at each of its calls."""

from __future__ import annotations

from typing import Any

from hookline.modules import ContextEvent, ContextReturn, HookAPI


def is_for_debugging(message: Any) -> bool:
    return bool(message["role"] == "custom" and message.get("custom_type") == "debug-only")


def hook(api: HookAPI) -> None:
    @api.on("context")
    async def drop_debugging(event: ContextEvent) -> ContextReturn:
        return {"messages": [message for message in event.messages if not is_for_debugging(message)]}
