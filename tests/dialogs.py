"""A user interface that the tests answer by hand, one dialog after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from hookline.handlers.ui import HeadlessUI
from waiting import wait_until


class ManualUI(HeadlessUI):
    """Dialogs stay open until `answer` is called; `open` lists them, `history` all that ever were."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.history: list[str] = []
        self.limits: list[float | None] = []
        self.told: list[tuple[Any, ...]] = []
        self.text = ""
        self._answers: dict[str, asyncio.Future[Any]] = {}

    @property
    def is_interactive(self) -> bool:
        return True

    async def wait_for(self, title: str) -> None:
        """Wait until the dialog with this title is open."""
        await wait_until(lambda: title in self.open, f"the dialog {title!r} was opened")

    def answer(self, title: str, value: Any) -> None:
        """Answer an open dialog; an exception is raised in it."""
        future = self._answers[title]
        if isinstance(value, BaseException):
            future.set_exception(value)
        else:
            future.get_loop().call_soon_threadsafe(future.set_result, value)

    def withdraw(self, title: str) -> None:
        """Cancel the future that an open dialog waits for, as an interface does that is torn down."""
        self._answers[title].cancel()

    async def _show(self, title: str, timeout_s: float | None) -> Any:
        self.open.append(title)
        self.history.append(title)
        self.limits.append(timeout_s)
        self._answers[title] = asyncio.get_running_loop().create_future()
        try:
            return await self._answers[title]
        finally:
            self.open.remove(title)

    async def select(self, title: str, options: Sequence[str], *, timeout_s: float | None = None) -> Any:
        return await self._show(title, timeout_s)

    async def confirm(self, title: str, message: str, *, timeout_s: float | None = None) -> Any:
        return await self._show(title, timeout_s)

    async def input(self, title: str, placeholder: str = "", *, timeout_s: float | None = None) -> Any:
        return await self._show(title, timeout_s)

    async def editor(self, title: str, prefill: str = "", *, timeout_s: float | None = None) -> Any:
        return await self._show(title, timeout_s)

    async def custom(self, factory: Callable[..., Any], *, timeout_s: float | None = None) -> Any:
        return await factory()

    def notify(self, message: str, kind: str = "info") -> None:
        self.told.append(("notify", message, kind))

    def set_status(self, key: str, text: str | None) -> None:
        self.told.append(("status", key, text))

    def set_editor_text(self, text: str) -> None:
        self.text = text

    def get_editor_text(self) -> str:
        return self.text
