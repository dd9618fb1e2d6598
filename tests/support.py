"""Builders for tests: a project with hooks, engines over it, events that need only what matters."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline import AfterToolCall, BeforeToolCall, Decision, Engine, Event, Run, Tool, ToolResult, UserPromptSubmit

GUARD = "execution: {mode: blocking, on_error: block}"


class Bench:
    """A project, a home, and the engines opened over them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.home = root / "home"
        self.project.mkdir()
        self._engines = contextlib.ExitStack()

    def write(self, text: str, *, layer: str = "project", name: str = "hooks.yaml", dialect: str = "native") -> Path:
        """Write a hooks file; returns its path."""
        path = self.hooks_folder(layer, dialect) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def write_script(self, name: str, text: str, *, layer: str = "project", dialect: str = "native") -> Path:
        """Write a script beside the hooks file; returns its path."""
        path = self.hooks_folder(layer, dialect) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def hooks_folder(self, layer: str = "project", dialect: str = "native") -> Path:
        if layer == "user" and dialect == "native":
            return self.home / "hooks"
        base = self.project if layer == "project" else self.root
        return base / {"native": ".hookline", "chrys": ".chrys"}[dialect] / "hooks"

    def open(self, text: str | None = None, **options: Any) -> Engine:
        """Open an engine over the project and the home; `text` is written as the project's hooks file first."""
        if text is not None:
            self.write(text)
        engine = Engine.open(self.project, home=self.home, **{"trust": "all", **options})
        self._engines.callback(engine.close, grace_s=0)
        return engine

    def close(self) -> None:
        self._engines.close()

    def event(self, **options: Any) -> Event:
        """A shell command about to run in the project."""
        return make_event(cwd=str(self.project), **options)

    def read(self, name: str) -> str:
        return (self.project / name).read_text(encoding="utf-8")


def make_event(
    *, tool: str = "bash", kind: str = "shell", args: Mapping[str, Any] | None = None, **options: Any
) -> Event:
    call = Tool(name=tool, kind=kind, args={"command": "ls"} if args is None else args)
    return Event(BeforeToolCall(tool=call), **options)


def make_result_event(text: str = "ok", **options: Any) -> Event:
    return Event(AfterToolCall(tool=Tool(name="edit"), result=ToolResult(text=text)), **options)


def make_prompt_event(text: str = "hello", **options: Any) -> Event:
    return Event(UserPromptSubmit(text=text), **options)


def find_run(decision: Decision, hook_id: str) -> Run:
    """The run of a hook in a decision; fails when there is none."""
    return next(run for run in decision.runs if run.hook.id == hook_id)
