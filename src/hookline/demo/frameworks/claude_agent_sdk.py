"""The agent of the demo inside Claude Code, by the Claude Agent SDK."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, SdkMcpTool, create_sdk_mcp_server, query
from msgspec.structs import replace

from hookline.adapters.claude_agent_sdk import HooklineHooks
from hookline.demo.frameworks.job import Job, RunAgent
from hookline.demo.frameworks.messages_api import MessagesApi
from hookline.fields import Tool

_PREFIX = "mcp__demo__"  # what Claude Code puts before the names of a server's tools


def build(job: Job) -> RunAgent:
    """An agent that does the job."""
    adapter = next(iter(job.choose_adapter(_make_hooks)), None)
    server = create_sdk_mcp_server("demo", tools=[_make_tool(tool) for tool in job.tools])

    def answer(request: Mapping[str, Any]) -> str | list[Tool]:
        contents = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
        blocks = [block for content in contents for block in content if block.get("type") == "tool_result"]
        step = job.find_step([_read_text(block["content"]) for block in blocks])
        return job.answer if step is None else [replace(step, name=_PREFIX + step.name)]

    async def run() -> str:
        options = ClaudeAgentOptions(
            mcp_servers={"demo": server},
            allowed_tools=[_PREFIX.removesuffix("__")],
            setting_sources=[],
            model=job.model,
        )
        with contextlib.ExitStack() as stack:
            if job.model is None:
                options.env = stack.enter_context(MessagesApi(answer)).env
            ask: Any = query if adapter is None else adapter.query
            results = [m async for m in ask(prompt=job.prompt, options=options) if isinstance(m, ResultMessage)]
        return str(results[-1].result)

    return run


def _make_hooks(**options: Any) -> HooklineHooks:
    kinds = {_PREFIX + name: kind for name, kind in options.pop("kinds", {}).items()}
    return HooklineHooks(kinds=kinds, **options)


def _make_tool(function: Callable[..., str]) -> SdkMcpTool[Any]:
    async def handle(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": function(**args)}]}

    schema = dict.fromkeys(inspect.signature(function).parameters, str)
    return SdkMcpTool(function.__name__, inspect.getdoc(function) or "", schema, handle)


def _read_text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)
