"""The four example modules: each does what its first line says, and the guard does the same attached from code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hookline import AfterToolCall, BeforeModelCall, Engine, Event, Tool, ToolResult
from hookline.handlers.reading import read_module
from hookline.hook import ModuleSpec, Settings
from hookline.modules import Context, SessionView, ToolCallEvent, ToolCallReturn, load
from hookline.testing import RecordingHost, RecordingUI
from support import Bench, make_event

FOLDER = Path(__file__).parents[2] / "examples" / "modules"
NAMES = ["block_rm_rf", "filter_context", "handoff", "redact_secrets"]
DANGEROUS = make_event(args={"command": "rm -rf build"})


def open_with(bench: Bench, name: str, **options: Any) -> Engine:
    engine = bench.open(**options)
    assert load(engine, [FOLDER / f"{name}.py"]).errors == ()
    return engine


def test_all_examples_are_tested():
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_can_be_read_whole(name: str):
    assert read_module(ModuleSpec(path=FOLDER / f"{name}.py", layer="user"), Settings()).is_whole


# block_rm_rf


async def test_where_nobody_can_be_asked_a_dangerous_command_is_blocked(bench: Bench):
    """Case 39: the example that asks before `rm -rf` blocks with its reason when headless."""
    decision = await open_with(bench, "block_rm_rf").fire(DANGEROUS)
    assert (decision.verdict, decision.reason) == ("block", "rm -rf blocked (no UI)")


@pytest.mark.parametrize(
    ("answer", "verdict", "reason"), [(True, "allow", None), (False, "block", "user denied command")]
)
async def test_the_user_decides_about_a_dangerous_command(bench: Bench, answer: bool, verdict: str, reason: str | None):
    ui = RecordingUI(confirm=[answer])
    decision = await open_with(bench, "block_rm_rf", ui=ui).fire(DANGEROUS)
    assert (decision.verdict, decision.reason) == (verdict, reason)
    assert [(asked.title, asked.text) for asked in ui.asked] == [("Dangerous command", "Allow: rm -rf build")]


@pytest.mark.parametrize("event", [make_event(), make_event(tool="note", args={"command": "rm -rf build"})])
async def test_other_calls_ask_nobody(bench: Bench, event: Event):
    decision = await open_with(bench, "block_rm_rf", ui=RecordingUI()).fire(event)
    assert decision.is_allowed


async def test_the_guard_attached_from_code_decides_the_same(bench: Bench):
    engine = bench.open()

    @engine.on("before_tool_call", tool_name="bash")
    async def guard(event: ToolCallEvent, ctx: Context) -> ToolCallReturn | None:
        if "rm -rf" in event.input["command"] and not await ctx.ui.confirm("Dangerous command", event.input["command"]):
            return {"block": True, "reason": "user denied command"}
        return None

    assert (await engine.fire(DANGEROUS)).reason == "user denied command"
    assert (await engine.fire(make_event())).is_allowed


# redact_secrets


def result_event(tool: str, text: str, *, failed: bool = False) -> Event:
    content = ({"type": "text", "text": text}, {"type": "image", "data": "API_KEY=1"})
    return Event(AfterToolCall(tool=Tool(name=tool), result=ToolResult(text=text, content=content, failed=failed)))


async def test_keys_are_taken_out_of_the_text_of_what_was_read(bench: Bench):
    decision = await open_with(bench, "redact_secrets").fire(result_event("read", "a API_KEY=s3cret b"))
    assert decision.edits["content"] == [
        {"type": "text", "text": "a API_KEY=[REDACTED] b"},
        {"type": "image", "data": "API_KEY=1"},
    ]
    assert isinstance(decision.event, Event)
    assert isinstance(decision.event.fields, AfterToolCall)
    assert decision.event.fields.result.text == "a API_KEY=[REDACTED] b"


@pytest.mark.parametrize("event", [result_event("bash", "API_KEY=1"), result_event("read", "API_KEY=1", failed=True)])
async def test_results_of_other_tools_and_errors_stay(bench: Bench, event: Event):
    assert (await open_with(bench, "redact_secrets").fire(event)).edits == {}


# filter_context


async def test_messages_for_debugging_do_not_reach_the_model(bench: Bench):
    kept = [{"role": "user", "content": "hi"}, {"role": "custom", "custom_type": "note", "content": "x"}]
    debugging = {"role": "custom", "custom_type": "debug-only", "content": "y"}
    event = Event(BeforeModelCall(messages=(kept[0], debugging, kept[1])))
    assert (await open_with(bench, "filter_context").fire(event)).edits["messages"] == kept


# handoff


async def test_handoff_waits_and_opens_a_session_with_a_message(bench: Bench):
    host = RecordingHost(session=SessionView(id="s1", file="/sessions/1.jsonl"), idle=False)
    engine = open_with(bench, "handoff", host=host)
    await engine.run_command("/handoff")
    assert host.idle_waits == 1
    (session,) = host.new_sessions
    assert session.parent_session == "/sessions/1.jsonl"
    (message,) = session.messages
    assert message["content"] == [{"type": "text", "text": "Continue from prior session summary."}]
    assert engine.modules.get_registered_commands()[0].description == "Create a new session with a setup message."
