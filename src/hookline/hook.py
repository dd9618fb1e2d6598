"""A hook as the engine knows it: one record, whatever file or object it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from hookline.events import Event, get_event_type
from hookline.problem import Place

Mode = Literal["blocking", "async", "fire_and_forget"]
OnError = Literal["block", "warn", "ignore"]
OnBadReply = Literal["ignore", "error"]
LogPayloads = Literal["none", "redacted", "full"]
Evaluation = Literal["chain", "strictest"]
Rejected = Literal["all", "user", "none"]
LayerName = Literal["project", "user", "code"]
Where = Literal["local", "fleet"]
Order = Literal["none", "session"]

DEFAULT_QUEUE = "hooks"


class ArgumentMatch(Struct, frozen=True, kw_only=True):
    """Conditions on one tool argument; all that are set must hold, none set asks only for a value."""

    equals: str | None = None
    contains: str | None = None
    regex: str | None = None


class SubjectMatch(Struct, frozen=True, kw_only=True):
    """
    A pattern that the event's subject must match as a whole (see `hookline.match.find_subject`).

    It is a pattern of Go or Rust, which has its answer in linear time.
    """

    pattern: str
    flavour: Literal["go", "rust"] = "go"


class Predicate(Protocol):
    """
    A condition on an event that the other words of a match cannot say; `str` of it shows it to people.

    `holds` and `find_mismatch` raise `hookline.match.UnreadableValueError` when there is no answer, and take time as
    the event's texts are long.
    """

    def is_quick(self, event: Event) -> bool:
        """Whether the event's texts are so short that `holds` may be asked on an event loop."""
        ...

    def holds(self, event: Event) -> bool:
        """Whether the event is meant."""
        ...

    def find_mismatch(self, event: Event) -> str | None:
        """Why the event is not meant, in words; None when it is."""
        ...


class Match(Struct, frozen=True, kw_only=True):
    """Which occurrences of its event a hook is for; all that is set must hold."""

    profile: str | None = None
    profiles: tuple[str, ...] = ()
    tool_kind: str | None = None
    tool_name: str | None = None
    args: Mapping[str, ArgumentMatch] = field(default_factory=dict)
    subject: SubjectMatch | None = None
    predicate: Predicate | None = None

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


class HandlerAction(Struct, frozen=True, kw_only=True):
    """
    Call a Python function in this process with the event and a context.

    `origin` says where the function comes from: the file of its module, or `code`. `is_async` tells that calling
    it gives something to await.
    """

    function: Callable[[Any, Any], Any]
    origin: str
    is_async: bool = False


class ObjectAction(Struct, frozen=True, kw_only=True):
    """
    Ask a hook object of this process (see `hookline.objects.protocol`).

    `origin` says what kind of object it is. `is_async` tells that its `run` gives something to await;
    `keeps_time` that it ends by itself at the hook's time limit, and says so better than its runner could.
    """

    object: Any
    origin: str
    is_async: bool = False
    keeps_time: bool = False


class AgentAction(Struct, frozen=True, kw_only=True):
    """
    What actions that a model works on have in common.

    `title` is what the work is called where people see it. An empty `cwd` means the session's working directory.
    `auto_write` and `auto_dirs` tell whether the work may write files, and use other folders, without asking.
    """

    title: str = ""
    cwd: str = ""
    auto_write: bool = True
    auto_dirs: bool = True


class PromptAction(AgentAction, frozen=True, kw_only=True):
    """Put a prompt to a model, with the event's payload; the text it ends with is the reply."""

    prompt: str


class WorkflowStep(Struct, frozen=True, kw_only=True):
    """One step of an inline workflow: a shell command or a prompt; the other one is empty."""

    command: str = ""
    prompt: str = ""


class WorkflowAction(AgentAction, frozen=True, kw_only=True):
    """Run a workflow that the host knows by this name, or the steps; the text it ends with is the reply."""

    name: str = ""
    steps: tuple[WorkflowStep, ...] = ()


ProcessAction = ScriptAction | CommandAction | ShellAction


class Execution(Struct, frozen=True, kw_only=True):
    """
    How a hook is run, and what its failure means.

    Times are seconds. `on_provoked_error` is the policy for failures that a model can bring about by the
    arguments it chooses (see `Failure.provokable`). `is_durable` runs are stored before they are started and
    survive the death of the host; `is_detached` ones outlive it. `recheck` makes a guard run once more when the
    event is edited after the guard had its say. A hook that waits but may not block has `may_block` false: its
    block becomes context, its edits nothing. `hides_result` puts the failure of a hook with the policy `block` in
    the place of a tool's result, so that nobody sees what the hook was to look at first. What is durable may be run
    by a fleet (`where`) instead of here; `queue`, `priority`, `order` and `max_age_s` are for its workers.
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
    may_block: bool = True
    hides_result: bool = False
    where: Where = "local"
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    order: Order = "none"
    max_age_s: float | None = None


class Source(Struct, frozen=True, kw_only=True):
    """
    Where a hook comes from: the layer, the dialect it is written in, and the place of its entry.

    What follows are properties of the dialect. `evaluation`: how the answers of its hooks in one layer are put
    together. `hears_rejected`: of which calls that did not run `after_tool_call` tells them, all, those that the user
    rejected, or none. `hears_unbegun`: whether `after_turn` tells of a turn that never began.
    `context_lead` is what the model reads before the contexts of hooks that are asked side by side; where there is
    one, context means something although the event's row has none.
    """

    layer: LayerName
    dialect: str
    place: Place
    evaluation: Evaluation = "chain"
    hears_rejected: Rejected = "all"
    hears_unbegun: bool = False
    context_lead: str = ""


class Hook(Struct, frozen=True, kw_only=True):
    """One hook: when it runs (event, match), what runs (action) and how (execution)."""

    id: str
    event: str
    action: ProcessAction | HandlerAction | ObjectAction | PromptAction | WorkflowAction
    source: Source
    match: Match = field(default_factory=Match)
    execution: Execution = field(default_factory=Execution)
    enabled: bool = True
    description: str = ""

    @property
    def program(self) -> ProcessAction:
        """The action of a hook that runs a process."""
        assert isinstance(self.action, ProcessAction)
        return self.action

    @property
    def is_blocking(self) -> bool:
        """Whether the agent waits for this hook and its answer counts."""
        return self.execution.mode == "blocking"

    @property
    def is_gate(self) -> bool:
        """Whether this hook can stop what its event announces."""
        return self.is_blocking and self.execution.may_block and get_event_type(self.event).gate

    @property
    def is_guard(self) -> bool:
        """Whether what this hook watches over must stay closed when it cannot answer."""
        watches = self.is_gate or (self.is_blocking and self.execution.hides_result)
        return watches and self.execution.on_error == "block"

    def __str__(self) -> str:
        return f"hook {self.id!r} ({self.source.place})"


class ModuleSpec(Struct, frozen=True, kw_only=True):
    """
    A module to load: its file, the layer it belongs to, and what the hook file says of it.

    `sha256` is the digest of the content that was trusted; other content is refused.
    """

    path: Path
    layer: LayerName
    is_required: bool = False
    timeout_s: float | None = None
    sha256: str | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """
    Settings shared by all hooks of an engine; times are seconds.

    `log_payloads` says what of a payload the run log keeps; times to keep things are in days. `disabled_ids` are
    those of modules and scripts in `pre` and `post` folders that are to be left out.
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
    handler_timeout_s: float = 30.0
    disabled_ids: Sequence[str] = ()
