"""`hookline demo`: a scripted agent at work, its events, the hooks that ran, and what they decided."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import click

from hookline.cli.options import silence_log
from hookline.cli.person import find_ui
from hookline.cli.screen import paint, say
from hookline.cli.timeline import show_decision
from hookline.demo.agent import HOOKS_FOLDER, ScriptedAgent, furnish
from hookline.engine import Engine
from hookline.events import Event
from hookline.outcome import Decision


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the scratch folder to look at.")
def command(keep: bool) -> None:
    """
    Watch a small scripted agent with hooks.

    The agent has real tools (a shell, reading, editing) and works in a scratch folder. Its model is a script, so
    no key and no network is needed. In a terminal, with the extra ui, one of its hooks asks you a question.
    """
    silence_log()
    scratch = Path(tempfile.mkdtemp(prefix="hookline-demo-"))
    try:
        asyncio.run(_show(scratch / "project", scratch / "home"))
    finally:
        if keep:
            say(f"the folder is kept: {scratch / 'project'}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)


async def _show(folder: Path, home: Path) -> None:
    sources = sorted(path for path in HOOKS_FOLDER.rglob("*") if path.is_file() and path.suffix != ".pyc")
    furnish(folder, sources)
    say(f"A scripted agent works in {folder}, with the hooks of")
    say(f"{HOOKS_FOLDER / 'hooks.yaml'}")
    say("Each event is followed by the hooks that ran for it, and by what they decided together.")
    ui = find_ui()
    if ui is None:
        say("One hook asks a question. Nobody can be asked here, so the answer is no:")
        say("run this in a terminal, with the extra installed: pip install 'hookline[ui]'")
    async with Engine.open(folder, home=home, trust="all", ui=ui) as engine:
        agent = ScriptedAgent(engine=engine, folder=folder, report=_report, narrate=_narrate)
        await agent.run()
    say()
    for line in (folder / "notifications.log").read_text(encoding="utf-8").splitlines():
        say(f"notifications.log says: {line}")
    say("Next: hookline init writes a first hooks file for your own project.")


def _report(event: Event, decision: Decision) -> None:
    if decision.runs or event.name.startswith("before_tool"):
        say()
        show_decision(decision, event)


def _narrate(text: str) -> None:
    lines = text.strip().splitlines()
    say(paint(f"  {lines[0]}", dim=True))
    for line in lines[1:]:
        say(paint(f"      {line}", dim=True))
