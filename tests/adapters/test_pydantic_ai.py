"""What is peculiar to Pydantic AI."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    ImageUrl,
    ModelRetry,
    RunContext,
    ToolReturn,
)
from pydantic_ai.capabilities import AbstractCapability, Hooks
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from faces import Diary, blocked, with_args, with_text
from hookline import Decision, Event, PromptBlockedError
from hookline.adapters.pydantic_ai import HooklineCapability


class Script:
    """A model that follows a script: tool calls as (name, args), or a text."""

    def __init__(self, *steps: Any) -> None:
        self.steps = steps
        self.requests: list[list[ModelMessage]] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        step = self.steps[len(self.requests)] if len(self.requests) < len(self.steps) else "done"
        self.requests.append(list(messages))
        if isinstance(step, str):
            return ModelResponse(parts=[TextPart(step)])
        return ModelResponse(parts=[ToolCallPart(*step)])

    @property
    def last(self) -> Any:
        """The last part of the last request."""
        return self.requests[-1][-1].parts[-1]


@pytest.fixture(autouse=True)
def loop_of_synchronous_runs() -> Iterator[None]:
    """The framework makes itself a loop where there is none, and never closes it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


def make_agent(diary: Diary, script: Script, *tools: Callable[..., Any], **options: Any) -> Agent[None, Any]:
    capabilities = [*options.pop("others", ()), HooklineCapability(engine=diary)]
    return Agent(FunctionModel(script), tools=tools, capabilities=capabilities, **options)


def with_context(text: str) -> Decision:
    return Decision(context=(text,))


def test_a_prompt_keeps_its_image_when_hooks_change_its_text(diary: Diary) -> None:
    diary = Diary({"user_prompt_submit": with_text("what is on it?")})
    script, image = Script(), ImageUrl("https://example.com/cat.png")
    make_agent(diary, script).run_sync(["who is on it?", image])
    assert script.last.content == ["what is on it?", image]


def test_a_prompt_at_the_end_of_a_given_history_is_a_prompt(diary: Diary) -> None:
    diary = Diary({"user_prompt_submit": blocked("no keys")})
    script = Script()
    history = [ModelRequest(parts=[UserPromptPart("my key is sk-1")])]
    with pytest.raises(PromptBlockedError, match="no keys"):
        make_agent(diary, script).run_sync(message_history=history)
    assert script.requests == []


def test_a_prompt_at_the_end_of_a_given_history_can_be_changed() -> None:
    diary, script = Diary({"user_prompt_submit": with_text("the number is secret")}), Script()
    history = [ModelRequest(parts=[UserPromptPart("the number is 4711")])]
    result = make_agent(diary, script).run_sync(message_history=history)
    assert script.last.content == "the number is secret"
    assert "4711" not in str(result.all_messages())


def test_reminders_stay_out_of_the_history() -> None:
    diary = Diary({"user_prompt_submit": Decision(reminders=("Keep it short.",))})
    script = Script(("look", {}))
    result = make_agent(diary, script, look).run_sync("go")
    assert "Keep it short." in script.last.content
    assert "Keep it short." not in str(result.all_messages())


def look() -> str:
    """Look."""
    return "a cat"


def test_hooks_see_the_arguments_that_other_capabilities_wrote(diary: Diary) -> None:
    hooks = Hooks[None]()

    @hooks.on.before_tool_execute
    async def rewrite(ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any]) -> dict[str, Any]:
        del ctx, call, tool_def
        return {**args, "path": "/etc/passwd"}

    def read(path: str) -> str:
        """Read a file."""
        return path

    script = Script(("read", {"path": "notes"}))
    agent = Agent(FunctionModel(script), tools=[read], capabilities=[HooklineCapability(engine=diary), hooks])
    agent.run_sync("go")
    assert diary.fields("before_tool_call")["tool"]["args"] == {"path": "/etc/passwd"}


class Place(BaseModel):
    """Where and when."""

    name: str
    day: datetime.date


def test_arguments_are_shown_to_hooks_as_plain_data_and_read_back(diary: Diary) -> None:
    diary = Diary({"before_tool_call": with_args(place={"name": "Rome", "day": "2026-02-03"})})
    seen = []

    def visit(place: Place) -> str:
        """Visit a place."""
        seen.append(place)
        return "fine"

    make_agent(diary, Script(("visit", {"place": {"name": "Oslo", "day": "2026-01-02"}})), visit).run_sync("go")
    assert diary.fields("before_tool_call")["tool"]["args"] == {"place": {"name": "Oslo", "day": "2026-01-02"}}
    assert seen == [Place(name="Rome", day=datetime.date(2026, 2, 3))]


def test_arguments_that_do_not_fit_are_no_fault_of_the_model() -> None:
    diary = Diary({"before_tool_call": with_args(path=["no", "text"])})

    def read(path: str) -> str:
        """Read a file."""
        return path

    script = Script(("read", {"path": "notes"}))
    make_agent(diary, script, read, retries=0).run_sync("go")
    assert "a hook gave 'read' arguments that it does not take" in script.last.content


def test_a_return_value_that_hooks_leave_alone_stays_what_it_is(diary: Diary) -> None:
    place = Place(name="Oslo", day=datetime.date(2026, 1, 2))

    def find() -> Place:
        """Find a place."""
        return place

    script = Script(("find", {}))
    make_agent(diary, script, find).run_sync("go")
    assert script.last.content is place
    assert diary.fields("after_tool_call")["result"]["text"] == '{"name":"Oslo","day":"2026-01-02"}'


def test_what_a_tool_returns_beside_its_value_is_shown_to_hooks_and_goes_with_it() -> None:
    diary = Diary({"after_tool_call": with_context("shared")})
    image = ImageUrl("https://example.com/cat.png")

    def draw() -> ToolReturn:
        """Draw."""
        return ToolReturn(return_value="drawn", content=["as asked", image], metadata={"size": 3})

    script = Script(("draw", {}))
    make_agent(diary, script, draw).run_sync("go")
    returned, beside = script.requests[1][-1].parts
    assert (returned.content, returned.metadata) == ("drawn\nas asked\nshared", {"size": 3})
    assert beside.content == [image]


def test_a_tool_that_asks_for_another_try_is_reported_and_hooks_add_to_what_it_says() -> None:
    diary = Diary({"after_tool_call": with_context("see the manual")})

    def fail() -> str:
        """Fail."""
        raise ModelRetry("use a number")

    script = Script(("fail", {}))
    make_agent(diary, script, fail).run_sync("go")
    assert script.last.content == "use a number\nsee the manual"
    assert "tool_error" in diary.names


def test_a_call_that_waits_for_approval_is_asked_about_again_and_reported_once(diary: Diary) -> None:
    def push(ctx: RunContext[None]) -> str:
        """Push."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return "pushed"

    script = Script(("push", {}))
    agent: Agent[None, Any] = Agent(
        FunctionModel(script),
        output_type=[str, DeferredToolRequests],
        capabilities=[HooklineCapability(engine=diary)],
    )
    agent.tool(push)
    first = agent.run_sync("go")
    assert "after_tool_call" not in diary.names
    call = first.output.approvals[0]
    results = DeferredToolResults(approvals={call.tool_call_id: True})
    agent.run_sync(message_history=first.all_messages(), deferred_tool_results=results)
    names = [name for name in diary.names if "tool" in name or "prompt" in name]
    assert names == ["user_prompt_submit", "before_tool_call", "before_tool_call", "after_tool_call"]


def test_an_agent_and_a_run_with_a_capability_each_ask_once(diary: Diary) -> None:
    agent = make_agent(diary, Script(("look", {})), look)
    agent.run_sync("go", capabilities=[HooklineCapability(engine=diary)])
    assert diary.names.count("before_tool_call") == 1
    assert diary.names.count("user_prompt_submit") == 1


def test_tools_given_to_a_run_are_guarded() -> None:
    diary, script = Diary({"before_tool_call": blocked("not now")}), Script(("look", {}))
    make_agent(diary, script).run_sync("go", toolsets=[FunctionToolset([look])])
    assert script.last.content == "not now"


class Supplying(AbstractCapability[None]):
    """Brings a tool."""

    def get_toolset(self) -> FunctionToolset[None]:
        return FunctionToolset([look])


def test_tools_of_other_capabilities_are_guarded() -> None:
    diary, script = Diary({"before_tool_call": blocked("not now")}), Script(("look", {}))
    make_agent(diary, script, others=[Supplying()]).run_sync("go")
    assert script.last.content == "not now"


def test_tools_of_a_nested_and_renamed_toolset_are_guarded_by_the_name_the_model_knows() -> None:
    diary, script = Diary({"before_tool_call": blocked("not now")}), Script(("my_look", {}))
    make_agent(diary, script, toolsets=[FunctionToolset([look]).prefixed("my")]).run_sync("go")
    assert script.last.content == "not now"
    assert diary.only("before_tool_call").tool is not None
    assert diary.only("before_tool_call").tool.name == "my_look"


async def test_a_run_stepped_through_by_hand_is_a_turn(diary: Diary) -> None:
    async with make_agent(diary, Script(("look", {})), look).iter("go") as run:
        async for _ in run:
            pass
    assert diary.fields("after_turn")["status"] == "ok"


async def test_a_run_left_early_is_interrupted(diary: Diary) -> None:
    async with make_agent(diary, Script(("look", {})), look).iter("go") as run:
        async for _ in run:
            break
    assert diary.fields("after_turn")["status"] == "interrupted"


def test_runs_of_one_conversation_share_their_session_id(diary: Diary) -> None:
    agent = make_agent(diary, Script())
    first = agent.run_sync("one")
    agent.run_sync("two", message_history=first.all_messages())
    agent.run_sync("another")
    ids = [event.session_id for event in diary.all("session_end")]
    assert ids[0] == ids[1] != ids[2]
    assert diary.only("session_restored").session_id == ids[0]
    assert len(diary.all("session_start")) == 2


def test_an_agent_that_calls_itself_is_its_own_sub_agent(diary: Diary) -> None:
    agent = make_agent(diary, Script(("again", {}), ("again", {})), name="Self")

    @agent.tool_plain
    async def again() -> str:
        """Once more."""
        return str((await agent.run("deeper")).output)

    agent.run_sync("go")
    assert [event.agent.depth for event in diary.all("sub_agent_start")] == [1, 2]
    assert len(diary.all("sub_agent_end")) == 2
    assert len(diary.all("session_start")) == 1


def test_an_error_of_the_engine_runs_no_tool() -> None:
    ran = []

    def decide(event: Event) -> Decision:
        raise RuntimeError(f"broken at {event.name}")

    def act() -> str:
        """Act."""
        ran.append(1)
        return "acted"

    with pytest.raises(RuntimeError, match="broken at before_tool_call"):
        make_agent(Diary({"before_tool_call": decide}), Script(("act", {})), act).run_sync("go")
    assert ran == []
