"""
Hookline in the hook callbacks of the Claude Agent SDK.

    async for message in HooklineHooks().query(prompt="...", options=options): ...
    async with HooklineHooks().client(options) as client: ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from dataclasses import replace
from typing import Any

from hookline.adapters.adapter import Adapter
from hookline.adapters.claude_output import Output, read_response, say, tell
from hookline.adapters.face import AWAITING
from hookline.adapters.seam import MissingExtraError, Run, Seam, get_result, inside
from hookline.events import Tool
from hookline.lifecycle.errors import PromptBlockedError, ToolCallDeniedError
from hookline.lifecycle.tool import ToolCall
from hookline.outcome import Decision

try:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, Message, ResultMessage, query
except ImportError as error:
    raise MissingExtraError("claude-agent-sdk", error) from error

Input = dict[str, Any]

# Hooks have their own time limits, and a human may be asked.
_LONGEST_S = 24 * 3600.0
_REWRITTEN = Decision(verdict="block", reason="a hook wrote another prompt, and Claude Code would send the user's own")


class HooklineHooks(Adapter):
    """
    Puts the prompts and tool calls of Claude Code under the hooks of a project, those of its sub-agents too.

    A blocked prompt raises `PromptBlockedError` where messages are read. Takes what `Options` in
    `hookline.adapters.seam` lists. `agent` is what events call the agent. Hooks in the options go on working.
    """

    async def query(
        self,
        *,
        prompt: str | AsyncIterable[dict[str, Any]],
        options: ClaudeAgentOptions | None = None,
        agent: str = "",
        **others: Any,
    ) -> AsyncIterator[Message]:
        """Ask once; takes what the function `query` of the SDK takes."""
        conversation = _Conversation(self._seam, agent)
        messages: Any = query(prompt=prompt, options=conversation.guard(options), **others)
        async for message in conversation.follow(messages):
            yield message

    def client(self, options: ClaudeAgentOptions | None = None, *, agent: str = "", **others: Any) -> ClaudeSDKClient:
        """A client for a conversation; takes what `ClaudeSDKClient` takes."""
        conversation = _Conversation(self._seam, agent)
        return _Client(conversation, conversation.guard(options), **others)


class _Client(ClaudeSDKClient):
    def __init__(self, conversation: _Conversation, options: ClaudeAgentOptions, **others: Any) -> None:
        super().__init__(options, **others)
        self._conversation = conversation

    async def receive_messages(self) -> AsyncIterator[Message]:
        messages: Any = super().receive_messages()
        async for message in self._conversation.follow(messages):
            yield message

    async def disconnect(self) -> None:
        await super().disconnect()
        await self._conversation.end(asyncio.CancelledError())


class _Conversation:
    """One process of Claude Code: the turn under way, its tool calls and its sub-agents."""

    def __init__(self, seam: Seam, agent: str) -> None:
        self._seam = seam
        self._agent = agent
        self._run: Run | None = None
        self._calls: dict[str, ToolCall] = {}
        self._helpers: dict[str, Run] = {}
        self._has_history = False
        self._blocked: PromptBlockedError | None = None
        self._reader: object = None
        self._heard = {
            "UserPromptSubmit": self._submit,
            "PreToolUse": self._begin_call,
            "PostToolUse": self._end_call,
            "PostToolUseFailure": self._fail_call,
            "SubagentStart": self._begin_helper,
            "SubagentStop": self._end_helper,
        }

    def guard(self, options: ClaudeAgentOptions | None) -> ClaudeAgentOptions:
        """The options with callbacks that ask hooks; whatever fails in them stops what they guard."""
        options = options or ClaudeAgentOptions()
        self._has_history = options.continue_conversation or options.resume is not None
        hear: Any = self._hear
        hooks: dict[Any, list[HookMatcher]] = dict(options.hooks or {})
        for name in self._heard:
            matcher = HookMatcher(hooks=[hear], timeout=_LONGEST_S, on_failure="block")
            hooks[name] = [*hooks.get(name, []), matcher]
        return replace(options, hooks=hooks)

    async def _hear(self, data: Input, call_id: str | None, context: Any) -> Output:
        del call_id, context
        return await self._heard[data["hook_event_name"]](data)

    async def follow(self, messages: AsyncGenerator[Message]) -> AsyncGenerator[Message]:
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
            raise

    async def _end_with(self, message: ResultMessage) -> None:
        error = RuntimeError(message.result or message.subtype) if message.is_error else None
        blocked, self._blocked = self._blocked, None
        await self.end(blocked or error)
        if blocked is not None:
            raise blocked

    async def end(self, error: BaseException | None) -> None:
        """End the turn, because of an error if one is given."""
        calls, helpers, run = self._calls, self._helpers, self._run
        self._calls, self._helpers, self._run = {}, {}, None
        for call in calls.values():
            if error is None or isinstance(error, Exception):
                call.postpone()  # Claude Code itself did not let it run
            await AWAITING.leave(call, error)
        for phase in [*reversed(helpers.values()), *([] if run is None else [run])]:
            await AWAITING.leave(phase, error)

    async def _submit(self, data: Input) -> Output:
        prompt, turn = data["prompt"], None if self._run is None else self._run.turn
        known = 0 if turn is None else len(turn.context)
        try:
            text = await self._begin(data) if turn is None else await turn.inject(prompt)
            blocked = None if text == prompt else PromptBlockedError(_REWRITTEN)
        except PromptBlockedError as error:
            blocked = error
        if blocked is not None:
            self._blocked = blocked if turn is None else None  # what is said meanwhile stops no turn
            specific = say("UserPromptSubmit", suppressOriginalPrompt=True)
            return {"decision": "block", "reason": blocked.reason, **specific}
        run = self._run
        if run is None or run.turn is None:
            return {}
        added = "\n".join(filter(None, [*run.turn.context[known:], run.reminders]))
        return say("UserPromptSubmit", additionalContext=added) if added else {}

    async def _begin(self, data: Input) -> str:
        """Begin a turn; returns its prompt."""
        prompt, session_id = data["prompt"], data["session_id"]
        run = self._seam.run(prompt, agent=self._agent, session_id=session_id, is_restored=self._has_history)
        await AWAITING.enter(run)
        self._run, self._has_history = run, True
        return prompt if run.turn is None else run.turn.prompt

    async def _begin_call(self, data: Input) -> Output:
        args = data["tool_input"]
        run = self._helpers.get(data.get("agent_id", "")) or self._run
        if run is None:  # what runs on after a turn
            self._run = run = self._seam.loose_run()
            await AWAITING.enter(run)
        call = run.work.tool_call(self._seam.tool(data["tool_name"], args, data["tool_use_id"]))
        try:
            await AWAITING.enter(call)
        except ToolCallDeniedError as denied:
            reason = denied.result.text
            return say("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)
        self._calls[data["tool_use_id"]] = call
        return {} if call.tool.args is args else say("PreToolUse", updatedInput=dict(call.tool.args))

    async def _end_call(self, data: Input) -> Output:
        call = self._calls.pop(data["tool_use_id"], None)
        if call is None:
            return {}
        before = read_response(data["tool_response"])
        call.finish(before)
        await AWAITING.leave(call)
        return tell(data["tool_response"], before, get_result(call).text)

    async def _fail_call(self, data: Input) -> Output:
        call, error = self._calls.pop(data["tool_use_id"], None), data["error"]
        if call is None:
            return {}
        await AWAITING.leave(call, asyncio.CancelledError() if data.get("is_interrupt") else RuntimeError(error))
        added = get_result(call).text.removeprefix(f"{error}\n")
        return {} if added == get_result(call).text else say("PostToolUseFailure", additionalContext=added)

    async def _begin_helper(self, data: Input) -> Output:
        if self._run is not None:
            name = data["agent_type"]
            calls = (call.tool for call in self._calls.values() if call.tool.args.get("subagent_type") == name)
            with inside(self._seam, self._run.work, next(calls, Tool(name="Agent"))):
                helper = self._seam.run(None, agent=name)
            await AWAITING.enter(helper)
            self._helpers[data["agent_id"]] = helper
        return {}

    async def _end_helper(self, data: Input) -> Output:
        helper = self._helpers.pop(data["agent_id"], None)
        if helper is not None:
            await AWAITING.leave(helper)
        return {}
