"""A session: its start, its end whatever happened in between, interruptions and workflows."""

from __future__ import annotations

import asyncio
import pathlib

import pytest

from entries import shell_hook, write_file
from faces import INTERRUPTIONS, SHELL, UNTOLD, Diary, Face, Stop, ends_with, make_session
from hookline import Agent, Decision, Event, Session
from support import Bench
from waiting import wait_until

UNTIL_GO = "while [ ! -e go ]; do sleep 0.02; done"


async def test_a_session_starts_ends_and_then_waits_for_its_hooks(face: Face, diary: Diary):
    async with face.live(make_session(diary)):
        diary.note("work")
    assert diary.entries == ["session_start", "work", "session_end", "drain session"]


async def test_events_of_a_session_carry_what_it_was_given(face: Face, diary: Diary):
    agent = Agent(id="a1", name="Coder")
    async with face.live(Session(diary, id="s7", profile="Code", cwd="/w", agent=agent)):
        pass
    for event in diary.events:
        assert (event.session_id, event.profile, event.cwd, event.agent) == ("s7", "Code", "/w", agent)


async def test_events_of_a_session_belong_to_no_turn(face: Face, diary: Diary):
    async with face.live(make_session(diary)):
        pass
    assert [event.turn_id for event in diary.events] == [None, None]


async def test_a_session_has_the_main_agent_unless_told_otherwise(face: Face, diary: Diary):
    async with face.live(make_session(diary)):
        pass
    assert diary.events[0].agent == Agent(id="main", name="", parent_id=None, depth=0)


def test_a_session_without_an_id_gets_one_of_its_own(diary: Diary):
    assert Session(diary).id
    assert Session(diary).id != Session(diary).id


async def test_a_directory_may_be_given_as_a_path(face: Face, diary: Diary):
    async with face.live(Session(diary, cwd=pathlib.Path("/w/x"))):
        pass
    assert diary.events[0].cwd == str(pathlib.Path("/w/x"))


async def test_a_restored_session_says_from_which_one(face: Face, diary: Diary):
    async with face.live(make_session(diary, restored_from="s0")):
        pass
    assert diary.names == ["session_restored", "session_end"]
    assert diary.fields("session_restored") == {"restored_session_id": "s0"}


async def test_a_session_that_fails_ends_too(face: Face, diary: Diary):
    with pytest.raises(ValueError, match="broken"):
        async with face.live(make_session(diary)):
            raise ValueError("broken")
    assert diary.entries == ["session_start", "session_end", "drain session"]


@pytest.mark.parametrize("kind", INTERRUPTIONS)
async def test_a_session_that_is_interrupted_ends_too(face: Face, diary: Diary, kind: type[BaseException]):
    with pytest.raises(kind):
        async with face.live(make_session(diary)):
            raise kind
    assert diary.entries == ["session_start", "session_end", "drain session"]


async def test_a_session_that_is_cancelled_ends_too(diary: Diary):
    async def live() -> None:
        async with make_session(diary):
            await asyncio.Event().wait()

    task = asyncio.create_task(live())
    await wait_until(lambda: diary.names == ["session_start"], "the session started")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert diary.entries == ["session_start", "session_end", "drain session"]


async def test_the_grace_of_a_session_is_handed_to_the_engine(face: Face, diary: Diary):
    async with face.live(make_session(diary, grace_s=0.5)):
        pass
    assert diary.graces == [0.5]


async def test_without_a_grace_the_engine_decides_on_it(face: Face, diary: Diary):
    async with face.live(make_session(diary)):
        pass
    assert diary.graces == [None]


@pytest.mark.parametrize("event", ["session_start", "session_end"])
async def test_async_hooks_of_a_session_are_done_when_it_is_left(face: Face, bench: Bench, event: str):
    engine = bench.open(write_file(shell_hook("late", "sleep 0.2; echo done > late", event=event, mode="async")))
    async with face.live(Session(engine, id="s1", cwd=bench.project)):
        pass
    assert bench.read("late") == "done\n"


async def test_async_hooks_beyond_the_grace_are_ended(face: Face, bench: Bench):
    engine = bench.open(write_file(shell_hook("slow", f"{UNTIL_GO}; touch late", event="session_start", mode="async")))
    async with face.live(Session(engine, id="s1", cwd=bench.project, grace_s=0.1)):
        pass
    assert await engine.drain_session("s1", grace_s=0) == ()
    assert not (bench.project / "late").exists()


async def test_a_session_does_not_wait_for_another_ones_hooks(face: Face, bench: Bench):
    hook = shell_hook("slow", UNTIL_GO, event="session_start", mode="async", match={"profile": "Slow"})
    engine = bench.open(write_file(hook, settings={"shutdown_grace_seconds": 30}))
    slow = Session(engine, id="slow", profile="Slow", cwd=bench.project)
    async with face.live(slow):
        async with face.live(Session(engine, id="quick", profile="Quick", cwd=bench.project)):
            pass
        assert not (bench.project / "go").exists()
        (bench.project / "go").touch()


async def test_an_interrupt_is_an_event_of_the_session(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session:
        await face.do(session, "interrupt")
    assert diary.names == ["session_start", "user_interrupt", "session_end"]
    event = diary.only("user_interrupt")
    assert (event.session_id, event.profile, event.cwd, event.turn_id) == ("s1", "Code", "/w", None)


async def test_a_turn_under_way_at_an_interrupt_ends_as_interrupted(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session, face.live(session.turn("go")):
        await face.do(session, "interrupt")
    assert diary.fields("after_turn") == UNTOLD | {"turn": 1, "status": "interrupted", "failed": True}


async def test_a_turn_that_fails_after_an_interrupt_ends_as_interrupted(face: Face, diary: Diary):
    with pytest.raises(ValueError, match="torn off"):
        async with face.live(make_session(diary)) as session, face.live(session.turn("go")):
            await face.do(session, "interrupt")
            raise ValueError("torn off")
    assert diary.fields("after_turn")["status"] == "interrupted"


async def test_a_turn_after_an_interrupt_is_not_interrupted(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session:
        await face.do(session, "interrupt")
        async with face.live(session.turn("go")):
            pass
    assert diary.fields("after_turn")["status"] == "ok"


async def test_nobody_waits_for_hooks_of_an_interrupt(face: Face, bench: Bench):
    hook = shell_hook("on-stop", f"touch started; {UNTIL_GO}; echo done > seen", event="user_interrupt")
    engine = bench.open(write_file(hook))
    async with face.live(Session(engine, id="s1", cwd=bench.project)) as session:
        async with face.live(session.turn("go")):
            await face.do(session, "interrupt")
        await wait_until((bench.project / "started").exists, "the hook started")
    assert not (bench.project / "seen").exists()
    (bench.project / "go").touch()
    await wait_until((bench.project / "seen").exists, "the hook was left alone to finish")


async def test_a_workflow_reports_its_start_and_its_end(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session, face.live(session.workflow("build", run_id="r1")):
        pass
    assert diary.names == ["session_start", "workflow_run_start", "workflow_run_end", "session_end"]
    assert diary.fields("workflow_run_start") == {"run_id": "r1", "input_text": "build"}
    assert diary.fields("workflow_run_end") == {"run_id": "r1", "outcome": "succeeded", "reason": ""}


async def test_a_workflow_without_an_id_gets_one_for_both_its_events(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session, face.live(session.workflow()) as workflow:
        pass
    assert workflow.run_id
    assert {diary.fields(name)["run_id"] for name in ("workflow_run_start", "workflow_run_end")} == {workflow.run_id}


async def test_a_workflow_that_fails_says_why(face: Face, diary: Diary):
    with pytest.raises(ValueError, match="no such node"):
        async with face.live(make_session(diary)) as session, face.live(session.workflow(run_id="r1")):
            raise ValueError("no such node")
    assert diary.fields("workflow_run_end") == {"run_id": "r1", "outcome": "failed", "reason": "no such node"}


@pytest.mark.parametrize("kind", [*INTERRUPTIONS, asyncio.CancelledError])
async def test_a_workflow_ended_from_outside_is_cancelled(face: Face, diary: Diary, kind: type[BaseException]):
    with pytest.raises(kind):
        async with face.live(make_session(diary)) as session, face.live(session.workflow()):
            raise kind
    assert diary.fields("workflow_run_end")["outcome"] == "cancelled"


async def test_a_host_may_name_the_outcome_of_a_workflow(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session, face.live(session.workflow(run_id="r1")) as workflow:
        workflow.finish("partial", "2 of 3 nodes ran")
    assert diary.fields("workflow_run_end") == {"run_id": "r1", "outcome": "partial", "reason": "2 of 3 nodes ran"}


async def test_events_of_a_workflow_belong_to_no_turn(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session, face.live(session.workflow()):
        pass
    assert diary.only("workflow_run_start").turn_id is None


# What begins ends: a beginning whose hooks were told of it is followed by its end, also when it was cut short.


class CutShort(Diary):
    """Is interrupted while it fires one event, after hooks were told of it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def fire_sync(self, event: Event) -> Decision:
        decision = super().fire_sync(event)
        if event.name == self._name:
            raise Stop
        return decision


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("session_start", "session_end"),
        ("before_turn", "after_turn"),
        ("sub_agent_start", "sub_agent_end"),
        ("workflow_run_start", "workflow_run_end"),
    ],
)
async def test_what_has_begun_ends_though_it_was_cut_short(face: Face, begin: str, end: str):
    diary = CutShort(begin)
    with pytest.raises(Stop):
        async with face.live(make_session(diary)) as session:
            if begin == "workflow_run_start":
                async with face.live(session.workflow()):
                    diary.note("not reached")
            async with face.live(session.turn("go")) as turn, face.live(turn.sub_agent("Helper")):
                diary.note("not reached")
    assert end in diary.names
    assert "not reached" not in diary.entries


async def test_a_tool_call_of_a_session_belongs_to_no_turn(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session:
        result = await face.do(session, "call_tool", SHELL, ends_with("ran"))
    assert result.text == "ran"
    assert [diary.only(name).turn_id for name in ("before_tool_call", "after_tool_call")] == [None, None]
