"""Handlers that misbehave: the host goes on, the outcome is named, and a gate for tool calls stays closed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

import pytest

from hookline import Decision, Engine, Failure, Run
from modules import call_event, hear_errors, open_modules, step_event
from support import Bench
from waiting import wait_until

pytestmark = pytest.mark.anyio

LIMIT_S = 0.05


async def fire_call(engine: Engine) -> tuple[Decision, Run]:
    """The decision about a tool call and the first run that failed."""
    decision = await engine.fire(call_event())
    return decision, next(run for run in decision.runs if isinstance(run.outcome, Failure))


def expect_blocked(decision: Decision, run: Run, kind: str, text: str) -> None:
    assert decision.is_blocked
    assert isinstance(run.outcome, Failure)
    assert run.outcome.kind == kind
    assert text in run.outcome.message
    assert text in (decision.reason or "")


# Handlers that do not answer


async def test_a_stuck_async_handler_is_cancelled_and_blocks(bench: Bench):
    engine = bench.open()
    ended: list[str] = []

    @engine.on("tool_call", timeout_s=LIMIT_S)
    async def stuck(event: Any, ctx: Any) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("cancelled")

    decision, run = await fire_call(engine)
    expect_blocked(decision, run, "timeout", "no answer within 0.05 s")
    assert run.status == "timeout"
    await wait_until(lambda: ended == ["cancelled"], "the handler was cancelled")


async def test_the_reason_of_a_timeout_names_the_module(bench: Bench):
    """F: tool_call blocks with a reason naming the module."""
    engine = open_modules(
        bench,
        """
        import asyncio
        def hook(api):
            @api.on("tool_call")
            async def stuck(event, ctx):
                await asyncio.sleep(3600)
        """,
        options=", timeout_seconds: 0.05",
    )
    decision, run = await fire_call(engine)
    expect_blocked(decision, run, "timeout", str(bench.hooks_folder("user") / "named" / "a.py"))


def test_a_handler_that_swallows_cancellation_keeps_no_loop_from_ending(bench: Bench):
    engine = bench.open()

    @engine.on("tool_call", timeout_s=LIMIT_S)
    async def stubborn(event: Any, ctx: Any) -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue

    began_at = time.monotonic()
    decision, run = asyncio.run(fire_call(engine))
    expect_blocked(decision, run, "timeout", "no answer")
    assert time.monotonic() - began_at < 1.5


def test_a_handler_that_swallows_cancellation_keeps_no_engine_from_closing(bench: Bench):
    engine = bench.open()

    @engine.on("tool_call", timeout_s=LIMIT_S)
    async def stubborn(event: Any, ctx: Any) -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue

    assert engine.fire_sync(call_event()).is_blocked
    began_at = time.monotonic()
    engine.close(grace_s=0)
    assert time.monotonic() - began_at < 5


async def test_a_cancelled_handler_may_clean_up_first(bench: Bench):
    engine = bench.open()
    steps: list[str] = []

    @engine.on("tool_call", timeout_s=LIMIT_S)
    async def tidy(event: Any, ctx: Any) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            steps.append("cleaned up")

    await fire_call(engine)
    await wait_until(lambda: steps == ["cleaned up"], "the handler cleaned up")


async def test_a_stuck_handler_of_an_observer_is_reported_and_the_next_one_runs(bench: Bench):
    engine = bench.open()
    errors = hear_errors(engine)
    called: list[str] = []
    release = threading.Event()
    engine.on("turn_start", lambda event, ctx: release.wait(60), timeout_s=LIMIT_S, id="stuck")
    engine.on("turn_start", lambda event, ctx: called.append("next"))
    decision = await engine.fire(step_event())
    release.set()
    assert called == ["next"]
    assert not decision.is_blocked
    assert [error.hook_id for error in errors] == ["stuck"]


async def test_a_time_limit_counts_for_each_handler_alone(bench: Bench):
    engine = bench.open()
    for number in range(4):
        engine.on("tool_call", lambda event, ctx: time.sleep(0.06), timeout_s=0.2, id=f"h{number}")
    decision = await engine.fire(call_event())
    assert decision.is_allowed
    assert len(decision.runs) == 4


# Handlers that end oddly


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom"), "boom"),
        (SystemExit(3), "tried to exit the interpreter"),
        (KeyError(), "KeyError"),
        (KeyError("path"), "KeyError: 'path'"),
        (GeneratorExit(), "GeneratorExit"),
        (UnspeakableError(), "UnspeakableError"),
        (asyncio.CancelledError(), "cancelled"),
        (StopAsyncIteration("over"), "over"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_whatever_a_handler_raises_blocks_and_is_named(
    bench: Bench, error: BaseException, text: str, is_async: bool
):
    engine = bench.open()
    called: list[str] = []

    def plain(event: Any, ctx: Any) -> None:
        called.append("raising")
        raise error

    async def awaited(event: Any, ctx: Any) -> None:
        plain(event, ctx)

    engine.on("tool_call", lambda event, ctx: called.append("before") or None)
    engine.on("tool_call", awaited if is_async else plain)
    decision, run = await fire_call(engine)
    expect_blocked(decision, run, "crash", "CancelledError" if text == "cancelled" and not is_async else text)
    assert called == ["before", "raising"]


async def test_a_plain_handler_that_is_interrupted_blocks(bench: Bench):
    engine = bench.open()

    def interrupt(event: Any, ctx: Any) -> None:
        raise KeyboardInterrupt

    engine.on("tool_call", interrupt)
    decision, run = await fire_call(engine)
    expect_blocked(decision, run, "crash", "KeyboardInterrupt")


@pytest.mark.parametrize("awaits", [False, True])
async def test_a_handler_that_cancels_its_own_task_blocks(bench: Bench, awaits: bool):
    engine = bench.open()
    called: list[str] = []

    @engine.on("tool_call")
    async def cancel(event: Any, ctx: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if awaits:
            await asyncio.sleep(1)

    @engine.on("tool_call")
    async def later(event: Any, ctx: Any) -> None:
        called.append("later")

    decision, run = await fire_call(engine)
    expect_blocked(decision, run, "crash", "cancelled its own task")
    assert called == []


async def test_a_handler_that_swallows_its_own_cancellation_blocks(bench: Bench):
    engine = bench.open()

    @engine.on("tool_call")
    async def cancel(event: Any, ctx: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            return

    decision, run = await fire_call(engine)
    expect_blocked(decision, run, "crash", "cancelled its own task")


class Result(dict[str, Any]):
    def __iter__(self) -> Any:
        raise RuntimeError("not today")


@pytest.mark.parametrize("returned", [{"block": "yes"}, {"block": 1}, {"input": 5}, Result(block=True)])
async def test_a_result_that_cannot_be_read_blocks(bench: Bench, returned: Any):
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: returned)
    decision = await engine.fire(call_event())
    assert decision.is_blocked


async def test_a_very_long_error_is_cut(bench: Bench):
    engine = bench.open()

    def shout(event: Any, ctx: Any) -> None:
        raise ValueError("x" * 10_000_000)

    engine.on("tool_call", shout)
    decision, run = await fire_call(engine)
    assert decision.is_blocked
    assert len(decision.reason or "") < 10_000
    assert len(run.stderr) < 100_000


async def test_a_flood_on_stdout_harms_nobody(bench: Bench, capsys: pytest.CaptureFixture[str]):
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: print("x" * 1_000_000))
    assert (await engine.fire(call_event())).is_allowed
    assert len(capsys.readouterr().out) > 1_000_000


# Tasks that are left behind


def test_tasks_that_a_handler_leaves_behind_keep_no_engine_from_closing(bench: Bench):
    engine = bench.open()
    ended: list[str] = []

    async def rest() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("rest")

    async def stay(until: float) -> None:
        while time.monotonic() < until:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.1)

    async def leak(event: Any, ctx: Any) -> None:
        kept.extend([asyncio.create_task(rest()), asyncio.create_task(stay(time.monotonic() + 1.2))])
        await asyncio.sleep(0)

    kept: list[asyncio.Task[None]] = []
    engine.on("tool_call", leak)
    assert engine.fire_sync(call_event()).is_allowed
    began_at = time.monotonic()
    engine.close(grace_s=0)
    assert time.monotonic() - began_at < 5
    assert ended == ["rest"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_task_that_is_left_behind_and_exits_takes_no_engine_with_it(bench: Bench, error: BaseException):
    engine = bench.open()

    async def exit_() -> None:
        raise error

    async def leak(event: Any, ctx: Any) -> None:
        kept.append(asyncio.create_task(exit_()))

    kept: list[asyncio.Task[None]] = []
    engine.on("turn_start", leak)
    engine.on("tool_call", leak)
    engine.on("tool_call", lambda event, ctx: {"block": True, "reason": "no"})
    engine.fire_sync(step_event())
    assert engine.fire_sync(call_event()).reason == "no"
    assert {type(task.exception()) for task in kept} == {type(error)}


@pytest.mark.parametrize("on_main_thread", [True, False])
def test_an_interrupt_is_the_users_only_where_a_user_can_interrupt(bench: Bench, on_main_thread: bool):
    engine = bench.open()

    async def interrupt(event: Any, ctx: Any) -> None:
        raise KeyboardInterrupt

    engine.on("tool_call", interrupt)
    if on_main_thread:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(fire_call(engine))
    else:
        assert "KeyboardInterrupt" in (engine.fire_sync(call_event()).reason or "")


# The host's own cancellation


@pytest.mark.parametrize("kind", ["async", "plain", "returned"])
async def test_a_host_that_is_cancelled_is_free_at_once_and_the_run_is_noted(bench: Bench, kind: str):
    engine = bench.open()
    begun = threading.Event()
    release = threading.Event()

    async def wait(event: Any, ctx: Any) -> None:
        begun.set()
        await asyncio.sleep(3600)

    def wait_plainly(event: Any, ctx: Any) -> None:
        begun.set()
        release.wait(60)

    handlers = {"async": wait, "plain": wait_plainly, "returned": lambda event, ctx: wait(event, None)}
    engine.on("tool_call", handlers[kind], id="waiting")
    task = asyncio.create_task(engine.fire(call_event()))
    await wait_until(begun.is_set, "the handler was called")
    task.cancel()
    began_at = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began_at < 1
    release.set()
    log = bench.home / "hooks" / "log"
    await wait_until(
        lambda: any('"cancelled"' in file.read_text() for file in log.rglob("*.jsonl")), "the cancelled run was logged"
    )


async def test_handlers_that_a_cancelled_host_left_are_not_stuck_before_their_time(bench: Bench):
    engine = bench.open()
    release = threading.Event()
    engine.on("turn_start", lambda event, ctx: release.wait(60))
    for _ in range(20):
        task = asyncio.create_task(engine.fire(step_event()))
        await asyncio.sleep(0.002)
        task.cancel()
    assert engine.handling.runner.stuck_count == 0
    engine.on("tool_call", lambda event, ctx: None)
    assert (await engine.fire(call_event())).is_allowed
    release.set()
