"""The history of one hook as a record and as a text."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_failed_run, make_run, merge_args
from hookline.folders.state import (
    EMPTY_STATE,
    RunRecord,
    State,
    StateError,
    describe_run,
    encode_state,
    format_time,
    parse_state,
)
from hookline.outcome import Run
from json_values import values
from properties import steady

AT = datetime(2030, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)


def describe(run: Run, **options: Any) -> RunRecord:
    return describe_run(run, **{"at": AT, "event": "PreToolUse", "is_async": False, **options})


def make_record(number: int = 0, **keys: Any) -> RunRecord:
    return RunRecord(**{"at": AT + timedelta(seconds=number), "status": "done", "is_async": True, **keys})


def test_a_state_is_written_as_indented_json_with_a_newline_at_its_end():
    """Facts 24 and 25 of the folder contract."""
    record = make_record(status="deny", is_async=False, event="PreToolUse", duration="3.2ms")
    assert encode_state(EMPTY_STATE.take(record)).decode() == (
        "{\n"
        '  "last_fired_at": "2030-01-02T03:04:05.6Z",\n'
        '  "last_status": "deny",\n'
        '  "recent_runs": [\n'
        "    {\n"
        '      "at": "2030-01-02T03:04:05.6Z",\n'
        '      "status": "deny",\n'
        '      "async": false,\n'
        '      "event": "PreToolUse",\n'
        '      "duration": "3.2ms"\n'
        "    }\n"
        "  ]\n"
        "}\n"
    )


def test_ten_runs_are_kept_the_newest_last():
    """Fact 25 of the folder contract."""
    state = EMPTY_STATE
    for number in range(12):
        state = state.take(make_record(number))
    assert [record.at.second - AT.second for record in state.recent_runs] == list(range(2, 12))
    assert state.last_fired_at == AT + timedelta(seconds=11)


def test_a_clean_run_clears_the_last_error():
    """Fact 26 of the folder contract."""
    state = EMPTY_STATE.take(make_record(status="error", error="exit: exit code 1"))
    assert (state.last_status, state.last_error) == ("error", "exit: exit code 1")
    assert state.take(make_record()).last_error == ""


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({}, "allow"),
        ({"verdict": "block"}, "deny"),
        ({"edits": merge_args(a=1), "context": ("x",)}, "modify"),
        ({"context": ("x",)}, "context"),
    ],
)
def test_a_run_that_was_waited_for_is_told_by_what_it_said(answer: dict[str, Any], status: str):
    """Fact 26 of the folder contract."""
    assert describe(make_run(**answer)) == RunRecord(at=AT, status=status, is_async=False, event="PreToolUse")


def test_a_run_in_the_background_is_done_whatever_it_said():
    """Fact 26 of the folder contract."""
    assert describe(make_run(context=("x",)), is_async=True, thread_id="t").status == "done"
    assert describe(make_run(), is_async=True, thread_id="t").thread_id == "t"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_failure_is_an_error_with_its_reason(is_async: bool):
    """Fact 27 and W5 of the folder contract: exit 1 and 127 too."""
    record = describe(make_failed_run(), is_async=is_async)
    assert (record.status, record.error) == ("error", "exit: exit code 1")


def test_a_run_that_did_not_come_to_its_end_is_an_error():
    run = Run(hook=make_run().hook, status="cancelled", reason="the session ended", duration_ms=3.2)
    record = describe(run)
    assert (record.status, record.error, record.duration) == ("error", "cancelled: the session ended", "3.2ms")


def test_a_state_of_the_other_program_is_read():
    """Fact 24 of the folder contract: nanoseconds, offsets, a fire id, unknown keys."""
    state = parse_state(
        '{"last_fired_at":"2030-01-02T05:04:05.123456789+02:00","last_fire_id":"f","new":1,'
        '"recent_runs":[{"at":"2030-01-02T03:04:05Z","status":"done","async":true,"thread_id":"t"}]}'
    )
    assert state.last_fired_at == datetime(2030, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)
    assert state.last_fire_id == "f"
    assert state.recent_runs == (
        RunRecord(at=datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC), status="done", is_async=True, thread_id="t"),
    )


def test_a_time_that_never_was_is_none():
    assert parse_state('{"last_fired_at":"0001-01-01T00:00:00Z"}') == EMPTY_STATE
    assert format_time(None) == "0001-01-01T00:00:00Z"


def test_a_time_is_written_in_utc_without_needless_digits():
    zone = timezone(timedelta(hours=2))
    assert format_time(datetime(2030, 1, 2, 5, 4, 5, tzinfo=zone)) == "2030-01-02T03:04:05Z"
    assert format_time(datetime(2030, 1, 2, 5, 4, 5, 120, tzinfo=zone)) == "2030-01-02T03:04:05.00012Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"last_fired_at": 5}',
        '{"last_fired_at": "soon"}',
        '{"last_fired_at": "0001-01-01T00:00:00+02:00"}',
        '{"recent_runs": {}}',
        '{"recent_runs": [1]}',
        '{"recent_runs": [{"at": "x"}]}',
        '{"recent_runs": [{"async": 1}]}',
        '{"last_error": []}',
    ],
)
def test_a_state_that_is_none_is_refused(text: str):
    with pytest.raises(StateError):
        parse_state(text)


records = st.builds(
    RunRecord,
    at=st.datetimes(timezones=st.just(UTC)),
    status=st.sampled_from(["allow", "done", "error"]),
    is_async=st.booleans(),
    error=st.text(max_size=5),
)
states = st.builds(
    State,
    last_fired_at=st.none() | st.datetimes(datetime(1970, 1, 1), timezones=st.just(UTC)),
    last_status=st.text(max_size=5),
    recent_runs=st.lists(records, max_size=10).map(tuple),
)


@given(states)
@steady
def test_a_state_survives_its_text(state: State):
    assert parse_state(encode_state(state).decode()) == state


@given(values)
@steady
def test_any_json_is_a_state_or_refused(value: Any):
    try:
        parse_state(json.dumps(value))
    except StateError as error:
        assert str(error)
