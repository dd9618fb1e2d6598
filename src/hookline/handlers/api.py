"""What a module gets: the object its `hook(api)` registers handlers, commands and renderers with."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from msgspec import Struct

from hookline.handlers.exec import ExecResult, Signal, exec_command
from hookline.handlers.host import CustomMessage, DeliverAs, Host
from hookline.handlers.registration import HandlerError, make_handler, place_of
from hookline.handlers.typed import On, Remove
from hookline.hook import Hook, LayerName, Settings
from hookline.problem import Place

Renderer = Callable[[CustomMessage, bool, Any], Any]
"""Shows a message: `(message, expanded, theme)` to text or something rich can show; None for the default."""

CommandHandler = Callable[[str, Any], Any | Awaitable[Any]]
"""Does a command: `(args, context)`."""


class Command(Struct, frozen=True, kw_only=True):
    """A slash command of a module; `origin` is the file it comes from."""

    name: str
    handler: CommandHandler
    description: str
    origin: str


class Engine(Protocol):
    """What modules need of the engine they are loaded into."""

    @property
    def host(self) -> Host:
        """The host, for messages and entries."""

    def attach(self, hook: Hook) -> Remove:
        """Add a hook behind those of its layer."""

    def detach(self, hook: Hook) -> None:
        """Take a hook off again."""


class Registration:
    """
    What one module has registered.

    Until `join`, which happens when its `hook(api)` has returned, nothing of it counts anywhere.
    """

    def __init__(self, path: Path, layer: LayerName, settings: Settings, *, timeout_s: float | None = None) -> None:
        self.path = path
        self.layer = layer
        self.settings = settings
        self.timeout_s = timeout_s
        self.hooks: list[Hook] = []
        self.commands: list[Command] = []
        self.renderers: list[tuple[str, Renderer]] = []
        self.is_over = False
        self._counts: dict[str, int] = {}
        self._engine: Engine | None = None

    def add(self, event: str, function: Any, options: Mapping[str, Any]) -> Remove:
        """Register a handler; returns the function that takes it off again."""
        self.check_alive()
        options = {"timeout_s": self.timeout_s, **options}
        hook_id = options.pop("id", None) or self._next_id(event)
        place = place_of(function)
        hook = make_handler(
            event,
            function,
            hook_id=hook_id,
            origin=str(self.path),
            layer=self.layer,
            place=place if place.path == self.path else Place(path=self.path),
            settings=self.settings,
            **options,
        )
        self.hooks.append(hook)
        if self._engine is not None:
            self._engine.attach(hook)
        return functools.partial(self._take_back, hook)

    def _next_id(self, event: str) -> str:
        self._counts[event] = count = self._counts.get(event, 0) + 1
        return f"{self.path.stem}:{event}" if count == 1 else f"{self.path.stem}:{event}#{count}"

    def _take_back(self, hook: Hook) -> None:
        if any(known is hook for known in self.hooks):
            self.hooks = [known for known in self.hooks if known is not hook]
            if self._engine is not None:
                self._engine.detach(hook)

    def require_engine(self, action: str) -> Engine:
        """The engine; raises `HandlerError` while the module is being loaded."""
        self.check_alive()
        if self._engine is None:
            raise HandlerError(f"{action} does not work while the module is loaded; call it in a handler or a command")
        return self._engine

    def check_alive(self) -> None:
        """Raises `HandlerError` when the module has been unloaded."""
        if self.is_over:
            raise HandlerError(f"the module {self.path} has been unloaded, so it can register nothing any more")

    def join(self, engine: Engine) -> None:
        """Let what is registered from now on count at once; the engine has taken up what was registered before."""
        self._engine = engine

    def leave(self) -> None:
        """Forget everything that was registered, and refuse more; the engine takes off what it had taken up."""
        self.is_over = True
        self._engine = None
        self.hooks, self.commands, self.renderers = [], [], []


class HookAPI:
    """What `hook(api)` is called with."""

    def __init__(self, registration: Registration) -> None:
        self._registration = registration
        self.on: On = cast("On", self._on)

    def _on(self, event: str, handler: Any = None, **options: Any) -> Any:
        if handler is not None:
            return self._registration.add(event, handler, options)

        def register(function: Any) -> Any:
            self._registration.add(event, function, options)
            return function

        return register

    def send_message(
        self,
        message: CustomMessage | Mapping[str, Any],
        *,
        trigger_turn: bool = False,
        deliver_as: DeliverAs = "steer",
    ) -> None:
        """
        Keep a message in the session and show it to the model.

        It holds `custom_type`, `content`, `display` and `details`. `steer` reaches a working agent before its next
        model call, `follow_up` once it has finished. Raises `HandlerError` while the module is loaded.
        """
        engine = self._registration.require_engine("send_message")
        engine.host.send_message(CustomMessage.from_value(message), trigger_turn=trigger_turn, deliver_as=deliver_as)

    def append_entry(self, custom_type: str, data: Any = None) -> None:
        """Keep data in the session that the model never sees; raises `HandlerError` while the module is loaded."""
        self._registration.require_engine("append_entry").host.append_entry(custom_type, data)

    def register_command(self, name: str, handler: CommandHandler, *, description: str = "") -> Remove:
        """Offer a slash command; of several with one name the first that was loaded is used."""
        self._registration.check_alive()
        if not isinstance(name, str) or not name or any(character.isspace() for character in name):
            raise HandlerError(f"a command's name must be a text without blanks, not {name!r}")
        if not callable(handler):
            raise HandlerError(f"the handler of command {name!r} must be a function, not {handler!r}")
        command = Command(
            name=name.removeprefix("/"),
            handler=handler,
            description=description,
            origin=str(self._registration.path),
        )
        return _add_to(self._registration.commands, command)

    def register_message_renderer(self, custom_type: str, renderer: Renderer) -> Remove:
        """Show messages of this type by a function of the module; of several for one type the first is used."""
        self._registration.check_alive()
        if not callable(renderer):
            raise HandlerError(f"the renderer of {custom_type!r} must be a function, not {renderer!r}")
        return _add_to(self._registration.renderers, (custom_type, renderer))

    async def exec(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        cwd: str | None = None,
        timeout: float | None = None,  # the documented name
        signal: Signal | None = None,
    ) -> ExecResult:
        """Run a program without a shell; see `hookline.handlers.exec.exec_command`."""
        return await exec_command(command, args, cwd=cwd, timeout=timeout, signal=signal)


def _add_to(items: list[Any], item: Any) -> Remove:
    items.append(item)

    def remove() -> None:
        if item in items:
            items.remove(item)

    return remove
