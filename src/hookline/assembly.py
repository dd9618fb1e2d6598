"""The parts of an engine, put together; none of them knows the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from hookline.background import Background
from hookline.delivery import Deliveries
from hookline.dialects.table import DIALECTS
from hookline.dialects.vix import VIX
from hookline.dispatch import Ports
from hookline.events import Event
from hookline.folders.recorder import FolderRecorder
from hookline.hook import Hook
from hookline.hookset import HookSet
from hookline.matcher import Matcher
from hookline.outbox.files import FileOutbox
from hookline.outbox.store import OutboxStore
from hookline.registry import Stretch
from hookline.runlog import RunLog
from hookline.runners.agent import AgentRunner
from hookline.runners.base import Progress, Runner
from hookline.runners.checked import CheckedRunner, RunnerByKind
from hookline.runners.command import CommandRunner
from hookline.runners.depth import find_stop_reason, read_depth
from hookline.runners.detached import DetachedFolders, DetachedLauncher
from hookline.runners.exchange import Exchange
from hookline.runners.preparation import Preparation, Surroundings
from hookline.telling import Teller
from hookline.waiting import wait_for

if TYPE_CHECKING:
    from hookline.handling import Handling


class Assembly(Struct, frozen=True, kw_only=True, eq=False):
    """The parts; `stop_reason` says why no hook may run in this process at all."""

    background: Background
    deliveries: Deliveries
    exchange: Exchange
    matcher: Matcher
    teller: Teller
    recorder: FolderRecorder
    agents: AgentRunner
    ports: Ports
    stop_reason: str | None

    def close(self, grace_s: float) -> None:
        """Give what is running the grace, in seconds, and end the rest."""
        self.background.close(grace_s)
        self.agents.close()
        self.deliveries.close()
        self.recorder.close()
        self.matcher.close()
        self.exchange.close()


def assemble(
    hooks: HookSet,
    *,
    runner: Runner | None,
    outbox: OutboxStore | None,
    keeps_log: bool,
    get_handling: Callable[[], Handling],
    fire_failure: Callable[[Event], object],
) -> Assembly:
    """
    The parts of an engine over these hooks.

    A `runner` takes the place of all others: then there is no process, no handler and no run log. `get_handling`
    is first called when there is a handler or an object to run.
    """
    layers = hooks.layers
    depth = read_depth()
    home = layers.homes["native"] / "hooks"
    exchange, matcher = Exchange(home / "tmp"), Matcher()
    log = RunLog(home / "log", layers.settings) if keeps_log and runner is None else None
    recorder = FolderRecorder(hooks.find_spec)
    teller = Teller(log, recorder=recorder if runner is None else None, fire_failure=fire_failure)
    background = Background(layers.settings, on_landed=teller.note_landed)
    surroundings = Surroundings(project=layers.project, homes=hooks.homes, depth=depth)
    preparation = Preparation(surroundings, adopt=background.adopt)
    folders = DetachedFolders(calls=home / "detached", outputs=home / "logs", log=home / "log", outbox=home / "outbox")
    processes = CommandRunner(preparation, exchange, adopt=background.adopt)
    agents = AgentRunner(processes, VIX.decode_text)
    by_kind = RunnerByKind(
        processes,
        get_handlers=lambda: get_handling().runner,
        get_objects=lambda: get_handling().objects.runner,
        agents=agents,
    )
    checked = CheckedRunner(runner or by_kind, hooks.find_refusal)

    async def walk(stretch: Stretch, first: int, event: Event, note_cancelled: Callable[[Hook], None]) -> Progress:
        return await get_handling().runner.walk(stretch, first, event, note_cancelled)

    deliveries = Deliveries(
        background=background,
        runner=checked,
        launcher=DetachedLauncher(preparation, folders) if runner is None else None,
        refuse=hooks.find_refusal,
        store=FileOutbox(home / "outbox") if outbox is None else outbox,
        hooks=layers.hooks,
        files=hooks.files,
        settings=layers.settings,
    )
    ports = Ports(
        runner=checked,
        matcher=matcher,
        note_cancelled=lambda run, event: teller.note_cancelled(run, event, background),
        start=lambda hook, payload: deliveries.start(hook, payload, wait_for),
        walk=None if runner is not None else walk,
        find_silence=_find_silence,
    )
    return Assembly(
        background=background,
        deliveries=deliveries,
        exchange=exchange,
        matcher=matcher,
        teller=teller,
        recorder=recorder,
        agents=agents,
        ports=ports,
        stop_reason=find_stop_reason(depth, layers.settings),
    )


def _find_silence(dialect: str, event: Event) -> str | None:
    found = DIALECTS.get(dialect)
    return None if found is None else found.find_silence(event)
