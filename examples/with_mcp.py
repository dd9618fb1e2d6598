"""An MCP server whose tools obey hooks, and a client that calls one. Run it where there is a .hookline folder."""

import asyncio
import subprocess
import sys

from mcp import Client
from mcp.server import MCPServer

from hookline.adapters.mcp import HooklineMiddleware

server = MCPServer("shell", middleware=[HooklineMiddleware(kinds={"bash": "shell"})])


@server.tool()
def bash(command: str) -> str:
    """Run a command in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


async def call(command: str) -> None:
    """Stands for a client, such as an editor; it need not know of hooks."""
    async with Client(server) as client:
        result = await client.call_tool("bash", {"command": command})
        print("failed:" if result.is_error else "done:", result.content[0].text)


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(call(" ".join(sys.argv[1:])))
    else:
        server.run()
