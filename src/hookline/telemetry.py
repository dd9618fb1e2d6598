"""
Spans of OpenTelemetry for events and the hooks that ran for them.

    async with Engine.open(".") as engine, Session(instrument(engine)) as session:
        ...

Spans say what happened and to whom, in the names of the semantic conventions where there are some
(https://opentelemetry.io/docs/specs/semconv/gen-ai/). What was said, asked for or answered stays out of them unless
`records_content` is true.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.adapters.seam import MissingExtraError
from hookline.events import Event
from hookline.fields import AfterToolCall, ToolError, UserPromptSubmit
from hookline.lifecycle.step import Firing
from hookline.outcome import Answer, Decision, Failure, Run
from hookline.redact import redact, redact_text

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer, TracerProvider

_MOST_REMEMBERED = 1000
_Attributes = dict[str, Any]


def instrument(
    engine: Firing, *, tracer_provider: TracerProvider | None = None, records_content: bool = False
) -> InstrumentedEngine:
    """
    The engine with a span for each event that concerns a hook, and one for each hook that ran.

    Give it to sessions and adapters in place of the engine, which you still close yourself. `records_content` adds
    arguments, results, prompts and reasons to the spans, with what looks like a secret taken out.

    Raises `MissingExtraError` when OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import trace  # noqa: PLC0415 - only who wants spans pays for it
    except ImportError as error:
        raise MissingExtraError("otel", error) from error
    return InstrumentedEngine(engine, trace.get_tracer("hookline", tracer_provider=tracer_provider), records_content)


class InstrumentedEngine:
    """What a lifecycle needs of an engine, with spans; made by `instrument`."""

    def __init__(self, engine: Firing, tracer: Tracer, records_content: bool) -> None:
        from opentelemetry import trace  # noqa: PLC0415 - as above

        self._trace = trace
        self._engine = engine
        self._tracer = tracer
        self._records_content = records_content
        # Where the spans of runs that nobody waited for belong.
        self._places: OrderedDict[str, Context] = OrderedDict()

    def listens(self, event_name: str) -> bool:
        """Whether an event of this name concerns anybody; there is no span for what concerns nobody."""
        return self._engine.listens(event_name)

    async def fire(self, event: Event) -> Decision:
        """Fire an event inside a span."""
        with self._start_event(event) as span:
            started_ns = time.time_ns()
            decision = await self._engine.fire(event)
            self._finish_event(span, decision, started_ns)
        return decision

    def fire_sync(self, event: Event) -> Decision:
        """Fire an event inside a span."""
        with self._start_event(event) as span:
            started_ns = time.time_ns()
            decision = self._engine.fire_sync(event)
            self._finish_event(span, decision, started_ns)
        return decision

    async def drain_turn(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]:
        """Wait for a turn's async hooks; they get their spans."""
        return self._note_landed(await self._engine.drain_turn(session_id, agent_id=agent_id))

    def drain_turn_sync(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]:
        """Wait for a turn's async hooks; they get their spans."""
        return self._note_landed(self._engine.drain_turn_sync(session_id, agent_id=agent_id))

    async def drain_session(self, session_id: str = "", *, grace_s: float | None = None) -> tuple[Run, ...]:
        """Wait for a session's async hooks; they get their spans."""
        return self._note_landed(await self._engine.drain_session(session_id, grace_s=grace_s))

    def drain_session_sync(self, session_id: str = "", *, grace_s: float | None = None) -> tuple[Run, ...]:
        """Wait for a session's async hooks; they get their spans."""
        return self._note_landed(self._engine.drain_session_sync(session_id, grace_s=grace_s))

    def _start_event(self, event: Event) -> Any:
        attributes = _describe_event(event)
        if self._records_content:
            attributes |= _describe_content(event)
        return self._tracer.start_as_current_span(f"hookline.event {event.name}", attributes=attributes)

    def _finish_event(self, span: Span, decision: Decision, started_ns: int) -> None:
        span.set_attribute("hookline.decision.verdict", decision.verdict)
        if decision.edits:
            span.set_attribute("hookline.decision.edited", sorted(decision.edits))
        if self._records_content and decision.reason:
            span.set_attribute("hookline.decision.reason", redact_text(decision.reason))
        context = self._trace.set_span_in_context(span)
        for run in decision.runs:
            if run.duration_ms is None:
                span.add_event(f"hookline.hook.{run.status}", self._describe_run(run))
                self._remember(run, context)
            else:
                # A run tells how long it took and not when it began: those of an event follow one another here.
                started_ns = self._add_run(run, context, started_ns)

    def _note_landed(self, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """Give the runs that were waited for their spans, in the trace of their event."""
        for run in runs:
            context = self._places.pop(run.id, None)
            if context is not None:
                self._add_run(run, context, time.time_ns() - int((run.duration_ms or 0) * 1e6))
        return runs

    def _remember(self, run: Run, context: Context) -> None:
        if run.status == "queued":
            self._places[run.id] = context
            if len(self._places) > _MOST_REMEMBERED:
                self._places.popitem(last=False)

    def _add_run(self, run: Run, context: Context, started_ns: int) -> int:
        """Add the span of a run; returns when it ends."""
        ended_ns = started_ns + int((run.duration_ms or 0) * 1e6)
        span = self._tracer.start_span(
            f"hookline.hook {run.hook.id}",
            context=context,
            attributes=self._describe_run(run),
            start_time=started_ns,
        )
        if isinstance(run.outcome, Failure):
            message = redact_text(run.outcome.message) if self._records_content else None
            span.set_status(self._trace.StatusCode.ERROR, message)
        span.end(ended_ns)
        return ended_ns

    def _describe_run(self, run: Run) -> _Attributes:
        hook = run.hook
        attributes: _Attributes = {
            "hookline.hook.id": hook.id,
            "hookline.hook.layer": hook.source.layer,
            "hookline.hook.dialect": hook.source.dialect,
            "hookline.hook.mode": hook.execution.mode,
            "hookline.run.id": run.id,
            "hookline.run.status": run.status,
            "hookline.run.effects": list(run.effects),
        }
        if run.exit_code is not None:
            attributes["process.exit.code"] = run.exit_code
        if isinstance(run.outcome, Failure):
            attributes["error.type"] = run.outcome.kind
        if self._records_content and isinstance(run.outcome, Answer) and run.outcome.reason:
            attributes["hookline.run.reason"] = redact_text(run.outcome.reason)
        return attributes


def _describe_event(event: Event) -> _Attributes:
    """What an event is about; nothing of what was said in it."""
    attributes: _Attributes = {
        "hookline.event.name": event.name,
        "hookline.event.id": event.event_id,
        "hookline.agent.depth": event.agent.depth,
        "gen_ai.agent.id": event.agent.id,
    }
    optional = {
        "gen_ai.conversation.id": event.session_id,
        "gen_ai.agent.name": event.agent.name,
        "hookline.turn.id": event.turn_id,
        "hookline.profile": event.profile,
    }
    if event.tool is not None:
        optional["gen_ai.tool.name"] = event.tool.name
        optional["gen_ai.tool.call.id"] = event.tool.call_id
        optional["hookline.tool.kind"] = event.tool.kind
    return attributes | {name: value for name, value in optional.items() if value}


def _describe_content(event: Event) -> _Attributes:
    """What was said in an event, with secrets taken out."""
    content: _Attributes = {}
    if event.tool is not None:
        content["gen_ai.tool.call.arguments"] = _write_json(event.tool.args)
    if isinstance(event.fields, AfterToolCall | ToolError):
        content["gen_ai.tool.call.result"] = redact_text(event.fields.result.text)
    if isinstance(event.fields, UserPromptSubmit):
        content["hookline.prompt.text"] = redact_text(event.fields.text)
    return content


def _write_json(args: Mapping[str, Any]) -> str:
    return json.dumps(redact(dict(args)), ensure_ascii=False, default=repr)
