"""Handlers as authors of modules and agents write them; checked by mypy, never run."""

from __future__ import annotations

from typing import Any, assert_type

from hookline import Engine
from hookline.modules import (
    CommandContext,
    Context,
    ContextEvent,
    HookAPI,
    HookError,
    Loading,
    PlainContext,
    Remove,
    ToolCallEvent,
    ToolCallResult,
    ToolCallReturn,
    ToolResultEvent,
    ToolResultResult,
    ToolResultReturn,
    load,
)


async def guard(event: ToolCallEvent, ctx: Context) -> ToolCallReturn | None:
    assert_type(event.tool_name, str)
    assert_type(event.input, dict[str, Any])
    if await ctx.ui.confirm("Sure?", "really"):
        return None
    return {"block": True, "reason": "no"}


async def redact(event: ToolResultEvent, ctx: Context) -> ToolResultResult:
    assert_type(event.content, list[Any])
    assert_type(event.is_error, bool)
    return ToolResultResult(content=[])


async def filter_messages(event: ContextEvent, ctx: Context) -> dict[str, Any]:
    assert_type(event.messages, list[Any])
    return {"messages": event.messages}


async def hand_off(args: str, ctx: CommandContext) -> None:
    await ctx.wait_for_idle()
    assert_type(await ctx.new_session(parent_session=ctx.session.file), bool)


def hook(api: HookAPI) -> None:
    assert_type(api.on("tool_call", guard), Remove)
    assert_type(api.on("before_tool_call", guard, tool_name="bash", timeout_s=2.5, on_error="warn"), Remove)
    api.on("tool_result", redact, id="redact")
    api.on("context", filter_messages)
    api.register_command("handoff", hand_off, description="Go on elsewhere")

    @api.on("tool_call", tool_name="bash")
    async def decorated(event: ToolCallEvent, ctx: Context) -> ToolCallResult | None:
        assert_type(ctx.has_ui, bool)
        return ToolCallResult(block=True, input={})

    assert_type(api.on("turn_start", lambda event, ctx: print(event.turn_index)), Remove)


def misuse(api: HookAPI) -> None:
    api.on("tool_calls", guard)  # type: ignore[call-overload]
    api.on("tool_result", guard)  # type: ignore[call-overload]
    api.on("tool_call", guard, tool="bash")  # type: ignore[call-overload]
    api.on("tool_call", guard, on_error="shout")  # type: ignore[call-overload]
    api.on("tool_call", guard, mode="later")  # type: ignore[call-overload]
    api.on("tool_call", 42)  # type: ignore[call-overload]

    @api.on("tool_call")  # type: ignore[arg-type]
    async def wrong_event(event: ToolResultEvent, ctx: Context) -> None: ...

    @api.on("tool_call")  # type: ignore[arg-type]
    async def wrong_return(event: ToolCallEvent, ctx: Context) -> int:
        return 42

    @api.on("no_such_event")  # type: ignore[call-overload, untyped-decorator]
    async def unknown(event: ToolCallEvent, ctx: Context) -> None: ...


def wrong_keys() -> ToolCallReturn:
    return {"blocked": True}  # type: ignore[typeddict-unknown-key]


def wrong_values() -> ToolResultReturn:
    return {"is_error": "yes"}  # type: ignore[typeddict-item]


def wrong_fields(event: ToolCallEvent) -> None:
    print(event.content)  # type: ignore[attr-defined]


def plain(event: ToolCallEvent, ctx: PlainContext) -> ToolCallReturn | None:
    assert_type(ctx.ui.confirm("Sure?", "really"), bool)
    return None


def plain_with_the_context_of_async_ones(event: ToolCallEvent, ctx: Context) -> ToolCallReturn | None:
    return None


async def of_the_event_alone(event: ToolResultEvent) -> ToolResultReturn:
    return {"content": event.content}


def kinds(api: HookAPI) -> None:
    api.on("tool_call", plain)
    api.on("tool_result", of_the_event_alone)
    api.on("tool_call", plain_with_the_context_of_async_ones)  # type: ignore[call-overload]


async def attach(engine: Engine) -> None:
    assert_type(engine.on("tool_call", guard), Remove)
    assert_type(engine.on_error(lambda error: print(error.hook_path, error.event)), Remove)
    assert_type(load(engine, ["guards.py"]), Loading)
    assert_type(await engine.run_command("/handoff now"), Any)

    @engine.on("before_tool_call", tool_name="bash")
    async def decorated(event: ToolCallEvent, ctx: Context) -> ToolCallReturn | None:
        return None


def hear(error: HookError) -> None:
    assert_type(error.error, str)
