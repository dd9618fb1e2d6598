"""
The heart: one event, all its hooks, one decision.

Blocking hooks run one after another in the order of declaration, each matched on and shown the event with the
edits so far. The first block ends the event. Hooks of a layer whose dialect evaluates strictly are one link of that
chain: they run side by side. Guards that had their say before a later edit are asked once
more. Then the other hooks are started; nobody waits for them here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from hookline.events import Event
from hookline.fold import Chain
from hookline.hook import Hook
from hookline.match import Look, Search, UnreadableValueError
from hookline.matcher import Matcher, SearchError
from hookline.outcome import EMPTY_DECISION, Answer, Decision, Failure, QuietRuns, Run
from hookline.registry import Entry, Link, Registry, Selection, Stretch
from hookline.runners.base import Payload, Progress, Runner
from hookline.runners.checked import stop_run

logger = logging.getLogger("hookline")


class Starter(Protocol):
    """Starts a hook that nobody waits for; returns its run, queued, detached or skipped."""

    async def __call__(self, hook: Hook, payload: Payload) -> Run: ...


class Walker(Protocol):
    """
    Calls the handlers of a stretch from a position on, until one has something to say.

    Tells `note_cancelled` which handler was running when its caller went away.
    """

    async def __call__(
        self, stretch: Stretch, first: int, event: Event, note_cancelled: Callable[[Hook], None]
    ) -> Progress: ...


class Ports(Struct, frozen=True, kw_only=True):
    """
    What a dispatch needs of the outside; `note_cancelled` hears of a run whose caller went away.

    Without `walk` handlers are run one by one, by the runner. `find_silence` says why the hooks of a dialect keep
    out of an event altogether, guards and all; None when they do not.
    """

    runner: Runner
    matcher: Matcher
    start: Starter
    note_cancelled: Callable[[Run, Event], None]
    walk: Walker | None = None
    find_silence: Callable[[str, Event], str | None] = lambda dialect, event: None


async def dispatch(event: Event, registry: Registry, ports: Ports, *, stop_reason: str | None = None) -> Decision:
    """
    Run all hooks of an event and say what they decide together.

    With a `stop_reason` no hook may run: guards block with it, the others are skipped.
    Never raises because of a hook; cancelling it ends the hook that is running.
    """
    selection = registry.select(event)
    closures = [
        closure
        for closure in registry.closures.get(event.name, ())
        if ports.find_silence(closure.dialect, event) is None
    ]
    if closures:
        chain = Chain(event=event, verdict="block", reason="; ".join(closure.reason for closure in closures))
        return chain.decide(await _skip((*selection.blocking, *selection.others), event, ports, "the event is closed"))

    hearing = _Hearing(event, ports, stop_reason)
    position = 0
    while position < len(selection.blocking):
        position = await hearing.ask(selection, position)
        if hearing.chain.is_blocked:
            rest = (
                *selection.blocking[position:],
                *(other for other in selection.others if other not in hearing.begun),
            )
            reason = f"hook {hearing.blocker!r} blocked the event"
            hearing.runs += await _skip(rest, hearing.chain.event, ports, reason)
            return hearing.chain.decide(hearing.runs)

    if registry.settings.recheck_guards:
        await hearing.recheck()
        if hearing.chain.is_blocked:
            reason = "a guard blocked the event as edited"
            hearing.runs += await _skip(selection.others, hearing.chain.event, ports, reason)
            return hearing.chain.decide(hearing.runs)

    for entry in selection.others:
        if entry not in hearing.begun:
            await hearing.start(entry)
    return hearing.chain.decide(hearing.runs) if hearing.runs else EMPTY_DECISION


class _Hearing:
    """An event being put to its hooks: the chain so far, the runs, and who has been told what."""

    def __init__(self, event: Event, ports: Ports, stop_reason: str | None) -> None:
        self.chain = Chain(event=event)
        self.runs: list[Run | QuietRuns] = []
        self.begun: set[Entry] = set()
        self._ports = ports
        self._stop_reason = stop_reason
        self._heard: list[tuple[Entry, Event]] = []  # the guards, and the event as each of them left it
        self._payload = Payload(event)

    @property
    def blocker(self) -> str:
        """The id of the hook that blocked the event."""
        runs = (run for run in self.runs if isinstance(run, Run) and "blocked" in run.effects)
        return next(run.hook.id for run in runs)

    def _read_payload(self) -> Payload:
        if self._payload.event is not self.chain.event:
            self._payload = Payload(self.chain.event)
        return self._payload

    async def ask(self, selection: Selection, position: int) -> int:
        """Ask the hook at a position, or those with it that are asked together; returns where to go on."""
        link = selection.links.get(position)
        if link is not None:
            await self._ask_side_by_side(link)
            return position + len(link.entries)
        if position in selection.stretches and self._stop_reason is None and self._ports.walk is not None:
            stretch, start = selection.stretches[position]
            return start + await self._walk(stretch, position - start, self._ports.walk)
        entry = selection.blocking[position]
        run = await self._ask_one(entry)
        if run is not None:
            self._take(entry, run)
        elif entry.hook.execution.recheck:
            self._heard.append((entry, self.chain.event))
        return position + 1

    async def _ask_one(self, entry: Entry) -> Run | None:
        """The run of a hook, None when the event is not meant for it."""
        matched = await _match(entry, self.chain.event, self._ports.matcher)
        if matched is False:
            return None
        if isinstance(matched, Failure):
            return Run(hook=entry.hook, status="failed", outcome=matched)
        silence = self._find_silence(entry.hook)
        if silence is not None:
            return Run(hook=entry.hook, status="skipped", reason=silence)
        if self._stop_reason is not None:
            return stop_run(entry.hook, self._stop_reason)
        return await _run(entry.hook, self._read_payload(), self._ports)

    def _find_silence(self, hook: Hook) -> str | None:
        return self._ports.find_silence(hook.source.dialect, self.chain.event)

    def _take(self, entry: Entry, run: Run) -> None:
        if run.status != "skipped":
            self.chain, run = self.chain.take(run)
            if entry.hook.execution.recheck:
                self._heard.append((entry, self.chain.event))
        self.runs.append(run)

    async def _walk(self, stretch: Stretch, first: int, walk: Walker) -> int:
        """Call handlers until one has something to say; returns the position behind it."""
        event = self.chain.event

        def note_cancelled(hook: Hook) -> None:
            self._ports.note_cancelled(
                Run(hook=hook, status="cancelled", reason="its caller was cancelled"), self.chain.event
            )

        try:
            progress = await walk(stretch, first, event, note_cancelled)
        except Exception as error:  # boundary: as in `_run`
            self._take(stretch.entries[first], _crash(stretch.entries[first].hook, error))
            return first + 1
        if progress.quiet.took:
            self.runs.append(progress.quiet)
        if progress.run is not None:
            self._take(stretch.entries[progress.position - 1], progress.run)
        return progress.position

    async def _ask_side_by_side(self, link: Link) -> None:
        """Start the link's other hooks, run all of its waiting ones on the same input, and take the strictest."""
        for entry in link.others:
            await self.start(entry)
        self.begun.update(link.others)
        found = await asyncio.gather(*(self._ask_one(entry) for entry in link.entries))
        runs = [run for run in found if run is not None]
        self.chain, taken = self.chain.take_strictest([run for run in runs if run.status != "skipped"])
        counted = iter(taken)
        self.runs += [run if run.status == "skipped" else next(counted) for run in runs]

    async def recheck(self) -> None:
        """Ask once more the guards whose event was edited after their turn."""
        self.chain, runs = await _recheck(self.chain, self._heard, self._ports)
        self.runs += runs

    async def start(self, entry: Entry) -> None:
        """Start a hook that nobody waits for, if it is meant."""
        matched = await _match(entry, self.chain.event, self._ports.matcher)
        if isinstance(matched, Failure):
            self.runs.append(Run(hook=entry.hook, status="failed", outcome=matched))
        elif matched and (silence := self._find_silence(entry.hook)) is not None:
            self.runs.append(Run(hook=entry.hook, status="skipped", reason=silence))
        elif matched and self._stop_reason is not None:
            self.runs.append(stop_run(entry.hook, self._stop_reason))
        elif matched:
            self.runs.append(await self._ports.start(entry.hook, self._read_payload()))


async def _match(entry: Entry, event: Event, matcher: Matcher) -> bool | Failure:
    """Whether the hook is meant; a match that has no answer is a failure of the hook, never a miss."""
    if entry.is_certain:
        return True
    try:
        found = entry.match.test(event)
        if isinstance(found, bool):
            return found
        for search in found:
            if not await _ask_aside(search, entry.hook, matcher):
                return False
    except (UnreadableValueError, SearchError) as error:
        return Failure(kind="match", message=str(error), provokable=True)
    return True


async def _ask_aside(search: Search | Look, hook: Hook, matcher: Matcher) -> bool:
    if isinstance(search, Look):
        return await matcher.look(search, hook.execution.timeout_s)
    return await matcher.search(search)


async def _run(hook: Hook, payload: Payload, ports: Ports) -> Run:
    try:
        return await ports.runner.run(hook, payload)
    except asyncio.CancelledError:
        ports.note_cancelled(Run(hook=hook, status="cancelled", reason="its caller was cancelled"), payload.event)
        raise
    except Exception as error:  # boundary: our own mistake must not let the action pass a guard, nor reach the host
        return _crash(hook, error)


def _crash(hook: Hook, error: Exception) -> Run:
    logger.exception("running %s failed", hook)
    return Run(hook=hook, status="failed", outcome=Failure(kind="crash", message=repr(error)))


async def _skip(entries: Iterable[Entry], event: Event, ports: Ports, reason: str) -> tuple[Run, ...]:
    """The runs of the hooks that are meant by the event but were not reached."""
    return tuple(
        [
            Run(hook=entry.hook, status="skipped", reason=reason)
            for entry in entries
            if await _match(entry, event, ports.matcher) is not False
        ]
    )


async def _recheck(chain: Chain, heard: list[tuple[Entry, Event]], ports: Ports) -> tuple[Chain, list[Run]]:
    """
    Ask the guards whose event was edited after their turn once more, about the event as it stands.

    Also those that the event did not concern before the edit. What they say counts as far as it stops or asks;
    their own edits would start the matter anew and are ignored.
    """
    runs: list[Run] = []
    payload = Payload(chain.event)
    for entry, event in heard:
        if event is chain.event:
            continue
        matched = await _match(entry, chain.event, ports.matcher)
        if matched is False:
            continue
        if isinstance(matched, Failure):
            run = Run(hook=entry.hook, status="failed", outcome=matched)
        else:
            run = _without_edits(await _run(entry.hook, payload, ports))
        chain, run = chain.take(run)
        runs.append(replace(run, reason="asked again after a later edit"))
        if chain.is_blocked:
            break
    return chain, runs


def _without_edits(run: Run) -> Run:
    if not isinstance(run.outcome, Answer) or not run.outcome.edits:
        return run
    ignored = (*run.outcome.ignored, "edits of a guard that is asked again")
    return replace(run, outcome=replace(run.outcome, edits=(), ignored=ignored))
