"""
An agent whose model is a script: it has real tools, and tells Hookline about everything it does.

This is what a host looks like: fire the event, obey the decision.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from hookline.engine import Engine
from hookline.events import Event, Fields
from hookline.fields import (
    AfterToolCall,
    AfterTurn,
    BeforeToolCall,
    BeforeTurn,
    SessionEnd,
    SessionStart,
    Tool,
    ToolResult,
    UserPromptSubmit,
)
from hookline.outcome import Decision

SESSION = "demo"
PROMPT = "Clean up the folder and give greet.py a main function."
SHELL_TIMEOUT_S = 20

GREETING = """import os


def main():
    print("hello")


main()
"""

# What the model "wants", call by call.
SCRIPT: tuple[Tool, ...] = (
    Tool(name="bash", kind="shell", call_id="1", args={"command": "rm -rf ."}),
    Tool(name="bash", kind="shell", call_id="2", args={"command": "rm old-notes.txt"}),
    Tool(name="read", kind="filesystem.read", call_id="3", args={"path": "greet.py"}),
    Tool(name="edit", kind="filesystem.write", call_id="4", args={"path": "greet.py", "text": GREETING}),
    Tool(name="bash", kind="shell", call_id="5", args={"command": "python3 greet.py && ls -A"}),
    Tool(name="publish", call_id="6", args={"path": "greet.py"}),
)

Report = Callable[[Event, Decision], None]
Narrate = Callable[[str], None]


class ScriptedAgent(Struct, frozen=True, kw_only=True):
    """Runs the script in a folder; `report` hears each event with its decision, `narrate` what the agent does."""

    engine: Engine
    folder: Path
    report: Report
    narrate: Narrate

    async def run(self) -> None:
        """Live one session of one turn."""
        await self._fire(SessionStart())
        self.narrate(f"user: {PROMPT}")
        decision = await self._fire(UserPromptSubmit(text=PROMPT))
        if decision.is_allowed:
            await self._fire(BeforeTurn(turn=1, user_text=PROMPT))
            for tool in SCRIPT:
                self.narrate(f"tool result: {await self._call(tool)}")
            await self._fire(AfterTurn(turn=1, status="ok"))
        for run in await self.engine.drain_turn(SESSION):
            self.narrate(f"the turn waited for hook {run.hook.id!r}, which ended: {run.status}")
        await self._fire(SessionEnd())
        await self.engine.drain_session(SESSION)

    async def _call(self, tool: Tool) -> str:
        decision = await self._fire(BeforeToolCall(tool=tool))
        if not decision.is_allowed:  # an agent with a human at hand would ask for the verdict "ask"
            denied = ToolResult(
                text=f"denied: {decision.reason}",
                failed=True,
                approval_rejected=True,
                rejection_source="hook",
                hook_denied=True,
            )
            await self._fire(AfterToolCall(tool=tool, result=denied))
            return denied.text
        if decision.event is not None and decision.event.tool is not None:
            tool = decision.event.tool
        result = _run_tool(tool, self.folder)
        decision = await self._fire(AfterToolCall(tool=tool, result=result))
        return "\n".join([result.text, *decision.context])

    async def _fire(self, fields: Fields) -> Decision:
        event = Event(fields, session_id=SESSION, profile="Demo", cwd=str(self.folder))
        decision = await self.engine.fire(event)
        self.report(event, decision)
        return decision


def _run_tool(tool: Tool, folder: Path) -> ToolResult:
    return _RUNNERS[tool.name](folder, tool.args)


def _bash(folder: Path, args: Any) -> ToolResult:
    done = subprocess.run(
        ["/bin/sh", "-c", args["command"]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=SHELL_TIMEOUT_S,
    )
    return ToolResult(text=(done.stdout + done.stderr).strip() or "(no output)", failed=done.returncode != 0)


def _read(folder: Path, args: Any) -> ToolResult:
    return ToolResult(text=(folder / args["path"]).read_text(encoding="utf-8"))


def _edit(folder: Path, args: Any) -> ToolResult:
    (folder / args["path"]).write_text(args["text"], encoding="utf-8")
    return ToolResult(text=f"wrote {args['path']}")


def _publish(folder: Path, args: Any) -> ToolResult:
    target = folder / "published" / args["path"]
    target.parent.mkdir(exist_ok=True)
    target.write_bytes((folder / args["path"]).read_bytes())
    return ToolResult(text=f"published as {target.relative_to(folder)}")


_RUNNERS: dict[str, Callable[[Path, Any], ToolResult]] = {
    "bash": _bash,
    "read": _read,
    "edit": _edit,
    "publish": _publish,
}


def make_tools(folder: Path) -> tuple[Callable[..., str], ...]:
    """The agent's tools as functions, for frameworks that take such."""

    def run(tool: Callable[[Path, Any], ToolResult], **args: str) -> str:
        try:
            return tool(folder, args).text
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
            return f"error: {error}"

    def bash(command: str) -> str:
        """Run a command in a shell."""
        return run(_bash, command=command)

    def read(path: str) -> str:
        """Read a file."""
        return run(_read, path=path)

    def edit(path: str, text: str) -> str:
        """Write a file."""
        return run(_edit, path=path, text=text)

    def publish(path: str) -> str:
        """Publish a file."""
        return run(_publish, path=path)

    return bash, read, edit, publish


TOOL_KINDS = {tool.name: tool.kind for tool in SCRIPT}


class ReportingEngine:
    """An engine whose `report` hears each event with its decision."""

    def __init__(self, engine: Engine, report: Report) -> None:
        self._engine = engine
        self._report = report
        self.drain_turn = engine.drain_turn
        self.drain_turn_sync = engine.drain_turn_sync
        self.drain_session = engine.drain_session
        self.drain_session_sync = engine.drain_session_sync

    def listens(self, event_name: str) -> bool:
        """Tool calls are of interest though no hook listens to them."""
        return event_name == "before_tool_call" or self._engine.listens(event_name)

    async def fire(self, event: Event) -> Decision:
        """Fire, and report."""
        decision = await self._engine.fire(event)
        self._report(event, decision)
        return decision

    def fire_sync(self, event: Event) -> Decision:
        """Fire, and report."""
        decision = self._engine.fire_sync(event)
        self._report(event, decision)
        return decision


def furnish(folder: Path, hooks: Iterable[Path]) -> None:
    """Lay out the scratch folder: two files to work on, and the hooks."""
    folder.mkdir()
    (folder / "greet.py").write_text('print("hello")\n', encoding="utf-8")
    (folder / "old-notes.txt").write_text("nothing of interest\n", encoding="utf-8")
    for source in hooks:
        target = folder / ".hookline" / "hooks" / source.relative_to(HOOKS_FOLDER)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())


HOOKS_FOLDER = Path(__file__).with_name("hooks")
