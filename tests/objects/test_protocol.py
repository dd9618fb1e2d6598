"""Hook objects: what may be attached, and what their running can come to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hookline.objects.matcher import HookMatcher
from hookline.objects.protocol import HookObject, check_object, check_objects, read_matcher, read_policy, run_object
from hookline.objects.records import Allow, Block, Error, HookOutcome, HookPayload, ObjectEvent, Policy

PAYLOAD = HookPayload(event="pre_tool_use", hook_id="h", session_id="s", turn_id="t", data={})


class Guard:
    """A hook object with all that there is."""

    id: str = "guard"
    event: ObjectEvent = "pre_tool_use"
    matcher: HookMatcher | None = HookMatcher(tool_name="bash")
    on_error: Policy = "block"

    async def run(self, payload: HookPayload) -> HookOutcome:
        return Block(reason=payload.hook_id)


class Plain:
    id = "plain"
    event = "turn_end"

    def run(self, payload: HookPayload) -> HookOutcome:
        return Allow()


def make(**changes: Any) -> Any:
    """A guard with other attributes."""
    return type("Changed", (Guard,), changes)()


def refuse(**changes: Any) -> str:
    problems = check_object(make(**changes))
    assert len(problems) == 1
    return problems[0]


def test_a_whole_object_may_be_attached():
    guard: HookObject = Guard()
    assert check_object(guard) == ()


def test_matcher_and_policy_may_be_left_out():
    """Fact 2: no matcher, and warn. Case 9: the default policy is warn."""
    plain: Any = Plain()
    assert check_object(plain) == ()
    assert (read_matcher(plain), read_policy(plain)) == (None, "warn")
    assert (read_matcher(Guard()), read_policy(Guard())) == (Guard.matcher, "block")


@pytest.mark.parametrize("value", ["", " ", 5, None])
def test_an_object_needs_an_id(value: Any):
    assert "its id is" in refuse(id=value)


@pytest.mark.parametrize("value", ["PreToolUse", "before_tool_call", 5, None])
def test_an_object_needs_one_of_the_six_events(value: Any):
    """Fact 1: exact, case-sensitive."""
    assert refuse(event=value, matcher=None).startswith("hook `guard`: its event is")


@pytest.mark.parametrize("value", ["Block", "ignore", None, 5])
def test_an_object_needs_one_of_the_three_policies(value: Any):
    """Case 9."""
    assert "its on_error is" in refuse(on_error=value)


@pytest.mark.parametrize("matcher", [HookMatcher(), HookMatcher(tool_name="bash")])
def test_a_matcher_needs_a_tool_event(matcher: HookMatcher):
    """Fact 3: any matcher object, even an empty one."""
    text = refuse(event="session_start", matcher=matcher)
    assert text == "hook `guard` has a matcher on non-tool event `session_start`"


def test_a_matcher_must_hold_what_it_promises():
    """A7: what would never fire is refused when it is attached."""
    assert refuse(matcher=HookMatcher(tool_name_glob="*_file")).startswith("hook `guard`: tool_name_glob '*_file'")
    assert "its matcher must be a HookMatcher" in refuse(matcher={"tool_name": "bash"})


def test_an_object_needs_something_to_run():
    assert refuse(run=5) == "hook `guard`: it has no method run(payload)"


def test_a_class_is_no_object():
    assert check_object(Guard) == ("hook `guard`: it is a class; attach an object made of it",)


def test_anything_at_all_is_told_what_it_lacks():
    assert len(check_object(object())) == 3
    assert len(check_object(None)) == 3


def test_a_property_that_raises_is_told():
    def boom(self: Any) -> Any:
        raise RuntimeError("boom")

    problems = "\n".join(check_object(make(matcher=property(boom), on_error=property(boom))))
    assert "reading its matcher raised RuntimeError: boom" in problems
    assert "reading its on_error raised RuntimeError: boom" in problems


def test_ids_are_unique():
    """A16: ids are unique in an engine."""
    assert check_objects([Guard(), Plain()]) == ()
    assert "another hook of this engine has this id" in check_objects([Guard(), Guard()])[0]
    assert "another hook of this engine has this id" in check_objects([Guard()], {"guard"})[0]


async def test_an_object_answers():
    assert await run_object(Guard(), PAYLOAD) == Block(reason="h")


async def test_an_ordinary_function_answers_too():
    plain: Any = Plain()
    assert await run_object(plain, PAYLOAD) == Allow()


async def test_an_object_that_raises_is_an_error():
    """Case 42, the translation: a raising hook becomes an executor error. A11."""

    async def run(self: Any, payload: HookPayload) -> HookOutcome:
        raise ValueError("boom")

    assert await run_object(make(run=run), PAYLOAD) == Error(message="it raised ValueError: boom")


@pytest.mark.parametrize("value", [None, {"decision": "allow"}, "allow", Allow])
async def test_an_object_that_returns_no_outcome_is_an_error(value: Any):
    found = await run_object(make(run=lambda self, payload: value), PAYLOAD)
    assert isinstance(found, Error)
    assert "which is no outcome" in found.message


async def test_a_cancelled_object_is_cancelled():
    """A10: cancellation goes through."""
    is_running = asyncio.Event()

    async def run(self: Any, payload: HookPayload) -> HookOutcome:
        is_running.set()
        await asyncio.Event().wait()
        return Allow()

    task = asyncio.create_task(run_object(make(run=run), PAYLOAD))
    await is_running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
