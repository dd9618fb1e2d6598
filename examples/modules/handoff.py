"""The command /handoff goes on in a new session, which begins with a message."""

from __future__ import annotations

import time

from hookline.modules import CommandContext, HookAPI, SessionWriter


async def set_up(session: SessionWriter) -> None:
    session.append_message(
        {
            "role": "user",
            "content": [{"type": "text", "text": "Continue from prior session summary."}],
            "timestamp": time.time_ns() // 1_000_000,
        }
    )


async def hand_off(args: str, ctx: CommandContext) -> None:
    await ctx.wait_for_idle()
    await ctx.new_session(parent_session=ctx.session.file, setup=set_up)


def hook(api: HookAPI) -> None:
    api.register_command("handoff", hand_off, description="Create a new session with a setup message.")
