"""What handlers in this process cost, against a bare loop over the same functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import Result, absolute, compare, measure_async_pair
from hookline import BeforeModelCall, BeforeToolCall, Engine, Event, Tool
from hookline.config.layers import load_layers
from hookline.handlers.events import HandlerEvent, view_event
from hookline.modules import Context, ContextEvent, PlainContext, ToolCallEvent, ToolCallReturn

_COUNTS = (1, 10, 100)
_TOOL = Tool(name="bash", kind="shell", call_id="1", args={"command": "ls -la src"})
_EVENT = Event(BeforeToolCall(tool=_TOOL), cwd="/")
_MESSAGES = tuple({"role": "user", "content": f"message {number}", "custom_type": "note"} for number in range(200))

Fire = Callable[[], Awaitable[object]]


def guard(event: ToolCallEvent, ctx: PlainContext) -> ToolCallReturn | None:
    """Looks at what every guard looks at."""
    if event.tool_name != "bash":
        return None
    if "rm -rf" not in str(event.input.get("command", "")):
        return None
    return {"block": True, "reason": "blocked by policy"}


async def guard_async(event: ToolCallEvent, ctx: Context) -> ToolCallReturn | None:
    """The same."""
    if event.tool_name != "bash":
        return None
    if "rm -rf" not in str(event.input.get("command", "")):
        return None
    return {"block": True, "reason": "blocked by policy"}


def count_messages(event: ContextEvent, ctx: PlainContext) -> None:
    """Looks at the messages and changes nothing."""
    len(event.messages)


async def count_messages_async(event: ContextEvent, ctx: Context) -> None:
    """The same."""
    len(event.messages)


def measure_handlers(root: Path, *, rounds: int, calls: int) -> Iterator[Result]:
    """Events for no, one, ten and a hundred handlers."""
    with _open(root) as engine:
        times = measure_async_pair(partial(engine.fire, _EVENT), _do_nothing, rounds=rounds, calls=calls * 20)
        yield absolute("fire, 0 handlers", "an empty coroutine", times, goal_s=150e-9)
    goals = {("plain", 100): 1.5, ("async", 100): 1.3}
    for kind, function in (("plain", guard), ("async", guard_async)):
        for count in _COUNTS:
            with _open(root) as engine:
                _attach(engine, "tool_call", [_copy(function) for _ in range(count)])
                goal = goals.get((kind, count), float("inf"))
                yield _measure(engine, f"fire, {count} {kind} handlers", _EVENT, rounds, calls // count + 1, goal)
    with _open(root, keeps_log=True) as engine:
        _attach(engine, "tool_call", [_copy(guard_async) for _ in range(100)])
        yield _measure(engine, "fire, 100 async handlers, run log", _EVENT, rounds, calls // 100 + 1, float("inf"))
    messages = Event(BeforeModelCall(messages=_MESSAGES))
    for kind, function in (("plain", count_messages), ("async", count_messages_async)):
        with _open(root) as engine:
            _attach(engine, "context", [function])
            times = measure_async_pair(
                partial(engine.fire, messages), _do_nothing, rounds=rounds, calls=calls // 10 + 1
            )
            yield absolute(f"context, 200 messages, one {kind} handler", "an empty coroutine", times, goal_s=20e-6)


def _open(root: Path, *, keeps_log: bool = False) -> Engine:
    project = root / "handlers"
    project.mkdir(exist_ok=True)
    return Engine(load_layers(project, home=root / "home-handlers", trust="none"), keeps_log=keeps_log)


def _attach(engine: Engine, event: Any, functions: list[Any]) -> None:
    for function in functions:
        engine.on(event, function)


def _copy(function: Any) -> Any:
    """Another function with the same code, as each author's guard is."""
    return type(function)(function.__code__, function.__globals__, function.__name__)


def _measure(engine: Engine, name: str, event: Event, rounds: int, calls: int, goal: float) -> Result:
    functions = [hook.action.function for hook in engine.hooks]
    is_async = engine.hooks[0].action.is_async
    view = view_event(event)
    loop = (lambda: _loop_async(functions, view)) if is_async else (lambda: _loop_plain(functions, view))
    times = measure_async_pair(partial(engine.fire, event), loop, rounds=rounds, calls=calls)
    return compare(name, "a bare loop over the functions", times, goal=goal)


async def _loop_plain(functions: list[Any], view: HandlerEvent) -> None:
    for function in functions:
        function(view, None)


async def _loop_async(functions: list[Any], view: HandlerEvent) -> None:
    for function in functions:
        await function(view, None)


async def _do_nothing() -> None:
    return None
