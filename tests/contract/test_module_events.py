"""The events that modules know: names, fields, and what may be returned (sections 3 and 4 of the contract)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from hookline import BeforeCompact, BeforeTurn, Event, ModelStepStart, Tool, ToolResult
from hookline.events import EVENT_TYPES, find_event_types, get_event_type
from hookline.handlers.events import find_view, view_event
from hookline.handlers.host import CustomMessage
from hookline.handlers.results import SessionBeforeCompactResult, ToolCallResult, ToolResultResult
from modules import call_event, open_modules, result_event
from support import Bench, make_prompt_event

pytestmark = pytest.mark.anyio

# Section 3, word for word; `signal` is a live object.
FIELDS = {
    "session_start": "",
    "session_shutdown": "",
    "session_before_switch": "reason target_session_file",
    "session_switch": "reason previous_session_file",
    "session_before_branch": "entry_id",
    "session_branch": "previous_session_file",
    "session_before_compact": "preparation branch_entries custom_instructions signal",
    "session.compacting": "session_id messages",
    "session_compact": "compaction_entry from_extension",
    "session_before_tree": "preparation signal",
    "session_tree": "new_leaf_id old_leaf_id summary_entry from_extension",
    "context": "messages",
    "before_agent_start": "prompt images system_prompt",
    "agent_start": "",
    "agent_end": "messages",
    "turn_start": "turn_index timestamp",
    "turn_end": "turn_index message tool_results",
    "auto_compaction_start": "reason action",
    "auto_compaction_end": "action result aborted will_retry error_message skipped",
    "auto_retry_start": "attempt max_attempts delay_ms error_message",
    "auto_retry_end": "success attempt final_error",
    "ttsr_triggered": "rules",
    "todo_reminder": "todos attempt max_attempts",
    "tool_call": "tool_name tool_call_id input",
    "tool_result": "tool_name tool_call_id input content details is_error",
}
GATES = {"tool_call", "session_before_switch", "session_before_branch", "session_before_compact", "session_before_tree"}
EDITS = {
    "session_before_branch": {"skip_conversation_restore": "latest"},
    "session_before_compact": {"compaction": "latest"},
    "session.compacting": {"context": "latest", "prompt": "latest", "preserve_data": "latest"},
    "session_before_tree": {"summary": "latest"},
    "context": {"messages": "chained"},
    "before_agent_start": {"message": "first"},
    "tool_call": {"args": "chained"},
    "tool_result": {"content": "chained", "details": "chained", "is_error": "chained"},
}


# For fields without a default.
VALUES = {"tool": Tool(name="bash"), "result": ToolResult(), "reason": "new", "action": "context-full"}


def make_event_of(row: Any) -> Event:
    """An occurrence with nothing in it but what must be there."""
    needed = [field for field in msgspec.structs.fields(row.record) if field.required]
    return Event(row.record(**{field.name: VALUES.get(field.name, 1) for field in needed}))


def row_of(name: str) -> Any:
    (row,) = find_event_types(name, "xcsh")
    return row


def test_every_event_of_the_contract_is_in_the_table():
    assert {row.aliases["xcsh"] for row in EVENT_TYPES if "xcsh" in row.aliases} == set(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_an_event_shows_exactly_its_fields(name: str):
    row = row_of(name)
    assert find_view(row.name).fields == tuple(FIELDS[name].split())
    view = view_event(make_event_of(row))
    assert view.type == name
    for field in view.fields:
        getattr(view, field)
    assert name in repr(view)


@pytest.mark.parametrize("name", FIELDS)
def test_an_event_can_be_stopped_and_changed_as_the_contract_says(name: str):
    row = row_of(name)
    assert row.gate is (name in GATES)
    edits = {field: row.edits[field].combination for field in EDITS.get(name, {})}
    assert edits == EDITS.get(name, {})


async def test_either_name_of_an_event_is_taken(bench: Bench):
    """Section 3: the names are aliases, so that all hooks of one point meet in one dispatch."""
    engine = bench.open()
    called: list[str] = []
    engine.on("before_turn", lambda event, ctx: called.append(event.type))
    engine.on("agent_start", lambda event, ctx: called.append(event.type))
    await engine.fire(Event(BeforeTurn(turn=1)))
    assert called == ["agent_start", "agent_start"]


def test_a_turn_of_modules_is_a_step_and_no_turn_of_the_user():
    """Section 3: `turn_start` must not be confused with `before_turn`."""
    assert row_of("turn_start").name == "model_step_start"
    assert get_event_type("before_turn").aliases["xcsh"] == "agent_start"


async def test_the_time_of_a_step_is_in_milliseconds(bench: Bench):
    engine = bench.open()
    seen: list[int] = []
    engine.on("turn_start", lambda event, ctx: seen.append(event.timestamp))
    await engine.fire(Event(ModelStepStart(), timestamp=datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)))
    assert seen == [2000]


async def test_an_event_that_only_hookline_knows_shows_its_own_fields(bench: Bench):
    engine = bench.open()
    seen: list[Any] = []
    engine.on("user_prompt_submit", lambda event, ctx: seen.append((event.type, event.text, hasattr(event, "txt"))))
    await engine.fire(make_prompt_event("hello"))
    assert seen == [("user_prompt_submit", "hello", False)]


# What may be returned


@pytest.mark.parametrize(
    ("result", "mapping"),
    [
        (ToolCallResult(block=True, reason="no"), {"block": True, "reason": "no"}),
        (ToolCallResult(input={"command": "true"}), {"input": {"command": "true"}}),
        (ToolCallResult(ask=True, reason="sure?"), {"ask": True, "reason": "sure?"}),
        (ToolCallResult(), {}),
    ],
)
async def test_a_result_class_says_what_its_dict_says(bench: Bench, result: Any, mapping: Any):
    decisions = []
    for returned in (result, mapping):
        engine = bench.open()
        engine.on("tool_call", lambda event, ctx, returned=returned: returned)
        decisions.append(await engine.fire(call_event()))
    first, second = ((decision.verdict, decision.reason, decision.edits) for decision in decisions)
    assert first == second


async def test_a_rewritten_input_replaces_the_old_one_which_is_kept(bench: Bench):
    """Section 5, F: chained to later handlers, the original kept for audit."""
    engine = bench.open()
    seen: list[Any] = []
    engine.on("tool_call", lambda event, ctx: {"input": {"cmd": "true"}})
    engine.on("tool_call", lambda event, ctx: seen.append(event.input))
    event = call_event(command="ls")
    decision = await engine.fire(event)
    assert seen == [{"cmd": "true"}]
    assert decision.edits == {"args": {"cmd": "true"}}
    assert event.fields.tool.args == {"command": "ls"}


async def test_a_result_class_may_clear_a_detail(bench: Bench):
    engine = bench.open()
    engine.on("tool_result", lambda event, ctx: ToolResultResult(details=None))
    decision = await engine.fire(result_event(details={"n": 1}))
    assert decision.edits == {"details": None}


async def test_a_compaction_may_be_handed_in_or_stopped(bench: Bench):
    engine = bench.open()
    compaction = {"summary": "S", "first_kept_entry_id": "e1", "tokens_before": 5}
    remove = engine.on("session_before_compact", lambda event, ctx: SessionBeforeCompactResult(compaction=compaction))
    event = Event(BeforeCompact(preparation={"tokens_before": 5}))
    assert (await engine.fire(event)).edits == {"compaction": compaction}
    remove()
    engine.on("session_before_compact", lambda event, ctx: {"cancel": True, "reason": "not now"})
    assert (await engine.fire(event)).reason == "not now"


@pytest.mark.parametrize("returned", [True, "block", 5, ["block"], object()])
async def test_any_other_return_value_is_ignored_and_said_so(bench: Bench, returned: Any):
    """Section 4."""
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: returned)
    decision = await engine.fire(call_event())
    assert decision.is_allowed
    assert f"ignored: a return value of type {type(returned).__name__}" in decision.warnings[0]


async def test_a_key_that_means_nothing_is_said_so(bench: Bench):
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: {"blocked": True})
    assert "'blocked', which means nothing" in (await engine.fire(call_event())).warnings[0]


# Renderers (section 4)


async def test_the_first_renderer_counts_and_one_that_fails_gives_the_default(bench: Bench):
    engine = open_modules(
        bench,
        """
        import sys
        def hook(api):
            api.register_message_renderer("a", lambda message, expanded, theme: f"{message.content}{expanded}")
            api.register_message_renderer("b", lambda message, expanded, theme: 1 / 0)
            api.register_message_renderer("c", lambda message, expanded, theme: sys.exit(1))
        """,
        "def hook(api): api.register_message_renderer('a', lambda message, expanded, theme: 'second')",
    )
    shown = [
        engine.handling.render(CustomMessage(custom_type=kind, content="x"), expanded=True)
        for kind in ("a", "b", "c", "d")
    ]
    assert shown == ["xTrue", None, None, None]
