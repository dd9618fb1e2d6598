"""The engine: hooks of one project, ready for the events of any number of sessions and agents."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import logging
import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from hookline.background import Background, ClosedError
from hookline.config.layers import BrokenConfig, Layers, load_layers
from hookline.config.trust import Trust
from hookline.delivery import Deliveries
from hookline.dispatch import Ports, dispatch
from hookline.events import Event
from hookline.fold import Chain, find_warnings
from hookline.hook import Hook, Settings
from hookline.matcher import Matcher
from hookline.outbox.files import FileOutbox
from hookline.outbox.store import OutboxStore
from hookline.outcome import EMPTY_DECISION, Decision, Failure, Run
from hookline.problem import Problem
from hookline.registry import Registry
from hookline.runlog import RunLog
from hookline.runners.base import Payload, Runner
from hookline.runners.checked import CheckedRunner, stop_run
from hookline.runners.command import CommandRunner
from hookline.runners.depth import find_stop_reason, read_depth
from hookline.runners.detached import DetachedFolders, DetachedLauncher
from hookline.runners.exchange import Exchange
from hookline.runners.preparation import Preparation, Surroundings
from hookline.waiting import is_on_asyncio, run_in_thread, wait_for

logger = logging.getLogger("hookline")

_MOST_UNSETTLED_EVENTS = 1000


class Engine:
    """
    Finds the hooks for each event, runs them, and says what they decide.

    Open one for each project in a process; it serves any number of sessions, agents, threads and event loops.
    Close it when the process is done with it, or use it in a `with` or `async with` block.
    """

    def __init__(
        self,
        layers: Layers,
        *,
        runner: Runner | None = None,
        outbox: OutboxStore | None = None,
        keeps_log: bool = True,
    ) -> None:
        """Use `Engine.open`; this takes layers that are loaded already, and perhaps another runner or outbox."""
        self._layers = layers
        self._registry = Registry(layers.hooks, closures=layers.closures, settings=layers.settings)
        self._listened = self._registry.event_names
        depth = read_depth()
        self._stop_reason = find_stop_reason(depth, layers.settings)
        self._matcher = Matcher()
        home = layers.homes["native"] / "hooks"
        self._exchange = Exchange(home / "tmp")
        self._log = RunLog(home / "log", layers.settings) if keeps_log and runner is None else None
        self._background = Background(layers.settings, on_landed=self._note_landed)
        adopt = self._background.adopt
        preparation = Preparation(Surroundings(project=layers.project, homes=layers.homes, depth=depth), adopt=adopt)
        folders = DetachedFolders(
            calls=home / "detached", outputs=home / "logs", log=home / "log", outbox=home / "outbox"
        )
        launcher = DetachedLauncher(preparation, folders) if runner is None else None
        runner = CheckedRunner(runner or CommandRunner(preparation, self._exchange, adopt=adopt), self._refuse)
        self._deliveries = Deliveries(
            background=self._background,
            runner=runner,
            launcher=launcher,
            refuse=self._refuse,
            store=FileOutbox(home / "outbox") if outbox is None else outbox,
            hooks=layers.hooks,
            files=[loaded.file.path for loaded in layers.files if loaded.is_counted],
            settings=layers.settings,
        )
        self._ports = Ports(
            runner=runner,
            matcher=self._matcher,
            note_cancelled=self._note_cancelled,
            start=lambda hook, payload: self._deliveries.start(hook, payload, wait_for),
        )
        self._whole_events: OrderedDict[str, concurrent.futures.Future[Decision]] = OrderedDict()

    @classmethod
    def open(
        cls,
        project: str | os.PathLike[str],
        *,
        home: str | os.PathLike[str] | None = None,
        dialects: Sequence[str] | None = None,
        trust: Trust = "recorded",
        broken_config: BrokenConfig = "closed",
    ) -> Self:
        """
        Load the hooks of a project and of its user.

        `project` is the folder the agent works in; `home` the user's Hookline folder, `~/.hookline` by default.
        `dialects` names the formats to read besides native, in the order of their layers; by default the
        user's own hooks file says so. A project's hooks are code that came with it: by default they are loaded
        only as the user has trusted them (`hookline trust`); `trust` may also be `"all"`, `"none"`, or the
        digests that are trusted. A user's or trusted project's file that cannot be parsed keeps closed what it
        guarded; `broken_config="open"` does without. What could not be loaded is in `problems`, and is logged.

        Raises `ConfigError` for an option that cannot be honoured.
        """
        root = Path(os.path.abspath(project))  # noqa: PTH100 - a link in the path keeps its name
        layers = load_layers(
            root,
            home=None if home is None else Path(os.path.abspath(home)),  # noqa: PTH100 - as above
            dialects=dialects,
            trust=trust,
            broken_config=broken_config,
        )
        for problem in layers.problems:
            logger.log(logging.INFO if problem.severity == "notice" else logging.WARNING, "%s", problem)
        engine = cls(layers)
        engine.recover()
        return engine

    def recover(self) -> None:
        """Start the durable runs that others left behind, once they are old enough; `open` does so."""
        self._deliveries.recover_soon()

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All loaded hooks, enabled or not, in the order in which they run."""
        return self._registry.hooks

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What loading found, everything that was left out included."""
        return self._layers.problems

    @property
    def settings(self) -> Settings:
        """The settings of all layers together."""
        return self._registry.settings

    def listens(self, event_name: str) -> bool:
        """
        Whether an event of this name concerns anybody.

        Ask before building an event, so that an agent without hooks pays nothing for them.
        """
        return event_name in self._listened

    async def fire(self, event: Event) -> Decision:
        """
        Run the hooks of an event and return what they decide.

        Returns when the blocking hooks have answered; the others are started. Never raises because of a hook
        or a hook file. When the caller is cancelled it returns at once, and the hook that runs is ended
        elsewhere. Works on any asyncio loop; under another async library it runs in a thread.
        """
        if event.name not in self._listened:
            return EMPTY_DECISION
        if event.type.background:
            return self._fire_unwaited(event)
        if is_on_asyncio():
            return await self._dispatch(event)
        try:
            future = self._background.submit(self._dispatch(event))
        except ClosedError:
            return self._dispatch_after_close(event)
        try:
            return await wait_for(future)
        except BaseException:
            future.cancel()
            raise

    def fire_sync(self, event: Event) -> Decision:
        """The same as `fire`, for code without an event loop; an event loop it is called on stands still."""
        if event.name not in self._listened:
            return EMPTY_DECISION
        if event.type.background:
            return self._fire_unwaited(event)
        try:
            future = self._background.submit(self._dispatch(event))
        except ClosedError:
            return self._dispatch_after_close(event)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def settle(self, decision: Decision) -> Decision:
        """
        Wait for everything the decision's event has started; returns the decision with the runs as they ended.

        Also waits until processes that had to be ended are gone.
        """
        if decision.event is None:
            return decision
        whole = self._whole_events.pop(decision.event.event_id, None)
        if whole is not None:
            decision = await wait_for(whole)
        if self._background.is_started:
            await wait_for(self._background.submit(self._background.wait_for(decision.runs)))
        runs = self._background.recall(decision.runs)
        late = (run for run, before in zip(runs, decision.runs, strict=True) if before.status == "queued")
        warnings = (warning for run in late for warning in find_warnings(run))
        return replace(decision, runs=runs, warnings=(*decision.warnings, *warnings))

    async def try_hook(self, hook: Hook, event: Event) -> Run:
        """
        Run one hook at an event, whether its match holds or not, and return how that ended.

        For people who try out a hook: nothing of what it says takes effect.
        """
        if self._stop_reason is not None:
            return stop_run(hook, self._stop_reason)
        run = await self._ports.runner.run(hook, Payload(event))
        return run if run.outcome is None or isinstance(run.outcome, Failure) else Chain(event=event).take(run)[1]

    async def drain_turn(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]:
        """
        Wait for the async hooks of this session's turn that are still running; returns the runs it waited for.

        With an `agent_id` only for those of that agent. Has no time limit of its own: each hook has one. Being
        cancelled leaves the hooks running.
        """
        return await self._drain(session_id, agent_id, ("turn",), None)

    async def drain_session(self, session_id: str = "", *, grace_s: float | None = None) -> tuple[Run, ...]:
        """
        Wait for a session's async hooks that are still running, cancel those that take too long; returns their runs.

        `grace_s` is the time they get, in seconds; by default the setting `shutdown_grace_seconds`.
        """
        grace = self.settings.shutdown_grace_s if grace_s is None else grace_s
        return await self._drain(session_id, None, ("turn", "session"), grace)

    def drain_turn_sync(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]:
        """The same as `drain_turn`, for code without an event loop."""
        return self._drain_sync(session_id, agent_id, ("turn",), None)

    def drain_session_sync(self, session_id: str = "", *, grace_s: float | None = None) -> tuple[Run, ...]:
        """The same as `drain_session`, for code without an event loop."""
        grace = self.settings.shutdown_grace_s if grace_s is None else grace_s
        return self._drain_sync(session_id, None, ("turn", "session"), grace)

    def close(self, *, grace_s: float | None = None) -> None:
        """
        Give what is running the grace, in seconds, end the rest, and leave nothing behind.

        The grace is the setting `shutdown_grace_seconds` unless given. May be called more than once.
        """
        self._background.close(self.settings.shutdown_grace_s if grace_s is None else grace_s)
        self._deliveries.close()
        self._matcher.close()
        self._exchange.close()

    async def aclose(self, *, grace_s: float | None = None) -> None:
        """Close without blocking the event loop."""
        await run_in_thread(functools.partial(self.close, grace_s=grace_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _refuse(self, hook: Hook) -> str | None:
        """Why a hook may not run: its project's hooks are no longer what was trusted."""
        snapshot = self._layers.snapshot
        if snapshot is None or hook.source.layer != "project":
            return None
        change = snapshot.find_change()
        return None if change is None else f"{change} has changed since you trusted it; see hookline trust"

    async def _dispatch(self, event: Event) -> Decision:
        if not event.cwd:
            event = replace(event, cwd=str(self._layers.project))
        stop_reason = "the engine is closed" if self._background.is_closing else self._stop_reason
        decision = await dispatch(event, self._registry, self._ports, stop_reason=stop_reason)
        for warning in decision.warnings:
            logger.warning("%s", warning)
        if decision.runs and self._log is not None:
            self._background.call(lambda: self._note_decided(decision, event))
        return decision

    def _note_decided(self, decision: Decision, event: Event) -> None:
        """Write the runs that have ended with the decision to the run log, and those that end elsewhere."""
        assert self._log is not None
        for run in decision.runs:
            if run.status != "queued" or run.hook.execution.where == "fleet":
                self._log.append(run, decision.event or event)

    def _note_cancelled(self, run: Run, event: Event) -> None:
        """Write a run whose caller was cancelled to the run log."""
        log = self._log
        if log is not None:
            self._background.call(lambda: log.append(run, event))

    def _note_landed(self, run: Run, payload: Payload) -> None:
        """Write a run that nobody waited for to the run log."""
        if self._log is not None:
            self._log.append(run, payload.event)

    def _fire_unwaited(self, event: Event) -> Decision:
        """Run an event that nobody waits for, blocking hooks and all, on the engine's thread."""
        try:
            whole = self._background.submit_loose(self._dispatch(event), gets_grace=True)
        except ClosedError:
            return self._dispatch_after_close(event)
        self._whole_events[event.event_id] = whole
        if len(self._whole_events) > _MOST_UNSETTLED_EVENTS:
            self._whole_events.popitem(last=False)
        return Decision(event=event)

    def _dispatch_after_close(self, event: Event) -> Decision:
        """No hook runs any more: guards close their gates, the others are skipped."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, self._dispatch(event)).result()

    async def _drain(
        self, session_id: str, agent_id: str | None, scopes: tuple[str, ...], grace_s: float | None
    ) -> tuple[Run, ...]:
        future = self._submit_drain(session_id, agent_id, scopes, grace_s)
        return () if future is None else await wait_for(future)

    def _drain_sync(
        self, session_id: str, agent_id: str | None, scopes: tuple[str, ...], grace_s: float | None
    ) -> tuple[Run, ...]:
        future = self._submit_drain(session_id, agent_id, scopes, grace_s)
        return () if future is None else future.result()

    def _submit_drain(
        self, session_id: str, agent_id: str | None, scopes: tuple[str, ...], grace_s: float | None
    ) -> concurrent.futures.Future[tuple[Run, ...]] | None:
        """A drain under way on the engine's thread, None when there is nothing to wait for."""
        if not self._background.is_started:
            return None
        try:
            return self._background.submit(self._background.drain(session_id, agent_id, scopes, grace_s))
        except ClosedError:
            return None
