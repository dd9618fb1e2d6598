"""What is peculiar to MCP servers."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp.types import CallToolResult, ImageContent, Implementation, TextContent
from msgspec.structs import replace

from faces import Diary, blocked, with_args
from hookline import Decision, Event
from hookline.adapters.adapter import Adapter
from hookline.adapters.mcp import HooklineMiddleware

RAN: list[str] = []


@pytest.fixture(autouse=True)
def no_commands_yet() -> None:
    RAN.clear()


def bash(command: str) -> str:
    """Run a command."""
    RAN.append(command)
    return f"ran {command}"


def weigh(name: str) -> dict[str, int]:
    """Weigh something."""
    return {name: 3}


def draw() -> CallToolResult:
    """Draw a cat."""
    image = ImageContent(type="image", data=base64.b64encode(b"cat").decode(), mime_type="image/png")
    return CallToolResult(content=[TextContent(type="text", text="a cat"), image])


def make_server(diary: Diary, *tools: Callable[..., Any], after: Any = (), **options: Any) -> MCPServer:
    """A server; middlewares may come after Hookline's."""
    server = MCPServer("tools", middleware=[HooklineMiddleware(engine=diary, **options), *after])
    for tool in tools or (bash,):
        server.add_tool(tool)
    return server


async def call(server: MCPServer, tool: str = "bash", **args: Any) -> CallToolResult:
    async with Client(server, client_info=Implementation(name="Editor", version="1")) as client:
        await client.list_tools()
        return await client.call_tool(tool, args)


def read(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def with_context(text: str) -> Decision:
    return Decision(context=(text,))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_denied_call_is_an_error_for_clients_of_each_protocol(mode: str) -> None:
    diary = Diary({"before_tool_call": blocked("not now")})
    async with Client(make_server(diary), mode=mode) as client:
        result = await client.call_tool("bash", {"command": "ls"})
    assert (result.is_error, read(result), RAN) == (True, "not now", [])


async def test_a_call_is_a_session_of_its_own_with_the_name_of_the_client(diary: Diary) -> None:
    server = make_server(diary)
    await call(server, command="ls")
    await call(server, command="ls")
    assert len({event.session_id for event in diary.all("session_start")}) == 2
    assert {(event.agent.name, event.profile) for event in diary.all("before_tool_call")} == {("Editor", "Editor")}


async def test_calls_in_the_block_of_a_middleware_are_of_one_session(diary: Diary) -> None:
    async with HooklineMiddleware(engine=diary, profile="Files") as hooks:
        server = MCPServer("tools", middleware=[hooks])
        server.add_tool(bash)
        await call(server, command="ls")
        await call(server, command="pwd")
    assert diary.names.count("session_start") == diary.names.count("session_end") == 1
    assert [event.profile for event in diary.all("before_tool_call")] == ["Files", "Files"]


async def test_other_requests_pass_by(diary: Diary) -> None:
    async with Client(make_server(diary)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["bash"]
    assert diary.names == []


async def test_a_call_of_no_tool_is_reported_as_an_error(diary: Diary) -> None:
    async with Client(make_server(diary)) as client:
        result = await client.call_tool("nothing", {})
    assert (result.is_error, read(result)) == (True, "Unknown tool: nothing")
    assert diary.fields("tool_error")["result"]["text"] == "Unknown tool: nothing"


async def test_a_malformed_call_is_refused(diary: Diary) -> None:
    async def forge(ctx: Any, call_next: Any) -> Any:
        return await hooks(Forged(ctx), call_next) if ctx.method == "tools/call" else await call_next(ctx)

    class Forged:
        def __init__(self, ctx: Any) -> None:
            self.method, self.session, self.request_id = ctx.method, ctx.session, ctx.request_id
            self.params = {"name": ["bash"], "arguments": {"command": "ls"}}

    hooks = HooklineMiddleware(engine=diary)
    server = MCPServer("tools", middleware=[forge])
    server.add_tool(bash)
    async with Client(server) as client:
        with pytest.raises(MCPError):
            await client.call_tool("bash", {"command": "ls"})
    assert RAN == []


async def test_context_reaches_what_a_client_reads_as_data_too() -> None:
    result = await call(make_server(Diary({"after_tool_call": with_context("shared")})), command="ls")
    assert read(result) == "ran ls\nshared"
    assert result.structured_content == {"result": "ran ls\nshared"}


async def test_data_stays_as_it_is_when_hooks_add_to_it() -> None:
    diary = Diary({"after_tool_call": with_context("in grams")})
    result = await call(make_server(diary, weigh), "weigh", name="tea")
    assert result.structured_content == {"tea": 3}
    assert read(result).endswith("in grams")
    assert not result.is_error


async def test_data_goes_when_hooks_replace_its_text(diary: Diary) -> None:
    diary = Diary({"after_tool_call": with_result("[redacted]")})
    result = await call(make_server(diary, weigh), "weigh", name="tea")
    assert (read(result), result.structured_content, result.is_error) == ("[redacted]", None, True)


def with_result(text: str) -> Callable[[Event], Decision]:
    """Decides that the model is told another result."""

    def decide(event: Event) -> Decision:
        fields: Any = event.fields
        return Decision(event=replace(event, fields=replace(fields, result=replace(fields.result, text=text))))

    return decide


async def test_an_image_stays_when_hooks_change_the_text() -> None:
    result = await call(make_server(Diary({"after_tool_call": with_context("of ours")}), draw), "draw")
    assert read(result) == "a cat\nof ours"
    assert [block for block in result.content if isinstance(block, ImageContent)]


async def test_a_call_that_asks_for_more_is_not_reported_before_it_has_it(diary: Diary) -> None:
    asked = []

    async def ask_once(ctx: Any, call_next: Any) -> Any:
        if ctx.method != "tools/call" or asked:
            return await call_next(ctx)
        asked.append(ctx.method)
        return {"resultType": "input_required", "requestState": "more"}

    server = make_server(diary, after=[ask_once])
    async with Client(server) as client:
        result = await client.call_tool("bash", {"command": "ls"})
    assert read(result) == "ran ls"
    assert diary.names.count("before_tool_call") == 2
    assert diary.names.count("after_tool_call") == 1


async def test_an_agent_that_runs_in_a_tool_is_a_sub_agent(diary: Diary) -> None:
    async def research(task: str) -> str:
        """Look something up."""
        async with Adapter(engine=diary)._seam.run(task, agent="Researcher"):
            return "found it"

    await call(make_server(diary, research), "research", task="look")
    assert diary.only("sub_agent_start").agent.name == "Researcher"
    assert diary.names.count("session_start") == 1


async def test_rewritten_arguments_are_those_that_are_reported() -> None:
    diary = Diary({"before_tool_call": with_args(command="ls -l")})
    await call(make_server(diary), command="ls")
    assert RAN == ["ls -l"]
    assert diary.fields("after_tool_call")["tool"]["args"] == {"command": "ls -l"}


async def test_an_error_of_the_engine_runs_no_tool() -> None:
    def decide(event: Event) -> Decision:
        raise RuntimeError(f"broken at {event.name}")

    async with Client(make_server(Diary({"before_tool_call": decide}))) as client:
        with pytest.raises(MCPError):
            await client.call_tool("bash", {"command": "ls"})
    assert RAN == []
