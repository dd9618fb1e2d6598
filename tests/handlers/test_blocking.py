"""The user interface of plain handlers, which wait on a thread of their own."""

from __future__ import annotations

import asyncio
import contextvars
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from dialogs import ManualUI
from hookline.handlers.blocking import BlockingUI, DialogCancelledError
from hookline.handlers.clock import HandlerClock, running_clock
from hookline.handlers.surface import HandlerUI
from hookline.handlers.ui import HeadlessUI, UIError
from waiting import wait_until

CALLS: list[tuple[str, Callable[[Any], Any], Any, Any]] = [
    ("select", lambda ui: ui.select("q", ["a", "b"]), "b", None),
    ("confirm", lambda ui: ui.confirm("q", "sure?"), True, False),
    ("input", lambda ui: ui.input("q", "name"), "text", None),
    ("editor", lambda ui: ui.editor("q", "prefill"), "a\nb", None),
]
every_call = pytest.mark.parametrize(("name", "call", "answer", "headless"), CALLS, ids=[row[0] for row in CALLS])


def make(ui: Any) -> BlockingUI:
    return BlockingUI(HandlerUI(ui), asyncio.get_running_loop())


@every_call
async def test_a_plain_handler_gets_the_answer_itself(name: str, call: Any, answer: Any, headless: Any):
    manual = ManualUI()
    asked = asyncio.ensure_future(asyncio.to_thread(call, make(manual)))
    await manual.wait_for("q")
    manual.answer("q", answer)
    assert await asked == answer


@every_call
async def test_a_plain_handler_without_a_user_gets_the_headless_answer(
    name: str, call: Any, answer: Any, headless: Any
):
    """Case 39: the headless UI values."""
    assert await asyncio.to_thread(call, make(HeadlessUI())) is headless


async def test_a_plain_handler_shows_things_on_the_loop_of_its_event():
    threads: list[int] = []

    class Noting(ManualUI):
        def notify(self, message: str, kind: str = "info") -> None:
            threads.append(threading.get_ident())
            super().notify(message, kind)

    def handle(ui: BlockingUI) -> str:
        ui.notify("hello", "warning")
        ui.set_status("a", "x")
        ui.set_editor_text("draft")
        return ui.get_editor_text()

    manual = Noting()
    ui = make(manual)
    assert ui.is_interactive is True
    assert ui.theme.paint("error", "x") == "x"
    assert await asyncio.to_thread(handle, ui) == "draft"
    assert manual.told == [("notify", "hello", "warning"), ("status", "a", "x")]
    assert threads == [threading.get_ident()]


async def test_a_plain_handler_may_make_a_dialog_of_its_own():
    async def factory() -> str:
        return "made"

    assert await asyncio.to_thread(make(ManualUI()).custom, factory) == "made"


async def test_a_blocked_dialog_ends_when_its_event_is_over():
    """F: dialogs are cancelled with the event."""
    manual = ManualUI()
    ui = make(manual)
    asked = asyncio.ensure_future(asyncio.to_thread(ui.confirm, "q", ""))
    await manual.wait_for("q")
    ui.cancel()
    with pytest.raises(DialogCancelledError, match=re.escape("<dialog confirm('q')> was cancelled: its event is over")):
        await asked
    await wait_until(lambda: manual.open == [], "the dialog was closed")


async def test_no_dialog_opens_when_the_event_is_over():
    manual = ManualUI()
    ui = make(manual)
    ui.cancel()
    with pytest.raises(DialogCancelledError, match="was not opened: its event is over"):
        await asyncio.to_thread(ui.confirm, "q", "")
    assert manual.history == []


async def test_the_dialogs_of_plain_and_async_handlers_queue():
    """F: concurrent dialogs queue, each gets its own answer."""
    manual = ManualUI()
    surface = HandlerUI(manual)
    first = asyncio.create_task(surface.input("a"))
    await manual.wait_for("a")
    second = asyncio.ensure_future(asyncio.to_thread(BlockingUI(surface, asyncio.get_running_loop()).input, "b"))
    manual.answer("a", "1")
    await manual.wait_for("b")
    manual.answer("b", "2")
    assert (await first, await second) == ("1", "2")


async def test_a_dialog_on_the_loop_s_own_thread_is_refused():
    with pytest.raises(RuntimeError, match="would wait for the event loop it is called on; make the handler async"):
        make(HeadlessUI()).confirm("q", "")


def test_a_dialog_on_a_loop_that_has_ended_is_refused():
    loop = asyncio.new_event_loop()
    loop.close()
    with pytest.raises(UIError, match="the event loop of its event has ended"):
        BlockingUI(HandlerUI(HeadlessUI()), loop).confirm("q", "")


def test_a_dialog_does_not_outlive_its_loop():
    manual = ManualUI()
    caught: list[BaseException] = []

    def handle(ui: BlockingUI) -> None:
        try:
            ui.input("q")
        except UIError as error:
            caught.append(error)

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=handle, args=(BlockingUI(HandlerUI(manual), loop),))

    async def open_dialog() -> None:
        thread.start()
        await manual.wait_for("q")

    loop.run_until_complete(open_dialog())
    thread.join()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert [str(error) for error in caught] == [
        "nobody answers <dialog input('q')>: the event loop of its event has ended"
    ]


async def test_errors_of_the_interface_reach_a_plain_handler():
    manual = ManualUI()
    asked = asyncio.ensure_future(asyncio.to_thread(make(manual).confirm, "q", ""))
    await manual.wait_for("q")
    manual.answer("q", "yes")
    with pytest.raises(UIError, match=r"answered confirm\('q'\) with 'yes', which is not True or False"):
        await asked


async def test_the_time_of_a_plain_handler_s_dialog_is_the_user_s():
    """F: time spent waiting for the user in a dialog does not count."""
    clock = HandlerClock()
    context = contextvars.copy_context()
    context.run(running_clock.set, clock)
    manual = ManualUI()
    ui = make(manual)
    asked = asyncio.ensure_future(asyncio.to_thread(context.run, ui.input, "q"))
    await manual.wait_for("q")
    assert clock.is_paused
    manual.answer("q", "x")
    await asked
    assert not clock.is_paused
