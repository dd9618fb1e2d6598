"""What goes into a hook object and what comes out of it: the JSON, letter by letter."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.objects.records import (
    OBJECT_EVENTS,
    Allow,
    BadRecordError,
    Block,
    Error,
    HookOutcome,
    HookPayload,
    Mutate,
    can_block,
    parse_event_name,
    parse_outcome,
    parse_policy,
    show_id,
    supports_matcher,
)
from properties import steady

HEX = "0190a5c2d3e47f60a1b2c3d4e5f60718"


def make_payload(**options: Any) -> HookPayload:
    defaults: dict[str, Any] = {"event": "session_start", "hook_id": "h", "session_id": f"session_{HEX}"}
    return HookPayload(**{"data": {"agent": "agent"}, "ts": datetime(2026, 1, 31, 12, tzinfo=UTC)} | defaults | options)


def read_payload(**changes: Any) -> HookPayload:
    """The payload of JSON that differs from a whole one in some keys; `...` leaves a key out."""
    data = make_payload().to_data() | changes
    return HookPayload.from_json(json.dumps({key: value for key, value in data.items() if value is not ...}))


def refuse(text: str) -> str:
    with pytest.raises(BadRecordError) as caught:
        parse_outcome(text)
    return str(caught.value)


def test_the_six_events_have_their_names():
    """Case 1: the events are six snake_case words, letter by letter."""
    assert OBJECT_EVENTS == (
        "session_start",
        "session_end",
        "user_prompt_submit",
        "pre_tool_use",
        "post_tool_use",
        "turn_end",
    )
    assert [parse_event_name(name) for name in OBJECT_EVENTS] == list(OBJECT_EVENTS)


@pytest.mark.parametrize("name", ["SessionStart", "Session_start", "session_start ", "", "before_tool_call"])
def test_any_other_event_is_refused(name: str):
    """Case 1: "SessionStart" is rejected."""
    with pytest.raises(BadRecordError, match="it must be one of session_start"):
        parse_event_name(name)


def test_matchers_and_blocks_belong_to_some_events():
    """Case 2: matchers on both tool events only; blocks on prompts and before tools only."""
    assert [name for name in OBJECT_EVENTS if supports_matcher(name)] == ["pre_tool_use", "post_tool_use"]
    assert [name for name in OBJECT_EVENTS if can_block(name)] == ["user_prompt_submit", "pre_tool_use"]


def test_the_payload_of_a_session_has_no_turn():
    """Case 3: no turn_id, no context; session_id and ts are texts. Fact 4: and these keys."""
    assert json.loads(make_payload().to_json()) == {
        "event": "session_start",
        "hook_id": "h",
        "session_id": f"session_{HEX}",
        "ts": "2026-01-31T12:00:00Z",
        "data": {"agent": "agent"},
    }


def test_the_payload_of_a_turn_has_its_id_at_the_top():
    """Case 4: turn_id stands beside session_id."""
    data = json.loads(make_payload(event="turn_end", turn_id=f"turn_{HEX}").to_json())
    assert (data["turn_id"], "context" in data) == (f"turn_{HEX}", False)


def test_a_payload_is_read_as_it_was_written():
    payload = make_payload(event="pre_tool_use", turn_id="t", data={"tool_name": "bäsh"})
    assert HookPayload.from_json(payload.to_json()) == payload


def test_a_payload_is_read_with_unknown_keys_and_a_null_turn():
    """Fact 4: unknown keys mean nothing; a turn_id of null and data of null are read."""
    assert read_payload(more=1, turn_id=None, data=None) == make_payload(data=None)


@pytest.mark.parametrize(
    ("key", "value"),
    [("data", ...), ("event", ...), ("event", "SessionStart"), ("hook_id", 1), ("session_id", None), ("turn_id", 5)]
    + [("ts", value) for value in ("now", "2026-01-31", "2026-13-31T12:00:00Z", "2026-01-31T12:00:00", 5)],
)
def test_a_payload_that_lacks_something_is_refused(key: str, value: Any):
    """Fact 4: every key but turn_id is required."""
    with pytest.raises(BadRecordError, match=key if value is ... or key != "event" else "unknown event"):
        read_payload(**{key: value})


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-31T12:00:00.123456789Z", datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)),
        ("2026-01-31T13:30:00.5+01:30", datetime(2026, 1, 31, 12, 0, 0, 500000, tzinfo=UTC)),
        ("2026-01-31t12:00:60z", datetime(2026, 1, 31, 12, 0, 59, tzinfo=UTC)),
    ],
)
def test_times_are_read_with_fractions_and_offsets(text: str, instant: datetime):
    """Fact 4: up to nanoseconds; offsets are accepted."""
    assert read_payload(ts=text).ts == instant


@pytest.mark.parametrize(("microsecond", "end"), [(0, ":00Z"), (120_000, ".120Z"), (123_456, ".123456Z")])
def test_times_are_written_in_utc(microsecond: int, end: str):
    """Fact 4: RFC 3339, UTC, "Z"."""
    assert make_payload(ts=datetime(2026, 1, 1, microsecond=microsecond, tzinfo=UTC)).to_data()["ts"].endswith(end)


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("session", HEX, f"session_{HEX}"),
        ("turn", "0190A5C2-D3E4-7F60-A1B2-C3D4E5F60718", f"turn_{HEX}"),
        ("session", f"session_{HEX}", f"session_{HEX}"),
        ("session", "my session", "my session"),
        ("turn", "7", "7"),
        ("session", "", ""),
    ],
)
def test_ids_are_shown_with_their_kind_where_they_are_uuids(kind: Any, text: str, shown: str):
    """Fact 5: `session_` or `turn_` and 32 hexadecimal digits; any other id stays what the host calls it."""
    assert show_id(kind, text) == shown


@pytest.mark.parametrize(
    ("outcome", "data"),
    [
        (Allow(), {"decision": "allow"}),
        (Mutate(patch={"a": None}), {"decision": "mutate", "patch": {"a": None}}),
        (Mutate(patch=[1], reason="r"), {"decision": "mutate", "patch": [1], "reason": "r"}),
        (Block(reason="r"), {"decision": "block", "reason": "r"}),
        (Block(reason="", user_message="u"), {"decision": "block", "reason": "", "user_message": "u"}),
        (Error(message="boom"), {"decision": "error", "message": "boom"}),
    ],
)
def test_an_outcome_goes_to_json_and_back(outcome: HookOutcome, data: dict[str, Any]):
    """Cases 5 and 6: allow round-trips; what is optional and not there is left out. Fact 7: the four shapes."""
    assert json.loads(outcome.to_json()) == data
    assert parse_outcome(outcome.to_json()) == outcome


def test_extra_keys_and_their_order_mean_nothing():
    """Case 5: allow with extra keys is allow. Fact 8: in any order."""
    assert parse_outcome('{"patch": 1, "more": {}, "decision": "allow"}') == Allow()


def test_a_user_message_of_null_is_none():
    """Case 6: user_message null -> none."""
    assert parse_outcome('{"decision": "block", "reason": "r", "user_message": null}') == Block(reason="r")


@pytest.mark.parametrize("patch", [None, [1], 5, "x"])
def test_a_patch_may_be_anything_but_missing(patch: Any):
    """Case 8: patch null is a mutate with null; arrays are accepted."""
    assert parse_outcome(json.dumps({"decision": "mutate", "patch": patch})) == Mutate(patch=patch)
    assert "patch" in refuse('{"decision": "mutate"}')


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"Decision": "allow"}',
        '{"decision": "ALLOW"}',
        '{"decision": "deny"}',
        '{"decision": null}',
        '{"decision": ["allow"]}',
        '{"decision": "block"}',
        '{"decision": "block", "reason": null}',
        '{"decision": "block", "reason": 5}',
        '{"decision": "block", "Reason": "r"}',
        '{"decision": "block", "reason": "r", "user_message": 5}',
        '{"decision": "mutate", "patch": 1, "reason": 5}',
        '{"decision": "error"}',
        '{"decision": "allow", "decision": "block", "reason": "r"}',
        '{"decision": "allow", "decision": "allow"}',
        '{"decision": "allow"} x',
        '{"decision": "allow"}{}',
        '{"decision": "allow",}',
        '["allow"]',
        '"allow"',
        "allow",
        "",
        " ",
    ],
)
def test_what_is_no_outcome_is_refused(text: str):
    """Case 8 and fact 8: unknown words, missing and mistyped keys, duplicates, trailing text."""
    assert refuse(text)


def test_a_key_that_stands_twice_is_refused_by_name():
    """Fact 8: a duplicate decision key is an error; so is any other, since nobody can tell which one was meant."""
    assert "'decision' twice" in refuse('{"decision": "block", "decision": "allow", "reason": "r"}')
    assert "'a' twice" in refuse('{"decision": "mutate", "patch": {"a": 1, "a": 2}}')


def test_a_patch_without_a_json_form_is_refused_when_written():
    with pytest.raises(BadRecordError, match="no JSON form"):
        Mutate(patch={1, 2}).to_json()
    with pytest.raises(BadRecordError, match="no JSON form"):
        Mutate(patch=float("nan")).to_json()


@pytest.mark.parametrize("word", ["Block", "ignore", "", "WARN"])
def test_other_error_policies_are_refused(word: str):
    """Case 9: "Block" is rejected."""
    assert [parse_policy(policy) for policy in ("block", "allow", "warn")] == ["block", "allow", "warn"]
    with pytest.raises(BadRecordError, match="it must be one of block, allow, warn"):
        parse_policy(word)


@steady
@given(st.text('{}[]":, decisonalwbkrmut1', max_size=40) | st.binary(max_size=20))
def test_any_text_is_an_outcome_or_refused(text: str | bytes):
    try:
        assert isinstance(parse_outcome(text), HookOutcome)
    except BadRecordError as error:
        assert str(error)
