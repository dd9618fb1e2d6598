"""The user interface as handlers see it: queue, limits, checked answers, errors."""

from __future__ import annotations

import asyncio
import gc
import re
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from dialogs import ManualUI
from hookline.handlers.clock import HandlerClock, running_clock
from hookline.handlers.surface import HandlerUI
from hookline.handlers.theme import PLAIN_THEME
from hookline.handlers.ui import HeadlessUI, UIError
from waiting import wait_until

DIALOGS: list[tuple[str, Callable[[HandlerUI, float | None], Any], Any, Any]] = [
    ("select", lambda ui, timeout: ui.select("q", ["a", "b"], timeout=timeout), "b", None),
    ("confirm", lambda ui, timeout: ui.confirm("q", "sure?", timeout=timeout), True, False),
    ("input", lambda ui, timeout: ui.input("q", "name", timeout=timeout), "text", None),
    ("editor", lambda ui, timeout: ui.editor("q", "prefill", timeout=timeout), "a\nb", None),
]
every_dialog = pytest.mark.parametrize(
    ("name", "open_", "answer", "headless"), DIALOGS, ids=[row[0] for row in DIALOGS]
)


# Headless


@every_dialog
async def test_a_dialog_without_a_user_is_dismissed(name: str, open_: Any, answer: Any, headless: Any):
    """Case 39: the headless UI values."""
    assert await open_(HandlerUI(HeadlessUI()), None) is headless


async def test_without_a_user_a_dialog_of_one_s_own_is_not_made():
    """Case 39: the headless UI values."""
    made: list[int] = []
    assert await HandlerUI(HeadlessUI()).custom(lambda: made.append(1)) is None
    assert made == []


def test_without_a_user_nothing_is_shown():
    """Case 39: notify, set_status and set_editor_text do nothing, get_editor_text is empty, has_ui is False."""
    ui = HandlerUI(HeadlessUI())
    ui.notify("hello", "error")
    ui.set_status("a", "x")
    ui.set_editor_text("draft")
    assert ui.get_editor_text() == ""
    assert ui.is_interactive is False
    assert ui.theme.paint("error", "text") == "text"


async def test_a_guard_that_asks_nobody_blocks():
    """Case 39: the example that asks before `rm -rf` blocks with its "no UI" reason."""

    async def guard(ui: HandlerUI) -> dict[str, Any] | None:
        if not ui.is_interactive:
            return {"block": True, "reason": "rm -rf blocked (no UI)"}
        return None if await ui.confirm("Dangerous command", "Allow?") else {"block": True, "reason": "user denied"}

    assert await guard(HandlerUI(HeadlessUI())) == {"block": True, "reason": "rm -rf blocked (no UI)"}


# Answers


@every_dialog
async def test_a_dialog_gives_the_user_s_answer(name: str, open_: Any, answer: Any, headless: Any):
    manual = ManualUI()
    asked = asyncio.ensure_future(open_(HandlerUI(manual), None))
    await manual.wait_for("q")
    manual.answer("q", answer)
    assert await asked == answer


@every_dialog
async def test_an_answer_of_the_wrong_type_is_an_error(name: str, open_: Any, answer: Any, headless: Any):
    manual = ManualUI()
    asked = asyncio.ensure_future(open_(HandlerUI(manual), None))
    await manual.wait_for("q")
    manual.answer("q", 1)
    with pytest.raises(UIError, match=re.escape(f"the UI answered {name}('q') with 1, which is not ")):
        await asked


async def test_a_choice_that_is_no_option_is_an_error():
    manual = ManualUI()
    asked = asyncio.ensure_future(HandlerUI(manual).select("q", ["a", "b"]))
    await manual.wait_for("q")
    manual.answer("q", "c")
    with pytest.raises(UIError, match="with 'c', which is not one of the options or None"):
        await asked


@every_dialog
async def test_an_interface_that_raises_is_an_error_of_the_handler(name: str, open_: Any, answer: Any, headless: Any):
    manual = ManualUI()
    asked = asyncio.ensure_future(open_(HandlerUI(manual), None))
    await manual.wait_for("q")
    manual.answer("q", OSError("no terminal"))
    with pytest.raises(UIError, match=re.escape(f"the UI failed at {name}('q'): OSError: no terminal")) as caught:
        await asked
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_time_limit_of_the_interface_s_own_is_an_error():
    manual = ManualUI()
    asked = asyncio.ensure_future(HandlerUI(manual).confirm("q", "", timeout=60))
    await manual.wait_for("q")
    manual.answer("q", TimeoutError())
    with pytest.raises(UIError, match=r"failed at confirm\('q'\): TimeoutError"):
        await asked


async def test_an_interface_that_cancels_by_itself_is_an_error_and_no_cancellation():
    manual = ManualUI()
    asked = asyncio.ensure_future(HandlerUI(manual).confirm("q", ""))
    await manual.wait_for("q")
    manual.withdraw("q")
    with pytest.raises(UIError, match=r"the UI cancelled confirm\('q'\) by itself"):
        await asked


async def test_an_interface_that_is_not_async_is_an_error():
    class Plain(HeadlessUI):
        def confirm(self, *args: Any, **options: Any) -> bool:  # type: ignore[override]
            return True

    with pytest.raises(UIError, match=r"failed at confirm\('q'\): TypeError"):
        await HandlerUI(Plain()).confirm("q", "")


def test_a_notice_that_cannot_be_shown_is_an_error():
    class Broken(HeadlessUI):
        def notify(self, message: str, kind: str = "info") -> None:
            raise OSError("gone")

        def get_editor_text(self) -> Any:
            return None

    with pytest.raises(UIError, match=r"the UI failed at notify\('hello'\): OSError: gone"):
        HandlerUI(Broken()).notify("hello")
    with pytest.raises(UIError, match=r"answered get_editor_text\(\) with None, which is no text"):
        HandlerUI(Broken()).get_editor_text()


def test_an_interface_that_cannot_say_whether_there_is_a_user_is_an_error():
    class Vague(ManualUI):
        @property
        def is_interactive(self) -> Any:
            return None

    with pytest.raises(UIError, match="the UI says None for is_interactive, which is not True or False"):
        _ = HandlerUI(Vague()).is_interactive


def test_a_tone_that_no_theme_has_is_refused():
    with pytest.raises(ValueError, match="'loud' is no tone; there are accent, muted, success, warning, error"):
        PLAIN_THEME.paint("loud", "text")  # type: ignore[arg-type]


def test_what_is_shown_reaches_the_interface():
    manual = ManualUI()
    ui = HandlerUI(manual)
    ui.notify("hello", "warning")
    ui.set_status("a", "x")
    ui.set_status("a", None)
    ui.set_editor_text("draft")
    assert manual.told == [("notify", "hello", "warning"), ("status", "a", "x"), ("status", "a", None)]
    assert ui.get_editor_text() == "draft"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda ui: ui.confirm(1, "m"), "title must be a text, not 1"),
        (lambda ui: ui.confirm("t", None), "message must be a text, not None"),
        (lambda ui: ui.select("t", "ab"), "options must be a list of texts, not 'ab'"),
        (lambda ui: ui.select("t", ["a", 1]), "an option must be a text, not 1"),
        (lambda ui: ui.select("t", []), "select needs at least one option"),
        (lambda ui: ui.input("t", timeout="5"), "timeout must be a number of seconds or None, not '5'"),
        (lambda ui: ui.input("t", timeout=True), "timeout must be a number of seconds or None, not True"),
        (lambda ui: ui.input("t", timeout=0), "timeout must be more than 0 seconds, not 0"),
        (lambda ui: ui.input("t", timeout=float("nan")), "timeout must be more than 0 seconds, not nan"),
        (lambda ui: ui.custom("f"), "a factory is called by the host, and 'f' cannot be called"),
        (lambda ui: ui.notify("m", "fatal"), "'fatal' is no kind of notice; there are info, warning, error"),
        (lambda ui: ui.set_status("k", 1), "text must be a text, not 1"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(call: Callable[[Any], Any], text: str):
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        call(HandlerUI(HeadlessUI()))


# A dialog that is not awaited


def test_a_dialog_that_is_not_awaited_is_no_answer():
    dialog = HandlerUI(HeadlessUI()).confirm("Delete?", "all")
    with pytest.raises(TypeError, match=re.escape("write `await ctx.ui.confirm('Delete?')`")):
        bool(dialog)


def test_a_dialog_that_is_not_awaited_equals_no_answer():
    dialog = HandlerUI(HeadlessUI()).select("Delete?", ["yes", "no"])
    with pytest.raises(TypeError, match="equals nothing before it is answered"):
        dialog == "no"  # noqa: B015


def test_a_dialog_equals_itself():
    dialog = HandlerUI(HeadlessUI()).confirm("q", "")
    assert dialog in {dialog: 1}
    assert dialog == dialog
    dialog.close()


def test_a_dialog_that_is_never_awaited_warns():
    with pytest.warns(RuntimeWarning, match=re.escape("confirm('Delete?') was never awaited, so nobody was asked")):
        HandlerUI(HeadlessUI()).confirm("Delete?", "all")
        gc.collect()


async def test_a_dialog_cannot_be_awaited_twice():
    dialog = HandlerUI(HeadlessUI()).confirm("Delete?", "all")
    await dialog
    with pytest.raises(RuntimeError, match=re.escape("confirm('Delete?') was awaited already")):
        await dialog


async def test_a_dialog_may_become_a_task():
    ui = HandlerUI(HeadlessUI())
    assert await asyncio.create_task(ui.confirm("q", "")) is False
    assert await asyncio.gather(ui.confirm("q", ""), ui.input("q")) == [False, None]
    assert await asyncio.wait_for(ui.confirm("q", ""), 5) is False


async def test_a_task_that_is_cancelled_before_it_began_opens_nothing():
    manual = ManualUI()
    task = asyncio.create_task(HandlerUI(manual).confirm("q", ""))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert manual.history == []


def test_a_dialog_that_is_closed_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HandlerUI(HeadlessUI()).confirm("q", "").close()


# The queue


async def test_dialogs_are_shown_one_at_a_time_and_each_gets_its_own_answer():
    """F: concurrent dialogs queue, each gets its own answer."""
    manual = ManualUI()
    ui = HandlerUI(manual)
    asked = asyncio.gather(*(ui.input(title) for title in "abc"))
    for title in "abc":
        await manual.wait_for(title)
        assert manual.open == [title]
        manual.answer(title, f"answer {title}")
    assert await asked == ["answer a", "answer b", "answer c"]


async def test_a_cancelled_dialog_leaves_the_queue():
    """F: concurrent dialogs queue; a cancelled one leaves."""
    manual = ManualUI()
    ui = HandlerUI(manual)
    first, second, third = (asyncio.create_task(ui.input(title)) for title in "abc")
    await manual.wait_for("a")
    second.cancel()
    await asyncio.wait([second])
    manual.answer("a", "1")
    await manual.wait_for("c")
    manual.answer("c", "3")
    assert (await first, await third) == ("1", "3")
    assert manual.history == ["a", "c"]


async def test_an_open_dialog_that_is_cancelled_makes_room():
    manual = ManualUI()
    ui = HandlerUI(manual)
    first, second = (asyncio.create_task(ui.input(title)) for title in "ab")
    await manual.wait_for("a")
    first.cancel()
    await manual.wait_for("b")
    assert manual.open == ["b"]
    manual.answer("b", "2")
    assert await second == "2"


async def test_a_dialog_that_is_cancelled_while_its_turn_comes_passes_it_on():
    manual = ManualUI()
    ui = HandlerUI(manual)
    first, second, third = (asyncio.create_task(ui.input(title)) for title in "abc")
    await manual.wait_for("a")
    first.add_done_callback(lambda _: second.cancel())
    first.cancel()
    await manual.wait_for("c")
    manual.answer("c", "3")
    assert await third == "3"
    assert "b" not in manual.open


async def test_a_dialog_that_fails_makes_room():
    manual = ManualUI()
    ui = HandlerUI(manual)
    first, second = (asyncio.create_task(ui.input(title)) for title in "ab")
    await manual.wait_for("a")
    manual.answer("a", OSError("gone"))
    with pytest.raises(UIError):
        await first
    await manual.wait_for("b")
    manual.answer("b", "2")
    assert await second == "2"


@every_dialog
async def test_a_dialog_whose_time_is_up_gives_the_headless_answer(name: str, open_: Any, answer: Any, headless: Any):
    manual = ManualUI()
    assert await open_(HandlerUI(manual), 0.02) is headless
    assert manual.history == ["q"]
    assert manual.open == []


async def test_the_time_in_the_queue_counts_for_the_timeout():
    manual = ManualUI()
    ui = HandlerUI(manual)
    first = asyncio.create_task(ui.input("a"))
    await manual.wait_for("a")
    assert await ui.confirm("b", "", timeout=0.02) is False
    manual.answer("a", "1")
    assert await first == "1"
    assert manual.history == ["a"]


async def test_the_interface_is_told_what_is_left_of_the_time():
    manual = ManualUI()
    asked = asyncio.ensure_future(HandlerUI(manual).input("q", timeout=60))
    await manual.wait_for("q")
    manual.answer("q", None)
    await asked
    [limit] = manual.limits
    assert limit is not None
    assert 50 < limit <= 60


async def test_an_interface_that_answers_when_cancelled_does_not_answer_for_the_user():
    class Eager(HeadlessUI):
        async def confirm(self, title: str, message: str, *, timeout_s: float | None = None) -> bool:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return True
            return False

    assert await HandlerUI(Eager()).confirm("q", "", timeout=0.02) is False


async def test_a_dialog_opened_by_a_dialog_of_one_s_own_does_not_wait_for_it():
    manual = ManualUI()
    ui = HandlerUI(manual)

    async def make() -> Any:
        return await ui.input("inner"), await ui.input("second")

    asked = asyncio.ensure_future(ui.custom(make))
    await manual.wait_for("inner")
    manual.answer("inner", "1")
    await manual.wait_for("second")
    manual.answer("second", "2")
    assert await asked == ("1", "2")


async def test_what_a_finished_dialog_left_behind_queues_like_anybody():
    manual = ManualUI()
    ui = HandlerUI(manual)
    left: list[asyncio.Task[Any]] = []
    go = asyncio.Event()

    async def ask_later() -> Any:
        await go.wait()
        return await ui.input("late")

    async def make() -> None:
        left.append(asyncio.create_task(ask_later()))

    await ui.custom(make)
    other = asyncio.create_task(ui.input("other"))
    await manual.wait_for("other")
    go.set()
    await asyncio.sleep(0)
    assert manual.open == ["other"]
    manual.answer("other", "1")
    await manual.wait_for("late")
    manual.answer("late", "2")
    assert (await other, await left[0]) == ("1", "2")


async def test_dialogs_of_several_event_loops_queue():
    """F: concurrent dialogs queue, whatever event loop they are opened on."""
    manual = ManualUI()
    ui = HandlerUI(manual)
    own = [asyncio.create_task(ui.input(title)) for title in "ab"]
    others = [asyncio.to_thread(lambda title=title: asyncio.run(_ask(ui, title))) for title in "cd"]
    answers = asyncio.gather(*own, *others)
    for count in range(1, 5):
        await wait_until(lambda count=count: len(manual.history) == count, f"dialog {count} was opened")
        [title] = manual.open
        manual.answer(title, f"answer {title}")
    assert await answers == ["answer a", "answer b", "answer c", "answer d"]


async def _ask(ui: HandlerUI, title: str) -> str | None:
    return await ui.input(title)


async def test_a_dialog_whose_event_loop_is_gone_leaves_the_queue():
    manual = ManualUI()
    ui = HandlerUI(manual)
    first = asyncio.create_task(ui.input("a"))
    await manual.wait_for("a")
    gone = asyncio.to_thread(_begin_and_leave, ui.input("b"))
    left = await gone
    third = asyncio.create_task(ui.input("c"))
    await asyncio.sleep(0)
    manual.answer("a", "1")
    await manual.wait_for("c")
    manual.answer("c", "3")
    assert (await first, await third) == ("1", "3")
    left.close()


def _begin_and_leave(dialog: Any) -> Any:
    """Drive a dialog into the queue on a loop that is closed without ending it."""

    async def begin() -> None:
        dialog.send(None)

    asyncio.run(begin())
    return dialog


# Time


async def test_the_time_of_a_dialog_is_the_user_s():
    """F: time spent waiting for the user in a dialog does not count."""
    clock = HandlerClock()
    running_clock.set(clock)
    manual = ManualUI()
    asked = asyncio.ensure_future(HandlerUI(manual).input("q"))
    await manual.wait_for("q")
    assert clock.is_paused
    manual.answer("q", "x")
    await asked
    assert not clock.is_paused
    assert clock.waited_s > 0


async def test_the_time_in_the_queue_is_the_user_s():
    """F: time spent waiting for the user in a dialog does not count."""
    manual = ManualUI()
    ui = HandlerUI(manual)
    first = asyncio.create_task(ui.input("a"))
    await manual.wait_for("a")
    clock = HandlerClock()
    running_clock.set(clock)
    second = asyncio.create_task(ui.input("b"))
    await wait_until(lambda: clock.is_paused, "the clock stands still")
    assert manual.open == ["a"]
    second.cancel()
    await asyncio.wait([second])
    assert not clock.is_paused
    manual.answer("a", "1")
    await first


async def test_a_dialog_without_a_user_takes_no_time():
    started = time.monotonic()
    for _ in range(100):
        await HandlerUI(HeadlessUI()).confirm("q", "")
    assert time.monotonic() - started < 1
