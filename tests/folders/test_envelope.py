"""What a hook folder's command reads on stdin."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from hookline.dialects.wire import UnencodableError
from hookline.events import EVENT_TYPES, Event, Fields
from hookline.facts import NO_FACTS, HostFacts
from hookline.fields import (
    AfterToolCall,
    AfterTurn,
    Agent,
    BeforeToolCall,
    BeforeTurn,
    PermissionRequest,
    PostCompact,
    PreCompact,
    SessionRestored,
    SessionStart,
    SubAgent,
    SubAgentEnd,
    SubAgentStart,
    Tool,
    ToolResult,
    UserPromptSubmit,
)
from hookline.folders.envelope import (
    compose_message,
    encode_event,
    encode_facts,
    encode_manual,
    to_json,
)
from hookline.folders.event_names import EVENTS_BY_NAME, FOLDER_EVENTS, find_folder_event
from hookline.folders.json_text import mend
from hookline.folders.matcher import match_field
from hookline.match import find_subject
from json_values import objects
from properties import steady

TOOL = Tool(name="bash", kind="shell", args={"command": "ls"})
AGENT = SubAgent(name="explorer", invocation_id="i-1")


def encode(fields: Fields, facts: HostFacts = NO_FACTS, **options: Any) -> dict[str, Any]:
    return encode_event(Event(fields, facts=facts, **options))


def test_what_the_host_does_not_know_is_empty():
    """Fact 47 of the folder contract."""
    assert encode(SessionStart(), session_id="s", cwd="/p") == {
        "thread_id": "s",
        "hook_event_name": "ThreadStart",
        "cwd": "/p",
        "model": "",
        "permission_mode": "",
        "origin": "",
        "headless": False,
        "thread_mode": "",
        "agent": "",
        "turn_count": 0,
        "vix_bin": "",
        "socket_path": "",
        "source": "startup",
    }


def test_what_the_host_knows_is_told():
    """Fact 47 of the folder contract."""
    known: dict[str, Any] = {
        "model": "m",
        "permission_mode": "plan",
        "origin": "user",
        "headless": True,
        "thread_mode": "chat",
        "agent": "a",
        "turn_count": 3,
        "vix_bin": "/bin/vix",
        "socket_path": "/run/s",
        "parent_thread_id": "p",
        "active_workflow": "w",
        "trigger_type": "hook",
        "trigger_ref": "r",
    }
    started_at = datetime(2030, 1, 2, 5, 4, 5, 600, tzinfo=timezone(timedelta(hours=2)))
    found = encode(AfterTurn(turn=7), HostFacts(**known, started_at=started_at))
    assert found == known | {
        "thread_id": "",
        "cwd": "",
        "hook_event_name": "Stop",
        "started_at": "2030-01-02T03:04:05Z",
    }


def test_the_agent_and_the_turn_are_those_of_the_event_unless_the_host_knows_better():
    found = encode(AfterTurn(turn=7), agent=Agent(name="main"))
    assert (found["agent"], found["turn_count"]) == ("main", 7)


@pytest.mark.parametrize(
    ("fields", "name", "facts"),
    [
        (BeforeToolCall(tool=TOOL), "PreToolUse", {"tool_name": "bash", "tool_input": {"command": "ls"}}),
        (
            AfterToolCall(tool=TOOL, result=ToolResult(text="out", failed=True)),
            "PostToolUse",
            {"tool_name": "bash", "tool_input": {"command": "ls"}, "tool_response": "out", "is_error": True},
        ),
        (UserPromptSubmit(text="hi"), "UserPromptSubmit", {"prompt": "hi"}),
        (SessionStart(), "ThreadStart", {"source": "startup"}),
        (SessionRestored(restored_session_id="s"), "ThreadStart", {"source": "resume"}),
        (AfterTurn(turn=1), "Stop", {}),
        (PreCompact(trigger="auto"), "PreCompact", {"trigger": "auto"}),
        (
            SubAgentStart(sub_agent=AGENT),
            "SubagentStart",
            {"agent_type": "explorer", "agent_id": "i-1", "prompt": ""},
        ),
        (SubAgentEnd(sub_agent=SubAgent(name="x")), "SubagentStop", {"agent_type": "x", "agent_id": ""}),
        (
            SubAgentEnd(sub_agent=AGENT, status="failed", result_summary="no"),
            "SubagentStop",
            {"agent_type": "explorer", "agent_id": "i-1", "result": "no", "is_error": True},
        ),
    ],
)
def test_every_event_has_its_facts(fields: Fields, name: str, facts: dict[str, Any]):
    """Fact 48 of the folder contract."""
    assert encode(fields)["hook_event_name"] == name
    assert encode_facts(Event(fields)) == facts
    assert encode(fields).items() >= facts.items()


def test_a_permission_request_names_its_folders_when_there_are_any():
    """Fact 48 of the folder contract."""
    facts = {"tool_name": "bash", "tool_input": {"command": "ls"}}
    assert encode_facts(Event(PermissionRequest(tool=TOOL))) == facts
    asked = Event(PermissionRequest(tool=TOOL, requested_dirs=("/a", "/b")))
    assert encode_facts(asked) == facts | {"requested_dirs": ["/a", "/b"]}


def test_a_compaction_that_is_done_tells_its_size():
    """Fact 48 of the folder contract."""
    facts = {"trigger": "auto", "summarized_turns": 4, "from_tokens": 900}
    assert encode_facts(Event(PostCompact(trigger="auto", summarized_turns=4, tokens_before=900))) == facts


def test_a_run_by_hand_has_an_envelope_of_its_own():
    """Fact 53 of the folder contract."""
    assert encode_manual("PreToolUse", "") == {"event": "PreToolUse", "manual": True}
    assert encode_manual("Stop", "/p") == {"event": "Stop", "manual": True, "cwd": "/p"}


@pytest.mark.parametrize(
    ("fields", "subject"),
    [
        (BeforeToolCall(tool=TOOL), "bash"),
        (AfterToolCall(tool=TOOL, result=ToolResult()), "bash"),
        (PermissionRequest(tool=TOOL), "bash"),
        (SessionStart(), "startup"),
        (SessionRestored(restored_session_id="s"), "resume"),
        (PreCompact(trigger="auto"), "auto"),
        (PostCompact(trigger="manual"), "manual"),
        (SubAgentStart(sub_agent=AGENT), "explorer"),
        (SubAgentEnd(sub_agent=AGENT), "explorer"),
        (UserPromptSubmit(text="hi"), ""),
        (AfterTurn(turn=1), ""),
    ],
)
def test_matchers_look_at_the_facts_of_the_envelope(fields: Fields, subject: str):
    """Fact 16 of the folder contract."""
    event = Event(fields)
    assert match_field(encode_event(event)["hook_event_name"], encode_facts(event)) == subject
    assert find_subject(event) == subject


def test_an_event_that_hook_folders_do_not_know_has_no_envelope():
    with pytest.raises(UnencodableError, match="know no event 'before_turn'"):
        encode(BeforeTurn(turn=1))
    assert find_folder_event("tool_error") is None


def test_the_table_of_events_is_that_of_the_contract():
    """Facts 5 and 6 of the folder contract."""
    assert [row.name for row in FOLDER_EVENTS] == [
        "PreToolUse",
        "PostToolUse",
        "UserPromptSubmit",
        "ThreadStart",
        "Stop",
        "PreCompact",
        "PostCompact",
        "SubagentStart",
        "SubagentStop",
        "PermissionRequest",
    ]
    assert EVENTS_BY_NAME["ThreadStart"].events == ("session_start", "session_restored")
    named = {event for row in FOLDER_EVENTS for event in row.events}
    assert named - {row.name for row in EVENT_TYPES} <= {"permission_request", "post_compact"}


# As bytes


def test_keys_are_sorted_and_nothing_is_added():
    """Fact 42 of the folder contract."""
    assert to_json({"b": [1, 2], "a": {"d": None, "c": True}}) == b'{"a":{"c":true,"d":null},"b":[1,2]}'


def test_the_characters_of_html_are_escaped():
    """Fact 42 of the folder contract."""
    assert to_json({"x": "<a> & \u2028\u2029"}) == rb'{"x":"\u003ca\u003e \u0026 \u2028\u2029"}'


def test_other_characters_are_written_as_they_are():
    assert to_json({"x": "é🚀\x7f\ufffd"}) == '{"x":"é🚀\x7f\ufffd"}'.encode()
    assert to_json({"x": '\n\t\x01"\\'}) == rb'{"x":"\n\t\u0001\"\\"}'


def test_half_a_character_is_replaced():
    assert to_json({"x": "a\ud800"}) == rb'{"x":"a\ufffd"}'


def test_any_mapping_is_an_object():
    assert to_json({"x": MappingProxyType({"a": 1})}) == b'{"x":{"a":1}}'


def test_a_prompt_is_followed_by_the_envelope_and_a_workflow_gets_it_alone():
    """Fact 46 of the folder contract."""
    assert compose_message("look", b'{"a":1}') == 'look\n\nHook context:\n{"a":1}'
    assert compose_message("", b'{"a":1}') == '{"a":1}'


def test_large_numbers_keep_their_digits():
    assert to_json({"n": 12345678901234567890}) == b'{"n":12345678901234567890}'


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, {("a",): 1}, datetime.now(UTC), {"a": 1, 2: 3}])
def test_what_json_does_not_have_cannot_be_written(value: Any):
    with pytest.raises(UnencodableError, match="no JSON form"):
        to_json({"x": value})


def test_a_value_nested_too_deep_cannot_be_written():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(UnencodableError, match="no JSON form"):
        to_json({"x": deep})


@given(objects)
@steady
def test_an_envelope_reads_as_what_was_written(payload: dict[str, Any]):
    try:
        found = to_json(payload)
    except UnencodableError:
        return
    assert not set(b"<>&\n") & set(found)
    plain = mend(json.dumps(payload, sort_keys=True, ensure_ascii=False))
    assert repr(json.loads(found)) == repr(json.loads(plain))
