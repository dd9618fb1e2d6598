"""Takes API keys out of what the model reads of files."""

from __future__ import annotations

import re
from typing import Any

from hookline.modules import HookAPI, ToolResultEvent, ToolResultReturn

KEY = re.compile(r"API_KEY=\S+")


def redact(block: Any) -> Any:
    if block["type"] != "text":
        return block
    return {**block, "text": KEY.sub("API_KEY=[REDACTED]", block["text"])}


def hook(api: HookAPI) -> None:
    @api.on("tool_result", tool_name="read")
    async def redact_content(event: ToolResultEvent) -> ToolResultReturn | None:
        if event.is_error:
            return None
        return {"content": [redact(block) for block in event.content]}
