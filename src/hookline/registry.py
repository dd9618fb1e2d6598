"""
The hooks of an engine, indexed: which of them concern an event is one look-up, whatever their number.

A registry never changes. A reload builds a new one; a dispatch under way keeps the one it started with.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from hookline.events import Event
from hookline.fields import AfterToolCall, AfterTurn
from hookline.hook import HandlerAction, Hook, Settings, Source
from hookline.match import CompiledMatch, compile_match, find_subject

if TYPE_CHECKING:
    from hookline.patterns.linear import LinearPattern

# Subjects are the names of tools and the like; a model that makes them up must not fill the memory.
_MOST_REMEMBERED = 1000
_LONGEST_REMEMBERED = 200


class Entry(Struct, frozen=True, kw_only=True, eq=False):
    """
    A hook and its compiled match.

    Its pattern on the event's subject is asked when the index is narrowed, once for each subject, and is therefore
    no part of `match`. `is_certain` tells that the hook is meant wherever it is selected.
    """

    hook: Hook
    match: CompiledMatch
    subject: LinearPattern | None = None
    is_certain: bool = False


class Closure(Struct, frozen=True, kw_only=True):
    """
    A gate event that stays closed, and why.

    The hook that guards the event could not be loaded; until that is mended nothing passes.
    """

    event: str
    hook_id: str
    reason: str
    dialect: str = "native"


class Stretch(Struct, frozen=True, kw_only=True):
    """
    Handlers of one kind, plain or async, that stand side by side, with their hooks and functions at hand.

    `is_conditional` tells that the event's name and tool alone do not say which of them are meant, `shortest_s` is
    the shortest of their time limits.
    """

    entries: tuple[Entry, ...]
    hooks: tuple[Hook, ...]
    functions: tuple[Callable[[Any, Any], Any], ...]
    is_async: bool
    is_conditional: bool
    shortest_s: float


class Link(Struct, frozen=True, kw_only=True):
    """The hooks of one layer that are asked side by side, and those of that layer that nobody waits for."""

    entries: tuple[Entry, ...]
    others: tuple[Entry, ...]


class Selection(Struct, frozen=True, kw_only=True):
    """
    The hooks an event may concern, in order: those the agent waits for, and the others.

    `stretches` tells for the position of a handler which stretch it is in, and where that begins; `links` for the
    first position of hooks that are asked side by side who they are.
    """

    blocking: tuple[Entry, ...] = ()
    others: tuple[Entry, ...] = ()
    stretches: Mapping[int, tuple[Stretch, int]] = {}
    links: Mapping[int, Link] = {}


_NOTHING = Selection()


_Key = tuple[str | None, str | None, str | None, str | None]
"""The tool's name and kind where hooks name them, what makes the event special, and its subject."""


class _EventIndex(Struct, eq=False):
    """The entries of one event; `select` narrows them by what the matches name of a tool, and by the subject."""

    entries: list[Entry] = field(default_factory=list)
    tool_names: set[str] = field(default_factory=set)
    tool_kinds: set[str] = field(default_factory=set)
    has_subjects: bool = False
    # Filled as tools and subjects come by. Only names and kinds that some hook names are keys, so it cannot grow with
    # them; it is emptied when it has grown with the subjects.
    selections: dict[_Key, Selection] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        if entry.hook.match.tool_name is not None:
            self.tool_names.add(entry.hook.match.tool_name)
        if entry.hook.match.tool_kind is not None:
            self.tool_kinds.add(entry.hook.match.tool_kind)
        self.has_subjects = self.has_subjects or entry.subject is not None

    def select(self, event: Event) -> Selection:
        tool = event.tool
        name = tool.name if tool is not None and tool.name in self.tool_names else None
        kind = tool.kind if tool is not None and tool.kind in self.tool_kinds else None
        special = _find_special(event)
        subject = find_subject(event) if self.has_subjects else None
        key = (name, kind, special, subject)
        selection = self.selections.get(key)
        if selection is None:
            selection = self._narrow(*key)
            self._remember(key, selection)
        return selection

    def _remember(self, key: _Key, selection: Selection) -> None:
        if self.has_subjects and len(self.selections) >= _MOST_REMEMBERED:
            self.selections.clear()
        if len(key[-1] or "") <= _LONGEST_REMEMBERED:
            self.selections[key] = selection

    def _narrow(self, name: str | None, kind: str | None, special: str | None, subject: str | None) -> Selection:
        fitting = [
            entry
            for entry in self.entries
            if entry.hook.match.tool_name in (None, name)
            and entry.hook.match.tool_kind in (None, kind)
            and (special is None or _hears(entry.hook.source, special))
            and (entry.subject is None or entry.subject.fullmatch(subject or ""))
        ]
        blocking = tuple(entry for entry in fitting if entry.hook.is_blocking)
        others = tuple(entry for entry in fitting if not entry.hook.is_blocking)
        return Selection(
            blocking=blocking,
            others=others,
            stretches=_find_stretches(blocking),
            links=_find_links(blocking, others),
        )


def _find_special(event: Event) -> str | None:
    """What makes an event one that not every hook hears of: a call that was rejected, a turn that never began."""
    fields = event.fields
    if type(fields) is AfterToolCall:
        return fields.result.rejection_source
    return "unbegun" if type(fields) is AfterTurn and fields.is_unbegun else None


def _hears(source: Source, special: str) -> bool:
    return source.hears_unbegun if special == "unbegun" else source.hears_rejected in ("all", special)


def make_stretch(entries: Sequence[Entry]) -> Stretch:
    """The stretch of these handlers, which are of one kind."""
    actions = [entry.hook.action for entry in entries]
    handlers = [action for action in actions if isinstance(action, HandlerAction)]
    return Stretch(
        entries=tuple(entries),
        hooks=tuple(entry.hook for entry in entries),
        functions=tuple(handler.function for handler in handlers),
        is_async=handlers[0].is_async,
        is_conditional=any(entry.match.asks_more_than_names for entry in entries),
        shortest_s=min(entry.hook.execution.timeout_s for entry in entries),
    )


def _find_stretches(entries: Sequence[Entry]) -> dict[int, tuple[Stretch, int]]:
    found: dict[int, tuple[Stretch, int]] = {}
    for kind, group in itertools.groupby(enumerate(entries), key=lambda item: _walked_kind(item[1])):
        if kind is not None:
            positions, members = zip(*group, strict=True)
            stretch = make_stretch(members)
            found |= dict.fromkeys(positions, (stretch, positions[0]))
    return found


def _find_links(blocking: Sequence[Entry], others: Sequence[Entry]) -> dict[int, Link]:
    found: dict[int, Link] = {}
    for key, group in itertools.groupby(enumerate(blocking), key=lambda item: _strict_layer(item[1])):
        if key is not None:
            positions, members = zip(*group, strict=True)
            found[positions[0]] = Link(
                entries=members, others=tuple(entry for entry in others if _strict_layer(entry) == key)
            )
    return found


def _strict_layer(entry: Entry) -> tuple[str, str] | None:
    """The layer of a hook whose dialect evaluates strictly, None for others."""
    source = entry.hook.source
    return (source.layer, source.dialect) if source.evaluation == "strictest" else None


def _walked_kind(entry: Entry) -> bool | None:
    """Whether a handler is async; None for what no walk may take: other hooks, other conditions, rechecks."""
    hook = entry.hook
    is_more_asked = hook.match.args or hook.match.predicate is not None
    if not isinstance(hook.action, HandlerAction) or is_more_asked or hook.execution.recheck:
        return None
    return hook.action.is_async


def _make_entry(hook: Hook) -> Entry:
    match = compile_match(hook.match)
    return Entry(
        hook=hook,
        match=replace(match, subject=None) if match.subject is not None else match,
        subject=match.subject,
        is_certain=not match.asks_more_than_names,
    )


class Registry:
    """An index over hooks in their order of declaration, the closed events, and the settings that apply."""

    __slots__ = ("_closures", "_index", "event_names", "hooks", "settings")

    def __init__(
        self,
        hooks: Sequence[Hook] = (),
        *,
        closures: Iterable[Closure] = (),
        settings: Settings | None = None,
    ) -> None:
        self.hooks = tuple(hooks)
        self.settings = settings or Settings()
        self._index: dict[str, _EventIndex] = {}
        for hook in self.hooks:
            if hook.enabled:
                self._index.setdefault(hook.event, _EventIndex()).add(_make_entry(hook))
        self._closures: dict[str, tuple[Closure, ...]] = {}
        for closure in closures:
            self._closures[closure.event] = (*self._closures.get(closure.event, ()), closure)
        # The events that concern anybody: a hook is enabled for them, or they are closed.
        self.event_names = frozenset(self._index) | frozenset(self._closures)

    @property
    def closures(self) -> Mapping[str, tuple[Closure, ...]]:
        """The closed events and the reasons for each."""
        return self._closures

    def select(self, event: Event) -> Selection:
        """The hooks whose match may hold for this event, as far as names tell."""
        index = self._index.get(event.name)
        return _NOTHING if index is None else index.select(event)
