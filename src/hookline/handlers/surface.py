"""The user interface as handlers see it: any host's, with a queue, limits, checked answers and honest errors."""

from __future__ import annotations

import asyncio
import contextlib
import math
import reprlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from hookline.handlers.clock import user_time
from hookline.handlers.dialog import Dialog, DialogQueue
from hookline.handlers.theme import Theme
from hookline.handlers.ui import KINDS, UI, Kind, UIError

T = TypeVar("T")


class HandlerUI:
    """
    What handlers get as `ctx.ui`.

    Dialogs are awaited and shown one at a time, each with its own answer. `timeout` is in seconds and counts from
    the await, the time in the queue included; a dialog whose time is up gives what it gives without a user.
    Nothing of that time counts against the handler's limit. Raises `UIError` when the host's interface raises or
    answers with what is no answer.
    """

    def __init__(self, ui: UI) -> None:
        self._ui = ui
        self._queue = DialogQueue()

    @property
    def is_interactive(self) -> bool:
        """Whether there is a user to ask."""
        answer: object = self._tell("is_interactive", lambda: self._ui.is_interactive)
        if not isinstance(answer, bool):
            raise UIError(f"the UI says {reprlib.repr(answer)} for is_interactive, which is not True or False")
        return answer

    @property
    def theme(self) -> Theme:
        """How texts are painted here."""
        return self._tell("theme", lambda: self._ui.theme)

    def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> Dialog[str | None]:
        """Let the user choose one of the options; None when none was chosen."""
        _check_text("title", title)
        choices = _check_options(options)

        def read(answer: object) -> str | None:
            if answer is None or (isinstance(answer, str) and answer in choices):
                return answer
            raise ValueError("one of the options or None")

        return self._ask(
            _name("select", title), lambda left: self._ui.select(title, choices, timeout_s=left), read, None, timeout
        )

    def confirm(self, title: str, message: str, *, timeout: float | None = None) -> Dialog[bool]:
        """Ask the user for leave; False when it was not given."""
        _check_text("title", title)
        _check_text("message", message)

        def read(answer: object) -> bool:
            if isinstance(answer, bool):
                return answer
            raise ValueError("True or False")

        return self._ask(
            _name("confirm", title), lambda left: self._ui.confirm(title, message, timeout_s=left), read, False, timeout
        )

    def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> Dialog[str | None]:
        """Ask the user for one line; None when it was dismissed."""
        _check_text("title", title)
        _check_text("placeholder", placeholder)
        return self._ask(
            _name("input", title),
            lambda left: self._ui.input(title, placeholder, timeout_s=left),
            _read_text,
            None,
            timeout,
        )

    def editor(self, title: str, prefill: str = "", *, timeout: float | None = None) -> Dialog[str | None]:
        """Let the user edit a text of many lines; None when it was dismissed."""
        _check_text("title", title)
        _check_text("prefill", prefill)
        return self._ask(
            _name("editor", title),
            lambda left: self._ui.editor(title, prefill, timeout_s=left),
            _read_text,
            None,
            timeout,
        )

    def custom(self, factory: Callable[..., Any], *, timeout: float | None = None) -> Dialog[Any]:
        """Show a dialog of one's own making; what a factory gets and makes is the host's to say."""
        if not callable(factory):
            raise TypeError(f"a factory is called by the host, and {factory!r} cannot be called")
        name = _name("custom", getattr(factory, "__name__", type(factory).__name__))
        return self._ask(
            name, lambda left: self._ui.custom(factory, timeout_s=left), lambda answer: answer, None, timeout
        )

    def notify(self, message: str, kind: Kind = "info") -> None:
        """Show a notice."""
        _check_text("message", message)
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of notice; there are {', '.join(KINDS)}")
        self._tell(_name("notify", message), lambda: self._ui.notify(message, kind))

    def set_status(self, key: str, text: str | None) -> None:
        """Show a text in the status line under a key; None takes it away."""
        _check_text("key", key)
        if text is not None:
            _check_text("text", text)
        self._tell(_name("set_status", key), lambda: self._ui.set_status(key, text))

    def set_editor_text(self, text: str) -> None:
        """Put a text where the user writes the next prompt."""
        _check_text("text", text)
        self._tell(_name("set_editor_text", text), lambda: self._ui.set_editor_text(text))

    def get_editor_text(self) -> str:
        """What the user has written of the next prompt; empty without a user."""
        text: object = self._tell("get_editor_text()", self._ui.get_editor_text)
        if not isinstance(text, str):
            raise UIError(f"the UI answered get_editor_text() with {reprlib.repr(text)}, which is no text")
        return text

    def _tell(self, name: str, tell: Callable[[], T]) -> T:
        try:
            return tell()
        except Exception as error:  # boundary: the host's code, called for a handler
            raise UIError(f"the UI failed at {name}: {_describe(error)}") from error

    def _ask(
        self,
        name: str,
        ask: Callable[[float | None], Coroutine[Any, Any, object]],
        read: Callable[[object], T],
        headless: T,
        timeout: float | None,
    ) -> Dialog[T]:
        _check_timeout(timeout)

        async def begin() -> T:
            answer = headless
            loop = asyncio.get_running_loop()
            with user_time(), contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout) as limit, self._queue.turn():
                    end = limit.when()
                    answer = await _get_answer(name, ask, read, None if end is None else max(0.0, end - loop.time()))
            return headless if limit.expired() else answer

        return Dialog(name, begin)


async def _get_answer(
    name: str,
    ask: Callable[[float | None], Coroutine[Any, Any, object]],
    read: Callable[[object], T],
    left_s: float | None,
) -> T:
    try:
        answer = await ask(left_s)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise UIError(f"the UI cancelled {name} by itself") from error
    except Exception as error:  # boundary: the host's code, called for a handler
        raise UIError(f"the UI failed at {name}: {_describe(error)}") from error
    try:
        return read(answer)
    except ValueError as expected:
        raise UIError(f"the UI answered {name} with {reprlib.repr(answer)}, which is not {expected}") from None


def _read_text(answer: object) -> str | None:
    if answer is None or isinstance(answer, str):
        return answer
    raise ValueError("a text or None")


def _name(method: str, title: str) -> str:
    return f"{method}({reprlib.repr(title)})"


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {reprlib.repr(value)}")


def _check_options(options: object) -> tuple[str, ...]:
    if isinstance(options, str) or not isinstance(options, Sequence):
        raise TypeError(f"options must be a list of texts, not {reprlib.repr(options)}")
    for option in options:
        _check_text("an option", option)
    if not options:
        raise ValueError("select needs at least one option")
    return tuple(options)


def _check_timeout(timeout: object) -> None:
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout must be a number of seconds or None, not {reprlib.repr(timeout)}")
    if math.isnan(timeout) or timeout <= 0:
        raise ValueError(f"timeout must be more than 0 seconds, not {timeout!r}")
