"""`hookline demo`: a scripted agent at work, its events, the hooks that ran, and what they decided."""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from hookline.adapters.table import HOSTS, Host
from hookline.cli.options import silence_log
from hookline.cli.person import find_ui
from hookline.cli.screen import paint, say
from hookline.cli.timeline import show_decision
from hookline.demo.agent import (
    HOOKS_FOLDER,
    PROMPT,
    SCRIPT,
    TOOL_KINDS,
    ReportingEngine,
    ScriptedAgent,
    furnish,
    make_tools,
)
from hookline.demo.frameworks.job import Job, RunAgent
from hookline.engine import Engine
from hookline.events import Event
from hookline.outcome import Decision


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the scratch folder to look at.")
@click.option(
    "--with",
    "framework",
    type=click.Choice([host.name for host in HOSTS if host.runs_agents]),
    help="Run the agent inside this framework, with the adapter of its extra.",
)
def command(keep: bool, framework: str | None) -> None:
    """
    Watch a small scripted agent with hooks.

    The agent has real tools (a shell, reading, editing) and works in a scratch folder. Its model is a script, so
    no key and no network is needed. In a terminal, with the extra ui, one of its hooks asks you a question. With --with
    and HOOKLINE_DEMO_MODEL set, a real model of that name works there.
    """
    silence_log()
    host = next((host for host in HOSTS if host.name == framework), None)
    build = None if host is None else _find_builder(host)
    scratch = Path(tempfile.mkdtemp(prefix="hookline-demo-"))
    try:
        asyncio.run(_show(scratch / "project", scratch / "home", host, build))
    finally:
        if keep:
            say(f"the folder is kept: {scratch / 'project'}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)


def _find_builder(host: Host) -> Callable[[Job], RunAgent]:
    importlib.import_module(host.module)  # says what to install if the framework is not there
    build: Callable[[Job], RunAgent] = importlib.import_module(f"hookline.demo.frameworks.{host.module_name}").build
    return build


async def _show(folder: Path, home: Path, host: Host | None, build: Callable[[Job], RunAgent] | None) -> None:
    sources = sorted(path for path in HOOKS_FOLDER.rglob("*") if path.is_file() and path.suffix != ".pyc")
    furnish(folder, sources)
    model = os.environ.get("HOOKLINE_DEMO_MODEL") or None if host is not None else None
    agent_name = f"{'A scripted' if model is None else 'An'} agent{'' if host is None else f' of {host.title}'}"
    say(f"{agent_name} works in {folder}, with the hooks of")
    say(f"{HOOKS_FOLDER / 'hooks.yaml'}")
    say("Each event is followed by the hooks that ran for it, and by what they decided together.")
    ui = find_ui()
    if ui is None:
        say("One hook asks a question. Nobody can be asked here, so the answer is no:")
        say("run this in a terminal, with the extra installed: pip install 'hookline[ui]'")
    async with Engine.open(folder, home=home, trust="all", ui=ui) as engine:
        if build is None:
            await ScriptedAgent(engine=engine, folder=folder, report=_report, narrate=_narrate).run()
        else:
            await _run_inside(build, engine, folder, model)
    say()
    notes = folder / "notifications.log"
    for line in notes.read_text(encoding="utf-8").splitlines() if notes.exists() else ():
        say(f"notifications.log says: {line}")
    say("Next: hookline init writes a first hooks file for your own project.")


async def _run_inside(build: Callable[[Job], RunAgent], engine: Engine, folder: Path, model: str | None) -> None:
    """Let an agent of a framework do the job of the scripted agent."""
    reporting = ReportingEngine(engine, _report)
    job = Job(
        prompt=PROMPT,
        tools=make_tools(folder),
        script=SCRIPT,
        hooks={"engine": reporting, "cwd": folder, "profile": "Demo", "kinds": TOOL_KINDS},
        model=model,
        hear=lambda text: _narrate(f"tool result: {text}"),
    )
    _narrate(f"user: {PROMPT}")
    try:
        answer = await build(job)()
    except Exception as error:  # boundary: a model by name is its provider's, and so are its failures
        if model is None:
            raise
        raise click.ClickException(f"the model {model!r} of HOOKLINE_DEMO_MODEL does not work: {error}") from error
    _narrate(f"model: {answer}")


def _report(event: Event, decision: Decision) -> None:
    if decision.runs or event.name.startswith("before_tool"):
        say()
        show_decision(decision, event)


def _narrate(text: str) -> None:
    lines = text.strip().splitlines()
    say(paint(f"  {lines[0]}", dim=True))
    for line in lines[1:]:
        say(paint(f"      {line}", dim=True))
