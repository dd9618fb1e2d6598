"""Who hears of handlers that fail: listeners, hooks of `hook_failed`, and the run log (section 6; rule 7 of events)."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Any

import pytest

from hookline import Engine
from hookline.handlers.modules import HookError
from hookline.handlers.registration import HandlerError
from hookline.runlog import LogQuery, read_records
from modules import call_event, hear_errors, open_modules, result_event, step_event
from support import Bench
from waiting import wait_until

pytestmark = pytest.mark.anyio

FAILING = """
    def fail(event, ctx):
        raise ValueError("boom")
    def hook(api):
        api.on("tool_call", fail)
        api.on("tool_result", fail)
"""


def fail(event: Any, ctx: Any) -> None:
    raise ValueError("boom")


async def test_a_listener_hears_path_event_and_text(bench: Bench):
    """Section 6; F: the errors that block are delivered too."""
    engine = open_modules(bench, FAILING)
    errors = hear_errors(engine)
    await engine.fire(call_event())
    await engine.fire(result_event())
    path = str(bench.hooks_folder("user") / "named" / "a.py")
    assert errors == [
        HookError(hook_path=path, event="tool_call", error="boom", hook_id="a:tool_call"),
        HookError(hook_path=path, event="tool_result", error="boom", hook_id="a:tool_result"),
    ]


async def test_a_listener_is_taken_off_by_what_on_error_returns(bench: Bench):
    engine = open_modules(bench, FAILING)
    errors: list[HookError] = []
    remove = engine.handling.on_error(errors.append)
    remove()
    remove()
    await engine.fire(call_event())
    assert errors == []


async def test_a_listener_that_raises_disturbs_nothing(bench: Bench, log_lines: list[str]):
    """Section 5, F: the outcome stands, the next listener hears of it."""
    engine = open_modules(bench, FAILING)

    def broken(error: HookError) -> None:
        raise RuntimeError("listener")

    engine.handling.on_error(broken)
    errors = hear_errors(engine)
    assert (await engine.fire(call_event())).is_blocked
    assert len(errors) == 1
    assert any("RuntimeError('listener')" in line for line in log_lines)


async def _listen(error: HookError) -> None: ...


@pytest.mark.parametrize("listener", [42, _listen, functools.partial(_listen)])
def test_a_listener_that_would_never_be_heard_is_refused(bench: Bench, listener: Any):
    with pytest.raises(HandlerError, match="listener"):
        bench.open().handling.on_error(listener)


async def test_a_listener_may_add_and_remove_listeners(bench: Bench):
    engine = open_modules(bench, FAILING)
    heard: list[str] = []

    def once(error: HookError) -> None:
        heard.append("once")
        remove()
        engine.handling.on_error(lambda error: heard.append("added"))

    remove = engine.handling.on_error(once)
    await engine.fire(call_event())
    assert heard == ["once"]
    await engine.fire(call_event())
    assert heard == ["once", "added"]


async def test_a_hook_that_is_a_process_is_told_of_with_its_own_names(bench: Bench):
    engine = bench.open(
        'hooks: [{id: h, event: before_tool_call, run: {type: command, argv: ["false"]}, execution: {mode: blocking}}]'
    )
    errors = hear_errors(engine)
    await engine.fire(bench.event())
    (error,) = errors
    assert (error.event, error.hook_id) == ("before_tool_call", "h")
    assert error.hook_path == str(bench.hooks_folder() / "hooks.yaml")


async def wait_for(heard: list[Any], count: int) -> None:
    await wait_until(lambda: len(heard) >= count, f"{count} events came")


def hear_failures(engine: Engine) -> list[tuple[str, str, str, str]]:
    """What handlers of `hook_failed` are told from now on."""
    heard: list[tuple[str, str, str, str]] = []

    def hear(event: Any, ctx: Any) -> None:
        heard.append((event.hook_id, event.failed_event, event.kind, event.message))

    engine.on("hook_failed", hear, id="hearing")
    return heard


async def test_hook_failed_is_fired_for_a_handler_that_failed(bench: Bench):
    """Rule 7."""
    engine = open_modules(bench, FAILING)
    heard = hear_failures(engine)
    await engine.fire(call_event())
    await wait_for(heard, 1)
    assert heard == [("a:tool_call", "before_tool_call", "crash", "boom")]


async def test_hook_failed_is_fired_for_a_handler_that_nobody_waited_for(bench: Bench):
    engine = bench.open()
    heard = hear_failures(engine)
    engine.on("turn_start", fail, id="alone", mode="fire_and_forget")
    await engine.fire(step_event())
    await wait_for(heard, 1)
    assert heard[0][:2] == ("alone", "model_step_start")


async def test_hook_failed_is_fired_for_a_handler_that_is_late(bench: Bench):
    engine = bench.open()
    heard = hear_failures(engine)
    release = threading.Event()
    engine.on("turn_start", lambda event, ctx: release.wait(60), timeout_s=0.05, id="late")
    await engine.fire(step_event())
    release.set()
    await wait_for(heard, 1)
    assert heard[0][:3] == ("late", "model_step_start", "timeout")


async def test_a_failing_handler_of_hook_failed_does_not_start_anew(bench: Bench):
    """Rule 7: except runs of `hook_failed` hooks; listeners hear of those too."""
    engine = open_modules(bench, FAILING)
    errors = hear_errors(engine)
    heard = hear_failures(engine)
    engine.on("hook_failed", fail, id="failing")
    await engine.fire(call_event())
    await wait_for(errors, 2)
    await asyncio.to_thread(engine.close, grace_s=1)
    assert [error.hook_id for error in errors] == ["a:tool_call", "failing"]
    assert len(heard) == 1


# The run log


async def test_the_run_log_has_a_line_for_each_handler(bench: Bench):
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: None, id="quiet")
    engine.on("tool_call", lambda event, ctx: {"input": {"command": "true"}}, id="editing")
    engine.on("tool_call", fail, id="failing", on_error="warn")
    engine.on("tool_call", lambda event, ctx: {"block": True, "reason": "no"}, id="blocking")
    engine.on("tool_call", lambda event, ctx: None, id="behind")
    await engine.fire(call_event())
    await asyncio.to_thread(engine.close, grace_s=1)
    lines = list(read_records(bench.home / "hooks" / "log", LogQuery()))
    assert [(line["hook"], line["status"]) for line in lines] == [
        ("quiet", "ok"),
        ("editing", "ok"),
        ("failing", "failed"),
        ("blocking", "blocked"),
        ("behind", "skipped"),
    ]
    assert any("boom" in str(value) for value in lines[2].values())
