"""The hooks of an engine: those of its layers, and those that modules and code have attached."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from hookline.config.file import LoadedFile
from hookline.config.layers import Layers, reload_folders
from hookline.events import EVENT_TYPES
from hookline.folders.history import drop_removed
from hookline.folders.spec import FolderSpec
from hookline.hook import HandlerAction, Hook, LayerName, Settings
from hookline.registry import Closure, Registry

logger = logging.getLogger("hookline")

_RANKS: Mapping[LayerName, int] = {"project": 0, "user": 1, "code": 2}


class HookSet:
    """
    Holds the registry that is used now and builds a new one when it is asked for after the hooks have changed.

    A registry never changes itself, so a dispatch under way is not disturbed. `listened` are the names of the events
    that concern anybody. May be used from any thread.
    """

    def __init__(self, layers: Layers) -> None:
        self._lock = threading.RLock()
        self._attached: list[Hook] = []
        self._closures: tuple[Closure, ...] = ()
        self._is_changing = False
        self.layers = layers
        # What was trusted last: a dispatch that started with it runs nothing else, whatever is loaded meanwhile.
        self._snapshot = layers.snapshot
        # Of all dialects that there have been: such a dispatch may still need them.
        self.homes = dict(layers.homes)
        self._registry: Registry | None = self._build()
        self._hear(self._registry.event_names)

    def _hear(self, names: Iterable[str]) -> None:
        """Note which events concern anybody; by their records too, which is how `fire` asks."""
        self.listened = frozenset(names)
        self.heard = frozenset(row.record for row in EVENT_TYPES if row.name in self.listened)

    @property
    def registry(self) -> Registry:
        """The index over all hooks as they are now."""
        registry = self._registry
        if registry is None:
            with self._lock:
                registry = self._registry = self._registry or self._build()
        return registry

    @property
    def files(self) -> list[Path]:
        """The hook files that count and say all they have to say, so that a hook that is missing there is gone."""
        return [loaded.file.path for loaded in self.layers.files if loaded.is_counted and not _is_faulty(loaded)]

    def find_spec(self, hook: Hook) -> FolderSpec | None:
        """The spec of a hook folder's hook, None for other hooks and those that are gone."""
        return self.layers.folders.find_spec(hook)

    def find_refusal(self, hook: Hook) -> str | None:
        """Why a hook may not run: its project's hooks are no longer what was trusted."""
        # What a module was loaded from may change: what runs is what was trusted.
        if self._snapshot is None or hook.source.layer != "project" or isinstance(hook.action, HandlerAction):
            return None
        change = self._snapshot.find_change()
        return None if change is None else f"{change} has changed since you trusted it; see hookline trust"

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Let all changes of the block count at once, when it ends; none of them does if it fails."""
        with self._lock:
            before = self.layers, self._attached, self._closures
            self._attached = [*self._attached]
            # Whoever asks for it meanwhile gets the one there was.
            self._registry = self.registry
            self._is_changing = True
            try:
                yield
                self._is_changing = False
                self._swap()
            except BaseException:
                self.layers, self._attached, self._closures = before
                raise
            finally:
                self._is_changing = False

    def attach(self, hook: Hook) -> Callable[[], None]:
        """Add a hook behind those of its layer; returns the function that takes it off again."""
        return self.attach_made(lambda taken, settings: (hook,))

    def attach_made(self, make: Callable[[frozenset[str], Settings], Sequence[Hook]]) -> Callable[[], None]:
        """
        Add the hooks that `make` makes, behind those of their layers; returns the function that takes them off again.

        `make` is told the ids that are taken; when it raises, everything stays as it was.
        """
        with self._lock:
            hooks = tuple(make(self._read_ids(), self.layers.settings))
            self._attached += hooks
            if not self._is_changing:
                # A thousand hooks attached one by one are indexed once.
                self._registry = None
                self._hear({*self.listened, *(hook.event for hook in hooks if hook.enabled)})
        return lambda: self._detach(hooks)

    def detach(self, hook: Hook) -> None:
        """Take a hook off again; one that is not attached is let be."""
        self._detach((hook,))

    def _detach(self, hooks: tuple[Hook, ...]) -> None:
        gone = {id(hook) for hook in hooks}
        with self._lock:
            before = len(self._attached)
            self._attached = [known for known in self._attached if id(known) not in gone]
            if len(self._attached) != before:
                self._swap()

    def _read_ids(self) -> frozenset[str]:
        return frozenset(hook.id for hook in (*self.layers.hooks, *self._attached))

    def exchange(self, before: Sequence[Hook], after: Sequence[Hook]) -> None:
        """Put the hooks of modules in the place of those before, ahead of all others that are attached, in one step."""
        with self._lock:
            gone = {id(hook) for hook in (*before, *after)}
            self._attached = [*after, *(known for known in self._attached if id(known) not in gone)]
            self._swap()

    def close_for_modules(self, closures: Iterable[Closure]) -> None:
        """Close the gates that modules guarded which are missing now, instead of those that were told before."""
        with self._lock:
            self._closures = tuple(closures)
            self._swap()

    def free_id(self, wanted: str) -> str:
        """The id itself, or with a number behind it when a hook has it already."""
        with self._lock:
            taken = self._read_ids()
        number = 1
        found = wanted
        while found in taken:
            number += 1
            found = f"{wanted}#{number}"
        return found

    def use(self, layers: Layers) -> None:
        """Use other layers from now on; what is attached stays."""
        with self._lock:
            self.layers = layers
            self._swap()

    def drop_removed(self, before: Layers) -> None:
        """Remove what hook folders remember that are gone since these layers."""
        if before.folders.path is not None and before.folders.path == self.layers.folders.path:
            for error in drop_removed(before.folders.path, before.folders.loaded, self.layers.folders.loaded):
                logger.warning("%s", error)

    def reload_folders(self) -> None:
        """
        Read the user's hook folders again and use what they hold now; what those that are gone remember is removed.

        Reading and swapping are one, so that the newest content stands however many reload at once.
        """
        with self._lock:
            before = self.layers
            self.use(reload_folders(before))
            self.drop_removed(before)

    def _swap(self) -> None:
        if self._is_changing:
            return
        self.homes |= self.layers.homes
        self._snapshot = self.layers.snapshot or self._snapshot
        self._registry = registry = self._build()
        self._hear(registry.event_names)

    def _build(self) -> Registry:
        layers = self.layers
        hooks = _in_order([*layers.hooks, *self._attached])
        return Registry(hooks, closures=(*layers.closures, *self._closures), settings=layers.settings)


def _is_faulty(loaded: LoadedFile) -> bool:
    return loaded.is_broken or any(problem.severity == "error" for problem in loaded.reading.problems)


def _in_order(hooks: Iterable[Hook]) -> list[Hook]:
    return sorted(hooks, key=lambda hook: _RANKS[hook.source.layer])
