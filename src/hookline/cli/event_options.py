"""The options of all verbs that take an event, and the event they describe."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hookline.errors import PayloadError
from hookline.events import Event, get_event_type
from hookline.payload import parse_payload

F = TypeVar("F", bound=Callable[..., Any])


def event_options(function: F) -> F:
    """The options that describe an event: `--payload`, `--tool`, `--kind`, `--arg`, `--text` and the like."""
    options = (
        click.option("--payload", "payload_file", metavar="FILE|-", help="The payload as JSON; - reads stdin."),
        click.option("--tool", "tool_name", metavar="NAME", help="The tool of a tool event."),
        click.option("--kind", "tool_kind", metavar="KIND", help="Its kind, such as shell or filesystem.write."),
        click.option("--arg", "tool_args", metavar="K=V", multiple=True, help="An argument; K:=JSON if no text."),
        click.option("--text", metavar="TEXT", help="The prompt, or the result's text of a tool event."),
        click.option("--session", metavar="ID", help="The session's id."),
        click.option("--profile", metavar="NAME", help="The agent's profile."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def build_event(
    name: str, project: Path, *, sample: dict[str, Any] | None = None, **options: Any
) -> tuple[Event, list[str]]:
    """
    The event that the options describe, and warnings about what it cannot carry.

    `sample` is the payload that the options change where no file is given. Raises `PayloadError`.
    """
    payload = _read_payload(get_event_type(name).name, sample or {}, **options)
    event, unknown = parse_payload(name, payload, cwd=str(project.absolute()))
    return event, [f"the payload's {key!r} is no field of {name} and was not passed on" for key in unknown]


def _read_payload(event: str, sample: dict[str, Any], *, payload_file: str | None, **options: Any) -> dict[str, Any]:
    payload = sample if payload_file is None else _read_json(payload_file)
    if options["session"] is not None:
        payload["session_id"] = options["session"]
    if options["profile"] is not None:
        payload["profile"] = options["profile"]
    _add_tool(event, payload, options)
    if options["text"] is not None:
        _add_text(event, payload, options["text"])
    _check_tool(event, payload)
    return _add_defaults(event, payload)


def _read_json(name: str) -> dict[str, Any]:
    where = "stdin" if name == "-" else name
    try:
        with click.open_file(name, "rb") as file:
            data = json.loads(file.read().decode("utf-8-sig"), parse_constant=_refuse_constant)
    except OSError as error:
        raise PayloadError(f"the payload {where} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"the payload {where} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise PayloadError(f"the payload {where} must be a JSON object, not {type(data).__name__}")
    return data


def _check_tool(event: str, payload: dict[str, Any]) -> None:
    """An event about a tool that is given none gets a better word than the reader's."""
    if get_event_type(event).has_tool and "tool" not in payload:
        raise PayloadError(f"{event} is about a tool: name it with --tool, or give --payload with the key tool")


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
    args = tool.get("args") or {}
    if not isinstance(args, dict):
        raise PayloadError(f"the payload of {event} does not fit: tool.args is {type(args).__name__} and no object")
    tool["args"] = {**args, **dict(_parse_arg(text) for text in options["tool_args"])}
    payload["tool"] = tool


def _parse_arg(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.removesuffix(":"):
        raise PayloadError(f"--arg {text!r} must be K=V for text or K:=JSON for other values")
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], json.loads(value, parse_constant=_refuse_constant)
    except ValueError as error:
        raise PayloadError(f"--arg {text!r}: {value!r} is not JSON: {error}") from error


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")


def _add_text(event: str, payload: dict[str, Any], text: str) -> None:
    fields = get_event_type(event).field_names
    if "text" in fields:
        payload["text"] = text
    elif "result" in fields:
        result = payload.get("result") or {}
        if not isinstance(result, dict):
            raise PayloadError(f"the payload of {event} does not fit: result is {type(result).__name__} and no object")
        payload["result"] = {**result, "text": text}
    else:
        raise PayloadError(f"--text means nothing on {event}")


def _add_defaults(event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """What a quick try at the command line need not spell out."""
    fields = get_event_type(event).field_names
    if "result" in fields and "tool" in payload:
        status = {"error": True, "failed": True} if event == "tool_error" else {}
        result = payload.get("result")
        if result is None or isinstance(result, dict):
            payload["result"] = {**status, **(result or {})}
    if "turn" in fields:
        payload.setdefault("turn", 1)
    return payload
