"""Hook objects in the life of a session: what they are told, and what becomes of what they say."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from asking import Asking, change, fail
from faces import SHELL
from hookline import (
    Allow,
    Block,
    Engine,
    Error,
    HookPayload,
    PromptBlockedError,
    Session,
    Tool,
    ToolResult,
)
from support import Bench

pytestmark = pytest.mark.anyio


@pytest.fixture
def engine(bench: Bench) -> Engine:
    return bench.open()


class Model:
    """Stands for a model: notes what it is sent."""

    def __init__(self) -> None:
        self.history: list[str] = []

    async def live(self, engine: Engine, prompt: str) -> None:
        async with Session(engine) as session, session.turn(prompt) as turn:
            self.history.append(turn.prompt)


def run_ok(tool: Tool) -> str:
    return "ok"


async def call(engine: Engine, run: Any = run_ok, tool: Tool = SHELL) -> ToolResult:
    """One tool call of one turn."""
    async with Session(engine) as session, session.turn("go") as turn:
        return await turn.call_tool(tool, run)


async def test_the_model_is_sent_a_prompt_as_objects_left_it(engine: Engine):
    """Case 30: the final stored message is "m1"."""
    engine.attach([Asking("a", "user_prompt_submit", change(message="m1")), Asking("b", "user_prompt_submit")])
    model = Model()
    await model.live(engine, "m0")
    assert model.history == ["m1"]


async def test_a_blocked_prompt_reaches_no_model_and_no_history(engine: Engine):
    """Case 31: the error carries reason and user message, and nothing of the text is handed to anybody."""
    engine.attach(
        [
            Asking("redact", "user_prompt_submit", change(message="my ***")),
            Asking("guard", "user_prompt_submit", Block(reason="a secret", user_message="Remove it.")),
        ]
    )
    model = Model()
    with pytest.raises(PromptBlockedError) as blocked:
        await model.live(engine, "my SECRET")
    assert (blocked.value.reason, blocked.value.user_message) == ("a secret", "Remove it.")
    assert model.history == []
    assert "SECRET" not in str(blocked.value)


async def test_the_end_of_a_turn_that_a_block_kept_from_beginning_is_told(engine: Engine, bench: Bench):
    """Case 31: turn_end sees success false and the reason; hooks of other formats hear of no turn."""
    ended = Asking("ended", "turn_end")
    engine.attach([Asking("guard", "user_prompt_submit", Block(reason="a secret")), ended])
    heard: list[str] = []
    engine.on("after_turn", lambda event, context: heard.append("handler"))
    async with Session(engine) as session:
        with pytest.raises(PromptBlockedError):
            async with session.turn("my SECRET"):
                pass
    assert [payload.data for payload in ended.told] == [{"success": False, "error": "a secret"}]
    assert heard == []


async def test_messages_during_a_turn_are_prompts_too(engine: Engine):
    """A4: steering input passes the objects."""
    asked = Asking("a", "user_prompt_submit", change(message="changed"))
    engine.attach(asked)
    async with Session(engine) as session, session.turn("go") as turn:
        assert await turn.inject("more") == "changed"
    assert [payload.data["message"] for payload in asked.told] == ["go", "more"]


async def test_calls_of_sub_agents_are_calls_too(engine: Engine):
    """A5: an agent that works for another passes the objects of the session."""
    asked = Asking("a", "pre_tool_use", Block(reason="no"))
    engine.attach(asked)
    async with Session(engine) as session, session.turn("go") as turn, turn.sub_agent("helper") as helper:
        assert (await helper.call_tool(SHELL, run_ok)).text == "no"


async def test_a_tool_runs_with_the_arguments_as_objects_left_them(engine: Engine):
    """Case 32: merged by one level; what is told afterwards is the call as it ran."""
    after = Asking("after", "post_tool_use")
    engine.attach([Asking("a", "pre_tool_use", change(arguments={"a": 9, "n": {"x": 7}, "new": None})), after])
    ran: list[Any] = []
    await call(engine, lambda tool: ran.append(tool.args), Tool(name="t", args={"a": 1, "n": {"x": 1, "y": 2}}))
    assert ran == [{"a": 9, "n": {"x": 7}, "new": None}]
    assert after.data["arguments"] == ran[0]


async def test_a_denied_call_does_not_run_and_the_turn_goes_on(engine: Engine):
    """Case 34: the result is the reason, an error; objects after the call are not told; the next call runs."""
    after = Asking("after", "post_tool_use")
    answers = iter([Block(reason="r"), Allow()])
    engine.attach(
        [
            Asking("a", "pre_tool_use", change(arguments={"a": 2})),
            Asking("b", "pre_tool_use", lambda payload: next(answers)),
            after,
        ]
    )
    ran: list[Tool] = []
    async with Session(engine) as session, session.turn("go") as turn:
        denied = await turn.call_tool(SHELL, ran.append)
        await turn.call_tool(SHELL, ran.append)
    assert (denied.text, denied.failed, denied.hook_denied) == ("r", True, True)
    assert (len(ran), len(after.told)) == (1, 1)


async def test_a_raising_object_denies_a_call_under_its_policy(engine: Engine):
    """Cases 36 and 42."""
    engine.attach(Asking("guard", "pre_tool_use", fail("boom"), on_error="block"))
    assert (await call(engine)).text == "hook `guard` failed: it raised ValueError: boom"


async def test_an_object_that_fails_in_vain_lets_a_call_run(engine: Engine):
    """Case 36: allow and warn."""
    engine.attach([Asking(name, "pre_tool_use", Error(message="boom"), on_error=name) for name in ("allow", "warn")])
    assert (await call(engine)).text == "ok"


async def test_objects_behind_a_guard_that_failed_see_its_failure_in_place_of_the_result(engine: Engine):
    """Case 38."""
    later = Asking("later", "post_tool_use")
    engine.attach([Asking("guard", "post_tool_use", Error(message="boom"), on_error="block"), later])
    await call(engine)
    assert (later.data["result"], later.data["success"]) == ("hook `guard` failed: boom", False)


async def test_a_session_starts_and_ends_once_whatever_its_turns(engine: Engine):
    """Case 39: two turns, one session_start and one session_end; facts 20 and 29."""
    start, end, turns = Asking("start", "session_start"), Asking("end", "session_end"), Asking("turn", "turn_end")
    engine.attach([start, end, turns])
    async with Session(engine, id="s1") as session:
        for _ in range(2):
            async with session.turn("go"):
                pass
        assert len(end.told) == 0
    assert (len(start.told), len(turns.told)) == (1, 2)
    assert [(payload.session_id, payload.turn_id, payload.data) for payload in end.told] == [
        ("s1", None, {"reason": "closed"})
    ]


async def test_a_restored_session_does_not_start_again(engine: Engine):
    """Case 39 and A15: it is told as restored, which objects do not hear."""
    start = Asking("start", "session_start")
    engine.attach(start)
    async with Session(engine, id="s1", restored_from="s1"):
        pass
    assert start.told == []


async def test_every_end_of_a_turn_is_told(engine: Engine):
    """Fact 28: failure and cancellation too."""
    asked = Asking("a", "turn_end")
    engine.attach(asked)
    async with Session(engine) as session:
        with pytest.raises(ConnectionError):
            async with session.turn("go"):
                raise ConnectionError("down")
        async with session.turn("go") as turn:
            turn.mark_interrupted()
    assert [payload.data["success"] for payload in asked.told] == [False, False]
    assert asked.told[1].data["error"] == "turn cancelled"


async def test_a_turn_that_is_cancelled_does_not_wait_for_an_object(engine: Engine):
    """Case 42: cancelled at 100 ms during an object of 1.5 s, back within about 0.2 s."""
    started = asyncio.Event()

    async def sleep(payload: HookPayload) -> Allow:
        started.set()
        await asyncio.sleep(1.5)
        return Allow()

    engine.attach(Asking("a", "pre_tool_use", sleep))
    task = asyncio.create_task(call(engine))
    await started.wait()
    before = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - before < 0.3


async def test_objects_serve_hosts_without_an_event_loop(engine: Engine):
    engine.attach(Asking("a", "pre_tool_use", change(arguments={"command": "pwd"})))

    def live() -> ToolResult:
        with Session(engine) as session, session.turn("go") as turn:
            return turn.call_tool_sync(SHELL, lambda tool: str(tool.args))

    assert (await asyncio.to_thread(live)).text == "{'command': 'pwd'}"
