"""The part of an engine that concerns hooks in this process: loading modules, calling handlers, telling of failures."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from hookline.config.layers import Layers
from hookline.config.memory import GuardMemory, close_module
from hookline.config.trust import find_guards
from hookline.errors import ConfigError
from hookline.events import Event
from hookline.handlers.context import Surroundings, make_context
from hookline.handlers.host import Host, UnwiredHost
from hookline.handlers.loader import LoadedModule, LoadError, Loading, load_modules
from hookline.handlers.modules import ErrorListener, HookError, Modules, render_message, run_command
from hookline.handlers.registration import HandlerError, is_async, make_handler, name_of, place_of
from hookline.handlers.surface import HandlerUI
from hookline.handlers.typed import On, Remove
from hookline.handlers.ui import UI, HeadlessUI
from hookline.hook import HandlerAction, Hook, ModuleSpec, ObjectAction, Settings
from hookline.hookset import HookSet
from hookline.outcome import Failure, Run
from hookline.problem import Place, Problem
from hookline.process.child import Child
from hookline.registry import Closure
from hookline.runners.handler import HandlerRunner

if TYPE_CHECKING:
    from hookline.attachment import Attachments

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
    """Modules, handlers and objects from code, and who wants to hear of failures."""

    def __init__(
        self, hooks: HookSet, *, host: Host | None, ui: UI | None, adopt: Callable[[Child, str], None]
    ) -> None:
        self._hooks = hooks
        self._listeners: list[ErrorListener] = []
        self._added: list[LoadedModule] = []
        self.modules = Modules()
        self.around = Surroundings(host=host or UnwiredHost(), ui=HandlerUI(ui or HeadlessUI()))
        self.runner = HandlerRunner(lambda event, is_async: make_context(self.around, event, is_async=is_async))
        self._adopt = adopt
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

    def detach(self, hook: Hook) -> None:
        """Take a hook off again."""
        self._hooks.detach(hook)

    @functools.cached_property
    def objects(self) -> Attachments:
        """What concerns hook objects."""
        # Imported when there is one: handlers need neither their records nor their patterns.
        from hookline.attachment import Attachments  # noqa: PLC0415

        return Attachments(self._hooks, adopt=self._adopt)

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
        if layers.modules.refusals:
            raise ConfigError(f"a module that is required cannot be loaded: {layers.modules.refusals[0]}")
        specs, settings = layers.modules.specs, layers.settings
        kept = {module.spec: module for module in self.modules.loaded if _is_current(module, settings)}
        loading = load_modules([spec for spec in specs if spec not in kept], settings)
        _check_required(loading)
        fresh = {module.spec: module for module in loading.modules}
        return PreparedModules(
            modules=tuple(found for spec in specs if (found := kept.get(spec) or fresh.get(spec)) is not None),
            loading=loading,
            problems=tuple(_to_problem(error) for error in loading.errors),
            closures=tuple(closure for error in loading.errors for closure in _close(error, layers)),
        )

    def take(self, prepared: PreparedModules) -> None:
        """Let prepared modules count instead of those before; a gate of one that cannot be loaded stays closed."""
        self._remember(prepared.loading.modules)
        self._hooks.close_for_modules(prepared.closures)
        self._exchange([*prepared.modules, *self._added], prepared.loading.errors, prepared.loading.modules)

    def add(self, specs: Sequence[ModuleSpec]) -> Loading:
        """
        Load modules besides those of the layers; they stay whatever the layers say later.

        Raises `ConfigError` for one that is required, and then none of them is loaded.
        """
        loading = load_modules(specs, self._hooks.layers.settings)
        _check_required(loading)
        self._added += loading.modules
        errors = (*self.modules.errors, *loading.errors)
        self._exchange([*self.modules.loaded, *loading.modules], errors, loading.modules)
        return loading

    def _exchange(
        self, modules: Sequence[LoadedModule], errors: Sequence[LoadError], fresh: Sequence[LoadedModule]
    ) -> None:
        """Let these modules count instead of those before, in one step for whoever fires an event meanwhile."""
        before = self.modules.hooks
        gone = self.modules.replace(modules, errors)
        for module in fresh:
            module.registration.join(self)
        self._hooks.exchange(before, self.modules.hooks)
        for module in gone:
            module.unload()

    def _remember(self, modules: tuple[LoadedModule, ...]) -> None:
        """Note what modules guard, since nothing but running them tells."""
        memory = GuardMemory(self._hooks.layers.homes["native"])
        for module in modules:
            memory.remember(module.spec.path, find_guards(module.registration.hooks))

    def on_error(self, listener: ErrorListener) -> Remove:
        """
        Have a function called with a `HookError` for every hook that fails; returns what takes it off again.

        It is called on the thread that the run ended on, and must not wait. Raises `HandlerError` for one that is
        async, which nobody would await.
        """
        if not callable(listener) or is_async(listener):
            raise HandlerError(f"a listener for errors must be a plain function of one HookError, not {listener!r}")
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
        workers = self.runner.workers
        return await run_command(self.modules, text, self.around, workers, session_id=session_id, cwd=cwd)

    def render(self, message: Any, *, expanded: bool) -> Any:
        """What a module's renderer makes of a message, None for the default rendering."""
        return render_message(self.modules, message, expanded=expanded, theme=self.around.ui.theme)

    def close(self) -> None:
        """Forget the code of all modules; what they guard stays closed, since nobody can be asked any more."""
        self.modules.forget()
        self.runner.close()


def _close(error: LoadError, layers: Layers) -> list[Closure]:
    return close_module(error.path, error.text, layers.homes["native"]) if layers.closes_broken else []


def _is_current(module: LoadedModule, settings: Settings) -> bool:
    """Whether a module need not be loaded anew; its handlers got their time limits from the settings."""
    return module.is_current() and module.registration.settings.handler_timeout_s == settings.handler_timeout_s


def _check_required(loading: Loading) -> None:
    """Raise `ConfigError` if a module is missing that is required, and leave nothing of the others."""
    required = [error for error in loading.errors if error.spec.is_required]
    if required:
        for module in loading.modules:
            module.unload()
        raise ConfigError(f"a module that is required cannot be loaded: {required[0].text}")


def describe_error(run: Run, event: Event) -> HookError:
    """A failed run for those who listen to failures."""
    assert isinstance(run.outcome, Failure)
    action = run.hook.action
    is_code = isinstance(action, HandlerAction | ObjectAction)
    return HookError(
        hook_path=action.origin if isinstance(action, HandlerAction) else str(run.hook.source.place.path),
        event=event.type.aliases.get(run.hook.source.dialect, event.name) if is_code else event.name,
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
