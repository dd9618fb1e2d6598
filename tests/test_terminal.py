"""The user interface in a terminal, with real key presses and no terminal."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.output import DummyOutput, Output
from prompt_toolkit.output.vt100 import Vt100_Output

from hookline.errors import HooklineError
from hookline.handlers.surface import HandlerUI
from hookline.terminal import TerminalUI
from waiting import wait_until

UP, DOWN, ENTER, ESCAPE, CTRL_C, CTRL_D, CTRL_S = "\x1b[A", "\x1b[B", "\r", "\x1b", "\x03", "\x04", "\x13"


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as pipe:
        yield pipe


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


class Screen(Vt100_Output):
    """A terminal that knows where its cursor stands, without which no line below a dialog is shown."""

    def get_rows_below_cursor_position(self) -> int:
        return 20


def open_ui(keys: PipeInput, screen: io.StringIO | None = None) -> TerminalUI:
    output: Output = DummyOutput()
    if screen is not None:
        output = Screen(screen, lambda: Size(rows=24, columns=80), term="xterm", enable_cpr=False)
    return TerminalUI(input=keys, output=output)


# Answers


@pytest.mark.parametrize(
    ("pressed", "chosen"),
    [
        (ENTER, "red"),
        (DOWN + ENTER, "green"),
        (DOWN + DOWN + UP + ENTER, "green"),
        ("3" + ENTER, "blue"),
        (ESCAPE, None),
        (CTRL_C, None),
        (CTRL_D, None),
    ],
)
async def test_the_user_chooses_with_arrows_and_numbers(keys: PipeInput, pressed: str, chosen: str | None):
    keys.send_text(pressed)
    assert await open_ui(keys).select("Colour?", ["red", "green", "blue"]) == chosen


async def test_equal_options_are_kept_apart(keys: PipeInput):
    keys.send_text(DOWN + ENTER)
    assert await open_ui(keys).select("Colour?", ["red", "red"]) == "red"


@pytest.mark.parametrize(
    ("pressed", "agreed"),
    [
        ("y", True),
        ("Y", True),
        ("n", False),
        ("N", False),
        (ENTER, False),
        (ESCAPE, False),
        (CTRL_C, False),
        (CTRL_D, False),
        ("xq y", True),
        ("x" + ENTER, False),
    ],
)
async def test_the_user_agrees_with_y_alone(keys: PipeInput, pressed: str, agreed: bool):
    keys.send_text(pressed)
    assert await open_ui(keys).confirm("Dangerous command", "Allow: rm -rf /") is agreed


@pytest.mark.parametrize(
    ("pressed", "written"),
    [
        ("Ada" + ENTER, "Ada"),
        ("Adx\x7fa" + ENTER, "Ada"),
        (ENTER, ""),
        (ESCAPE, None),
        ("Ada" + ESCAPE, None),
        ("Ada" + CTRL_C, None),
        (CTRL_D, None),
    ],
)
async def test_the_user_writes_a_line(keys: PipeInput, pressed: str, written: str | None):
    keys.send_text(pressed)
    assert await open_ui(keys).input("Name", "your name") == written


@pytest.mark.parametrize(
    ("pressed", "written"),
    [
        (CTRL_S, "first\nsecond"),
        ("!" + ENTER + "third" + CTRL_S, "first\nsecond!\nthird"),
        (ESCAPE, None),
        (CTRL_C, None),
    ],
)
async def test_the_user_edits_a_text(keys: PipeInput, pressed: str, written: str | None):
    keys.send_text(pressed)
    assert await open_ui(keys).editor("Plan", "first\nsecond") == written


async def test_keys_with_alt_do_not_dismiss(keys: PipeInput):
    keys.send_text("one two" + ESCAPE + "b" + "X" + ENTER)
    assert await open_ui(keys).input("Name") == "one Xtwo"


async def test_a_dialog_of_one_s_own_is_an_application(keys: PipeInput):
    themes: list[Any] = []

    def make(theme: Any) -> Application[str]:
        themes.append(theme)
        bindings = KeyBindings()
        bindings.add("x")(lambda event: event.app.exit(result="made"))
        return Application(layout=Layout(Window()), key_bindings=bindings)

    ui = open_ui(keys)
    keys.send_text("x")
    assert await ui.custom(make) == "made"
    assert themes == [ui.theme]


async def test_a_dialog_that_is_no_application_is_an_error(keys: PipeInput):
    with pytest.raises(HooklineError, match="a dialog in a terminal is a prompt_toolkit Application, not 'text'"):
        await open_ui(keys).custom(lambda theme: "text")


async def test_dialogs_through_the_surface_come_one_after_the_other(keys: PipeInput):
    """F: concurrent dialogs queue, each gets its own answer."""
    ui = HandlerUI(open_ui(keys))
    keys.send_text("y" + "n" + "y")
    assert await asyncio.gather(*(ui.confirm(title, "") for title in "abc")) == [True, False, True]


# Limits


DIALOGS: list[tuple[str, Callable[[TerminalUI, float | None], Any], Any]] = [
    ("select", lambda ui, limit: ui.select("Colour?", ["red"], timeout_s=limit), None),
    ("confirm", lambda ui, limit: ui.confirm("Sure?", "", timeout_s=limit), False),
    ("input", lambda ui, limit: ui.input("Name", timeout_s=limit), None),
    ("editor", lambda ui, limit: ui.editor("Plan", timeout_s=limit), None),
]
every_dialog = pytest.mark.parametrize(("name", "open_", "dismissed"), DIALOGS, ids=[row[0] for row in DIALOGS])


@every_dialog
async def test_a_dialog_whose_time_is_up_is_dismissed(keys: PipeInput, name: str, open_: Any, dismissed: Any):
    assert await open_(open_ui(keys), 0.05) is dismissed


@every_dialog
async def test_a_dialog_is_dismissed_when_the_input_ends(keys: PipeInput, name: str, open_: Any, dismissed: Any):
    asked = asyncio.ensure_future(open_(open_ui(keys), None))
    await asyncio.sleep(0)
    keys.close()
    assert await asked is dismissed


@every_dialog
async def test_a_cancelled_dialog_leaves_the_terminal_to_the_next(
    keys: PipeInput, name: str, open_: Any, dismissed: Any
):
    """F: dialogs are cancelled with the event."""
    ui = open_ui(keys)
    asked = asyncio.ensure_future(open_(ui, None))
    await wait_until(lambda: ui._find_app() is not None, "the dialog is open")
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    keys.send_text("y")
    assert await ui.confirm("Sure?", "") is True


# What is shown


async def test_a_dialog_shows_its_question_and_how_to_answer(keys: PipeInput, screen: io.StringIO):
    asked = asyncio.ensure_future(open_ui(keys, screen).confirm("Dangerous command", "Allow: rm -rf /"))
    await wait_until(lambda: "[y/N]" in screen.getvalue(), "the dialog is shown")
    keys.send_text("y")
    await asked
    assert "Dangerous command" in screen.getvalue()
    assert "Allow: rm -rf /" in screen.getvalue()
    assert "y: yes, n: no" in screen.getvalue()


async def test_a_question_cannot_disguise_itself(keys: PipeInput, screen: io.StringIO):
    keys.send_text("n")
    await open_ui(keys, screen).confirm("Run", "rm -rf /\x1b[2K\rls \u202etxt\ttab")
    assert "rm -rf /<U+001B>[2K<U+000D>ls <U+202E>txt" in screen.getvalue()


async def test_a_question_that_is_longer_than_the_window_is_shown_whole(keys: PipeInput, screen: io.StringIO):
    keys.send_text("n")
    await open_ui(keys, screen).confirm("Run", "\n".join(f"line {number};" for number in range(100)))
    assert all(f"line {number};" in screen.getvalue() for number in range(100))


@pytest.mark.parametrize("dialog", ["select", "input", "editor"])
async def test_a_title_that_is_longer_than_the_window_is_shown_whole(keys: PipeInput, screen: io.StringIO, dialog: str):
    ui = open_ui(keys, screen)
    title = "\n".join(f"line {number};" for number in range(100))
    keys.send_text(CTRL_C)
    assert await (ui.select(title, ["a"]) if dialog == "select" else getattr(ui, dialog)(title)) is None
    assert all(f"line {number};" in screen.getvalue() for number in range(100))


async def test_options_cannot_disguise_themselves(keys: PipeInput, screen: io.StringIO):
    keys.send_text(ENTER)
    assert await open_ui(keys, screen).select("Pick", ["a\x1b[8m"]) == "a\x1b[8m"
    assert "a<U+001B>[8m" in screen.getvalue()


@pytest.mark.parametrize(
    ("kind", "line"), [("info", "hello"), ("warning", "warning: hello"), ("error", "error: hello")]
)
def test_a_notice_says_its_kind(keys: PipeInput, screen: io.StringIO, kind: Any, line: str):
    open_ui(keys, screen).notify("hello", kind)
    assert line in screen.getvalue()


def test_a_notice_cannot_disguise_itself(keys: PipeInput, screen: io.StringIO):
    open_ui(keys, screen).notify("a\x07\x9b2Jb")
    assert "a<U+0007><U+009B>2Jb" in screen.getvalue()


async def test_a_notice_stands_above_the_dialog_that_is_open(keys: PipeInput, screen: io.StringIO):
    ui = open_ui(keys, screen)
    asked = asyncio.ensure_future(ui.confirm("Sure?", ""))
    await wait_until(lambda: "[y/N]" in screen.getvalue(), "the dialog is shown")
    ui.notify("by the way")
    await wait_until(lambda: "by the way" in screen.getvalue(), "the notice is shown")
    await wait_until(lambda: "[y/N]" in screen.getvalue().split("by the way")[1], "the dialog is shown again")
    keys.send_text("y")
    assert await asked is True


async def test_a_notice_of_another_thread_is_shown(keys: PipeInput, screen: io.StringIO):
    ui = open_ui(keys, screen)
    asked = asyncio.ensure_future(ui.confirm("Sure?", ""))
    await wait_until(lambda: "[y/N]" in screen.getvalue(), "the dialog is shown")
    await asyncio.to_thread(ui.notify, "by the way")
    await wait_until(lambda: "by the way" in screen.getvalue(), "the notice is shown")
    keys.send_text("y")
    assert await asked is True


async def test_a_notice_just_before_the_answer_is_not_lost(keys: PipeInput, screen: io.StringIO):
    ui = open_ui(keys, screen)
    asked = asyncio.ensure_future(ui.confirm("Sure?", ""))
    await wait_until(lambda: "[y/N]" in screen.getvalue(), "the dialog is shown")
    keys.send_text("y")
    ui.notify("by the way")
    await asked
    await wait_until(lambda: "by the way" in screen.getvalue(), "the notice is shown")


async def test_a_dialog_shows_the_status_and_its_changes(keys: PipeInput, screen: io.StringIO):
    ui = open_ui(keys, screen)
    ui.set_status("b", "second\n\x1b[31mtext")
    ui.set_status("a", "first")
    asked = asyncio.ensure_future(ui.confirm("Sure?", ""))
    await wait_until(lambda: "y: yes, n: no | first second text" in screen.getvalue(), "the status is shown")
    ui.set_status("a", "changed")
    await wait_until(lambda: "changed" in screen.getvalue(), "the change is shown")
    keys.send_text("y")
    await asked


def test_the_host_may_show_the_status_itself(keys: PipeInput):
    ui = open_ui(keys)
    ui.set_status("a", "hello world")
    assert ui.render_status(5) == "hell…"
    ui.set_status("a", None)
    assert ui.render_status() == ""


def test_the_text_of_the_next_prompt_is_kept(keys: PipeInput):
    ui = open_ui(keys)
    assert ui.get_editor_text() == ""
    ui.set_editor_text("draft")
    assert ui.get_editor_text() == "draft"


def test_the_theme_has_colours_unless_they_are_unwanted(keys: PipeInput, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert open_ui(keys).theme.paint("error", "no") == "\x1b[31mno\x1b[39m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert open_ui(keys).theme.paint("error", "no") == "no"


# Without a terminal, without the extra


@every_dialog
async def test_without_a_terminal_there_is_nobody_to_ask(
    monkeypatch: pytest.MonkeyPatch, name: str, open_: Any, dismissed: Any
):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    ui = TerminalUI()
    assert ui.is_interactive is False
    assert await open_(ui, None) is dismissed


def test_without_a_terminal_notices_go_to_stderr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    TerminalUI().notify("careful", "warning")
    assert capsys.readouterr() == ("", "warning: careful\n")


def test_without_the_extra_the_import_says_what_to_install():
    code = "import sys; sys.modules['prompt_toolkit'] = None; import hookline.terminal"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "hookline.errors.HooklineError: dialogs in a terminal need prompt_toolkit: pip install 'hookline[ui]'\n"
    )
