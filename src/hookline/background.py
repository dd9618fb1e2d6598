"""
Everything that outlives a `fire`: one thread with an event loop of its own.

Here run the hooks nobody waits for, the endings of processes whose time is up, and whole events that are
fired from synchronous code. The host's own loop may end at any time without harm to any of them.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import logging
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hookline.fold import find_warnings
from hookline.handlers.clock import running_clock
from hookline.hook import Hook, Settings
from hookline.outcome import Failure, Run
from hookline.process.child import Child, Status
from hookline.process.ending import end_child, kill_child
from hookline.runners.base import Payload, Runner

T = TypeVar("T")
logger = logging.getLogger("hookline")

_MOST_KEPT_RESULTS = 1000
_MOST_KEPT_OUTPUT = 4 * 1024 * 1024
_LAST_GRACE_S = 1.0
_CLOSED = "the engine is closed"
_FULL = "too many hooks are waiting (settings.max_queued_hooks)"


class ClosedError(RuntimeError):
    """The thread takes no more work."""


class Flight(Struct, eq=False):
    """A run under way that nobody waits for, and the event it belongs to."""

    run: Run
    payload: Payload
    task: asyncio.Task[Any] | None = None

    def belongs_to(self, session_id: str, agent_id: str | None, scopes: Iterable[str]) -> bool:
        """Whether a drain of this session (and agent) and these scopes waits for it: only async hooks."""
        event = self.payload.event
        is_of_agent = agent_id is None or event.agent.id == agent_id
        is_of_scope = event.type.scope in scopes and not event.type.background
        return (
            self.run.hook.execution.mode == "async" and event.session_id == session_id and is_of_agent and is_of_scope
        )


class Background:
    """
    The thread, the runs in flight on it, and the processes being ended.

    Started with the first thing to do. May be used from any thread. `on_landed` hears of every run that ended.
    """

    def __init__(self, settings: Settings, *, on_landed: Callable[[Run, Payload], None]) -> None:
        self._settings = settings
        self._on_landed = on_landed
        self._lock = threading.RLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._slots: asyncio.Semaphore | None = None
        self._flights: dict[str, Flight] = {}
        self._finished = _Recent()
        self._ended: OrderedDict[str, Status] = OrderedDict()
        self._endings: dict[Child, tuple[str, concurrent.futures.Future[Status]]] = {}
        self._loose: dict[concurrent.futures.Future[Any], bool] = {}
        self._of_handlers: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._closed = threading.Event()
        self._is_closing = False
        self._is_stopped = False
        self.exit_grace_s: float = 0
        """What is running gets this time, in seconds, when the interpreter ends before anyone closed this."""

    @property
    def is_closing(self) -> bool:
        """Whether no new hook may be started any more."""
        return self._is_closing

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the thread; raises `ClosedError` when the thread has been stopped."""
        with self._lock:
            if self._is_stopped:
                work.close()
                raise ClosedError(_CLOSED)
            if self._loop is None:
                self._loop = self._start_thread()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def submit_loose(self, work: Coroutine[Any, Any, T], *, gets_grace: bool) -> concurrent.futures.Future[T]:
        """
        Run a coroutine that nobody needs the result of; closing cancels it, after the grace or at once.

        Raises `ClosedError` when nothing new is started any more.
        """
        with self._lock:
            if self._is_closing:
                work.close()
                raise ClosedError(_CLOSED)
            future = self.submit(work)
            self._loose[future] = gets_grace
        future.add_done_callback(self._forget_loose)
        return future

    def _forget_loose(self, future: concurrent.futures.Future[Any]) -> None:
        with self._lock:
            self._loose.pop(future, None)

    def start(self, hook: Hook, payload: Payload, runner: Runner, *, run: Run | None = None) -> Run:
        """Start a hook that nobody waits for, or skip it visibly when too many are waiting already."""
        flight = Flight(run=run or Run(hook=hook, status="queued"), payload=payload)
        with self._lock:
            most = self._settings.max_queued_hooks + self._settings.max_parallel_hooks
            reason = _CLOSED if self._is_closing else _FULL if len(self._flights) >= most else None
            if reason is not None:
                notes = (*flight.run.notes, f"skipped: {reason}")
                return replace(flight.run, status="skipped", reason=reason, notes=notes)
            self._flights[flight.run.id] = flight
            self.submit(self._fly(flight, runner))
        return flight.run

    async def fly(self, payload: Payload, runner: Runner, run: Run) -> None:
        """Run a hook to its end, on the thread itself, as one of those in flight."""
        flight = Flight(run=run, payload=payload)
        with self._lock:
            self._flights[run.id] = flight
        await self._fly(flight, runner)

    def has_flight(self, run_id: str) -> bool:
        """Whether a run with this id is in flight here."""
        with self._lock:
            return run_id in self._flights

    def call(self, function: Callable[[], object]) -> None:
        """Have the thread call a function soon; after its end call it at once."""
        with self._lock:
            if not self._is_stopped:
                if self._loop is None:
                    self._loop = self._start_thread()
                self._loop.call_soon_threadsafe(function)
                return
        function()

    def adopt(self, child: Child, run_id: str) -> None:
        """See to the end of a child, without making anybody wait."""
        try:
            with self._lock:
                self._endings[child] = (run_id, self.submit(self._end(child)))
        except ClosedError:
            with self._lock:
                self._endings.pop(child, None)
            kill_child(child)

    @property
    def is_started(self) -> bool:
        """Whether there has been anything to do yet."""
        return self._thread is not None

    def check_caller(self, action: str) -> None:
        """Raises `RuntimeError` on the thread itself, where waiting for it would never end."""
        if threading.current_thread() is self._thread:
            raise RuntimeError(f"{action} would wait for the thread that this handler runs on; use what can be awaited")

    async def wait_for(self, runs: Sequence[Run]) -> None:
        """Wait for the queued runs among these and for the ends of all their processes."""
        ids = {run.id for run in runs}
        queued = {run.id for run in runs if run.status == "queued"}
        await self._wait([flight for flight in self._snapshot() if flight.run.id in queued], None)
        with self._lock:
            endings = [future for run_id, future in self._endings.values() if run_id in ids]
        for future in endings:
            await asyncio.wrap_future(future)

    def recall(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        """These runs as they ended, as far as they have; waits for nothing."""
        return tuple(self._add_status(self._finished.get(run.id) or run) for run in runs)

    def _add_status(self, run: Run) -> Run:
        """The run with the signal that ended its process in the end."""
        status = self._ended.get(run.id)
        return run if status is None or run.signal is not None else replace(run, signal=status.signal)

    async def drain(
        self, session_id: str, agent_id: str | None, scopes: tuple[str, ...], grace_s: float | None
    ) -> tuple[Run, ...]:
        """
        Wait for a session's async runs of these scopes; after `grace_s` seconds cancel what is left.

        Without a grace it waits as long as they take, and being cancelled leaves them running.
        """
        flights = [flight for flight in self._snapshot() if flight.belongs_to(session_id, agent_id, scopes)]
        await self._land(flights, grace_s)
        return tuple(run for flight in flights if (run := self._finished.get(flight.run.id)) is not None)

    def submit_drain(
        self, session_id: str, agent_id: str | None, scopes: tuple[str, ...], grace_s: float | None
    ) -> concurrent.futures.Future[tuple[Run, ...]] | None:
        """A drain under way on the thread, None when there is nothing to wait for."""
        if not self.is_started:
            return None
        try:
            return self.submit(self.drain(session_id, agent_id, scopes, grace_s))
        except ClosedError:
            return None

    def close(self, grace_s: float) -> None:
        """
        Let what is in flight finish within the grace, end the rest with its processes, stop the thread.

        May be called from several threads; each returns when it is done.
        """
        with self._lock:
            is_first, self._is_closing = not self._is_closing, True
            loop, thread = self._loop, self._thread
            if loop is None or thread is None:
                self._is_stopped = True
                self._closed.set()
            finished = self.submit(self._finish(grace_s)) if is_first and not self._is_stopped else None
        if finished is None or loop is None or thread is None:
            self._closed.wait()
            return
        try:
            finished.result()
        except BaseException:  # an impatient user interrupted the grace: the end comes at once
            loop.call_soon_threadsafe(self._hurry)
            finished.result()
            raise
        finally:
            self._stop(loop, thread)

    def _hurry(self) -> None:
        for flight in self._snapshot():
            if flight.task is not None:
                flight.task.cancel()
        self._cancel_loose(with_grace=True)

    def _stop(self, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        with self._lock:
            self._is_stopped = True
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        self._loop = self._thread = None
        atexit.unregister(self._close_at_exit)
        self._closed.set()

    def _start_thread(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_task_factory(self._make_task)
        self._thread = threading.Thread(target=_run, args=(loop,), name="hookline", daemon=True)
        self._thread.start()
        atexit.register(self._close_at_exit)
        return loop

    def _make_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **options)
        if running_clock.get() is not None:
            self._of_handlers.add(task)
        return task

    def _close_at_exit(self) -> None:
        """A host that ends without closing its engine leaves no process behind."""
        self.close(self.exit_grace_s)

    def _snapshot(self) -> list[Flight]:
        with self._lock:
            return list(self._flights.values())

    async def _fly(self, flight: Flight, runner: Runner) -> None:
        flight.task = asyncio.current_task()
        try:
            run = await self._run_in_slot(flight, runner)
        except asyncio.CancelledError:
            run = replace(flight.run, status="cancelled", reason="its session or engine ended before it did")
        except Exception as error:  # boundary: our own mistake must not lose the run
            logger.exception("running %s failed", flight.run.hook)
            run = replace(flight.run, status="failed", outcome=Failure(kind="crash", message=repr(error)))
        if flight.run.notes:
            run = replace(run, notes=(*flight.run.notes, *run.notes))
        for warning in find_warnings(run):
            logger.warning("%s", warning)
        self._on_landed(run, flight.payload)
        with self._lock:
            self._flights.pop(run.id, None)
            self._finished.add(run)

    async def _run_in_slot(self, flight: Flight, runner: Runner) -> Run:
        if self._slots is None:
            self._slots = asyncio.Semaphore(self._settings.max_parallel_hooks)
        async with self._slots:
            return await runner.run(flight.run.hook, flight.payload, run_id=flight.run.id)

    async def _end(self, child: Child) -> Status:
        status = Status()
        try:
            status = await end_child(child)
            return status
        finally:
            with self._lock:
                run_id, _ = self._endings.pop(child, ("", None))
                self._ended[run_id] = status
                if len(self._ended) > _MOST_KEPT_RESULTS:
                    self._ended.popitem(last=False)

    async def _land(self, flights: list[Flight], grace_s: float | None) -> None:
        """Wait for the flights; cancel those that are still in the air after the grace."""
        late = await self._wait(flights, grace_s)
        for flight in late:
            if flight.task is not None:
                flight.task.cancel()
        await self._wait(late, None)

    async def _wait(self, flights: list[Flight], limit_s: float | None) -> list[Flight]:
        """Wait until the flights have landed or the time is up; returns those still in the air."""
        await asyncio.sleep(0)  # what was submitted before this has a task now
        tasks = [flight.task for flight in flights if flight.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=limit_s)
        return [flight for flight in flights if flight.task is not None and not flight.task.done()]

    async def _finish(self, grace_s: float) -> None:
        self._cancel_loose(with_grace=False)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace_s
        await self._land(self._snapshot(), grace_s)
        with self._lock:
            loose = [asyncio.wrap_future(future) for future in self._loose]
        if loose:
            await asyncio.wait(loose, timeout=max(0.0, deadline - loop.time()))
        self._cancel_loose(with_grace=True)
        await asyncio.gather(*loose, return_exceptions=True)
        while True:
            with self._lock:
                futures = [future for _, future in self._endings.values()]
            if not futures:
                break
            await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
        # What is left: events fired from synchronous code, which end under their rules, and writes on other threads.
        while others := asyncio.all_tasks() - {asyncio.current_task(), *self._of_handlers}:
            await asyncio.wait(others)
        left = [task for task in self._of_handlers if not task.done() and task.cancel()]
        _, pending = await asyncio.wait(left, timeout=_LAST_GRACE_S) if left else ((), ())
        if pending:
            logger.warning("tasks that handlers have started do not end and are left behind: %s", pending)

    def _cancel_loose(self, *, with_grace: bool) -> None:
        with self._lock:
            ended = [future for future, gets_grace in self._loose.items() if with_grace or not gets_grace]
        for future in ended:
            future.cancel()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, whatever a task that a handler left behind makes of the interpreter."""
    while True:
        try:
            loop.run_forever()
        except BaseException as error:  # boundary: an exit or interrupt in such a task goes through its loop
            logger.warning("a task that a handler has started raised %r, which is passed over", error)
        else:
            return


class _Recent:
    """The runs that ended last, for whoever asks later: some hundred, and not more output than fits."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._size = 0

    def add(self, run: Run) -> None:
        self._runs[run.id] = run
        self._size += _size_of(run)
        while len(self._runs) > _MOST_KEPT_RESULTS or (self._size > _MOST_KEPT_OUTPUT and len(self._runs) > 1):
            _, oldest = self._runs.popitem(last=False)
            self._size -= _size_of(oldest)

    def get(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)


def _size_of(run: Run) -> int:
    return len(run.stdout) + len(run.stderr) + len(run.reply or "")
