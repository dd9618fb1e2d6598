"""What is peculiar to Strands Agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import strands
from pydantic import BaseModel
from strands import ToolContext
from strands.hooks import BeforeToolCallEvent
from strands.tools.executors import SequentialToolExecutor

from adapters.driver import Agent, Call
from adapters.drivers.strands import ScriptedModel
from faces import Diary, blocked, with_args, with_text
from hookline import Decision, Event, HooklineError, PromptBlockedError
from hookline.adapters.strands import HooklinePlugin

RAN: list[str] = []


@strands.tool
def bash(command: str) -> str:
    """Run a command."""
    RAN.append(command)
    return f"ran {command}"


@pytest.fixture(autouse=True)
def no_commands_yet() -> None:
    RAN.clear()


LS = [Call("bash", {"command": "ls"})]
IMAGE = {"image": {"format": "png", "source": {"bytes": b"cat"}}}


def make_agent(diary: Diary, *script: Any, tools: Any = (bash,), calls: Any = None, **options: Any) -> strands.Agent:
    """An agent whose model follows a script."""
    model = ScriptedModel(Agent(script=script), [] if calls is None else calls)
    plugins = [HooklinePlugin(engine=diary)]
    return strands.Agent(model, tools=[*tools], plugins=plugins, callback_handler=None, **options)


def find_results(agent: strands.Agent) -> list[Any]:
    blocks = [block for message in agent.messages for block in message["content"]]
    return [block["toolResult"] for block in blocks if "toolResult" in block]


def test_runs_of_one_agent_are_of_one_session(diary: Diary) -> None:
    agent = make_agent(diary)
    agent("one")
    agent("two")
    make_agent(diary)("another")
    ids = [event.session_id for event in diary.all("session_end")]
    assert ids[0] == ids[1] != ids[2]
    assert diary.only("session_restored").session_id == ids[0]


def test_a_prompt_keeps_its_image_when_hooks_change_its_text() -> None:
    agent = make_agent(Diary({"user_prompt_submit": with_text("what is on it?")}))
    agent([{"text": "who is on it?"}, IMAGE])
    assert agent.messages[0]["content"] == [{"text": "what is on it?"}, IMAGE]


def test_a_blocked_prompt_at_the_end_of_a_given_history_is_taken_out_of_it() -> None:
    calls: list[str] = []
    history = [
        {"role": "user", "content": [{"text": "hello"}]},
        {"role": "assistant", "content": [{"text": "hi"}]},
        {"role": "user", "content": [{"text": "my key is sk-1"}]},
    ]
    agent = make_agent(Diary({"user_prompt_submit": blocked("no keys")}), calls=calls, messages=history)
    with pytest.raises(PromptBlockedError, match="no keys"):
        agent()
    assert calls == []
    assert "sk-1" not in str(agent.messages)


def test_a_prompt_at_the_end_of_a_given_history_can_be_changed() -> None:
    calls: list[str] = []
    history = [{"role": "user", "content": [{"text": "the number is 4711"}]}]
    make_agent(Diary({"user_prompt_submit": with_text("it is secret")}), calls=calls, messages=history)()
    assert calls == ["it is secret"]


def test_reminders_stay_out_of_the_history() -> None:
    calls: list[str] = []
    agent = make_agent(Diary({"user_prompt_submit": Decision(reminders=("Keep it short.",))}), LS, calls=calls)
    agent("go")
    assert all("Keep it short." in call for call in calls)
    assert "Keep it short." not in str(agent.messages)


def test_the_model_is_shown_data_with_what_hooks_add() -> None:
    @strands.tool
    def weigh() -> dict[str, Any]:
        """Weigh."""
        return {"status": "success", "content": [{"json": {"grams": 3}}, IMAGE]}

    diary = Diary({"after_tool_call": Decision(context=("in grams",))})
    agent = make_agent(diary, [Call("weigh", {})], tools=[weigh])
    agent("go")
    assert diary.fields("after_tool_call")["result"]["text"] == '{"grams": 3}'
    assert find_results(agent)[0]["content"] == [{"text": '{"grams": 3}\nin grams'}, IMAGE]


def test_a_call_made_by_hand_is_guarded(diary: Diary) -> None:
    diary = Diary({"before_tool_call": blocked("not now")})
    agent = make_agent(diary)
    result = agent.tool.bash(command="ls")
    assert (result["status"], result["content"], RAN) == ("error", [{"text": "not now"}], [])
    assert diary.fields("before_tool_call")["tool"]["args"] == {"command": "ls"}
    assert diary.names.count("session_start") == diary.names.count("session_end") == 1


def test_a_call_made_by_hand_can_be_rewritten() -> None:
    agent = make_agent(Diary({"before_tool_call": with_args(command="ls -l")}))
    agent.tool.bash(command="ls")
    assert RAN == ["ls -l"]


def test_a_call_that_waits_for_a_human_is_reported_when_it_has_run(diary: Diary) -> None:
    @strands.tool(context=True)
    def push(tool_context: ToolContext) -> str:
        """Push."""
        return f"pushed: {tool_context.interrupt('sure', reason='it leaves the machine')}"

    agent = make_agent(diary, [Call("push", {})], tools=[push])
    stopped = agent("go")
    assert stopped.stop_reason == "interrupt"
    assert "after_tool_call" not in diary.names
    agent([{"interruptResponse": {"interruptId": stopped.interrupts[0].id, "response": "yes"}}])
    assert diary.fields("after_tool_call")["result"]["text"] == "pushed: yes"
    assert diary.names.count("before_tool_call") == 2
    assert diary.names.count("user_prompt_submit") == 1
    assert [event.fields.status for event in diary.all("after_turn")] == ["ok", "ok"]


def test_an_agent_that_is_a_tool_is_a_sub_agent(diary: Diary) -> None:
    helper = make_agent(diary, "found it", name="Researcher")
    make_agent(diary, [Call("Researcher", {"input": "look"})], tools=[helper.as_tool()])("go")
    assert diary.only("sub_agent_start").agent.name == "Researcher"
    assert diary.names.count("session_start") == 1


def test_hooks_see_the_arguments_that_other_plugins_wrote(diary: Diary) -> None:
    def rewrite(event: BeforeToolCallEvent) -> None:
        event.tool_use["input"]["command"] = "pwd"

    agent = make_agent(diary, LS)
    agent.add_hook(rewrite, BeforeToolCallEvent)
    agent("go")
    assert diary.fields("before_tool_call")["tool"]["args"] == {"command": "pwd"}


async def test_a_run_that_the_host_cancels_is_interrupted(diary: Diary) -> None:
    @strands.tool
    async def stop() -> str:
        """Stop."""
        agent.cancel()
        return "stopped"

    agent = make_agent(diary, [Call("stop", {})], tools=[stop])
    assert (await agent.invoke_async("go")).stop_reason == "cancelled"
    assert diary.fields("after_turn")["status"] == "interrupted"


async def test_a_run_left_early_is_interrupted(diary: Diary) -> None:
    events = make_agent(diary, LS).stream_async("go")
    async for event in events:
        if "data" in event or "current_tool_use" in event:
            break
    await events.aclose()
    assert diary.fields("after_turn")["status"] == "interrupted"


async def test_a_run_in_the_wake_of_an_error_is_ok(diary: Diary) -> None:
    try:
        int("something else")
    except ValueError:
        await make_agent(diary).invoke_async("go")
    assert diary.fields("after_turn")["status"] == "ok"


async def test_what_a_consumer_does_between_events_is_no_part_of_a_tool(diary: Diary) -> None:
    @strands.tool
    async def count() -> AsyncIterator[str]:
        """Count."""
        yield "one"
        yield "two"

    agent = make_agent(diary, [Call("count", {})], tools=[count], tool_executor=SequentialToolExecutor())
    seen = 0
    async for event in agent.stream_async("go"):
        if "tool_stream_event" in event:
            seen += 1
            await make_agent(diary).invoke_async("another")
    assert seen
    assert "sub_agent_start" not in diary.names


async def test_agents_side_by_side_have_runs_of_their_own(diary: Diary) -> None:
    await asyncio.gather(*(make_agent(diary, LS).invoke_async("go") for _ in range(3)))
    assert len({event.session_id for event in diary.all("before_tool_call")}) == 3
    assert [event.fields.status for event in diary.all("after_turn")] == ["ok"] * 3


class Answer(BaseModel):
    """An answer."""

    text: str


async def test_the_method_that_shows_its_prompt_to_nobody_is_refused(diary: Diary) -> None:
    with (
        pytest.warns(DeprecationWarning, match="structured_output"),
        pytest.raises(HooklineError, match="structured_output_model"),
    ):
        await make_agent(diary).structured_output_async(Answer, "my key is sk-1")


def test_an_error_of_the_engine_runs_no_tool() -> None:
    def decide(event: Event) -> Decision:
        raise RuntimeError(f"broken at {event.name}")

    agent = make_agent(Diary({"before_tool_call": decide}), LS)
    agent("go")
    assert RAN == []
    assert find_results(agent)[0]["status"] == "error"
