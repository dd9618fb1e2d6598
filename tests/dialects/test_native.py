"""Hookline's own format on the wire: payloads, replies and exit codes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from builders import make_hook
from hookline.dialects.native import NATIVE
from hookline.dialects.wire import UnencodableError, to_json
from hookline.events import EVENT_NAMES, Event, Fields
from hookline.fields import BeforeToolCall, ModelStepEnd, SessionStart, Tool, ToolResult
from hookline.hook import Hook
from hookline.outcome import Answer, Edit, Failure
from support import GUARD, Bench, make_event
from wires import LATER_WIRES, NATIVE_WIRES, WIRES, documented_envelope, make_whole_event

HOOK = make_hook()
ALL_WIRES = [*WIRES, *NATIVE_WIRES, *((fields, expected | later) for fields, expected, later in LATER_WIRES)]
LENIENT = make_hook(on_bad_reply="ignore")
DEEP = 100_000


def decode(reply: bytes | dict[str, Any], hook: Hook = HOOK) -> Answer:
    outcome = NATIVE.decode_reply(json.dumps(reply).encode() if isinstance(reply, dict) else reply, hook)
    assert isinstance(outcome, Answer), outcome
    return outcome


def decode_exit(exit_code: int, stderr: str = "", hook: Hook = HOOK) -> Answer | Failure:
    return NATIVE.decode_exit(exit_code, stderr, hook)


# Replies that are understood


@pytest.mark.parametrize("reply", [b"", b" \n\t\r\n", b"{}", b'{"action": null}', b"\xef\xbb\xbf", b"\xef\xbb\xbf{}"])
def test_a_reply_that_says_nothing_is_no_objection(reply: bytes):
    assert decode(reply) == Answer()


@pytest.mark.parametrize("word", ["block", "Block", "BLOCK"])
def test_a_block_is_read_in_any_case(word: str):
    answer = decode({"action": word, "reason": "no", "user_message": "ask Ann"})
    assert answer == Answer(verdict="block", reason="no", user_message="ask Ann")


def test_a_question_is_read():
    assert decode({"action": "ask", "reason": "sure?"}) == Answer(verdict="ask", reason="sure?")


def test_an_allow_is_read():
    assert decode({"action": "allow"}) == Answer()


def test_a_modification_is_a_merge_into_the_arguments():
    answer = decode({"action": "modify", "args_override": {"path": "z", "o": {"a": 1}}})
    assert answer.verdict == "allow"
    assert answer.edits == (Edit(field="args", operation="merge", value={"path": "z", "o": {"a": 1}}),)
    assert answer.ignored == ()


@pytest.mark.parametrize("reply", [{"action": "modify"}, {"action": "modify", "args_override": None}])
def test_a_modification_without_an_override_changes_nothing(reply: dict[str, Any]):
    assert decode(reply).edits == ()


@pytest.mark.parametrize("action", ["allow", "block", "ask", None])
def test_an_override_without_the_word_modify_is_ignored_and_reported(action: str | None):
    answer = decode({"action": action, "args_override": {"a": 1}})
    assert answer.edits == ()
    assert answer.ignored == ("args_override without action: modify",)


def test_texts_may_come_with_any_action():
    answer = decode({"action": "block", "system_reminder": "r", "extra_context": "c"})
    assert (answer.reminders, answer.context) == (("r",), ("c",))


@pytest.mark.parametrize("key", ["reason", "user_message", "system_reminder", "extra_context"])
@pytest.mark.parametrize("value", ["", None])
def test_an_empty_text_is_none(key: str, value: str | None):
    answer = decode({"action": "block", key: value})
    assert answer == Answer(verdict="block")


def test_unknown_keys_are_ignored_and_reported():
    answer = decode({"action": "block", "resaon": "x"})
    assert answer.verdict == "block"
    assert answer.ignored == ("unknown reply key 'resaon'",)


def test_a_byte_order_mark_is_accepted():
    assert decode(b'\xef\xbb\xbf{"action": "block"}').verdict == "block"


def test_text_outside_ascii_is_read_as_utf8():
    assert decode('{"action": "block", "reason": "日本 \\ud800"}'.encode()).reason == "日本 \ud800"


def test_numbers_of_any_size_pass_unchanged():
    value = 123456789012345678901234567890
    answer = decode({"action": "modify", "args_override": {"n": value, "f": 1.5}})
    assert answer.edits[0].value == {"n": value, "f": 1.5}


# Replies that are not

MALFORMED = {
    "no JSON": (b"block", "the reply is not JSON: Expecting value: line 1 column 1 (char 0); it starts with 'block'"),
    "cut off": (b'{"action": "block"', "the reply is not JSON"),
    "two objects": (b'{"action": "allow"} {"action": "block"}', "the reply is not JSON: Extra data"),
    "a comment": (b'{"action": "block"} // no', "the reply is not JSON"),
    "single quotes": (b"{'action': 'block'}", "the reply is not JSON"),
    "a raw newline in a text": (b'{"reason": "a\nb"}', "the reply is not JSON"),
    "a NUL": (b'{"action": "block"}\x00', "the reply is not JSON"),
    "a list": (b'[{"action": "block"}]', "the reply must be a JSON object; it starts with '[{"),
    "a text": (b'"block"', "the reply must be a JSON object"),
    "a number": (b"2", "the reply must be a JSON object"),
    "true": (b"true", "the reply must be a JSON object"),
    "null": (b"null", "the reply must be a JSON object"),
    "Latin-1": (b'{"reason": "caf\xe9"}', "the reply is not UTF-8: invalid continuation byte at byte 15"),
    "UTF-16": ('{"action": "block"}'.encode("utf-16"), "the reply is not UTF-8"),
    "an unknown action": (
        b'{"action": "deny"}',
        "the reply's action is 'deny'; it must be allow, block, modify or ask",
    ),
    "an action with a space": (b'{"action": " block"}', "the reply's action is ' block'"),
    "an empty action": (b'{"action": ""}', "the reply's action is ''"),
    "an action that is a number": (b'{"action": 2}', "the reply's action must be text, not int"),
    "an action that is a list": (b'{"action": ["block"]}', "the reply's action must be text, not list"),
    "a reason that is a list": (b'{"action": "block", "reason": ["x"]}', "the reply's reason must be text, not list"),
    "a reason that is a number": (b'{"reason": 5}', "the reply's reason must be text, not int"),
    "a message that is an object": (b'{"user_message": {}}', "the reply's user_message must be text, not dict"),
    "a reminder that is true": (b'{"system_reminder": true}', "the reply's system_reminder must be text, not bool"),
    "context that is a list": (b'{"extra_context": []}', "the reply's extra_context must be text, not list"),
    "an override that is a list": (
        b'{"action": "modify", "args_override": []}',
        "the reply's args_override must be an object",
    ),
    "an override that is a text": (b'{"args_override": "{}"}', "the reply's args_override must be an object"),
    "not a number": (
        b'{"action": "modify", "args_override": {"a": [NaN]}}',
        "the reply holds NaN, which is not a finite number",
    ),
    "infinity": (b'{"x": Infinity}', "the reply holds Infinity, which is not a finite number"),
    "negative infinity": (b'{"x": -Infinity}', "the reply holds -Infinity, which is not a finite number"),
    "a number too large": (b'{"x": 1e999}', "the reply holds 1e999, which is not a finite number"),
    "a number too long": (b'{"x": ' + b"1" * 5000 + b"}", "the reply is not JSON: Exceeds the limit"),
    "deep lists": (b'{"x": ' + b"[" * DEEP + b"]" * DEEP + b"}", "the reply is nested too deep"),
    "deep objects": (b'{"x": ' * DEEP + b"1" + b"}" * DEEP, "the reply is nested too deep"),
    "an action twice": (b'{"action": "block", "action": "allow"}', "the reply holds the key 'action' twice"),
    "a key twice, deep inside": (
        b'{"action": "modify", "args_override": {"a": {"b": 1, "b": 2}}}',
        "the reply holds the key 'b' twice",
    ),
}

each_malformed = pytest.mark.parametrize(("reply", "message"), MALFORMED.values(), ids=MALFORMED)


@each_malformed
def test_a_malformed_reply_is_a_failure_that_says_in_which_way(reply: bytes, message: str):
    outcome = NATIVE.decode_reply(reply, HOOK)
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind == "reply"
    assert outcome.message.startswith(message)


@each_malformed
def test_a_malformed_reply_decides_nothing_where_the_hook_says_so(reply: bytes, message: str):
    outcome = NATIVE.decode_reply(reply, LENIENT)
    assert isinstance(outcome, Answer), outcome
    assert outcome == Answer(ignored=outcome.ignored)
    assert outcome.ignored[0].startswith(message)


def test_a_long_malformed_reply_is_shown_by_its_start():
    outcome = NATIVE.decode_reply(b"x" * 100_000, HOOK)
    assert isinstance(outcome, Failure)
    assert len(outcome.message) < 200


@pytest.mark.parametrize("depth", [100, 900, 950, 970, 975, 980, 1000])
def test_a_reply_of_any_depth_is_taken_or_refused_but_never_breaks_the_event(bench: Bench, depth: int):
    """A depth that one step of the way bears and the next one does not must not surface as an exception."""
    reply = f'{{"action": "modify", "args_override": {{"x": {"[" * depth}{"]" * depth}}}}}'
    (bench.project / "reply.json").write_text(reply)
    engine = bench.open(f"""
        hooks:
          - id: deep
            event: before_tool_call
            run: {{type: shell, shell: 'cat reply.json > "$HOOKLINE_HOOK_RESULT"'}}
            {GUARD}
          - id: after
            event: before_tool_call
            run: {{type: shell, shell: 'true'}}
            {GUARD}
        """)
    decision = asyncio.run(engine.fire(bench.event()))
    assert decision.verdict in ("allow", "block")


def test_a_reply_larger_than_a_mebibyte_closes_a_guard(bench: Bench):
    engine = bench.open(f"""
        hooks:
          - id: long
            event: before_tool_call
            run: {{type: shell, shell: 'head -c 1048577 /dev/zero | tr "\\\\0" " " > "$HOOKLINE_HOOK_RESULT"'}}
            {GUARD}
        """)
    decision = asyncio.run(engine.fire(bench.event()))
    assert decision.is_blocked
    assert "the reply is larger than 1048576 bytes" in (decision.reason or "")


def test_a_reply_of_a_mebibyte_is_read(bench: Bench):
    engine = bench.open(f"""
        hooks:
          - id: long
            event: before_tool_call
            run: {{type: shell, shell: 'head -c 1048576 /dev/zero | tr "\\\\0" " " > "$HOOKLINE_HOOK_RESULT"'}}
            {GUARD}
        """)
    assert asyncio.run(engine.fire(bench.event())).is_allowed


# Exit codes


def test_exit_code_2_of_a_gate_hook_is_a_block_with_its_stderr_as_the_reason():
    assert decode_exit(2, "  not on Fridays\n") == Answer(verdict="block", reason="not on Fridays")


def test_exit_code_2_without_a_word_blocks_without_a_reason_of_its_own():
    assert decode_exit(2, "\n") == Answer(verdict="block")


@pytest.mark.parametrize(
    "hook", [make_hook(mode="async"), make_hook(event="after_tool_call"), make_hook(mode="fire_and_forget")]
)
def test_exit_code_2_of_any_other_hook_is_a_failure(hook: Hook):
    assert decode_exit(2, "x", hook) == Failure(kind="exit", message="exit code 2")


@pytest.mark.parametrize("code", [1, 3, 64, 127, 255])
def test_any_other_exit_code_is_a_failure(code: int):
    assert decode_exit(code, "x") == Failure(kind="exit", message=f"exit code {code}")


# Payloads


def test_every_event_has_a_wire():
    assert {make_whole_event(fields).name for fields, _ in ALL_WIRES} == set(EVENT_NAMES)


@pytest.mark.parametrize(("fields", "expected"), ALL_WIRES, ids=[type(fields).__name__ for fields, _ in ALL_WIRES])
def test_a_payload_has_the_documented_fields_and_who_and_what_it_belongs_to(fields: Fields, expected: dict[str, Any]):
    payload = json.loads(to_json(NATIVE.encode(make_whole_event(fields), is_cwd_missing=False)))
    assert payload == {
        **documented_envelope(fields),
        "event_id": "e1",
        "turn_id": "t1",
        "agent": {"id": "a2", "name": "Explore", "parent_id": "main", "depth": 1},
        **expected,
    }


def test_a_payload_outside_a_turn_names_none():
    assert "turn_id" not in NATIVE.encode(Event(SessionStart()), is_cwd_missing=False)


def test_a_payload_says_when_the_working_directory_is_gone():
    assert NATIVE.encode(Event(SessionStart()), is_cwd_missing=True)["cwd_missing"] is True
    assert "cwd_missing" not in NATIVE.encode(Event(SessionStart()), is_cwd_missing=False)


def test_a_payload_is_ascii_whatever_it_holds():
    event = make_event(args={"é": "\ud800 日本 \x00"})
    data = to_json(NATIVE.encode(event, is_cwd_missing=False))
    assert data.isascii()
    assert json.loads(data)["tool"]["args"] == {"é": "\ud800 日本 \x00"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", object(), {1, 2}, {("a", "b"): 1}])
def test_a_value_that_json_does_not_have_cannot_be_handed_over(value: Any):
    event = Event(BeforeToolCall(tool=Tool(name="x", args={"v": value})))
    with pytest.raises(UnencodableError, match="the payload has no JSON form"):
        to_json(NATIVE.encode(event, is_cwd_missing=False))


def test_a_value_that_is_too_deep_cannot_be_handed_over():
    value: list[Any] = []
    for _ in range(DEEP):
        value = [value]
    event = Event(BeforeToolCall(tool=Tool(name="x", args={"v": value})))
    with pytest.raises(UnencodableError, match="the payload has no JSON form"):
        to_json(NATIVE.encode(event, is_cwd_missing=False))


# Surroundings


def test_shell_hooks_run_under_the_same_shell_everywhere():
    assert NATIVE.shell({"SHELL": "/bin/fish"}) == "/bin/sh"


def test_records_in_a_list_of_the_hosts_are_written_as_records():
    event = Event(ModelStepEnd(message="m", tool_results=[ToolResult(text="ok")]))
    payload = json.loads(to_json(NATIVE.encode(event, is_cwd_missing=False)))
    assert payload["tool_results"][0]["text"] == "ok"
