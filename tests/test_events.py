"""The event table and the record of one occurrence."""

from __future__ import annotations

from datetime import UTC
from typing import get_args

import pytest

from hookline.errors import HooklineError, UnknownEventError
from hookline.events import EVENT_NAMES, EVENT_TYPES, Event, EventType, Fields, get_event_type
from hookline.fields import SessionStart
from support import make_event, make_prompt_event, make_result_event

NATIVE_EVENTS = {
    "session_start",
    "session_restored",
    "session_end",
    "user_prompt_submit",
    "before_turn",
    "after_turn",
    "user_interrupt",
    "before_tool_call",
    "after_tool_call",
    "tool_error",
    "approval_requested",
    "approval_resolved",
    "sub_agent_start",
    "sub_agent_end",
    "pre_compact",
    "workflow_run_start",
    "workflow_run_end",
}
SESSION_SCOPED = {
    "session_start",
    "session_restored",
    "session_end",
    "pre_compact",
    "workflow_run_start",
    "workflow_run_end",
}
FIELDS = {
    "session_restored": ("restored_session_id",),
    "user_prompt_submit": ("text", "injected"),
    "before_turn": ("turn", "user_text", "is_retry"),
    "after_turn": ("turn", "status", "failed"),
    "before_tool_call": ("tool",),
    "after_tool_call": ("tool", "result"),
    "tool_error": ("tool", "result"),
    "approval_requested": ("request_id", "caller_name", "tool"),
    "approval_resolved": ("request_id", "caller_name", "tool", "approved"),
    "sub_agent_start": ("sub_agent",),
    "sub_agent_end": ("sub_agent", "status", "result_summary"),
    "pre_compact": ("trigger", "usage_pct", "tokens_before", "sub_agent"),
    "workflow_run_start": ("run_id", "input_text"),
    "workflow_run_end": ("run_id", "outcome", "reason"),
}

each_event = pytest.mark.parametrize("row", EVENT_TYPES, ids=EVENT_NAMES)


def test_the_table_has_every_native_event():
    assert set(EVENT_NAMES) >= NATIVE_EVENTS


def test_names_of_events_are_unique():
    assert len(set(EVENT_NAMES)) == len(EVENT_TYPES)


def test_every_record_has_exactly_one_row():
    assert sorted(record.__name__ for record in get_args(Fields)) == sorted(row.record.__name__ for row in EVENT_TYPES)


@each_event
def test_a_row_is_found_by_its_name(row: EventType):
    assert get_event_type(row.name) is row


@each_event
def test_a_row_says_what_has_happened_in_one_line(row: EventType):
    assert row.meaning.endswith(".")
    assert "\n" not in row.meaning


@each_event
def test_a_row_has_the_documented_fields(row: EventType):
    assert row.field_names == FIELDS.get(row.name, ())


@each_event
def test_a_row_has_the_scope_of_the_contract(row: EventType):
    expected = "session" if row.name in SESSION_SCOPED else "none" if row.name == "user_interrupt" else "turn"
    assert row.scope == expected


@each_event
def test_only_prompts_and_tool_calls_can_be_stopped(row: EventType):
    assert row.gate == (row.name in {"user_prompt_submit", "before_tool_call"})


@each_event
def test_only_an_interrupt_is_never_waited_for(row: EventType):
    assert row.background == (row.name == "user_interrupt")


@each_event
def test_a_row_about_a_tool_says_so(row: EventType):
    tool_events = {"before_tool_call", "after_tool_call", "tool_error", "approval_requested", "approval_resolved"}
    assert row.has_tool == (row.name in tool_events)


@each_event
def test_the_path_of_an_edit_leads_to_a_field(row: EventType):
    for name, rule in row.edits.items():
        assert rule.operations
        if name not in ("reminders", "context"):
            assert rule.path[0] in row.field_names


def test_arguments_can_be_edited_before_a_call_only():
    assert [row.name for row in EVENT_TYPES if "args" in row.edits] == ["before_tool_call"]


def test_context_can_be_added_to_prompts_and_results():
    with_context = {row.name for row in EVENT_TYPES if "context" in row.edits}
    assert with_context == {"user_prompt_submit", "after_tool_call", "tool_error"}


def test_reminders_can_be_added_to_prompts_only():
    assert [row.name for row in EVENT_TYPES if "reminders" in row.edits] == ["user_prompt_submit"]


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UnknownEventError, match=r"unknown event 'zzz'; known events: session_start, .*"):
        get_event_type("zzz")


def test_a_mistyped_name_is_refused_with_the_one_it_resembles():
    with pytest.raises(UnknownEventError, match=r"unknown event 'befor_turn'; did you mean 'before_turn'\?"):
        get_event_type("befor_turn")


def test_an_unknown_name_is_an_error_of_hookline_and_a_value_error():
    assert issubclass(UnknownEventError, HooklineError)
    assert issubclass(UnknownEventError, ValueError)


def test_an_event_knows_its_row_and_name_by_its_record():
    event = make_event()
    assert event.name == "before_tool_call"
    assert event.type is get_event_type("before_tool_call")


def test_an_event_about_a_tool_hands_out_the_call():
    event = make_event(tool="edit", kind="filesystem.write", args={"path": "a"})
    assert event.tool is not None
    assert (event.tool.name, event.tool.kind, event.tool.args) == ("edit", "filesystem.write", {"path": "a"})


def test_a_result_event_hands_out_its_call_too():
    event = make_result_event()
    assert event.tool is not None
    assert event.tool.name == "edit"


def test_an_event_about_no_tool_has_none():
    assert make_prompt_event().tool is None


def test_every_event_has_an_id_of_its_own():
    assert make_event().event_id != make_event().event_id


def test_the_timestamp_is_in_utc():
    assert Event(SessionStart()).timestamp.tzinfo is UTC


def test_an_event_cannot_be_changed():
    with pytest.raises(AttributeError):
        make_event().session_id = "s2"  # type: ignore[misc]


def test_the_surroundings_of_an_event_are_named():
    with pytest.raises(TypeError):
        Event(SessionStart(), "s1")  # type: ignore[misc]


def test_an_event_is_of_the_main_agent_unless_told_otherwise():
    agent = Event(SessionStart()).agent
    assert (agent.id, agent.parent_id, agent.depth) == ("main", None, 0)
