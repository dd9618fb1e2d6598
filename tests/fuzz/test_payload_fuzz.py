"""Whatever a payload holds, it is read as its event or refused as a mistake of the caller."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hookline import Event, HooklineError
from hookline.dialects.chrys import CHRYS
from hookline.dialects.native import NATIVE
from hookline.dialects.wire import UnencodableError, to_json
from hookline.events import EVENT_NAMES, get_event_type
from hookline.payload import parse_payload
from hookline.sample import sample_payload
from hookline.testing import make_hook
from json_values import objects, texts, values

names = st.sampled_from(EVENT_NAMES)


@st.composite
def payloads(draw: st.DrawFn, *, mistakes: int) -> tuple[str, dict[str, Any]]:
    """An event's name and a payload for it that is right but for some mistakes."""
    name = draw(names)
    payload = copy.deepcopy(sample_payload(make_hook(event=name)))
    payload |= draw(st.fixed_dictionaries({}, optional=dict.fromkeys(("cwd", "turn_id", "event_id", "profile"), texts)))
    for _ in range(draw(st.integers(0, mistakes))):
        path = draw(st.sampled_from(list(paths_in(payload))))
        change(payload, path, draw)
    return name, payload


def paths_in(data: Mapping[str, Any], before: tuple[str, ...] = ()) -> Any:
    """The paths to all values of a payload, and to one that is not there."""
    for key, value in data.items():
        yield (*before, key)
        if isinstance(value, dict):
            yield from paths_in(value, (*before, key))
    yield (*before, "unknown")
    if not before:
        yield ("agent",)
        yield ("event",)


def change(payload: dict[str, Any], path: tuple[str, ...], draw: st.DrawFn) -> None:
    """Put something else at a place, or take away what is there."""
    *before, last = path
    for key in before:
        found = payload.get(key)
        if not isinstance(found, dict):
            return
        payload = found
    if draw(st.booleans()):
        payload[last] = draw(values)
    else:
        payload.pop(last, None)


def parse_or_refuse(name: str, payload: Mapping[str, Any]) -> Event | None:
    """The event, None where the payload is refused; any other exception is a mistake of ours."""
    try:
        return parse_payload(name, payload)[0]
    except HooklineError as error:
        assert str(error)
        return None


def check(event: Event) -> None:
    """What holds of every event that was read: each dialect can write it, or says that it cannot."""
    for dialect in (NATIVE, CHRYS):
        try:
            data = to_json(dialect.encode(event, is_cwd_missing=False))
        except UnencodableError as error:
            assert str(error)
        else:
            written = json.loads(data)
            assert (written["schema"], written["event"]) == (1, event.name)


@given(name=names, payload=objects)
def test_any_object_is_an_event_or_refused(name: str, payload: dict[str, Any]):
    event = parse_or_refuse(name, payload)
    if event is not None:
        check(event)


@given(case=payloads(mistakes=3))
@example(case=("after_tool_call", {"tool": {"name": "t"}, "result": {"duration_ms": 10**400}}))
@example(case=("before_turn", {"turn": 10**400}))
@example(case=("pre_compact", {"trigger": "t", "tokens_before": 2**70, "usage_pct": -(10**400)}))
@example(case=("before_tool_call", {"tool": {"\ud800": 1, "name": "t"}}))
@example(case=("before_tool_call", {"tool": {"name": "t"}, "agent": {"\ud800": 1}}))
@example(case=("approval_resolved", {"request_id": 1}))
def test_a_payload_with_mistakes_is_an_event_or_refused(case: tuple[str, dict[str, Any]]):
    event = parse_or_refuse(*case)
    if event is not None:
        check(event)


@given(case=payloads(mistakes=0))
def test_a_payload_without_mistakes_is_its_event(case: tuple[str, dict[str, Any]]):
    name, payload = case
    event, ignored = parse_payload(name, payload)
    assert (event.name, ignored) == (name, ())
    assert event.cwd == payload.get("cwd", "")
    check(event)


@given(name=st.text(max_size=10) | names, payload=objects)
def test_any_name_is_an_event_or_refused(name: str, payload: dict[str, Any]):
    parse_or_refuse(name, payload)


@given(case=payloads(mistakes=2))
def test_an_event_written_and_read_again_is_the_same(case: tuple[str, dict[str, Any]]):
    event = parse_or_refuse(*case)
    assume(event is not None)
    assert event is not None
    try:
        data = to_json(NATIVE.encode(event, is_cwd_missing=False))
    except UnencodableError:
        assume(False)
        raise
    again, ignored = parse_payload(event.name, json.loads(data))
    assert ignored == ()
    assert again.fields == event.fields
    for attribute in ("session_id", "turn_id", "agent", "profile", "cwd", "event_id"):
        assert getattr(again, attribute) == getattr(event, attribute)


@given(args=objects)
def test_arguments_reach_a_hook_unchanged(args: dict[str, Any]):
    event, _ = parse_payload("before_tool_call", {"tool": {"name": "t", "args": args}})
    try:
        data = to_json(NATIVE.encode(event, is_cwd_missing=False))
    except UnencodableError as error:
        assert any(part in str(error) for part in ("Out of range float", "not JSON compliant"))
        return
    assert repr(json.loads(data)["tool"]["args"]) == repr(args)


@given(case=payloads(mistakes=2), more=st.dictionaries(st.text("xyz", min_size=1, max_size=3), values, max_size=3))
def test_keys_that_mean_nothing_are_named_and_change_nothing(case: tuple[str, dict[str, Any]], more: dict[str, Any]):
    name, payload = case
    assume(not set(more) & set(payload))
    event = parse_or_refuse(name, payload)
    assume(event is not None)
    again, ignored = parse_payload(name, {**payload, **more})
    assert event is not None
    assert set(more) <= set(ignored)
    assert repr(again.fields) == repr(event.fields)


@pytest.mark.parametrize("depth", [10, 100, 900, 5_000])
def test_arguments_of_any_depth_are_read_and_written_or_refused_in_words(depth: int):
    args: Any = "bottom"
    for _ in range(depth):
        args = {"x": args}
    event, _ = parse_payload("before_tool_call", {"tool": {"name": "t", "args": {"deep": args}}})
    check(event)


def test_every_event_has_a_sample_to_start_from():
    for name in EVENT_NAMES:
        row = get_event_type(name)
        event, _ = parse_payload(name, sample_payload(make_hook(event=name)))
        assert event.type is row


@pytest.mark.parametrize("name", EVENT_NAMES)
def test_a_sample_that_is_changed_changes_no_other(name: str):
    first, second = (sample_payload(make_hook(event=name)) for _ in range(2))
    inner = [key for key, value in first.items() if isinstance(value, dict)]
    assert [key for key in inner if first[key] is second[key]] == []
