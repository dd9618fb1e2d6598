"""Hook objects on their way into an engine: checked together, and made into hooks like all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hookline.errors import ConfigError
from hookline.events import get_event_type
from hookline.handlers.registration import is_async, place_of
from hookline.hook import Execution, Hook, ObjectAction, OnError, Settings, Source
from hookline.hookset import HookSet
from hookline.objects.condition import make_match
from hookline.objects.protocol import HookObject, check_objects, read_matcher, read_policy
from hookline.objects.records import Policy
from hookline.objects.shell import ShellHook
from hookline.objects.wire import DIALECT, EVENTS
from hookline.problem import Place
from hookline.process.child import Child
from hookline.runners.object import ObjectRunner

Attachable = HookObject | Iterable[HookObject]
"""One hook object, or several in order."""

POLICIES: Mapping[Policy, OnError] = {"block": "block", "warn": "warn", "allow": "ignore"}
"""The policies of hook objects in Hookline's own words."""


class Attachments:
    """Attaches hook objects to an engine; `runner` runs them."""

    def __init__(self, hooks: HookSet, *, adopt: Callable[[Child, str], None]) -> None:
        self._hooks = hooks
        self.runner = ObjectRunner(adopt)

    def attach(self, objects: Attachable, *, timeout_s: float | None = None) -> Callable[[], None]:
        """
        Add objects behind all hooks that are there; returns what takes them off again.

        Raises `ConfigError` with everything that is wrong, and then adds none of them.
        """
        if timeout_s is not None and not timeout_s > 0:
            raise ConfigError(f"timeout_s must be greater than 0, not {timeout_s!r}")
        listed = _list_objects(objects)

        def make(taken: frozenset[str], settings: Settings) -> Sequence[Hook]:
            problems = check_objects(listed, taken)
            if problems:
                raise ConfigError("; ".join(problems))
            limit_s = settings.handler_timeout_s if timeout_s is None else timeout_s
            return [_make_hook(each, limit_s) for each in listed]

        return self._hooks.attach_made(make)


def _list_objects(objects: Any) -> list[Any]:
    """The objects, in order; whatever can run is one, also when it can be walked through."""
    return list(objects) if isinstance(objects, Iterable) and not hasattr(objects, "run") else [objects]


def _make_hook(found: HookObject, limit_s: float) -> Hook:
    event, policy = get_event_type(EVENTS[found.event]), read_policy(found)
    is_shell = isinstance(found, ShellHook)
    return Hook(
        id=found.id,
        event=event.name,
        action=ObjectAction(
            object=found,
            origin=f"{type(found).__module__}.{type(found).__qualname__}",
            is_async=is_async(found.run),
            keeps_time=is_shell,
        ),
        source=Source(
            layer="code",
            dialect=DIALECT,
            place=Place(path=Path("<code>")) if is_shell else place_of(found.run),
            hears_unbegun=True,
        ),
        match=make_match(found.event, read_matcher(found)),
        execution=Execution(
            mode="blocking",
            timeout_s=found.timeout_ms / 1000 if isinstance(found, ShellHook) else limit_s,
            on_error=POLICIES[policy],
            on_provoked_error=POLICIES[policy],
            hides_result=found.event == "post_tool_use",
        ),
        description=str(getattr(found, "description", "")),
    )
