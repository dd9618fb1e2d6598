"""What a hook object is, and what must hold before one is attached."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, Protocol, cast, get_args

from hookline.objects.matcher import HookMatcher
from hookline.objects.records import (
    OBJECT_EVENTS,
    POLICIES,
    Error,
    HookOutcome,
    HookPayload,
    ObjectEvent,
    Policy,
)

_MISSING = object()


class HookObject(Protocol):
    """
    One hook, attached to an engine by value.

    `matcher` and `on_error` may be left out: they are then no matcher, and `warn`.
    """

    @property
    def id(self) -> str:
        """The hook's name in payloads, decisions and the run log; no two of an engine are the same."""

    @property
    def event(self) -> ObjectEvent:
        """The event it answers."""

    @property
    def matcher(self) -> HookMatcher | None:
        """The tool calls it is for; None for all of them, and for events that are about no tool."""

    @property
    def on_error(self) -> Policy:
        """What its failure means."""

    async def run(self, payload: HookPayload) -> HookOutcome:
        """
        Answer an event.

        An ordinary function that returns an outcome, or something to wait for, will do as well; an engine calls it
        on a thread of its own.
        """


def read_matcher(hook: HookObject) -> HookMatcher | None:
    """The object's matcher; None where it names none."""
    return getattr(hook, "matcher", None)


def read_policy(hook: HookObject) -> Policy:
    """The object's error policy; `warn` where it names none."""
    return getattr(hook, "on_error", "warn")


def check_object(hook: Any) -> tuple[str, ...]:
    """Everything that keeps an object from being attached, in words; nothing is run but its properties."""
    found: list[str] = []
    hook_id = _check_text(hook, "id", found)
    name = repr(hook) if hook_id is None else f"hook `{hook_id}`"
    event = _check_word(hook, "event", OBJECT_EVENTS, found, name)
    _check_word(hook, "on_error", POLICIES, found, name, default="warn")
    matcher = _read(hook, "matcher", found, default=None)
    if matcher is not None and not isinstance(matcher, HookMatcher):
        found.append(f"{name}: its matcher must be a HookMatcher or None, not {type(matcher).__name__}")
    elif matcher is not None and event is not None:
        found += matcher.validate(event, hook_id or "?")
    if not callable(_read(hook, "run", found)):
        found.append(f"{name}: it has no method run(payload)")
    elif isinstance(hook, type):
        found.append(f"{name}: it is a class; attach an object made of it")
    return tuple(found)


def check_objects(hooks: Iterable[Any], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Everything that keeps the objects from being attached together; `taken` are the ids of other hooks."""
    found: list[str] = []
    seen = set(taken)
    for hook in hooks:
        problems = check_object(hook)
        found += problems
        hook_id = getattr(hook, "id", None) if not problems else None
        if hook_id in seen:
            found.append(f"hook `{hook_id}`: another hook of this engine has this id; ids must be unique")
        if isinstance(hook_id, str):
            seen.add(hook_id)
    return tuple(found)


async def run_object(hook: HookObject, payload: HookPayload) -> HookOutcome:
    """
    Ask an object on this event loop; whatever it raises, or returns that is no outcome, is an `Error`.

    Knows no time limit; an engine does.
    """
    try:
        answer: Any = hook.run(payload)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:  # boundary: the object is the user's, its failure is an outcome
        return describe_raised(error)
    return read_answer(answer)


def describe_raised(error: BaseException) -> Error:
    """The outcome of an object that raises."""
    return Error(message=f"it raised {type(error).__name__}: {error}")


def read_answer(answer: Any) -> HookOutcome:
    """The outcome that an object returned, an `Error` for anything else."""
    if not isinstance(answer, get_args(HookOutcome)):
        return Error(message=f"it returned {type(answer).__name__}, which is no outcome (Allow, Mutate, Block, Error)")
    return cast("HookOutcome", answer)


def _read(hook: Any, name: str, found: list[str], *, default: Any = _MISSING) -> Any:
    """An attribute, `default` where there is none; a property that raises is a finding."""
    try:
        return getattr(hook, name) if default is _MISSING else getattr(hook, name, default)
    except AttributeError:
        return _MISSING
    except Exception as error:  # boundary: the object is the user's
        found.append(f"{hook!r}: reading its {name} raised {type(error).__name__}: {error}")
        return default


def _check_text(hook: Any, name: str, found: list[str]) -> str | None:
    value = _read(hook, name, found)
    if value is _MISSING or not isinstance(value, str) or not value.strip():
        what = "is missing" if value is _MISSING else f"is {value!r}"
        found.append(f"{hook!r}: its {name} {what}; it must be a text that is not empty")
        return None
    return value


def _check_word(
    hook: Any, attribute: str, known: tuple[str, ...], found: list[str], name: str, *, default: Any = _MISSING
) -> str | None:
    value = _read(hook, attribute, found, default=default)
    if isinstance(value, str) and value in known:
        return value
    what = "is missing" if value is _MISSING else f"is {value!r}"
    found.append(f"{name}: its {attribute} {what}; it must be one of {', '.join(known)}")
    return None
