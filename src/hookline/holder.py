"""What an engine holds: the hooks there are, what there is to know of them, and whom those in this process serve."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hookline.assembly import assemble
from hookline.catalogue import Catalogue, Meant, find_meant
from hookline.config.layers import Layers
from hookline.events import Event
from hookline.hook import Hook, LayerName, Settings
from hookline.hookset import HookSet
from hookline.outbox.store import OutboxStore
from hookline.outcome import Decision
from hookline.problem import Problem
from hookline.reloading import Opening, Reloaded, Reloader
from hookline.runners.agent import PromptRunner, Workflow
from hookline.runners.base import Runner
from hookline.waiting import run_in_thread

if TYPE_CHECKING:
    from hookline.attachment import Attachable
    from hookline.handlers.host import Host
    from hookline.handlers.modules import ErrorListener, Modules
    from hookline.handlers.typed import On, Remove
    from hookline.handlers.ui import UI
    from hookline.handling import Handling
    from hookline.watching import OnReload, Watch


class HookHolder:
    """The half of an engine that is about its hooks; the other half, `Engine`, runs them."""

    def __init__(
        self,
        layers: Layers,
        *,
        runner: Runner | None,
        outbox: OutboxStore | None,
        keeps_log: bool,
        host: Host | None,
        ui: UI | None,
        prompts: PromptRunner | None,
        opening: Opening | None,
        fire_failure: Callable[[Event], object],
    ) -> None:
        self._hooks = HookSet(layers)
        self._handling: Handling | None = None
        self._connections = (host, ui)
        self._lock = threading.Lock()
        self._parts = assemble(
            self._hooks,
            runner=runner,
            outbox=outbox,
            keeps_log=keeps_log,
            get_handling=lambda: self.handling,
            fire_failure=fire_failure,
        )
        self._parts.agents.prompts = prompts
        self._catalogue = Catalogue(self._hooks, self._parts)
        self._reloader = Reloader(
            self._hooks, self._parts.deliveries, opening=opening, find_handling=self._find_handling
        )

    def reload(self) -> Reloaded:
        """
        Read all hook files and modules anew, with the options of `open`; returns what that has changed.

        Everything counts from one instant on; an event under way keeps the hooks it started with. When it fails
        everything stays as it was. May be called from any thread; on an event loop use `areload`.
        """
        return self._reloader.reload()

    async def areload(self) -> Reloaded:
        """Reload without blocking the event loop."""
        return await run_in_thread(self.reload)

    def watch(self, on_reload: OnReload | None = None) -> Watch:
        """
        Reload from now on whenever a hook file changes, and tell `on_reload` what that has changed.

        Needs `hookline[watch]`. Returns what stops it; closing the engine does so too.
        """
        # Imported when it is wanted: it needs an extra.
        from hookline.watching import Watch  # noqa: PLC0415

        return Watch(self._reloader, on_reload)

    def _find_handling(self, layers: Layers) -> Handling | None:
        is_wanted = layers.modules.specs or layers.modules.refusals or self._handling is not None
        return self.handling if is_wanted else None

    @property
    def handling(self) -> Handling:
        """What concerns hooks in this process: handlers, modules, the host and the user."""
        with self._lock:
            if self._handling is None:
                # Imported when there is a handler: who has none need not pay for it.
                from hookline.handling import Handling  # noqa: PLC0415

                host, ui = self._connections
                self._handling = Handling(self._hooks, host=host, ui=ui, adopt=self._parts.background.adopt)
                self._parts.teller.listeners.append(self._handling.tell)
            return self._handling

    @property
    def on(self) -> On:
        """
        Attach a function: `engine.on(event, function)`, which returns what takes it off again, or `@engine.on(event)`.

        The function is called with the event and a context, and may be async. `tool_name`, `tool_kind` and
        `profile` narrow when it is meant; see `hookline.handlers.typed.Options` for all that can be said of it.
        Raises `UnknownEventError` for the name and `HandlerError` for what cannot be a handler.
        """
        return self.handling.on

    def on_error(self, listener: ErrorListener) -> Remove:
        """Have a function called with a `HookError` for every hook that fails; returns what takes it off again."""
        return self.handling.on_error(listener)

    def connect(self, *, host: Host | None = None, ui: UI | None = None) -> None:
        """Let handlers act on another host, or ask the user through another interface, from now on."""
        self.handling.connect(host, ui)

    @property
    def workflows(self) -> dict[str, Workflow]:
        """What workflows hooks may name; a host adds its own: functions, plain or async, from a `Task` to a text."""
        return self._parts.agents.workflows

    @property
    def modules(self) -> Modules:
        """The modules that are loaded, with their commands and renderers, and those that could not be loaded."""
        return self.handling.modules

    async def run_command(self, text: str, *, session_id: str = "", cwd: str = "") -> Any:
        """Run a module's command as a user typed it, `/name arguments`; raises what the command raises."""
        cwd = cwd or str(self._hooks.layers.project)
        return await self.handling.run_command(text, session_id=session_id, cwd=cwd)

    def attach(self, objects: Attachable, *, timeout_s: float | None = None) -> Remove:
        """
        Attach a hook object, or several in order, behind the hooks that are there; returns what takes them off again.

        They have `timeout_s` to answer, by default the setting `handler_timeout_seconds`; a `ShellHook` has its own
        limit. Raises `ConfigError` that says all that is wrong with them, an id that is taken too; then none counts.
        """
        return self.handling.objects.attach(objects, timeout_s=timeout_s)

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All loaded hooks, enabled or not, in the order in which they run."""
        return self._hooks.registry.hooks

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What loading found, everything that was left out included."""
        return self._reloader.problems

    @property
    def invalid(self) -> tuple[Problem, ...]:
        """The problems because of which something was left out."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def settings(self) -> Settings:
        """The settings of all layers together."""
        return self._hooks.registry.settings

    def listens(self, event_name: str) -> bool:
        """
        Whether an event of this name concerns anybody.

        Ask before building an event, so that an agent without hooks pays nothing for them.
        """
        return event_name in self._hooks.listened

    def match(self, event: Event) -> Meant:
        """The enabled hooks that an event is meant for as it stands; runs nothing."""
        return find_meant(self._hooks.registry, event)

    def find_hook(self, hook_id: str) -> Hook | None:
        """The first hook with this id, enabled or not; None when there is none."""
        return self._catalogue.find_hook(hook_id)

    def snapshot(self) -> dict[str, Any]:
        """What a page of hooks shows, as JSON data; reads files, so call it where nobody waits."""
        return self._catalogue.take_snapshot(self.invalid)

    def trigger(self, hook_id: str, *, cwd: str = "") -> Decision:
        """Start a hook by hand, disabled or not; `settle` waits for it. Raises `ConfigError` for an unknown id."""
        return self._catalogue.trigger(hook_id, cwd=cwd)

    def set_enabled(self, hook_id: str, *, is_enabled: bool, layer: LayerName | None = None) -> bool:
        """
        Switch a hook on or off, in its file and here; returns whether that changed the file.

        Raises `HooklineError` for a hook that is in no file of the user's, or cannot be switched in one place.
        """
        return self._catalogue.set_enabled(hook_id, is_enabled=is_enabled, layer=layer)
