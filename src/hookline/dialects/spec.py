"""
The shape of a hook file, and its check: every value that does not fit is reported, each at its place.

The specs mirror the documented format key by key; the words they are turned into are in `hookline.hook`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Spec = TypeVar("Spec", bound=msgspec.Struct)

# What other hook systems call it.
_OTHER_WORDS = {"on": "event", "when": "event", "matcher": "match", "if": "match", "on_failure": "on_error"}

Text = Annotated[str, Meta(min_length=1)]
Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Priority = Annotated[int, Meta(ge=-1000, le=1000)]


class _Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A mapping in which only the named keys may stand."""


class ArgumentSpec(_Strict, frozen=True):
    """`match.args.<name>`."""

    equals: str | UnsetType = UNSET
    contains: str | UnsetType = UNSET
    regex: str | UnsetType = UNSET


class MatchSpec(_Strict, frozen=True):
    """`match`."""

    profile: str | None = None
    profiles: list[str] | None = None
    tool_kind: str | None = None
    tool_name: str | None = None
    args: dict[str, ArgumentSpec] | None = None


class RunSpec(_Strict, frozen=True):
    """`run`, for all three types."""

    type: Literal["script", "command", "shell"]
    path: Text | None = None
    argv: Annotated[list[str], Meta(min_length=1)] | None = None
    shell: Text | None = None
    args: list[str] | None = None
    env: dict[str, str] | None = None
    cwd: str | None = None


class NativeRunSpec(RunSpec, frozen=True):
    """`run`, with the keys that only native has."""

    interpreter: Annotated[list[str], Meta(min_length=1)] | None = None


class ExecutionSpec(_Strict, frozen=True):
    """`execution`."""

    mode: Literal["blocking", "async", "fire_and_forget"] = "fire_and_forget"
    detach: bool = False
    delivery: Literal["best_effort", "durable"] = "best_effort"
    timeout_seconds: Positive = 30.0
    on_error: Literal["block", "warn", "ignore"] | UnsetType = UNSET


class NativeExecutionSpec(ExecutionSpec, frozen=True):
    """`execution`, with the keys that only native has."""

    kill_grace_seconds: NotNegative = 2.0
    on_bad_reply: Literal["ignore", "error"] = "error"
    where: Literal["local", "fleet"] = "local"
    queue: Text | None = None
    priority: Priority | None = None
    order: Literal["none", "session"] | None = None
    max_age_seconds: Positive | None = None


class HookSpec(_Strict, frozen=True):
    """One entry of `hooks`."""

    id: str
    event: str
    run: RunSpec
    execution: ExecutionSpec | None = None
    match: MatchSpec | None = None
    enabled: bool = True
    description: str | None = None


class NativeHookSpec(HookSpec, frozen=True):
    """One entry of `hooks` in a native file."""

    run: NativeRunSpec
    execution: NativeExecutionSpec | None = None


class SettingsSpec(_Strict, frozen=True):
    """`settings`."""

    shutdown_grace_seconds: NotNegative | UnsetType = UNSET
    max_parallel_hooks: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    outbox_retry_age_seconds: NotNegative | UnsetType = UNSET
    outbox_max_retries: Annotated[int, Meta(ge=0)] | UnsetType = UNSET


class NativeSettingsSpec(SettingsSpec, frozen=True):
    """`settings`, with the keys that only native has."""

    max_queued_hooks: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    outbox_keep_done_days: NotNegative | UnsetType = UNSET
    outbox_keep_failed_days: NotNegative | UnsetType = UNSET
    log_keep_days: NotNegative | UnsetType = UNSET
    log_payloads: Literal["none", "redacted", "full"] | UnsetType = UNSET
    recheck_guards: bool | UnsetType = UNSET
    max_hook_depth: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    handler_timeout_seconds: Positive | UnsetType = UNSET
    disabled_ids: list[str] | UnsetType = UNSET


class ModuleSpec(_Strict, frozen=True):
    """One entry of `modules` that is more than a path."""

    path: Text
    required: bool = False
    timeout_seconds: Positive | None = None
    enabled: bool = True


class Misfit(Struct, frozen=True, kw_only=True):
    """A value that does not fit; `path` leads to it, or to its key when `is_key`."""

    path: tuple[Any, ...]
    code: str
    message: str
    cure: str = ""
    is_key: bool = False


def convert(data: Any, spec: type[Spec]) -> Spec | list[Misfit]:
    """The data as a spec, or everything about it that does not fit."""
    try:
        return msgspec.convert(data, spec)
    except msgspec.ValidationError:
        return list(_find_misfits(data, spec, ()))


def section_of(wanted: Any) -> type[msgspec.Struct]:
    """The spec of a section that may be left out."""
    section: type[msgspec.Struct] = _without_none(wanted)
    return section


def suggest(word: str, known: list[str], *, otherwise: str = "") -> str:
    """A cure for a mistyped word: the known one it resembles, else `otherwise` or all known ones."""
    meant = _OTHER_WORDS.get(word)
    close = [meant] if meant in known else difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else otherwise or f"known: {', '.join(known)}"


def _find_misfits(data: Any, spec: type[msgspec.Struct], path: tuple[Any, ...]) -> Iterator[Misfit]:
    if not isinstance(data, dict):
        yield _wrong_type(path, "a mapping", data)
        return
    fields = {field.name: field for field in msgspec.structs.fields(spec)}
    for key in data:
        if key not in fields:
            yield Misfit(
                path=(*path, key),
                code="unknown-key",
                message=f"unknown key {key!r}",
                cure=suggest(str(key), list(fields)),
                is_key=True,
            )
    for name, field in fields.items():
        if name in data:
            yield from _find_value_misfits(data[name], field.type, (*path, name))
        elif field.required:
            yield Misfit(path=path, code="missing-key", message=f"the key {name!r} is missing", cure=f"add {name}:")


def _find_value_misfits(value: Any, wanted: Any, path: tuple[Any, ...]) -> Iterator[Misfit]:
    if _fits(value, wanted):
        return
    inner = _without_none(wanted)
    if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
        yield from _find_misfits(value, inner, path)
    elif get_origin(inner) is dict and isinstance(value, dict):
        of_value = get_args(inner)[1]
        for key, item in value.items():
            if not isinstance(key, str):
                message = f"the key {key!r} is read as {_describe_value(key)}, not as text"
                yield Misfit(
                    path=(*path, key),
                    code="wrong-type",
                    message=message,
                    cure="put the key in quotes",
                    is_key=True,
                )
            else:
                yield from _find_value_misfits(item, of_value, (*path, key))
    elif _list_item(inner) is not None and isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _find_value_misfits(item, _list_item(inner), (*path, index))
    else:
        yield _wrong_type(path, _describe_type(inner), value)


def _fits(value: Any, wanted: Any) -> bool:
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError:
        return False
    return True


def _without_none(wanted: Any) -> Any:
    """The one type that counts of a union with None or unset."""
    if get_origin(wanted) in (Union, UnionType):
        rest = [part for part in get_args(wanted) if part not in (type(None), UnsetType)]
        return rest[0]
    return wanted


def _list_item(wanted: Any) -> Any:
    if get_origin(wanted) is Annotated:
        wanted = get_args(wanted)[0]
    return get_args(wanted)[0] if get_origin(wanted) is list else None


def _wrong_type(path: tuple[Any, ...], expected: str, value: Any) -> Misfit:
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "the entry"
    return Misfit(
        path=path,
        code="wrong-type",
        message=f"{where} must be {expected}, not {_show(value)}",
        cure=_cure_for(expected, value),
    )


def _cure_for(expected: str, value: Any) -> str:
    if expected == "true or false":
        return "write true or false, without quotes; yes, no, on and off are plain text in YAML 1.2"
    if expected == "text":
        return f'put it in quotes: "{value}"' if isinstance(value, bool | int | float) else "write text"
    if expected.startswith("one of") and isinstance(value, str):
        return suggest(value, expected.removeprefix("one of ").split(", "), otherwise=f"write {expected}")
    if expected.startswith("a list") and isinstance(value, str):
        return f"write it as a list: [{value!r}]"
    if expected.startswith(("a number", "an integer")):
        return f"write {expected}, such as 30, without quotes"
    return f"write {expected}"


def _describe_type(wanted: Any) -> str:
    origin, limits = wanted, None
    if get_origin(wanted) is Annotated:
        origin, limits = get_args(wanted)
    if get_origin(origin) is Literal:
        return "one of " + ", ".join(get_args(origin))
    if get_origin(origin) is list:
        return "a list of texts" + (" with at least one" if limits is not None else "")
    if get_origin(origin) is dict or (isinstance(origin, type) and issubclass(origin, msgspec.Struct)):
        return "a mapping"
    if origin is str:
        return "text" if limits is None else "text that is not empty"
    if origin is bool:
        return "true or false"
    kind = "an integer" if origin is int else "a number"
    if limits is not None and limits.le is not None:
        return f"{kind} from {limits.ge:g} to {limits.le:g}"
    if limits is not None and limits.gt is not None:
        return f"{kind} greater than {limits.gt:g}"
    if limits is not None and limits.ge is not None:
        return f"{kind} of at least {limits.ge:g}"
    return kind


def _describe_value(value: Any) -> str:
    kinds = {bool: "a boolean", int: "a number", float: "a number", type(None): "null"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def _show(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null (nothing)"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
