"""The part of an engine that concerns hooks in this process: loading modules, calling handlers, telling of failures."""

from __future__ import annotations

import functools
import logging
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from hookline.config.layers import Layers
from hookline.config.memory import GuardMemory
from hookline.config.trust import find_guards
from hookline.errors import ConfigError
from hookline.events import Event
from hookline.handlers.context import Surroundings, make_context
from hookline.handlers.host import Host, UnwiredHost
from hookline.handlers.loader import LoadedModule, LoadError, Loading, load_modules
from hookline.handlers.modules import ErrorListener, HookError, Modules, render_message, run_command
from hookline.handlers.registration import make_handler, name_of, place_of
from hookline.handlers.surface import HandlerUI
from hookline.handlers.typed import On, Remove
from hookline.handlers.ui import UI, HeadlessUI
from hookline.hook import HandlerAction, Hook, Settings
from hookline.hookset import HookSet
from hookline.outcome import Failure, Run
from hookline.problem import Place, Problem
from hookline.registry import Closure
from hookline.runners.handler import HandlerRunner

logger = logging.getLogger("hookline")


class PreparedModules(Struct, frozen=True, kw_only=True):
    """
    Modules that are loaded and wait to be taken: all that will count, and how loading the new ones went.

    `closures` are the gates that modules guarded that cannot be loaded any more.
    """

    modules: tuple[LoadedModule, ...]
    loading: Loading
    problems: tuple[Problem, ...]
    closures: tuple[Closure, ...]

    def discard(self) -> None:
        """Forget those that are new."""
        for module in self.loading.modules:
            module.unload()


class Handling:
    """Modules, handlers from code, and who wants to hear of failures."""

    def __init__(self, hooks: HookSet, *, host: Host | None, ui: UI | None) -> None:
        self._hooks = hooks
        self._listeners: list[ErrorListener] = []
        self.modules = Modules()
        self.around = Surroundings(host=host or UnwiredHost(), ui=HandlerUI(ui or HeadlessUI()))
        self.runner = HandlerRunner(lambda event, is_async: make_context(self.around, event, is_async=is_async))
        self.on: On = cast("On", self._on)

    @property
    def host(self) -> Host:
        """What modules act on."""
        return self.around.host

    def connect(self, host: Host | None, ui: UI | None) -> None:
        """Use another host or user interface from now on."""
        self.around = replace(
            self.around,
            host=self.around.host if host is None else host,
            ui=self.around.ui if ui is None else HandlerUI(ui),
        )

    def attach(self, hook: Hook) -> Remove:
        """Add a hook behind those of its layer."""
        return self._hooks.attach(hook)

    def _on(self, event: str, handler: Any = None, **options: Any) -> Any:
        if handler is not None:
            return self._register(event, handler, options)

        def register(function: Any) -> Any:
            self._register(event, function, options)
            return function

        return register

    def _register(self, event: str, function: Any, options: dict[str, Any]) -> Remove:
        options = dict(options)
        place = place_of(function)
        hook = make_handler(
            event,
            function,
            hook_id=self._hooks.free_id(options.pop("id", None) or name_of(function)),
            origin=str(place),
            layer="code",
            place=place,
            settings=self._hooks.layers.settings,
            **options,
        )
        return self._hooks.attach(hook)

    def prepare(self, layers: Layers) -> PreparedModules:
        """
        Load the modules of these layers, which count only once they are taken; what has not changed is kept.

        Raises `ConfigError` for one that is required and cannot be loaded.
        """
        specs, settings = layers.modules.specs, layers.settings
        kept = {module.spec: module for module in self.modules.loaded if _is_current(module, settings)}
        loading = load_modules([spec for spec in specs if spec not in kept], settings)
        fresh = {module.spec: module for module in loading.modules}
        prepared = PreparedModules(
            modules=tuple(found for spec in specs if (found := kept.get(spec) or fresh.get(spec)) is not None),
            loading=loading,
            problems=tuple(_to_problem(error) for error in loading.errors),
            closures=tuple(closure for error in loading.errors for closure in self._close(error)),
        )
        required = [error for error in loading.errors if error.spec.is_required]
        if required:
            prepared.discard()
            raise ConfigError(f"a module that is required cannot be loaded: {required[0].text}")
        return prepared

    def take(self, prepared: PreparedModules) -> None:
        """Let prepared modules count instead of those before."""
        self.modules.replace(prepared.modules, prepared.loading.errors, self)
        self._hooks.arrange([hook for module in prepared.modules for hook in module.registration.hooks])
        self._remember(prepared.loading.modules)

    def _memory(self) -> GuardMemory:
        return GuardMemory(self._hooks.layers.homes["native"])

    def _remember(self, modules: tuple[LoadedModule, ...]) -> None:
        """Note what modules guard, since nothing but running them tells."""
        for module in modules:
            self._memory().remember(module.spec.path, find_guards(module.registration.hooks))

    def _close(self, error: LoadError) -> list[Closure]:
        return [
            Closure(
                event=guard.event,
                hook_id=guard.hook_id,
                reason=(
                    f"{guard.event} was guarded by hook {guard.hook_id!r} of the module {error.path}, which cannot be "
                    f"loaded now ({error.text}): mend it, or take it out"
                ),
            )
            for guard in self._memory().recall(error.path)
        ]

    def on_error(self, listener: ErrorListener) -> Remove:
        """Have a function called with a `HookError` for every hook that fails; returns what takes it off again."""
        self._listeners.append(listener)
        return functools.partial(self._forget, listener)

    def _forget(self, listener: ErrorListener) -> None:
        self._listeners = [known for known in self._listeners if known is not listener]

    def tell(self, run: Run, event: Event) -> None:
        """Tell the listeners of a failed run; one that raises disturbs nothing."""
        assert isinstance(run.outcome, Failure)
        error = describe_error(run, event)
        for listener in tuple(self._listeners):
            try:
                listener(error)
            except Exception as mistake:  # boundary: a listener is the host's code
                logger.warning("a listener for errors of hooks raised %r", mistake)

    async def run_command(self, text: str, *, session_id: str, cwd: str) -> Any:
        """Run a command of a module, as a user typed it."""
        return await run_command(self.modules, text, self.around, session_id=session_id, cwd=cwd)

    def render(self, message: Any, *, expanded: bool) -> Any:
        """What a module's renderer makes of a message, None for the default rendering."""
        return render_message(self.modules, message, expanded=expanded, theme=self.around.ui.theme)

    def close(self) -> None:
        """Unload all modules, and end the threads of handlers."""
        self.modules.unload()
        self.runner.close()


def _is_current(module: LoadedModule, settings: Settings) -> bool:
    """Whether a module need not be loaded anew; its handlers got their time limits from the settings."""
    return module.is_current() and module.registration.settings.handler_timeout_s == settings.handler_timeout_s


def describe_error(run: Run, event: Event) -> HookError:
    """A failed run for those who listen to failures."""
    assert isinstance(run.outcome, Failure)
    action = run.hook.action
    is_handler = isinstance(action, HandlerAction)
    return HookError(
        hook_path=action.origin if isinstance(action, HandlerAction) else str(run.hook.source.place.path),
        event=event.type.aliases.get("xcsh", event.name) if is_handler else event.name,
        error=run.outcome.message,
        hook_id=run.hook.id,
    )


def _to_problem(error: LoadError) -> Problem:
    return Problem(
        severity="error",
        code="module-failed",
        message=f"the module could not be loaded, so none of its hooks runs: {error.text}",
        place=Place(path=error.path, line=error.line, column=1 if error.line else 0),
        cure="mend it, or take it out",
    )
