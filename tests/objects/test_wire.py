"""Between Hookline's words and those of hook objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hookline.events import Event, Fields
from hookline.fields import (
    AfterToolCall,
    AfterTurn,
    Agent,
    BeforeToolCall,
    BeforeTurn,
    SessionEnd,
    SessionStart,
    Tool,
    ToolResult,
    UserPromptSubmit,
)
from hookline.fold import apply_edits
from hookline.objects.records import Allow, Block, Error, HookOutcome, LateError, Mutate, ObjectEvent
from hookline.objects.wire import EVENTS, is_told, make_payload, payload_data, to_answer
from hookline.outcome import Answer, Failure

TOOL = Tool(name="bash", kind="shell", call_id="c1", args={"command": "ls"})
CALL = {"tool_name": "bash", "tool_call_id": "c1", "arguments": {"command": "ls"}}
HEX = "0190a5c2d3e47f60a1b2c3d4e5f60718"


def answer(outcome: HookOutcome, event: ObjectEvent) -> Answer:
    found = to_answer(outcome, event)
    assert isinstance(found, Answer)
    return found


def patch(event: ObjectEvent, value: Any) -> Answer:
    return answer(Mutate(patch=value), event)


def edits_of(found: Answer) -> list[tuple[str, str, Any]]:
    return [(edit.field, edit.operation, edit.value) for edit in found.edits]


def replaced(text: str, *, is_error: bool) -> list[tuple[str, str, Any]]:
    return [
        ("result", "replace", text),
        ("details", "clear", None),
        ("is_error", "replace", is_error),
    ]


@pytest.mark.parametrize(
    ("fields", "data"),
    [
        (SessionStart(), {"agent": "agent"}),
        (SessionEnd(), {"reason": "closed"}),
        (UserPromptSubmit(text="hi"), {"message": "hi", "attachments": []}),
        (BeforeToolCall(tool=TOOL), CALL),
        (
            AfterToolCall(tool=TOOL, result=ToolResult(text="out")),
            CALL | {"result": "out", "error": None, "success": True},
        ),
        (
            AfterToolCall(tool=TOOL, result=ToolResult(text="bad", failed=True)),
            CALL | {"result": "bad", "error": "bad", "success": False},
        ),
        (AfterTurn(turn=1), {"success": True, "response": None, "tool_calls": None, "iterations": None}),
        (
            AfterTurn(turn=1, response="done", tool_calls=3, iterations=2),
            {"success": True, "response": "done", "tool_calls": 3, "iterations": 2},
        ),
        (AfterTurn(turn=1, status="failed", failed=True, error="no"), {"success": False, "error": "no"}),
        (AfterTurn(turn=1, status="interrupted", failed=True), {"success": False, "error": "turn cancelled"}),
        (AfterTurn(turn=1, status="failed", failed=True), {"success": False, "error": "turn failed"}),
    ],
)
def test_data_tells_what_the_event_says(fields: Fields, data: dict[str, Any]):
    """Fact 6: the data of each event; what a host does not tell is null."""
    assert payload_data(Event(fields)) == data


def test_the_start_of_a_session_names_its_agent():
    """Fact 6: session_start {"agent": NAME}."""
    assert payload_data(Event(SessionStart(), agent=Agent(name="coder"))) == {"agent": "coder"}


def test_a_payload_carries_who_is_asked_and_when():
    """Case 4: turn_id at the top; facts 4 and 5."""
    event = Event(BeforeToolCall(tool=TOOL), session_id=HEX, turn_id=HEX)
    assert json.loads(make_payload(event, "h").to_json()) == {
        "event": "pre_tool_use",
        "hook_id": "h",
        "session_id": f"session_{HEX}",
        "turn_id": f"turn_{HEX}",
        "ts": make_payload(event, "h").to_data()["ts"],
        "data": CALL,
    }


def test_a_payload_of_a_session_names_no_turn():
    """Case 3: also where the host knows one."""
    assert "turn_id" not in make_payload(Event(SessionEnd(), turn_id="t"), "h").to_data()


def test_six_events_are_told():
    assert sorted(EVENTS.values()) == sorted(
        ["session_start", "session_end", "user_prompt_submit", "before_tool_call", "after_tool_call", "after_turn"]
    )
    assert is_told(Event(SessionStart()))
    assert not is_told(Event(BeforeTurn(turn=1)))


@pytest.mark.parametrize("source", ["hook", "user"])
def test_a_denied_call_is_not_told(source: Any):
    """Facts 26 and 27: post hooks do not hear of denied calls."""
    result = ToolResult(text="no", failed=True, approval_rejected=True, rejection_source=source)
    assert not is_told(Event(AfterToolCall(tool=TOOL, result=result)))


def test_allow_says_nothing():
    assert all(answer(Allow(), event) == Answer() for event in EVENTS)


@pytest.mark.parametrize("event", ["user_prompt_submit", "pre_tool_use"])
def test_a_block_blocks_what_can_be_blocked(event: ObjectEvent):
    """Facts 22 and 26: with its reason and the message for the user."""
    found = answer(Block(reason="r", user_message="u"), event)
    assert found == Answer(verdict="block", reason="r", user_message="u")


@pytest.mark.parametrize("event", ["session_start", "session_end", "post_tool_use", "turn_end"])
def test_a_block_elsewhere_is_named_as_ignored(event: ObjectEvent):
    """Facts 20, 27 and 28: advisory events; A14: told, not silent."""
    found = answer(Block(reason="r"), event)
    assert (found.verdict, found.reason, found.ignored) == ("allow", "r", (f"block: {event} cannot be stopped",))


@pytest.mark.parametrize("event", ["session_start", "session_end", "turn_end"])
def test_a_change_elsewhere_is_named_as_ignored(event: ObjectEvent):
    """Facts 20 and 28."""
    found = patch(event, {"message": "x"})
    assert (found.edits, found.ignored) == ((), (f"mutate: {event} has nothing to change",))


def test_an_error_is_a_failure():
    """Fact 30; one for want of time says so."""
    assert to_answer(Error(message="boom"), "pre_tool_use") == Failure(kind="crash", message="boom")
    assert to_answer(LateError(message="late"), "pre_tool_use") == Failure(kind="timeout", message="late")


def test_the_reason_of_a_change_is_kept():
    """A14: a mutate's reason is on record."""
    assert answer(Mutate(patch={"message": "m"}, reason="why"), "user_prompt_submit").reason == "why"


@pytest.mark.parametrize("message", ["m1", ""])
def test_a_prompt_is_replaced_by_a_text(message: str):
    """Case 30, the translation: a text replaces; "" leaves none."""
    assert edits_of(patch("user_prompt_submit", {"message": message})) == [("text", "replace", message)]


@pytest.mark.parametrize("message", [5, None, ["a"]])
def test_a_prompt_is_not_replaced_by_anything_else(message: Any):
    """Case 30, the translation: patch message 5 is ignored. Fact 21."""
    found = patch("user_prompt_submit", {"message": message})
    assert (found.edits, len(found.ignored)) == ((), 1)


def test_attachments_cannot_be_patched():
    """Fact 21."""
    assert patch("user_prompt_submit", {"attachments": []}).ignored == ("patch.attachments: not on user_prompt_submit",)


def test_arguments_are_merged():
    """Case 32, the translation: shallow; nested objects replaced, null stored."""
    found = patch("pre_tool_use", {"arguments": {"a": 9, "n": {"x": 7}, "new": None}})
    assert edits_of(found) == [("args", "merge", {"a": 9, "n": {"x": 7}, "new": None})]
    event = Event(BeforeToolCall(tool=Tool(name="t", args={"a": 1, "n": {"x": 1, "y": 2}})))
    edited = apply_edits(event, found.edits)
    assert edited.tool is not None
    assert edited.tool.args == {"a": 9, "n": {"x": 7}, "new": None}


def test_an_identical_patch_changes_nothing():
    """Case 32, the translation: an identical patch leaves the event as it is."""
    event = Event(BeforeToolCall(tool=TOOL))
    assert apply_edits(event, patch("pre_tool_use", {"arguments": {"command": "ls"}}).edits) is event


@pytest.mark.parametrize("arguments", [None, [1], "x", 5])
def test_other_arguments_replace_all(arguments: Any):
    """Fact 24: any other combination replaces the whole."""
    assert edits_of(patch("pre_tool_use", {"arguments": arguments})) == [("args", "replace", arguments)]


def test_the_name_of_a_call_cannot_change():
    """Fact 24: name and id cannot change, and no other key means anything."""
    found = patch("pre_tool_use", {"tool_name": "x", "tool_call_id": "y"})
    assert (found.edits, len(found.ignored)) == ((), 2)


@pytest.mark.parametrize("event", ["user_prompt_submit", "pre_tool_use", "post_tool_use"])
@pytest.mark.parametrize("value", [None, [1], "x", 5])
def test_a_patch_that_is_no_object_changes_nothing(event: ObjectEvent, value: Any):
    """Case 8: patch null has no effect. Fact 24: non-object patches are ignored."""
    found = patch(event, value)
    assert (found.edits, found.context, len(found.ignored)) == ((), (), 1)


@pytest.mark.parametrize(
    ("value", "text"), [("new", "new"), (None, "null"), ({"b": 1, "a": [1.0]}, '{"a":[1.0],"b":1}'), (5, "5")]
)
def test_a_result_is_replaced_and_is_no_error(value: Any, text: str):
    """Fact 27: a text as it is, others as compact JSON; the error flag is cleared."""
    assert edits_of(patch("post_tool_use", {"result": value})) == replaced(text, is_error=False)


def test_a_replaced_result_takes_its_other_parts_with_it():
    """A3: what a redaction replaces leaks by no other part."""
    result = ToolResult(text="key", content=[{"type": "image", "data": "key"}], details={"key": "key"})
    edited = apply_edits(
        Event(AfterToolCall(tool=TOOL, result=result)), patch("post_tool_use", {"result": "gone"}).edits
    )
    assert edited.fields == AfterToolCall(tool=TOOL, result=ToolResult(text="gone"))


def test_an_error_of_null_clears_the_flag_alone():
    """Fact 27."""
    assert edits_of(patch("post_tool_use", {"error": None})) == [("is_error", "replace", False)]


@pytest.mark.parametrize(("value", "text"), [("bad", "bad"), ({"a": 1}, '{"a":1}'), (False, "false")])
def test_an_error_replaces_the_text_and_sets_the_flag(value: Any, text: str):
    """Fact 27."""
    assert edits_of(patch("post_tool_use", {"error": value})) == replaced(text, is_error=True)


def test_result_comes_before_error():
    """Fact 27: in the order result, error, additional_context, whatever their order in the patch."""
    found = patch("post_tool_use", {"additional_context": "more", "error": "bad", "result": "good"})
    assert edits_of(found) == replaced("good", is_error=False) + replaced("bad", is_error=True)
    assert found.context == ("more",)


def test_additional_context_must_be_text():
    """Fact 27."""
    found = patch("post_tool_use", {"additional_context": ["x"], "other": 1})
    assert (found.context, len(found.ignored)) == ((), 2)


def test_a_result_without_a_text_is_a_failure():
    found = to_answer(Mutate(patch={"result": {1, 2}}), "post_tool_use")
    assert isinstance(found, Failure)
    assert found.kind == "reply"
