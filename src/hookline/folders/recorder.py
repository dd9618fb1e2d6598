"""
Writing down the runs of hook folders: into the history of each hook, and into the run log of the folders.

A thread of its own does it, so that no event loop ever waits for a disk.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from hookline.events import Event
from hookline.folders.history import record_run
from hookline.folders.journal import Firing, Journal, describe_error, describe_finished, describe_fired
from hookline.folders.spec import FolderSpec
from hookline.folders.state import StateError, describe_run
from hookline.hook import Hook
from hookline.outcome import Failure, Run

logger = logging.getLogger("hookline")

_FIRE_ID_LENGTH = 8


class FolderRecorder:
    """
    Hears of every run and writes down those of hook folders, in order.

    `find_spec` says which spec a hook was made from, None for hooks of other kinds. The log lies beside the folder
    of the hooks: `~/.vix/logs/hooks` for `~/.vix/hooks`. May be used from any thread.
    """

    def __init__(self, find_spec: Callable[[Hook], FolderSpec | None]) -> None:
        self._find_spec = find_spec
        self._journals: dict[Path, Journal] = {}
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None
        self._is_closed = False

    def note(self, run: Run, event: Event) -> None:
        """Write down a run that was started or has ended; one that was left out is no run."""
        spec = self._find_spec(run.hook)
        if spec is None or run.status == "skipped":
            return
        now = datetime.now(UTC)
        with self._lock:
            if not self._is_closed:
                if self._thread is None:
                    self._thread = ThreadPoolExecutor(1, thread_name_prefix="hookline-folders")
                self._last = self._thread.submit(self._write, spec, run, event, now)
                return
        self._write(spec, run, event, now)

    def flush(self) -> None:
        """Wait until everything noted so far is written."""
        with self._lock:
            last = self._last
        if last is not None:
            last.result()

    def close(self) -> None:
        """Write what is noted, and end the thread; what comes later is written at once."""
        with self._lock:
            self._is_closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown()

    def _write(self, spec: FolderSpec, run: Run, event: Event, now: datetime) -> None:
        try:
            self._write_log(spec, run, event, now)
            if run.status != "queued":
                record = describe_run(
                    run, at=_find_start(run, now), event=spec.event, is_async=not run.hook.is_blocking
                )
                record_run(spec.place.path.parent, record)
        except StateError as error:
            logger.warning("a run of %s is not recorded: %s", run.hook, error)
        except Exception:  # boundary: our own mistake must not end the thread in silence
            logger.exception("a run of %s is not recorded", run.hook)

    def _write_log(self, spec: FolderSpec, run: Run, event: Event, now: datetime) -> None:
        journal = self._find_journal(spec.place.path.parent.parent)
        is_async = not run.hook.is_blocking
        firing = Firing(
            spec=spec,
            fire_id=run.id[:_FIRE_ID_LENGTH],
            is_async=is_async,
            thread_id=event.session_id,
            tool_name="" if event.tool is None else event.tool.name,
        )
        # A hook that somebody waits for is told of when it has ended, with the time at which it was started.
        if run.status == "queued" or not is_async:
            journal.append(describe_fired(firing, _find_start(run, now)), now)
        if run.status == "queued":
            return
        if isinstance(run.outcome, Failure):
            error = f"{run.outcome.kind}: {run.outcome.message}"
            source: Literal["command_exec", "agent"] = "command_exec" if spec.command else "agent"
            journal.append(describe_error(firing, now, source=source, error=error, exit_code=run.exit_code), now)
        status = describe_run(run, at=now, event=spec.event, is_async=is_async).status
        journal.append(describe_finished(firing, now, status=status, duration_ms=run.duration_ms or 0), now)

    def _find_journal(self, hooks_dir: Path) -> Journal:
        folder = hooks_dir.parent / "logs" / "hooks"
        if folder not in self._journals:
            self._journals[folder] = Journal(folder)
        return self._journals[folder]


def _find_start(run: Run, now: datetime) -> datetime:
    return now - timedelta(milliseconds=run.duration_ms or 0)
