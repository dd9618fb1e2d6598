"""The hooks of an engine: those of its layers, and those that modules and code have attached."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hookline.config.layers import Layers, reload_folders
from hookline.folders.history import drop_removed
from hookline.folders.spec import FolderSpec
from hookline.hook import HandlerAction, Hook, LayerName
from hookline.registry import Registry

logger = logging.getLogger("hookline")

_RANKS: Mapping[LayerName, int] = {"project": 0, "user": 1, "code": 2}


class HookSet:
    """
    Holds the registry that is used now and builds a new one when the hooks change.

    A registry never changes itself, so a dispatch under way is not disturbed. May be used from any thread.
    """

    def __init__(self, layers: Layers) -> None:
        self._lock = threading.RLock()
        self._attached: list[Hook] = []
        self.layers = layers
        self.registry = self._build()
        self.listened = self.registry.event_names

    @property
    def files(self) -> list[Path]:
        """The hook files that count."""
        return [loaded.file.path for loaded in self.layers.files if loaded.is_counted]

    def find_spec(self, hook: Hook) -> FolderSpec | None:
        """The spec of a hook folder's hook, None for other hooks and those that are gone."""
        return self.layers.folders.find_spec(hook)

    def refuse(self, hook: Hook) -> str | None:
        """Why a hook may not run: its project's hooks are no longer what was trusted."""
        snapshot = self.layers.snapshot
        # What a module was loaded from may change: what runs is what was trusted.
        if snapshot is None or hook.source.layer != "project" or isinstance(hook.action, HandlerAction):
            return None
        change = snapshot.find_change()
        return None if change is None else f"{change} has changed since you trusted it; see hookline trust"

    def attach(self, hook: Hook) -> Callable[[], None]:
        """Add a hook behind those of its layer; returns the function that takes it off again."""
        with self._lock:
            self._attached.append(hook)
            self._swap()
        return lambda: self._detach(hook)

    def _detach(self, hook: Hook) -> None:
        with self._lock:
            before = len(self._attached)
            self._attached = [known for known in self._attached if known is not hook]
            if len(self._attached) != before:
                self._swap()

    def free_id(self, wanted: str) -> str:
        """The id itself, or with a number behind it when a hook has it already."""
        with self._lock:
            taken = {hook.id for hook in self.registry.hooks}
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

    def reload_folders(self) -> None:
        """
        Read the user's hook folders again and use what they hold now; what those that are gone remember is removed.

        Reading and swapping are one, so that the newest content stands however many reload at once.
        """
        with self._lock:
            before = self.layers.folders
            self.use(reload_folders(self.layers))
            if before.path is not None:
                for error in drop_removed(before.path, before.loaded, self.layers.folders.loaded):
                    logger.warning("%s", error)

    def _swap(self) -> None:
        registry = self._build()
        self.registry, self.listened = registry, registry.event_names

    def _build(self) -> Registry:
        layers = self.layers
        hooks = _in_order([*layers.hooks, *self._attached])
        return Registry(hooks, closures=layers.closures, settings=layers.settings)


def _in_order(hooks: Iterable[Hook]) -> list[Hook]:
    return sorted(hooks, key=lambda hook: _RANKS[hook.source.layer])
