"""From the way a function is called to the arguments of a tool call, and back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from hookline.errors import HooklineError

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class WrapError(HooklineError, TypeError):
    """Something that cannot be wrapped as a tool, or not in the way that was asked for."""


class Shape:
    """
    How a function takes the arguments of a tool call.

    By default each parameter is an argument. With `arguments_in` the parameter of that name holds all of them in one
    mapping; `call_id_in` names the one that holds the call's id, and `hidden` those that are no business of hooks.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        arguments_in: str | None = None,
        call_id_in: str | None = None,
        hidden: Collection[str] = (),
    ) -> None:
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):  # some functions of C tell nothing
            signature = _ANYTHING
        self._signature = signature
        self._name = name
        self._arguments_in, self._call_id_in = arguments_in, call_id_in
        named = [parameter for parameter in (arguments_in, call_id_in, *hidden) if parameter is not None]
        unknown = [parameter for parameter in named if parameter not in signature.parameters]
        if unknown:
            raise WrapError(f"tool {name} has no parameter {unknown[0]!r}; it takes {signature}")
        self._hidden = frozenset(named)
        self._rest = next((p.name for p in signature.parameters.values() if p.kind == p.VAR_KEYWORD), None)

    def read(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
        """The arguments of a call and its id, if it has one; raises `TypeError` as the function would."""
        bound = self._signature.bind(*args, **options).arguments
        call_id = bound.get(self._call_id_in) if self._call_id_in is not None else None
        if self._arguments_in is not None:
            found = bound.get(self._arguments_in)
            found = {} if found is None else found
            if not isinstance(found, Mapping):
                raise WrapError(
                    f"{self._arguments_in!r} of tool {self._name} must be a mapping, not {type(found).__name__}"
                )
        else:
            found = {key: value for key, value in bound.items() if key not in self._hidden and key != self._rest}
            if self._rest not in self._hidden:
                found |= bound.get(self._rest or "", {})
        return found, None if call_id is None else str(call_id)

    def write(
        self, args: tuple[Any, ...], options: Mapping[str, Any], rewritten: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """
        The call with rewritten arguments; what hooks do not see stays.

        Raises `WrapError` for an argument that the function does not take.
        """
        bound = self._signature.bind(*args, **options)
        if self._arguments_in is not None:
            bound.arguments[self._arguments_in] = rewritten
            return bound.args, bound.kwargs
        parameters = self._signature.parameters
        kept = {key: value for key, value in bound.arguments.items() if key in self._hidden}
        rest: dict[str, Any] = {}
        for key, value in rewritten.items():
            if key in parameters and key not in self._hidden and key != self._rest:
                kept[key] = value
                if parameters[key].kind == inspect.Parameter.VAR_POSITIONAL and not isinstance(value, list | tuple):
                    raise WrapError(f"tool {self._name} takes a list for {key!r}, and a hook gave it {value!r}")
            elif self._rest is not None and key not in self._hidden:
                rest[key] = value
            else:
                raise WrapError(f"tool {self._name} takes no argument {key!r}, which a hook gave it")
        if rest and self._rest is not None:
            kept[self._rest] = rest
        missing = [
            key
            for key, parameter in parameters.items()
            if key not in kept and parameter.default is parameter.empty and parameter.kind not in _VARIADIC
        ]
        if missing:
            raise WrapError(f"tool {self._name} needs the argument {missing[0]!r}, which a hook took away")
        return _order(self._signature, kept)


def _order(signature: inspect.Signature, found: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Values by parameter as the arguments of a call; those that may be given by name are, unless others follow."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    follows = any(p.kind == p.VAR_POSITIONAL and found.get(p.name) for p in signature.parameters.values())
    for key, parameter in signature.parameters.items():
        by_place = parameter.kind == parameter.POSITIONAL_ONLY or (
            follows and parameter.kind == parameter.POSITIONAL_OR_KEYWORD
        )
        if parameter.kind == parameter.VAR_POSITIONAL:
            positional += found.get(key, ())
        elif parameter.kind == parameter.VAR_KEYWORD:
            named |= found.get(key, {})
        elif by_place and (key in found or follows):
            positional.append(found.get(key, parameter.default))
        elif key in found:
            named[key] = found[key]
    return tuple(positional), named


def _take_anything(*args: Any, **options: Any) -> None:
    """What is assumed of a function that tells nothing of its parameters."""


_ANYTHING = inspect.signature(_take_anything)
