"""What a handler gets beside its event: the user, the session, and what the host can do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hookline.events import Event
from hookline.handlers.blocking import BlockingUI
from hookline.handlers.host import Host, SessionView, Setup
from hookline.handlers.surface import HandlerUI

T = TypeVar("T")


class Surroundings(Struct, frozen=True, kw_only=True):
    """What all handlers of an engine share."""

    host: Host
    ui: HandlerUI


class _Context:
    """What the contexts of async and of plain handlers have in common."""

    __slots__ = ("_around", "_cwd", "_session_id")

    def __init__(self, around: Surroundings, *, session_id: str, cwd: str) -> None:
        self._around = around
        self._session_id = session_id
        self._cwd = cwd

    @property
    def has_ui(self) -> bool:
        """Whether there is a user to ask."""
        return self._around.ui.is_interactive

    @property
    def cwd(self) -> str:
        """The session's working directory."""
        return self._cwd

    @property
    def session(self) -> SessionView:
        """The session: its id, file and entries, to be read only."""
        view = self._around.host.session
        return view if view.id else replace(view, id=self._session_id)

    @property
    def models(self) -> Sequence[Any]:
        """The models that the host can use."""
        return self._around.host.models

    @property
    def model(self) -> Any:
        """The model in use now."""
        return self._around.host.model

    def is_idle(self) -> bool:
        """Whether the agent is at rest."""
        return self._around.host.is_idle()

    def abort(self) -> None:
        """End what the agent is doing; raises `NotWiredError` where the host cannot."""
        self._around.host.abort()

    def has_queued_messages(self) -> bool:
        """Whether messages wait for the agent."""
        return self._around.host.has_queued_messages()


class Context(_Context):
    """The context of async handlers: dialogs are awaited."""

    __slots__ = ()

    @property
    def ui(self) -> HandlerUI:
        """The user."""
        return self._around.ui


class PlainContext(_Context):
    """The context of plain handlers, which run on a thread of their own: dialogs return their answers."""

    __slots__ = ("_loop", "_ui")

    def __init__(self, around: Surroundings, loop: asyncio.AbstractEventLoop, *, session_id: str, cwd: str) -> None:
        super().__init__(around, session_id=session_id, cwd=cwd)
        self._loop = loop
        self._ui = BlockingUI(around.ui, loop)

    @property
    def ui(self) -> BlockingUI:
        """The user."""
        return self._ui

    def cancel_dialogs(self) -> None:
        """End the dialogs that are waited for: the event is over."""
        self._ui.cancel()


class CommandContext(Context):
    """The context of async commands, which may also wait for the agent and change sessions."""

    __slots__ = ()

    async def wait_for_idle(self) -> None:
        """Return when the agent is at rest."""
        await self._around.host.wait_for_idle()

    async def new_session(self, *, parent_session: str | None = None, setup: Setup | None = None) -> bool:
        """Open a new session, filled by `setup` first; False when a handler cancelled it."""
        return await self._around.host.new_session(parent_session=parent_session, setup=setup)

    async def branch(self, entry_id: str) -> bool:
        """Open a new session that shares the entries up to this one; False when a handler cancelled it."""
        return await self._around.host.branch(entry_id)

    async def navigate_tree(self, target_id: str, *, summarize: bool = False) -> bool:
        """Go to another entry of this session; False when a handler cancelled it."""
        return await self._around.host.navigate_tree(target_id, summarize=summarize)


class PlainCommandContext(PlainContext):
    """The context of plain commands, whose calls return when they are done."""

    __slots__ = ()

    def wait_for_idle(self) -> None:
        """Return when the agent is at rest."""
        self._wait(self._around.host.wait_for_idle())

    def new_session(self, *, parent_session: str | None = None, setup: Setup | None = None) -> bool:
        """Open a new session, filled by `setup` first; False when a handler cancelled it."""
        return self._wait(self._around.host.new_session(parent_session=parent_session, setup=setup))

    def branch(self, entry_id: str) -> bool:
        """Open a new session that shares the entries up to this one; False when a handler cancelled it."""
        return self._wait(self._around.host.branch(entry_id))

    def navigate_tree(self, target_id: str, *, summarize: bool = False) -> bool:
        """Go to another entry of this session; False when a handler cancelled it."""
        return self._wait(self._around.host.navigate_tree(target_id, summarize=summarize))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def make_context(around: Surroundings, event: Event, *, is_async: bool) -> Context | PlainContext:
    """The context of handlers that are called for an event, made on the loop that it is fired on."""
    if is_async:
        return Context(around, session_id=event.session_id, cwd=event.cwd)
    return PlainContext(around, asyncio.get_running_loop(), session_id=event.session_id, cwd=event.cwd)
