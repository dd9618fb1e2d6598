"""The public surface as a host author uses it; checked by mypy, never run."""

from __future__ import annotations

from typing import Literal, assert_type

from hookline import (
    Allow,
    BeforeToolCall,
    Block,
    Decision,
    Engine,
    Event,
    Hook,
    HookMatcher,
    HookPayload,
    Problem,
    Run,
    ShellHook,
    Tool,
)


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


def sync_host(engine: Engine, event: Event) -> None:
    assert_type(engine.fire_sync(event), Decision)
    engine.close(grace_s=1)


class Guard:
    """An object as hosts write one."""

    id = "guard"
    event: Literal["pre_tool_use"] = "pre_tool_use"
    matcher = HookMatcher(tool_name="bash")
    on_error: Literal["block"] = "block"

    async def run(self, payload: HookPayload) -> Allow | Block:
        return Allow() if payload.turn_id else Block(reason="no turn")


def attach(engine: Engine) -> None:
    remove = engine.attach(Guard())
    assert_type(remove(), None)
    engine.attach([Guard(), ShellHook("shell", "turn_end", "true")], timeout_s=1.5)
