"""The user interface for plain handlers, which run on a thread of their own and wait there for the answers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hookline.handlers.dialog import Dialog
from hookline.handlers.surface import HandlerUI
from hookline.handlers.theme import Theme
from hookline.handlers.ui import Kind, UIError

T = TypeVar("T")

# So often a thread that waits for an answer looks whether the loop that would bring it still runs.
_LOOK_S = 0.25


class DialogCancelledError(UIError):
    """The event of a plain handler is over, and with it the dialog that the handler waits in."""


class BlockingUI:
    """
    What plain handlers get as `ctx.ui`: the methods of `HandlerUI`, which return the answers themselves.

    Everything happens on the event loop that it is given; to call it from that loop's own thread raises
    `RuntimeError`. One belongs to one call of one handler, whose context it must be called in.
    """

    def __init__(self, ui: HandlerUI, loop: asyncio.AbstractEventLoop) -> None:
        self._ui = ui
        self._loop = loop
        self._lock = threading.Lock()
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the dialogs that are waited for and refuse more of them: they raise `DialogCancelledError`."""
        with self._lock:
            self._is_cancelled = True
            waiting = tuple(self._waiting)
        for future in waiting:
            future.cancel()

    @property
    def is_interactive(self) -> bool:
        """Whether there is a user to ask."""
        return self._ui.is_interactive

    @property
    def theme(self) -> Theme:
        """How texts are painted here."""
        return self._ui.theme

    def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        """Let the user choose one of the options; None when none was chosen."""
        return self._wait(self._ui.select(title, options, timeout=timeout))

    def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
        """Ask the user for leave; False when it was not given."""
        return self._wait(self._ui.confirm(title, message, timeout=timeout))

    def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        """Ask the user for one line; None when it was dismissed."""
        return self._wait(self._ui.input(title, placeholder, timeout=timeout))

    def editor(self, title: str, prefill: str = "", *, timeout: float | None = None) -> str | None:
        """Let the user edit a text of many lines; None when it was dismissed."""
        return self._wait(self._ui.editor(title, prefill, timeout=timeout))

    def custom(self, factory: Callable[..., Any], *, timeout: float | None = None) -> Any:
        """Show a dialog of one's own making; what a factory gets and makes is the host's to say."""
        return self._wait(self._ui.custom(factory, timeout=timeout))

    def notify(self, message: str, kind: Kind = "info") -> None:
        """Show a notice."""
        self._call("notify", lambda: self._ui.notify(message, kind))

    def set_status(self, key: str, text: str | None) -> None:
        """Show a text in the status line under a key; None takes it away."""
        self._call("set_status", lambda: self._ui.set_status(key, text))

    def set_editor_text(self, text: str) -> None:
        """Put a text where the user writes the next prompt."""
        self._call("set_editor_text", lambda: self._ui.set_editor_text(text))

    def get_editor_text(self) -> str:
        """What the user has written of the next prompt; empty without a user."""
        return self._call("get_editor_text", self._ui.get_editor_text)

    def _call(self, name: str, function: Callable[[], T]) -> T:
        async def call() -> T:
            return function()

        return self._wait(Dialog(name, call))

    def _wait(self, dialog: Dialog[T]) -> T:
        future = self._submit(dialog)
        try:
            while not concurrent.futures.wait((future,), timeout=_LOOK_S).done:
                if not self._loop.is_running():
                    dialog.abandon()
                    raise UIError(f"nobody answers {dialog!r}: the event loop of its event has ended")
            return future.result()
        except concurrent.futures.CancelledError:
            raise DialogCancelledError(f"{dialog!r} was cancelled: its event is over") from None
        finally:
            future.cancel()
            with self._lock:
                self._waiting.discard(future)

    def _submit(self, dialog: Dialog[T]) -> concurrent.futures.Future[T]:
        with self._lock:
            error = self._find_obstacle(dialog)
            if error is not None:
                dialog.abandon()
                raise error
            future = asyncio.run_coroutine_threadsafe(dialog, self._loop)
            self._waiting.add(future)
            return future

    def _find_obstacle(self, dialog: Dialog[T]) -> Exception | None:
        if self._is_cancelled:
            return DialogCancelledError(f"{dialog!r} was not opened: its event is over")
        if _get_running_loop() is self._loop:
            return RuntimeError(f"{dialog!r} would wait for the event loop it is called on; make the handler async")
        if not self._loop.is_running():
            return UIError(f"{dialog!r} was not opened: the event loop of its event has ended")
        return None


def _get_running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
