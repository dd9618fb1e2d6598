"""The public surface as a host author uses it; checked by mypy, never run."""

from __future__ import annotations

from typing import assert_type

from hookline import BeforeToolCall, Decision, Engine, Event, Hook, HookName, Problem, Reloaded, Run, Tool


async def host() -> None:
    async with Engine.open(".", trust="all", dialects=["native", "chrys"]) as engine:
        assert_type(engine.hooks, tuple[Hook, ...])
        assert_type(engine.problems, tuple[Problem, ...])
        if not engine.listens("before_tool_call"):
            return
        event = Event(BeforeToolCall(tool=Tool(name="bash", args={"command": "ls"})), session_id="s1")
        decision = await engine.fire(event)
        assert_type(decision, Decision)
        assert_type(decision.is_allowed, bool)
        assert_type(await engine.drain_turn("s1"), tuple[Run, ...])
        assert_type(await engine.settle(decision), Decision)
        assert_type((await engine.areload()).added, tuple[HookName, ...])


def sync_host(engine: Engine, event: Event) -> None:
    assert_type(engine.fire_sync(event), Decision)
    assert_type(engine.reload(), Reloaded)
    with engine.watch(print) as watch:
        assert_type(watch.is_running, bool)
    engine.close(grace_s=1)
