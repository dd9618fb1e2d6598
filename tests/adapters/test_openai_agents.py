"""What is peculiar to the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import agents
import mcp.types
import pytest
from agents import (
    CustomTool,
    FunctionTool,
    Handoff,
    RunConfig,
    RunContextWrapper,
    Runner,
    SQLiteSession,
    ToolOutputImage,
    ToolOutputText,
    WebSearchTool,
    function_tool,
    handoff,
)
from agents.mcp import MCPServer
from agents.tool_context import ToolContext
from openai.types.responses import ResponseCustomToolCall

from adapters.driver import Agent
from adapters.drivers.openai_agents import ScriptedModel, make_call, show
from faces import Diary, blocked, with_args, with_text
from hookline import Decision, Event, HooklineError, PromptBlockedError
from hookline.adapters.openai_agents import HooklineRunner

IMAGE = {"type": "input_image", "image_url": "https://example.com/cat.png", "detail": "auto"}


class Script(ScriptedModel):
    """A model that wants tools called, as (name, args), or says a text; keeps what it was given."""

    def __init__(self, *steps: Any) -> None:
        super().__init__(Agent(script=steps), [])
        self.given: list[Any] = []

    def answer(self, instructions: str | None, given: Any) -> list[Any]:
        self.given.append(given)
        step = self.agent.script[len(self.calls)] if len(self.calls) < len(self.agent.script) else "done"
        if isinstance(step, tuple):
            self.calls.append(show(given))
            return [make_call(*step)]
        if isinstance(step, ResponseCustomToolCall):
            self.calls.append(show(given))
            return [step]
        return super().answer(instructions, given)

    @property
    def last(self) -> str:
        """What it was told last."""
        return str(self.given[-1][-1]["output"])


def look() -> str:
    """Look."""
    return "a cat"


def make_agent(script: Script, *tools: Any, **options: Any) -> agents.Agent[Any]:
    made = [tool if not callable(tool) else function_tool(tool) for tool in tools]
    return agents.Agent(options.pop("name", "Main"), model=script, tools=made, **options)


def reminding() -> Diary:
    return Diary({"user_prompt_submit": Decision(reminders=("Keep it short.",))})


async def test_an_agent_that_the_frameworks_own_runner_runs_has_no_hooks(diary: Diary) -> None:
    script = Script(("look", {}), "ok", ("look", {}))
    agent = make_agent(script, look)
    await HooklineRunner(engine=diary).run(agent, "go")
    diary.events.clear()
    assert (await Runner.run(agent, "go")).final_output == "done"
    assert diary.events == []


async def test_an_agent_stays_the_same_to_the_framework(diary: Diary) -> None:
    agent = make_agent(Script())
    result = await HooklineRunner(engine=diary).run(agent, "go")
    assert result.last_agent is agent
    assert isinstance(agent, agents.Agent)
    assert repr(agent).startswith("Agent(")


async def test_a_clone_of_an_agent_has_hooks_and_its_own_tools() -> None:
    diary, script = Diary({"before_tool_call": blocked("not now")}), Script("ok", ("look", {}))
    agent = make_agent(script)
    await HooklineRunner(engine=diary).run(agent, "go")
    await HooklineRunner(engine=diary).run(agent.clone(tools=[function_tool(look)]), "go")
    assert script.last == "not now"


@pytest.mark.parametrize("hand_over", [lambda agent: agent, handoff], ids=["agent", "handoff"])
async def test_an_agent_that_takes_over_is_guarded_in_the_same_turn(hand_over: Callable[..., Any]) -> None:
    diary, script = Diary({"before_tool_call": blocked("not now")}), Script(("look", {}))
    other = make_agent(script, look, name="Other")
    agent = make_agent(Script(("transfer_to_other", {})), handoffs=[hand_over(other)])
    result = await HooklineRunner(engine=diary).run(agent, "go")
    assert script.last == "not now"
    assert result.last_agent is other
    assert diary.names.count("before_turn") == 1


async def test_an_agent_that_is_made_when_it_takes_over_is_guarded() -> None:
    diary, script = Diary({"before_tool_call": blocked("not now")}), Script(("look", {}))

    async def make(context: RunContextWrapper[Any], arguments: str) -> agents.Agent[Any]:
        return make_agent(script, look, name="Other")

    made = Handoff("ask_other", "Ask.", {}, make, "Other", strict_json_schema=False)
    await HooklineRunner(engine=diary).run(make_agent(Script(("ask_other", {})), handoffs=[made]), "go")
    assert script.last == "not now"


async def test_an_agent_that_a_helper_hands_over_to_is_guarded() -> None:
    diary, script = Diary({"before_tool_call": blocked("not now")}), Script(("look", {}))
    other = make_agent(script, look, name="Other")
    helper = make_agent(Script(("transfer_to_other", {})), name="Helper", handoffs=[other])
    agent = make_agent(Script(("helper", {"input": "go"})), helper.as_tool("helper", "Help."))
    diary = Diary({"before_tool_call": lambda event: blocked("not now") if event.agent.depth else Decision()})
    await HooklineRunner(engine=diary).run(agent, "go")
    assert script.last == "not now"


class Server(MCPServer):
    """An MCP server in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[Any] = []

    name = "local"

    async def connect(self) -> None: ...

    async def cleanup(self) -> None: ...

    async def list_tools(self, *args: Any) -> list[mcp.types.Tool]:
        return [mcp.types.Tool(name="fetch", inputSchema={"type": "object", "properties": {"url": {"type": "string"}}})]

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> mcp.types.CallToolResult:
        self.ran.append(arguments)
        return mcp.types.CallToolResult(content=[mcp.types.TextContent(type="text", text="a page")])

    async def list_prompts(self) -> Any: ...

    async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...


async def test_tools_of_mcp_servers_are_guarded() -> None:
    diary, script = Diary({"before_tool_call": blocked("not now")}), Script(("fetch", {"url": "https://example.com"}))
    server = Server()
    await HooklineRunner(engine=diary).run(make_agent(script, mcp_servers=[server]), "go")
    assert (server.ran, script.last) == ([], "not now")


async def test_tools_of_mcp_servers_get_the_arguments_that_hooks_wrote() -> None:
    diary = Diary({"before_tool_call": with_args(url="https://example.org"), "after_tool_call": with_context("shared")})
    script, server = Script(("fetch", {"url": "https://example.com"})), Server()
    await HooklineRunner(engine=diary).run(make_agent(script, mcp_servers=[server]), "go")
    assert server.ran == [{"url": "https://example.org"}]
    assert show(script.given[-1]).endswith("a page\nshared")


def with_context(text: str) -> Decision:
    return Decision(context=(text,))


async def test_a_tool_with_one_text_as_its_input_is_guarded() -> None:
    ran: list[str] = []
    diary = Diary({"before_tool_call": with_args(input="SELECT 2")})
    call = ResponseCustomToolCall(type="custom_tool_call", call_id="c1", name="sql", input='{"a": 1}')
    tool = CustomTool("sql", "Run SQL.", lambda context, text: ran.append(text) or "fine")
    await HooklineRunner(engine=diary).run(make_agent(Script(call), tool), "go")
    assert diary.fields("before_tool_call")["tool"]["args"] == {"input": '{"a": 1}'}
    assert ran == ["SELECT 2"]


async def test_a_tool_that_was_made_by_hand_is_guarded_and_its_error_is_its_own(diary: Diary) -> None:
    async def fail(context: ToolContext[Any], arguments: str) -> str:
        raise ValueError(arguments)

    tool = FunctionTool("fail", "Fail.", {"type": "object", "properties": {}}, fail, strict_json_schema=False)
    with pytest.raises(Exception, match="not json"):
        await HooklineRunner(engine=diary).run(make_agent(Script(("fail", "not json")), tool), "go")
    assert diary.fields("before_tool_call")["tool"]["args"] == {"input": "not json"}
    assert diary.fields("after_turn")["status"] == "failed"


async def test_what_hooks_say_of_an_error_is_told_with_it() -> None:
    diary = Diary({"tool_error": with_context("see the manual")})

    def fail() -> str:
        """Fail."""
        raise ValueError("no such file")

    script = Script(("fail", {}))
    tool = function_tool(fail, failure_error_function=lambda _, error: f"it failed: {error}")
    await HooklineRunner(engine=diary).run(make_agent(script, tool), "go")
    assert script.last == "it failed: no such file\nsee the manual"


async def test_a_tool_that_the_provider_runs_is_reported_once(diary: Diary, log_lines: list[str]) -> None:
    agent = make_agent(Script("a", "b"), WebSearchTool(), name="Searcher")
    for _ in range(2):
        await HooklineRunner(engine=diary).run(agent, "go")
    assert [line for line in log_lines if "Searcher" in line] == [
        "no hook can stop the tool 'web_search' of the agent 'Searcher', since it is no function"
    ]


async def test_a_call_that_waits_for_approval_is_asked_about_and_reported_when_it_runs(diary: Diary) -> None:
    agent = make_agent(Script(("push", {"where": "main"})), function_tool(push, needs_approval=True))
    runner = HooklineRunner(engine=diary)
    first = await runner.run(agent, "go")
    assert "before_tool_call" not in diary.names
    state = first.to_state()
    state.approve(first.interruptions[0])
    assert (await runner.run(agent, state)).final_output == "done"
    names = [name for name in diary.names if "tool" in name or "prompt" in name]
    assert names == ["user_prompt_submit", "before_tool_call", "after_tool_call"]


def push(where: str) -> str:
    """Push."""
    return f"pushed to {where}"


async def test_a_call_that_a_human_rejects_never_runs(diary: Diary) -> None:
    script = Script(("push", {"where": "main"}))
    agent = make_agent(script, function_tool(push, needs_approval=True))
    first = await HooklineRunner(engine=diary).run(agent, "go")
    state = first.to_state()
    state.reject(first.interruptions[0])
    await HooklineRunner(engine=diary).run(agent, state)
    assert "pushed" not in script.last
    assert "before_tool_call" not in diary.names


async def test_hooks_rewrite_what_a_policy_of_approval_let_pass() -> None:
    diary = Diary({"before_tool_call": with_args(where="draft")})
    seen = []

    async def policy(context: Any, args: dict[str, Any], call_id: str) -> bool:
        return args["where"] != "branch"

    def push_there(context: ToolContext[Any], where: str) -> str:
        """Push."""
        seen.append(context.tool_arguments)
        return f"pushed to {where}"

    script = Script(("push_there", {"where": "branch"}))
    tool = function_tool(push_there, needs_approval=policy)
    await HooklineRunner(engine=diary).run(make_agent(script, tool), "go")
    assert script.last == "pushed to draft"
    assert seen == ['{"where": "draft"}']


async def test_a_helper_whose_tool_waits_for_approval_is_reported_when_it_is_done(diary: Diary) -> None:
    helper = make_agent(Script(("push", {"where": "x"})), function_tool(push, needs_approval=True), name="Helper")
    agent = make_agent(Script(("helper", {"input": "go"})), helper.as_tool("helper", "Help."))
    runner = HooklineRunner(engine=diary)
    first = await runner.run(agent, "go")
    assert "after_tool_call" not in diary.names
    state = first.to_state()
    state.approve(first.interruptions[0])
    assert (await runner.run(agent, state)).final_output == "done"
    reported = [event.tool.name for event in diary.all("after_tool_call") if event.tool is not None]
    assert reported == ["push", "helper"]


async def test_a_state_is_resumed_in_an_agent_that_took_over(diary: Diary) -> None:
    script = Script(("push", {"where": "x"}))

    def build() -> agents.Agent[Any]:
        other = make_agent(script, function_tool(push, needs_approval=True), name="Other")
        return make_agent(Script(("transfer_to_other", {})), handoffs=[handoff(other)])

    first = await HooklineRunner(engine=diary).run(build(), "go")
    saved = first.to_state().to_json()
    agent, denying = build(), Diary({"before_tool_call": blocked("not now")})
    state: Any = await agents.RunState.from_json(agent, saved)
    state.approve(state.get_interruptions()[0])
    await HooklineRunner(engine=denying).run(agent, state)
    assert script.last == "not now"


async def test_a_run_that_is_streamed_and_left_is_interrupted(diary: Diary) -> None:
    result = await HooklineRunner(engine=diary).run_streamed(make_agent(Script(("look", {})), look), "go")
    result.cancel()
    async for _ in result.stream_events():
        pass
    await asyncio.wait([result.run_loop_task] if result.run_loop_task else [])
    assert diary.fields("after_turn")["status"] == "interrupted"


async def test_a_run_that_is_streamed_and_fails_is_reported_as_failed(diary: Diary) -> None:
    result = await HooklineRunner(engine=diary).run_streamed(make_agent(Script(RuntimeError("down"))), "go")
    with pytest.raises(RuntimeError, match="down"):
        async for _ in result.stream_events():
            pass
    assert diary.fields("after_turn")["status"] == "failed"


async def test_a_blocked_prompt_starts_no_stream() -> None:
    diary, script = Diary({"user_prompt_submit": blocked("no keys")}), Script()
    with pytest.raises(PromptBlockedError, match="no keys"):
        await HooklineRunner(engine=diary).run_streamed(make_agent(script), "my key is sk-1")
    assert script.given == []


async def test_a_stored_conversation_is_a_session_and_keeps_no_blocked_prompt() -> None:
    diary = Diary({"user_prompt_submit": lambda event: blocked() if "sk-1" in event.fields.text else Decision()})
    runner, memory, agent = HooklineRunner(engine=diary), SQLiteSession("chat"), make_agent(Script("a", "b"))
    await runner.run(agent, "one", session=memory)
    with pytest.raises(PromptBlockedError):
        await runner.run(agent, "sk-1", session=memory)
    await runner.run(agent, "two", session=memory)
    assert {event.session_id for event in diary.events} == {"chat"}
    assert [name for name in diary.names if name in ("session_start", "session_restored")] == [
        "session_start",
        *["session_restored"] * 2,
    ]
    assert "sk-1" not in str(await memory.get_items())
    memory.close()


async def test_a_prompt_keeps_its_image_when_hooks_change_its_text() -> None:
    diary, script = Diary({"user_prompt_submit": with_text("what is on it?")}), Script()
    content = [{"type": "input_text", "text": "who is on it?"}, IMAGE]
    await HooklineRunner(engine=diary).run(make_agent(script), [{"role": "user", "content": content}])
    assert script.given[0][-1]["content"] == [{"type": "input_text", "text": "what is on it?"}, IMAGE]


async def test_a_result_keeps_its_image_when_hooks_add_to_it() -> None:
    diary = Diary({"after_tool_call": with_context("shared")})

    def draw() -> list[Any]:
        """Draw."""
        return [ToolOutputText(text="drawn"), ToolOutputImage(image_url="https://example.com/cat.png")]

    script = Script(("draw", {}))
    await HooklineRunner(engine=diary).run(make_agent(script, draw), "go")
    text, image = script.given[-1][-1]["output"]
    assert text == {"type": "input_text", "text": "drawn\nshared"}
    assert image["image_url"] == "https://example.com/cat.png"


async def test_a_return_value_that_is_no_text_is_shown_as_the_model_sees_it(diary: Diary) -> None:
    def count() -> list[int]:
        """Count."""
        return [1, 2]

    script = Script(("count", {}))
    await HooklineRunner(engine=diary).run(make_agent(script, count), "go")
    assert diary.fields("after_tool_call")["result"]["text"] == script.last == "[1, 2]"


async def test_reminders_stay_out_of_the_history_and_of_helpers() -> None:
    helped, script = Script(), Script(("helper", {"input": "go"}))
    agent = make_agent(script, make_agent(helped, name="Helper").as_tool("helper", "Help."))
    result = await HooklineRunner(engine=reminding()).run(agent, "go")
    assert all("Keep it short." in show(given) for given in script.given)
    assert "Keep it short." not in str(result.to_input_list()) + str(helped.given)


@pytest.mark.parametrize("kind", [RunConfig, dict])
async def test_reminders_come_after_the_users_own_filter(kind: Any) -> None:
    def filter_all(data: Any) -> Any:
        data.model_data.input = [{"role": "user", "content": "filtered"}]
        return data.model_data

    script = Script()
    config = kind(call_model_input_filter=filter_all)
    await HooklineRunner(engine=reminding()).run(make_agent(script), "go", run_config=config)
    assert [item["content"].splitlines()[0] for item in script.given[0]] == ["filtered", "<system-reminder>"]


async def test_an_agent_that_a_tool_runs_by_the_runner_is_a_sub_agent(diary: Diary) -> None:
    runner = HooklineRunner(engine=diary)
    helper = make_agent(Script(("look", {})), look, name="Helper")

    async def ask() -> str:
        """Ask."""
        return str((await runner.run(helper, "look")).final_output)

    await runner.run(make_agent(Script(("ask", {})), ask), "go")
    assert diary.only("sub_agent_start").agent.name == "Helper"
    assert diary.names.count("session_start") == 1


async def test_waiting_for_a_run_where_a_loop_runs_is_refused(diary: Diary) -> None:
    with pytest.raises(HooklineError, match="await the async method"):
        HooklineRunner(engine=diary).run_sync(make_agent(Script()), "go")
    assert diary.events == []


async def test_an_error_of_the_engine_runs_no_tool() -> None:
    ran = []

    def decide(event: Event) -> Decision:
        raise RuntimeError(f"broken at {event.name}")

    def act() -> str:
        """Act."""
        ran.append(1)
        return "acted"

    await HooklineRunner(engine=Diary({"before_tool_call": decide})).run(make_agent(Script(("act", {})), act), "go")
    assert ran == []
