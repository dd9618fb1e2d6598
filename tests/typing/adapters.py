"""One line of each adapter, as a user with a strict type checker writes it; read by mypy, never run."""

from __future__ import annotations

from langchain.agents import create_agent
from langgraph.prebuilt import ToolNode
from pydantic_ai import Agent

from hookline import Engine, Session
from hookline.adapters.langchain import HooklineMiddleware
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
    ToolNode([], wrap_tool_call=hooks.wrap_tool_call, awrap_tool_call=hooks.awrap_tool_call)
