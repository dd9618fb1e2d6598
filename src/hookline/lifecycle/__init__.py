"""
The events of an agent's life, in the right order and with the right fields, whatever goes wrong in between.

    async with Session(engine, id="s1") as session:
        async with session.turn("tidy up") as turn:
            result = await turn.call_tool(Tool(name="bash", kind="shell", args={"command": "ls"}), run_shell)

Every context manager works with `async with` and, in code without an event loop, with `with`; methods that do
something have a twin that ends in `_sync`.
"""

from hookline.lifecycle.arguments import WrapError
from hookline.lifecycle.change import Branch, Navigation, Switch
from hookline.lifecycle.compaction import Compaction
from hookline.lifecycle.errors import PromptBlockedError, StoppedError, ToolCallDeniedError, ToolFailedError
from hookline.lifecycle.model_step import ModelStep
from hookline.lifecycle.returned import read_returned, write_returned
from hookline.lifecycle.schema import SchemaError, make_check
from hookline.lifecycle.scope import Asked
from hookline.lifecycle.session import Session
from hookline.lifecycle.tool import ToolCall
from hookline.lifecycle.turn import Turn
from hookline.lifecycle.wrapping import wrap_tool

__all__ = [
    "Asked",
    "Branch",
    "Compaction",
    "ModelStep",
    "Navigation",
    "PromptBlockedError",
    "SchemaError",
    "Session",
    "StoppedError",
    "Switch",
    "ToolCall",
    "ToolCallDeniedError",
    "ToolFailedError",
    "Turn",
    "WrapError",
    "make_check",
    "read_returned",
    "wrap_tool",
    "write_returned",
]
