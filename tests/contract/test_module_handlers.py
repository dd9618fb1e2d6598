"""What is better than in the reference, of handlers and their surroundings (facts F of sections 1, 3, 4, 6 and 7)."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from hookline import BeforeToolCall, Event, SessionEnd, Tool
from hookline.handlers.registration import HandlerError
from hookline.recording import RecordingUI
from modules import call_event, context_event, hear_errors, load_specs, open_modules, step_event
from support import Bench
from waiting import wait_until

pytestmark = pytest.mark.anyio

# Events are the handler's own


def deep_args() -> dict[str, Any]:
    return {"command": "ls", "n": 1, "deep": {"list": [1, {"a": ["b"]}], "tuple": (1, [2])}}


def ruin(event: Any) -> None:
    """Change everything that can be changed, also what `==` does not see."""
    event.input["command"] = "rm"
    event.input["n"] = True
    event.input["deep"]["list"][1]["a"].append("ruined")
    event.input["deep"]["tuple"][1].clear()
    event.input["added"] = object()


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_a_handler_does_to_its_event_reaches_nobody(bench: Bench, is_async: bool):
    """Section 5, F: `event.input` is the handler's own copy."""
    engine = bench.open()
    seen: list[Any] = []

    async def ruin_async(event: Any, ctx: Any) -> None:
        ruin(event)

    async def look_async(event: Any, ctx: Any) -> None:
        seen.append(event.input)

    engine.on("tool_call", ruin_async if is_async else lambda event, ctx: ruin(event))
    engine.on("tool_call", look_async if is_async else lambda event, ctx: seen.append(event.input))
    args = deep_args()
    event = Event(BeforeToolCall(tool=Tool(name="bash", args=args)))
    decision = await engine.fire(event)
    assert args == deep_args()
    assert decision.event is not None
    assert decision.event.fields is event.fields
    assert repr(seen) == repr([deep_args()])


async def test_a_change_that_equality_does_not_see_reaches_nobody(bench: Bench):
    engine = bench.open()
    seen: list[Any] = []
    engine.on("tool_call", lambda event, ctx: event.input.update(n=1.0))
    engine.on("tool_call", lambda event, ctx: seen.append(event.input["n"]))
    await engine.fire(call_event(n=1))
    assert [type(value) for value in seen] == [int]


@pytest.mark.parametrize("name", ["type", "tool_name", "input", "invented"])
async def test_the_fields_of_an_event_cannot_be_set(bench: Bench, name: str):
    engine = bench.open()
    seen: list[str] = []
    engine.on("turn_start", lambda event, ctx: seen.append(event.type))
    engine.on("tool_call", lambda event, ctx: setattr(event, name, "changed"), on_error="warn")
    engine.on("tool_call", lambda event, ctx: seen.append(event.type))
    errors = hear_errors(engine)
    await engine.fire(call_event())
    assert seen == ["tool_call"]
    assert name in errors[0].error


async def test_a_change_after_the_handler_has_returned_reaches_nobody(bench: Bench):
    """Kept by a task that a handler leaves behind, an event is still the handler's own."""
    engine = bench.open()
    kept: list[Any] = []
    seen: list[Any] = []

    async def keep(event: Any, ctx: Any) -> None:
        kept.append(event.input)

    async def look(event: Any, ctx: Any) -> None:
        mine = event.input
        kept[0]["command"] = "rm"
        seen.append(mine["command"])

    engine.on("tool_call", keep)
    engine.on("tool_call", look)
    await engine.fire(call_event(command="ls"))
    assert seen == ["ls"]


async def test_a_result_that_its_handler_changes_later_stays_as_it_was_returned(bench: Bench):
    engine = bench.open()
    messages: list[Any] = [{"content": "mine"}]
    engine.on("context", lambda event, ctx: {"messages": messages})
    decision = await engine.fire(context_event(0))
    messages[0]["content"] = "changed"
    messages.clear()
    assert decision.edits["messages"] == [{"content": "mine"}]


# Registration (section 1)


async def test_the_function_that_on_returns_takes_the_handler_off(bench: Bench):
    """Section 1, F."""
    engine = bench.open()
    remove = engine.on("tool_call", lambda event, ctx: {"block": True})
    assert (await engine.fire(call_event())).is_blocked
    remove()
    remove()
    assert not engine.listens("before_tool_call")


@pytest.mark.parametrize(
    ("event", "handler", "text"),
    [
        ("tool_cal", print, "did you mean 'tool_call'"),
        ("PreToolUse", print, "did you mean 'tool_call'"),
        ("tool_call", 42, "must be a function"),
        ("tool_call", lambda: None, "must take the event"),
        ("turn_end", lambda event, ctx: (yield), "generator"),
    ],
)
async def test_what_cannot_be_a_handler_is_refused_at_once(bench: Bench, event: Any, handler: Any, text: str):
    """Section 1, F: unknown event names and non-callables."""
    with pytest.raises(ValueError if text.startswith("did you mean") else HandlerError, match=text):
        bench.open().on(event, handler)


@pytest.mark.parametrize(
    "option",
    [
        {"tool_name": ["bash"]},
        {"tool_kind": ""},
        {"profile": 5},
        {"id": 5},
        {"timeout_s": 0},
        {"timeout_s": "5"},
        {"timeout_s": float("nan")},
        {"mode": "later"},
        {"on_error": "pray"},
    ],
)
async def test_an_option_that_means_nothing_is_refused_at_once(bench: Bench, option: dict[str, Any]):
    engine = bench.open()
    with pytest.raises(HandlerError, match=next(iter(option))):
        engine.on("tool_call", print, **option)
    assert (await engine.fire(call_event())).is_allowed


async def test_a_handler_for_a_tool_on_an_event_without_one_is_refused(bench: Bench):
    with pytest.raises(HandlerError, match="about no tool"):
        bench.open().on("turn_start", print, tool_name="bash")  # type: ignore[call-overload]


async def test_a_handler_added_or_removed_meanwhile_counts_from_the_next_event_on(bench: Bench):
    """Section 1, F: a dispatch runs over a snapshot."""
    engine = bench.open()
    called: list[str] = []

    def change(event: Any, ctx: Any) -> None:
        called.append("change")
        remove()
        engine.on("tool_call", lambda event, ctx: called.append("added"), id="added")

    engine.on("tool_call", change)
    remove = engine.on("tool_call", lambda event, ctx: called.append("removed"))
    await engine.fire(call_event())
    assert called == ["change", "removed"]
    called.clear()
    await engine.fire(call_event())
    assert called == ["change", "added"]


async def test_a_handler_that_a_module_adds_in_a_handler_counts_and_goes_with_it(bench: Bench):
    engine = open_modules(
        bench,
        """
        def hook(api):
            def start(event, ctx):
                api.on("tool_call", lambda event, ctx: {"block": True, "reason": "late"})
            api.on("turn_start", start)
        """,
    )
    assert (await engine.fire(call_event())).is_allowed
    await engine.fire(step_event())
    assert (await engine.fire(call_event())).reason == "late"
    load_specs(engine, ())
    assert not engine.listens("before_tool_call")


# Limits and dialogs (section 6)


async def test_the_limits_are_those_of_the_settings_and_of_the_end_of_a_session(bench: Bench):
    """Section 6, F: settings, 30 s by default; session_shutdown 2 s."""
    engine = bench.open()
    engine.on("tool_call", print)
    engine.on("session_shutdown", print)
    assert [hook.execution.timeout_s for hook in engine.hooks] == [30, 2]


async def test_the_end_of_a_session_waits_no_longer_than_its_limit(bench: Bench):
    engine = bench.open()
    engine.on("session_shutdown", lambda event, ctx: threading.Event().wait(60), timeout_s=0.05)
    decision = await engine.fire(Event(SessionEnd()))
    assert [run.status for run in decision.runs] == ["timeout"]


class SlowUI(RecordingUI):
    """A user who thinks for a while."""

    def __init__(self, thinks_s: float) -> None:
        super().__init__(confirm=[True] * 10)
        self.thinks_s = thinks_s
        self.cancelled = 0

    async def confirm(self, title: str, message: str, *, timeout_s: float | None = None) -> bool:
        try:
            await asyncio.sleep(self.thinks_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return True


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_time_in_a_dialog_does_not_count(bench: Bench, is_async: bool):
    """Section 6, F."""
    engine = bench.open(ui=SlowUI(0.2))

    async def ask(event: Any, ctx: Any) -> Any:
        return {"block": not await ctx.ui.confirm("Sure?", "")}

    handler = ask if is_async else lambda event, ctx: {"block": not ctx.ui.confirm("Sure?", "")}
    engine.on("tool_call", handler, timeout_s=0.1)
    assert (await engine.fire(call_event())).is_allowed


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_time_after_a_dialog_counts(bench: Bench, is_async: bool):
    engine = bench.open(ui=SlowUI(0.1))

    async def ask(event: Any, ctx: Any) -> None:
        await ctx.ui.confirm("Sure?", "")
        await asyncio.sleep(60)

    def ask_plainly(event: Any, ctx: Any) -> None:
        ctx.ui.confirm("Sure?", "")
        time.sleep(0.3)

    engine.on("tool_call", ask if is_async else ask_plainly, timeout_s=0.1)
    decision = await engine.fire(call_event())
    assert [run.status for run in decision.runs] == ["timeout"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_dialog_is_cancelled_with_its_event(bench: Bench, is_async: bool):
    """Section 7."""
    ui = SlowUI(60)
    engine = bench.open(ui=ui)
    asked = threading.Event()

    async def ask(event: Any, ctx: Any) -> None:
        asked.set()
        await ctx.ui.confirm("Sure?", "")

    def ask_plainly(event: Any, ctx: Any) -> None:
        asked.set()
        ctx.ui.confirm("Sure?", "")

    engine.on("tool_call", ask if is_async else ask_plainly)
    task = asyncio.create_task(engine.fire(call_event()))
    await wait_until(asked.is_set, "the handler asked")
    await asyncio.sleep(0.02)
    task.cancel()
    await wait_until(lambda: ui.cancelled == 1, "the dialog was cancelled")
    await wait_until(lambda: engine.handling.runner.stuck_count == 0, "the handler ended")


async def test_a_dialog_that_a_handler_leaves_open_lends_no_time_and_ends_with_the_event(bench: Bench):
    ui = SlowUI(60)
    engine = bench.open(ui=ui)
    tasks: list[asyncio.Task[Any]] = []

    async def leave(event: Any, ctx: Any) -> None:
        async def ask() -> None:
            await ctx.ui.confirm("Sure?", "")

        tasks.append(asyncio.create_task(ask()))
        await asyncio.sleep(0.01)

    async def stuck(event: Any, ctx: Any) -> None:
        await asyncio.sleep(60)

    engine.on("tool_call", leave)
    engine.on("tool_call", stuck, timeout_s=0.05, id="stuck")
    async with asyncio.timeout(5):
        decision = await engine.fire(call_event())
    assert [run.status for run in decision.runs] == ["ok", "timeout"]
    await wait_until(tasks[0].cancelled, "the dialog ended with the event")
