"""Which workers are dead: those whose heartbeat does not change while the database answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any


class Watch:
    """
    What one worker has seen of the heartbeats of all.

    How old a heartbeat is by the clock of the database says little: while it is away nobody can send one. So a
    worker is dead when its heartbeat has stayed the same for `silent_s` seconds of our own time, in which every
    question was answered at once.
    """

    def __init__(self, *, silent_s: float) -> None:
        self._silent_s = silent_s
        self._seen: dict[int, tuple[datetime, float]] = {}

    def find_dead(
        self, beats: Sequence[Mapping[str, Any]], asked: float, answered: float, *, mine: int | None
    ) -> dict[int, datetime]:
        """The dead workers with their last heartbeats; `beats` was asked for and answered at these times."""
        if answered - asked > self._silent_s / 3:
            self.forget()
        before, self._seen = self._seen, {}
        for row in beats:
            worker, beat = row["id"], row["last_heartbeat"]
            known = before.get(worker)
            self._seen[worker] = known if known is not None and known[0] == beat else (beat, answered)
        return {
            worker: beat
            for worker, (beat, since) in self._seen.items()
            if worker != mine and asked - since >= self._silent_s
        }

    def forget(self) -> None:
        """Begin anew, because the database did not answer."""
        self._seen.clear()
