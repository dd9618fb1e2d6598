"""The hooks of an engine: those of its layers, and those that modules and code have attached."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from hookline.config.file import LoadedFile
from hookline.config.layers import Layers
from hookline.hook import HandlerAction, Hook, LayerName
from hookline.registry import Registry

_RANKS: Mapping[LayerName, int] = {"project": 0, "user": 1, "code": 2}


class HookSet:
    """
    Holds the registry that is used now and builds a new one when the hooks change.

    A registry never changes itself, so a dispatch under way is not disturbed. May be used from any thread.
    """

    def __init__(self, layers: Layers) -> None:
        self._lock = threading.RLock()
        self._attached: list[Hook] = []
        self._is_changing = False
        self.layers = layers
        # What was trusted last: a dispatch that started with it runs nothing else, whatever is loaded meanwhile.
        self._snapshot = layers.snapshot
        # Of all dialects that there have been: such a dispatch may still need them.
        self.homes = dict(layers.homes)
        self.registry = self._build()
        self.listened = self.registry.event_names

    @property
    def files(self) -> list[Path]:
        """The hook files that count and say all they have to say, so that a hook that is missing there is gone."""
        return [loaded.file.path for loaded in self.layers.files if loaded.is_counted and not _is_faulty(loaded)]

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Let all changes of the block count at once, when it ends; none of them does if it fails."""
        with self._lock:
            before = self.layers, self._attached
            self._attached = [*self._attached]
            self._is_changing = True
            try:
                yield
                self._is_changing = False
                self._swap()
            except BaseException:
                self.layers, self._attached = before
                raise
            finally:
                self._is_changing = False

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

    def arrange(self, hooks: Sequence[Hook]) -> None:
        """Put attached hooks in this order, before all others that are attached."""
        ranks = {id(hook): rank for rank, hook in enumerate(hooks)}
        with self._lock:
            self._attached = sorted(self._attached, key=lambda hook: ranks.get(id(hook), len(ranks)))
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

    def find_refusal(self, hook: Hook) -> str | None:
        """Why a hook may not run: its project's hooks are no longer what was trusted."""
        # What a module was loaded from may change: what runs is what was trusted.
        if self._snapshot is None or hook.source.layer != "project" or isinstance(hook.action, HandlerAction):
            return None
        change = self._snapshot.find_change()
        return None if change is None else f"{change} has changed since you trusted it; see hookline trust"

    def use(self, layers: Layers) -> None:
        """Use other layers from now on; what is attached stays."""
        with self._lock:
            self.layers = layers
            self._swap()

    def _swap(self) -> None:
        if self._is_changing:
            return
        registry = self._build()
        self.homes |= self.layers.homes
        self._snapshot = self.layers.snapshot or self._snapshot
        self.registry, self.listened = registry, registry.event_names

    def _build(self) -> Registry:
        layers = self.layers
        hooks = _in_order([*layers.hooks, *self._attached])
        return Registry(hooks, closures=layers.closures, settings=layers.settings)


def _is_faulty(loaded: LoadedFile) -> bool:
    return loaded.is_broken or any(problem.severity == "error" for problem in loaded.reading.problems)


def _in_order(hooks: Iterable[Hook]) -> list[Hook]:
    return sorted(hooks, key=lambda hook: _RANKS[hook.source.layer])
