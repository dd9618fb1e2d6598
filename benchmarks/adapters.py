"""What an adapter costs an agent that has no hooks, beside the same agent of the same framework without it."""

from __future__ import annotations

import asyncio
import gc
import importlib
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Result, compare
from hookline import Engine, Tool
from hookline.adapters.table import HOSTS, Host
from hookline.demo.frameworks.job import Job, RunAgent

_CALLS = 20
_SERVER = "benchmarks.server"
# Frameworks that do their work in a process of their own.
_ELSEWHERE = ("claude-agent-sdk",)


def echo(text: str) -> str:
    """Say the same."""
    return text


def measure_adapters(root: Path, *, rounds: int) -> Iterator[Result]:
    """A tool call in each framework that is installed, the call of the scripted model included."""
    project = root / "project"
    project.mkdir(parents=True)
    with Engine.open(project, home=root / "home", trust="all") as engine:
        for host in HOSTS:
            try:
                frameworks = "hookline.demo.frameworks"
                module = importlib.import_module(f"{frameworks}.{host.module_name}" if host.runs_agents else _SERVER)
            except ImportError:
                continue
            hooked = module.build(_make_job(hooks={"engine": engine}))
            yield _compare(host, hooked, module.build(_make_job()), "without the adapter", rounds=rounds)
            stand_in = _STAND_INS.get(host.name)
            if stand_in is not None:
                idle = module.build(_make_job(stand_in=stand_in()))
                yield _compare(host, hooked, idle, "with one that does nothing", rounds=rounds)


def _make_job(**options: Any) -> Job:
    script = [Tool(name="echo", call_id=str(number), args={"text": "hello"}) for number in range(_CALLS)]
    return Job(prompt="go", tools=[echo], script=script, **options)


def _compare(host: Host, hooked: RunAgent, floor: RunAgent, floor_name: str, *, rounds: int) -> Result:
    clock = time.perf_counter if host.name in _ELSEWHERE else time.process_time
    times = asyncio.run(_time_pair(hooked, floor, clock, rounds=rounds))
    return compare(f"{host.title}, a tool call without hooks", floor_name, times, goal=1.02)


async def _time_pair(
    first: RunAgent, second: RunAgent, clock: Callable[[], float], *, rounds: int
) -> tuple[float, float]:
    """
    The times of one tool call in two agents, as far apart as the median round has them.

    They take turns, and each round is held against itself alone, since the machine changes its speed meanwhile. Which
    of them begins changes too.
    """
    ratios, floors = [], []
    for number in range(rounds):
        times = {}
        for agent in (first, second) if number % 2 else (second, first):
            gc.collect()
            start = clock()
            await agent()
            times[agent] = (clock() - start) / _CALLS
        ratios.append(times[first] / times[second])
        floors.append(times[second])
    floor = statistics.median(floors)
    return floor * statistics.median(ratios), floor


def _make_idle_capability() -> Any:
    from pydantic_ai.capabilities import AbstractCapability  # noqa: PLC0415 - only where it is installed
    from pydantic_ai.toolsets import WrapperToolset  # noqa: PLC0415

    class IdleCapability(AbstractCapability[Any]):
        async def for_run(self, ctx: Any) -> Any:
            return IdleCapability()

        async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
            return await handler()

        async def before_node_run(self, ctx: Any, *, node: Any) -> Any:
            return node

        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            return request_context

        def get_wrapper_toolset(self, toolset: Any) -> Any:
            return WrapperToolset(toolset)

    return IdleCapability()


def _make_idle_middleware() -> Any:
    from langchain.agents.middleware import AgentMiddleware  # noqa: PLC0415 - only where it is installed

    class IdleMiddleware(AgentMiddleware[Any, Any]):
        async def abefore_agent(self, state: Any, runtime: Any) -> None: ...

        async def aafter_agent(self, state: Any, runtime: Any) -> None: ...

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

    return IdleMiddleware()


def _make_idle_server_middleware() -> Any:
    async def pass_by(ctx: Any, call_next: Any) -> Any:
        return await call_next(ctx)

    return pass_by


def _make_idle_strands_plugin() -> Any:
    from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent  # noqa: PLC0415 - only where it is installed
    from strands.middleware import ExecuteToolStage, InvokeModelStage  # noqa: PLC0415
    from strands.plugins import Plugin  # noqa: PLC0415

    class IdlePlugin(Plugin):
        name = "idle"

        def init_agent(self, agent: Any) -> None:
            agent.add_hook(self.hear, BeforeInvocationEvent)
            agent.add_hook(self.hear, AfterInvocationEvent)
            agent.add_middleware(InvokeModelStage.Input, lambda context: context)
            agent.add_middleware(ExecuteToolStage, self.pass_by)

        async def hear(self, event: Any) -> None: ...

        async def pass_by(self, context: Any, call: Any) -> Any:
            async for event in call(context):
                yield event

    return IdlePlugin()


def _make_idle_adk_plugin() -> Any:
    from google.adk.plugins.base_plugin import BasePlugin  # noqa: PLC0415 - only where it is installed

    return BasePlugin(name="idle")


# What the framework itself takes for an adapter, whatever that does.
_STAND_INS = {
    "pydantic-ai": _make_idle_capability,
    "langchain": _make_idle_middleware,
    "mcp": _make_idle_server_middleware,
    "strands": _make_idle_strands_plugin,
    "google-adk": _make_idle_adk_plugin,
}
