"""A turn of a session, and the work of an agent in it: tool calls, sub-agents, compaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from uuid import uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from hookline.events import (
    AfterTurn,
    Agent,
    BeforeTurn,
    PreCompact,
    SubAgent,
    SubAgentEnd,
    SubAgentStart,
    Tool,
    ToolResult,
    UserPromptSubmit,
)
from hookline.lifecycle.errors import PromptBlockedError
from hookline.lifecycle.scope import Asked, Phase, Scope, is_interruption, refuse
from hookline.lifecycle.step import Call, DrainTurn, Step, drive, drive_sync
from hookline.lifecycle.tool import Approve, ToolCall, run_tool_call
from hookline.outcome import Decision

TurnStatus = Literal["ok", "interrupted", "failed"]
_LONGEST_SUMMARY = 500


class Work(Phase):
    """What an agent does in a turn; the main agent's turn and a sub-agent's invocation have it in common."""

    def tool_call(self, tool: Tool, *, approve: Approve | None = None) -> ToolCall:
        """A tool call as a context manager; see `ToolCall`."""
        return ToolCall(self._scope, tool, approve=approve)

    async def call_tool(self, tool: Tool, run: Callable[[Tool], Any], *, approve: Approve | None = None) -> ToolResult:
        """
        Ask the hooks about a tool call, run it by `run`, report it, and return what the model is told.

        `run` gets the tool with its final arguments and returns text or a `ToolResult`; it may be async. A
        denied call and an exception of `run` come back as results.
        """
        return await drive(run_tool_call(self.tool_call(tool, approve=approve), run), self._scope.firing)

    def call_tool_sync(self, tool: Tool, run: Callable[[Tool], Any], *, approve: Approve | None = None) -> ToolResult:
        """The same as `call_tool`, without an event loop."""
        return drive_sync(run_tool_call(self.tool_call(tool, approve=approve), run), self._scope.firing)

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
    first. A retry of a turn keeps its number, prompt and reminders.
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

    async def inject(self, text: str) -> str:
        """
        Take in a message that the user sends while the agent runs; returns its text as hooks left it.

        Its reminders join those of the turn. Raises `PromptBlockedError`.
        """
        return await drive(self._submit(text, is_injected=True), self._scope.firing)

    def inject_sync(self, text: str) -> str:
        """The same as `inject`, without an event loop."""
        return drive_sync(self._submit(text, is_injected=True), self._scope.firing)

    def mark_interrupted(self) -> None:
        """Say that the user interrupted the turn, although no exception will tell."""
        self._is_interrupted = True

    def _enter(self) -> Step[None]:
        if not self._is_retry:
            if self._has_prompt:
                self.prompt = yield from self._submit(self.prompt, is_injected=False)
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
                "after_turn", lambda: AfterTurn(turn=self.number, status=status, failed=status != "ok")
            )
        finally:
            if not is_interruption(error):  # whoever cancels does not want to wait; the session's end does
                yield DrainTurn(session_id=self._scope.session_id)

    def _status_after(self, error: BaseException | None) -> TurnStatus:
        if self._is_interrupted or is_interruption(error):
            return "interrupted"
        return "ok" if error is None else "failed"

    def _submit(self, text: str, *, is_injected: bool) -> Step[str]:
        decision = yield from self._scope.fire(
            "user_prompt_submit", lambda: UserPromptSubmit(text=text, injected=is_injected)
        )
        if decision.verdict == "ask":
            decision = yield from self._put_question(decision)
        if decision.verdict == "block":
            raise PromptBlockedError(decision)
        self.reminders += tuple(text for text in decision.reminders if text not in self.reminders)
        self.context += decision.context
        fields = decision.event.fields if decision.event is not None else None
        return fields.text if isinstance(fields, UserPromptSubmit) else text

    def _put_question(self, decision: Decision) -> Step[Decision]:
        ask, event = self._scope.ask, decision.event
        is_agreed = False
        if ask is not None and event is not None:
            is_agreed = bool((yield Call(ask, (Asked(reason=decision.reason or "", event=event),))))
        return replace(decision, verdict="allow") if is_agreed else refuse(decision)


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
