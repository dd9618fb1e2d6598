"""What hooks say and what becomes of it: edits, outcomes, runs and the decision a host gets."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

from msgspec import Struct, field

from hookline.edit_rule import Operation
from hookline.events import Event
from hookline.hook import Hook

Verdict = Literal["allow", "ask", "block"]
FailureKind = Literal["match", "spawn", "exit", "signal", "timeout", "reply", "crash"]
RunStatus = Literal["ok", "blocked", "failed", "timeout", "cancelled", "skipped", "queued", "detached", "abandoned"]
Effect = Literal["blocked", "asked", "edited", "reminder", "context"]


class Edit(Struct, frozen=True, kw_only=True):
    """A change a hook wants in one field of its event; the event's row says whether it may."""

    field: str
    operation: Operation
    value: Any = None


class Answer(Struct, frozen=True, kw_only=True):
    """
    What a hook that worked says.

    `allow` means no objection; it never skips an approval of the host's own.
    `ignored` lists the parts of the reply that mean nothing here, in words.
    """

    verdict: Verdict = "allow"
    reason: str | None = None
    user_message: str | None = None
    edits: tuple[Edit, ...] = ()
    reminders: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class Failure(Struct, frozen=True, kw_only=True):
    """
    A hook that could not answer, and how.

    `provokable` marks failures that a model can bring about by the arguments it chooses, such as a value too
    large to hand over; they close a blocking gate hook whose author named no policy.
    """

    kind: FailureKind
    message: str
    provokable: bool = False


Outcome = Answer | Failure

NO_OBJECTION = Answer()


class Run(Struct, frozen=True, kw_only=True):
    """
    One hook at one event: what happened and how it ended.

    `reason` says why a run was skipped or cancelled; `notes` are the warnings of this run, in words.
    `stdout` and `stderr` hold the kept part of the output, `reply` the text of the reply where it was read;
    `duration_ms` is None for a run that never started; `attempt` counts the starts of a durable run.
    A run that ended has a status other than `queued` and `detached`.
    """

    hook: Hook
    status: RunStatus
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    outcome: Outcome | None = None
    reason: str | None = None
    effects: tuple[Effect, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    duration_ms: float | None = None
    stdout: str = ""
    stderr: str = ""
    reply: str | None = None
    attempt: int | None = None
    notes: tuple[str, ...] = ()


class QuietRuns(Struct, frozen=True, kw_only=True):
    """
    Runs of hooks that had nothing to say; made into records when somebody looks.

    `took` holds for each the position of its hook in `hooks`, and its seconds.
    """

    hooks: tuple[Hook, ...] = ()
    took: tuple[tuple[int, float], ...] = ()

    def make(self) -> list[Run]:
        """The records."""
        return [
            Run(hook=self.hooks[position], status="ok", outcome=NO_OBJECTION, duration_ms=round(took_s * 1000, 3))
            for position, took_s in self.took
        ]


class RunList(Sequence[Run]):
    """The runs of an event, in order, some of them made only when somebody looks."""

    __slots__ = ("_length", "_parts", "_runs")

    def __init__(self, parts: Iterable[Run | QuietRuns]) -> None:
        self._parts = tuple(parts)
        self._length = sum(len(part.took) if isinstance(part, QuietRuns) else 1 for part in self._parts)
        self._runs: tuple[Run, ...] | None = None

    @property
    def spoken(self) -> tuple[Run, ...]:
        """The runs without those that had nothing to say."""
        return tuple(part for part in self._parts if isinstance(part, Run))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Run: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Run, ...]: ...

    def __getitem__(self, index: int | slice) -> Run | tuple[Run, ...]:
        return self._make()[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self._make())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._make() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._make())

    def __repr__(self) -> str:
        return repr(self._make())

    def _make(self) -> tuple[Run, ...]:
        if self._runs is None:
            made = ([part] if isinstance(part, Run) else part.make() for part in self._parts)
            self._runs = tuple(run for runs in made for run in runs)
        return self._runs


class Decision(Struct, frozen=True, kw_only=True):
    """
    What all hooks of an event say together.

    `verdict` is `allow` (no objection), `ask` (a human should decide; who cannot ask treats it as `block`) or
    `block`. `edits` holds the final value of every edited field; with a block there are no edits, reminders or
    context. `conflicts` names edits that differ, of which one had to be chosen. `event` is the event as it stands
    after the edits, None when no hook was concerned. `runs` tells what ran, what was skipped, and why; `warnings`
    is the same for a human's eyes.
    """

    verdict: Verdict = "allow"
    reason: str | None = None
    user_message: str | None = None
    edits: Mapping[str, Any] = field(default_factory=dict)
    reminders: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    event: Event | None = None
    runs: Sequence[Run] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_blocked(self) -> bool:
        """Whether the action must not happen as far as the hooks are concerned."""
        return self.verdict == "block"

    @property
    def spoken_runs(self) -> Sequence[Run]:
        """The runs without those of handlers that had nothing to say."""
        return self.runs.spoken if isinstance(self.runs, RunList) else self.runs

    @property
    def is_allowed(self) -> bool:
        """Whether no hook objects; `ask` is not allowed until a human said so."""
        return self.verdict == "allow"


EMPTY_DECISION = Decision()
