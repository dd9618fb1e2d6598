"""Asks the user before a shell command removes a tree by force; blocks it where nobody can be asked."""

from __future__ import annotations

from hookline.modules import Context, HookAPI, ToolCallEvent, ToolCallReturn


def hook(api: HookAPI) -> None:
    @api.on("tool_call", tool_name="bash")
    async def guard(event: ToolCallEvent, ctx: Context) -> ToolCallReturn | None:
        command = str(event.input.get("command", ""))
        if "rm -rf" not in command:
            return None
        if not ctx.has_ui:
            return {"block": True, "reason": "rm -rf blocked (no UI)"}
        if not await ctx.ui.confirm("Dangerous command", f"Allow: {command}"):
            return {"block": True, "reason": "user denied command"}
        return None
