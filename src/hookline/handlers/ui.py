"""What a host must offer so that handlers can ask the user and show something, and what holds without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, get_args

from hookline.errors import HooklineError
from hookline.handlers.theme import PLAIN_THEME, Theme

Kind = Literal["info", "warning", "error"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class UIError(HooklineError):
    """A host's user interface raised, or answered with something that is no answer."""


class UI(Protocol):
    """
    A host's user interface.

    Hookline shows one dialog at a time, checks the answers, and cancels a dialog whose time is up or whose event
    is over: a dialog is a coroutine that lets itself be cancelled. `timeout_s` is what is left of its time, for an
    interface that shows it. The other methods return at once.
    """

    @property
    def is_interactive(self) -> bool:
        """Whether there is a user to ask."""
        ...

    @property
    def theme(self) -> Theme:
        """How texts are painted here."""
        ...

    async def select(self, title: str, options: Sequence[str], *, timeout_s: float | None = None) -> str | None:
        """One of the options, None when the user chose none."""
        ...

    async def confirm(self, title: str, message: str, *, timeout_s: float | None = None) -> bool:
        """Whether the user agreed."""
        ...

    async def input(self, title: str, placeholder: str = "", *, timeout_s: float | None = None) -> str | None:
        """One line of text, None when the user gave none."""
        ...

    async def editor(self, title: str, prefill: str = "", *, timeout_s: float | None = None) -> str | None:
        """A text of many lines, None when the user dismissed it."""
        ...

    async def custom(self, factory: Callable[..., Any], *, timeout_s: float | None = None) -> Any:
        """What a dialog of the handler's own making gave; the host says what a factory gets and makes."""
        ...

    def notify(self, message: str, kind: Kind = "info") -> None:
        """Show a notice."""
        ...

    def set_status(self, key: str, text: str | None) -> None:
        """Show a text in the status line under a key; None takes it away."""
        ...

    def set_editor_text(self, text: str) -> None:
        """Put a text where the user writes the next prompt."""
        ...

    def get_editor_text(self) -> str:
        """What the user has written of the next prompt."""
        ...


class HeadlessUI:
    """
    Nobody to ask: every dialog is dismissed at once, nothing is shown.

    A guard that asks for leave is thereby refused it.
    """

    @property
    def is_interactive(self) -> bool:
        return False

    @property
    def theme(self) -> Theme:
        return PLAIN_THEME

    async def select(self, title: str, options: Sequence[str], *, timeout_s: float | None = None) -> None:
        """None: no option was chosen."""

    async def confirm(self, title: str, message: str, *, timeout_s: float | None = None) -> bool:
        """False: nobody agreed."""
        return False

    async def input(self, title: str, placeholder: str = "", *, timeout_s: float | None = None) -> None:
        """None: nothing was written."""

    async def editor(self, title: str, prefill: str = "", *, timeout_s: float | None = None) -> None:
        """None: nothing was written."""

    async def custom(self, factory: Callable[..., Any], *, timeout_s: float | None = None) -> None:
        """None; the factory is not called."""

    def notify(self, message: str, kind: Kind = "info") -> None:
        """Nothing is shown."""

    def set_status(self, key: str, text: str | None) -> None:
        """Nothing is shown."""

    def set_editor_text(self, text: str) -> None:
        """There is no editor."""

    def get_editor_text(self) -> str:
        """The empty text."""
        return ""
