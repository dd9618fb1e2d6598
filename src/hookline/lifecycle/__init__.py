"""
The events of an agent's life, in the right order and with the right fields, whatever goes wrong in between.

    async with Session(engine, id="s1") as session:
        async with session.turn("tidy up") as turn:
            result = await turn.call_tool(Tool(name="bash", kind="shell", args={"command": "ls"}), run_shell)

Every context manager works with `async with` and, in code without an event loop, with `with`; methods that do
something have a twin that ends in `_sync`.
"""

from hookline.lifecycle.errors import PromptBlockedError, StoppedError, ToolCallDeniedError
from hookline.lifecycle.scope import Asked
from hookline.lifecycle.session import Session
from hookline.lifecycle.tool import ToolCall
from hookline.lifecycle.turn import Turn

__all__ = ["Asked", "PromptBlockedError", "Session", "StoppedError", "ToolCall", "ToolCallDeniedError", "Turn"]
