"""
Hookline as a capability of Pydantic AI.

    agent = Agent("anthropic:...", capabilities=[HooklineCapability()])
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Unpack

from hookline.adapters.adapter import Adapter
from hookline.adapters.seam import MissingExtraError, Options, Run, Seam, get_result, inside, read_told
from hookline.errors import HooklineError
from hookline.lifecycle.errors import ToolCallDeniedError

try:
    from pydantic_ai import CallDeferred, ModelResponse, ModelRetry, RunContext, ToolReturn, UserPromptNode
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, WrapRunHandler
    from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
    from pydantic_ai.messages import ModelRequest, TextContent, ToolReturnPart, UserContent, UserPromptPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
    from pydantic_core import ValidationError, to_jsonable_python
except ImportError as error:
    raise MissingExtraError("pydantic-ai", error) from error

_RUN_ID: ContextVar[str | None] = ContextVar("hookline_pydantic_ai_run", default=None)


class _Innermost(AbstractCapability[Any]):
    """Nearest to the tools, so that hooks see the arguments as the tool gets them."""

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="innermost")


class HooklineCapability(Adapter, _Innermost):
    """
    Puts an agent's runs and tool calls under the hooks of a project.

    A blocked prompt raises `PromptBlockedError` out of the run. Takes what `Options` in `hookline.adapters.seam` lists.
    An agent that a tool runs counts as a sub-agent if it has the capability too.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        Adapter.__init__(self, **options)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        del ctx
        return _RunCapability(self._seam)


class _RunCapability(_Innermost):
    """One run of an agent."""

    def __init__(self, seam: Seam) -> None:
        self._seam = seam
        self._run: Run | None = None
        self._is_duplicate = False

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        self._is_duplicate = _RUN_ID.get() == ctx.run_id
        if self._is_duplicate:  # the agent and the run were both given a capability; the outer one does the work
            return await handler()
        agent = (ctx.agent.name if ctx.agent is not None else None) or ""
        prompt = _read_prompts(parts) if (parts := _find_prompts(ctx)) else None
        is_restored = any(isinstance(message, ModelResponse) for message in ctx.messages)
        run = self._seam.run(prompt, agent=agent, session_id=ctx.conversation_id, is_restored=is_restored)
        token = _RUN_ID.set(ctx.run_id)
        try:
            async with run:
                self._run = run
                return await handler()
        finally:
            _RUN_ID.reset(token)

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        if isinstance(node, UserPromptNode) and self._run is not None and self._run.turn is not None:
            parts = _find_prompts(ctx)
            if self._run.prompt != _read_prompts(parts):
                others = [item for part in parts for item in _find_others(part.content)]
                content = [self._run.prompt, *others] if others else self._run.prompt
                last = ctx.messages[-1] if ctx.messages else None
                if node.user_prompt is None and isinstance(last, ModelRequest):
                    kept = [part for part in last.parts if part not in parts]
                    ctx.messages[-1] = replace(last, parts=[*kept, UserPromptPart(content)])
                else:
                    node.user_prompt = content
        return node

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        del ctx
        reminders = self._run.reminders if self._run is not None else ""
        last = request_context.messages[-1] if request_context.messages else None
        if reminders and isinstance(last, ModelRequest):
            # In this request alone: a reminder in the history would be there once for each call.
            reminded = replace(last, parts=[*last.parts, UserPromptPart(reminders)])
            request_context.messages = [*request_context.messages[:-1], reminded]
        return request_context

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _GuardedToolset(toolset, self)

    async def call_tool(
        self, toolset: AbstractToolset[Any], name: str, args: dict[str, Any], ctx: RunContext[Any], tool: Any
    ) -> Any:
        """Call a tool if hooks let it run, with the arguments and the result as they leave them."""
        if self._is_duplicate:
            return await toolset.call_tool(name, args, ctx, tool)
        if self._run is None:
            raise HooklineError(f"tool {name!r} is called outside of a run, where no hook can be asked")
        shown = to_jsonable_python(args, serialize_unknown=True)
        call = self._run.work.tool_call(self._seam.tool(name, shown, ctx.tool_call_id))
        value = text = None  # and stays so where a hook makes a success of an exception
        try:
            async with call:
                if call.tool.args != shown:
                    args = _validate(tool, call.tool.args, ctx)
                try:
                    with inside(self._seam, self._run.work, call.tool):
                        value = await toolset.call_tool(name, args, ctx, tool)
                except (ApprovalRequired, CallDeferred):
                    call.postpone()
                    raise
                text = _read_text(value)
                call.finish(text)
        except ToolCallDeniedError as denied:
            raise ToolFailed(denied.result.text) from denied
        except (ToolFailed, ModelRetry) as error:  # what the tool tells the model by raising, hooks may change too
            raise type(error)(read_told(call)) from error
        result = get_result(call)
        if result.failed:
            raise ToolFailed(result.text)
        return value if result.text == text else _edit_value(value, result.text)


@dataclass
class _GuardedToolset(WrapperToolset[Any]):
    """The tools of a run, each called by way of the hooks."""

    capability: _RunCapability

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        return await self.capability.call_tool(self.wrapped, name, tool_args, ctx, tool)


def _validate(tool: ToolsetTool[Any], args: Any, ctx: RunContext[Any]) -> dict[str, Any]:
    """The arguments as the tool's schema makes them of what hooks wrote."""
    try:
        validated: dict[str, Any] = tool.args_validator.validate_json(json.dumps(args), context=ctx.validation_context)
    except ValidationError as error:
        raise ToolFailed(f"a hook gave {tool.tool_def.name!r} arguments that it does not take: {error}") from error
    return validated


def _read_text(value: Any) -> str:
    """What the model is told of a tool's return value."""
    if isinstance(value, ToolReturn):
        return "\n".join([_read_text(value.return_value), *_find_texts(value.content)])
    return ToolReturnPart(tool_name="", content=value, tool_call_id="").model_response_str()


def _edit_value(value: Any, text: str) -> Any:
    """The return value with another text; whatever held the old one is gone."""
    if not isinstance(value, ToolReturn):
        return text
    return replace(value, return_value=text, content=_find_others(value.content) or None)


def _find_prompts(ctx: RunContext[Any]) -> list[UserPromptPart]:
    """What the user wrote for a run: given to it, or the last of the history that it was given."""
    if ctx.prompt is not None:
        return [UserPromptPart(ctx.prompt)]
    last = ctx.messages[-1] if ctx.messages else None
    return [part for part in last.parts if isinstance(part, UserPromptPart)] if isinstance(last, ModelRequest) else []


def _read_prompts(parts: list[UserPromptPart]) -> str:
    return "\n".join(text for part in parts for text in _find_texts(part.content))


def _find_texts(content: str | Sequence[UserContent] | None) -> list[str]:
    if content is None or isinstance(content, str):
        return [content] if content else []
    return [item if isinstance(item, str) else item.content for item in content if isinstance(item, str | TextContent)]


def _find_others(content: str | Sequence[UserContent] | None) -> list[UserContent]:
    """The images, documents and so on in a content."""
    return [] if content is None else [item for item in content if not isinstance(item, str | TextContent)]
