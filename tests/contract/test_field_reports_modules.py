"""Bugs that users of other hook engines reported, of the kinds that live in code that runs in the agent's process."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import time
from typing import Any

import pytest

from hookline import Agent, Event, SessionStart
from hookline.cli.main import run
from hookline.outcome import Failure
from hosts import run_host
from modules import EVIL, call_event, open_modules, step_event, write_module
from support import Bench, find_run

pytestmark = pytest.mark.anyio

# B73

STUCK = """
    import time
    def hook(api):
        api.on("tool_call", lambda event, ctx: time.sleep(3600), id="stuck", timeout_s=0.3, on_error="{on_error}")
        api.on("tool_call", lambda event, ctx: open("fine", "a").write("x") and None, id="fine")
"""

STUCK_HOST = """
async def main():
    engine = open_engine()
    began = time.monotonic()
    first = await engine.fire(tool())
    say("first", first.verdict, round(time.monotonic() - began, 2), describe(first.runs))
    say("reason", first.reason)
    began = time.monotonic()
    await engine.fire(Event(SessionStart(), session_id="s1"))
    say("next", round(time.monotonic() - began, 2))
    say("stuck", engine.handling.runner.stuck_count)
asyncio.run(main())
say("end", time.monotonic())
"""


def test_a_stuck_plain_handler_costs_its_limit_and_nothing_more(bench: Bench):
    """B73: a closed gate, the other handler ran, the next dispatch is not slowed, the interpreter exits at once."""
    write_module(bench, "m.py", STUCK.format(on_error="block"))
    write_module(bench, "n.py", 'def hook(api): api.on("session_start", lambda event, ctx: None)')
    said, _ = run_host(bench, STUCK_HOST)
    lines = dict(line.split(" ", 1) for line in said.splitlines())
    verdict, took_s, runs = lines["first"].split(" ", 2)
    assert verdict == "block"
    assert float(took_s) < 2
    assert runs.startswith("stuck=timeout")
    assert "stuck" in lines["reason"]
    assert "1, at most 16" in lines["reason"]
    assert float(lines["next"]) < 0.5
    assert lines["stuck"] == "1"
    assert time.monotonic() - float(lines["end"]) < 2


def test_the_handlers_behind_a_stuck_one_run_where_it_may_be_passed(bench: Bench):
    """B73: `fine` ran."""
    write_module(bench, "m.py", STUCK.format(on_error="warn"))
    said, _ = run_host(bench, STUCK_HOST)
    assert "stuck=timeout fine=ok" in said
    assert bench.read("fine") == "x"


async def test_the_number_of_stuck_handlers_is_bounded(bench: Bench):
    """B73: at 16 no further one is started, and its gate stays closed; async ones still run."""
    engine = bench.open()
    release = asyncio.Event()
    loop = asyncio.get_running_loop()
    started: list[int] = []

    def wait(event: Any, ctx: Any) -> None:
        started.append(1)
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()

    async def fine(event: Any, ctx: Any) -> None:
        started.append(2)

    engine.on("turn_start", wait, timeout_s=0.05)
    for _ in range(4):
        await asyncio.gather(*(engine.fire(step_event()) for _ in range(6)))
    assert engine.handling.runner.stuck_count <= 18
    assert len(started) == engine.handling.runner.stuck_count
    engine.on("tool_call", fine)
    engine.on("tool_call", lambda event, ctx: None, id="plain")
    decision = await engine.fire(call_event())
    failure = find_run(decision, "plain").outcome
    assert decision.is_blocked
    assert isinstance(failure, Failure)
    assert "16 plain handlers" in failure.message
    assert started[-1] == 2
    release.set()
    while engine.handling.runner.stuck_count:
        await asyncio.sleep(0.01)
    assert (await engine.fire(call_event())).is_allowed


# B74: the event loop


async def test_the_loop_goes_on_while_a_plain_handler_sleeps(bench: Bench):
    """B74: the largest gap of a heartbeat is under 100 ms, the outcome is a timeout."""
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: time.sleep(0.5), timeout_s=0.3)
    gaps: list[float] = []

    async def beat() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - last)
            last = time.monotonic()

    beating = asyncio.create_task(beat())
    decision = await engine.fire(call_event())
    beating.cancel()
    assert decision.is_blocked
    assert [run.status for run in decision.runs] == ["timeout"]
    assert max(gaps) < 0.1


# B74: what a plain callable may be


async def _deny(event: Any, ctx: Any = None) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"block": True, "reason": "async"}


class GivesCoroutine:
    def __call__(self, event: Any, ctx: Any) -> Any:
        return _deny(event, ctx)


class AsyncCallable:
    async def __call__(self, event: Any, ctx: Any) -> Any:
        return await _deny(event, ctx)


@functools.wraps(_deny)
def _wrapped(*args: Any) -> Any:
    return _deny(*args)


@pytest.mark.parametrize(
    "handler",
    [
        lambda event, ctx: _deny(event),
        lambda event: _deny(event, None),
        functools.partial(_deny),
        functools.partial(lambda extra, event, ctx: _deny(event), 1),
        GivesCoroutine(),
        AsyncCallable(),
        AsyncCallable().__call__,
        _wrapped,
    ],
)
async def test_a_callable_that_gives_something_to_await_is_awaited(bench: Bench, handler: Any):
    """B74: `lam` is awaited and its deny counts."""
    engine = bench.open()
    engine.on("tool_call", handler)
    decision = await engine.fire(call_event())
    assert decision.is_blocked
    assert decision.reason == "async"


async def test_what_is_awaited_for_a_plain_callable_has_the_same_limit(bench: Bench):
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: asyncio.sleep(3600), timeout_s=0.05)
    decision = await engine.fire(call_event())
    assert "no answer within 0.05 s" in (decision.reason or "")


# B74, context variables


async def test_context_variables_of_the_host_are_seen_by_all_handlers(bench: Bench):
    """B74: a variable that the host has set is readable in both, however the event is fired."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    engine = bench.open()
    seen: list[str] = []

    async def look(event: Any, ctx: Any) -> None:
        seen.append(variable.get())

    engine.on("tool_call", lambda event, ctx: seen.append(variable.get()))
    engine.on("tool_call", look)
    variable.set("host")
    await engine.fire(call_event())
    await asyncio.to_thread(engine.fire_sync, call_event())
    assert seen == ["host"] * 4


async def test_a_variable_that_a_handler_sets_stays_with_it(bench: Bench):
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="host")
    engine = bench.open()

    async def change(event: Any, ctx: Any) -> None:
        variable.set("handler")

    engine.on("tool_call", change)
    engine.on("tool_call", lambda event, ctx: variable.set("handler") and None)
    await engine.fire(call_event())
    assert variable.get() == "host"


# B45


@pytest.mark.parametrize("named_in_file", [True, False])
def test_a_module_of_a_project_that_is_not_trusted_is_never_imported(bench: Bench, named_in_file: bool):
    """B45: not on start, list, check, explain, nor on dispatch; it is reported as untrusted."""
    trace = bench.root / "pwned"
    write_module(
        bench, "evil.py", EVIL.format(trace=str(trace)), layer="project", folder="x" if named_in_file else "pre"
    )
    if named_in_file:
        bench.write("modules: [x/evil.py]")
    for verb in (["list"], ["check"], ["explain", "session_start"], ["fire", "session_start"]):
        run([*verb, "--project", str(bench.project), "--home", str(bench.home)])
    engine = bench.open(trust="recorded")
    engine.fire_sync(Event(SessionStart()))
    assert not trace.exists()
    assert [problem.code for problem in engine.problems] == ["untrusted"]


def test_a_module_that_appears_later_is_not_trusted_either(bench: Bench):
    """B45: a config that did not exist at the start and appears later."""
    trace = bench.root / "pwned"
    assert bench.open(trust="recorded").problems == ()
    write_module(bench, "evil.py", EVIL.format(trace=str(trace)), layer="project")
    engine = bench.open(trust="recorded")
    assert not trace.exists()
    assert [problem.code for problem in engine.problems] == ["untrusted"]


# B78

REWRITE = """
    import asyncio
    def hook(api):
        @api.on("tool_call")
        async def rewrite(event, ctx):
            seen = event.input["command"]
            await asyncio.sleep({sleep})
            return {{"input": {{"command": seen + {name!r}}}}}
"""


@pytest.mark.parametrize(("first_s", "second_s"), [(0.02, 0), (0, 0.02)])
async def test_the_order_of_declaration_decides_and_not_the_speed(bench: Bench, first_s: float, second_s: float):
    """B78: always the same command; a later handler sees the rewritten input."""
    texts = [REWRITE.format(sleep=first_s, name="A"), REWRITE.format(sleep=second_s, name="B")]
    engine = open_modules(bench, *texts)
    for _ in range(5):
        decision = await engine.fire(call_event(command=""))
        assert decision.edits["args"] == {"command": "AB"}


# B29


@pytest.mark.parametrize(
    "agent", [Agent(), Agent(id="sub-1", parent_id="main", depth=1), Agent(id="s-2", parent_id="sub-1", depth=2)]
)
async def test_a_guard_in_this_process_decides_alike_for_every_agent(bench: Bench, agent: Agent):
    """B29: main, a sub-agent and a nested one."""
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: {"block": True, "reason": "no"})
    assert (await engine.fire(bench.event(agent=agent))).reason == "no"


async def test_a_switch_in_the_environment_turns_a_guard_off_only_visibly(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    """B29: too deep a chain of hooks stops handlers too, a guard closed, others with a note."""
    monkeypatch.setenv("HOOKLINE_HOOK_DEPTH", "9")
    engine = bench.open()
    engine.on("tool_call", lambda event, ctx: None)
    engine.on("turn_start", lambda event, ctx: None)
    assert (await engine.fire(call_event())).is_blocked
    decision = await engine.fire(step_event())
    assert [run.status for run in decision.runs] == ["skipped"]
    assert decision.warnings
