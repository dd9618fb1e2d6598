"""MCP: an agent at the client of a server whose tools it calls."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from typing import Any

from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import TextContent

from adapters.driver import Agent, Call, Face, Seen, take
from hookline.adapters.mcp import HooklineMiddleware


def telling(function: Callable[..., Any]) -> Callable[..., Any]:
    """The tool with its errors told, which a server keeps to itself otherwise."""
    if asyncio.iscoroutinefunction(function):
        return function

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except ValueError as error:
            raise ToolError(str(error)) from error

    return run


async def call(client: Client, wanted: Call) -> str:
    result = await client.call_tool(wanted.tool, wanted.args)
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def work(client: Client, agent: Agent, said: list[str], seen: Seen) -> str:
    """Do what the script wants until it has an answer."""
    while True:
        step = take(agent.script, seen.requests, "\n".join(said))
        if isinstance(step, str):
            said.append(step)
            return step
        said += await asyncio.gather(*(call(client, wanted) for wanted in step))


async def run(agent: Agent, prompts: Sequence[str], seen: Seen, *, face: Face, **options: object) -> None:
    if agent.helpers or face != "async":
        raise NotImplementedError("a server has no agents, and always an event loop")
    server = MCPServer("tools", middleware=[HooklineMiddleware(**options)])
    for function in agent.tools:
        server.add_tool(telling(function))
    said: list[str] = []
    async with Client(server) as client:
        for prompt in prompts:
            said.append(prompt)
            try:
                seen.answers.append(await work(client, agent, said, seen))
            except Exception as error:
                seen.errors.append(error)
