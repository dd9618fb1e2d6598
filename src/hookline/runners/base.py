"""What a runner is, and the payload it gets."""

from __future__ import annotations

from typing import Protocol

from hookline.dialects.base import Dialect
from hookline.dialects.wire import to_json
from hookline.events import Event
from hookline.hook import Hook
from hookline.outcome import Run


class Payload:
    """
    An event on its way to hooks; encoded once for each dialect, however many hooks wait for it.
    """

    __slots__ = ("_encoded", "event")

    def __init__(self, event: Event) -> None:
        self.event = event
        self._encoded: dict[tuple[str, bool], bytes] = {}

    def encode(self, dialect: Dialect, *, is_cwd_missing: bool) -> bytes:
        """
        The payload as the dialect's hooks read it.

        Raises `hookline.dialects.wire.UnencodableError` when it has no such form.
        """
        key = (dialect.name, is_cwd_missing)
        if key not in self._encoded:
            self._encoded[key] = to_json(dialect.encode(self.event, is_cwd_missing=is_cwd_missing))
        return self._encoded[key]


class Runner(Protocol):
    """Runs hooks of one kind of action. A hook that fails is a run that says so, never an exception."""

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Run the hook to its end or its time limit; `run_id` is the id the run is to have."""
