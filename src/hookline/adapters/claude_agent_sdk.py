"""
Hookline in the hook callbacks of the Claude Agent SDK.

    async for message in HooklineHooks().query(prompt="...", options=options): ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import replace
from typing import Any

from hookline.adapters.adapter import Adapter
from hookline.adapters.claude_output import Data, read_response, say, tell
from hookline.adapters.face import AWAITING
from hookline.adapters.seam import MissingExtraError, Run, Seam, get_result, inside
from hookline.fields import Tool
from hookline.lifecycle.errors import PromptBlockedError, ToolCallDeniedError
from hookline.lifecycle.tool import ToolCall
from hookline.outcome import Decision

try:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, Message, ResultMessage, query
except ImportError as error:
    raise MissingExtraError("claude-agent-sdk", error) from error

Prompt = str | AsyncIterable[dict[str, Any]]

_REWRITTEN = Decision(verdict="block", reason="a hook wrote another prompt, and Claude Code would send the user's own")


class HooklineHooks(Adapter):
    """
    Puts the prompts and tool calls of Claude Code under the hooks of a project, those of its sub-agents too.

    A blocked prompt raises `PromptBlockedError` where messages are read. Takes what `Options` in
    `hookline.adapters.seam` lists. `agent` is what events call the agent. Hooks in the options go on working.
    """

    def query(
        self, *, prompt: Prompt, options: ClaudeAgentOptions | None = None, agent: str = "", **others: Any
    ) -> AsyncGenerator[Message]:
        """Ask once; takes what the function `query` of the SDK takes."""
        conversation = _Conversation(self._seam, agent)
        messages = query(prompt=prompt, options=conversation.guard(options), **others)
        return conversation.follow(messages, is_single=isinstance(prompt, str))

    def client(self, options: ClaudeAgentOptions | None = None, *, agent: str = "", **others: Any) -> ClaudeSDKClient:
        """A client for a conversation; takes what `ClaudeSDKClient` takes."""
        conversation = _Conversation(self._seam, agent)
        return _Client(conversation, conversation.guard(options), **others)


class _Client(ClaudeSDKClient):
    def __init__(self, conversation: _Conversation, options: ClaudeAgentOptions, **others: Any) -> None:
        super().__init__(options, **others)
        self._conversation = conversation

    def receive_messages(self) -> AsyncGenerator[Message]:
        return self._conversation.follow(super().receive_messages())

    async def interrupt(self) -> None:
        self._conversation.is_interrupted = True
        await super().interrupt()

    async def disconnect(self) -> None:
        await super().disconnect()
        await self._conversation.end(asyncio.CancelledError())


class _Conversation:
    """One process of Claude Code: the turn under way, its tool calls and its sub-agents."""

    def __init__(self, seam: Seam, agent: str) -> None:
        self._seam, self._agent = seam, agent
        self._run: Run | None = None
        self._calls: dict[str, ToolCall] = {}
        self._helpers: dict[str, Run] = {}
        self._parents: set[str] = set()
        self._is_old = self.is_interrupted = False
        self._blocked: PromptBlockedError | None = None
        self._reader: object = None

    def guard(self, options: ClaudeAgentOptions | None) -> ClaudeAgentOptions:
        """The options with callbacks that ask hooks, for a day if need be; what fails in them stops what they guard."""
        options = options or ClaudeAgentOptions()
        self._is_old = options.continue_conversation or options.resume is not None
        hooks: dict[Any, list[HookMatcher]] = dict(options.hooks or {})
        callbacks: dict[str, Any] = {
            "UserPromptSubmit": self._submit,
            "PreToolUse": self._begin_call,
            "PostToolUse": self._end_call,
            "PostToolUseFailure": self._end_call,
            "SubagentStart": self._begin_helper,
            "SubagentStop": self._end_helper,
        }
        for name, callback in callbacks.items():
            hooks[name] = [*hooks.get(name, []), HookMatcher(hooks=[callback], timeout=86_400, on_failure="block")]
        return replace(options, hooks=hooks)

    async def follow(self, messages: Any, *, is_single: bool = False) -> AsyncGenerator[Message]:
        """The messages; the turn ends with its result, or with what ends them."""
        self._reader = reader = object()
        try:
            async for message in messages:
                if isinstance(message, ResultMessage):
                    await self._end_with(message)
                yield message
        except BaseException as error:
            if self._reader is reader:  # and not one that is thrown away late
                await self.end(error)
            if is_single and isinstance(error, PromptBlockedError):
                async for _ in messages:  # to their end, since the SDK does not like to be stopped on the way
                    pass
            raise

    async def _end_with(self, message: ResultMessage) -> None:
        error = RuntimeError(message.result or message.subtype) if message.is_error else None
        blocked, self._blocked = self._blocked, None
        await self.end(asyncio.CancelledError() if self.is_interrupted else blocked or error)
        if blocked is not None:
            raise blocked

    async def end(self, error: BaseException | None) -> None:
        for call in self._calls.values() if error is None or isinstance(error, Exception) else ():
            call.postpone()  # since Claude Code itself did not let it run
        phases: list[Any] = [*self._calls.values(), *reversed(self._helpers.values()), *filter(None, [self._run])]
        self._calls, self._helpers, self._run, self.is_interrupted = {}, {}, None, False
        for phase in phases:
            await AWAITING.leave(phase, error)

    async def _submit(self, data: Data, *_: Any) -> Data:
        prompt, turn = data["prompt"], None if self._run is None else self._run.turn
        known = 0 if turn is None else len(turn.context)
        try:
            text = await self._begin(data) if turn is None else await turn.inject(prompt)
            blocked = None if text == prompt else PromptBlockedError(_REWRITTEN)
        except PromptBlockedError as error:
            blocked = error
        if blocked is not None:
            self._blocked = blocked if turn is None else None  # what is said meanwhile stops no turn
            return {
                "decision": "block",
                "reason": blocked.reason,
                **say("UserPromptSubmit", suppressOriginalPrompt=True),
            }
        assert self._run is not None
        context = () if self._run.turn is None else self._run.turn.context[known:]
        added = "\n".join(filter(None, [*context, self._run.reminders]))
        return say("UserPromptSubmit", additionalContext=added) if added else {}

    async def _begin(self, data: Data) -> str:
        await self.end(None)  # what ran on after the last one
        run = self._seam.run(data["prompt"], agent=self._agent, session_id=data["session_id"], is_restored=self._is_old)
        await AWAITING.enter(run)
        self._run, self._is_old = run, True
        return str(data["prompt"]) if run.turn is None else run.turn.prompt

    async def _begin_call(self, data: Data, *_: Any) -> Data:
        if (run := self._helpers.get(data.get("agent_id", "")) or self._run) is None:  # what runs on after a turn
            self._run = run = self._seam.loose_run()
            await AWAITING.enter(run)
        call = run.work.tool_call(self._seam.tool(data["tool_name"], data["tool_input"], data["tool_use_id"]))
        try:
            await AWAITING.enter(call)
        except ToolCallDeniedError as denied:
            return say("PreToolUse", permissionDecision="deny", permissionDecisionReason=denied.result.text)
        self._calls[data["tool_use_id"]] = call
        return {} if call.tool.args is data["tool_input"] else say("PreToolUse", updatedInput=dict(call.tool.args))

    async def _end_call(self, data: Data, *_: Any) -> Data:
        call, error = self._calls.pop(data["tool_use_id"], None), None
        if call is None:
            return {}
        if "error" in data:
            told = data["error"] or "it failed"
            error = asyncio.CancelledError() if data.get("is_interrupt") else RuntimeError(told)
        else:
            call.finish(told := read_response(data["tool_response"]))
        await AWAITING.leave(call, error)
        return {} if data.get("is_interrupt") else tell(data, told, get_result(call).text)

    async def _begin_helper(self, data: Data, *_: Any) -> Data:
        if self._run is not None:
            tools = [call.tool for key, call in self._calls.items() if key not in self._parents]
            fits = (tool for tool in tools if tool.args.get("subagent_type") == data["agent_type"])
            parent = next(fits, Tool(name="Agent"))
            with inside(self._seam, self._run.work, parent):
                helper = self._seam.run(None, agent=data["agent_type"])
            self._parents.add(parent.call_id)
            self._helpers[data["agent_id"]] = helper
            await AWAITING.enter(helper)
        return {}

    async def _end_helper(self, data: Data, *_: Any) -> Data:
        if (helper := self._helpers.pop(data["agent_id"], None)) is not None:
            await AWAITING.leave(helper)
        return {}
