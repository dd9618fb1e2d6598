"""
Reloading: an engine's hooks are read anew and count from one instant on, or everything stays as it was.

An event under way keeps the hooks it started with.
"""

from __future__ import annotations

import concurrent.futures
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from hookline.config.layers import BrokenConfig, Layers, load_layers
from hookline.config.project import TrustStanding
from hookline.config.trust import Trust
from hookline.delivery import Deliveries
from hookline.errors import ConfigError, HooklineError
from hookline.handlers.discover import Provider
from hookline.hook import Hook, LayerName, Settings
from hookline.hookset import HookSet
from hookline.problem import Place, Problem
from hookline.registry import Closure, Registry

if TYPE_CHECKING:
    from hookline.handling import Handling, PreparedModules

logger = logging.getLogger("hookline")

# What the running parts of an engine were made with, and its key in a hooks file.
_FIXED_SETTINGS = {
    "max_parallel_hooks": "max_parallel_hooks",
    "max_queued_hooks": "max_queued_hooks",
    "outbox_retry_age_s": "outbox_retry_age_seconds",
    "outbox_max_retries": "outbox_max_retries",
    "outbox_keep_done_days": "outbox_keep_done_days",
    "outbox_keep_failed_days": "outbox_keep_failed_days",
    "log_keep_days": "log_keep_days",
    "log_payloads": "log_payloads",
    "max_hook_depth": "max_hook_depth",
}
_MOST_NAMED = 5
_CLOSED = "the engine is closed, so its hooks cannot be reloaded"


class HookName(Struct, frozen=True, kw_only=True):
    """Which hook is meant: its id and its layer."""

    id: str
    layer: LayerName

    def __str__(self) -> str:
        return f"{self.id} ({self.layer})"


class Reloaded(Struct, frozen=True, kw_only=True):
    """
    What a reload has changed, and what stays closed.

    `problems` are those that were not there before, `mended` those that are no more. `closures` are all gates that
    are closed now, `closed` and `opened` those that came and went. `is_reordered` tells that hooks that stayed run in
    another order, `settings` which settings have other values, `trust` how the project's hooks stand. `failure` says
    why everything stayed as it was; it is empty when the reload succeeded.
    """

    added: tuple[HookName, ...] = ()
    removed: tuple[HookName, ...] = ()
    changed: tuple[HookName, ...] = ()
    is_reordered: bool = False
    settings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    mended: tuple[Problem, ...] = ()
    closures: tuple[Closure, ...] = ()
    closed: tuple[Closure, ...] = ()
    opened: tuple[Closure, ...] = ()
    trust: TrustStanding = "nothing"
    failure: str = ""

    @property
    def has_changed(self) -> bool:
        """Whether anything is otherwise than before."""
        return bool(list(self._tell()))

    def __str__(self) -> str:
        if self.failure:
            return f"the hooks could not be reloaded and stay as they were: {self.failure}"
        told = "; ".join(self._tell())
        return f"hooks reloaded: {told or 'nothing has changed'}"

    def _tell(self) -> Iterator[str]:
        for word, names in (("added", self.added), ("removed", self.removed), ("changed", self.changed)):
            if names:
                yield f"{len(names)} {word}: {_join(names)}"
        if self.is_reordered:
            yield "another order"
        if self.settings:
            yield f"settings changed: {_join(self.settings)}"
        for word, problems in (("new problems", self.problems), ("problems mended", self.mended)):
            if problems:
                yield f"{len(problems)} {word}"
        for word, closures in (("closed", self.closed), ("open again", self.opened)):
            if closures:
                yield f"{word}: {_join(dict.fromkeys(closure.event for closure in closures))}"


class Opening(Struct, frozen=True, kw_only=True):
    """How an engine was opened, so that its hooks can be read again in the same way."""

    project: Path
    home: Path | None
    dialects: Sequence[str] | None
    trust: Trust
    broken_config: BrokenConfig
    providers: Sequence[Provider]
    vix_hooks: Path | None = None

    def load(self) -> Layers:
        """The layers as they are now; raises as `load_layers` does."""
        return load_layers(
            self.project,
            home=self.home,
            dialects=self.dialects,
            trust=self.trust,
            broken_config=self.broken_config,
            providers=self.providers,
            vix_hooks=self.vix_hooks,
        )


class Reloader:
    """
    Loads the hooks of an engine, one load at a time, and lets each count as a whole.

    `find_handling` gives what loads modules, None while there are none. May be used from any thread.
    """

    def __init__(
        self,
        hooks: HookSet,
        deliveries: Deliveries,
        *,
        opening: Opening | None,
        find_handling: Callable[[Layers], Handling | None],
    ) -> None:
        self._hooks = hooks
        self._deliveries = deliveries
        self._opening = opening
        self._find_handling = find_handling
        self._first_settings = hooks.layers.settings
        self._module_problems: tuple[Problem, ...] = ()
        self._failure: Problem | None = None
        self._waiting: concurrent.futures.Future[Reloaded] | None = None
        self._is_closed = False
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._publishing = threading.Lock()
        self._stops: list[Callable[[], None]] = []

    @property
    def layers(self) -> Layers:
        """Those that count now."""
        return self._hooks.layers

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What the last load found, and why a later one failed."""
        found = (*self._hooks.layers.problems, *self._module_problems)
        return found if self._failure is None else (*found, self._failure)

    @property
    def is_closed(self) -> bool:
        """Whether the engine is closed."""
        return self._is_closed

    def require_opening(self) -> Opening:
        """How the engine was opened; raises `HooklineError` for one that is closed or cannot reload."""
        if self._is_closed:
            raise HooklineError(_CLOSED)
        if self._opening is None:
            raise HooklineError("this engine was given its layers, so it cannot reload them; use Engine.open")
        return self._opening

    def start(self) -> None:
        """Load the modules of the layers there are; raises `ConfigError` for a required one that cannot be loaded."""
        layers = self._hooks.layers
        handling = self._find_handling(layers)
        if handling is not None:
            self._publish(layers, handling, handling.prepare(layers))

    def reload(self) -> Reloaded:
        """
        Read everything anew, let it count, and tell what has changed.

        What is read is at least as new as this call. Calls that come while a load is under way share the next one.
        """
        opening = self.require_opening()
        with self._guard:
            is_first = self._waiting is None
            if self._waiting is None:
                self._waiting = concurrent.futures.Future()
            mine = self._waiting
        if not is_first:
            return mine.result()
        try:
            with self._turn:
                with self._guard:
                    self._waiting = None  # what is changed from here on needs another load
                mine.set_result(self._load(opening))
        except BaseException as error:
            with self._guard:
                self._waiting = None if self._waiting is mine else self._waiting
            mine.set_exception(error)
            raise
        return mine.result()

    def when_closed(self, stop: Callable[[], None]) -> Callable[[], None]:
        """
        Have something stopped with the engine; returns the function that takes this back.

        Raises `HooklineError` for an engine that is closed or cannot reload.
        """
        with self._publishing:
            self.require_opening()
            self._stops.append(stop)
        return lambda: self._forget(stop)

    def _forget(self, stop: Callable[[], None]) -> None:
        with self._publishing:
            self._stops = [known for known in self._stops if known != stop]

    def close(self) -> None:
        """Let nothing count any more that is being loaded, and stop those who watch."""
        with self._publishing:
            self._is_closed = True
            stops, self._stops = self._stops, []
        for stop in stops:
            stop()

    def _load(self, opening: Opening) -> Reloaded:
        before, problems = self._hooks.registry, self.problems
        try:
            layers = self._keep_settings(opening.load())
            handling = self._find_handling(layers)
            prepared = None if handling is None else handling.prepare(layers)
            self._publish(layers, handling, prepared)
            self._deliveries.use(layers.hooks, self._hooks.files)
            self._failure = None
        except Exception as error:  # boundary: whatever it is, what there was goes on
            if self._is_closed:
                raise HooklineError(_CLOSED) from error
            self._failure = _describe_failure(error, opening.project)
        failure = "" if self._failure is None else self._failure.message
        return _compare(before, self._hooks.registry, problems, self.problems, self.layers.trust, failure)

    def _publish(self, layers: Layers, handling: Handling | None, prepared: PreparedModules | None) -> None:
        with self._publishing:
            if self._is_closed:
                if prepared is not None:
                    prepared.discard()
                raise HooklineError(_CLOSED)
            with self._hooks.changing():
                before = self._hooks.layers
                self._hooks.use(layers)
                if handling is not None and prepared is not None:
                    handling.take(prepared)
            self._module_problems = () if prepared is None else prepared.problems
            self._hooks.drop_removed(before)

    def _keep_settings(self, layers: Layers) -> Layers:
        """The layers with the settings that cannot change while the engine runs, and notices of those that should."""
        now, first = asdict(layers.settings), asdict(self._first_settings)
        kept = {name: first[name] for name in _FIXED_SETTINGS if now[name] != first[name]}
        if not kept:
            return layers
        notices = [_describe_kept(layers, name, now[name], value) for name, value in kept.items()]
        settings: Settings = replace(layers.settings, **kept)
        return replace(layers, settings=settings, problems=(*layers.problems, *notices))


def log_problems(problems: Iterable[Problem]) -> None:
    """Log what loading has found; a notice is no warning."""
    for problem in problems:
        logger.log(logging.INFO if problem.severity == "notice" else logging.WARNING, "%s", problem)


def _describe_kept(layers: Layers, name: str, wanted: object, kept: object) -> Problem:
    key = _FIXED_SETTINGS[name]
    says = next((loaded for loaded in layers.files if loaded.is_counted and name in loaded.reading.settings), None)
    place = Place(path=layers.project)
    if says is not None:
        place = Place(path=says.file.path) if says.document is None else says.document.place("settings")
    return Problem(
        severity="notice",
        code="setting-kept",
        message=f"settings.{key} is {wanted!r} now, but the running engine keeps {kept!r}",
        place=place,
        cure="restart the agent to use it",
    )


def _describe_failure(error: Exception, project: Path) -> Problem:
    if not isinstance(error, ConfigError):
        logger.error("reloading the hooks of %s failed", project, exc_info=error)
    return Problem(
        severity="error",
        code="reload-failed",
        message=str(error) if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}",
        place=Place(path=project),
        cure="mend it; until then the hooks that were loaded before go on",
    )


def _compare(
    before: Registry,
    after: Registry,
    problems_before: Sequence[Problem],
    problems_after: Sequence[Problem],
    trust: TrustStanding,
    failure: str,
) -> Reloaded:
    old, new = _group(before.hooks), _group(after.hooks)
    closed_before, closed_after = _list_closures(before), _list_closures(after)
    settings_before, settings_after = asdict(before.settings), asdict(after.settings)
    return Reloaded(
        added=_name(key for key in new if key not in old),
        removed=_name(key for key in old if key not in new),
        changed=_name(key for key, hooks in new.items() if key in old and hooks != old[key]),
        is_reordered=[key for key in old if key in new] != [key for key in new if key in old],
        settings=tuple(name for name, value in settings_after.items() if value != settings_before[name]),
        problems=tuple(problem for problem in problems_after if problem not in problems_before),
        mended=tuple(problem for problem in problems_before if problem not in problems_after),
        closures=closed_after,
        closed=tuple(closure for closure in closed_after if closure not in closed_before),
        opened=tuple(closure for closure in closed_before if closure not in closed_after),
        trust=trust,
        failure=failure,
    )


_Key = tuple[LayerName, str, Path, str]


def _group(hooks: Iterable[Hook]) -> dict[_Key, list[Hook]]:
    """The hooks that come from files by what tells them apart; on which line one stands does not matter."""
    found: dict[_Key, list[Hook]] = {}
    for hook in hooks:
        if hook.source.layer != "code":
            path = hook.source.place.path
            still = replace(hook, source=replace(hook.source, place=Place(path=path)))
            found.setdefault((hook.source.layer, hook.source.dialect, path, hook.id), []).append(still)
    return found


def _name(keys: Iterable[_Key]) -> tuple[HookName, ...]:
    return tuple(HookName(id=hook_id, layer=layer) for layer, _, _, hook_id in keys)


def _list_closures(registry: Registry) -> tuple[Closure, ...]:
    return tuple(closure for closures in registry.closures.values() for closure in closures)


def _join(things: Iterable[object]) -> str:
    texts = [str(thing) for thing in things]
    more = len(texts) - _MOST_NAMED
    return ", ".join(texts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
