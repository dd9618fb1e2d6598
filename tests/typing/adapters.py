"""One line of each adapter, as a user with a strict type checker writes it; read by mypy, never run."""

from __future__ import annotations

from agents import Agent as OpenAIAgent
from claude_agent_sdk import ClaudeAgentOptions
from google.adk.agents import LlmAgent
from google.adk.apps import App
from langchain.agents import create_agent
from langgraph.prebuilt import ToolNode
from mcp.server import MCPServer
from pydantic_ai import Agent
from strands import Agent as StrandsAgent

from hookline import Engine, Session
from hookline.adapters import google_adk, mcp, strands
from hookline.adapters.claude_agent_sdk import HooklineHooks
from hookline.adapters.langchain import HooklineMiddleware
from hookline.adapters.openai_agents import HooklineRunner
from hookline.adapters.pydantic_ai import HooklineCapability
from hookline.lifecycle import Asked
from hookline.telemetry import instrument


def ask(question: Asked) -> bool:
    return "push" not in question.reason


with Engine.open(".") as engine, Session(instrument(engine)) as session:
    plain = Agent("test", capabilities=[HooklineCapability()])
    typed = Agent("test", deps_type=int, capabilities=[HooklineCapability(session=session)])
    create_agent(
        "test", [], middleware=[HooklineMiddleware(engine=instrument(engine), kinds={"bash": "shell"}, ask=ask)]
    )
    hooks = HooklineMiddleware(cwd=".", trust="none", profile="Code")
    HooklineRunner(session=session).run_sync(OpenAIAgent("test"), "hello", max_turns=3).to_input_list()
    HooklineHooks(ask=ask).query(prompt="hello", options=ClaudeAgentOptions(cwd="."), agent="Code")
    HooklineHooks(kinds={"Bash": "shell"}).client(ClaudeAgentOptions())
    ToolNode([], wrap_tool_call=hooks.wrap_tool_call, awrap_tool_call=hooks.awrap_tool_call)
    MCPServer("files", middleware=[mcp.HooklineMiddleware(session=session)])
    StrandsAgent("test", plugins=[strands.HooklinePlugin(engine=engine)])
    App(name="helper", root_agent=LlmAgent(name="helper"), plugins=[google_adk.HooklinePlugin(ask=ask)])
