"""What is peculiar to LangChain and LangGraph."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelRetryMiddleware,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from adapters.driver import Agent, Call
from adapters.drivers.langchain import ScriptedModel
from faces import Diary, asked, blocked, with_args, with_text
from hookline import Decision, Event, HooklineError, PromptBlockedError
from hookline.adapters.langchain import HooklineMiddleware

RAN: list[str] = []


@tool
def bash(command: str) -> str:
    """Run a command."""
    RAN.append(command)
    return f"ran {command}"


@pytest.fixture(autouse=True)
def no_commands_yet() -> None:
    RAN.clear()


def make_agent(diary: Diary, *script: Any, tools: Any = (bash,), before: Any = (), **options: Any) -> Any:
    """An agent whose model follows a script; middlewares may come before Hookline's."""
    model = ScriptedModel(agent=Agent(script=script), calls=options.pop("calls", []))
    hooks = options.pop("hooks", None) or HooklineMiddleware(engine=diary)
    return create_agent(model, tools, middleware=[*before, hooks], **options)


def say(text: Any, **config: Any) -> tuple[Any, Any]:
    return {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t1"}, **config}


LS = [Call("bash", {"command": "ls"})]
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}


def test_a_thread_is_a_session(diary: Diary) -> None:
    agent = make_agent(diary, "one", "two", checkpointer=InMemorySaver())
    agent.invoke(*say("a"))
    agent.invoke(*say("b"))
    assert {event.session_id for event in diary.events} == {"t1"}
    assert [event.fields.text for event in diary.all("user_prompt_submit")] == ["a", "b"]
    assert [name for name in diary.names if name.startswith("session")] == [
        "session_start",
        "session_end",
        "session_restored",
        "session_end",
    ]


def test_a_blocked_prompt_is_taken_out_of_the_thread() -> None:
    diary = Diary({"user_prompt_submit": blocked("no keys")})
    agent = make_agent(diary, checkpointer=InMemorySaver())
    with pytest.raises(PromptBlockedError, match="no keys"):
        agent.invoke(*say("my key is sk-1"))
    assert agent.get_state(say("")[1]).values["messages"] == []


def test_a_prompt_keeps_its_image_when_hooks_change_its_text() -> None:
    diary, calls = Diary({"user_prompt_submit": with_text("what is on it?")}), []
    result = make_agent(diary, calls=calls).invoke(*say([{"type": "text", "text": "who is on it?"}, IMAGE]))
    assert result["messages"][0].content == [{"type": "text", "text": "what is on it?"}, IMAGE]
    assert calls == ["what is on it?"]


def test_reminders_stay_out_of_the_thread() -> None:
    diary, calls = Diary({"user_prompt_submit": Decision(reminders=("Keep it short.",))}), []
    result = make_agent(diary, LS, calls=calls).invoke(*say("go"))
    assert all("Keep it short." in call for call in calls)
    assert "Keep it short." not in str(result["messages"])


class Rewriting(AgentMiddleware):
    """Changes the arguments of all calls."""

    def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> Any:
        return handler(request.override(tool_call={**request.tool_call, "args": {"command": "rm -rf /"}}))


def test_hooks_see_the_arguments_that_middlewares_before_them_wrote() -> None:
    diary = Diary({"before_tool_call": lambda event: blocked(event.tool.args["command"])})
    result = make_agent(diary, LS, before=[Rewriting()]).invoke(*say("go"))
    assert result["messages"][2].content == "rm -rf /"
    assert RAN == []


def test_a_denied_call_is_an_error_for_the_model() -> None:
    diary = Diary({"before_tool_call": blocked("no")})
    message = make_agent(diary, LS).invoke(*say("go"))["messages"][2]
    assert (message.content, message.status, message.name) == ("no", "error", "bash")


def test_a_command_of_a_tool_keeps_its_update_and_gets_the_text_that_hooks_made() -> None:
    @tool
    def hand_over() -> Any:
        """Hand over."""
        call_id = diary.only("before_tool_call").tool.call_id
        return Command(update={"messages": [ToolMessage("over", tool_call_id=call_id)], "jump_to": None})

    diary = Diary({"after_tool_call": Decision(context=("shared",))})
    result = make_agent(diary, [Call("hand_over", {})], tools=[hand_over]).invoke(*say("go"))
    assert result["messages"][2].content == "over\nshared"


def test_a_call_approved_by_a_human_is_asked_about_with_the_humans_arguments(diary: Diary) -> None:
    human = HumanInTheLoopMiddleware(interrupt_on={"bash": True})
    agent = make_agent(diary, LS, before=[human], checkpointer=InMemorySaver())
    _, config = say("go")
    assert "__interrupt__" in agent.invoke(*say("go"))
    edited = {"type": "edit", "edited_action": {"name": "bash", "args": {"command": "ls -l"}}}
    agent.invoke(Command(resume={"decisions": [edited]}), config)
    assert diary.only("before_tool_call").tool.args == {"command": "ls -l"}
    assert diary.fields("after_turn")["status"] == "ok"
    assert len(diary.all("user_prompt_submit")) == 1


def test_a_tool_that_waits_for_a_human_is_reported_once(diary: Diary) -> None:
    @tool
    def push() -> str:
        """Push."""
        return f"pushed to {interrupt('where?')}"

    agent = make_agent(diary, [Call("push", {})], tools=[push], checkpointer=InMemorySaver())
    agent.invoke(*say("go"))
    assert "after_tool_call" not in diary.names
    assert "after_turn" not in diary.names
    agent.invoke(Command(resume="home"), say("")[1])
    assert diary.only("after_tool_call").fields.result.text == "pushed to home"
    assert len(diary.all("before_tool_call")) == 2


def test_a_run_that_goes_on_after_an_interrupt_in_another_process_is_guarded() -> None:
    saver = InMemorySaver()
    human = HumanInTheLoopMiddleware(interrupt_on={"bash": True})
    make_agent(Diary(), LS, before=[human], checkpointer=saver).invoke(*say("go"))
    diary = Diary({"before_tool_call": blocked("no")})
    other = make_agent(diary, before=[human], checkpointer=saver)
    result = other.invoke(Command(resume={"decisions": [{"type": "approve"}]}), say("")[1])
    assert result["messages"][2].content == "no"
    assert RAN == []


def test_a_turn_that_never_ends_is_interrupted_by_the_next(diary: Diary) -> None:
    agent = make_agent(diary, LS, LS, LS, "done", checkpointer=InMemorySaver())
    with pytest.raises(GraphRecursionError):
        agent.invoke(*say("go", recursion_limit=4))
    assert "after_turn" not in diary.names
    agent.invoke(*say("again"))
    assert [event.fields.status for event in diary.all("after_turn")] == ["interrupted", "ok"]


def test_a_turn_that_never_ends_is_interrupted_when_the_adapter_is_closed(diary: Diary) -> None:
    with HooklineMiddleware(engine=diary) as hooks, pytest.raises(GraphRecursionError):
        make_agent(diary, LS, LS, hooks=hooks).invoke(*say("go", recursion_limit=4))
    assert diary.fields("after_turn")["status"] == "interrupted"
    assert diary.names[-1] == "session_end"


def test_a_model_call_that_is_tried_again_keeps_its_reminders_and_guards() -> None:
    diary = Diary({"user_prompt_submit": Decision(reminders=("short",)), "before_tool_call": blocked("no")})
    calls: list[str] = []
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    make_agent(diary, RuntimeError("down"), LS, calls=calls, before=[retry]).invoke(*say("go"))
    assert ["short" in call for call in calls] == [True] * 3
    assert RAN == []
    assert diary.fields("after_turn")["status"] == "failed"


def test_a_second_middleware_is_refused(diary: Diary) -> None:
    with pytest.raises(AssertionError, match="duplicate middleware"):
        make_agent(diary, before=[HooklineMiddleware(engine=diary)])


def test_an_async_ask_in_a_synchronous_run_runs_no_tool() -> None:
    async def agree(question: Any) -> bool:
        return bool(question)

    diary = Diary({"before_tool_call": asked("sure?")})
    with pytest.raises(HooklineError, match="is async"):
        make_agent(diary, LS, hooks=HooklineMiddleware(engine=diary, ask=agree)).invoke(*say("go"))
    assert RAN == []


def make_graph(diary: Diary) -> Any:
    """A graph of a tool node alone, as one writes it without an agent."""
    hooks = HooklineMiddleware(engine=diary)
    node = ToolNode([bash], wrap_tool_call=hooks.wrap_tool_call, awrap_tool_call=hooks.awrap_tool_call)
    return StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").compile()


WANTED = {"messages": [AIMessage("", tool_calls=[{"name": "bash", "args": {"command": "ls"}, "id": "1"}])]}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_plain_tool_node_is_guarded(is_async: bool) -> None:
    diary = Diary({"before_tool_call": blocked("no")})
    graph = make_graph(diary)
    result = asyncio.run(graph.ainvoke(WANTED)) if is_async else graph.invoke(WANTED)
    assert result["messages"][-1].content == "no"
    assert RAN == []
    assert diary.names == ["session_start", "before_tool_call", "after_tool_call", "session_end"]


def test_a_plain_tool_node_gets_the_arguments_that_hooks_wrote() -> None:
    make_graph(Diary({"before_tool_call": with_args(command="pwd")})).invoke(WANTED)
    assert RAN == ["pwd"]


def test_agents_side_by_side_without_a_thread_do_not_meet(diary: Diary) -> None:
    agent = make_agent(diary, LS, LS)

    async def run_both() -> None:
        await asyncio.gather(*(agent.ainvoke({"messages": [HumanMessage(text)]}) for text in "ab"))

    asyncio.run(run_both())
    assert len({event.session_id for event in diary.all("after_turn")}) == 2


def test_an_async_ask_serves_an_async_run() -> None:
    async def agree(question: Any) -> bool:
        await asyncio.sleep(0)
        return question.reason == "sure?"

    diary = Diary({"before_tool_call": asked("sure?")})
    agent = make_agent(diary, LS, hooks=HooklineMiddleware(engine=diary, ask=agree))
    asyncio.run(agent.ainvoke(*say("go")))
    assert RAN == ["ls"]


def test_an_error_of_the_engine_runs_no_tool() -> None:
    def decide(event: Event) -> Decision:
        raise RuntimeError(f"broken at {event.name}")

    with pytest.raises(RuntimeError, match="broken at before_tool_call"):
        make_agent(Diary({"before_tool_call": decide}), LS).invoke(*say("go"))
    assert RAN == []
