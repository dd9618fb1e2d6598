"""What a runner is, and the payload it gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from hookline.dialects.base import Dialect
from hookline.events import Event
from hookline.hook import Hook
from hookline.outcome import QuietRuns, Run


class Delivery(Struct, frozen=True, kw_only=True):
    """
    What makes a run durable: the job's id, which attempt this is, and what its process must inherit.

    The id stays the same over all attempts, so that a hook can tell whether it has done its work already.
    """

    job_id: str
    attempt: int
    inheritable: tuple[int, ...] = ()


class Payload:
    """
    An event on its way to hooks; encoded once for each dialect, however many hooks wait for it.

    `stored` is the payload of a job as it was first written, which is then what every attempt reads.
    """

    __slots__ = ("_encoded", "_stored", "delivery", "event")

    def __init__(
        self, event: Event, *, delivery: Delivery | None = None, stored: Mapping[str, Any] | None = None
    ) -> None:
        self.event = event
        self.delivery = delivery
        self._stored = stored
        self._encoded: dict[tuple[str, bool], bytes] = {}

    def to_data(self, dialect: Dialect, *, is_cwd_missing: bool) -> dict[str, Any]:
        """The payload as data."""
        if self._stored is not None:
            return dict(self._stored)
        return dialect.encode(self.event, is_cwd_missing=is_cwd_missing)

    def encode(self, dialect: Dialect, *, is_cwd_missing: bool) -> bytes:
        """
        The payload as the dialect's hooks read it.

        Raises `hookline.dialects.wire.UnencodableError` when it has no such form.
        """
        key = (dialect.name, is_cwd_missing)
        if key not in self._encoded:
            self._encoded[key] = dialect.to_json(self.to_data(dialect, is_cwd_missing=is_cwd_missing))
        return self._encoded[key]


class Progress(Struct, frozen=True, kw_only=True):
    """How far a walk along a stretch came: who had nothing to say, the run of whoever had, where to go on."""

    quiet: QuietRuns
    run: Run | None
    position: int


class Runner(Protocol):
    """Runs hooks of one kind of action. A hook that fails is a run that says so, never an exception."""

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Run the hook to its end or its time limit; `run_id` is the id the run is to have."""
