"""`hookline fire`: report an event, run its hooks, print the decision."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from hookline.cli.options import home_option, json_option, load, project_option, silence_log
from hookline.cli.screen import say, say_json
from hookline.cli.timeline import decision_to_json, show_decision
from hookline.engine import Engine
from hookline.errors import PayloadError
from hookline.events import EVENT_NAMES, Event, get_event_type
from hookline.outcome import Decision
from hookline.payload import parse_payload

EXIT_CODES = {"allow": 0, "block": 2, "ask": 3}


@click.command("fire")
@click.argument("event", metavar="EVENT")
@click.option("--payload", "payload_file", metavar="FILE|-", help="The event's payload as JSON; - reads stdin.")
@click.option("--tool", "tool_name", metavar="NAME", help="The tool of a tool event.")
@click.option("--kind", "tool_kind", metavar="KIND", help="The tool's kind, such as shell or filesystem.write.")
@click.option("--arg", "tool_args", metavar="K=V", multiple=True, help="A tool argument; K:=JSON for other than text.")
@click.option("--text", metavar="TEXT", help="The prompt, or the result's text of a tool event.")
@click.option("--session", metavar="ID", help="The session's id.")
@click.option("--profile", metavar="NAME", help="The agent's profile.")
@project_option
@home_option
@json_option
def command(event: str, project: Path, home: Path | None, as_json: bool, **options: Any) -> int:
    """
    Report EVENT, run the hooks it concerns, wait for all of them, and print what they decide.

    Exits with 0 when no hook objects, 2 when one blocks, 3 when one wants a human asked, and 1 when Hookline
    itself could not do its work. See hookline events for the names and fields.
    """
    silence_log()
    if event not in EVENT_NAMES:
        get_event_type(event)
    payload = _read_payload(event, **options)
    layers = load(project, home)
    parsed, unknown = parse_payload(event, payload, cwd=str(layers.project))
    with Engine(layers) as engine:
        decision = asyncio.run(_fire(engine, parsed))
    warnings = [str(problem) for problem in layers.problems]
    warnings += [f"the payload's {key!r} is no field of {event} and was not passed on" for key in unknown]
    warnings += decision.warnings
    if as_json:
        say_json(decision_to_json(decision, parsed, warnings))
    else:
        show_decision(decision, parsed)
    for warning in warnings:
        say(f"hookline: {warning}", to_stderr=True)
    return EXIT_CODES[decision.verdict]


async def _fire(engine: Engine, event: Event) -> Decision:
    """Fire and wait as an agent would: the end of a session has its grace, everything else runs to its end."""
    decision = await engine.fire(event)
    if event.name == "session_end":
        await engine.drain_session(event.session_id)
    return await engine.settle(decision)


def _read_payload(event: str, *, payload_file: str | None, **options: Any) -> dict[str, Any]:
    payload = {} if payload_file is None else _read_json(payload_file)
    if options["session"] is not None:
        payload["session_id"] = options["session"]
    if options["profile"] is not None:
        payload["profile"] = options["profile"]
    _add_tool(event, payload, options)
    if options["text"] is not None:
        _add_text(event, payload, options["text"])
    return _add_defaults(event, payload)


def _read_json(name: str) -> dict[str, Any]:
    where = "stdin" if name == "-" else name
    try:
        with click.open_file(name, "rb") as file:
            data = json.loads(file.read().decode("utf-8-sig"))
    except OSError as error:
        raise PayloadError(f"the payload {where} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"the payload {where} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise PayloadError(f"the payload {where} must be a JSON object, not {type(data).__name__}")
    return data


def _add_tool(event: str, payload: dict[str, Any], options: dict[str, Any]) -> None:
    if options["tool_name"] is None and options["tool_kind"] is None and not options["tool_args"]:
        return
    if not get_event_type(event).has_tool:
        raise PayloadError(f"--tool, --kind and --arg mean nothing on {event}, which is about no tool")
    given = payload.get("tool")
    tool: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    if options["tool_name"] is not None:
        tool["name"] = options["tool_name"]
    if options["tool_kind"] is not None:
        tool["kind"] = options["tool_kind"]
    tool["args"] = {**(tool.get("args") or {}), **dict(_parse_arg(text) for text in options["tool_args"])}
    payload["tool"] = tool


def _parse_arg(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.removesuffix(":"):
        raise PayloadError(f"--arg {text!r} must be K=V for text or K:=JSON for other values")
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], json.loads(value)
    except ValueError as error:
        raise PayloadError(f"--arg {text!r}: {value!r} is not JSON: {error}") from error


def _add_text(event: str, payload: dict[str, Any], text: str) -> None:
    fields = get_event_type(event).field_names
    if "text" in fields:
        payload["text"] = text
    elif "result" in fields:
        payload["result"] = {**(payload.get("result") or {}), "text": text}
    else:
        raise PayloadError(f"--text means nothing on {event}")


def _add_defaults(event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """What a quick try at the command line need not spell out."""
    fields = get_event_type(event).field_names
    if "result" in fields and "tool" in payload:
        payload.setdefault("result", {"error": True, "failed": True} if event == "tool_error" else {})
    if "turn" in fields:
        payload.setdefault("turn", 1)
    return payload
