"""A decision for people, event → hooks → decision, and as data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hookline.cli.screen import align, paint, say, shorten
from hookline.dialects.native import NATIVE
from hookline.events import Event
from hookline.outcome import Answer, Decision, Failure, Outcome, Run

_VERDICT_COLOURS = {"allow": "green", "ask": "yellow", "block": "red"}
_MOST_LINES = 3
_STATUS_COLOURS = {"ok": "green", "blocked": "red", "failed": "red", "timeout": "red", "cancelled": "yellow"}


def show_decision(decision: Decision, event: Event, *, left_out: str = "") -> None:
    """Print the event, its runs and what was decided; `left_out` says which hooks were not asked, and why."""
    say(f"{paint(event.name, 'cyan', bold=True)}  {shorten(describe_event(event), 120)}".rstrip())
    for line in align([_run_cells(run) for run in decision.runs], indent="  "):
        say(line)
    if not decision.runs and decision.is_allowed and not left_out:
        say("  no hook is concerned")
    if left_out:
        say(paint(f"  {left_out}", "yellow"))
    for line in describe_decision(decision):
        say(f"  → {line}")


def describe_event(event: Event) -> str:
    """The event's own fields in a few words."""
    if event.tool is not None:
        kind = f" ({event.tool.kind})" if event.tool.kind else ""
        return f"{event.tool.name}{kind} {json.dumps(event.tool.args, default=str, ensure_ascii=False)}"
    text = getattr(event.fields, "text", None)
    return repr(text) if text is not None else ""


def describe_decision(decision: Decision) -> list[str]:
    """What was decided, a line for each part."""
    words = {"allow": "no objection", "ask": "a human should decide", "block": "blocked"}
    verdict = paint(words[decision.verdict], _VERDICT_COLOURS[decision.verdict], bold=True)
    lines = [f"{verdict}: {shorten(_summarise(decision.reason), 400)}" if decision.reason else verdict]
    for field, value in decision.edits.items():
        lines.append(f"{field} now {shorten(json.dumps(value, default=str, ensure_ascii=False), 200)}")
    lines += [f"reminder: {shorten(text, 200)}" for text in decision.reminders]
    lines += [f"context: {shorten(text, 200)}" for text in decision.context]
    return lines


def _summarise(text: str) -> str:
    """A long text of several lines by its first and its last line, which is where a traceback says what it is about."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return text if len(lines) <= _MOST_LINES else f"{lines[0]} ... {lines[-1]}"


def _run_cells(run: Run) -> Sequence[str]:
    took = "" if run.duration_ms is None else f"{run.duration_ms:.0f} ms"
    status = paint(run.status, _STATUS_COLOURS.get(run.status), dim=run.status == "skipped")
    return run.hook.source.layer, run.hook.id, status, took, shorten(_explain(run), 120)


def _explain(run: Run) -> str:
    if isinstance(run.outcome, Failure):
        last = run.stderr.strip().splitlines()[-1:] if "blocked" not in run.effects else []
        return ": ".join([run.outcome.message, *last])
    parts = [run.reason] if run.reason else []
    parts += [effect for effect in run.effects if effect != "blocked"]
    return ", ".join(parts)


def decision_to_json(decision: Decision, event: Event, warnings: Sequence[str]) -> dict[str, Any]:
    """The decision as the documented JSON object."""
    payload: Mapping[str, Any] = NATIVE.encode(decision.event or event, is_cwd_missing=False)
    return {
        "verdict": decision.verdict,
        "reason": decision.reason,
        "user_message": decision.user_message,
        "edits": dict(decision.edits),
        "reminders": list(decision.reminders),
        "context": list(decision.context),
        "payload": payload,
        "warnings": list(warnings),
        "runs": [run_to_json(run) for run in decision.runs],
    }


def run_to_json(run: Run) -> dict[str, Any]:
    """One run as data."""
    outcome = run.outcome
    return {
        "id": run.id,
        "hook": run.hook.id,
        "layer": run.hook.source.layer,
        "dialect": run.hook.source.dialect,
        "source": str(run.hook.source.place),
        "status": run.status,
        "kind": outcome.kind if isinstance(outcome, Failure) else None,
        "verdict": outcome.verdict if isinstance(outcome, Answer) else None,
        "effects": list(run.effects),
        "exit_code": run.exit_code,
        "signal": run.signal,
        "duration_ms": run.duration_ms,
        "error": outcome.message if isinstance(outcome, Failure) else run.reason,
        "stdout": run.stdout,
        "stderr": run.stderr,
    }


def outcome_to_json(outcome: Outcome | None) -> dict[str, Any]:
    """What a hook said, as data; parts it did not use are left out."""
    if outcome is None:
        return {}
    if isinstance(outcome, Failure):
        return {"failure": outcome.kind, "message": outcome.message}
    found: dict[str, Any] = {"verdict": outcome.verdict, "reason": outcome.reason, "user_message": outcome.user_message}
    found["edits"] = [{"field": edit.field, "operation": edit.operation, "value": edit.value} for edit in outcome.edits]
    found |= {"reminders": list(outcome.reminders), "context": list(outcome.context), "ignored": list(outcome.ignored)}
    return {key: value for key, value in found.items() if value not in (None, [])}
