"""The index over hooks: who may be concerned by an event."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import make_hook, match_args
from hookline.events import Event
from hookline.fields import AfterToolCall, Tool, ToolResult
from hookline.hook import Hook, Match, Settings
from hookline.patterns.python import PatternError
from hookline.registry import Closure, Registry
from properties import steady
from support import make_event, make_prompt_event


def select(registry: Registry, event: Event) -> tuple[list[str], list[str]]:
    selection = registry.select(event)
    return [entry.hook.id for entry in selection.blocking], [entry.hook.id for entry in selection.others]


def test_an_empty_registry_listens_to_nothing():
    registry = Registry()
    assert "before_tool_call" not in registry.event_names
    assert select(registry, make_event()) == ([], [])


def test_it_listens_where_a_hook_is_enabled():
    registry = Registry([make_hook(event="after_turn")])
    assert "after_turn" in registry.event_names
    assert "before_turn" not in registry.event_names


def test_a_disabled_hook_is_listed_but_does_not_listen():
    registry = Registry([make_hook("off", enabled=False)])
    assert "before_tool_call" not in registry.event_names
    assert [hook.id for hook in registry.hooks] == ["off"]


def test_it_listens_where_an_event_is_closed():
    registry = Registry(closures=[Closure(event="before_tool_call", hook_id="guard", reason="broken")])
    assert "before_tool_call" in registry.event_names
    assert select(registry, make_event()) == ([], [])


def test_all_reasons_for_a_closed_event_are_kept_in_order():
    first, second = (Closure(event="before_tool_call", hook_id="guard", reason=reason) for reason in ("one", "two"))
    other = Closure(event="user_prompt_submit", hook_id="guard", reason="three")
    registry = Registry(closures=[first, other, second])
    assert registry.closures == {"before_tool_call": (first, second), "user_prompt_submit": (other,)}


def test_blocking_hooks_and_the_others_keep_their_order():
    registry = Registry(
        [
            make_hook("a", mode="async"),
            make_hook("b"),
            make_hook("c", mode="fire_and_forget"),
            make_hook("d"),
        ]
    )
    assert select(registry, make_event()) == (["b", "d"], ["a", "c"])


def test_hooks_of_other_events_are_not_selected():
    registry = Registry([make_hook("prompt", event="user_prompt_submit"), make_hook("tool")])
    assert select(registry, make_prompt_event()) == (["prompt"], [])


def test_a_hook_for_another_tool_is_not_selected():
    registry = Registry([make_hook("bash", match=Match(tool_name="bash")), make_hook("any")])
    assert select(registry, make_event(tool="edit")) == (["any"], [])
    assert select(registry, make_event(tool="bash")) == (["bash", "any"], [])


def test_a_hook_for_another_kind_is_not_selected():
    registry = Registry([make_hook("shell", match=Match(tool_kind="shell")), make_hook("any")])
    assert select(registry, make_event(kind="mcp")) == (["any"], [])
    assert select(registry, make_event(kind="shell")) == (["shell", "any"], [])


def test_name_and_kind_must_both_fit():
    registry = Registry([make_hook("both", match=Match(tool_name="bash", tool_kind="shell"))])
    assert select(registry, make_event(tool="bash", kind="shell")) == (["both"], [])
    assert select(registry, make_event(tool="bash", kind="mcp")) == ([], [])
    assert select(registry, make_event(tool="edit", kind="shell")) == ([], [])


def test_a_hook_for_a_tool_is_not_selected_by_an_event_about_none():
    registry = Registry([make_hook("odd", event="user_prompt_submit", match=Match(tool_name="bash"))])
    assert select(registry, make_prompt_event()) == ([], [])


def test_conditions_on_arguments_are_left_to_the_match():
    registry = Registry([make_hook("picky", match=match_args(path={"equals": "x"}))])
    assert select(registry, make_event()) == (["picky"], [])


def test_the_same_selection_is_handed_out_again():
    registry = Registry([make_hook(match=Match(tool_name="bash")), make_hook("any")])
    assert registry.select(make_event(tool="one")) is registry.select(make_event(tool="two"))
    assert registry.select(make_event(tool="bash")) is registry.select(make_event(tool="bash"))


def test_settings_are_the_defaults_unless_given():
    assert Registry().settings == Settings()
    assert Registry(settings=Settings(max_parallel_hooks=9)).settings.max_parallel_hooks == 9


def test_a_pattern_that_does_not_compile_is_refused_at_once():
    with pytest.raises(PatternError):
        Registry([make_hook(match=match_args(path={"regex": "("}))])


tools = st.sampled_from(["bash", "edit", "read", ""])
kinds = st.sampled_from(["shell", "mcp", ""])
hooks = st.builds(
    make_hook,
    st.uuids().map(str),
    event=st.sampled_from(["before_tool_call", "user_prompt_submit"]),
    mode=st.sampled_from(["blocking", "async", "fire_and_forget"]),
    enabled=st.booleans(),
    match=st.builds(Match, tool_name=st.none() | tools, tool_kind=st.none() | kinds),
)


@steady
@given(st.lists(hooks), st.lists(st.tuples(tools, kinds)))
def test_the_index_finds_what_a_search_through_all_hooks_finds(declared: list[Hook], calls: list[tuple[str, str]]):
    registry = Registry(declared)
    for name, kind in calls:
        fitting = [
            hook
            for hook in declared
            if hook.enabled
            and hook.event == "before_tool_call"
            and hook.match.tool_name in (None, name)
            and hook.match.tool_kind in (None, kind)
        ]
        blocking = [hook.id for hook in fitting if hook.is_blocking]
        others = [hook.id for hook in fitting if not hook.is_blocking]
        assert select(registry, make_event(tool=name, kind=kind)) == (blocking, others)


@pytest.mark.parametrize(
    ("source", "heard"),
    [(None, ["all", "user", "none"]), ("user", ["all", "user"]), ("hook", ["all"])],
)
def test_hooks_hear_of_calls_that_did_not_run_as_their_dialect_says(source: Any, heard: list[str]):
    """Rule 3 of the events: aliases never hear of a call that a hook denied, some not of one the user did."""
    hooks = [make_hook(name, event="after_tool_call") for name in ("all", "user", "none")]
    hooks = [replace(hook, source=replace(hook.source, hears_rejected=hook.id)) for hook in hooks]
    result = ToolResult(failed=source is not None, rejection_source=source)
    event = Event(AfterToolCall(tool=Tool(name="bash"), result=result))
    assert select(Registry(hooks), event) == (heard, [])
