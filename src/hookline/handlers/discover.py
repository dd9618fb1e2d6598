"""
Discovery: what several providers find, as one list in which the first of a key counts.

Nothing here runs anything of what was found, and what is left out is always reported.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, Protocol, get_args

from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import ConfigError
from hookline.hook import LayerName
from hookline.waiting import gather, run_in_thread

HookType = Literal["pre", "post"]
HookKind = Literal["module", "script", "program"]
"""What runs a file: Python in this process, an interpreter chosen by its suffix, or the file itself."""

EVERY_TOOL = "*"
"""The tool of an item that is for all tools."""

_TYPES = get_args(HookType)
_KINDS = get_args(HookKind)
_LAYERS = get_args(LayerName)


class HookItem(Struct, frozen=True, kw_only=True):
    """
    One hook that a provider has found.

    `type` and `tool` say before or after which tool it is for, `name` is the file's name, `layer` whose it is.
    An item without a type or without a tool has no key, and neither hides another nor is hidden.
    Discovery fills in the last two: whose item it is, and the provider whose item of the same key came first.
    """

    name: str
    path: Path
    type: HookType | None = None
    tool: str | None = None
    kind: HookKind = "module"
    layer: LayerName = "code"
    provider: str = ""
    shadowed_by: str | None = None

    @property
    def key(self) -> str | None:
        """What two items must not have both."""
        return None if self.type is None or self.tool is None else f"{self.type}:{self.tool}:{self.name}"

    @property
    def id(self) -> str:
        """What the item is disabled by, such as `hook:pre:bash:bash.py`."""
        return f"hook:{self.key or self.name}"

    @property
    def is_shadowed(self) -> bool:
        """Whether an earlier item has the same key, so that this one does not count."""
        return self.shadowed_by is not None

    @property
    def is_for_every_tool(self) -> bool:
        """Whether no tool is excepted."""
        return self.tool == EVERY_TOOL


class SkippedFile(Struct, frozen=True, kw_only=True):
    """A file beside hooks that is none, and why; a `warning` where it was probably meant to be one."""

    path: Path
    reason: str
    severity: Literal["warning", "notice"] = "warning"

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Found(Struct, frozen=True, kw_only=True):
    """
    What one provider has found, in its order; `warnings` are about what it could not look at.

    `lost` are folders among that whose hooks are missing now, though there may have been some.
    """

    items: Sequence[HookItem] = ()
    skipped: Sequence[SkippedFile] = ()
    warnings: Sequence[str] = ()
    lost: Sequence[Path] = ()


Finding = Found | Sequence[HookItem]
"""What a provider may answer; a bare list is for those that have nothing else to say."""


class Provider(Protocol):
    """Finds hooks; of two providers the one with the higher priority comes first."""

    @property
    def name(self) -> str: ...

    @property
    def priority(self) -> float: ...

    def load(self, cwd: Path, /) -> Finding | Awaitable[Finding]:
        """What there is for this folder; `def`, which runs on a thread, or `async def`."""
        ...


class Discovery(Struct, frozen=True, kw_only=True):
    """
    What all providers have found together.

    `items` are those that count, `all_items` also those that are shadowed. `disabled` are in neither.
    `providers` names those with an item in `all_items`, in order.
    """

    items: tuple[HookItem, ...] = ()
    all_items: tuple[HookItem, ...] = ()
    disabled: tuple[HookItem, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    warnings: tuple[str, ...] = ()
    lost: tuple[Path, ...] = ()
    providers: tuple[str, ...] = ()


async def discover(providers: Sequence[Provider], cwd: Path, *, disabled_ids: Collection[str] = ()) -> Discovery:
    """
    Ask all providers at once, and merge what they say in the order of their priority, then of registration.

    A provider that raises is a warning.
    Raises `ConfigError` for ids that are no list.
    """
    _check_ids(disabled_ids)
    ordered = _order(providers)
    found = await gather([_load(provider, cwd) for provider in ordered])
    return _merge(ordered, found, frozenset(disabled_ids))


def discover_sync(providers: Sequence[Provider], cwd: Path, *, disabled_ids: Collection[str] = ()) -> Discovery:
    """
    The same for a host that does not await, also while an event loop runs on this thread.

    Plain providers are asked in turn, async ones then all at once on a loop of their own.
    """
    _check_ids(disabled_ids)
    ordered = _order(providers)
    answers = [_ask(provider, cwd) for provider in ordered]
    if any(inspect.isawaitable(answer) for answer in answers):
        answers = [*_await_apart(ordered, answers)]
    return _merge(ordered, answers, frozenset(disabled_ids))


def _check_ids(disabled_ids: Collection[str]) -> None:
    if isinstance(disabled_ids, str):
        raise ConfigError(f"disabled_ids is the text {disabled_ids!r}; it must be a list of ids")


def _order(providers: Sequence[Provider]) -> list[Provider]:
    return sorted(providers, key=lambda provider: -provider.priority)


async def _load(provider: Provider, cwd: Path) -> object:
    if inspect.iscoroutinefunction(getattr(provider, "load", None)):
        return await _settle(provider, _ask(provider, cwd))
    answers: list[object] = []
    await run_in_thread(lambda: answers.append(_ask(provider, cwd)))
    return await _settle(provider, answers[0])


def _ask(provider: Provider, cwd: Path) -> object:
    """A provider's answer, which may have to be awaited."""
    try:
        return provider.load(cwd)
    except (Exception, SystemExit) as error:  # the boundary around a provider: its failure stops nobody
        return _fail(error)


async def _settle(provider: Provider, answer: object) -> object:
    if not inspect.isawaitable(answer):
        return answer
    try:
        return await answer
    except (Exception, SystemExit) as error:  # the same boundary
        return _fail(error)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _fail(error)  # nobody cancelled it: it is what the provider raised


def _fail(error: BaseException) -> Found:
    return Found(warnings=(f"it failed with {_describe(error)}; none of its hooks are there",))


def _describe(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # the text is made by the provider's own class
        return type(error).__name__


def _await_apart(providers: Sequence[Provider], answers: Sequence[object]) -> list[object]:
    """Await answers on a thread of their own, since this one's event loop may be running."""

    async def settle_all() -> list[object]:
        return await gather([_settle(provider, answer) for provider, answer in zip(providers, answers, strict=True)])

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="hookline-discover") as executor:
        return executor.submit(contextvars.copy_context().run, asyncio.run, settle_all()).result()


def _merge(providers: Sequence[Provider], answers: Sequence[object], disabled_ids: frozenset[str]) -> Discovery:
    """One list of what all providers have answered, both in the same order."""
    items: list[HookItem] = []
    skipped: list[SkippedFile] = []
    warnings: list[str] = []
    lost: list[Path] = []
    for provider, answer in zip(providers, answers, strict=True):
        found = _read_answer(answer)
        lost += found.lost
        faults = [_find_fault(item) for item in found.items]
        valid = [item for item, fault in zip(found.items, faults, strict=True) if fault is None]
        items += [replace(item, provider=provider.name, shadowed_by=None) for item in valid]
        skipped += found.skipped
        warnings += [f"provider {provider.name!r}: {text}" for text in (*found.warnings, *_report(faults))]
    marked = tuple(_mark_shadowed(item for item in items if item.id not in disabled_ids))
    return Discovery(
        items=tuple(item for item in marked if not item.is_shadowed),
        all_items=marked,
        disabled=tuple(item for item in items if item.id in disabled_ids),
        skipped=tuple(skipped),
        warnings=tuple(warnings),
        lost=tuple(lost),
        providers=tuple(dict.fromkeys(item.provider for item in marked)),
    )


def _mark_shadowed(items: Iterable[HookItem]) -> Iterator[HookItem]:
    """The same items, each with the provider of the earlier one that has its key."""
    first: dict[str, str] = {}
    for item in items:
        key = item.key
        if key is None:
            yield item
        elif key in first:
            yield replace(item, shadowed_by=first[key])
        else:
            first[key] = item.provider
            yield item


def _read_answer(answer: object) -> Found:
    if isinstance(answer, Found) and isinstance(answer.items, list | tuple):
        return answer
    if isinstance(answer, list | tuple):
        return Found(items=answer)
    return Found(warnings=(f"it answered with {type(answer).__name__} instead of a list of items",))


def _report(faults: Sequence[str | None]) -> Iterator[str]:
    for number, fault in enumerate(faults, start=1):
        if fault is not None:
            yield f"item {number} is left out: {fault}"


def _find_fault(item: object) -> str | None:
    """What is wrong with an item, which a provider of somebody else has made; None when nothing is."""
    if not isinstance(item, HookItem):
        return f"it is {type(item).__name__}, not a HookItem"
    if not isinstance(item.name, str) or not item.name:
        return f"its name is {item.name!r}, not a text"
    if not isinstance(item.path, Path) or not item.path.is_absolute():
        return f"the path of {item.name!r} is {str(item.path)!r}, not an absolute Path"
    if item.type is not None and item.type not in _TYPES:
        return f"the type of {item.name!r} is {item.type!r}; it must be one of {', '.join(_TYPES)}"
    if item.tool is not None and (not isinstance(item.tool, str) or not item.tool):
        return f"the tool of {item.name!r} is {item.tool!r}, not a text"
    if item.kind not in _KINDS:
        return f"the kind of {item.name!r} is {item.kind!r}; it must be one of {', '.join(_KINDS)}"
    if item.layer not in _LAYERS:
        return f"the layer of {item.name!r} is {item.layer!r}; it must be one of {', '.join(_LAYERS)}"
    if item.kind != "module" and item.key is None:
        return f"{item.name!r} is a {item.kind} without a type or a tool, so that nothing says when it runs"
    return None
