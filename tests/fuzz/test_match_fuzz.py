"""Matching gives the answers that the documents and `re` give, however a match is written and an event looks."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Mapping
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from hookline import Event, Failure, Tool
from hookline.fields import BeforeToolCall, UserPromptSubmit
from hookline.hook import ArgumentMatch, Match
from hookline.match import compile_match, find_mismatch
from hookline.patterns.python import PatternError, compile_pattern
from hookline.testing import make_engine, make_hook
from json_values import values
from runaway import TooLongError, at_most_cpu, patterns, subjects

# What `re` may take where its answer is asked for; a search of ours may take longer before it is given up.
LIMIT_S = 0.5

_PROFILES = st.sampled_from(["", "Code", "code", "Plan"])
_NAMES = st.sampled_from(["", "bash", "edit", "Edit"])
_KINDS = st.sampled_from(["", "shell", "filesystem.write"])
_ARGUMENTS = st.sampled_from(["command", "path"])
_VALUES = subjects | values
_few = functools.partial(st.one_of, st.none(), st.none(), st.none())
_CONDITION = st.builds(
    ArgumentMatch, equals=_few(subjects), contains=_few(subjects, st.just("a")), regex=_few(patterns, st.just("a"))
)
matches = st.builds(
    Match,
    profile=_few(_PROFILES),
    profiles=st.lists(_PROFILES, max_size=2).map(tuple) | st.just(()),
    tool_kind=_few(_KINDS),
    tool_name=_few(_NAMES),
    args=st.dictionaries(_ARGUMENTS, _CONDITION, max_size=2) | st.just({}),
)
tools = st.builds(Tool, name=_NAMES, kind=_KINDS, args=st.dictionaries(_ARGUMENTS, _VALUES, max_size=2))
events = st.builds(Event, st.builds(BeforeToolCall, tool=tools), profile=_PROFILES) | st.builds(
    Event, st.just(UserPromptSubmit(text="hi")), profile=_PROFILES
)


def search(pattern: str, subject: str) -> bool:
    """What `re` says; a case on which it takes long is left aside."""
    try:
        with warnings.catch_warnings(), at_most_cpu(LIMIT_S):
            warnings.simplefilter("ignore")
            return re.search(pattern, subject) is not None
    except TooLongError:
        assume(False)
        raise


def is_meant(match: Match, event: Event) -> bool:
    """Whether an event fits a match, as the documents put it."""
    if match.profile is not None and match.profile != event.profile:
        return False
    if match.profiles and event.profile not in match.profiles:
        return False
    if match.tool_kind is None and match.tool_name is None and not match.args:
        return True
    if event.tool is None:
        return False
    if match.tool_kind is not None and match.tool_kind != event.tool.kind:
        return False
    if match.tool_name is not None and match.tool_name != event.tool.name:
        return False
    return all(fits(event.tool.args, name, wanted) for name, wanted in match.args.items())


def fits(args: Mapping[str, Any], name: str, wanted: ArgumentMatch) -> bool:
    if args.get(name) is None:
        return False
    text = str(args[name])
    if wanted.equals is not None and text != wanted.equals:
        return False
    if wanted.contains is not None and wanted.contains not in text:
        return False
    return wanted.regex is None or search(wanted.regex, text)


def assume_compiles(match: Match) -> None:
    try:
        compile_match(match)
    except PatternError:
        assume(False)


@given(match=matches, event=events)
def test_a_match_holds_exactly_when_the_documents_say_so(match: Match, event: Event):
    assume_compiles(match)
    found = compile_match(match).test(event)
    if isinstance(found, bool):
        assert found == is_meant(match, event)
    else:
        answers = [search(part.pattern.text, part.subject) for part in found]
        assert all(answers) == is_meant(match, event)


@given(match=matches, event=events)
def test_what_is_said_of_a_mismatch_agrees_with_the_match(match: Match, event: Event):
    assume_compiles(match)
    compiled = compile_match(match)
    found, mismatch = compiled.test(event), find_mismatch(compiled, event)
    assert (found is False) == (mismatch is not None)


@given(every=st.lists(matches, min_size=1, max_size=30), event=events)
async def test_an_engine_finds_exactly_the_hooks_that_are_meant(every: list[Match], event: Event):
    """However its index narrows them down; searches in a process of their own included."""
    for match in every:
        assume_compiles(match)
    meant = [f"h{i}" for i, match in enumerate(every) if is_meant(match, event)]
    hooks = [make_hook(f"h{i}", event=event.name, match=match) for i, match in enumerate(every)]
    with make_engine(hooks) as engine:
        decision = await engine.fire(event)
    unanswered = {run.hook.id for run in decision.runs if isinstance(run.outcome, Failure)}
    assert [run.hook.id for run in decision.runs if run.hook.id not in unanswered] == [
        hook_id for hook_id in meant if hook_id not in unanswered
    ]


@given(text=patterns, subject=subjects)
@example(text=r"(?s).\Z", subject="\n")
@example(text=r"\bé", subject="é")
@example(text="(?i:\u017f)", subject="s")
async def test_a_regular_expression_answers_as_re_does(text: str, subject: str):
    try:
        compile_pattern(text)
    except PatternError:
        assume(False)
    expected = search(text, subject)
    hook = make_hook(match=Match(args={"x": ArgumentMatch(regex=text)}))
    event = Event(BeforeToolCall(tool=Tool(name="t", args={"x": subject})))
    with make_engine([hook]) as engine:
        decision = await engine.fire(event)
    if not any(isinstance(run.outcome, Failure) for run in decision.runs):
        assert bool(decision.runs) == expected


@given(text=st.text(max_size=12) | patterns)
def test_any_text_is_a_pattern_or_refused_as_re_refuses_it(text: str):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except (re.error, OverflowError, RecursionError):
        is_pattern = False
    else:
        is_pattern = True
    try:
        compile_pattern(text)
    except PatternError as error:
        assert str(error)
        assert not is_pattern
    else:
        assert is_pattern
