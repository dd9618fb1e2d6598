"""
One hook engine for AI agents.

    from hookline import BeforeToolCall, Engine, Event, Tool

    async with Engine.open(".") as engine:
        decision = await engine.fire(Event(BeforeToolCall(tool=Tool(name="bash", args={"command": "ls"}))))

The names below are imported when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookline.engine import Engine as Engine
    from hookline.errors import ConfigError as ConfigError
    from hookline.errors import HooklineError as HooklineError
    from hookline.errors import PayloadError as PayloadError
    from hookline.errors import UnknownEventError as UnknownEventError
    from hookline.events import EVENT_TYPES as EVENT_TYPES
    from hookline.events import AfterToolCall as AfterToolCall
    from hookline.events import AfterTurn as AfterTurn
    from hookline.events import Agent as Agent
    from hookline.events import ApprovalRequested as ApprovalRequested
    from hookline.events import ApprovalResolved as ApprovalResolved
    from hookline.events import BeforeToolCall as BeforeToolCall
    from hookline.events import BeforeTurn as BeforeTurn
    from hookline.events import Event as Event
    from hookline.events import EventType as EventType
    from hookline.events import Fields as Fields
    from hookline.events import PreCompact as PreCompact
    from hookline.events import SessionEnd as SessionEnd
    from hookline.events import SessionRestored as SessionRestored
    from hookline.events import SessionStart as SessionStart
    from hookline.events import SubAgent as SubAgent
    from hookline.events import SubAgentEnd as SubAgentEnd
    from hookline.events import SubAgentStart as SubAgentStart
    from hookline.events import Tool as Tool
    from hookline.events import ToolError as ToolError
    from hookline.events import ToolResult as ToolResult
    from hookline.events import UserInterrupt as UserInterrupt
    from hookline.events import UserPromptSubmit as UserPromptSubmit
    from hookline.events import WorkflowRunEnd as WorkflowRunEnd
    from hookline.events import WorkflowRunStart as WorkflowRunStart
    from hookline.hook import Hook as Hook
    from hookline.hook import Settings as Settings
    from hookline.lifecycle import PromptBlockedError as PromptBlockedError
    from hookline.lifecycle import Session as Session
    from hookline.lifecycle import StoppedError as StoppedError
    from hookline.lifecycle import ToolCallDeniedError as ToolCallDeniedError
    from hookline.outcome import Answer as Answer
    from hookline.outcome import Decision as Decision
    from hookline.outcome import Edit as Edit
    from hookline.outcome import Failure as Failure
    from hookline.outcome import Run as Run
    from hookline.problem import Place as Place
    from hookline.problem import Problem as Problem

_HOMES = {
    "engine": ("Engine",),
    "errors": ("ConfigError", "HooklineError", "PayloadError", "UnknownEventError"),
    "events": (
        "AfterToolCall",
        "AfterTurn",
        "Agent",
        "ApprovalRequested",
        "ApprovalResolved",
        "BeforeToolCall",
        "BeforeTurn",
        "EVENT_TYPES",
        "Event",
        "EventType",
        "Fields",
        "PreCompact",
        "SessionEnd",
        "SessionRestored",
        "SessionStart",
        "SubAgent",
        "SubAgentEnd",
        "SubAgentStart",
        "Tool",
        "ToolError",
        "ToolResult",
        "UserInterrupt",
        "UserPromptSubmit",
        "WorkflowRunEnd",
        "WorkflowRunStart",
    ),
    "hook": ("Hook", "Settings"),
    "lifecycle": ("PromptBlockedError", "Session", "StoppedError", "ToolCallDeniedError"),
    "outcome": ("Answer", "Decision", "Edit", "Failure", "Run"),
    "problem": ("Place", "Problem"),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - the names and where they live are written once, above
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'hookline' has no attribute {name!r}")
    value = getattr(import_module(f"hookline.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
