"""A turn of a session, and the work of an agent in it: tool calls, sub-agents, compaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from hookline.events import Fields
from hookline.fields import (
    AfterTurn,
    Agent,
    BeforeAgentStart,
    BeforeCompact,
    BeforeModelCall,
    BeforeTurn,
    Compacting,
    PreCompact,
    SubAgent,
    SubAgentEnd,
    SubAgentStart,
    Tool,
    ToolResult,
    UserPromptSubmit,
)
from hookline.lifecycle.compaction import Compaction
from hookline.lifecycle.errors import PromptBlockedError
from hookline.lifecycle.model_step import ModelStep
from hookline.lifecycle.scope import Phase, Scope, describe_error, is_interruption
from hookline.lifecycle.step import DrainTurn, Step, drive, drive_sync
from hookline.lifecycle.tool import Approve, Check, ToolCall, run_tool_call
from hookline.outcome import Decision

TurnStatus = Literal["ok", "interrupted", "failed"]
_LONGEST_SUMMARY = 500


class Work(Phase):
    """What an agent does; a session, the main agent's turn and a sub-agent's invocation have it in common."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self._calls = self._steps = 0

    def tool_call(
        self,
        tool: Tool,
        *,
        approve: Approve | None = None,
        check: Check | None = None,
        requested_dirs: Sequence[str] = (),
    ) -> ToolCall:
        """A tool call as a context manager; see `ToolCall`."""
        self._calls += 1
        return ToolCall(self._scope, tool, approve=approve, check=check, requested_dirs=requested_dirs)

    async def call_tool(
        self,
        tool: Tool,
        run: Callable[[Tool], Any],
        *,
        approve: Approve | None = None,
        check: Check | None = None,
        requested_dirs: Sequence[str] = (),
    ) -> ToolResult:
        """
        Ask the hooks about a tool call, run it by `run`, report it, and return what the model is told.

        `run` gets the tool with its final arguments and returns text or a `ToolResult`; it may be async. A
        denied call and an exception of `run` come back as results. The options are those of `ToolCall`.
        """
        call = self.tool_call(tool, approve=approve, check=check, requested_dirs=requested_dirs)
        return await drive(run_tool_call(call, run), self._scope.firing)

    def call_tool_sync(
        self,
        tool: Tool,
        run: Callable[[Tool], Any],
        *,
        approve: Approve | None = None,
        check: Check | None = None,
        requested_dirs: Sequence[str] = (),
    ) -> ToolResult:
        """The same as `call_tool`, without an event loop."""
        call = self.tool_call(tool, approve=approve, check=check, requested_dirs=requested_dirs)
        return drive_sync(run_tool_call(call, run), self._scope.firing)

    async def start_agent(self, prompt: str, *, images: Sequence[Any] | None = None, system_prompt: str = "") -> Any:
        """
        Tell the hooks that the agent is about to work on a prompt; returns the message they put before the model.

        That is a mapping of `custom_type`, `content`, `display` and `details`, as the hook wrote it, or None.
        """
        return await drive(self._start_agent(prompt, images, system_prompt), self._scope.firing)

    def start_agent_sync(self, prompt: str, *, images: Sequence[Any] | None = None, system_prompt: str = "") -> Any:
        """The same as `start_agent`, without an event loop."""
        return drive_sync(self._start_agent(prompt, images, system_prompt), self._scope.firing)

    def _start_agent(self, prompt: str, images: Sequence[Any] | None, system_prompt: str) -> Step[Any]:
        decision = yield from self._scope.fire(
            "before_agent_start",
            lambda: BeforeAgentStart(prompt=prompt, images=images, system_prompt=system_prompt),
        )
        return decision.edits.get("message")

    async def filter_messages(self, messages: list[Any]) -> list[Any]:
        """
        Let the hooks see what the model is about to read; returns what it is to read in this one call.

        That is the same list unless a hook changed it. Nothing is added here: put the turn's reminders and context
        in before, so that hooks see all that the model will, and keep your history as it was.
        """
        return await drive(self._filter_messages(messages), self._scope.firing)

    def filter_messages_sync(self, messages: list[Any]) -> list[Any]:
        """The same as `filter_messages`, without an event loop."""
        return drive_sync(self._filter_messages(messages), self._scope.firing)

    def _filter_messages(self, messages: list[Any]) -> Step[list[Any]]:
        decision = yield from self._scope.fire("before_model_call", lambda: BeforeModelCall(messages=messages))
        fields = decision.event.fields if decision.event is not None else None
        filtered = fields.messages if isinstance(fields, BeforeModelCall) else messages
        return filtered if isinstance(filtered, list) else list(filtered)

    def model_step(self) -> ModelStep:
        """
        One call of the model and the tool calls that it asks for, as a context manager; see `ModelStep`.

        The steps of a turn, and those of each sub-agent, are counted from 0.
        """
        self._steps += 1
        return ModelStep(self._scope, self._steps - 1)

    async def announce(self, record: Fields) -> Decision:
        """
        Fire the event that a record is of, here and now, such as `AutoRetryStart(attempt=1, max_attempts=3)`.

        For events that have no method of their own. The decision is worth a look only where hooks have a say.
        """
        return await drive(self._scope.announce(record), self._scope.firing)

    def announce_sync(self, record: Fields) -> Decision:
        """The same as `announce`, without an event loop."""
        return drive_sync(self._scope.announce(record), self._scope.firing)

    def compaction(
        self,
        trigger: str,
        *,
        preparation: Mapping[str, Any] | None = None,
        branch_entries: Sequence[Any] = (),
        messages: Sequence[Any] | None = None,
        custom_instructions: str | None = None,
        usage_pct: float = 0,
        tokens_before: int = 0,
        signal: Any = None,
    ) -> Compaction:
        """A compaction of the context as a context manager, which hooks may stop or take over; see `Compaction`."""
        preparation = {} if preparation is None else preparation
        return Compaction(
            self._scope,
            before=BeforeCompact(
                preparation=preparation,
                branch_entries=branch_entries,
                custom_instructions=custom_instructions,
                signal=signal,
            ),
            compacting=Compacting(
                messages=preparation.get("messages_to_summarize", ()) if messages is None else messages
            ),
            pre=PreCompact(
                trigger=trigger,
                usage_pct=usage_pct,
                tokens_before=tokens_before or preparation.get("tokens_before", 0),
                sub_agent=self._describe_sub_agent(),
            ),
        )

    def sub_agent(
        self,
        name: str,
        *,
        tool_name: str = "",
        profile: str | None = None,
        invocation_id: str | None = None,
        parent_call_id: str | None = None,
        parent_provider_call_id: str | None = None,
    ) -> SubAgentWork:
        """An invocation of a sub-agent as a context manager; its events carry its own agent and profile."""
        sub_agent = SubAgent(
            name=name,
            tool_name=tool_name,
            invocation_id=invocation_id or uuid4().hex,
            parent_call_id=parent_call_id,
            parent_provider_call_id=parent_provider_call_id,
        )
        return SubAgentWork(self._scope, sub_agent, profile=name if profile is None else profile)

    async def compact(self, trigger: str, *, usage_pct: float = 0, tokens_before: int = 0) -> None:
        """Tell the hooks that the context is about to be compacted."""
        await drive(self._compact(trigger, usage_pct, tokens_before), self._scope.firing)

    def compact_sync(self, trigger: str, *, usage_pct: float = 0, tokens_before: int = 0) -> None:
        """The same as `compact`, without an event loop."""
        drive_sync(self._compact(trigger, usage_pct, tokens_before), self._scope.firing)

    def _compact(self, trigger: str, usage_pct: float, tokens_before: int) -> Step[None]:
        sub_agent = self._describe_sub_agent()
        yield from self._scope.fire(
            "pre_compact",
            lambda: PreCompact(trigger=trigger, usage_pct=usage_pct, tokens_before=tokens_before, sub_agent=sub_agent),
        )

    def _describe_sub_agent(self) -> SubAgent | None:
        return None


class TurnRegister(Struct, eq=False):
    """The turns of a session: how many there have been, and which are under way."""

    count: int = 0
    running: list[Turn] = field(default_factory=list)

    def next_number(self) -> int:
        """The number of the turn that starts now, counted from 1."""
        self.count += 1
        return self.count


class Turn(Work):
    """
    One turn: from a prompt to the end of the agent's work on it.

    Entering it fires `user_prompt_submit` (raising `PromptBlockedError` if the prompt must not reach the model)
    and `before_turn`; leaving it fires `after_turn` with the right status and waits for the turn's async hooks.
    `prompt` is the text as hooks left it. `reminders` go into every model call of the turn, `context` into the
    first. A retry of a turn keeps its number, prompt and reminders. A prompt that is blocked is handed to nobody: the
    error tells why, and the decision in it has no text.
    """

    def __init__(
        self, scope: Scope, prompt: str | None, register: TurnRegister, *, retried: Turn | None = None
    ) -> None:
        super().__init__(scope)
        self.prompt: str = (prompt or "") if retried is None else retried.prompt
        self.number: int = 0 if retried is None else retried.number
        self.reminders: tuple[str, ...] = () if retried is None else retried.reminders
        self.context: tuple[str, ...] = () if retried is None else retried.context
        self._register = register
        self._is_retry = retried is not None
        self._has_prompt = prompt is not None
        self._is_interrupted = False
        self._messages: Sequence[Any] | None = None
        self._response: str | None = None

    def finish(self, response: str | None = None, *, messages: Sequence[Any] | None = None) -> None:
        """Hand in what came of the turn, for `after_turn`: the agent's last words, and the messages of the turn."""
        self._response, self._messages = response, messages

    async def inject(self, text: str) -> str:
        """
        Take in a message that the user sends while the agent runs; returns its text as hooks left it.

        Its reminders join those of the turn. Raises `PromptBlockedError`.
        """
        return await drive(self._submit(text, is_injected=True), self._scope.firing)

    def inject_sync(self, text: str) -> str:
        """The same as `inject`, without an event loop."""
        return drive_sync(self._submit(text, is_injected=True), self._scope.firing)

    def again(self, turn_id: str) -> Turn:
        """The turn that repeats this one; `Session.retry` hands it out."""
        scope = replace(self._scope, turn_id=turn_id)
        return Turn(scope, self.prompt, self._register, retried=self if self.number else None)

    def mark_interrupted(self) -> None:
        """Say that the user interrupted the turn, although no exception will tell."""
        self._is_interrupted = True

    def _enter(self) -> Step[None]:
        if not self._is_retry:
            if self._has_prompt:
                yield from self._submit_first()
            self.number = self._register.next_number()
        self._register.running.append(self)
        self._has_begun = True
        yield from self._scope.fire(
            "before_turn",
            lambda: BeforeTurn(turn=self.number, user_text=self.prompt, is_retry=self._is_retry),
        )

    def _leave(self, error: BaseException | None) -> Step[None]:
        self._register.running.remove(self)
        status = self._status_after(error)
        try:
            yield from self._scope.fire(
                "after_turn",
                lambda: AfterTurn(
                    turn=self.number,
                    status=status,
                    failed=status != "ok",
                    messages=self._messages,
                    response=self._response,
                    error=describe_error(error) if status == "failed" and error is not None else None,
                    # Nothing counted is no count: a host may make its calls past this turn.
                    tool_calls=self._calls if self._calls or self._steps else None,
                    iterations=self._steps or None,
                ),
            )
        finally:
            if not is_interruption(error):  # whoever cancels does not want to wait; the session's end does
                yield DrainTurn(session_id=self._scope.session_id)

    def _status_after(self, error: BaseException | None) -> TurnStatus:
        if self._is_interrupted or is_interruption(error):
            return "interrupted"
        return "ok" if error is None else "failed"

    def _submit_first(self) -> Step[None]:
        """Submit the turn's prompt; of one that is blocked, hooks that hear of such a turn are told its end."""
        try:
            self.prompt = yield from self._submit(self.prompt, is_injected=False)
        except PromptBlockedError as blocked:
            reason = blocked.reason
            yield from self._scope.fire(
                "after_turn", lambda: AfterTurn(turn=0, status="failed", failed=True, error=reason, is_unbegun=True)
            )
            raise

    def _submit(self, text: str, *, is_injected: bool) -> Step[str]:
        decision = yield from self._scope.request(UserPromptSubmit(text=text, injected=is_injected))
        if decision.verdict == "block":
            raise PromptBlockedError(_without_text(decision))
        self.reminders += tuple(text for text in decision.reminders if text not in self.reminders)
        self.context += decision.context
        fields = decision.event.fields if decision.event is not None else None
        return fields.text if isinstance(fields, UserPromptSubmit) else text


def _without_text(decision: Decision) -> Decision:
    """The decision about a blocked prompt, whose text must not go on by way of the decision."""
    event = decision.event
    if event is None or not isinstance(event.fields, UserPromptSubmit):
        return decision
    return replace(decision, event=replace(event, fields=replace(event.fields, text="")))


class SubAgentWork(Work):
    """
    One invocation of a sub-agent.

    Leaving it fires `sub_agent_end` with the summary given to `finish`, and waits for the async hooks of this
    agent alone, so that agents side by side do not wait for one another.
    """

    def __init__(self, scope: Scope, sub_agent: SubAgent, *, profile: str) -> None:
        parent = scope.agent
        agent = Agent(
            id=sub_agent.invocation_id or "", name=sub_agent.name, parent_id=parent.id, depth=parent.depth + 1
        )
        super().__init__(replace(scope, agent=agent, profile=profile))
        self.invocation = sub_agent
        self._summary = ""

    def finish(self, summary: str) -> None:
        """Hand in what the sub-agent found; up to 500 characters of it are reported."""
        self._summary = summary[:_LONGEST_SUMMARY]

    def _enter(self) -> Step[None]:
        self._has_begun = True
        yield from self._scope.fire("sub_agent_start", lambda: SubAgentStart(sub_agent=self.invocation))

    def _leave(self, error: BaseException | None) -> Step[None]:
        status: Literal["ok", "failed", "cancelled"] = "ok"
        if error is not None:
            status = "cancelled" if is_interruption(error) else "failed"
        summary = self._summary or (str(error)[:_LONGEST_SUMMARY] if status == "failed" else "")
        yield from self._scope.fire(
            "sub_agent_end",
            lambda: SubAgentEnd(sub_agent=self.invocation, status=status, result_summary=summary),
        )
        if status != "cancelled":
            yield DrainTurn(session_id=self._scope.session_id, agent_id=self._scope.agent.id)

    def _describe_sub_agent(self) -> SubAgent:
        return SubAgent(name=self.invocation.name, tool_name=self.invocation.tool_name)
