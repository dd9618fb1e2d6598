"""A turn: its prompt, its number, its status, its reminders, and what it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from entries import give_reply, shell_hook, write_file
from faces import INTERRUPTIONS, SHELL, UNTOLD, Diary, Face, Stop, asked, blocked, ends_with, make_session, with_text
from hookline import Decision, PromptBlockedError, Session, StoppedError, Tool
from hookline.lifecycle import Asked
from support import Bench
from waiting import wait_until

LIBRARIES = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
TURN = ["user_prompt_submit", "before_turn", "after_turn"]
SLOWLY = "sleep 0.1; cat > seen"
LATE = "sleep 0.2; echo done > late"
UNTIL_GO = "while [ ! -e go ]; do sleep 0.02; done"


def reminding(*reminders: str, context: tuple[str, ...] = ()) -> Decision:
    return Decision(reminders=reminders, context=context)


async def test_a_turn_submits_its_prompt_starts_ends_and_waits_for_its_hooks(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")):
        diary.note("work")
    assert diary.entries == ["user_prompt_submit", "before_turn", "work", "after_turn", "drain turn"]


async def test_events_of_a_turn_carry_their_fields(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")):
        pass
    assert diary.fields("user_prompt_submit") == {"text": "go", "injected": False}
    assert diary.fields("before_turn") == {"turn": 1, "user_text": "go", "is_retry": False}
    assert diary.fields("after_turn") == UNTOLD | {"turn": 1, "status": "ok", "failed": False}


async def test_events_of_a_turn_carry_one_turn_id_and_those_of_the_next_another(face: Face, diary: Diary):
    session = make_session(diary)
    for _ in range(2):
        async with face.live(session.turn("go")):
            pass
    first, second = ({event.turn_id for event in events} for events in (diary.events[:3], diary.events[3:]))
    assert len(first) == len(second) == 1
    assert None not in first | second
    assert first != second


async def test_events_of_a_turn_carry_session_profile_and_directory(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")):
        pass
    assert {(event.session_id, event.profile, event.cwd) for event in diary.events} == {("s1", "Code", "/w")}


async def test_turns_are_counted_from_one(face: Face, diary: Diary):
    session = make_session(diary)
    for _ in range(3):
        async with face.live(session.turn("go")):
            pass
    assert [event.fields.turn for event in diary.all("after_turn")] == [1, 2, 3]


async def test_each_session_counts_its_own_turns(face: Face, diary: Diary):
    for name in ("a", "b"):
        async with face.live(make_session(diary, id=name).turn("go")):
            pass
    assert [event.fields.turn for event in diary.all("before_turn")] == [1, 1]


async def test_a_turn_that_fails_says_so_and_waits_for_its_hooks(face: Face, diary: Diary):
    with pytest.raises(ValueError, match="broken"):
        async with face.live(make_session(diary).turn("go")):
            raise ValueError("broken")
    assert diary.fields("after_turn") == UNTOLD | {"turn": 1, "status": "failed", "failed": True, "error": "broken"}
    assert diary.entries[-1] == "drain turn"


@pytest.mark.parametrize("kind", [*INTERRUPTIONS, asyncio.CancelledError])
async def test_a_turn_ended_from_outside_is_interrupted(face: Face, diary: Diary, kind: type[BaseException]):
    with pytest.raises(kind):
        async with face.live(make_session(diary).turn("go")):
            raise kind
    assert diary.fields("after_turn") == UNTOLD | {"turn": 1, "status": "interrupted", "failed": True}


async def test_a_turn_ended_from_outside_keeps_nobody_waiting(face: Face, diary: Diary):
    with pytest.raises(Stop):
        async with face.live(make_session(diary).turn("go")):
            raise Stop
    assert diary.entries == TURN


async def test_a_turn_whose_task_is_cancelled_is_interrupted(diary: Diary):
    async def live() -> None:
        async with make_session(diary).turn("go"):
            await asyncio.Event().wait()

    task = asyncio.create_task(live())
    await wait_until(lambda: "before_turn" in diary.names, "the turn started")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert diary.fields("after_turn") == UNTOLD | {"turn": 1, "status": "interrupted", "failed": True}


async def test_hooks_hear_of_the_end_of_a_turn_that_ran_out_of_time(bench: Bench):
    engine = bench.open(write_file(shell_hook("note", SLOWLY, event="after_turn")))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), Session(engine, id="s1", cwd=bench.project).turn("go"):
            await asyncio.Event().wait()
    assert '"status": "interrupted"' in bench.read("seen")


@LIBRARIES
async def test_hooks_hear_of_the_end_of_a_turn_in_a_cancelled_scope(bench: Bench, anyio_backend: str):
    """Where a scope is cancelled, whatever is awaited in it is cancelled again."""
    engine = bench.open(write_file(shell_hook("note", SLOWLY, event="after_turn")))
    with anyio.move_on_after(0.2):
        async with Session(engine, id="s1", cwd=bench.project).turn("go"):
            await anyio.sleep_forever()
    assert '"status": "interrupted"' in bench.read("seen")


@LIBRARIES
async def test_hooks_hear_of_a_call_in_a_cancelled_scope(bench: Bench, anyio_backend: str):
    engine = bench.open(write_file(shell_hook("note", SLOWLY, event="after_tool_call")))
    turn = Session(engine, id="s1", cwd=bench.project).turn("go")
    with anyio.move_on_after(0.2):
        await turn.call_tool(SHELL, lambda _: anyio.sleep_forever())
    assert '"text": "interrupted"' in bench.read("seen")


@LIBRARIES
async def test_hooks_hear_of_the_end_of_a_session_in_a_cancelled_scope(bench: Bench, anyio_backend: str):
    engine = bench.open(write_file(shell_hook("note", SLOWLY, event="session_end")))
    with anyio.move_on_after(0.2):
        async with Session(engine, id="s1", cwd=bench.project):
            await anyio.sleep_forever()
    assert '"event": "session_end"' in bench.read("seen")


@LIBRARIES
async def test_a_turn_is_lived_through_with_either_library(bench: Bench, anyio_backend: str):
    hooks = [
        shell_hook("remind", give_reply(system_reminder="short"), event="user_prompt_submit"),
        shell_hook("guard", "grep -q 'rm -rf' && exit 2; exit 0", on_error="block"),
        shell_hook("late", LATE, event="after_turn", mode="async"),
    ]
    engine = bench.open(write_file(*hooks))
    async with Session(engine, id="s1", cwd=bench.project).turn("go") as turn:
        assert turn.reminders == ("short",)
        allowed = await turn.call_tool(SHELL, ends_with("ok"))
        denied = await turn.call_tool(Tool(name="bash", args={"command": "rm -rf /"}), ends_with("ok"))
    assert (allowed.hook_denied, denied.hook_denied) == (None, True)
    assert bench.read("late") == "done\n"


async def test_a_turn_waits_for_its_async_hooks(face: Face, bench: Bench):
    engine = bench.open(
        write_file(shell_hook("late", "sleep 0.2; echo done > late", event="before_turn", mode="async"))
    )
    async with face.live(Session(engine, id="s1", cwd=bench.project).turn("go")):
        pass
    assert bench.read("late") == "done\n"


async def test_a_turn_waits_for_the_async_hooks_of_its_end(face: Face, bench: Bench):
    engine = bench.open(write_file(shell_hook("late", LATE, event="after_turn", mode="async")))
    async with face.live(Session(engine, id="s1", cwd=bench.project).turn("go")):
        pass
    assert bench.read("late") == "done\n"


async def test_a_turn_does_not_wait_for_what_is_fired_and_forgotten(face: Face, bench: Bench):
    hook = shell_hook("slow", UNTIL_GO, event="before_turn", mode="fire_and_forget")
    engine = bench.open(write_file(hook))
    async with face.live(Session(engine, id="s1", cwd=bench.project).turn("go")):
        pass
    assert not (bench.project / "go").exists()


async def test_an_interrupted_turn_leaves_its_async_hooks_to_the_end_of_the_session(face: Face, bench: Bench):
    hook = shell_hook("slow", f"{UNTIL_GO}; echo done > late", event="before_turn", mode="async")
    engine = bench.open(write_file(hook))
    with pytest.raises(Stop):
        async with face.live(Session(engine, id="s1", cwd=bench.project, grace_s=30)) as session:
            with pytest.raises(Stop):
                async with face.live(session.turn("go")):
                    raise Stop
            (bench.project / "go").touch()
            raise Stop
    assert bench.read("late") == "done\n"


# Prompts


async def test_a_blocked_prompt_raises_with_the_reason_and_the_users_message(face: Face):
    diary = Diary({"user_prompt_submit": blocked("secrets", user_message="remove the key")})
    with pytest.raises(PromptBlockedError, match="secrets") as caught:
        async with face.live(make_session(diary).turn("go")):
            diary.note("not reached")
    assert (caught.value.reason, caught.value.user_message) == ("secrets", "remove the key")
    assert isinstance(caught.value, StoppedError)
    assert caught.value.decision.verdict == "block"
    assert "not reached" not in diary.entries


async def test_a_blocked_prompt_starts_no_turn(face: Face):
    diary = Diary({"user_prompt_submit": blocked()})
    with pytest.raises(PromptBlockedError):
        async with face.live(make_session(diary).turn("go")):
            pass
    assert diary.entries == ["user_prompt_submit", "after_turn"]
    told = {"turn": 0, "status": "failed", "failed": True, "error": "no", "is_unbegun": True}
    assert diary.fields("after_turn").items() >= told.items()


async def test_a_blocked_prompt_uses_up_no_number(face: Face):
    diary = Diary({"user_prompt_submit": lambda event: blocked() if event.fields.text == "bad" else Decision()})
    session = make_session(diary)
    with pytest.raises(PromptBlockedError):
        async with face.live(session.turn("bad")):
            pass
    async with face.live(session.turn("good")) as turn:
        assert turn.number == 1


async def test_a_block_without_a_reason_gets_one(face: Face):
    diary = Diary({"user_prompt_submit": blocked(None)})
    with pytest.raises(PromptBlockedError, match="stopped by a hook") as caught:
        async with face.live(make_session(diary).turn("go")):
            pass
    assert (caught.value.reason, caught.value.user_message) == ("stopped by a hook", None)


async def test_a_prompt_is_used_as_hooks_left_it(face: Face):
    diary = Diary({"user_prompt_submit": with_text("go, gently")})
    async with face.live(make_session(diary).turn("go")) as turn:
        assert turn.prompt == "go, gently"
    assert diary.fields("before_turn")["user_text"] == "go, gently"


async def say_async(answer: bool) -> bool:
    await asyncio.sleep(0)
    return answer


YES: tuple[Callable[[Asked], Any], ...] = (lambda _: True,)
NO: tuple[Callable[[Asked], Any], ...] = (lambda _: False, lambda _: None)


@pytest.mark.parametrize("ask", [*YES, lambda _: say_async(True)])
async def test_a_prompt_in_question_goes_on_if_the_human_says_yes(ask: Callable[[Asked], Any]):
    diary = Diary({"user_prompt_submit": asked()})
    async with make_session(diary, ask=ask).turn("go"):
        pass
    assert diary.names == TURN


@pytest.mark.parametrize("ask", [*NO, lambda _: say_async(False)])
async def test_a_prompt_in_question_is_blocked_if_the_human_does_not_say_yes(ask: Callable[[Asked], Any]):
    diary = Diary({"user_prompt_submit": asked("a key?")})
    with pytest.raises(PromptBlockedError, match=r"a key\?"):
        async with make_session(diary, ask=ask).turn("go"):
            pass
    assert diary.names == ["user_prompt_submit", "after_turn"]


@pytest.mark.parametrize("ask", YES)
async def test_a_plain_program_may_be_told_yes(diary: Diary, ask: Callable[[Asked], Any]):
    diary = Diary({"user_prompt_submit": asked()})
    with make_session(diary, ask=ask).turn("go"):
        pass
    assert diary.names == TURN


@pytest.mark.parametrize("ask", NO)
async def test_a_plain_program_may_be_told_no(diary: Diary, ask: Callable[[Asked], Any]):
    diary = Diary({"user_prompt_submit": asked()})
    with pytest.raises(PromptBlockedError), make_session(diary, ask=ask).turn("go"):
        pass
    assert diary.names == ["user_prompt_submit", "after_turn"]


async def test_a_prompt_in_question_is_blocked_if_nobody_can_be_asked(face: Face):
    diary = Diary({"user_prompt_submit": asked("a key?")})
    with pytest.raises(PromptBlockedError, match=r"a key\?"):
        async with face.live(make_session(diary).turn("go")):
            pass


async def test_a_question_says_why_and_about_which_event(face: Face):
    diary = Diary({"user_prompt_submit": asked("a key?")})
    questions: list[Asked] = []
    async with face.live(make_session(diary, ask=lambda question: questions.append(question) or True).turn("go")):
        pass
    (question,) = questions
    assert (question.reason, question.event, question.tool) == ("a key?", diary.only("user_prompt_submit"), None)


async def test_a_prompt_that_the_human_let_pass_keeps_what_hooks_added(face: Face):
    diary = Diary({"user_prompt_submit": asked(reminders=("short",), context=("page 2",))})
    async with face.live(make_session(diary, ask=lambda _: True).turn("go")) as turn:
        assert (turn.reminders, turn.context) == (("short",), ("page 2",))


async def test_a_refused_question_leaves_a_decision_that_only_blocks(face: Face):
    diary = Diary({"user_prompt_submit": asked(reminders=("short",), context=("page 2",))})
    with pytest.raises(PromptBlockedError) as caught:
        async with face.live(make_session(diary, ask=lambda _: False).turn("go")):
            pass
    decision = caught.value.decision
    assert (decision.verdict, decision.reminders, decision.context) == ("block", (), ())


async def test_a_question_that_cannot_be_put_ends_the_prompt(face: Face):
    diary = Diary({"user_prompt_submit": asked()})

    def fail(_: Asked) -> bool:
        raise EOFError("no terminal")

    with pytest.raises(EOFError, match="no terminal"):
        async with face.live(make_session(diary, ask=fail).turn("go")):
            diary.note("not reached")
    assert diary.entries == ["user_prompt_submit"]


# Reminders and context


async def test_reminders_and_context_of_the_prompt_are_there_for_the_whole_turn(face: Face):
    diary = Diary({"user_prompt_submit": reminding("short", "kind", context=("page 2",))})
    async with face.live(make_session(diary).turn("go")) as turn:
        await face.do(turn, "call_tool", SHELL, lambda _: "ok")
        assert (turn.reminders, turn.context) == (("short", "kind"), ("page 2",))


async def test_the_next_turn_starts_without_the_reminders_of_the_last(face: Face):
    diary = Diary({"user_prompt_submit": lambda event: reminding("short") if event.fields.text == "1" else Decision()})
    session = make_session(diary)
    async with face.live(session.turn("1")) as first, face.live(session.turn("2")) as second:
        assert (first.reminders, second.reminders) == (("short",), ())


async def test_reminders_of_real_hooks_reach_the_turn_in_their_order(face: Face, bench: Bench):
    hooks = [
        shell_hook(text, give_reply(system_reminder=text), event="user_prompt_submit") for text in ("first", "second")
    ]
    engine = bench.open(write_file(*hooks))
    async with face.live(Session(engine, id="s1", cwd=bench.project).turn("go")) as turn:
        assert turn.reminders == ("first", "second")


async def test_a_message_sent_while_the_agent_runs_is_submitted_as_injected(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")) as turn:
        text = await face.do(turn, "inject", "faster")
    assert text == "faster"
    assert diary.names == ["user_prompt_submit", "before_turn", "user_prompt_submit", "after_turn"]
    event = diary.all("user_prompt_submit")[1]
    assert (event.fields.text, event.fields.injected) == ("faster", True)
    assert event.turn_id == diary.only("before_turn").turn_id


async def test_an_injected_message_is_used_as_hooks_left_it(face: Face):
    diary = Diary({"user_prompt_submit": with_text("gently")})
    async with face.live(make_session(diary).turn("go")) as turn:
        assert await face.do(turn, "inject", "faster") == "gently"


async def test_an_injected_message_adds_its_reminders_to_those_of_the_turn(face: Face):
    diary = Diary({"user_prompt_submit": lambda event: reminding(event.fields.text, context=(event.fields.text,))})
    async with face.live(make_session(diary).turn("one")) as turn:
        await face.do(turn, "inject", "two")
        assert (turn.reminders, turn.context) == (("one", "two"), ("one", "two"))


async def test_an_injected_message_leaves_prompt_and_number_of_the_turn_alone(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("one")) as turn:
        await face.do(turn, "inject", "two")
        assert (turn.prompt, turn.number) == ("one", 1)


async def test_a_blocked_injected_message_raises_and_the_turn_goes_on(face: Face):
    diary = Diary(
        {"user_prompt_submit": lambda event: blocked("not now") if event.fields.injected else reminding("short")}
    )
    async with face.live(make_session(diary).turn("one")) as turn:
        with pytest.raises(PromptBlockedError, match="not now"):
            await face.do(turn, "inject", "two")
        assert turn.reminders == ("short",)
    assert diary.fields("after_turn")["status"] == "ok"


async def test_an_injected_message_in_question_is_put_to_the_human(face: Face):
    diary = Diary({"user_prompt_submit": lambda event: asked() if event.fields.injected else Decision()})
    questions: list[Asked] = []
    session = make_session(diary, ask=lambda question: questions.append(question) or True)
    async with face.live(session.turn("one")) as turn:
        assert await face.do(turn, "inject", "two") == "two"
    assert [question.event.fields.text for question in questions] == ["two"]


# Retries


async def live_and_retry(face: Face, diary: Diary) -> None:
    """A turn that fails, and the same turn once more."""
    session = make_session(diary)
    turn = session.turn("go")
    with pytest.raises(ValueError, match="broken"):
        async with face.live(turn):
            raise ValueError("broken")
    async with face.live(session.retry(turn)):
        diary.note("work")


async def test_a_retry_does_not_submit_its_prompt_again(face: Face, diary: Diary):
    await live_and_retry(face, diary)
    assert diary.names == [*TURN, "before_turn", "after_turn"]


async def test_a_retry_says_that_it_is_one(face: Face, diary: Diary):
    await live_and_retry(face, diary)
    first, second = (event.fields for event in diary.all("before_turn"))
    assert (first.is_retry, second.is_retry) == (False, True)


async def test_a_retry_keeps_the_number_and_the_prompt_as_hooks_left_it(face: Face):
    diary = Diary({"user_prompt_submit": with_text("go, gently")})
    await live_and_retry(face, diary)
    assert [(event.fields.turn, event.fields.user_text) for event in diary.all("before_turn")] == [
        (1, "go, gently"),
        (1, "go, gently"),
    ]


async def test_a_retry_ends_with_a_status_of_its_own(face: Face, diary: Diary):
    await live_and_retry(face, diary)
    assert [event.fields.status for event in diary.all("after_turn")] == ["failed", "ok"]


async def test_a_retry_keeps_reminders_and_context_of_the_turn_and_of_messages_sent_in_it(face: Face):
    diary = Diary({"user_prompt_submit": lambda event: reminding(event.fields.text, context=(event.fields.text,))})
    session = make_session(diary)
    async with face.live(session.turn("one")) as turn:
        await face.do(turn, "inject", "two")
    async with face.live(session.retry(turn)) as retry:
        assert (retry.reminders, retry.context) == (("one", "two"), ("one", "two"))


async def test_the_turn_after_a_retry_has_the_next_number(face: Face, diary: Diary):
    session = make_session(diary)
    async with face.live(session.turn("one")) as turn:
        pass
    async with face.live(session.retry(turn)):
        pass
    async with face.live(session.turn("two")) as following:
        assert following.number == 2


async def test_a_retry_that_was_interrupted_may_be_retried(face: Face, diary: Diary):
    session = make_session(diary)
    async with face.live(session.turn("one")) as turn:
        await face.do(session, "interrupt")
    async with face.live(session.retry(turn)) as retry:
        await face.do(session, "interrupt")
    async with face.live(session.retry(retry)):
        pass
    assert [event.fields.status for event in diary.all("after_turn")] == ["interrupted", "interrupted", "ok"]


async def test_a_retry_is_no_way_around_a_blocked_prompt(face: Face):
    diary = Diary({"user_prompt_submit": blocked()})
    session = make_session(diary)
    turn = session.turn("bad")
    with pytest.raises(PromptBlockedError):
        async with face.live(turn):
            pass
    with pytest.raises(PromptBlockedError):
        async with face.live(session.retry(turn)):
            diary.note("not reached")
    assert "not reached" not in diary.entries


# Compaction


async def test_a_compaction_is_announced_with_its_numbers(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn("go")) as turn:
        await face.do(turn, "compact", "phase3", usage_pct=0.93, tokens_before=180_000)
    assert diary.fields("pre_compact") == {
        "trigger": "phase3",
        "usage_pct": 0.93,
        "tokens_before": 180_000,
        "sub_agent": None,
    }


async def test_a_compaction_cannot_be_stopped(face: Face, bench: Bench):
    engine = bench.open(write_file(shell_hook("stop", give_reply(action="block"), event="pre_compact")))
    async with face.live(Session(engine, id="s1", cwd=bench.project).turn("go")) as turn:
        await face.do(turn, "compact", "force")


def test_many_sessions_live_side_by_side(bench: Bench):
    """Turns of twenty sessions at once, each with its own reminder and its own hooks to wait for."""
    hooks = [
        shell_hook("remind", give_reply(system_reminder="short"), event="user_prompt_submit"),
        shell_hook(
            "late", 'echo "$SESSION" >> late', event="after_turn", mode="async", env={"SESSION": "${session_id}"}
        ),
    ]
    engine = bench.open(write_file(*hooks))

    async def live(name: str) -> tuple[str, ...]:
        async with Session(engine, id=name, cwd=bench.project).turn("go") as turn:
            pass
        assert f"{name}\n" in bench.read("late")
        return turn.reminders

    async def live_all() -> list[tuple[str, ...]]:
        return await asyncio.gather(*(live(f"s{number:02}") for number in range(20)))

    assert asyncio.run(live_all()) == [("short",)] * 20


async def test_a_turn_the_user_wrote_nothing_for_submits_no_prompt(face: Face, diary: Diary):
    async with face.live(make_session(diary).turn(None)) as turn:
        assert turn.prompt == ""
    assert diary.names == ["before_turn", "after_turn"]
