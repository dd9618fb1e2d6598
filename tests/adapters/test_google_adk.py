"""What is peculiar to Google ADK."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Blob, Content, FunctionCall, FunctionResponse, Part

from adapters.driver import Agent, Call
from adapters.drivers.google_adk import ScriptedModel
from faces import Diary, blocked, with_args, with_text
from hookline import Decision, Event
from hookline.adapters.google_adk import HooklinePlugin
from waiting import wait_until

RAN: list[str] = []


def bash(command: str) -> str:
    """Run a command."""
    RAN.append(command)
    return f"ran {command}"


@pytest.fixture(autouse=True)
def no_commands_yet() -> None:
    RAN.clear()


LS = [Call("bash", {"command": "ls"})]


class Desk:
    """A runner of an agent, and one session of it."""

    def __init__(self, diary: Diary, *script: Any, tools: Any = (bash,), before: Any = (), **options: Any) -> None:
        self.calls: list[str] = []
        self.model = ScriptedModel(model="scripted", agent=Agent(script=script), calls=self.calls)
        agent = LlmAgent(name="Main", model=self.model, tools=[*tools], **options)
        self.hooks = HooklinePlugin(engine=diary)
        self.runner = InMemoryRunner(app=App(name="tests", root_agent=agent, plugins=[*before, self.hooks]))
        self.session: Any = None

    async def stream(self, *parts: Part) -> Any:
        if self.session is None:
            self.session = await self.runner.session_service.create_session(app_name="tests", user_id="me")
        said = Content(role="user", parts=[*parts])
        async for event in self.runner.run_async(user_id="me", session_id=self.session.id, new_message=said):
            yield event

    async def run(self, *parts: Part) -> list[Any]:
        return [event async for event in self.stream(*(parts or (Part(text="go"),)))]

    async def read_history(self) -> str:
        session = await self.runner.session_service.get_session(
            app_name="tests", user_id="me", session_id=self.session.id
        )
        assert session is not None
        return str(session.events)


def find_responses(events: list[Any]) -> list[Any]:
    parts = [part for event in events if event.content for part in event.content.parts]
    return [part.function_response.response for part in parts if part.function_response]


async def test_a_session_of_the_framework_is_a_session(diary: Diary) -> None:
    desk = Desk(diary)
    await desk.run()
    await desk.run()
    assert {event.session_id for event in diary.events} == {desk.session.id}
    assert [name for name in diary.names if name.startswith("session_")] == [
        "session_start",
        "session_end",
        "session_restored",
        "session_end",
    ]


async def test_an_agent_that_takes_over_is_guarded() -> None:
    diary = Diary({"before_tool_call": lambda event: blocked("not now") if event.tool.name == "bash" else Decision()})
    calls: list[str] = []
    helper = LlmAgent(
        name="Helper",
        model=ScriptedModel(model="scripted", agent=Agent(script=[LS, "I see"]), calls=calls),
        tools=[bash],
    )
    desk = Desk(diary, [Call("transfer_to_agent", {"agent_name": "Helper"})], sub_agents=[helper])
    await desk.run()
    assert RAN == []
    assert "not now" in calls[1]
    assert diary.names.count("before_turn") == diary.names.count("after_turn") == 1


async def test_a_prompt_keeps_its_image_when_hooks_change_its_text() -> None:
    desk = Desk(Diary({"user_prompt_submit": with_text("what is on it?")}))
    await desk.run(Part(text="who is on it?"), Part(inline_data=Blob(data=b"cat", mime_type="image/png")))
    history = await desk.read_history()
    assert "what is on it?" in history
    assert "who is on it?" not in history
    assert "image/png" in history


async def test_a_blocked_prompt_is_no_part_of_the_history() -> None:
    desk = Desk(Diary({"user_prompt_submit": blocked("no keys")}))
    with pytest.raises(RuntimeError, match="no keys"):
        await desk.run(Part(text="my key is sk-1"))
    assert desk.calls == []
    assert "sk-1" not in await desk.read_history()


async def test_reminders_stay_out_of_the_history() -> None:
    desk = Desk(Diary({"user_prompt_submit": Decision(reminders=("Keep it short.",))}), LS)
    await desk.run()
    assert [call.count("Keep it short.") for call in desk.calls] == [1, 1]
    assert "Keep it short." not in await desk.read_history()


async def test_data_is_shown_as_json_and_stays_if_no_hook_changes_it(diary: Diary) -> None:
    def weigh() -> dict[str, int]:
        """Weigh."""
        return {"grams": 3, "price": 4}

    events = await Desk(diary, [Call("weigh", {})], tools=[weigh]).run()
    assert diary.fields("after_tool_call")["result"]["text"] == '{"grams": 3, "price": 4}'
    assert find_responses(events) == [{"grams": 3, "price": 4}]


async def test_a_result_that_says_error_is_failed(diary: Diary) -> None:
    def fail() -> dict[str, str]:
        """Fail."""
        return {"error": "no such file"}

    await Desk(diary, [Call("fail", {})], tools=[fail]).run()
    result = diary.fields("after_tool_call")["result"]
    assert (result["text"], result["failed"], result["error"]) == ("no such file", True, False)


async def test_arguments_of_a_hook_that_do_not_fit_are_told_to_the_model() -> None:
    diary = Diary({"before_tool_call": with_args(command=7)})
    (response,) = find_responses(await Desk(diary, LS).run())
    assert RAN == []
    assert "a hook gave 'bash' arguments that it does not take" in response["error"]


async def test_a_call_that_waits_for_a_human_is_reported_when_it_has_run(diary: Diary) -> None:
    desk = Desk(diary, LS, tools=[FunctionTool(bash, require_confirmation=True)])
    events = await desk.run()
    assert (RAN, diary.names.count("after_tool_call")) == ([], 0)
    asked = [call for event in events for call in event.get_function_calls() if call.name != "bash"]
    answer = FunctionResponse(id=asked[0].id, name=asked[0].name, response={"confirmed": True})
    await desk.run(Part(function_response=answer))
    assert RAN == ["ls"]
    assert diary.fields("after_tool_call")["result"]["text"] == "ran ls"
    assert diary.names.count("before_tool_call") == 2
    assert diary.names.count("user_prompt_submit") == 1


async def test_a_tool_that_another_plugin_answers_for_is_not_asked_about(diary: Diary) -> None:
    desk = Desk(diary, LS)

    async def answer(*, tool: Any, args: Any, tool_context: ToolContext) -> dict[str, Any]:
        return {"result": "as before"}

    desk.runner.agent.before_tool_callback = answer
    assert find_responses(await desk.run()) == [{"result": "as before"}]
    assert diary.fields("after_tool_call")["result"]["text"] == "as before"


async def test_calls_that_the_model_gave_one_id_are_told_apart(diary: Diary) -> None:
    diary = Diary({"after_tool_call": Decision(context=("as of today",))})
    desk = Desk(diary)
    parts = [Part(function_call=FunctionCall(id="1", name="bash", args={"command": name})) for name in ("ls", "pwd")]

    async def want(callback_context: Any, llm_request: Any) -> LlmResponse | None:
        return None if RAN else LlmResponse(content=Content(role="model", parts=parts))

    desk.runner.agent.before_model_callback = want
    responses = find_responses(await desk.run())
    assert [response["result"] for response in responses] == ["ran ls\nas of today", "ran pwd\nas of today"]
    assert sorted(event.tool.args["command"] for event in diary.all("after_tool_call")) == ["ls", "pwd"]


class Answering(BasePlugin):
    """Gives other words to what tools say, after which no other plugin is asked."""

    async def after_tool_callback(self, **_: Any) -> dict[str, Any]:
        return {"result": "in other words"}


async def test_a_call_whose_end_another_plugin_keeps_is_reported_with_its_run(diary: Diary) -> None:
    desk = Desk(diary, LS, before=[Answering(name="other")])
    assert find_responses(await desk.run()) == [{"result": "in other words"}]
    names = [name for name in diary.names if name.endswith(("call", "turn"))]
    assert names == ["before_turn", "before_tool_call", "after_tool_call", "after_turn"]


async def test_a_run_cancelled_while_the_model_thinks_is_interrupted(diary: Diary) -> None:
    desk = Desk(diary)
    thinking = asyncio.Event()

    async def think(callback_context: Any, llm_request: Any) -> None:
        thinking.set()
        await asyncio.Event().wait()

    desk.runner.agent.before_model_callback = think
    task = asyncio.ensure_future(desk.run())
    await asyncio.wait_for(thinking.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until(lambda: "session_end" in diary.names, "the end was told")
    assert diary.fields("after_turn")["status"] == "interrupted"


async def test_a_run_left_at_its_answer_is_over(diary: Diary) -> None:
    events = Desk(diary, "hello").stream(Part(text="go"))
    async for event in events:
        if event.is_final_response():
            break
    await events.aclose()
    await wait_until(lambda: "session_end" in diary.names, "the end was told")
    assert diary.fields("after_turn")["status"] == "ok"


async def test_runs_side_by_side_are_kept_apart(diary: Diary) -> None:
    desks = [Desk(diary, LS) for _ in range(3)]
    await asyncio.gather(*(desk.run() for desk in desks))
    assert len({event.session_id for event in diary.all("before_tool_call")}) == 3
    assert [event.fields.status for event in diary.all("after_turn")] == ["ok"] * 3


async def test_nothing_of_a_run_is_kept(diary: Diary) -> None:
    desk = Desk(diary, [*LS, *LS])
    await desk.run()
    assert desk.hooks._calls == desk.hooks._tasks == {}
    assert not desk.hooks._runs._runs
    assert not desk.hooks._runs._failed


async def test_a_closed_runner_closes_the_adapter(diary: Diary) -> None:
    desk = Desk(diary)
    await desk.run()
    await desk.runner.close()


async def test_an_error_of_the_engine_runs_no_tool() -> None:
    def decide(event: Event) -> Decision:
        raise RuntimeError(f"broken at {event.name}")

    with pytest.raises(RuntimeError, match="broken at before_tool_call"):
        await Desk(Diary({"before_tool_call": decide}), LS).run()
    assert RAN == []
