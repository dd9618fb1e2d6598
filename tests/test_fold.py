"""From what hooks say to what the host is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import make_failed_run, make_hook, make_run, merge_args
from hookline.events import EVENT_NAMES, EVENT_TYPES, Event, EventType, get_event_type
from hookline.fields import (
    AfterToolCall,
    AfterTurn,
    BeforeAgentStart,
    BeforeCompact,
    BeforeModelCall,
    Compacting,
    SessionBeforeTree,
    Tool,
    ToolResult,
)
from hookline.fold import Chain, apply_edits, describe_failure, find_warnings, policy_for, restrict
from hookline.hook import Hook
from hookline.outcome import Answer, Decision, Edit, Failure, Run
from properties import steady
from support import make_event, make_prompt_event, make_result_event

GATE = get_event_type("before_tool_call")
PROMPT = get_event_type("user_prompt_submit")
RESULT = get_event_type("after_tool_call")
IMAGE = {"type": "image", "data": "x"}


def fold(event: Event, *runs: Run) -> Decision:
    """The decision on these runs, taken in one after another up to the first block."""
    chain, taken = Chain(event=event), []
    for run in runs:
        if chain.is_blocked:
            break
        chain, counted = chain.take(run)
        taken.append(counted)
    return chain.decide(tuple(taken))


def result_of(decision: Decision) -> ToolResult:
    assert decision.event is not None
    assert isinstance(decision.event.fields, AfterToolCall)
    return decision.event.fields.result


def make_blocks_event(text: str, content: list[Any], **parts: Any) -> Event:
    return Event(AfterToolCall(tool=Tool(name="t"), result=ToolResult(text=text, content=content, **parts)))


def block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def replace_by(field: str, value: Any) -> Edit:
    return Edit(field=field, operation="replace", value=value)


def clear(field: str) -> Edit:
    return Edit(field=field, operation="clear")


def args_of(decision: Decision) -> Any:
    assert decision.event is not None
    assert decision.event.tool is not None
    return decision.event.tool.args


def test_no_runs_are_no_objection():
    decision = fold(make_event())
    assert decision.is_allowed
    assert decision.reason is None
    assert decision.edits == {}


def test_hooks_that_say_nothing_are_no_objection():
    decision = fold(make_event(), make_run(), make_run())
    assert decision.is_allowed
    assert [run.status for run in decision.runs] == ["ok", "ok"]


def test_a_block_blocks_with_its_reason_and_its_words_for_the_user():
    decision = fold(make_event(), make_run(verdict="block", reason="not here", user_message="ask Ann"))
    assert decision.is_blocked
    assert (decision.reason, decision.user_message) == ("not here", "ask Ann")
    assert decision.runs[0].status == "blocked"
    assert decision.runs[0].effects == ("blocked",)


def test_a_block_without_a_reason_names_the_hook():
    assert fold(make_event(), make_run(make_hook("keeper"), verdict="block")).reason == "blocked by hook 'keeper'"


def test_a_question_without_a_reason_names_the_hook():
    assert fold(make_event(), make_run(make_hook("keeper"), verdict="ask")).reason == "put to you by hook 'keeper'"


def test_a_question_is_neither_allowed_nor_blocked():
    decision = fold(make_event(), make_run(verdict="ask", reason="sure?"))
    assert decision.verdict == "ask"
    assert not decision.is_allowed
    assert not decision.is_blocked
    assert decision.runs[0].effects == ("asked",)


def test_a_question_stands_after_a_hook_that_allows():
    decision = fold(make_event(), make_run(verdict="ask", reason="sure?"), make_run(verdict="allow"))
    assert (decision.verdict, decision.reason) == ("ask", "sure?")


def test_the_first_of_two_questions_keeps_its_reason():
    decision = fold(make_event(), make_run(verdict="ask", reason="first"), make_run(verdict="ask", reason="second"))
    assert decision.reason == "first"


def test_a_block_outdoes_a_question():
    decision = fold(
        make_event(),
        make_run(verdict="ask", reason="sure?", user_message="please look"),
        make_run(verdict="block", reason="never"),
    )
    assert (decision.verdict, decision.reason, decision.user_message) == ("block", "never", None)


def test_an_override_changes_the_arguments_of_the_event():
    decision = fold(make_event(args={"path": "a", "n": 1}), make_run(edits=merge_args(path="z")))
    assert args_of(decision) == {"path": "z", "n": 1}
    assert decision.edits == {"args": {"path": "z", "n": 1}}
    assert decision.runs[0].effects == ("edited",)


def test_a_later_override_of_one_key_wins_and_keeps_the_others():
    decision = fold(make_event(args={}), make_run(edits=merge_args(a=1, b=1)), make_run(edits=merge_args(b=2, c=2)))
    assert decision.edits == {"args": {"a": 1, "b": 2, "c": 2}}


def test_an_object_as_a_value_is_replaced_whole():
    decision = fold(make_event(args={"o": {"a": 1, "b": 2}}), make_run(edits=merge_args(o={"a": 3})))
    assert args_of(decision) == {"o": {"a": 3}}


def test_an_override_with_null_sets_null():
    decision = fold(make_event(args={"a": 1}), make_run(edits=merge_args(a=None)))
    assert decision.edits == {"args": {"a": None}}


def test_an_override_that_changes_nothing_is_no_edit():
    event = make_event(args={"path": "a"})
    decision = fold(event, make_run(edits=merge_args(path="a")))
    assert decision.event is event
    assert decision.edits == {}
    assert decision.runs[0].effects == ()


@pytest.mark.parametrize(("before", "after"), [(True, 1), (1, 1.0), (0, False), ([1], [True]), ({"a": 1}, {"a": 1.0})])
def test_values_that_are_equal_but_not_the_same_are_an_edit(before: Any, after: Any):
    decision = fold(make_event(args={"x": before}), make_run(edits=merge_args(x=after)))
    assert repr(decision.edits) == repr({"args": {"x": after}})


def test_the_event_of_the_host_is_never_changed():
    args = {"path": "a"}
    event = make_event(args=args)
    fold(event, make_run(edits=merge_args(path="z")))
    assert args == {"path": "a"}
    assert event.tool is not None
    assert event.tool.args == {"path": "a"}


def test_a_block_hands_on_no_edits_and_no_texts():
    decision = fold(
        make_prompt_event(),
        make_run(reminders=("remember",), context=("by the way",)),
        make_run(verdict="block", reason="no", reminders=("too late",)),
    )
    assert (decision.edits, decision.reminders, decision.context) == ({}, (), ())


def test_an_edited_event_that_is_blocked_later_has_no_edits():
    decision = fold(make_event(), make_run(edits=merge_args(path="z")), make_run(verdict="block"))
    assert decision.edits == {}


def test_reminders_and_context_add_up_in_order():
    decision = fold(
        make_prompt_event(),
        make_run(reminders=("r1",), context=("c1",)),
        make_run(reminders=("r2",)),
        make_run(context=("c2",)),
    )
    assert decision.reminders == ("r1", "r2")
    assert decision.context == ("c1", "c2")


def test_a_run_that_adds_texts_shows_it():
    decision = fold(make_prompt_event(), make_run(reminders=("r",), context=("c",)))
    assert decision.runs[0].effects == ("reminder", "context")


def test_an_answer_may_ask_and_edit_at_once():
    decision = fold(make_event(), make_run(verdict="ask", reason="ok?", edits=merge_args(path="z")))
    assert decision.verdict == "ask"
    assert decision.edits["args"]["path"] == "z"
    assert decision.runs[0].effects == ("asked", "edited")


@pytest.mark.parametrize("verdict", ["block", "ask"])
def test_what_cannot_be_stopped_goes_on_and_says_so(verdict: Any):
    decision = fold(make_result_event(), make_run(make_hook("h", event="after_tool_call"), verdict=verdict))
    assert decision.is_allowed
    assert decision.runs[0].status == "ok"
    assert decision.warnings == (f"hook 'h': ignored: {verdict}: after_tool_call cannot be stopped",)


def test_texts_of_a_hook_that_may_not_block_still_count():
    decision = fold(make_result_event(), make_run(verdict="block", context=("noted",)))
    assert decision.context == ("noted",)


def test_an_edit_the_event_does_not_have_is_ignored_and_reported():
    restricted = restrict(Answer(edits=merge_args(a=1)), PROMPT)
    assert restricted.edits == ()
    assert restricted.ignored == ("edit of args: not on user_prompt_submit",)


@pytest.mark.parametrize("operation", ["clear", "append"])
def test_an_operation_the_event_does_not_allow_is_ignored_and_reported(operation: Any):
    restricted = restrict(Answer(edits=(Edit(field="args", operation=operation, value={}),)), GATE)
    assert restricted.edits == ()
    assert restricted.ignored == ("edit of args: not on before_tool_call",)


# Edits of arguments, prompts and messages


def test_arguments_may_be_replaced_whole():
    decision = fold(make_event(args={"path": "a", "n": 1}), make_run(edits=(replace_by("args", {"path": "z"}),)))
    assert args_of(decision) == {"path": "z"}
    assert decision.edits == {"args": {"path": "z"}}
    assert decision.runs[0].effects == ("edited",)


def test_an_override_is_laid_over_arguments_that_were_replaced():
    runs = (make_run(edits=(replace_by("args", {"a": 1, "b": 1}),)), make_run(edits=merge_args(b=2)))
    assert fold(make_event(args={"c": 0}), *runs).edits == {"args": {"a": 1, "b": 2}}


def test_arguments_that_are_replaced_lose_earlier_overrides():
    runs = (make_run(edits=merge_args(a=1)), make_run(edits=(replace_by("args", {"b": 2}),)))
    assert fold(make_event(args={}), *runs).edits == {"args": {"b": 2}}


def test_arguments_replaced_by_the_same_are_no_edit():
    event = make_event(args={"path": "a"})
    decision = fold(event, make_run(edits=(replace_by("args", {"path": "a"}),)))
    assert decision.event is event
    assert (decision.edits, decision.runs[0].effects) == ({}, ())


def test_the_text_of_a_prompt_is_chained():
    chain, _ = Chain(event=make_prompt_event("one")).take(make_run(edits=(replace_by("text", "two"),)))
    assert chain.event.fields.text == "two"  # type: ignore[union-attr]
    chain, _ = chain.take(make_run(edits=(replace_by("text", "three"),)))
    assert chain.event.fields.text == "three"  # type: ignore[union-attr]
    assert chain.decide(()).edits == {"text": "three"}


def test_the_messages_of_a_model_call_are_chained():
    chain, _ = Chain(event=Event(BeforeModelCall(messages=[0]))).take(make_run(edits=(replace_by("messages", [0, 1]),)))
    assert chain.event.fields.messages == [0, 1]  # type: ignore[union-attr]
    chain, _ = chain.take(make_run(edits=(replace_by("messages", [0, 1, 2]),)))
    assert chain.decide(()).edits == {"messages": [0, 1, 2]}


def test_the_messages_of_a_model_call_may_be_emptied():
    decision = fold(Event(BeforeModelCall(messages=[0])), make_run(edits=(replace_by("messages", []),)))
    assert decision.edits == {"messages": []}


# Edits of results


def test_a_result_is_edited_field_by_field():
    decision = fold(
        make_result_event("one"),
        make_run(edits=(replace_by("content", [block("two")]),)),
        make_run(edits=(replace_by("details", {"n": 1}), replace_by("is_error", True))),
    )
    assert decision.edits == {"content": [block("two")], "details": {"n": 1}, "is_error": True}
    result = result_of(decision)
    assert (result.text, result.content, result.details, result.failed) == ("two", [block("two")], {"n": 1}, True)


def test_the_later_of_two_edits_of_a_result_wins_and_other_fields_stay():
    decision = fold(
        make_result_event("one"),
        make_run(edits=(replace_by("result", "two"), replace_by("details", 1))),
        make_run(edits=(replace_by("details", 2),)),
    )
    assert decision.edits == {"result": "two", "details": 2}


def test_the_text_of_a_result_follows_its_content():
    blocks = [block("a"), {"type": "image", "data": "x"}, block("b"), "odd", {"type": "text", "text": 5}]
    decision = fold(make_result_event("one"), make_run(edits=(replace_by("content", blocks),)))
    assert result_of(decision).text == "a\nb"
    assert result_of(decision).content == blocks


def test_the_content_of_a_result_follows_its_text():
    decision = fold(make_blocks_event("one", [block("one"), IMAGE]), make_run(edits=(replace_by("result", "two"),)))
    assert (result_of(decision).text, result_of(decision).content) == ("two", None)
    assert list(result_of(decision).blocks) == [block("two")]


def test_a_text_takes_the_other_parts_of_a_result_away_even_when_it_is_the_same():
    decision = fold(make_blocks_event("one", [block("one"), IMAGE]), make_run(edits=(replace_by("result", "one"),)))
    assert result_of(decision).content is None
    assert decision.edits == {"result": "one"}
    assert decision.runs[0].effects == ("edited",)


def test_content_replaced_by_the_same_changes_no_text():
    event = make_blocks_event("[an image]", [IMAGE])
    decision = fold(event, make_run(edits=(replace_by("content", [IMAGE]),)))
    assert decision.event is event
    assert decision.edits == {}


def test_what_follows_a_later_edit_is_final_in_the_edits_too():
    decision = fold(
        make_result_event("one"),
        make_run(edits=(replace_by("content", [block("two"), IMAGE]),)),
        make_run(edits=(replace_by("result", "three"),)),
    )
    assert decision.edits == {"content": None, "result": "three"}
    decision = fold(
        make_result_event("one"),
        make_run(edits=(replace_by("result", "two"),)),
        make_run(edits=(replace_by("content", [block("three")]),)),
    )
    assert decision.edits == {"result": "three", "content": [block("three")]}


@pytest.mark.parametrize(("field", "final"), [("result", ""), ("content", ()), ("details", None), ("is_error", False)])
def test_a_field_of_a_result_may_be_cleared(field: str, final: Any):
    event = make_blocks_event("one", [block("one")], details={"n": 1}, failed=True)
    decision = fold(event, make_run(edits=(clear(field),)))
    assert decision.edits == {field: final}
    assert decision.runs[0].effects == ("edited",)


def test_a_result_without_content_has_no_text():
    decision = fold(make_blocks_event("one", [block("one")]), make_run(edits=(clear("content"),)))
    assert (result_of(decision).text, list(result_of(decision).blocks)) == ("", [])


def test_a_detail_that_was_set_may_be_cleared_by_a_later_hook():
    runs = (make_run(edits=(replace_by("details", 1),)), make_run(edits=(clear("details"),)))
    decision = fold(make_result_event(), *runs)
    assert decision.edits == {"details": None}
    assert result_of(decision).details is None


# Edits that are handed on beside the event


def test_of_several_edits_the_last_stands_where_the_row_says_so():
    event = Event(Compacting())
    decision = fold(
        event,
        make_run(edits=(replace_by("prompt", "one"), replace_by("context", ["a"]))),
        make_run(edits=(replace_by("prompt", "two"),)),
    )
    assert decision.edits == {"prompt": "two", "context": ["a"]}
    assert decision.event is event
    assert [run.effects for run in decision.runs] == [("edited",), ("edited",)]


def test_a_clear_takes_back_what_stood():
    runs = (make_run(edits=(replace_by("summary", {"summary": "s"}),)), make_run(edits=(clear("summary"),)))
    decision = fold(Event(SessionBeforeTree()), *runs)
    assert decision.edits == {}
    assert decision.runs[1].effects == ("edited",)


@pytest.mark.parametrize("value", [None, False, 0, ""])
def test_a_clear_takes_back_a_value_that_is_nothing_much(value: Any):
    chain, _ = Chain(event=Event(SessionBeforeTree())).take(make_run(edits=(replace_by("summary", value),)))
    assert chain.edits == {"summary": value}
    chain, run = chain.take(make_run(edits=(clear("summary"),)))
    assert (chain.edits, run.effects) == ({}, ("edited",))


def test_a_clear_where_nothing_stands_is_no_edit():
    decision = fold(Event(SessionBeforeTree()), make_run(edits=(clear("summary"),)))
    assert (decision.edits, decision.runs[0].effects) == ({}, ())


def test_a_value_said_twice_is_an_edit_once():
    say = make_run(edits=(replace_by("compaction", {"summary": "s"}),))
    assert [run.effects for run in fold(Event(BeforeCompact()), say, say).runs] == [("edited",), ()]


def test_of_several_edits_the_first_stands_where_the_row_says_so():
    runs = [make_run(edits=(replace_by("message", {"content": text}),)) for text in ("one", "two")]
    decision = fold(Event(BeforeAgentStart()), *runs)
    assert decision.edits == {"message": {"content": "one"}}
    assert [run.effects for run in decision.runs] == [("edited",), ()]


def test_what_the_first_said_cannot_be_cleared():
    runs = (make_run(edits=(replace_by("message", {"content": "one"}),)), make_run(edits=(clear("message"),)))
    decision = fold(Event(BeforeAgentStart()), *runs)
    assert decision.edits == {"message": {"content": "one"}}
    assert decision.warnings == ("hook 'h': ignored: edit of message: not on before_agent_start",)


def test_a_block_hands_on_no_edits_beside_the_event():
    runs = (make_run(edits=(replace_by("compaction", {"summary": "s"}),)), make_run(verdict="block"))
    assert fold(Event(BeforeCompact()), *runs).edits == {}


# Edits that mean nothing


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("before_tool_call", "args", ["a"]),
        ("user_prompt_submit", "text", None),
        ("before_model_call", "messages", {"role": "user"}),
        ("before_model_call", "messages", "text"),
        ("after_tool_call", "result", [block("x")]),
        ("after_tool_call", "content", "text"),
        ("after_tool_call", "is_error", 1),
        ("session_before_branch", "skip_conversation_restore", "yes"),
        ("compacting", "context", "text"),
        ("compacting", "prompt", ["text"]),
    ],
)
def test_a_value_of_the_wrong_kind_is_ignored_and_reported(name: str, field: str, value: Any):
    restricted = restrict(Answer(edits=(replace_by(field, value),)), get_event_type(name))
    assert restricted.edits == ()
    assert restricted.ignored == (f"edit of {field}: its value is of the wrong kind, {type(value).__name__}",)


def test_an_override_that_is_no_object_is_ignored_and_reported():
    restricted = restrict(Answer(edits=(Edit(field="args", operation="merge", value=5),)), GATE)
    assert restricted.edits == ()
    assert restricted.ignored == ("edit of args: its value is of the wrong kind, int",)


def test_edits_that_fit_stay_beside_one_that_does_not():
    restricted = restrict(Answer(edits=(replace_by("is_error", "no"), replace_by("details", 1))), RESULT)
    assert restricted.edits == (replace_by("details", 1),)


@pytest.mark.parametrize("row", EVENT_TYPES, ids=EVENT_NAMES)
@pytest.mark.parametrize("texts", ["reminders", "context"])
def test_texts_are_taken_by_the_events_that_add_them_up_alone(row: EventType, texts: str):
    """The context of `compacting` is another: what the summary is made from, where the last answer stands."""
    restricted = restrict(Answer(**{texts: ("t",)}), row)  # type: ignore[arg-type]
    is_taken = (
        row.name
        in {
            "reminders": {"user_prompt_submit"},
            "context": {"user_prompt_submit", "after_tool_call", "tool_error"},
        }[texts]
    )
    assert getattr(restricted, texts) == (("t",) if is_taken else ())
    assert restricted.ignored == (() if is_taken else (f"{texts.removesuffix('s')}: not on {row.name}",))


def test_a_text_given_as_an_edit_is_reported_rather_than_lost():
    restricted = restrict(Answer(edits=(Edit(field="context", operation="append", value="c"),)), RESULT)
    assert restricted.edits == ()
    assert restricted.ignored == ("edit of context: texts are added by the answer's reminders and context",)


def test_a_reminder_where_none_is_read_is_ignored_and_reported():
    restricted = restrict(Answer(reminders=("r",)), GATE)
    assert (restricted.reminders, restricted.ignored) == ((), ("reminder: not on before_tool_call",))


def test_context_where_none_is_read_is_ignored_and_reported():
    restricted = restrict(Answer(context=("c",)), GATE)
    assert (restricted.context, restricted.ignored) == ((), ("context: not on before_tool_call",))


def test_what_was_ignored_before_stays_reported():
    assert restrict(Answer(ignored=("first",), reminders=("r",)), GATE).ignored[0] == "first"


def test_an_answer_that_fits_passes_as_it_is():
    answer = Answer(verdict="block", reason="r", edits=merge_args(a=1))
    assert restrict(answer, GATE) == answer


def test_a_failed_guard_blocks_with_what_it_wrote_to_stderr():
    guard = make_hook("guard", on_error="block")
    decision = fold(make_event(), make_failed_run(guard, stderr="no such file\n"))
    assert decision.is_blocked
    assert decision.reason == "hook 'guard' failed (exit): exit code 1: no such file"
    assert decision.runs[0].status == "failed"
    assert decision.runs[0].effects == ("blocked",)


@pytest.mark.parametrize("on_error", ["warn", "ignore"])
def test_a_failed_hook_that_is_no_guard_lets_go_on(on_error: str):
    decision = fold(make_event(), make_failed_run(make_hook(on_error=on_error)))
    assert decision.is_allowed
    assert decision.runs[0].effects == ()


def test_a_failed_guard_of_what_cannot_be_stopped_lets_go_on():
    hook = make_hook(event="after_tool_call", on_error="block")
    decision = fold(make_result_event(), make_failed_run(hook))
    assert decision.is_allowed
    assert decision.warnings == ("hook 'h' failed (exit): exit code 1",)


@pytest.mark.parametrize("kind", ["match", "spawn", "exit", "signal", "timeout", "reply", "crash"])
def test_a_guard_is_closed_by_every_kind_of_failure(kind: str):
    assert fold(make_event(), make_failed_run(make_hook(on_error="block"), kind=kind)).is_blocked


def test_a_provoked_failure_goes_by_its_own_policy():
    hook = make_hook(on_error="warn", on_provoked_error="block")
    assert fold(make_event(), make_failed_run(hook, provokable=True)).is_blocked
    assert fold(make_event(), make_failed_run(hook)).is_allowed


def test_the_policy_of_a_failure_is_the_hooks():
    run = make_failed_run(make_hook(on_error="ignore", on_provoked_error="block"))
    assert policy_for(run, Failure(kind="exit", message="")) == "ignore"
    assert policy_for(run, Failure(kind="match", message="", provokable=True)) == "block"


def test_a_long_stderr_is_told_by_its_end():
    text = describe_failure(make_failed_run(stderr="x" * 5000 + "the cause"))
    assert text.endswith("the cause")
    assert "...xxx" in text
    assert len(text) < 2100


def test_a_failure_is_warned_of():
    assert find_warnings(make_failed_run()) == ["hook 'h' failed (exit): exit code 1"]


def test_a_failure_to_be_ignored_is_not_warned_of():
    assert find_warnings(make_failed_run(make_hook(on_error="ignore"))) == []


def test_a_timeout_is_warned_of_even_when_failures_are_to_be_ignored():
    warnings = find_warnings(make_failed_run(make_hook(on_error="ignore"), kind="timeout"))
    assert warnings == ["hook 'h' failed (timeout): exit code 1"]


def test_notes_of_a_run_are_warned_of_first():
    run = Run(hook=make_hook(), status="ok", outcome=Answer(ignored=("part",)), notes=("a note",))
    assert find_warnings(run) == ["hook 'h': a note", "hook 'h': ignored: part"]


def test_warnings_of_all_runs_are_in_the_decision():
    decision = fold(make_event(), make_failed_run(make_hook("a")), make_run(make_hook("b"), ignored=("part",)))
    assert decision.warnings == ("hook 'a' failed (exit): exit code 1", "hook 'b': ignored: part")


# Property tests: what holds for every chain.

values = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.floats(-1, 1), st.text("ab", max_size=2))
objects = st.dictionaries(st.sampled_from("abc"), st.recursive(values, lambda inner: st.lists(inner, max_size=2)))
verdicts = st.sampled_from(["allow", "ask", "block"])


@steady
@given(objects, st.lists(objects))
def test_overrides_add_up_like_updates_of_a_dict(args: dict[str, Any], overrides: list[dict[str, Any]]):
    decision = fold(make_event(args=args), *(make_run(edits=merge_args(**override)) for override in overrides))
    expected = dict(args)
    for override in overrides:
        expected.update(override)
    assert repr(sorted(args_of(decision).items())) == repr(sorted(expected.items()))
    if decision.edits:
        assert decision.edits["args"] == args_of(decision)


@steady
@given(objects, objects)
def test_an_edit_made_twice_changes_nothing_the_second_time(args: dict[str, Any], override: dict[str, Any]):
    once = apply_edits(make_event(args=args), merge_args(**override))
    assert apply_edits(once, merge_args(**override)) is once


@steady
@given(st.lists(verdicts))
def test_the_most_restrictive_verdict_stands(given_verdicts: list[Any]):
    decision = fold(make_event(), *(make_run(verdict=verdict) for verdict in given_verdicts))
    assert decision.verdict == max(given_verdicts, key=["allow", "ask", "block"].index, default="allow")


@steady
@given(st.lists(verdicts))
def test_a_verdict_other_than_allow_always_has_a_reason(given_verdicts: list[Any]):
    decision = fold(make_event(), *(make_run(verdict=verdict) for verdict in given_verdicts))
    assert (decision.reason is None) == decision.is_allowed


def hide(event: Event, **execution: Any) -> tuple[Chain, Run]:
    """A failure of a hook that hides results."""
    hook = make_hook(event=event.name, hides_result=True, **execution)
    return Chain(event=event).take(make_failed_run(hook))


def test_a_failure_that_hides_the_result_takes_the_place_of_all_its_parts():
    tool, result = Tool(name="edit"), ToolResult(text="key", content=[{"type": "image"}], details={"key": 1})
    chain, run = hide(Event(AfterToolCall(tool=tool, result=result)), on_error="block")
    text = "hook 'h' failed (exit): exit code 1"
    assert chain.event.fields == AfterToolCall(tool=tool, result=ToolResult(text=text, failed=True))
    assert chain.edits["result"] == text
    assert (run.status, run.effects) == ("failed", ("edited",))


def test_a_failure_hides_the_result_under_the_policy_block_alone():
    event = make_result_event("ok")
    assert hide(event, on_error="warn")[0].event is event


def test_a_failure_hides_nothing_where_there_is_no_result():
    event = Event(AfterTurn(turn=1))
    chain, run = hide(event, on_error="block")
    assert (chain.event is event, run.effects) == (True, ())


# The strictest of hooks that are asked side by side


def strictest(event: Event, *runs: Run) -> Decision:
    chain, taken = Chain(event=event).take_strictest(runs)
    return chain.decide(taken)


def replace_args(**args: Any) -> tuple[Edit, ...]:
    return (Edit(field="args", operation="replace", value=args),)


def test_of_several_blocks_the_first_gives_the_reason():
    """Case 31 of the folder contract."""
    first, second = (make_run(make_hook(name), verdict="block", reason=name) for name in "ab")
    decision = strictest(make_event(), first, second)
    assert (decision.verdict, decision.reason) == ("block", "a")
    assert [run.status for run in decision.runs] == ["blocked", "blocked"]


def test_no_runs_side_by_side_are_no_objection():
    """Case 31 of the folder contract."""
    assert strictest(make_event()).is_allowed


def test_a_block_stands_though_others_object_to_nothing():
    """Case 30 of the folder contract."""
    event = make_prompt_event()
    runs = [make_run(make_hook("a"), context=("c1",)), make_run(make_hook("b"), verdict="block", reason="stop")]
    decision = strictest(event, *runs, make_run(make_hook("c")))
    assert (decision.verdict, decision.reason) == ("block", "stop")


def test_the_reason_of_a_block_stands_though_a_guard_fails_after_it():
    denial = make_run(make_hook("a"), verdict="block", reason="no")
    decision = strictest(make_event(), denial, make_failed_run(make_hook("b", on_error="block")))
    assert (decision.verdict, decision.reason) == ("block", "no")
    assert [run.effects for run in decision.runs] == [("blocked",), ("blocked",)]


def test_of_replacements_that_differ_the_first_stands_and_the_other_is_a_conflict():
    """Case 33 of the folder contract: nothing is dropped in silence."""
    runs = [make_run(make_hook(name), edits=replace_args(**{name: 1})) for name in "ab"]
    decision = strictest(make_event(), *runs)
    assert decision.edits == {"args": {"a": 1}}
    assert decision.conflicts == ("conflict: hooks 'a' and 'b' want different args; the first stands",)
    assert decision.conflicts[0] in decision.warnings


def test_the_same_replacement_twice_is_no_conflict():
    runs = [make_run(make_hook(name), edits=replace_args(x=1)) for name in "ab"]
    decision = strictest(make_event(), *runs)
    assert (decision.edits, decision.conflicts) == ({"args": {"x": 1}}, ())


def test_the_edits_of_a_hook_that_may_not_block_are_in_nobodys_way():
    runs = [
        make_run(make_hook("a", may_block=False), edits=replace_args(a=1)),
        make_run(make_hook("b"), edits=replace_args(b=1)),
    ]
    decision = strictest(make_event(), *runs)
    assert (decision.edits, decision.conflicts) == ({"args": {"b": 1}}, ())
    assert "hook 'a': ignored: edits of a hook that may not block" in decision.warnings


def test_the_block_of_a_hook_that_may_not_block_is_context():
    """Fact 41 of the folder contract."""
    run = make_run(make_hook(may_block=False), verdict="block", reason="careful", context=("lost",))
    decision = strictest(make_prompt_event(), run)
    assert (decision.verdict, decision.context) == ("allow", ("careful",))


def with_lead(hook_id: str) -> Hook:
    hook = make_hook(hook_id)
    return replace(hook, source=replace(hook.source, context_lead="\n[hook] "))


def test_contexts_side_by_side_are_one_text_behind_their_lead():
    """Case 31 of the folder contract, as fact 49 puts it before the model."""
    runs = [make_run(with_lead(name), context=(name,)) for name in "ab"]
    decision = strictest(make_result_event(), *runs)
    assert decision.context == ("\n[hook] a\nb",)
    assert [run.effects for run in decision.runs] == [("context",), ("context",)]


def test_without_context_there_is_no_lead():
    assert strictest(make_result_event(), make_run(with_lead("a"))).context == ()


def test_context_with_a_lead_means_something_before_a_tool_call():
    """W6 of the folder contract: what a hook says there is not lost."""
    decision = strictest(make_event(), make_run(with_lead("a"), context=("mind the gap",)))
    assert (decision.context, decision.warnings) == (("\n[hook] mind the gap",), ())
