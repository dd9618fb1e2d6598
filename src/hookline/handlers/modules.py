"""The modules that are loaded: their commands, their renderers, and their failures."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from hookline.errors import HooklineError
from hookline.handlers.api import Command, Renderer
from hookline.handlers.context import CommandContext, PlainCommandContext, Surroundings
from hookline.handlers.importing import forget_module
from hookline.handlers.loader import LoadedModule, LoadError
from hookline.handlers.registration import HandlerError, is_async
from hookline.handlers.workers import Workers, call_on_thread
from hookline.hook import Hook

logger = logging.getLogger("hookline")


class UnknownCommandError(HooklineError):
    """No module has registered a command of this name."""


class HookError(Struct, frozen=True, kw_only=True):
    """A hook that failed at an event: the file it comes from, the event's name, and the error's text."""

    hook_path: str
    event: str
    error: str
    hook_id: str = ""


ErrorListener = Callable[[HookError], object]


class Modules:
    """
    The modules of an engine, in the order in which they were loaded.

    `errors` lists those that could not be loaded, with the reasons.
    """

    def __init__(self) -> None:
        self.loaded: tuple[LoadedModule, ...] = ()
        self.errors: tuple[LoadError, ...] = ()

    @property
    def hooks(self) -> list[Hook]:
        """What all of them have registered for events, in order."""
        return [hook for module in self.loaded for hook in module.registration.hooks]

    def replace(self, loaded: Iterable[LoadedModule], errors: Iterable[LoadError]) -> tuple[LoadedModule, ...]:
        """Let these modules count instead of those before; returns those that count no more."""
        before, self.loaded, self.errors = self.loaded, tuple(loaded), tuple(errors)
        return tuple(module for module in before if all(module is not kept for kept in self.loaded))

    def forget(self) -> None:
        """Let the code of all of them go as soon as nobody holds it."""
        for module in self.loaded:
            forget_module(module.module)

    def get_registered_commands(self) -> list[Command]:
        """All commands, in the order in which they were registered."""
        return [command for module in self.loaded for command in module.registration.commands]

    def get_command(self, name: str) -> Command | None:
        """The first command of this name."""
        return next((command for command in self.get_registered_commands() if command.name == name), None)

    def get_message_renderer(self, custom_type: str) -> Renderer | None:
        """The first renderer for messages of this type."""
        renderers = (pair for module in self.loaded for pair in module.registration.renderers)
        return next((renderer for known, renderer in renderers if known == custom_type), None)


async def run_command(
    modules: Modules, text: str, around: Surroundings, workers: Workers, *, session_id: str, cwd: str
) -> Any:
    """
    Run a command as a user typed it: its name up to the first whitespace, then its arguments.

    A slash before the name may be left out. A plain handler runs on a thread. Raises `UnknownCommandError`, and
    whatever the command raises; one that exits the interpreter raises `HandlerError`.
    """
    name, args = split_command(text)
    command = modules.get_command(name)
    if command is None:
        known = ", ".join(f"/{command.name}" for command in modules.get_registered_commands())
        raise UnknownCommandError(f"there is no command {name!r}; commands: {known or 'none'}")
    try:
        if is_async(command.handler):
            return await command.handler(args, CommandContext(around, session_id=session_id, cwd=cwd))
        plain = PlainCommandContext(around, asyncio.get_running_loop(), session_id=session_id, cwd=cwd)
        try:
            returned = await call_on_thread(lambda: command.handler(args, plain), workers)
        finally:
            plain.cancel_dialogs()
        return await returned if inspect.isawaitable(returned) else returned
    except SystemExit as error:
        raise HandlerError(f"the command {name!r} tried to exit the interpreter ({error})") from error


def split_command(text: str) -> tuple[str, str]:
    """The name of a command and, after the first whitespace, its arguments as they are."""
    text = text.lstrip().removeprefix("/")
    end = next((index for index, character in enumerate(text) if character.isspace()), len(text))
    return text[:end], text[end + 1 :]


def render_message(modules: Modules, message: Any, *, expanded: bool, theme: Any) -> Any:
    """What the first renderer for the message makes of it, None for the default rendering, also when it fails."""
    renderer = modules.get_message_renderer(message.custom_type)
    if renderer is None:
        return None
    try:
        return renderer(message, expanded, theme)
    except (
        Exception,
        SystemExit,
    ) as error:  # boundary: how a message looks must not end a host
        logger.warning("the renderer of %r failed; the message is shown as it is: %r", message.custom_type, error)
        return None
