"""Events read from JSON data that came from outside."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from hookline.errors import HooklineError, PayloadError, UnknownEventError
from hookline.events import (
    EVENT_NAMES,
    EVENT_TYPES,
    Event,
    get_event_type,
)
from hookline.payload import parse_payload

TOOL = {"name": "bash", "kind": "shell", "call_id": "c1", "args": {"command": "ls"}}
RESULT = {"text": "ok", "duration_ms": 42, "error": False, "failed": False, "approval_rejected": False}
SUB_AGENT = {"name": "Explore", "tool_name": "task", "invocation_id": "i1", "parent_call_id": "c1"}
WHOLE: dict[str, dict[str, Any]] = {
    "session_start": {},
    "session_restored": {"restored_session_id": "s0"},
    "session_end": {},
    "user_prompt_submit": {"text": "hello", "injected": True},
    "before_turn": {"turn": 2, "user_text": "hello", "is_retry": True},
    "after_turn": {
        "turn": 2,
        "status": "interrupted",
        "failed": True,
        "messages": [{"role": "user"}],
        "response": "so far",
        "error": "gave up",
        "tool_calls": 3,
        "iterations": 2,
    },
    "user_interrupt": {},
    "before_tool_call": {"tool": TOOL},
    "after_tool_call": {"tool": TOOL, "result": RESULT},
    "tool_error": {"tool": TOOL, "result": {**RESULT, "error": True, "failed": True}},
    "approval_requested": {"request_id": "r1", "caller_name": "Code", "tool": TOOL},
    "approval_resolved": {"request_id": "r1", "caller_name": "Code", "tool": TOOL, "approved": False},
    "sub_agent_start": {"sub_agent": SUB_AGENT},
    "sub_agent_end": {"sub_agent": SUB_AGENT, "status": "cancelled", "result_summary": "nothing"},
    "pre_compact": {"trigger": "phase3", "usage_pct": 0.9, "tokens_before": 1000, "sub_agent": SUB_AGENT},
    "workflow_run_start": {"run_id": "w1", "input_text": "go"},
    "workflow_run_end": {"run_id": "w1", "outcome": "failed", "reason": "why not"},
    "session_before_switch": {"reason": "resume", "target_session_file": "/s/b.jsonl"},
    "session_switch": {"reason": "fork", "previous_session_file": "/s/a.jsonl"},
    "session_before_branch": {"entry_id": "e7"},
    "session_branch": {"previous_session_file": "/s/a.jsonl"},
    "session_before_tree": {"preparation": {"target_id": "e3", "user_wants_summary": True}},
    "session_tree": {"new_leaf_id": "e3", "old_leaf_id": "e7", "summary_entry": {"id": "e8"}, "from_extension": True},
    "before_agent_start": {"prompt": "hello", "images": [{"data": "…"}], "system_prompt": "be brief"},
    "before_model_call": {"messages": [{"role": "user"}]},
    "model_step_start": {"turn_index": 1},
    "model_step_end": {"turn_index": 1, "message": {"role": "assistant"}, "tool_results": [{"text": "ok"}]},
    "permission_request": {"tool": TOOL, "requested_dirs": ["/other"]},
    "before_compact": {
        "preparation": {"tokens_before": 1000},
        "branch_entries": [{"id": "e1"}],
        "custom_instructions": "keep names",
    },
    "compacting": {"messages": [{"role": "user"}]},
    "post_compact": {
        "trigger": "manual",
        "summarized_turns": 4,
        "tokens_before": 1000,
        "compaction_entry": {"id": "e9"},
        "from_extension": True,
    },
    "auto_compaction_start": {"reason": "overflow", "action": "handoff"},
    "auto_compaction_end": {
        "action": "handoff",
        "result": {"summary": "s"},
        "aborted": True,
        "will_retry": True,
        "error_message": "too long",
        "skipped": False,
    },
    "auto_retry_start": {"attempt": 1, "max_attempts": 3, "delay_ms": 2000, "error_message": "overloaded"},
    "auto_retry_end": {"success": False, "attempt": 3, "final_error": "overloaded"},
    "ttsr_triggered": {"rules": [{"name": "r"}]},
    "todo_reminder": {"todos": [{"text": "t"}], "attempt": 1, "max_attempts": 2},
    "hook_failed": {
        "hook_id": "h",
        "failed_event": "before_tool_call",
        "kind": "exit",
        "message": "exit code 1",
        "source": "hooks.yaml:2",
    },
}


def parse(name: str, payload: dict[str, Any], **options: Any) -> Event:
    return parse_payload(name, payload, **options)[0]


def fail(name: str, payload: dict[str, Any]) -> str:
    with pytest.raises(PayloadError) as caught:
        parse_payload(name, payload)
    return str(caught.value)


def get_value(record: Any, data: Any) -> Any:
    """What a record holds where the data holds something."""
    if isinstance(data, dict) and not isinstance(record, dict):
        return {key: get_value(getattr(record, key), value) for key, value in data.items()}
    return record


def test_the_samples_cover_the_table():
    assert WHOLE.keys() == set(EVENT_NAMES)


@pytest.mark.parametrize("name", EVENT_NAMES)
def test_every_field_of_an_event_is_read(name: str):
    event, unknown = parse_payload(name, WHOLE[name])
    assert type(event.fields) is get_event_type(name).record
    assert get_value(event.fields, WHOLE[name]) == WHOLE[name]
    assert unknown == ()


@pytest.mark.parametrize(
    ("name", "missing"),
    [(row.name, field.name) for row in EVENT_TYPES for field in msgspec.structs.fields(row.record) if field.required],
)
def test_a_payload_without_a_required_field_is_refused_by_name(name: str, missing: str):
    payload = {key: value for key, value in WHOLE[name].items() if key != missing}
    assert fail(name, payload) == f"the payload of {name} does not fit: Object missing required field `{missing}`"


def test_a_field_of_the_wrong_type_is_refused_with_its_place():
    message = fail("before_tool_call", {"tool": {"name": 5}})
    assert "Expected `str`, got `int`" in message
    assert "`$.tool.name`" in message


def test_a_word_outside_its_set_is_refused():
    assert "Invalid enum value 'fine'" in fail("after_turn", {"turn": 1, "status": "fine"})


def test_a_boolean_is_no_number():
    assert "Expected `int`, got `bool`" in fail("before_turn", {"turn": True})


def test_the_envelope_is_read():
    payload = {
        "schema": 1,
        "event": "session_start",
        "timestamp": "2026-05-14T15:00:00Z",
        "session_id": "s1",
        "turn_id": "t1",
        "event_id": "e1",
        "profile": "Code",
        "cwd": "/somewhere",
        "agent": {"id": "a2", "name": "Explore", "parent_id": "main", "depth": 1},
    }
    event, unknown = parse_payload("session_start", payload)
    assert (event.session_id, event.turn_id, event.event_id) == ("s1", "t1", "e1")
    assert (event.profile, event.cwd) == ("Code", "/somewhere")
    assert (event.agent.id, event.agent.name, event.agent.parent_id, event.agent.depth) == ("a2", "Explore", "main", 1)
    assert unknown == ()


def test_a_payload_without_an_envelope_gets_one():
    event = parse("session_start", {})
    assert (event.session_id, event.turn_id, event.profile, event.cwd) == ("", None, "", "")
    assert event.agent.id == "main"
    assert event.event_id


def test_the_given_directory_is_used_where_the_payload_names_none():
    assert parse("session_start", {}, cwd="/given").cwd == "/given"


def test_the_directory_of_the_payload_goes_before_the_given_one():
    assert parse("session_start", {"cwd": "/own"}, cwd="/given").cwd == "/own"


def test_a_null_in_the_envelope_is_as_good_as_nothing():
    event = parse("session_start", {"session_id": None, "profile": None, "agent": None, "cwd": None}, cwd="/given")
    assert (event.session_id, event.profile, event.agent.id, event.cwd) == ("", "", "main", "/given")


@pytest.mark.parametrize("key", ["session_id", "turn_id", "profile", "cwd", "event_id"])
def test_an_envelope_field_that_is_no_text_is_refused(key: str):
    assert fail("session_start", {key: 5}) == f"the payload's {key} must be text, not int"


def test_an_agent_that_does_not_fit_is_refused():
    assert fail("session_start", {"agent": {"depth": "deep"}}).startswith("the payload's agent does not fit: ")


def test_keys_that_mean_nothing_are_handed_back_in_order():
    _, unknown = parse_payload("session_start", {"zebra": 1, "session_id": "s", "text": "x"})
    assert unknown == ("zebra", "text")


def test_keys_of_a_tool_that_mean_nothing_are_handed_back_too():
    _, unknown = parse_payload("before_tool_call", {"tool": {**TOOL, "arguments": {"command": "rm"}}})
    assert any("arguments" in key for key in unknown)


@pytest.mark.parametrize("name", ["session_before_tree", "before_compact"])
def test_what_lives_in_the_hosts_process_is_taken_from_no_payload(name: str):
    event, unknown = parse_payload(name, {"signal": {"aborted": True}})
    assert event.fields.signal is None  # type: ignore[union-attr]
    assert unknown == ("signal",)


def test_an_event_of_defaults_is_the_same_when_it_was_written_and_read():
    event = parse("model_step_end", {})
    assert parse("model_step_end", {"tool_results": []}).fields == event.fields


def test_blocks_and_details_of_a_result_are_read():
    parts = {"content": [{"type": "text", "text": "ok"}], "details": {"lines": 3}}
    event, unknown = parse_payload("after_tool_call", {"tool": TOOL, "result": {**RESULT, **parts}})
    assert get_value(event.fields, {"result": parts}) == {"result": parts}
    assert unknown == ()


def test_a_payload_of_another_event_is_refused():
    message = fail("session_start", {"event": "session_end"})
    assert message == "the payload is one of 'session_end', not of 'session_start'"


def test_an_unknown_event_is_refused():
    with pytest.raises(UnknownEventError, match="unknown event 'nope'"):
        parse_payload("nope", {})


def test_a_payload_error_is_an_error_of_hookline_and_a_value_error():
    assert issubclass(PayloadError, HooklineError)
    assert issubclass(PayloadError, ValueError)


def test_arguments_pass_unchanged_whatever_json_they_are():
    args = json.loads(
        '{"big": 123456789012345678901234567890, "half": "\\ud800", "list": [1, 1.0, true, null], "": {"": []}}'
    )
    event = parse("before_tool_call", {"tool": {"name": "x", "args": args}})
    assert event.tool is not None
    assert repr(event.tool.args) == repr(args)


def test_arguments_that_are_no_object_are_refused():
    assert "Expected `object`, got `array`" in fail("before_tool_call", {"tool": {"name": "x", "args": []}})


def test_a_half_character_in_a_text_is_kept():
    event = parse("user_prompt_submit", {"text": "\ud800"})
    assert event.fields.text == "\ud800"  # type: ignore[union-attr]
