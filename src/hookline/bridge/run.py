"""Running a program of another format once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

from hookline.bridge.answer import Said, fit
from hookline.bridge.program import Program, Surplus
from hookline.config.locate import default_home
from hookline.dialects.table import DIALECTS
from hookline.events import Event
from hookline.hook import Hook
from hookline.match import Look, UnreadableValueError
from hookline.outcome import NO_OBJECTION, Failure
from hookline.process.child import Child
from hookline.process.ending import end_child
from hookline.registry import Entry, Registry
from hookline.runners.base import Payload, Runner
from hookline.runners.exchange import Exchange

_OTHERS_S = 1.0

Adopt = Callable[[Child, str], None]


class Way(Struct, frozen=True, kw_only=True):
    """
    How programs of a format are run.

    `make_hooks` gives the hook as its own format has it at an event, or two where the event is two of Hookline's.
    """

    make_hooks: Callable[[Program, Event], tuple[Hook, ...]]
    make_runner: Callable[[Surplus, Exchange, Adopt], Runner]


async def run_program(way: Way, program: Program, event: Event, surplus: Surplus) -> Said:
    """
    Run a program on an event, if it is meant, and give what it says as a native hook can say it.

    Raises `ConfigError` for a program that its format does not allow.
    """
    entry = _select(way.make_hooks(program, event), event)
    try:
        if entry is None or not _is_meant(entry, event):
            return Said()
    except UnreadableValueError as error:
        return Said(outcome=Failure(kind="match", message=str(error)))
    left: list[Child] = []

    def adopt(child: Child, run_id: str) -> None:
        del run_id
        left.append(child)

    exchange = Exchange(default_home() / "hooks" / "tmp")
    try:
        runner = way.make_runner(surplus, exchange, adopt)
        run = await runner.run(entry.hook, Payload(event), run_id=surplus.run_id)
    finally:
        exchange.close()
        await _wait_for_others()
        for child in left:
            await end_child(child)
    assert run.outcome is not None
    if isinstance(run.outcome, Failure) or not program.is_heard:
        return Said(outcome=run.outcome if isinstance(run.outcome, Failure) else NO_OBJECTION, run=run)
    return fit(run, run.outcome, event)


async def _wait_for_others() -> None:
    """Let tasks that were given up come to their end, since only then they hand over what they have started."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=_OTHERS_S)


def _select(hooks: tuple[Hook, ...], event: Event) -> Entry | None:
    """The hook with its compiled match, None where its format does not let it hear of the event."""
    dialect = DIALECTS.get(hooks[0].source.dialect)
    if dialect is not None and dialect.find_silence(event) is not None:
        return None
    selection = Registry(hooks).select(event)
    return next(iter((*selection.blocking, *selection.others)), None)


def _is_meant(entry: Entry, event: Event) -> bool:
    """Whether the match holds; patterns of these formats take time only as the texts are long."""
    found = entry.match.test(event)
    if isinstance(found, bool):
        return found
    return all(look.predicate.holds(look.event) for look in found if isinstance(look, Look))
