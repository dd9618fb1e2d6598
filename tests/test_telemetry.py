"""Spans for events and hooks, read from an exporter in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from hookline import Engine, Session, Tool
from hookline.telemetry import InstrumentedEngine, instrument
from support import Bench

SECRET = "sk-abcdefghijklmnopqrstuvwxyz"

HOOKS = """
hooks:
  - id: guard
    event: before_tool_call
    match: {args: {command: {contains: rm}}}
    run: {type: shell, shell: 'echo "never with %s" >&2; exit 2'}
    execution: {mode: blocking, on_error: block}
  - id: broken
    event: before_tool_call
    run: {type: shell, shell: 'exit 7'}
    execution: {mode: blocking, on_error: warn}
  - id: note
    event: after_turn
    run: {type: shell, shell: 'true'}
    execution: {mode: async}
""".replace("%s", SECRET)


class Traces:
    """Finished spans."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def all(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._exporter.get_finished_spans()}

    def text(self) -> str:
        return "\n".join(span.to_json() for span in self._exporter.get_finished_spans())


@pytest.fixture
def traces() -> Iterator[Traces]:
    traces = Traces()
    yield traces
    traces.provider.shutdown()


@pytest.fixture
def engine(bench: Bench) -> Engine:
    return bench.open(HOOKS)


def live(engine: InstrumentedEngine, command: str) -> None:
    """A session of one turn with one call."""
    with Session(engine, id="s1", profile="Code") as session, session.turn(f"please, {SECRET}") as turn:
        tool = Tool(name="bash", kind="shell", call_id="c1", args={"command": command, "key": SECRET})
        turn.call_tool_sync(tool, lambda tool: f"it is {SECRET}")


async def live_async(engine: InstrumentedEngine, command: str) -> None:
    async with Session(engine, id="s1") as session, session.turn("please") as turn:
        await turn.call_tool(Tool(name="bash", args={"command": command}), lambda tool: "ran")


def test_an_event_has_a_span_that_says_whom_it_concerns(engine: Engine, traces: Traces) -> None:
    live(instrument(engine, tracer_provider=traces.provider), "rm notes")
    span = traces.all["hookline.event before_tool_call"]
    assert span.attributes is not None
    expected = {
        "hookline.event.name": "before_tool_call",
        "hookline.decision.verdict": "block",
        "hookline.profile": "Code",
        "hookline.agent.depth": 0,
        "gen_ai.conversation.id": "s1",
        "gen_ai.agent.id": "main",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.id": "c1",
        "hookline.tool.kind": "shell",
    }
    assert {name: span.attributes[name] for name in expected} == expected
    assert span.status.status_code is StatusCode.UNSET


def test_a_hook_has_a_span_below_that_of_its_event(engine: Engine, traces: Traces) -> None:
    live(instrument(engine, tracer_provider=traces.provider), "rm notes")
    event, hook = traces.all["hookline.event before_tool_call"], traces.all["hookline.hook guard"]
    assert hook.parent is not None
    assert hook.parent.span_id == event.context.span_id
    assert hook.attributes is not None
    assert hook.attributes["hookline.run.status"] == "blocked"
    assert hook.attributes["hookline.run.effects"] == ("blocked",)
    assert hook.attributes["process.exit.code"] == 2
    assert hook.status.status_code is StatusCode.UNSET
    assert event.start_time is not None
    assert hook.start_time is not None
    assert hook.end_time is not None
    assert event.start_time <= hook.start_time < hook.end_time


def test_a_hook_that_fails_has_a_span_with_an_error(engine: Engine, traces: Traces) -> None:
    live(instrument(engine, tracer_provider=traces.provider), "ls")
    span = traces.all["hookline.hook broken"]
    assert span.attributes is not None
    assert span.attributes["error.type"] == "exit"
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)


def test_a_hook_that_nobody_waited_for_has_a_span_in_the_trace_of_its_event(engine: Engine, traces: Traces) -> None:
    live(instrument(engine, tracer_provider=traces.provider), "ls")
    event, hook = traces.all["hookline.event after_turn"], traces.all["hookline.hook note"]
    assert [found.name for found in event.events] == ["hookline.hook.queued"]
    assert hook.parent is not None
    assert hook.parent.span_id == event.context.span_id


def test_what_concerns_nobody_has_no_span(engine: Engine, traces: Traces) -> None:
    live(instrument(engine, tracer_provider=traces.provider), "ls")
    assert "hookline.event session_start" not in traces.all


def test_nothing_that_was_said_is_in_a_span(engine: Engine, traces: Traces) -> None:
    live(instrument(engine, tracer_provider=traces.provider), "rm the-notes")
    text = traces.text()
    assert [said for said in ("rm the-notes", "please", "it is", "never with", SECRET) if said in text] == []


def test_content_is_recorded_on_request_without_secrets(bench: Bench, traces: Traces) -> None:
    watching = "\n".join(
        f"  - {{id: {name}, event: {name}, run: {{type: shell, shell: 'true'}}, execution: {{mode: blocking}}}}"
        for name in ("user_prompt_submit", "after_tool_call")
    )
    engine = bench.open(HOOKS + watching)
    live(instrument(engine, tracer_provider=traces.provider, records_content=True), "ls the-notes")
    before = traces.all["hookline.event before_tool_call"].attributes
    assert before is not None
    assert before["gen_ai.tool.call.arguments"] == '{"command": "ls the-notes", "key": "[redacted]"}'
    after = traces.all["hookline.event after_tool_call"].attributes
    assert after is not None
    assert after["gen_ai.tool.call.result"] == "it is [redacted]"
    prompt = traces.all["hookline.event user_prompt_submit"].attributes
    assert prompt is not None
    assert prompt["hookline.prompt.text"] == "please, [redacted]"
    assert SECRET not in traces.text()


async def test_a_host_with_an_event_loop_has_the_same_spans(engine: Engine, traces: Traces) -> None:
    with traces.provider.get_tracer("host").start_as_current_span("work") as work:
        await live_async(instrument(engine, tracer_provider=traces.provider), "rm notes")
    event = traces.all["hookline.event before_tool_call"]
    assert event.parent is not None
    assert event.parent.span_id == work.get_span_context().span_id
    assert {"hookline.hook guard", "hookline.event after_turn", "hookline.hook note"} <= traces.all.keys()


def test_hookline_imports_no_telemetry_unless_asked() -> None:
    program = "import sys, hookline.telemetry; print([m for m in sys.modules if m.startswith('opentelemetry')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_telemetry_without_its_extra_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from hookline import HooklineError\nfrom hookline.telemetry import instrument\n"
        "try: instrument(None)\nexcept HooklineError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'hookline[otel]'" in done.stdout
