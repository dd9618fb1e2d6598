"""Whatever hooks say, their replies are read or refused, and an engine decides by its rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Struct

from hookline import Answer, Decision, Edit, Event, Failure, Hook
from hookline.dialects.base import Dialect
from hookline.dialects.chrys import CHRYS
from hookline.dialects.native import NATIVE
from hookline.events import EVENT_NAMES
from hookline.fold import Chain
from hookline.hook import ArgumentMatch, Match
from hookline.outcome import Outcome, Run
from hookline.testing import FakeRunner, make_engine, make_event, make_hook
from json_values import objects, texts, values

DIALECTS = pytest.mark.parametrize("dialect", [NATIVE, CHRYS], ids=["native", "chrys"])
KINDS = ["match", "spawn", "exit", "signal", "timeout", "reply", "crash"]

hooks_of_any_event = st.builds(
    make_hook,
    event=st.sampled_from(EVENT_NAMES),
    mode=st.sampled_from(["blocking", "async"]),
    on_error=st.sampled_from(["block", "warn", "ignore"]),
    on_bad_reply=st.sampled_from(["ignore", "error"]),
)
_WORDS = st.sampled_from(["allow", "block", "modify", "ask", "BLOCK", "deny", ""])
replies = st.fixed_dictionaries(
    {},
    optional={
        "action": _WORDS | values,
        "reason": texts | values,
        "user_message": texts | values,
        "args_override": objects | values,
        "system_reminder": texts | values,
        "extra_context": texts | values,
        "colour": values,
    },
)


def check(outcome: Outcome, hook: Hook) -> None:
    """What holds of every reply that was looked at."""
    if isinstance(outcome, Failure):
        assert outcome.kind == "reply"
        assert outcome.message
        return
    assert isinstance(outcome, Answer)
    assert outcome.verdict in ("allow", "ask", "block")
    assert all(isinstance(text, str | None) and text != "" for text in (outcome.reason, outcome.user_message))
    assert all(isinstance(text, str) and text for text in (*outcome.reminders, *outcome.context, *outcome.ignored))
    for edit in outcome.edits:
        assert (edit.field, edit.operation) == ("args", "merge")
        assert isinstance(edit.value, dict)
    take(hook, outcome)


def take(hook: Hook, outcome: Outcome) -> Decision:
    """What comes of one outcome alone."""
    event = make_event(hook.event)
    chain, run = Chain(event=event).take(Run(hook=hook, status="ok", outcome=outcome))
    decision = chain.decide((run,))
    assert event.type.gate or decision.is_allowed
    return decision


@DIALECTS
@given(reply=st.binary(max_size=200), hook=hooks_of_any_event)
@example(reply=b"", hook=make_hook())
@example(reply=b"\xef\xbb\xbf{}", hook=make_hook())
@example(reply=b"\xff", hook=make_hook())
@example(reply=b"[" * 100_000, hook=make_hook())
@example(reply=b'{"a":' * 100_000, hook=make_hook())
@example(reply=b'{"reason":' + b"[" * 960 + b"]" * 960 + b"}", hook=make_hook())
@example(reply=b"1" * 100_000, hook=make_hook())
@example(reply=b'{"reason":' + b"1" * 100_000 + b"}", hook=make_hook())
@example(reply=b'{"reason": "\\ud800"}', hook=make_hook())
@example(reply=b'{"action": "block", "action": "allow"}', hook=make_hook())
def test_any_bytes_are_a_reply_or_refused(dialect: Dialect, reply: bytes, hook: Hook):
    check(dialect.decode_reply(reply, hook), hook)


@DIALECTS
@given(reply=replies | values, hook=hooks_of_any_event)
def test_any_json_is_a_reply_or_refused(dialect: Dialect, reply: Any, hook: Hook):
    check(dialect.decode_reply(json.dumps(reply).encode(), hook), hook)


@DIALECTS
@given(code=st.integers(1, 255), stderr=texts, hook=hooks_of_any_event)
def test_any_exit_code_is_a_block_or_a_failure(dialect: Dialect, code: int, stderr: str, hook: Hook):
    outcome = dialect.decode_exit(code, stderr, hook)
    if isinstance(outcome, Answer):
        assert (outcome.verdict, code, hook.is_gate) == ("block", 2, True)
    else:
        assert (outcome.kind, outcome.message) == ("exit", f"exit code {code}")


@given(reply=replies)
def test_a_native_reply_blocks_exactly_when_it_says_so(reply: dict[str, Any]):
    outcome = NATIVE.decode_reply(json.dumps(reply).encode(), make_hook())
    if isinstance(outcome, Answer):
        word = reply.get("action") or "allow"
        assert outcome.verdict == {"modify": "allow"}.get(word.lower(), word.lower())


def is_strict_json(value: Any) -> bool:
    """Whether no number in it is NaN or infinite, which JSON has no words for."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


@given(reply=replies)
@example(reply={"action": "block", "extra_context": "NaN"})
@example(reply={"action": "block", "extra_context": float("nan")})
def test_a_chrys_reply_blocks_exactly_when_it_says_so(reply: dict[str, Any]):
    outcome = CHRYS.decode_reply(json.dumps(reply).encode(), make_hook())
    assert isinstance(outcome, Answer)
    word = reply.get("action") if is_strict_json(reply) else None
    assert (outcome.verdict == "block") == (isinstance(word, str) and word.lower() == "block")


# A whole engine over hooks that say anything


def merge(args: dict[str, Any]) -> Edit:
    return Edit(field="args", operation="merge", value=args)


_SMALL = st.sampled_from([0, 1, True, 1.0, "1", None, [1], {"a": 1}])
_ARGS = st.dictionaries(st.sampled_from("kmn"), _SMALL, max_size=2)
_EDITS = st.builds(merge, _ARGS) | st.builds(
    Edit,
    field=st.sampled_from(["text", "args", "colour"]),
    operation=st.sampled_from(["append", "clear"]),
    value=_SMALL,
)
answers = st.builds(
    Answer,
    verdict=st.sampled_from(["allow", "allow", "allow", "ask", "block"]),
    reason=st.none() | texts,
    user_message=st.none() | texts,
    edits=st.lists(_EDITS, max_size=2).map(tuple),
    reminders=st.lists(texts, max_size=2).map(tuple),
    context=st.lists(texts, max_size=2).map(tuple),
)
failures = st.builds(Failure, kind=st.sampled_from(KINDS), message=texts, provokable=st.booleans())


class Part(Struct, frozen=True):
    """A hook of a case and what it says, each time it is asked."""

    hook: Hook
    outcome: Answer | Failure


def number(parts: list[tuple[dict[str, Any], Answer | Failure]], event: str) -> list[Part]:
    return [Part(make_hook(f"h{i}", event=event, **options), said) for i, (options, said) in enumerate(parts)]


def is_meant(hook: Hook, args: dict[str, Any] | None) -> bool:
    """Whether a hook is for arguments, by the documents."""
    if not hook.match.args:
        return True
    return args is not None and all(args.get(name) is not None for name in hook.match.args)


_OPTIONS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["blocking", "blocking", "blocking", "async", "fire_and_forget"]),
        "on_error": st.sampled_from(["block", "warn", "ignore"]),
        "match": st.sampled_from([None, None, Match(args={"k": ArgumentMatch()}), Match(args={"m": ArgumentMatch()})]),
        "recheck": st.booleans(),
    }
)
cases = st.lists(st.tuples(_OPTIONS, answers | failures), min_size=1, max_size=6)


class Expected:
    """What the documents say comes of hooks that are asked one after another; a model in few words."""

    def __init__(self, event: Event, parts: Sequence[Part]) -> None:
        self.is_gate = event.type.gate
        self.args = dict(event.tool.args) if event.tool is not None else None
        self.takes_args = event.name == "before_tool_call"
        self.asked: list[str] = []  # the hooks that are run, in order
        self.skipped: list[str] = []
        self.verdict = "allow"
        self.edits = 0
        heard: list[tuple[Part, int]] = []
        for part in (part for part in parts if part.hook.is_blocking):
            if self.verdict == "block":
                self.skipped += [part.hook.id] if is_meant(part.hook, self.args) else []
                continue
            if is_meant(part.hook, self.args):
                self.ask(part, counts_edits=True)
            heard.append((part, self.edits))
        for part, seen in heard:
            has_changed = part.hook.execution.recheck and seen != self.edits
            if has_changed and self.verdict != "block" and is_meant(part.hook, self.args):
                self.ask(part, counts_edits=False)
        for part in (part for part in parts if not part.hook.is_blocking):
            if is_meant(part.hook, self.args):
                (self.skipped if self.verdict == "block" else self.asked).append(part.hook.id)

    def ask(self, part: Part, *, counts_edits: bool) -> None:
        self.asked.append(part.hook.id)
        said = part.outcome
        if isinstance(said, Failure):
            if self.is_gate and part.hook.execution.on_error == "block":
                self.verdict = "block"
            return
        if self.is_gate and said.verdict != "allow":
            self.verdict = said.verdict
        for edit in said.edits:
            if counts_edits and self.takes_args and self.args is not None and edit.operation == "merge":
                edited = {**self.args, **edit.value}
                self.edits += repr(edited) != repr(self.args)
                self.args = edited


@pytest.mark.parametrize("name", ["before_tool_call", "user_prompt_submit", "after_tool_call", "before_turn"])
@given(case=cases)
async def test_an_engine_decides_by_its_rules_whatever_hooks_say(
    name: str, case: list[tuple[dict[str, Any], Answer | Failure]]
):
    parts = number(case, name)
    tool = {"name": "t", "args": {"k": 1}}
    event = make_event(name, **({"tool": tool} if "tool" in make_event(name).type.field_names else {}))
    runner = FakeRunner({part.hook.id: part.outcome for part in parts})
    with make_engine([part.hook for part in parts], runner) as engine:
        decision = await engine.settle(await engine.fire(event))
    expected = Expected(event, parts)
    others = [part.hook.id for part in parts if not part.hook.is_blocking]

    assert decision.verdict == expected.verdict
    called = [hook_id for hook_id, _ in runner.calls]
    assert [hook_id for hook_id in called if hook_id not in others] == [
        hook_id for hook_id in expected.asked if hook_id not in others
    ]
    assert sorted(called) == sorted(expected.asked)
    assert [run.hook.id for run in decision.runs if run.status == "skipped"] == expected.skipped
    assert [run.hook.id for run in decision.runs if run.status != "skipped"] == expected.asked
    check_texts(decision, parts, expected)
    if decision.is_blocked:
        assert (decision.edits, decision.reminders, decision.context) == ({}, (), ())
        assert decision.reason is not None
    elif expected.args is not None and decision.event is not None and decision.event.tool is not None:
        assert repr(dict(decision.event.tool.args)) == repr(expected.args)
        assert repr(decision.edits.get("args", expected.args)) == repr(expected.args)


def check_texts(decision: Decision, parts: Sequence[Part], expected: Expected) -> None:
    """Reminders and context stand in the order of declaration, and only where they mean something."""
    if decision.is_blocked or decision.event is None:
        return
    said = {part.hook.id: part.outcome for part in parts if part.hook.is_blocking}
    asked = [said[hook_id] for hook_id in expected.asked if hook_id in said]
    edits = decision.event.type.edits
    reminders = [text for answer in asked if isinstance(answer, Answer) for text in answer.reminders]
    context = [text for answer in asked if isinstance(answer, Answer) for text in answer.context]
    assert list(decision.reminders) == (reminders if "reminders" in edits else [])
    assert list(decision.context) == (context if "context" in edits else [])


@given(case=cases, values_of_a_model=objects)
async def test_an_engine_bears_any_arguments_and_any_edits(
    case: list[tuple[dict[str, Any], Answer | Failure]], values_of_a_model: dict[str, Any]
):
    parts = number(case, "before_tool_call")
    runner = FakeRunner({part.hook.id: part.outcome for part in parts})
    edit = make_hook("edit")
    runner = FakeRunner(
        {**{part.hook.id: part.outcome for part in parts}, "edit": Answer(edits=(merge(values_of_a_model),))}
    )
    with make_engine([edit, *(part.hook for part in parts)], runner) as engine:
        decision = await engine.fire(make_event(tool={"name": "t", "args": values_of_a_model}))
    assert decision.verdict in ("allow", "ask", "block")


@pytest.mark.parametrize("depth", [100, 900, 5_000])
async def test_an_edit_nested_to_any_depth_raises_nothing(depth: int):
    deep: Any = "bottom"
    for _ in range(depth):
        deep = [deep]
    runner = FakeRunner({"edit": Answer(edits=(merge({"command": deep}),))})
    with make_engine([make_hook("edit")], runner) as engine:
        decision = await engine.fire(make_event())
    assert [run.hook.id for run in decision.runs] == ["edit"]
