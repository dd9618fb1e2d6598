"""A compaction of the context: asked about, taken over or helped by hooks, and told of."""

from __future__ import annotations

import pytest

from faces import Diary, Face, Stop, asked, make_session
from hookline import Engine, StoppedError
from support import Bench

WAY = ["before_compact", "pre_compact", "compacting", "post_compact"]
MADE = {"summary": "short", "first_kept_entry_id": "e7", "tokens_before": 100}


@pytest.fixture
def engine(bench: Bench) -> Engine:
    return bench.open()


async def test_a_compaction_is_asked_about_announced_and_told_of(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go").compaction("auto")):
        diary.note("compact")
    assert diary.entries == [*WAY[:3], "compact", WAY[3]]


async def test_events_of_a_compaction_carry_their_fields(face: Face, diary: Diary):
    preparation = {"messages_to_summarize": ["m"], "tokens_before": 100}
    turn = make_session(diary).turn("go")
    async with face.live(turn.compaction("auto", preparation=preparation, branch_entries=["e"], usage_pct=0.9)) as it:
        it.finish({"id": "c1"}, summarized_turns=3)
    assert diary.fields("before_compact")["preparation"] == preparation
    assert diary.fields("compacting") == {"messages": ["m"]}
    assert diary.fields("pre_compact") == {
        "trigger": "auto",
        "usage_pct": 0.9,
        "tokens_before": 100,
        "sub_agent": None,
    }
    assert diary.fields("post_compact") == {
        "trigger": "auto",
        "summarized_turns": 3,
        "tokens_before": 100,
        "compaction_entry": {"id": "c1"},
        "from_extension": False,
    }


async def test_a_cancelled_compaction_does_not_happen(face: Face, engine: Engine):
    told: list[str] = []
    engine.on("session_before_compact", lambda event: {"cancel": True, "reason": "not now"})
    for name in ("pre_compact", "session.compacting", "session_compact"):
        engine.on(name, lambda event: told.append(event.type))  # type: ignore[call-overload]
    with pytest.raises(StoppedError, match="not now"):
        async with face.live(make_session(engine).turn("go").compaction("auto")):  # type: ignore[arg-type]
            pytest.fail("it was compacted")
    assert told == []


@pytest.mark.parametrize("answer", [True, False])
async def test_a_compaction_in_question_is_the_humans_to_decide(face: Face, answer: bool):
    diary = Diary({"before_compact": asked("sure?")})
    compaction = make_session(diary, ask=lambda _: answer).turn("go").compaction("auto")
    if answer:
        async with face.live(compaction):
            pass
    else:
        with pytest.raises(StoppedError, match=r"sure\?"):
            async with face.live(compaction):
                pytest.fail("it was compacted")
    assert diary.names == (WAY if answer else WAY[:1])


async def test_a_compaction_that_a_hook_hands_in_is_not_made_again(face: Face, engine: Engine):
    told = []
    engine.on("session_before_compact", lambda event: {"compaction": MADE})
    engine.on("session.compacting", lambda event: pytest.fail("a summary is written"))
    engine.on("session_compact", lambda event: told.append((event.compaction_entry, event.from_extension)))
    async with face.live(make_session(engine).turn("go").compaction("auto")) as compaction:  # type: ignore[arg-type]
        assert compaction.handed_in == MADE
    assert told == [(MADE, True)]


async def test_hooks_have_a_say_in_how_a_summary_is_made(face: Face, engine: Engine):
    said = {"context": ["keep names"], "prompt": "Sum up.", "preserve_data": {"k": 1}}
    engine.on("session.compacting", lambda event: said)
    async with face.live(make_session(engine).turn("go").compaction("auto")) as compaction:  # type: ignore[arg-type]
        assert (compaction.handed_in, compaction.context) == (None, ("keep names",))
        assert (compaction.prompt, compaction.preserve_data) == ("Sum up.", {"k": 1})


@pytest.mark.parametrize("error", [ValueError("broken"), Stop()], ids=repr)
async def test_a_compaction_that_fails_is_not_told_as_done(face: Face, diary: Diary, error: BaseException):
    with pytest.raises(type(error)):
        async with face.live(make_session(diary).turn("go").compaction("auto")):
            raise error
    assert diary.names == WAY[:3]


async def test_a_compaction_of_a_sub_agent_is_its_own(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")) as turn:
        helper = turn.sub_agent("Helper", invocation_id="i1")
        async with face.live(helper), face.live(helper.compaction("auto")):
            pass
    assert {diary.only(name).agent.id for name in WAY} == {"i1"}
    assert diary.fields("pre_compact")["sub_agent"]["name"] == "Helper"


async def test_a_compaction_between_turns_belongs_to_the_session(face: Face, diary: Diary):
    async with face.live(make_session(diary)) as session, face.live(session.compaction("manual")):
        pass
    assert {(diary.only(name).session_id, diary.only(name).turn_id) for name in WAY} == {("s1", None)}
