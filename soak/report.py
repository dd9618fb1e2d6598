"""The figures of a soak in words, and what of them is a leak."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import fields

from soak.figures import Holdings
from soak.load import MARKS, Tally

MOST_GROWTH = 0.20
# What an allocator keeps or not as it pleases, and a short soak cannot tell from a leak.
LEAST_GROWTH_BYTES = 12 * 1024 * 1024
_MEBIBYTE = 1024 * 1024


class Report(Struct, frozen=True, kw_only=True):
    """
    What a soak has found.

    `left` counts the processes that hooks left running as they may; they were ended before the last look.
    """

    tally: Tally
    before: Holdings
    after: Holdings
    left: int

    @property
    def growth(self) -> float:
        """How much the memory grew between the first quarter and the end, as a ratio."""
        return self._grown_bytes / self.tally.memory[MARKS[0]]

    @property
    def _grown_bytes(self) -> int:
        return self.tally.memory[MARKS[-1]] - self.tally.memory[MARKS[0]]

    def find_faults(self) -> Iterator[str]:
        """Everything that must not be, in words."""
        for name in (field.name for field in fields(Holdings)):
            before, after = getattr(self.before, name), getattr(self.after, name)
            if after > before:
                yield f"{after - before} {name} more than at the start"
        if self.tally.tasks_left:
            yield f"{self.tally.tasks_left} tasks were left on the loops of the callers"
        if self.growth > MOST_GROWTH and self._grown_bytes > LEAST_GROWTH_BYTES:
            yield f"memory grew by {self.growth:.0%} after the first quarter; the most is {MOST_GROWTH:.0%}"
        yield from self.tally.wrong

    def __str__(self) -> str:
        tally = self.tally
        runs = "  ".join(f"{status} {count}" for status, count in sorted(tally.runs.items()))
        memory = "  ".join(f"{mark:.0%} {tally.memory[mark] / _MEBIBYTE:.1f}" for mark in MARKS)
        rate = tally.fires / tally.seconds
        lines = [
            f"fires         {tally.fires}, of which {tally.cancelled} were cancelled",
            f"wall time     {tally.seconds:.1f} s ({rate:.0f} fires a second)",
            f"runs          {runs}",
            f"memory (MiB)  {memory}  growth {self.growth:+.0%}",
            "              before  after",
        ]
        for name in (field.name for field in fields(Holdings)):
            lines.append(f"{name:<13} {getattr(self.before, name):>6} {getattr(self.after, name):>6}")
        lines.append(f"{'tasks':<13} {0:>6} {tally.tasks_left:>6}")
        lines.append(f"ended at last {self.left} processes that hooks had left running, as they may")
        return "\n".join(lines)
