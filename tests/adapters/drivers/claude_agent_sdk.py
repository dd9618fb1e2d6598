"""The Claude Agent SDK with the Claude Code that it brings, whose model is a server in this process."""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    SdkMcpTool,
    create_sdk_mcp_server,
)

from adapters.driver import Agent, Call, Face, Seen, take
from hookline import Tool
from hookline.adapters.claude_agent_sdk import HooklineHooks
from hookline.demo.frameworks.messages_api import MessagesApi

SERVER = "t"


class Script:
    """Follows the scripts of an agent and of its helpers, told apart by what their system prompts say."""

    def __init__(self, agent: Agent, seen: Seen) -> None:
        self.agent = agent
        self.seen = seen
        self.failure: Exception | None = None

    def __call__(self, request: dict[str, Any]) -> str | list[Tool]:
        if self.failure is not None:  # Claude Code tries again
            raise self.failure
        system = json.dumps(request.get("system"))
        helper = next((helper for helper in self.agent.helpers if introduce(helper) in system), None)
        agent, calls = (self.agent, self.seen.requests) if helper is None else (helper, self.seen.helped)
        try:
            step = take(agent.script, calls, show(request["messages"]))
        except Exception as error:
            self.failure = error
            raise
        return step if isinstance(step, str) else [self.make_call(call) for call in step]

    def make_call(self, call: Call | Tool) -> Tool:
        if isinstance(call, Tool):  # of Claude Code itself
            return call
        if call.tool in (helper.name for helper in self.agent.helpers):
            args = {"description": "help", "prompt": call.args["task"], "subagent_type": call.tool}
            return Tool(name="Agent", args=args)
        return Tool(name=f"mcp__{SERVER}__{call.tool}", args=call.args)


def introduce(helper: Agent) -> str:
    return f"You are {helper.name}."


def show(value: Any) -> str:
    """All text of a request."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(show(item) for item in value)
    return show(value.get("text") or value.get("content") or "")


def make_tool(function: Callable[..., Any]) -> SdkMcpTool[Any]:
    async def handle(args: dict[str, Any]) -> dict[str, Any]:
        found = function(**args)
        text = await found if inspect.isawaitable(found) else found
        return {"content": [{"type": "text", "text": text}]}

    schema = dict.fromkeys(inspect.signature(function).parameters, str)
    return SdkMcpTool(function.__name__, inspect.getdoc(function) or "", schema, handle)


def make_options(agent: Agent, api: MessagesApi, folder: str, **others: Any) -> ClaudeAgentOptions:
    functions = [*agent.tools, *(tool for helper in agent.helpers for tool in helper.tools if tool not in agent.tools)]
    server = create_sdk_mcp_server(SERVER, tools=[make_tool(function) for function in functions])
    helpers = {helper.name: AgentDefinition("Helps.", prompt=introduce(helper)) for helper in agent.helpers}
    return ClaudeAgentOptions(
        mcp_servers={SERVER: server},
        allowed_tools=[f"mcp__{SERVER}", "Agent"],
        agents=helpers or None,
        setting_sources=[],
        cwd=folder,
        env=api.env,
        **others,
    )


async def run_once(client: ClaudeSDKClient, prompt: str) -> str:
    await client.query(prompt)
    answer = ""
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            answer = message.result or ""
            if message.is_error:
                raise RuntimeError(answer)
    return answer


async def run(agent: Agent, prompts: Sequence[str], seen: Seen, *, face: Face, **options: Any) -> None:
    if face == "sync":
        raise NotImplementedError("the SDK is asynchronous")
    hooks = HooklineHooks(**options)
    with tempfile.TemporaryDirectory() as folder, MessagesApi(Script(agent, seen)) as api:
        made = make_options(agent, api, folder, include_partial_messages=face == "stream")
        async with hooks.client(made, agent=agent.name) as client:
            for prompt in prompts:
                try:
                    seen.answers.append(await run_once(client, prompt))
                except Exception as error:
                    seen.errors.append(error)
