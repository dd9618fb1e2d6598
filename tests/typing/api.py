"""The public surface as a host author uses it; checked by mypy, never run."""

from __future__ import annotations

from typing import Any, Literal, assert_type

from hookline import (
    Allow,
    BeforeToolCall,
    Block,
    Closure,
    Decision,
    Engine,
    Event,
    Hook,
    HookMatcher,
    HookName,
    HookPayload,
    HostFacts,
    Meant,
    Problem,
    PromptRunner,
    Reloaded,
    Run,
    Session,
    Task,
    Tool,
    ToolResult,
    Workflow,
    wrap_tool,
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
        assert_type((await engine.areload()).added, tuple[HookName, ...])


def sync_host(engine: Engine, event: Event) -> None:
    assert_type(engine.fire_sync(event), Decision)
    assert_type(engine.reload(), Reloaded)
    with engine.watch(print) as watch:
        assert_type(watch.is_running, bool)
    engine.close(grace_s=1)


class Model:
    """A prompt runner as hosts write one."""

    async def run(self, task: Task) -> str:
        return task.message


async def review(task: Task) -> str:
    return task.title


def count_steps(task: Task) -> str:
    return str(len(task.steps))


def prompting_host(event: Event) -> None:
    prompts: PromptRunner = Model()
    with Engine.open(".", prompts=prompts, vix_hooks="hooks") as engine:
        assert_type(engine.workflows, dict[str, Workflow])
        engine.workflows["review"] = review
        engine.workflows["count"] = count_steps
        assert_type(engine.match(event), Meant)
        assert_type(engine.reload().closures, tuple[Closure, ...])


async def search(query: str) -> list[str]:
    return [query]


def tell_facts() -> HostFacts:
    return HostFacts(model="m", turn_count=1)


async def agent(engine: Engine) -> None:
    async with Session(engine, tell_facts=tell_facts) as session, session.turn("go") as turn:
        assert_type(turn.prompt, str)
        assert_type(await turn.filter_messages([]), list[Any])
        assert_type(await turn.call_tool(Tool(name="bash"), lambda tool: "ok"), ToolResult)
        assert_type(await wrap_tool(search, turn)(query="a"), list[str])
        async with turn.compaction("auto") as compaction:
            assert_type(compaction.context, tuple[str, ...])


class Guard:
    """An object as hosts write one."""

    id = "guard"
    event: Literal["pre_tool_use"] = "pre_tool_use"
    matcher = HookMatcher(tool_name="bash")
    on_error: Literal["block"] = "block"

    async def run(self, payload: HookPayload) -> Allow | Block:
        return Allow() if payload.turn_id else Block(reason="no turn")
