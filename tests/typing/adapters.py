"""One line of each adapter, as a user with a strict type checker writes it; read by mypy, never run."""

from __future__ import annotations

from agents import Agent as OpenAIAgent
from claude_agent_sdk import ClaudeAgentOptions
from langchain.agents import create_agent
from langgraph.prebuilt import ToolNode
from pydantic_ai import Agent

from hookline import Engine, Session
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
