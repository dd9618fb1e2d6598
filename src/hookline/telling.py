"""What is told of runs: to the run log, to those who listen to failures, and to the hooks of `hook_failed`."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from msgspec.structs import replace

from hookline.background import Background
from hookline.events import Event
from hookline.fold import describe_failed_run
from hookline.folders.recorder import FolderRecorder
from hookline.outcome import Decision, Failure, Run
from hookline.runlog import RunLog
from hookline.runners.base import Payload


class Teller:
    """
    Hears of every run, whatever way it came about.

    `listeners` hear of failed runs in this process. `fire_failure` fires an event that tells of one, or nothing
    if no hook is for it. The `recorder` writes down the runs of hook folders.
    """

    def __init__(
        self, log: RunLog | None, *, recorder: FolderRecorder | None, fire_failure: Callable[[Event], object]
    ) -> None:
        self._log = log
        self._recorder = recorder
        self._fire_failure = fire_failure
        self.listeners: list[Callable[[Run, Event], object]] = []

    def note_decided(self, decision: Decision, event: Event, background: Background) -> None:
        """Tell of the runs that have ended with a decision; the log is written on the background thread."""
        log = self._log
        if decision.runs and log is not None:
            background.call(lambda: _write(log, decision, event))
        for run in decision.spoken_runs:
            self._record(run, event)
            self._tell_failure(run, event)

    def note_cancelled(self, run: Run, event: Event, background: Background) -> None:
        """Tell of a run whose caller was cancelled."""
        log = self._log
        self._record(run, event)
        if log is not None:
            background.call(lambda: log.append(run, event))

    def note_landed(self, run: Run, payload: Payload) -> None:
        """Tell of a run that nobody waited for."""
        self._record(run, payload.event)
        self._tell_failure(run, payload.event)
        if self._log is not None:
            self._log.append(run, payload.event)

    def _record(self, run: Run, event: Event) -> None:
        if self._recorder is not None:
            self._recorder.note(run, event)

    def _tell_failure(self, run: Run, event: Event) -> None:
        if not isinstance(run.outcome, Failure):
            return
        for listener in self.listeners:
            listener(run, event)
        if event.name != "hook_failed":
            fields = describe_failed_run(run, event)
            self._fire_failure(replace(event, fields=fields, event_id=uuid4().hex))


def _write(log: RunLog, decision: Decision, event: Event) -> None:
    for run in decision.runs:
        if run.status != "queued" or run.hook.execution.where == "fleet":
            log.append(run, decision.event or event, before=event)
