"""`hookline test`: run one hook on a sample or given payload, and show everything about it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from hookline.cli.event_options import build_event, event_options
from hookline.cli.listing import Listing, find_unread, make_listing
from hookline.cli.options import home_option, json_option, layer_option, load, project_option, silence_log
from hookline.cli.person import find_ui, keep_apart
from hookline.cli.screen import paint, say, say_json
from hookline.cli.timeline import outcome_to_json, run_to_json
from hookline.config.layers import Layers
from hookline.dialects.table import get_dialect
from hookline.engine import Engine
from hookline.errors import ConfigError
from hookline.events import Event
from hookline.handlers.events import view_event
from hookline.hook import HandlerAction, Hook, ModuleSpec
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
    For a handler its module is loaded, alone; the handler may ask you questions, as with hookline fire.
    Exits with 1 when the hook fails.
    """
    silence_log()
    layers = load(project, home)
    hook, specs = _find(layers, make_listing(layers, project, home), hook_id, layer)
    event, warnings = build_event(hook.event, project, sample=sample_payload(hook), **options)
    layers = replace(layers, modules=replace(layers.modules, specs=specs))
    with keep_apart(as_json), Engine(layers, ui=None if as_json else find_ui()) as engine:
        hook = _load(engine, hook) if specs else hook
        run = asyncio.run(engine.try_hook(hook, event))
    payload = _show_input(hook, event)
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


def _find(layers: Layers, listing: Listing, hook_id: str, layer: str | None) -> tuple[Hook, tuple[ModuleSpec, ...]]:
    """The hook with this id, and its module if it is a handler; raises `ConfigError` when it cannot be run."""
    named = [
        listed for listed in listing.hooks if listed.hook.id == hook_id and layer in (None, listed.hook.source.layer)
    ]
    # A hook folder may stand for two events; the first will do.
    found = list({listed.hook.source.place: listed for listed in reversed(named)}.values())
    if not found:
        for problem in layers.problems:
            if problem.hook_id == hook_id:
                raise ConfigError(f"hook {hook_id!r} could not be loaded: {problem}")
        known = sorted({listed.hook.id for listed in listing.hooks if not listed.why_not})
        unread = "".join(f"; {m.reading.spec.path} registers more than can be read" for m in find_unread(listing))
        raise ConfigError(f"no hook has the id {hook_id!r}; known ids: {', '.join(known) or 'none'}{unread}")
    if len(found) > 1:
        places = ", ".join(str(listed.hook.source.place) for listed in found)
        raise ConfigError(f"several hooks have the id {hook_id!r} ({places}); name one with --layer")
    hook, why_not = found[0].hook, found[0].why_not
    readings = [module.reading for module in listing.modules if any(known is hook for known in module.reading.hooks)]
    if found[0].is_broken:
        raise ConfigError(f"hook {hook_id!r} does not run: {readings[0].problems[0]}")
    if why_not:
        raise ConfigError(f"hook {hook_id!r} does not run: its project's hooks are {why_not} (see hookline trust)")
    return hook, tuple(reading.spec for reading in readings)


def _load(engine: Engine, hook: Hook) -> Hook:
    """Load the one module of the engine and return the handler that was read of it; raises `ConfigError`."""
    engine.load_modules()
    for error in engine.modules.errors:
        raise ConfigError(f"hook {hook.id!r} does not run: its module cannot be loaded: {error.text}")
    for module in engine.modules.loaded:
        for loaded in module.registration.hooks:
            if loaded.id == hook.id:
                return loaded
    raise ConfigError(f"hook {hook.id!r} does not run: its module has registered no hook of this id")


def _show_input(hook: Hook, event: Event) -> dict[str, Any]:
    """What the hook is given, as data."""
    if not isinstance(hook.action, HandlerAction):
        return get_dialect(hook.source.dialect).encode(event, is_cwd_missing=False)
    view = view_event(event)
    names = view.fields or event.type.field_names
    return {"type": view.type} | {name: getattr(view, name) for name in names}


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
