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
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from hookline.background import ClosedError
from hookline.config.layers import BrokenConfig, Layers
from hookline.config.trust import Trust
from hookline.dispatch import dispatch
from hookline.errors import ConfigError
from hookline.events import Event
from hookline.fold import Chain, find_warnings
from hookline.handlers.discover import Provider
from hookline.holder import HookHolder
from hookline.hook import Hook
from hookline.outbox.store import OutboxStore
from hookline.outcome import EMPTY_DECISION, Decision, Failure, Run
from hookline.reloading import Opening, log_problems
from hookline.runners.agent import PromptRunner, check_prompts
from hookline.runners.base import Payload, Runner
from hookline.runners.checked import stop_run
from hookline.waiting import is_on_asyncio, run_in_thread, wait_for

if TYPE_CHECKING:
    from hookline.handlers.host import Host
    from hookline.handlers.ui import UI

logger = logging.getLogger("hookline")

_MOST_UNSETTLED_EVENTS = 1000


class Engine(HookHolder):
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
        host: Host | None = None,
        ui: UI | None = None,
        prompts: PromptRunner | None = None,
        opening: Opening | None = None,
    ) -> None:
        """
        Use `Engine.open`; this takes layers that are loaded already, and perhaps another runner or outbox.

        The modules of the layers are loaded by `start`.
        """
        super().__init__(
            layers,
            runner=runner,
            outbox=outbox,
            keeps_log=keeps_log,
            host=host,
            ui=ui,
            prompts=prompts,
            opening=opening,
            fire_failure=self._fire_failure,
        )
        self._background = self._parts.background
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
        host: Host | None = None,
        ui: UI | None = None,
        prompts: PromptRunner | None = None,
        providers: Sequence[Provider] = (),
        vix_hooks: str | os.PathLike[str] | None = None,
    ) -> Self:
        """
        Load the hooks of a project and of its user.

        `project` is the folder the agent works in; `home` the user's Hookline folder, `~/.hookline` by default.
        `dialects` names the formats to read besides native, in the order of their layers; by default the
        user's own hooks file says so. A project's hooks are code that came with it: by default they are loaded
        only as the user has trusted them (`hookline trust`); `trust` may also be `"all"`, `"none"`, or the
        digests that are trusted. A user's or trusted project's file that cannot be parsed keeps closed what it
        guarded; `broken_config="open"` does without. What could not be loaded is in `problems`, and is logged.
        Modules act on the `host` and ask the user through the `ui`; `providers` find more of them. `prompts` puts the
        prompts of hooks to a model. `vix_hooks` is the folder of the user's hook folders, which enables their dialect.

        Raises `ConfigError` for an option that cannot be honoured, and for a required module that cannot be loaded.
        """
        check_prompts(prompts)
        opening = Opening(
            project=Path(os.path.abspath(project)),  # noqa: PTH100 - a link in the path keeps its name
            home=None if home is None else Path(os.path.abspath(home)),  # noqa: PTH100 - as above
            dialects=dialects,
            trust=trust,
            broken_config=broken_config,
            providers=providers,
            vix_hooks=None if vix_hooks is None else Path(os.path.abspath(vix_hooks)),  # noqa: PTH100 - as above
        )
        engine = cls(opening.load(), host=host, ui=ui, prompts=prompts, opening=opening)
        engine.start()
        log_problems(engine.problems)
        return engine

    def start(self) -> None:
        """
        Load the modules, and start the durable runs that others left behind; `open` does so.

        Raises `ConfigError` for a required module that cannot be loaded.
        """
        self.load_modules()
        self._parts.deliveries.recover_soon()

    def load_modules(self) -> None:
        """Load the modules alone, for who fires an event or two and goes; raises as `start` does."""
        try:
            self._reloader.start()
        except ConfigError:
            self.close(grace_s=0)
            raise

    async def fire(self, event: Event) -> Decision:
        """
        Run the hooks of an event and return what they decide.

        Returns when the blocking hooks have answered; the others are started. Never raises because of a hook
        or a hook file. When the caller is cancelled it returns at once, and the hook that runs is ended
        elsewhere. Works on any asyncio loop; under another async library it runs in a thread.
        """
        try:
            if type(event.fields) not in self._hooks.heard:
                return EMPTY_DECISION
        except AttributeError:
            raise _refuse(event) from None
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
        """
        The same as `fire`, for code without an event loop; an event loop it is called on stands still.

        Raises `RuntimeError` in an async handler that runs on the engine's own thread, which would wait for itself.
        """
        try:
            if type(event.fields) not in self._hooks.heard:
                return EMPTY_DECISION
        except AttributeError:
            raise _refuse(event) from None
        if event.type.background:
            return self._fire_unwaited(event)
        self._background.check_caller("fire_sync")
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
        if self._parts.stop_reason is not None:
            return stop_run(hook, self._parts.stop_reason)
        run = await self._parts.ports.runner.run(hook, Payload(event))
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
        self._background.check_caller("close")
        self._reloader.close()
        self._parts.close(self.settings.shutdown_grace_s if grace_s is None else grace_s)
        if self._handling is not None:
            self._handling.close()

    def close_at_exit(self) -> None:
        """
        Give what is running the grace too when the interpreter ends and nobody has closed the engine.

        For hosts that have no place for `close`. Without this, what is running then is ended at once.
        """
        self._background.exit_grace_s = self.settings.shutdown_grace_s

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

    async def _dispatch(self, event: Event) -> Decision:
        if not event.cwd:
            event = replace(event, cwd=str(self._hooks.layers.project))
        stop_reason = "the engine is closed" if self._background.is_closing else self._parts.stop_reason
        decision = await dispatch(event, self._hooks.registry, self._parts.ports, stop_reason=stop_reason)
        for warning in decision.warnings:
            logger.warning("%s", warning)
        self._parts.teller.note_decided(decision, event, self._background)
        return decision

    def _fire_failure(self, event: Event) -> None:
        """Fire an event that tells of a hook that failed, if a hook is for it; nobody waits for those."""
        if event.name in self._hooks.listened and not self._background.is_closing:
            self._fire_unwaited(event)

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
        future = self._background.submit_drain(session_id, agent_id, scopes, grace_s)
        return () if future is None else await wait_for(future)

    def _drain_sync(
        self, session_id: str, agent_id: str | None, scopes: tuple[str, ...], grace_s: float | None
    ) -> tuple[Run, ...]:
        self._background.check_caller("a drain")
        future = self._background.submit_drain(session_id, agent_id, scopes, grace_s)
        return () if future is None else future.result()


def _refuse(given: object) -> TypeError:
    return TypeError(f"fire takes an Event and was given {type(given).__name__}; write Event(...) around a record")
