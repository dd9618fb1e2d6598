"""Changes of the session: hooks may stop them, and are told when they have happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faces import Diary, Face, asked, make_session
from hookline import Engine, Session, StoppedError
from support import Bench

CHANGES: dict[str, tuple[Callable[[Session], Any], list[str]]] = {
    "switch": (lambda session: session.switch("new"), ["session_before_switch", "session_switch"]),
    "branch": (lambda session: session.branch("e1"), ["session_before_branch", "session_branch"]),
    "navigate": (lambda session: session.navigate({}), ["session_before_tree", "session_tree"]),
}
each_change = pytest.mark.parametrize(("make", "names"), CHANGES.values(), ids=CHANGES)


@pytest.fixture
def engine(bench: Bench) -> Engine:
    return bench.open()


def session_of(engine: Engine) -> Session:
    return make_session(engine)  # type: ignore[arg-type]


@each_change
async def test_a_change_is_asked_about_and_told_of(face: Face, diary: Diary, make: Any, names: list[str]):
    async with face.live(make(make_session(diary))):
        diary.note("change")
    assert diary.entries == [names[0], "change", names[1]]
    assert {(event.session_id, event.turn_id) for event in diary.events} == {("s1", None)}


@each_change
async def test_a_change_that_fails_is_not_told_as_done(face: Face, diary: Diary, make: Any, names: list[str]):
    with pytest.raises(OSError, match="disk"):
        async with face.live(make(make_session(diary))):
            raise OSError("disk")
    assert diary.names == names[:1]


@each_change
async def test_a_change_in_question_that_nobody_agrees_to_does_not_happen(face: Face, make: Any, names: list[str]):
    diary = Diary({names[0]: asked("sure?")})
    with pytest.raises(StoppedError, match=r"sure\?"):
        async with face.live(make(make_session(diary))):
            pytest.fail("it was changed")
    assert diary.names == names[:1]


async def test_the_first_handler_that_cancels_a_switch_ends_the_matter(face: Face, engine: Engine):
    """Case 24: session_before_switch h1 {cancel False}, h2 {cancel True}, h3: h3 not called, cancelled."""
    engine.on("session_before_switch", lambda event: {"cancel": False})
    engine.on("session_before_switch", lambda event: {"cancel": True, "reason": "unsaved"})
    engine.on("session_before_switch", lambda event: pytest.fail("h3 was called"))
    with pytest.raises(StoppedError, match="unsaved"):
        async with face.live(session_of(engine).switch("new")):
            pytest.fail("it was switched")


async def test_a_handler_that_raises_does_not_hide_one_that_cancels(face: Face, engine: Engine):
    """Case 25: h1 raises, h2 {cancel True}: cancelled."""
    engine.on("session_before_switch", lambda event: 1 / 0)
    engine.on("session_before_switch", lambda event: {"cancel": True})
    with pytest.raises(StoppedError):
        async with face.live(session_of(engine).switch("new")):
            pytest.fail("it was switched")


async def test_the_last_result_about_a_way_in_the_tree_stands_as_a_whole(face: Face, engine: Engine):
    """Case 26: session_before_tree h1 {summary S}, h2 {cancel False}: {cancel False}."""
    engine.on("session_before_tree", lambda event: {"summary": {"summary": "S"}})
    engine.on("session_before_tree", lambda event: {"cancel": False})
    async with face.live(session_of(engine).navigate({"target_id": "l2"})) as navigation:
        assert navigation.summary is None


async def test_a_switch_carries_where_it_goes_and_where_it_came_from(face: Face, diary: Diary):
    async with face.live(make_session(diary).switch("resume", target_session_file="b.jsonl")) as switch:
        switch.finish("a.jsonl")
    assert diary.fields("session_before_switch") == {"reason": "resume", "target_session_file": "b.jsonl"}
    assert diary.fields("session_switch") == {"reason": "resume", "previous_session_file": "a.jsonl"}


async def test_a_hook_may_have_a_branch_leave_the_conversation_alone(face: Face, engine: Engine):
    engine.on("session_before_branch", lambda event: {"skip_conversation_restore": event.entry_id == "e1"})
    async with face.live(session_of(engine).branch("e1")) as branch:
        assert branch.skip_conversation_restore
    async with face.live(session_of(engine).branch("e2")) as branch:
        assert not branch.skip_conversation_restore


async def test_a_hook_may_write_the_summary_of_what_is_left_behind(face: Face, engine: Engine):
    told = []
    engine.on("session_before_tree", lambda event: {"summary": {"summary": "S", "details": None}})
    engine.on("session_tree", lambda event: told.append((event.new_leaf_id, event.old_leaf_id, event.from_extension)))
    way = {"target_id": "l2", "old_leaf_id": "l1"}
    async with face.live(session_of(engine).navigate(way)) as navigation:
        assert navigation.summary == {"summary": "S", "details": None}
    assert told == [("l2", "l1", True)]
