"""
The hooks of an engine, indexed: which of them concern an event is one look-up, whatever their number.

A registry never changes. A reload builds a new one; a dispatch under way keeps the one it started with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from hookline.events import Event
from hookline.hook import Hook, Settings
from hookline.match import CompiledMatch, compile_match


class Entry(Struct, frozen=True, kw_only=True):
    """A hook and its compiled match."""

    hook: Hook
    match: CompiledMatch


class Closure(Struct, frozen=True, kw_only=True):
    """
    A gate event that stays closed, and why.

    The hook that guards the event could not be loaded; until that is mended nothing passes.
    """

    event: str
    hook_id: str
    reason: str


class Selection(Struct, frozen=True, kw_only=True):
    """The hooks an event may concern, in order: those the agent waits for, and the others."""

    blocking: tuple[Entry, ...] = ()
    others: tuple[Entry, ...] = ()


_NOTHING = Selection()


class _EventIndex(Struct, eq=False):
    """The entries of one event; `select` narrows them by what the matches name of a tool."""

    entries: list[Entry] = field(default_factory=list)
    tool_names: set[str] = field(default_factory=set)
    tool_kinds: set[str] = field(default_factory=set)
    # Filled as tools come by; only names and kinds that some hook names are keys, so it cannot grow with them.
    selections: dict[tuple[str | None, str | None], Selection] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        if entry.hook.match.tool_name is not None:
            self.tool_names.add(entry.hook.match.tool_name)
        if entry.hook.match.tool_kind is not None:
            self.tool_kinds.add(entry.hook.match.tool_kind)

    def select(self, event: Event) -> Selection:
        tool = event.tool
        name = tool.name if tool is not None and tool.name in self.tool_names else None
        kind = tool.kind if tool is not None and tool.kind in self.tool_kinds else None
        selection = self.selections.get((name, kind))
        if selection is None:
            selection = self.selections[name, kind] = self._narrow(name, kind)
        return selection

    def _narrow(self, name: str | None, kind: str | None) -> Selection:
        fitting = [
            entry
            for entry in self.entries
            if entry.hook.match.tool_name in (None, name) and entry.hook.match.tool_kind in (None, kind)
        ]
        return Selection(
            blocking=tuple(entry for entry in fitting if entry.hook.is_blocking),
            others=tuple(entry for entry in fitting if not entry.hook.is_blocking),
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
                entry = Entry(hook=hook, match=compile_match(hook.match))
                self._index.setdefault(hook.event, _EventIndex()).add(entry)
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
