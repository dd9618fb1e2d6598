"""Modules in files, and what tests of them ask of an engine."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hookline import AfterToolCall, BeforeModelCall, BeforeToolCall, Engine, Event, ModelStepStart, Tool, ToolResult
from hookline.config.layers import load_layers
from hookline.config.trust import TrustStore
from hookline.dialects.table import get_dialect
from hookline.handlers.modules import HookError
from hookline.hook import ModuleSpec
from hookline.problem import Problem
from support import Bench

GUARD = """
    def hook(api):
        api.on("tool_call", lambda event, ctx: {"block": event.input.get("command") != "ls", "reason": "guarded"})
"""

# Writes down that it was run, which must never happen where it is not trusted.
EVIL = """
    from pathlib import Path
    Path({trace!r}).touch()
    def hook(api):
        api.on("session_start", lambda event, ctx: None)
"""


def write_module(bench: Bench, name: str, text: str, *, layer: str = "user", folder: str = "pre") -> Path:
    """Write a module into a folder that is looked into."""
    path = bench.hooks_folder(layer) / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def open_modules(bench: Bench, *texts: str, options: str = "", **engine: Any) -> Engine:
    """An engine with modules that the user's hooks file names in this order: a.py, b.py and so on."""
    names = [f"{letter}.py" for letter in "abcdefghij"[: len(texts)]]
    for name, text in zip(names, texts, strict=True):
        write_module(bench, name, text, folder="named")
    listed = ", ".join(f"{{path: named/{name}{options}}}" for name in names)
    bench.write(f"modules: [{listed}]", layer="user")
    return bench.open(**engine)


def trust_modules(bench: Bench) -> None:
    """Record the project, its modules included, as trusted as it is now."""
    layers = load_layers(bench.project, home=bench.home, trust="all", remember_guards=False)
    snapshot = layers.parts.take_snapshot(bench.project, [get_dialect("native")])
    TrustStore(bench.home).put(snapshot, ())


def hear_errors(engine: Engine) -> list[HookError]:
    """The failures that listeners are told of from now on."""
    errors: list[HookError] = []
    engine.handling.on_error(errors.append)
    return errors


def call_event(**args: Any) -> Event:
    """A tool call with the id 1."""
    tool = Tool(name="bash", kind="shell", call_id="1", args=args or {"command": "ls"})
    return Event(BeforeToolCall(tool=tool))


def result_event(**result: Any) -> Event:
    """The result of a tool call with the id 1."""
    tool = Tool(name="bash", kind="shell", call_id="1", args={"command": "ls"})
    return Event(AfterToolCall(tool=tool, result=ToolResult(**{"text": "C", **result})))


def context_event(*messages: Any) -> Event:
    """Messages on their way to the model."""
    return Event(BeforeModelCall(messages=list(messages)))


def step_event() -> Event:
    """The start of a step."""
    return Event(ModelStepStart())


def texts_of(*blocks: dict[str, Any]) -> list[str]:
    return [block["text"] for block in blocks]


calls: list[Any] = []
"""What modules write down, which import this; tests that read it empty it first."""


def noted(*hooks: tuple[str, str, str], prefix: str = "") -> str:
    """
    The text of a module with one handler a triple: its name, its event, and the expression it returns.

    Each notes its name in `calls`; `!text` raises an error with that text instead.
    """
    lines = ["from modules import calls", "def fail(text): raise RuntimeError(text)", "def hook(api):"]
    for number, (name, event, returned) in enumerate(hooks):
        value = f"fail({returned[1:]!r})" if returned.startswith("!") else returned
        lines += [
            f"    def h{number}(event, ctx):",
            f"        calls.append({prefix + name!r})",
            f"        return {value}",
            f"    api.on({event!r}, h{number})",
        ]
    return "\n".join(lines) + "\n"


def load_specs(engine: Engine, specs: Sequence[ModuleSpec]) -> tuple[Problem, ...]:
    """Load these modules instead of those of the engine's layers; returns what went wrong."""
    layers = engine._hooks.layers
    layers = replace(layers, modules=replace(layers.modules, specs=tuple(specs)))
    prepared = engine.handling.prepare(layers)
    with engine._hooks.changing():
        engine.handling.take(prepared)
    return prepared.problems
