"""
The heart: one event, all its hooks, one decision.

Blocking hooks run one after another in the order of declaration, each matched on and shown the event with the
edits so far. The first block ends the event. Guards that had their say before a later edit are asked once
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
from hookline.match import UnreadableValueError
from hookline.matcher import Matcher, SearchError
from hookline.outcome import EMPTY_DECISION, Answer, Decision, Failure, Run
from hookline.registry import Entry, Registry
from hookline.runners.base import Payload, Runner
from hookline.runners.checked import stop_run

logger = logging.getLogger("hookline")


class Starter(Protocol):
    """Starts a hook that nobody waits for; returns its run, queued, detached or skipped."""

    async def __call__(self, hook: Hook, payload: Payload) -> Run: ...


class Ports(Struct, frozen=True, kw_only=True):
    """What a dispatch needs of the outside; `note_cancelled` hears of a run whose caller went away."""

    runner: Runner
    matcher: Matcher
    start: Starter
    note_cancelled: Callable[[Run, Event], None]


async def dispatch(event: Event, registry: Registry, ports: Ports, *, stop_reason: str | None = None) -> Decision:
    """
    Run all hooks of an event and say what they decide together.

    With a `stop_reason` no hook may run: guards block with it, the others are skipped.
    Never raises because of a hook; cancelling it ends the hook that is running.
    """
    selection = registry.select(event)
    closures = registry.closures.get(event.name)
    if closures:
        chain = Chain(event=event, verdict="block", reason="; ".join(closure.reason for closure in closures))
        return chain.decide(await _skip((*selection.blocking, *selection.others), event, ports, "the event is closed"))

    chain, runs = Chain(event=event), []
    heard: list[tuple[Entry, Event]] = []  # the guards, and the event as each of them left it
    payload = Payload(event)
    for position, entry in enumerate(selection.blocking):
        matched = await _match(entry, chain.event, ports.matcher)
        if matched is False:
            if entry.hook.execution.recheck:
                heard.append((entry, chain.event))
            continue
        if payload.event is not chain.event:
            payload = Payload(chain.event)
        if isinstance(matched, Failure):
            run = Run(hook=entry.hook, status="failed", outcome=matched)
        elif stop_reason is not None:
            run = stop_run(entry.hook, stop_reason)
        else:
            run = await _run(entry.hook, payload, ports)
        if run.status == "skipped":
            runs.append(run)
            continue
        chain, run = chain.take(run)
        runs.append(run)
        if entry.hook.execution.recheck:
            heard.append((entry, chain.event))
        if chain.is_blocked:
            rest = (*selection.blocking[position + 1 :], *selection.others)
            runs += await _skip(rest, chain.event, ports, f"hook {entry.hook.id!r} blocked the event")
            return chain.decide(tuple(runs))

    if registry.settings.recheck_guards:
        chain, rechecked = await _recheck(chain, heard, ports)
        runs += rechecked
        if chain.is_blocked:
            runs += await _skip(selection.others, chain.event, ports, "a guard blocked the event as edited")
            return chain.decide(tuple(runs))

    payload = Payload(chain.event)
    for entry in selection.others:
        matched = await _match(entry, chain.event, ports.matcher)
        if isinstance(matched, Failure):
            runs.append(Run(hook=entry.hook, status="failed", outcome=matched))
        elif matched and stop_reason is not None:
            runs.append(stop_run(entry.hook, stop_reason))
        elif matched:
            runs.append(await ports.start(entry.hook, payload))
    return chain.decide(tuple(runs)) if runs else EMPTY_DECISION


async def _match(entry: Entry, event: Event, matcher: Matcher) -> bool | Failure:
    """Whether the hook is meant; a match that has no answer is a failure of the hook, never a miss."""
    try:
        found = entry.match.test(event)
        if isinstance(found, bool):
            return found
        for search in found:
            if not await matcher.search(search):
                return False
    except (UnreadableValueError, SearchError) as error:
        return Failure(kind="match", message=str(error), provokable=True)
    return True


async def _run(hook: Hook, payload: Payload, ports: Ports) -> Run:
    try:
        return await ports.runner.run(hook, payload)
    except asyncio.CancelledError:
        ports.note_cancelled(Run(hook=hook, status="cancelled", reason="its caller was cancelled"), payload.event)
        raise
    except Exception as error:  # boundary: our own mistake must not let the action pass a guard, nor reach the host
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
