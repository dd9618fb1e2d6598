"""What handlers and commands do with their host, and the hosts that they may be called by (section 7, and F)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import trio

from hookline import AfterTurn, Engine, Event
from hookline.handlers.host import NotWiredError
from hookline.handlers.modules import UnknownCommandError
from hookline.handlers.registration import HandlerError
from modules import call_event, calls, hear_errors, open_modules, step_event
from support import Bench

pytestmark = pytest.mark.anyio

# Actions and commands (section 7)


async def test_an_action_that_the_host_has_not_wired_raises(bench: Bench):
    """Section 7, F: it never claims success."""
    engine = bench.open()
    engine.on("turn_start", lambda event, ctx: ctx.abort())
    errors = hear_errors(engine)
    await engine.fire(step_event())
    assert "not wired 'abort'" in errors[0].error


COMMANDS = """
    import sys
    from modules import calls
    def hook(api):
        async def change(args, ctx):
            await ctx.new_session()
        api.register_command("echo", lambda args, ctx: args)
        api.register_command("echo", lambda args, ctx: "second")
        api.register_command("change", change)
        api.register_command("exit", lambda args, ctx: sys.exit(3))
        api.register_command("stop", lambda args, ctx: next(iter(())))
        api.on("turn_start", lambda event, ctx: calls.append(hasattr(ctx, "new_session")))
"""


async def run_command(engine: Engine, text: str) -> Any:
    return await engine.handling.run_command(text, session_id="s", cwd="/")


async def test_a_command_ends_at_the_first_whitespace_and_the_first_of_a_name_is_used(bench: Bench):
    """Sections 4 and 7."""
    engine = open_modules(bench, COMMANDS)
    assert await run_command(engine, "/echo  two  words ") == " two  words "
    assert [command.name for command in engine.handling.modules.get_registered_commands()][:2] == ["echo", "echo"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("/change", NotWiredError),
        ("/exit", HandlerError),
        ("/stop", RuntimeError),
        ("/nothing", UnknownCommandError),
    ],
)
async def test_what_goes_wrong_in_a_command_is_raised_where_it_was_run(bench: Bench, text: str, error: type[Exception]):
    engine = open_modules(bench, COMMANDS)
    with pytest.raises(error):
        await run_command(engine, text)


async def test_actions_that_could_wait_for_one_another_are_not_on_the_contexts_of_events(bench: Bench):
    """Section 7."""
    calls.clear()
    await open_modules(bench, COMMANDS).fire(step_event())
    assert calls == [False]


# Where an event may be fired


def make_recording_engine(bench: Bench) -> tuple[Engine, list[str]]:
    engine = bench.open()
    called: list[str] = []

    async def awaited(event: Any, ctx: Any) -> None:
        await asyncio.sleep(0)
        called.append("async")

    engine.on("tool_call", lambda event, ctx: called.append("plain"))
    engine.on("tool_call", awaited)
    engine.on("tool_call", lambda event, ctx: {"block": True, "reason": "no"})
    return engine, called


def test_handlers_are_called_for_a_host_on_trio(bench: Bench):
    engine, called = make_recording_engine(bench)
    assert trio.run(engine.fire, call_event()).reason == "no"
    assert called == ["plain", "async"]


def test_handlers_are_called_for_a_host_without_a_loop(bench: Bench):
    engine, called = make_recording_engine(bench)
    assert engine.fire_sync(call_event()).reason == "no"
    assert called == ["plain", "async"]


def test_handlers_are_called_on_one_loop_after_another_and_from_many_threads(bench: Bench):
    engine, called = make_recording_engine(bench)
    threads = [threading.Thread(target=asyncio.run, args=(engine.fire(call_event()),)) for _ in range(10)]
    threads += [threading.Thread(target=engine.fire_sync, args=(call_event(),)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(called) == ["async"] * 20 + ["plain"] * 20


async def test_a_handler_may_fire_events_itself(bench: Bench):
    engine = bench.open()
    seen: list[bool] = []

    async def fire(event: Any, ctx: Any) -> None:
        seen.append((await engine.fire(call_event())).is_blocked)

    engine.on("turn_start", fire)
    engine.on("turn_start", lambda event, ctx: seen.append(engine.fire_sync(call_event()).is_blocked))
    engine.on("tool_call", lambda event, ctx: {"block": True})
    await engine.fire(step_event())
    assert seen == [True, True]


def test_a_handler_that_would_wait_for_its_own_thread_is_told_so(bench: Bench):
    engine = bench.open()

    async def fire(event: Any, ctx: Any) -> None:
        engine.fire_sync(call_event())

    engine.on("turn_start", fire)
    engine.on("tool_call", print)
    errors = hear_errors(engine)
    engine.fire_sync(step_event())
    assert "fire_sync would wait" in errors[0].error


@pytest.mark.parametrize("mode", ["async", "fire_and_forget"])
async def test_a_handler_that_nobody_waits_for_is_called_and_heard_of(bench: Bench, mode: Any):
    engine = bench.open()
    errors = hear_errors(engine)

    def fail(event: Any, ctx: Any) -> None:
        raise ValueError("boom")

    engine.on("turn_start", fail, mode=mode)
    engine.on("agent_end", fail, mode=mode)
    await engine.settle(await engine.fire(step_event()))
    await engine.settle(await engine.fire(Event(AfterTurn(turn=1))))
    assert [error.event for error in errors] == ["turn_start", "agent_end"]


async def test_a_handler_is_tried_like_any_hook(bench: Bench):
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: {"block": True, "reason": "no"})
    run = await engine.try_hook(engine.hooks[0], call_event())
    assert run.status == "blocked"
