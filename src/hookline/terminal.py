"""
The user interface of a host that lives in a terminal, for `hookline[ui]`.

Dialogs stand in the flow of the terminal's lines, with a line of hints and the status below. Escape, Ctrl-C and the
end of the input dismiss a dialog.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import sys
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar

from hookline.errors import HooklineError
from hookline.handlers.status import DIRECTIONS, StatusLine, cut_to_width, measure_width
from hookline.handlers.theme import PLAIN_THEME, TERMINAL_THEME, Theme
from hookline.handlers.ui import Kind

try:
    from prompt_toolkit import PromptSession, print_formatted_text
    from prompt_toolkit.application import Application, create_app_session, get_app, run_in_terminal
    from prompt_toolkit.formatted_text import FormattedText, StyleAndTextTuples, to_formatted_text
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.keys import Keys
    from prompt_toolkit.output import Output
    from prompt_toolkit.shortcuts.choice_input import ChoiceInput
except ModuleNotFoundError as error:
    raise HooklineError("dialogs in a terminal need prompt_toolkit: pip install 'hookline[ui]'") from error

T = TypeVar("T")

_NOTICES: dict[Kind, tuple[str, str]] = {
    "info": ("", ""),
    "warning": ("ansiyellow", "warning: "),
    "error": ("ansired", "error: "),
}
# How long Escape waits for a second key that would make another key of both, such as Alt-B.
_ESCAPE_S = 0.2


class _DismissedError(Exception):
    """The user has dismissed a dialog."""


class TerminalUI:
    """
    Asks and tells the user in a terminal; a `UI` for an engine's handlers.

    Without a terminal on both sides there is nobody to ask: dialogs are dismissed at once, and notices go to stderr.
    What comes from handlers is shown letter by letter: control characters and what turns the direction of writing
    are made visible, so that the text of a model cannot pass for something else.
    """

    def __init__(
        self,
        *,
        input: Input | None = None,  # noqa: A002 - named as prompt_toolkit names it
        output: Output | None = None,
    ) -> None:
        self._input = input
        self._output = output
        self._status = StatusLine()
        self._editor_text = ""
        self._screen: contextvars.Context | None = None
        self._notices: set[asyncio.Future[None]] = set()

    @property
    def is_interactive(self) -> bool:
        """Whether there is a terminal to ask in."""
        return self._input is not None or (sys.stdin.isatty() and sys.stdout.isatty())

    @property
    def theme(self) -> Theme:
        """The colours of a terminal; none where there is no terminal or `NO_COLOR` is set."""
        return TERMINAL_THEME if self.is_interactive and not os.environ.get("NO_COLOR") else PLAIN_THEME

    def render_status(self, width: int | None = None) -> str:
        """The status line, for the host to show while no dialog is open."""
        return self._status.render(width)

    async def select(self, title: str, options: Sequence[str], *, timeout_s: float | None = None) -> str | None:
        """Let the user choose with the arrows or a number, and Enter."""
        bindings = KeyBindings()
        bindings.add("escape", eager=True)(_dismiss)
        bindings.add("c-d")(_dismiss)

        async def ask() -> str | None:
            choice = ChoiceInput(
                message=_print_long(title),
                options=[(number, _reveal(option)) for number, option in enumerate(options)],
                bottom_toolbar=self._describe("arrows or number, Enter: choose, Esc: none"),
                interrupt_exception=_DismissedError,
                key_bindings=bindings,
            )
            return options[await choice.prompt_async()]

        return await self._ask(ask, None, timeout_s)

    async def confirm(self, title: str, message: str, *, timeout_s: float | None = None) -> bool:
        """Ask for a `y`; `n`, Enter and Escape say no, other keys nothing."""
        bindings = KeyBindings()

        def say(answer: bool) -> Callable[[KeyPressEvent], None]:
            return lambda event: event.app.exit(result=answer)

        bindings.add(Keys.Any)(lambda event: None)
        for key in ("y", "Y"):
            bindings.add(key)(say(True))
        for key in ("n", "N", "enter"):
            bindings.add(key)(say(False))
        bindings.add("escape", eager=True)(say(False))

        async def ask() -> bool:
            session = self._open_prompt(bindings, "y: yes, n: no")
            # Printed rather than part of the dialog, which shows no more than fits the window: what the user agrees
            # to must not end where the window does.
            _print([("bold", _reveal(title)), ("", f"\n{_reveal(message)}" if message else "")])
            answer: object = await session.prompt_async("[y/N] ")
            return answer is True

        return await self._ask(ask, False, timeout_s)

    async def input(self, title: str, placeholder: str = "", *, timeout_s: float | None = None) -> str | None:
        """Let the user write a line, which may be empty, and end it with Enter."""
        bindings = KeyBindings()
        bindings.add("escape")(_dismiss)

        async def ask() -> str:
            session = self._open_prompt(bindings, "Enter: done, Esc: dismiss")
            grey: StyleAndTextTuples = [("ansibrightblack", _reveal(placeholder))]
            return await session.prompt_async(f"{_print_long(title)}: ", placeholder=grey)

        return await self._ask(ask, None, timeout_s)

    async def editor(self, title: str, prefill: str = "", *, timeout_s: float | None = None) -> str | None:
        """Let the user edit a text of many lines and end it with Ctrl-S."""
        bindings = KeyBindings()
        bindings.add("escape")(_dismiss)
        bindings.add("c-s")(lambda event: event.current_buffer.validate_and_handle())

        async def ask() -> str:
            session = self._open_prompt(bindings, "Ctrl-S: done, Esc: dismiss")
            return await session.prompt_async(f"{_print_long(title)}\n", default=prefill, multiline=True)

        return await self._ask(ask, None, timeout_s)

    async def custom(self, factory: Callable[..., Any], *, timeout_s: float | None = None) -> Any:
        """Run the prompt_toolkit `Application` that the factory makes of this theme; its result is the answer."""

        async def ask() -> Any:
            app = factory(self.theme)
            if not isinstance(app, Application):
                raise HooklineError(f"a dialog in a terminal is a prompt_toolkit Application, not {app!r}")
            return await app.run_async()

        return await self._ask(ask, None, timeout_s)

    def notify(self, message: str, kind: Kind = "info") -> None:
        """Print a notice, above the dialog that is open."""
        style, prefix = _NOTICES[kind]
        text = prefix + _reveal(message)
        if not self.is_interactive:
            sys.stderr.write(f"{text}\n")
            return

        def show() -> None:
            print_formatted_text(to_formatted_text(text, style=style), output=self._output)

        app = self._find_app()
        if app is None or app.loop is None:
            show()
        else:
            app.loop.call_soon_threadsafe(self._show_above, show, context=self._screen)

    def set_status(self, key: str, text: str | None) -> None:
        """Change the status line; a dialog that is open shows it at once."""
        self._status.set(key, text)
        app = self._find_app()
        if app is not None:
            app.invalidate()

    def set_editor_text(self, text: str) -> None:
        """Keep a text for the host to begin its next prompt with."""
        self._editor_text = text

    def get_editor_text(self) -> str:
        """The text that the next prompt begins with."""
        return self._editor_text

    async def _ask(self, ask: Callable[[], Awaitable[T]], dismissed: T, timeout_s: float | None) -> T:
        if not self.is_interactive:
            return dismissed
        try:
            async with asyncio.timeout(timeout_s):
                with self._open_screen():
                    return await ask()
        except (_DismissedError, EOFError, TimeoutError):
            return dismissed
        finally:
            await asyncio.gather(*self._notices)

    @contextlib.contextmanager
    def _open_screen(self) -> Iterator[None]:
        with create_app_session(input=self._input, output=self._output):
            self._screen = contextvars.copy_context()
            try:
                yield
            finally:
                self._screen = None

    def _find_app(self) -> Application[Any] | None:
        """The dialog that is open."""
        if self._screen is None:
            return None
        app = self._screen.run(get_app)
        return app if app.is_running else None

    def _show_above(self, show: Callable[[], None]) -> None:
        shown = asyncio.ensure_future(run_in_terminal(show))
        self._notices.add(shown)
        shown.add_done_callback(self._notices.discard)

    def _open_prompt(self, bindings: KeyBindings, hint: str) -> PromptSession[str]:
        session: PromptSession[str] = PromptSession(
            key_bindings=bindings,
            bottom_toolbar=self._describe(hint),
            interrupt_exception=_DismissedError,
            eof_exception=_DismissedError,
        )
        session.app.timeoutlen = session.app.ttimeoutlen = _ESCAPE_S
        return session

    def _describe(self, hint: str) -> Callable[[], str]:
        """The line below a dialog: how to answer, and the status."""

        def render() -> str:
            status = self._status.render()
            return cut_to_width(f"{hint} | {status}" if status else hint, get_app().output.get_size().columns)

        return render


def _dismiss(event: KeyPressEvent) -> None:
    event.app.exit(exception=_DismissedError())


def _print_long(title: str) -> str:
    """The title as a dialog shows it; one that takes more than a line is printed above the dialog instead."""
    text = _reveal(title)
    if "\n" not in text and measure_width(text) < get_app().output.get_size().columns:
        return text
    _print([("", text)])
    return ""


def _print(text: StyleAndTextTuples) -> None:
    print_formatted_text(FormattedText(text))


def _reveal(text: str) -> str:
    """The text with everything visible that a terminal would obey."""
    return "".join(map(_reveal_character, text.replace("\r\n", "\n").expandtabs(4)))


def _reveal_character(character: str) -> str:
    if character == "\n":
        return character
    category = unicodedata.category(character)
    if character in DIRECTIONS or category in {"Cc", "Cs", "Zl", "Zp"}:
        return f"<U+{ord(character):04X}>"
    return character
