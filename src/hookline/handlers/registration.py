"""From a function and an event's name to the hook that calls it."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hookline.errors import HooklineError, UnknownEventError
from hookline.events import EVENT_NAMES, EventType, find_event_types, get_event_type, list_event_names
from hookline.handlers.events import DIALECT
from hookline.hook import Execution, HandlerAction, Hook, LayerName, Match, Mode, OnError, Settings, Source
from hookline.problem import Place

SHUTDOWN_TIMEOUT_S = 2.0
"""The time limit of handlers at the end of a session."""

# Gates whose handlers must answer: a failure keeps them closed. At the others a failure is reported.
_STRICT_GATES = frozenset({"user_prompt_submit", "before_tool_call", "permission_request"})
_MODES = ("blocking", "async", "fire_and_forget")
_POLICIES = ("block", "warn", "ignore")


class HandlerError(HooklineError, TypeError):
    """Something that cannot be a handler, or that cannot be registered as one."""


def make_handler(
    event: str,
    function: Any,
    *,
    origin: str,
    layer: LayerName,
    place: Place,
    settings: Settings,
    hook_id: str,
    tool_name: str | None = None,
    tool_kind: str | None = None,
    profile: str | None = None,
    timeout_s: float | None = None,
    on_error: OnError | None = None,
    mode: Mode = "blocking",
    description: str = "",
) -> Hook:
    """
    The hook that calls `function(event, context)`; a function that takes the event alone is called so.

    `event` is the engine's name or the one that modules know. A handler of a gate for prompts, tool calls or
    permissions keeps it closed when it fails, any other lets it pass, unless `on_error` says otherwise.
    Raises `UnknownEventError` for the name and `HandlerError` for anything else that is wrong.
    """
    row = find_row(event)
    _check_timeout(timeout_s)
    _check_texts(id=hook_id, tool_name=tool_name, tool_kind=tool_kind, profile=profile)
    if mode not in _MODES:
        raise HandlerError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
    if on_error is not None and on_error not in _POLICIES:
        raise HandlerError(f"on_error must be one of {', '.join(_POLICIES)}, not {on_error!r}")
    match = Match(tool_name=tool_name, tool_kind=tool_kind, profile=profile)
    if match.needs_tool and not row.has_tool:
        raise HandlerError(f"{row.name} is about no tool, so a handler that asks for one would never be called")
    policy: OnError = on_error or ("block" if row.name in _STRICT_GATES else "warn")
    default_s = SHUTDOWN_TIMEOUT_S if row.name == "session_end" else settings.handler_timeout_s
    return Hook(
        id=hook_id,
        event=row.name,
        action=HandlerAction(function=_take_event_alone(function), origin=origin, is_async=is_async(function)),
        source=Source(
            layer=layer,
            dialect=DIALECT,
            place=place,
            # By its own name an event tells all it has to tell; modules know no results of calls that did not run.
            hears_rejected="all" if event == row.name else "none",
        ),
        match=match,
        execution=Execution(
            mode=mode,
            timeout_s=default_s if timeout_s is None else timeout_s,
            on_error=policy,
            on_provoked_error=policy,
        ),
        description=description,
    )


def _check_timeout(timeout_s: object) -> None:
    if timeout_s is None:
        return
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not timeout_s > 0:
        raise HandlerError(f"timeout_s must be a number of seconds greater than 0, not {timeout_s!r}")


def _check_texts(**texts: object) -> None:
    for name, text in texts.items():
        if text is not None and (not isinstance(text, str) or not text):
            raise HandlerError(f"{name} must be one text that is not empty, not {text!r}")


def find_row(name: str) -> EventType:
    """The row that modules or the engine know by this name; raises `UnknownEventError`."""
    rows = find_event_types(name, DIALECT) if isinstance(name, str) else ()
    if rows:
        return rows[0]
    if name in EVENT_NAMES:
        return get_event_type(name)
    known = sorted({*EVENT_NAMES, *list_event_names(DIALECT)})
    elsewhere = [row.aliases.get(DIALECT, row.name) for row in find_event_types(name)] if isinstance(name, str) else []
    close = elsewhere or difflib.get_close_matches(str(name), known, n=1)
    meant = " or ".join(repr(each) for each in close)
    hint = f"did you mean {meant}?" if close else f"known events: {', '.join(known)}"
    raise UnknownEventError(f"unknown event {name!r}; {hint}")


def place_of(function: Any) -> Place:
    """Where a function is defined, as far as that can be told."""
    code = getattr(inspect.unwrap(_bare(function)), "__code__", None)
    if code is None:
        return Place(path=Path("<code>"))
    return Place(path=Path(code.co_filename), line=code.co_firstlineno, column=1)


def name_of(function: Any) -> str:
    """What a function is called."""
    return str(getattr(_bare(function), "__name__", type(function).__name__))


def _bare(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def is_async(function: Any) -> bool:
    """Whether calling the function gives something to await."""
    bare = _bare(function)
    return inspect.iscoroutinefunction(bare) or inspect.iscoroutinefunction(getattr(bare, "__call__", None))  # noqa: B004


def _take_event_alone(function: Any) -> Callable[[Any, Any], Any]:
    """The function itself, or one that leaves the context out if that is what it wants."""
    if not callable(function):
        raise HandlerError(f"a handler must be a function of the event and a context, not {function!r}")
    bare = _bare(function)
    if inspect.isgeneratorfunction(bare) or inspect.isasyncgenfunction(bare):
        raise HandlerError(f"the handler {name_of(function)!r} is a generator, which nobody would run; use return")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of C tell nothing
        return function  # type: ignore[no-any-return]
    if _binds(signature, 2):
        return function  # type: ignore[no-any-return]
    if _binds(signature, 1):
        return lambda event, context: function(event)
    raise HandlerError(f"the handler {name_of(function)!r} must take the event and a context; it takes {signature}")


def _binds(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True
