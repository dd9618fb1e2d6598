"""From what hooks say to what the host is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_failed_run, make_hook, make_run, merge_args
from hookline.events import Event, get_event_type
from hookline.fold import Chain, apply_edits, describe_failure, find_warnings, policy_for, restrict
from hookline.outcome import Answer, Decision, Edit, Failure, Run
from properties import steady
from support import make_event, make_prompt_event, make_result_event

GATE = get_event_type("before_tool_call")
PROMPT = get_event_type("user_prompt_submit")
RESULT = get_event_type("after_tool_call")


def fold(event: Event, *runs: Run) -> Decision:
    """The decision on these runs, taken in one after another up to the first block."""
    chain, taken = Chain(event=event), []
    for run in runs:
        if chain.is_blocked:
            break
        chain, counted = chain.take(run)
        taken.append(counted)
    return chain.decide(tuple(taken))


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
