"""What an agent does in a turn besides tool calls: it starts, calls the model step by step, and hands in its words."""

from __future__ import annotations

from typing import Any

import pytest

from faces import SHELL, Diary, Face, Stop, blocked, ends_with, make_session, with_text
from hookline import Agent, AutoRetryStart, Decision, Engine, PromptBlockedError, TodoReminder
from support import Bench


@pytest.fixture
def engine(bench: Bench) -> Engine:
    return bench.open()


# The start of the agent


async def test_the_first_message_of_a_hook_is_put_before_the_model(face: Face, engine: Engine):
    """Case 22: before_agent_start m1, m2: both called, m1 kept."""
    seen: list[Any] = []

    def put(content: str) -> Any:
        return lambda event: seen.append(event.prompt) or {"message": {"custom_type": "note", "content": content}}

    for content in ("m1", "m2"):
        engine.on("before_agent_start", put(content))
    turn = make_session(engine).turn("go")  # type: ignore[arg-type]
    message = await face.do(turn, "start_agent", "go on", system_prompt="be kind")
    assert message == {"custom_type": "note", "content": "m1"}
    assert seen == ["go on", "go on"]


async def test_an_agent_start_carries_what_the_agent_works_on(face: Face, diary: Diary):
    turn = make_session(diary).turn("go")
    assert await face.do(turn, "start_agent", "go", images=["i"], system_prompt="be kind") is None
    assert diary.fields("before_agent_start") == {"prompt": "go", "images": ["i"], "system_prompt": "be kind"}


# What the model reads


async def test_messages_that_nobody_filters_are_the_same_list(face: Face, engine: Engine):
    """Case 20: no context handlers: the same list object."""
    messages = [0]
    assert await face.do(make_session(engine).turn("go"), "filter_messages", messages) is messages  # type: ignore[arg-type]


async def test_messages_that_hooks_leave_alone_are_the_same_list(face: Face, engine: Engine):
    engine.on("context", lambda event: None)
    engine.on("context", lambda event: event.messages.append("mine") and None)
    messages = [0]
    assert await face.do(make_session(engine).turn("go"), "filter_messages", messages) is messages  # type: ignore[arg-type]
    assert messages == [0]


async def test_filters_are_chained_and_one_that_raises_is_passed_over(face: Face, engine: Engine):
    """Case 19: context [0]; one appends 1, one raises, one appends 2, one says {}: [0,1,2]."""
    engine.on("context", lambda event: {"messages": [*event.messages, 1]})
    engine.on("context", lambda event: 1 / 0)
    engine.on("context", lambda event: {"messages": [*event.messages, 2]})
    engine.on("context", lambda event: {})
    assert await face.do(make_session(engine).turn("go"), "filter_messages", [0]) == [0, 1, 2]  # type: ignore[arg-type]


async def test_a_filter_may_leave_nothing(face: Face, engine: Engine):
    """Case 20: {messages []}: empty."""
    engine.on("context", lambda event: {"messages": []})
    assert await face.do(make_session(engine).turn("go"), "filter_messages", [0]) == []  # type: ignore[arg-type]


# Steps


async def test_steps_of_a_turn_are_counted_from_0_and_carry_what_came_of_them(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")) as turn:
        for message in ("a", "b"):
            async with face.live(turn.model_step()) as step:
                step.finish(message, ["r"])
    assert [event.fields.turn_index for event in diary.all("model_step_start")] == [0, 1]
    ends = [event.fields for event in diary.all("model_step_end")]
    assert [(end.turn_index, end.message, end.tool_results) for end in ends] == [(0, "a", ["r"]), (1, "b", ["r"])]


async def test_steps_of_the_next_turn_are_counted_from_0_again(face: Face, diary: Diary):
    session = make_session(diary)
    for _ in range(2):
        async with face.live(session.turn("go")) as turn, face.live(turn.model_step()):
            pass
    assert [event.fields.turn_index for event in diary.all("model_step_start")] == [0, 0]


async def test_steps_of_a_sub_agent_are_counted_by_themselves(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")) as turn:
        helper = turn.sub_agent("Helper")
        async with face.live(turn.model_step()), face.live(helper), face.live(helper.model_step()):
            pass
    assert [(event.agent.name, event.fields.turn_index) for event in diary.all("model_step_start")] == [
        ("", 0),
        ("Helper", 0),
    ]
    assert diary.fields("after_turn")["iterations"] == 1


@pytest.mark.parametrize("error", [ValueError("broken"), Stop()], ids=repr)
async def test_a_step_that_fails_ends_all_the_same(face: Face, diary: Diary, error: BaseException):
    with pytest.raises(type(error)):
        async with face.live(make_session(diary).turn("go").model_step()):
            raise error
    assert diary.names == ["model_step_start", "model_step_end"]


# The end of a turn


async def test_the_end_of_a_turn_tells_what_was_done_in_it(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")) as turn:
        for _ in range(2):
            async with face.live(turn.model_step()):
                await face.do(turn, "call_tool", SHELL, ends_with("ok"))
        turn.finish("done", messages=["m"])
    end = diary.fields("after_turn")
    assert {key: end[key] for key in ("response", "messages", "tool_calls", "iterations", "error")} == {
        "response": "done",
        "messages": ["m"],
        "tool_calls": 2,
        "iterations": 2,
        "error": None,
    }


async def test_a_turn_with_steps_and_no_tool_calls_says_so(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")) as turn, face.live(turn.model_step()):
        pass
    assert diary.fields("after_turn")["tool_calls"] == 0


async def test_a_failed_turn_tells_its_error_by_name_if_it_has_no_words(face: Face, diary: Diary):
    with pytest.raises(KeyError):
        async with face.live(make_session(diary).turn("go")):
            raise KeyError
    assert diary.fields("after_turn")["error"] == "KeyError"


# Prompts


async def test_the_prompt_of_a_turn_is_what_hooks_made_of_it(face: Face):
    """Case 30 of the object contract: the final message is the edited one."""
    diary = Diary({"user_prompt_submit": with_text("m1")})
    async with face.live(make_session(diary).turn("go")) as turn:
        assert turn.prompt == "m1"
    assert diary.fields("before_turn")["user_text"] == "m1"


@pytest.mark.parametrize("way", ["prompt", "injected"])
async def test_the_text_of_a_blocked_prompt_is_handed_to_nobody(face: Face, way: str):
    """A2: the decision says blocked, and nothing that goes on has the text."""
    refuse = lambda event: blocked("no secrets") if "SECRET" in event.fields.text else Decision()  # noqa: E731
    diary = Diary({"user_prompt_submit": refuse})
    session = make_session(diary)
    with pytest.raises(PromptBlockedError, match="no secrets") as caught:
        if way == "prompt":
            async with face.live(session.turn("my SECRET")):
                pytest.fail("the turn began")
        async with face.live(session.turn("go")) as turn:
            await face.do(turn, "inject", "my SECRET")
    assert "SECRET" not in repr((caught.value, caught.value.decision))
    assert "SECRET" not in repr([event for event in diary.events if event.name != "user_prompt_submit"])


async def test_a_message_sent_while_the_agent_runs_passes_prompt_hooks(face: Face, engine: Engine):
    """A4: steering input skips no prompt hook."""
    engine.on("user_prompt_submit", lambda event: {"text": event.text.upper(), "reminders": "short"})
    async with face.live(make_session(engine).turn("go")) as turn:  # type: ignore[arg-type]
        assert await face.do(turn, "inject", "steer") == "STEER"
        assert turn.reminders == ("short",)


async def test_a_guests_turn_passes_the_hosts_hooks_under_its_own_name(face: Face, diary: Diary):
    """A5: a guest agent's turn skips no hook of the host."""
    guest = Agent(id="g1", name="Guest")
    async with face.live(make_session(diary).turn("go", agent=guest, profile="Guest")) as turn:
        await face.do(turn, "call_tool", SHELL, ends_with("ok"))
    assert {"user_prompt_submit", "before_tool_call", "after_turn"} <= set(diary.names)
    assert {(event.agent, event.profile) for event in diary.events} == {(guest, "Guest")}


async def test_a_guests_turn_that_is_tried_again_is_still_the_guests(face: Face):
    diary = Diary({"user_prompt_submit": blocked()})
    session = make_session(diary)
    turn = session.turn("go", agent=Agent(id="g1"))
    for phase in (turn, session.retry(turn)):
        with pytest.raises(PromptBlockedError):
            async with face.live(phase):
                pytest.fail("the turn began")
    assert [event.agent.id for event in diary.all("user_prompt_submit")] == ["g1", "g1"]


# Events without a method of their own


async def test_any_record_is_announced_where_it_happens(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session, face.live(session.turn("go")) as turn:
        await face.do(turn, "announce", AutoRetryStart(attempt=1, max_attempts=3))
        await face.do(session, "announce", TodoReminder(todos=["x"]))
    retry, reminder = diary.only("auto_retry_start"), diary.only("todo_reminder")
    assert retry.turn_id is not None
    assert (retry.fields.attempt, reminder.turn_id, reminder.session_id) == (1, None, "s1")


async def test_an_announcement_hands_back_the_decision(face: Face):
    decision = blocked("no")
    diary = Diary({"todo_reminder": decision})
    assert (await face.do(make_session(diary), "announce", TodoReminder())).reason == "no"
