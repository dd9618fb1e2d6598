"""Asks the person at the terminal before the agent publishes something."""

from __future__ import annotations

from hookline.modules import Context, HookAPI, ToolCallEvent, ToolCallReturn


def hook(api: HookAPI) -> None:
    """Register the one handler of this module."""

    @api.on("tool_call", tool_name="publish", id="ask-to-publish", description="Ask before something is published.")
    async def ask(event: ToolCallEvent, ctx: Context) -> ToolCallReturn | None:
        if not ctx.has_ui:
            return {"block": True, "reason": "nobody is there to agree that it is published"}
        ctx.ui.set_status("publish", f"the agent waits to publish {event.input['path']}")
        is_agreed = await ctx.ui.confirm("Publish?", f"The agent wants to publish {event.input['path']}.")
        ctx.ui.set_status("publish", None)
        return None if is_agreed else {"block": True, "reason": "the user does not want it published"}
