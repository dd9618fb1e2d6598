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
    from hookline.catalogue import Meant as Meant
    from hookline.engine import Engine as Engine
    from hookline.errors import ConfigError as ConfigError
    from hookline.errors import HooklineError as HooklineError
    from hookline.errors import PayloadError as PayloadError
    from hookline.errors import UnknownEventError as UnknownEventError
    from hookline.events import EVENT_TYPES as EVENT_TYPES
    from hookline.events import Event as Event
    from hookline.events import EventType as EventType
    from hookline.events import Fields as Fields
    from hookline.facts import HostFacts as HostFacts
    from hookline.fields import AfterToolCall as AfterToolCall
    from hookline.fields import AfterTurn as AfterTurn
    from hookline.fields import Agent as Agent
    from hookline.fields import ApprovalRequested as ApprovalRequested
    from hookline.fields import ApprovalResolved as ApprovalResolved
    from hookline.fields import AutoCompactionEnd as AutoCompactionEnd
    from hookline.fields import AutoCompactionStart as AutoCompactionStart
    from hookline.fields import AutoRetryEnd as AutoRetryEnd
    from hookline.fields import AutoRetryStart as AutoRetryStart
    from hookline.fields import BeforeAgentStart as BeforeAgentStart
    from hookline.fields import BeforeCompact as BeforeCompact
    from hookline.fields import BeforeModelCall as BeforeModelCall
    from hookline.fields import BeforeToolCall as BeforeToolCall
    from hookline.fields import BeforeTurn as BeforeTurn
    from hookline.fields import Compacting as Compacting
    from hookline.fields import HookFailed as HookFailed
    from hookline.fields import ModelStepEnd as ModelStepEnd
    from hookline.fields import ModelStepStart as ModelStepStart
    from hookline.fields import PermissionRequest as PermissionRequest
    from hookline.fields import PostCompact as PostCompact
    from hookline.fields import PreCompact as PreCompact
    from hookline.fields import SessionBeforeBranch as SessionBeforeBranch
    from hookline.fields import SessionBeforeSwitch as SessionBeforeSwitch
    from hookline.fields import SessionBeforeTree as SessionBeforeTree
    from hookline.fields import SessionBranch as SessionBranch
    from hookline.fields import SessionEnd as SessionEnd
    from hookline.fields import SessionRestored as SessionRestored
    from hookline.fields import SessionStart as SessionStart
    from hookline.fields import SessionSwitch as SessionSwitch
    from hookline.fields import SessionTree as SessionTree
    from hookline.fields import SubAgent as SubAgent
    from hookline.fields import SubAgentEnd as SubAgentEnd
    from hookline.fields import SubAgentStart as SubAgentStart
    from hookline.fields import TodoReminder as TodoReminder
    from hookline.fields import Tool as Tool
    from hookline.fields import ToolError as ToolError
    from hookline.fields import ToolResult as ToolResult
    from hookline.fields import TtsrTriggered as TtsrTriggered
    from hookline.fields import UserInterrupt as UserInterrupt
    from hookline.fields import UserPromptSubmit as UserPromptSubmit
    from hookline.fields import WorkflowRunEnd as WorkflowRunEnd
    from hookline.fields import WorkflowRunStart as WorkflowRunStart
    from hookline.hook import Hook as Hook
    from hookline.hook import Settings as Settings
    from hookline.lifecycle import PromptBlockedError as PromptBlockedError
    from hookline.lifecycle import Session as Session
    from hookline.lifecycle import StoppedError as StoppedError
    from hookline.lifecycle import ToolCallDeniedError as ToolCallDeniedError
    from hookline.lifecycle import ToolFailedError as ToolFailedError
    from hookline.lifecycle import wrap_tool as wrap_tool
    from hookline.objects.matcher import HookMatcher as HookMatcher
    from hookline.objects.protocol import HookObject as HookObject
    from hookline.objects.records import Allow as Allow
    from hookline.objects.records import Block as Block
    from hookline.objects.records import Error as Error
    from hookline.objects.records import HookPayload as HookPayload
    from hookline.objects.records import Mutate as Mutate
    from hookline.objects.shell import ShellHook as ShellHook
    from hookline.outcome import Answer as Answer
    from hookline.outcome import Decision as Decision
    from hookline.outcome import Edit as Edit
    from hookline.outcome import Failure as Failure
    from hookline.outcome import Run as Run
    from hookline.problem import Place as Place
    from hookline.problem import Problem as Problem
    from hookline.registry import Closure as Closure
    from hookline.reloading import HookName as HookName
    from hookline.reloading import Reloaded as Reloaded
    from hookline.runners.agent import PromptRunner as PromptRunner
    from hookline.runners.agent import Task as Task
    from hookline.runners.agent import Workflow as Workflow

_HOMES = {
    "catalogue": ("Meant",),
    "engine": ("Engine",),
    "errors": ("ConfigError", "HooklineError", "PayloadError", "UnknownEventError"),
    "events": ("EVENT_TYPES", "Event", "EventType", "Fields"),
    "facts": ("HostFacts",),
    "fields": (
        "AfterToolCall",
        "AfterTurn",
        "Agent",
        "ApprovalRequested",
        "ApprovalResolved",
        "AutoCompactionEnd",
        "AutoCompactionStart",
        "AutoRetryEnd",
        "AutoRetryStart",
        "BeforeAgentStart",
        "BeforeCompact",
        "BeforeModelCall",
        "BeforeToolCall",
        "BeforeTurn",
        "Compacting",
        "HookFailed",
        "ModelStepEnd",
        "ModelStepStart",
        "PermissionRequest",
        "PostCompact",
        "PreCompact",
        "SessionBeforeBranch",
        "SessionBeforeSwitch",
        "SessionBeforeTree",
        "SessionBranch",
        "SessionEnd",
        "SessionRestored",
        "SessionStart",
        "SessionSwitch",
        "SessionTree",
        "SubAgent",
        "SubAgentEnd",
        "SubAgentStart",
        "TodoReminder",
        "Tool",
        "ToolError",
        "ToolResult",
        "TtsrTriggered",
        "UserInterrupt",
        "UserPromptSubmit",
        "WorkflowRunEnd",
        "WorkflowRunStart",
    ),
    "hook": ("Hook", "Settings"),
    "lifecycle": (
        "PromptBlockedError",
        "Session",
        "StoppedError",
        "ToolCallDeniedError",
        "ToolFailedError",
        "wrap_tool",
    ),
    "objects.matcher": ("HookMatcher",),
    "objects.protocol": ("HookObject",),
    "objects.records": ("Allow", "Block", "Error", "HookPayload", "Mutate"),
    "objects.shell": ("ShellHook",),
    "outcome": ("Answer", "Decision", "Edit", "Failure", "Run"),
    "problem": ("Place", "Problem"),
    "registry": ("Closure",),
    "reloading": ("HookName", "Reloaded"),
    "runners.agent": ("PromptRunner", "Task", "Workflow"),
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
