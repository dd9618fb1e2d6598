"""`hookline test`: run one hook on a sample or given payload, and show everything about it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from hookline.cli.event_options import build_event, event_options
from hookline.cli.options import home_option, json_option, layer_option, load, project_option, silence_log
from hookline.cli.screen import paint, say, say_json
from hookline.cli.timeline import outcome_to_json, run_to_json
from hookline.config.layers import Layers
from hookline.dialects.table import get_dialect
from hookline.engine import Engine
from hookline.errors import ConfigError
from hookline.events import Event
from hookline.hook import Hook
from hookline.match import UnreadableValueError, compile_match, find_mismatch
from hookline.outcome import Answer, Run
from hookline.sample import sample_payload


@click.command("test")
@click.argument("hook_id", metavar="ID")
@event_options
@layer_option
@project_option
@home_option
@json_option
def command(hook_id: str, layer: str | None, project: Path, home: Path | None, as_json: bool, **options: Any) -> int:
    """
    Run the hook ID once, whether its match holds or not, and show its input, output, reply and timing.

    Without options the payload is a sample of its event that fits its match as far as that can be told.
    Exits with 1 when the hook fails.
    """
    silence_log()
    layers = load(project, home)
    hook = _find(layers, hook_id, layer)
    event, warnings = build_event(hook.event, project, sample=sample_payload(hook), **options)
    with Engine(layers) as engine:
        run = asyncio.run(engine.try_hook(hook, event))
    payload = get_dialect(hook.source.dialect).encode(event, is_cwd_missing=False)
    warnings += _find_match_warnings(hook, event)
    if as_json:
        say_json(
            {
                "payload": payload,
                "reply": run.reply,
                **run_to_json(run),
                "answer": outcome_to_json(run.outcome),
                "warnings": warnings,
            }
        )
    else:
        _show(hook, run, payload)
    for warning in warnings:
        say(f"hookline: {warning}", to_stderr=True)
    return 0 if isinstance(run.outcome, Answer) else 1


def _find(layers: Layers, hook_id: str, layer: str | None) -> Hook:
    found = [
        (hook, loaded.why_not)
        for loaded in layers.files
        for hook in loaded.reading.hooks
        if hook.id == hook_id and layer in (None, hook.source.layer)
    ]
    found += [(hook, "") for hook in layers.folders.hooks if hook.id == hook_id and layer in (None, "user")][:1]
    if not found:
        for problem in layers.problems:
            if problem.hook_id == hook_id:
                raise ConfigError(f"hook {hook_id!r} could not be loaded: {problem}")
        known = sorted({hook.id for hook in layers.hooks})
        raise ConfigError(f"no hook has the id {hook_id!r}; known ids: {', '.join(known) or 'none'}")
    if len(found) > 1:
        places = ", ".join(str(hook.source.place) for hook, _ in found)
        raise ConfigError(f"several hooks have the id {hook_id!r} ({places}); name one with --layer")
    hook, why_not = found[0]
    if why_not:
        raise ConfigError(f"hook {hook_id!r} does not run: its project's hooks are {why_not} (see hookline trust)")
    return hook


def _find_match_warnings(hook: Hook, event: Event) -> list[str]:
    try:
        mismatch = find_mismatch(compile_match(hook.match), event)
    except UnreadableValueError as error:
        mismatch = str(error)
    return [] if mismatch is None else [f"at this event the hook would not run by itself: {mismatch}"]


def _show(hook: Hook, run: Run, payload: dict[str, Any]) -> None:
    took = "" if run.duration_ms is None else f" in {run.duration_ms:.0f} ms"
    status = paint(run.status, "green" if run.status == "ok" else "red", bold=True)
    say(f"{paint(hook.id, 'cyan', bold=True)} ({hook.source.place}): {status}{took}")
    how = f"exit code {run.exit_code}" if run.exit_code is not None else f"signal {run.signal}" if run.signal else ""
    sections = {
        "input": json.dumps(payload, indent=2, ensure_ascii=False, default=str),
        "stdout": run.stdout,
        "stderr": run.stderr,
        "ended with": how,
        "reply": run.reply or "",
        "means": json.dumps(outcome_to_json(run.outcome), indent=2, ensure_ascii=False, default=str),
    }
    for title, text in sections.items():
        if text.strip():
            say(paint(f"{title}:", bold=True))
            say("\n".join(f"  {line}" for line in text.rstrip("\n").splitlines()))
    for note in run.notes:
        say(paint(f"note: {note}", "yellow"))
