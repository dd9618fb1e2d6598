"""A hook as the engine knows it: one record, whatever file or object it came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from hookline.events import get_event_type
from hookline.problem import Place

Mode = Literal["blocking", "async", "fire_and_forget"]
OnError = Literal["block", "warn", "ignore"]
OnBadReply = Literal["ignore", "error"]
LogPayloads = Literal["none", "redacted", "full"]
LayerName = Literal["project", "user", "code"]
Where = Literal["local", "fleet"]
Order = Literal["none", "session"]

DEFAULT_QUEUE = "hooks"


class ArgumentMatch(Struct, frozen=True, kw_only=True):
    """Conditions on one tool argument; all that are set must hold, none set asks only for a value."""

    equals: str | None = None
    contains: str | None = None
    regex: str | None = None


class Match(Struct, frozen=True, kw_only=True):
    """Which occurrences of its event a hook is for; all that is set must hold."""

    profile: str | None = None
    profiles: tuple[str, ...] = ()
    tool_kind: str | None = None
    tool_name: str | None = None
    args: Mapping[str, ArgumentMatch] = field(default_factory=dict)

    @property
    def needs_tool(self) -> bool:
        """Whether only an event about a tool can satisfy this match."""
        return self.tool_kind is not None or self.tool_name is not None or bool(self.args)


class Action(Struct, frozen=True, kw_only=True):
    """
    What every kind of subprocess action has: extra environment, a working directory, arguments.

    An empty `cwd` means the session's working directory.
    """

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""


class ScriptAction(Action, frozen=True, kw_only=True):
    """Run a script file; its suffix picks the interpreter unless `interpreter` names one."""

    path: Path
    interpreter: tuple[str, ...] = ()


class CommandAction(Action, frozen=True, kw_only=True):
    """Run a program with arguments; no shell looks at either."""

    argv: tuple[str, ...]


class ShellAction(Action, frozen=True, kw_only=True):
    """Run a text under a shell."""

    text: str


class Execution(Struct, frozen=True, kw_only=True):
    """
    How a hook is run, and what its failure means.

    Times are seconds. `on_provoked_error` is the policy for failures that a model can bring about by the
    arguments it chooses (see `Failure.provokable`). `is_durable` runs are stored before they are started and
    survive the death of the host; `is_detached` ones outlive it. `recheck` makes a guard run once more when the
    event is edited after the guard had its say. What is durable may be run by a fleet (`where`) instead of here;
    `queue`, `priority`, `order` and `max_age_s` are for its workers.
    """

    mode: Mode = "fire_and_forget"
    timeout_s: float = 30.0
    kill_grace_s: float = 2.0
    on_error: OnError = "warn"
    on_provoked_error: OnError = "warn"
    on_bad_reply: OnBadReply = "error"
    is_durable: bool = False
    is_detached: bool = False
    recheck: bool = False
    where: Where = "local"
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    order: Order = "none"
    max_age_s: float | None = None


class Source(Struct, frozen=True, kw_only=True):
    """Where a hook comes from: the layer, the dialect it is written in, and the place of its entry."""

    layer: LayerName
    dialect: str
    place: Place


class Hook(Struct, frozen=True, kw_only=True):
    """One hook: when it runs (event, match), what runs (action) and how (execution)."""

    id: str
    event: str
    action: ScriptAction | CommandAction | ShellAction
    source: Source
    match: Match = field(default_factory=Match)
    execution: Execution = field(default_factory=Execution)
    enabled: bool = True
    description: str = ""

    @property
    def is_blocking(self) -> bool:
        """Whether the agent waits for this hook and its answer counts."""
        return self.execution.mode == "blocking"

    @property
    def is_gate(self) -> bool:
        """Whether this hook can stop what its event announces."""
        return self.is_blocking and get_event_type(self.event).gate

    @property
    def is_guard(self) -> bool:
        """Whether what this hook watches over must stay closed when it cannot answer."""
        return self.is_gate and self.execution.on_error == "block"

    def __str__(self) -> str:
        return f"hook {self.id!r} ({self.source.place})"


class Settings(Struct, frozen=True, kw_only=True):
    """
    Settings shared by all hooks of an engine; times are seconds.

    `log_payloads` says what of a payload the run log keeps; times to keep things are in days.
    """

    shutdown_grace_s: float = 5.0
    max_parallel_hooks: int = 4
    max_queued_hooks: int = 1000
    outbox_retry_age_s: float = 60.0
    outbox_max_retries: int = 3
    outbox_keep_done_days: float = 7
    outbox_keep_failed_days: float = 30
    log_keep_days: float = 14
    log_payloads: LogPayloads = "redacted"
    recheck_guards: bool = True
    max_hook_depth: int = 3
