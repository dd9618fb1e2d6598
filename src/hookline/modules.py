"""
What authors of modules and of hosts import, in one place.

A module is a Python file with a function `hook(api)`:

    from hookline.modules import Context, HookAPI, ToolCallEvent, ToolCallReturn

    def hook(api: HookAPI) -> None:
        @api.on("tool_call", tool_name="bash")
        async def guard(event: ToolCallEvent, ctx: Context) -> ToolCallReturn | None:
            if "rm -rf" in event.input.get("command", ""):
                return {"block": True, "reason": "blocked by policy"}
            return None

A host hands its `Host` and `UI` to `Engine.open`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from hookline.engine import Engine
from hookline.errors import ConfigError
from hookline.handlers.api import Command, CommandHandler, HookAPI, Renderer
from hookline.handlers.blocking import BlockingUI, DialogCancelledError
from hookline.handlers.context import CommandContext, Context, PlainCommandContext, PlainContext
from hookline.handlers.dialog import Dialog
from hookline.handlers.discover import (
    Discovery,
    Found,
    HookItem,
    Provider,
    SkippedFile,
    discover,
    discover_sync,
)
from hookline.handlers.events import (
    AgentEndEvent,
    AgentStartEvent,
    AutoCompactionEndEvent,
    AutoCompactionStartEvent,
    AutoRetryEndEvent,
    AutoRetryStartEvent,
    BeforeAgentStartEvent,
    ContextEvent,
    HandlerEvent,
    OtherEvent,
    SessionBeforeBranchEvent,
    SessionBeforeCompactEvent,
    SessionBeforeSwitchEvent,
    SessionBeforeTreeEvent,
    SessionBranchEvent,
    SessionCompactEvent,
    SessionCompactingEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    SessionTreeEvent,
    TodoReminderEvent,
    ToolCallEvent,
    ToolResultEvent,
    TtsrTriggeredEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from hookline.handlers.exec import ExecError, ExecResult, exec_command
from hookline.handlers.folders import FolderProvider, builtin_providers
from hookline.handlers.host import (
    CustomMessage,
    DeliverAs,
    Host,
    NotWiredError,
    SessionView,
    SessionWriter,
    Setup,
    UnwiredHost,
)
from hookline.handlers.loader import LoadedModule, LoadError, Loading
from hookline.handlers.modules import ErrorListener, HookError, Modules, UnknownCommandError
from hookline.handlers.paths import UnusablePathError, resolve_path
from hookline.handlers.registration import HandlerError
from hookline.handlers.results import (
    BeforeAgentStartResult,
    BeforeAgentStartReturn,
    CancelResult,
    CancelReturn,
    ContextResult,
    ContextReturn,
    PromptResult,
    PromptReturn,
    SessionBeforeBranchResult,
    SessionBeforeBranchReturn,
    SessionBeforeCompactResult,
    SessionBeforeCompactReturn,
    SessionBeforeTreeResult,
    SessionBeforeTreeReturn,
    SessionCompactingResult,
    SessionCompactingReturn,
    ToolCallResult,
    ToolCallReturn,
    ToolResultResult,
    ToolResultReturn,
)
from hookline.handlers.status import StatusLine, render_status
from hookline.handlers.surface import HandlerUI
from hookline.handlers.theme import PLAIN_THEME, TERMINAL_THEME, Theme, Tone
from hookline.handlers.typed import (
    Asked,
    BeforeAgentStartHandler,
    ContextHandler,
    On,
    Options,
    PermissionRequestHandler,
    PromptHandler,
    Remove,
    SessionBeforeBranchHandler,
    SessionBeforeCompactHandler,
    SessionBeforeSwitchHandler,
    SessionBeforeTreeHandler,
    SessionCompactingHandler,
    Told,
    ToolCallHandler,
    ToolResultHandler,
)
from hookline.handlers.ui import UI, HeadlessUI, Kind, UIError
from hookline.hook import ModuleSpec

logger = logging.getLogger("hookline")

__all__ = [
    "PLAIN_THEME",
    "TERMINAL_THEME",
    "UI",
    "AgentEndEvent",
    "AgentStartEvent",
    "Asked",
    "AutoCompactionEndEvent",
    "AutoCompactionStartEvent",
    "AutoRetryEndEvent",
    "AutoRetryStartEvent",
    "BeforeAgentStartEvent",
    "BeforeAgentStartHandler",
    "BeforeAgentStartResult",
    "BeforeAgentStartReturn",
    "BlockingUI",
    "CancelResult",
    "CancelReturn",
    "Command",
    "CommandContext",
    "CommandHandler",
    "Context",
    "ContextEvent",
    "ContextHandler",
    "ContextResult",
    "ContextReturn",
    "CustomMessage",
    "DeliverAs",
    "Dialog",
    "DialogCancelledError",
    "Discovery",
    "ErrorListener",
    "ExecError",
    "ExecResult",
    "FolderProvider",
    "Found",
    "HandlerError",
    "HandlerEvent",
    "HandlerUI",
    "HeadlessUI",
    "HookAPI",
    "HookError",
    "HookItem",
    "Host",
    "Kind",
    "LoadError",
    "LoadedModule",
    "Loading",
    "Modules",
    "NotWiredError",
    "On",
    "Options",
    "OtherEvent",
    "PermissionRequestHandler",
    "PlainCommandContext",
    "PlainContext",
    "PromptHandler",
    "PromptResult",
    "PromptReturn",
    "Provider",
    "Remove",
    "Renderer",
    "SessionBeforeBranchEvent",
    "SessionBeforeBranchHandler",
    "SessionBeforeBranchResult",
    "SessionBeforeBranchReturn",
    "SessionBeforeCompactEvent",
    "SessionBeforeCompactHandler",
    "SessionBeforeCompactResult",
    "SessionBeforeCompactReturn",
    "SessionBeforeSwitchEvent",
    "SessionBeforeSwitchHandler",
    "SessionBeforeTreeEvent",
    "SessionBeforeTreeHandler",
    "SessionBeforeTreeResult",
    "SessionBeforeTreeReturn",
    "SessionBranchEvent",
    "SessionCompactEvent",
    "SessionCompactingEvent",
    "SessionCompactingHandler",
    "SessionCompactingResult",
    "SessionCompactingReturn",
    "SessionShutdownEvent",
    "SessionStartEvent",
    "SessionSwitchEvent",
    "SessionTreeEvent",
    "SessionView",
    "SessionWriter",
    "Setup",
    "SkippedFile",
    "StatusLine",
    "Theme",
    "TodoReminderEvent",
    "Told",
    "Tone",
    "ToolCallEvent",
    "ToolCallHandler",
    "ToolCallResult",
    "ToolCallReturn",
    "ToolResultEvent",
    "ToolResultHandler",
    "ToolResultResult",
    "ToolResultReturn",
    "TtsrTriggeredEvent",
    "TurnEndEvent",
    "TurnStartEvent",
    "UIError",
    "UnknownCommandError",
    "UnwiredHost",
    "builtin_providers",
    "discover",
    "discover_sync",
    "exec_command",
    "load",
    "render_status",
]


def load(
    engine: Engine,
    paths: Iterable[str | os.PathLike[str]],
    *,
    cwd: str | os.PathLike[str] | None = None,
    is_required: bool = False,
    timeout_s: float | None = None,
) -> Loading:
    """
    Load module files into an engine, besides those that its hook files name.

    A relative path counts from `cwd`, by default the process's; one that is loaded already is passed over.
    `timeout_s` is the time limit in seconds of handlers that have none of their own. What fails contributes
    nothing, is an error of the result and in the log; with `is_required` it raises `ConfigError` instead, and none
    of the paths is loaded.
    """
    base = Path.cwd() if cwd is None else Path(cwd)
    known = {os.path.realpath(module.spec.path) for module in engine.modules.loaded}
    specs: list[ModuleSpec] = []
    unusable: list[LoadError] = []
    for path in paths:
        spec = ModuleSpec(path=Path(path), layer="code", is_required=is_required, timeout_s=timeout_s)
        try:
            spec = replace(spec, path=resolve_path(os.fspath(path), base, Path.home()))
        except UnusablePathError as error:
            unusable.append(LoadError(spec=spec, text=str(error)))
            continue
        if (real := os.path.realpath(spec.path)) not in known:
            known.add(real)
            specs.append(spec)
    if unusable and is_required:
        raise ConfigError(f"a module that is required cannot be loaded: {unusable[0].text}")
    loading = engine.handling.add(specs)
    loading = Loading(modules=loading.modules, errors=(*unusable, *loading.errors))
    for failed in loading.errors:
        logger.warning("a module could not be loaded: %s", failed.text)
    return loading
