"""A job done at the client of an MCP server, since a server has no agents of its own."""

from __future__ import annotations

from mcp import Client
from mcp.server import MCPServer

from hookline.adapters.mcp import HooklineMiddleware
from hookline.demo.frameworks.job import Job, RunAgent


def build(job: Job) -> RunAgent:
    """A client that makes the calls of the job's script."""
    server = MCPServer("bench", middleware=job.choose_adapter(HooklineMiddleware))
    for tool in job.tools:
        server.add_tool(tool)

    async def run() -> str:
        async with Client(server) as client:
            results: list[str] = []
            while (step := job.find_step(results)) is not None:
                result = await client.call_tool(step.name, dict(step.args))
                results.append(result.content[0].text)
        return job.answer

    return run
