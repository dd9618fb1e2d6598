"""The event table and the record of one occurrence."""

from __future__ import annotations

from datetime import UTC
from typing import Any, get_args, get_type_hints

import pytest

from hookline.errors import HooklineError, UnknownEventError
from hookline.events import (
    EVENT_NAMES,
    EVENT_TYPES,
    Event,
    EventType,
    Fields,
    find_event_types,
    get_event_type,
    list_event_names,
)
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
    "session_before_switch",
    "session_switch",
    "session_before_branch",
    "session_branch",
    "session_before_tree",
    "session_tree",
    "session_end",
    "before_compact",
    "compacting",
    "pre_compact",
    "post_compact",
    "workflow_run_start",
    "workflow_run_end",
}
FIELDS = {
    "session_restored": ("restored_session_id",),
    "user_prompt_submit": ("text", "injected"),
    "before_turn": ("turn", "user_text", "is_retry"),
    "after_turn": (
        "turn",
        "status",
        "failed",
        "messages",
        "response",
        "error",
        "tool_calls",
        "iterations",
        "is_unbegun",
    ),
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
    "session_before_switch": ("reason", "target_session_file"),
    "session_switch": ("reason", "previous_session_file"),
    "session_before_branch": ("entry_id",),
    "session_branch": ("previous_session_file",),
    "session_before_tree": ("preparation", "signal"),
    "session_tree": ("new_leaf_id", "old_leaf_id", "summary_entry", "from_extension"),
    "before_agent_start": ("prompt", "images", "system_prompt"),
    "before_model_call": ("messages",),
    "model_step_start": ("turn_index",),
    "model_step_end": ("turn_index", "message", "tool_results"),
    "permission_request": ("tool", "requested_dirs"),
    "before_compact": ("preparation", "branch_entries", "custom_instructions", "signal"),
    "compacting": ("messages",),
    "post_compact": ("trigger", "summarized_turns", "tokens_before", "compaction_entry", "from_extension"),
    "auto_compaction_start": ("reason", "action"),
    "auto_compaction_end": ("action", "result", "aborted", "will_retry", "error_message", "skipped"),
    "auto_retry_start": ("attempt", "max_attempts", "delay_ms", "error_message"),
    "auto_retry_end": ("success", "attempt", "final_error"),
    "ttsr_triggered": ("rules",),
    "todo_reminder": ("todos", "attempt", "max_attempts"),
    "hook_failed": ("hook_id", "failed_event", "kind", "message", "source"),
}
GATES = {
    "session_before_switch",
    "session_before_branch",
    "session_before_tree",
    "user_prompt_submit",
    "before_tool_call",
    "permission_request",
    "before_compact",
}
# For each event with edits: the operations of each field, and how those of several hooks combine.
EDITS = {
    "session_before_branch": {"skip_conversation_restore": ("clear replace", "latest")},
    "session_before_tree": {"summary": ("clear replace", "latest")},
    "user_prompt_submit": {
        "text": ("replace", "chained"),
        "reminders": ("append", "chained"),
        "context": ("append", "chained"),
    },
    "before_agent_start": {"message": ("replace", "first")},
    "before_model_call": {"messages": ("replace", "chained")},
    "before_tool_call": {"args": ("merge replace", "chained")},
    "after_tool_call": {
        "context": ("append", "chained"),
        "result": ("clear replace", "chained"),
        "content": ("clear replace", "chained"),
        "details": ("clear replace", "chained"),
        "is_error": ("clear replace", "chained"),
    },
    "tool_error": {"context": ("append", "chained")},
    "before_compact": {"compaction": ("clear replace", "latest")},
    "compacting": {
        "context": ("clear replace", "latest"),
        "prompt": ("clear replace", "latest"),
        "preserve_data": ("clear replace", "latest"),
    },
}
# For each dialect the events it knows, by its own names, in the order of an agent's life.
ALIASES = {
    "xcsh": {
        "session_start": ["session_start"],
        "session_before_switch": ["session_before_switch"],
        "session_switch": ["session_switch"],
        "session_before_branch": ["session_before_branch"],
        "session_branch": ["session_branch"],
        "session_before_tree": ["session_before_tree"],
        "session_tree": ["session_tree"],
        "session_shutdown": ["session_end"],
        "agent_start": ["before_turn"],
        "agent_end": ["after_turn"],
        "before_agent_start": ["before_agent_start"],
        "context": ["before_model_call"],
        "turn_start": ["model_step_start"],
        "turn_end": ["model_step_end"],
        "tool_call": ["before_tool_call"],
        "tool_result": ["after_tool_call"],
        "session_before_compact": ["before_compact"],
        "session.compacting": ["compacting"],
        "session_compact": ["post_compact"],
        "auto_compaction_start": ["auto_compaction_start"],
        "auto_compaction_end": ["auto_compaction_end"],
        "auto_retry_start": ["auto_retry_start"],
        "auto_retry_end": ["auto_retry_end"],
        "ttsr_triggered": ["ttsr_triggered"],
        "todo_reminder": ["todo_reminder"],
    },
    "agentyk": {
        "session_start": ["session_start"],
        "session_end": ["session_end"],
        "user_prompt_submit": ["user_prompt_submit"],
        "turn_end": ["after_turn"],
        "pre_tool_use": ["before_tool_call"],
        "post_tool_use": ["after_tool_call"],
    },
    "vix": {
        "ThreadStart": ["session_start", "session_restored"],
        "UserPromptSubmit": ["user_prompt_submit"],
        "Stop": ["after_turn"],
        "PreToolUse": ["before_tool_call"],
        "PostToolUse": ["after_tool_call"],
        "PermissionRequest": ["permission_request"],
        "SubagentStart": ["sub_agent_start"],
        "SubagentStop": ["sub_agent_end"],
        "PreCompact": ["pre_compact"],
        "PostCompact": ["post_compact"],
    },
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
def test_only_what_is_about_to_happen_can_be_stopped(row: EventType):
    assert row.gate == (row.name in GATES)


@each_event
def test_a_payload_has_all_fields_but_those_of_the_hosts_process(row: EventType):
    assert row.payload_names == tuple(name for name in row.field_names if name not in ("is_unbegun", "signal"))


@each_event
def test_only_an_interrupt_is_never_waited_for(row: EventType):
    assert row.background == (row.name == "user_interrupt")


@each_event
def test_a_row_about_a_tool_says_so(row: EventType):
    calls = {"before_tool_call", "after_tool_call", "tool_error"}
    approvals = {"permission_request", "approval_requested", "approval_resolved"}
    assert row.has_tool == (row.name in calls | approvals)


@each_event
def test_a_row_has_the_edits_of_the_contract(row: EventType):
    edits = {name: (" ".join(sorted(rule.operations)), rule.combination) for name, rule in row.edits.items()}
    assert edits == EDITS.get(row.name, {})


@each_event
def test_the_path_of_an_edit_leads_to_a_field(row: EventType):
    for rule in row.edits.values():
        record: Any = row.record
        for name in rule.path:
            assert name in record.__struct_fields__
            record = get_type_hints(record)[name]


@each_event
def test_what_is_edited_in_the_event_is_chained_and_the_rest_is_handed_on_beside_it(row: EventType):
    for rule in row.edits.values():
        is_chained = rule.combination == "chained" and "append" not in rule.operations
        assert is_chained == bool(rule.path)


@pytest.mark.parametrize(
    ("name", "field", "words"),
    [
        ("before_tool_call", "args", "the later wins, and each hook sees the earlier ones"),
        ("compacting", "prompt", "the last stands"),
        ("before_agent_start", "message", "the first stands"),
        ("tool_error", "context", "all stand, in order"),
    ],
)
def test_what_becomes_of_several_edits_is_told_in_words(name: str, field: str, words: str):
    assert get_event_type(name).edits[field].several == words


def test_the_fields_that_the_last_answer_decides_are_named():
    assert get_event_type("compacting").latest == ("context", "prompt", "preserve_data")
    assert get_event_type("after_tool_call").latest == ()


@each_event
def test_natively_an_event_has_its_own_name(row: EventType):
    assert row.aliases["native"] == row.name


def test_chrys_knows_the_documented_events_by_the_same_names():
    assert set(list_event_names("chrys")) == NATIVE_EVENTS
    for name in NATIVE_EVENTS:
        assert find_event_types(name, "chrys") == (get_event_type(name),)


@pytest.mark.parametrize("dialect", ALIASES)
def test_a_dialect_knows_its_events_by_its_own_names(dialect: str):
    names = list_event_names(dialect)
    assert {name: [row.name for row in find_event_types(name, dialect)] for name in names} == ALIASES[dialect]


def test_the_names_of_a_dialect_mean_nothing_in_another():
    assert find_event_types("PreToolUse", "xcsh") == ()
    assert find_event_types("before_tool_call", "vix") == ()


def test_one_name_may_mean_something_else_in_another_dialect():
    """An xcsh turn is one step of the model, an agentyk turn is the user's."""
    assert [row.name for row in find_event_types("turn_end", "xcsh")] == ["model_step_end"]
    assert [row.name for row in find_event_types("turn_end", "agentyk")] == ["after_turn"]


def test_arguments_can_be_edited_before_a_call_only():
    assert [row.name for row in EVENT_TYPES if "args" in row.edits] == ["before_tool_call"]


def test_context_can_be_added_to_prompts_and_results():
    with_context = {row.name for row in EVENT_TYPES if "context" in row.edits and row.name != "compacting"}
    assert "append" not in get_event_type("compacting").edits["context"].operations
    assert with_context == {"user_prompt_submit", "after_tool_call", "tool_error"}


def test_reminders_can_be_added_to_prompts_only():
    assert [row.name for row in EVENT_TYPES if "reminders" in row.edits] == ["user_prompt_submit"]


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(UnknownEventError, match=r"unknown event 'zzz'; known events: session_start, .*"):
        get_event_type("zzz")


def test_a_mistyped_name_is_refused_with_the_one_it_resembles():
    with pytest.raises(UnknownEventError, match=r"unknown event 'befor_turn'; did you mean 'before_turn'\?"):
        get_event_type("befor_turn")


@pytest.mark.parametrize(
    ("name", "meant"), [("PreToolUse", "'before_tool_call'"), ("ThreadStart", "'session_start' or 'session_restored'")]
)
def test_a_name_of_another_format_is_told_by_its_own(name: str, meant: str) -> None:
    with pytest.raises(UnknownEventError, match=rf"unknown event '{name}'; did you mean {meant}\?"):
        get_event_type(name)


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
