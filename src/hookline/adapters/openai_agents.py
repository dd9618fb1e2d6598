"""
Hookline as a runner of the OpenAI Agents SDK.

    result = await HooklineRunner().run(agent, "...")
"""
# ruff: noqa: A002 - the framework calls it `input`

from __future__ import annotations

import asyncio
import copy
import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from inspect import isawaitable
from typing import Any

from hookline.adapters import openai_items as items
from hookline.adapters.adapter import Adapter
from hookline.adapters.face import run_on_own_loop
from hookline.adapters.seam import PLACE, MissingExtraError, Run, Seam, get_result, inside, read_told
from hookline.errors import HooklineError
from hookline.lifecycle.errors import ToolCallDeniedError

try:
    from agents import Agent, CustomTool, FunctionTool, Runner, RunResult, RunResultStreaming
except ImportError as error:
    raise MissingExtraError("openai-agents", error) from error

_warn_once = functools.cache(logging.getLogger("hookline").warning)
_RUN: ContextVar[tuple[Seam, Run, dict[int, Any]] | None] = ContextVar("hookline_openai_agents_run", default=None)


class HooklineRunner(Adapter):
    """
    Runs agents as `Runner` does, with their runs and tool calls under the hooks of a project.

    A blocked prompt raises `PromptBlockedError` out of the run. Takes what `Options` in `hookline.adapters.seam` lists.
    Agents that take over the conversation are guarded too, and agents that are tools count as sub-agents.
    """

    async def run(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        """Run an agent; takes what `Runner.run` takes."""
        async with await self._open(starting_agent, input, options) as run:
            with _within(self._seam, run):
                given = items.edit_prompt(input, run.prompt) if run.turn else input
                return await Runner.run(starting_agent, given, **_add_reminders(options, run))

    def run_sync(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        """Run an agent where there is no event loop; takes what `Runner.run_sync` takes."""
        return run_on_own_loop(self.run(starting_agent, input, **options))

    async def run_streamed(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResultStreaming:
        """Run an agent and stream its events, once hooks allow the prompt; takes what `Runner.run_streamed` takes."""
        async with AsyncExitStack() as stack:
            run = await stack.enter_async_context(await self._open(starting_agent, input, options))
            with _within(self._seam, run):
                given = items.edit_prompt(input, run.prompt) if run.turn else input
                result = Runner.run_streamed(starting_agent, given, **_add_reminders(options, run))
            # Whoever reads all events waits for this task, and whoever cancels the run cancels it.
            result.run_loop_task = asyncio.create_task(_follow(result.run_loop_task, stack.pop_all()))
        await asyncio.sleep(0)  # a task that is cancelled before it began would end nothing
        return result

    async def _open(self, agent: Agent[Any], given: Any, options: Mapping[str, Any]) -> Run:
        for known in (agent, getattr(given, "_current_agent", agent)):  # a state may go on with another one
            _guard_agent(known)
        memory = options.get("session")
        return self._seam.run(
            items.read_prompt(given),
            agent=agent.name,
            session_id=getattr(memory, "session_id", None) or options.get("conversation_id"),
            is_restored=items.has_history(given) or (memory is not None and bool(await memory.get_items(limit=1))),
        )


async def _follow(task: Any, phases: AsyncExitStack) -> None:
    async with phases:
        await task


@contextmanager
def _within(seam: Seam, run: Run) -> Iterator[None]:
    token = _RUN.set((seam, run, {}))
    try:
        yield
    finally:
        _RUN.reset(token)


@functools.cache
def _guard_class(kind: Any) -> Any:
    """The class of agents whose tools ask the hooks of the run that they are handed out in, and none outside of one."""

    async def get_all_tools(agent: Any, run_context: Any) -> list[Any]:
        _guard_next(agent)
        tools: list[Any] = await kind.get_all_tools(agent, run_context)
        current = _RUN.get()
        return tools if current is None else [_guard_tool(tool, agent.name, *current) for tool in tools]

    return type(kind.__name__, (kind,), {"get_all_tools": get_all_tools, "is_under_hookline": True})


def _guard_agent(agent: Any) -> Any:
    """Guard an agent by its class, so that it stays the same to the framework, and its clones are guarded too."""
    if agent is not None and not hasattr(agent, "is_under_hookline"):
        agent.__class__ = _guard_class(agent.__class__)
        _guard_next(agent)
    return agent


def _guard_next(agent: Any) -> None:
    """Guard the agents that may take over the conversation; a run that is resumed may begin with one of them."""
    for handoff in agent.handoffs:
        if isinstance(handoff, Agent):
            _guard_agent(handoff)
        elif getattr(handoff.on_invoke_handoff, "func", None) is not _hand_over:
            handoff.on_invoke_handoff = functools.partial(_hand_over, handoff.on_invoke_handoff)
            _guard_agent((getattr(handoff, "_agent_ref", None) or (lambda: None))())


async def _hand_over(invoke: Callable[..., Any], *args: Any) -> Any:
    return _guard_agent(await invoke(*args))


def _guard_tool(tool: Any, agent: str, seam: Seam, run: Run, known: dict[int, Any]) -> Any:
    """A copy of a tool that asks the hooks of a run; it is made once, since the framework makes much of a copy."""
    if id(tool) in known:
        return known[id(tool)][1]
    if not isinstance(tool, FunctionTool | CustomTool):
        _warn_once("no hook can stop the tool %r of the agent %r, since it is no function", tool.name, agent)
        return tool
    guarded: Any = copy.copy(tool)
    invoker = guarded.on_invoke_tool
    if hasattr(invoker, "_invoke_tool_impl") and invoker is not tool.on_invoke_tool:  # below what tells of errors
        invoker._invoke_tool_impl = _guard_body(invoker._invoke_tool_impl, tool, seam, run)
    else:
        guarded.on_invoke_tool = _guard_body(invoker, tool, seam, run)
    known[id(tool)] = (tool, guarded)
    return guarded


def _guard_body(body: Callable[..., Any], tool: Any, seam: Seam, run: Run) -> Callable[..., Any]:
    helper, is_text = getattr(tool, "_agent_instance", None), isinstance(tool, CustomTool)

    @functools.wraps(body)
    async def invoke(context: Any, arguments: str) -> Any:
        args = items.read_arguments(arguments, is_text=is_text)
        call = run.work.tool_call(seam.tool(tool.name, args, getattr(context, "tool_call_id", "")))
        value = text = None  # and stay so where a hook makes a success of an exception
        try:
            async with call:
                if call.tool.args is not args:
                    arguments = items.write_arguments(call.tool.args, is_text=is_text)
                    # The framework refuses what differs from what it came of, and tools may read it.
                    context.tool_arguments, context._function_tool_arguments = arguments, None
                async with AsyncExitStack() as stack:
                    stack.enter_context(inside(seam, run.work, call.tool))
                    if helper is not None:
                        _guard_agent(helper)
                        sub_run = await stack.enter_async_context(seam.run(None, agent=helper.name))
                        stack.enter_context(_within(seam, sub_run))
                    value = body(context, arguments)
                    value = await value if isawaitable(value) else value
                if helper is not None and value is None:  # its run waits for an approval, and goes on later
                    call.postpone()
                    return None
                call.finish(text := items.read_value(value))
        except ToolCallDeniedError as denied:
            return denied.result.text
        except Exception as error:
            if call.result is not None and read_told(call) != (str(error) or type(error).__name__):
                raise HooklineError(read_told(call)) from error
            raise
        result = get_result(call)
        return value if result.text == text else items.edit_value(value, result.text)

    return invoke


def _add_reminders(options: dict[str, Any], run: Run) -> dict[str, Any]:
    """The options of a run, in which each call of the model is reminded; the history is not."""
    if not run.reminders:
        return options
    config, place = options.get("run_config") or {}, PLACE.get()
    before = items.read(config, "call_model_input_filter")

    async def remind(data: Any) -> Any:
        found = data.model_data if before is None else before(data)
        found = await found if isawaitable(found) else found
        if PLACE.get() is not place:  # an agent that is a tool of this one has its configuration
            return found
        return replace(found, input=[*found.input, {"role": "user", "content": run.reminders}])

    change: dict[str, Any] = {"call_model_input_filter": remind}
    return {**options, "run_config": {**config, **change} if isinstance(config, Mapping) else replace(config, **change)}
