"""Sub-agents: who their events say they are, how they end, and whom they wait for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from entries import command_hook, shell_hook, write_file
from faces import INTERRUPTIONS, SHELL, Diary, Face, Stop, asked, ends_with, make_session
from hookline import Agent, Session, Tool, ToolCallDeniedError
from hookline.lifecycle import Asked, Turn
from hookline.lifecycle.turn import Work
from support import Bench
from waiting import wait_until


def make_turn(diary: Diary, **options: Any) -> Turn:
    return make_session(diary, **options).turn("go")


def nest(work: Work) -> Work:
    """A sub-agent called Second in one called First."""
    return work.sub_agent("First", invocation_id="i1").sub_agent("Second", invocation_id="i2")


async def test_a_sub_agent_starts_ends_and_then_waits_for_its_own_hooks(face: Face, diary: Diary):
    async with face.live(make_turn(diary).sub_agent("Helper", invocation_id="i1")):
        diary.note("work")
    assert diary.entries == ["sub_agent_start", "work", "sub_agent_end", "drain turn of i1"]
    assert diary.drains == [("turn", "s1", "i1")]


async def test_events_of_a_sub_agent_carry_its_invocation(face: Face, diary: Diary):
    turn = make_turn(diary)
    async with face.live(turn.sub_agent("Helper", tool_name="ask_helper", invocation_id="i1", parent_call_id="c1")):
        pass
    invocation = {
        "name": "Helper",
        "tool_name": "ask_helper",
        "invocation_id": "i1",
        "parent_call_id": "c1",
        "parent_provider_call_id": None,
    }
    assert diary.fields("sub_agent_start") == {"sub_agent": invocation}
    assert diary.fields("sub_agent_end") == {"sub_agent": invocation, "status": "ok", "result_summary": ""}


async def test_an_invocation_may_carry_the_call_id_of_the_provider(face: Face, diary: Diary):
    turn = make_turn(diary)
    options: dict[str, Any] = {"parent_provider_call_id": "toolu_1"}
    async with face.live(turn.sub_agent("Helper", **options)):
        pass
    assert diary.fields("sub_agent_start")["sub_agent"]["parent_provider_call_id"] == "toolu_1"


async def test_an_invocation_without_an_id_gets_one_of_its_own(face: Face, diary: Diary):
    turn = make_turn(diary)
    for _ in range(2):
        async with face.live(turn.sub_agent("Helper")):
            pass
    first, second = (event.fields.sub_agent.invocation_id for event in diary.all("sub_agent_start"))
    assert first
    assert second
    assert first != second


async def test_events_of_a_sub_agent_say_who_it_is_and_whose(face: Face, diary: Diary):
    async with face.live(make_turn(diary).sub_agent("Helper", invocation_id="i1")):
        pass
    for event in diary.events:
        assert event.agent == Agent(id="i1", name="Helper", parent_id="main", depth=1)


async def test_a_sub_agent_of_a_sub_agent_is_one_deeper(face: Face, diary: Diary):
    async with face.live(nest(make_turn(diary))) as inner:
        await face.do(inner, "call_tool", SHELL, ends_with("ok"))
    assert {event.agent for event in diary.events} == {Agent(id="i2", name="Second", parent_id="i1", depth=2)}


async def test_events_of_a_sub_agent_carry_its_name_as_profile(face: Face, diary: Diary):
    async with face.live(make_turn(diary).sub_agent("Helper")) as helper:
        await face.do(helper, "call_tool", SHELL, ends_with("ok"))
    assert {event.profile for event in diary.events} == {"Helper"}


async def test_a_sub_agent_may_have_a_profile_of_its_own(face: Face, diary: Diary):
    async with face.live(make_turn(diary).sub_agent("Helper", profile="Reader")):
        pass
    assert {event.profile for event in diary.events} == {"Reader"}


async def test_a_sub_agent_works_in_the_session_and_the_turn_of_its_parent(face: Face, diary: Diary):
    async with face.live(make_turn(diary)) as turn, face.live(nest(turn)) as inner:
        await face.do(inner, "call_tool", SHELL, ends_with("ok"))
    assert len({(event.session_id, event.turn_id, event.cwd) for event in diary.events}) == 1


async def test_its_parent_is_itself_again_afterwards(face: Face, diary: Diary):
    turn = make_turn(diary)
    async with face.live(turn.sub_agent("Helper")):
        pass
    await face.do(turn, "call_tool", SHELL, ends_with("ok"))
    event = diary.only("before_tool_call")
    assert (event.agent.id, event.profile) == ("main", "Code")


# How it ends


async def test_the_summary_of_a_sub_agent_is_reported(face: Face, diary: Diary):
    async with face.live(make_turn(diary).sub_agent("Helper")) as helper:
        helper.finish("found three files")
    assert diary.fields("sub_agent_end")["result_summary"] == "found three files"


async def test_a_summary_is_cut_at_500_characters(face: Face, diary: Diary):
    async with face.live(make_turn(diary).sub_agent("Helper")) as helper:
        helper.finish("é" * 501)
    assert diary.fields("sub_agent_end")["result_summary"] == "é" * 500


async def test_a_sub_agent_that_fails_says_so_and_why(face: Face, diary: Diary):
    with pytest.raises(ValueError, match="lost"):
        async with face.live(make_turn(diary).sub_agent("Helper", invocation_id="i1")):
            raise ValueError("lost" * 200)
    found = diary.fields("sub_agent_end")
    assert (found["status"], found["result_summary"]) == ("failed", ("lost" * 200)[:500])
    assert diary.entries[-1] == "drain turn of i1"


async def test_a_sub_agent_that_fails_keeps_the_summary_it_handed_in(face: Face, diary: Diary):
    with pytest.raises(ValueError, match="lost"):
        async with face.live(make_turn(diary).sub_agent("Helper")) as helper:
            helper.finish("half of it")
            raise ValueError("lost")
    assert diary.fields("sub_agent_end")["result_summary"] == "half of it"


@pytest.mark.parametrize("kind", [*INTERRUPTIONS, asyncio.CancelledError])
async def test_a_sub_agent_ended_from_outside_is_cancelled_and_keeps_nobody_waiting(
    face: Face, diary: Diary, kind: type[BaseException]
):
    with pytest.raises(kind):
        async with face.live(make_turn(diary).sub_agent("Helper")):
            raise kind
    found = diary.fields("sub_agent_end")
    assert (found["status"], found["result_summary"]) == ("cancelled", "")
    assert diary.entries == ["sub_agent_start", "sub_agent_end"]


async def test_an_interruption_ends_the_sub_agent_before_the_turn(face: Face, diary: Diary):
    with pytest.raises(Stop):
        async with face.live(make_turn(diary)) as turn, face.live(turn.sub_agent("Helper")):
            raise Stop
    assert diary.names[-2:] == ["sub_agent_end", "after_turn"]
    assert diary.fields("after_turn")["status"] == "interrupted"


async def test_a_cancelled_sub_agent_does_not_interrupt_the_turn(diary: Diary):
    async with make_turn(diary) as turn:

        async def help_out() -> None:
            async with turn.sub_agent("Helper"):
                await asyncio.Event().wait()

        task = asyncio.create_task(help_out())
        await wait_until(lambda: "sub_agent_start" in diary.names, "the sub-agent started")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert diary.fields("sub_agent_end")["status"] == "cancelled"
    assert diary.fields("after_turn")["status"] == "ok"


# Its work


async def test_an_approval_in_a_sub_agent_is_asked_for_in_its_name(face: Face, diary: Diary):
    async with face.live(make_turn(diary).sub_agent("Helper", profile="Reader")) as helper:
        await face.do(helper, "call_tool", SHELL, ends_with("ok"), approve=lambda _: True)
    assert diary.fields("approval_requested")["caller_name"] == "Helper"
    assert diary.only("approval_requested").profile == "Reader"


async def test_a_question_of_a_sub_agents_hooks_is_put_to_the_same_human(face: Face):
    diary = Diary({"before_tool_call": asked()})
    questions: list[Asked] = []
    turn = make_turn(diary, ask=lambda question: questions.append(question) or True)
    async with face.live(turn.sub_agent("Helper", invocation_id="i1")) as helper:
        await face.do(helper, "call_tool", SHELL, ends_with("ok"))
    assert [question.event.agent.id for question in questions] == ["i1"]


async def test_a_compaction_of_a_sub_agent_names_it(face: Face, diary: Diary):
    turn = make_turn(diary)
    async with face.live(turn.sub_agent("Helper", tool_name="ask_helper", invocation_id="i1")) as helper:
        await face.do(helper, "compact", "phase1")
    found = diary.fields("pre_compact")["sub_agent"]
    assert {name: value for name, value in found.items() if value is not None} == {
        "name": "Helper",
        "tool_name": "ask_helper",
    }
    assert (diary.only("pre_compact").profile, diary.only("pre_compact").agent.id) == ("Helper", "i1")


# Field report B29: what a guard denies, it denies for every agent


AGENTS: dict[str, Callable[[Turn], Work]] = {
    "main": lambda turn: turn,
    "sub": lambda turn: turn.sub_agent("First", invocation_id="i1"),
    "sub of a sub": nest,
}


@pytest.mark.parametrize("agent", AGENTS)
async def test_b29_a_guard_denies_the_call_whichever_agent_makes_it(face: Face, bench: Bench, agent: str):
    """Field report B29."""
    engine = bench.open(write_file(shell_hook("guard", "cat > seen; exit 2", on_error="block")))
    work = AGENTS[agent](Session(engine, id="s1", profile="Code", cwd=bench.project).turn("go"))
    with pytest.raises(ToolCallDeniedError):
        async with face.live(work.tool_call(SHELL)):
            pytest.fail("the call ran")
    assert json.loads(bench.read("seen"))["tool"]["args"] == {"command": "ls"}


@pytest.mark.parametrize(
    ("agent", "payload"),
    [
        ("main", {"id": "main", "name": "", "parent_id": None, "depth": 0}),
        ("sub", {"id": "i1", "name": "First", "parent_id": "main", "depth": 1}),
        ("sub of a sub", {"id": "i2", "name": "Second", "parent_id": "i1", "depth": 2}),
    ],
)
async def test_b29_the_payload_tells_which_agent_and_how_deep(
    face: Face, bench: Bench, agent: str, payload: dict[str, Any]
):
    """Field report B29."""
    engine = bench.open(write_file(shell_hook("guard", "cat > seen", on_error="block")))
    work = AGENTS[agent](Session(engine, id="s1", profile="Code", cwd=bench.project).turn("go"))
    await face.do(work, "call_tool", SHELL, ends_with("ok"))
    assert json.loads(bench.read("seen"))["agent"] == payload


async def test_a_hook_may_be_for_a_sub_agent_alone(face: Face, bench: Bench):
    engine = bench.open(write_file(shell_hook("guard", "exit 2", match={"profile": "Helper"}, on_error="block")))
    turn = Session(engine, id="s1", profile="Code", cwd=bench.project).turn("go")
    own = await face.do(turn, "call_tool", SHELL, ends_with("ok"))
    of_helper = await face.do(turn.sub_agent("Helper"), "call_tool", SHELL, ends_with("ok"))
    assert (own.hook_denied, of_helper.hook_denied) == (None, True)


# Side by side


def waits_for(name: str, **options: Any) -> dict[str, Any]:
    """An async hook of one sub-agent's tool calls, which takes until a file is there."""
    text = f"while [ ! -e {name} ]; do sleep 0.02; done; touch {name}-seen"
    match = {"profile": name}
    return shell_hook(f"slow-{name}", text, event="after_tool_call", mode="async", match=match, **options)


async def work_as(turn: Turn, name: str) -> None:
    async with turn.sub_agent(name) as agent:
        await agent.call_tool(SHELL, ends_with("ok"))


async def test_parallel_sub_agents_do_not_wait_for_one_anothers_hooks(bench: Bench):
    engine = bench.open(write_file(waits_for("Slow"), waits_for("Quick")))
    async with Session(engine, id="s1", cwd=bench.project).turn("go") as turn:
        slow = asyncio.create_task(work_as(turn, "Slow"))
        (bench.project / "Quick").touch()
        await work_as(turn, "Quick")
        assert (bench.project / "Quick-seen").exists()
        assert not slow.done()
        (bench.project / "Slow").touch()
        await slow
        assert (bench.project / "Slow-seen").exists()


async def test_the_end_of_the_turn_waits_for_the_hooks_of_all_agents(bench: Bench):
    engine = bench.open(write_file(waits_for("Slow")))

    async def live() -> None:
        async with Session(engine, id="s1", cwd=bench.project).turn("go") as turn:
            with pytest.raises(Stop):
                async with turn.sub_agent("Slow") as agent:
                    await agent.call_tool(SHELL, ends_with("ok"))
                    raise Stop

    task = asyncio.create_task(live())
    (bench.project / "Slow").touch()
    await task
    assert (bench.project / "Slow-seen").exists()


async def test_ten_sub_agents_at_once_get_their_own_decisions(bench: Bench):
    match = {"args": {"n": {"regex": "[02468]$"}}}
    engine = bench.open(write_file(command_hook("guard", "false", match=match, on_error="block")))
    async with Session(engine, id="s1", cwd=bench.project).turn("go") as turn:

        async def work(number: int) -> bool | None:
            async with turn.sub_agent(f"A{number}") as agent:
                tool = Tool(name="t", args={"n": number})
                result = await agent.call_tool(tool, ends_with("ok"))
                return result.hook_denied

        calls: list[Awaitable[bool | None]] = [work(number) for number in range(10)]
        assert await asyncio.gather(*calls) == [True, None] * 5
