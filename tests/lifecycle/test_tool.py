"""A tool call: asked about, approved, run, reported; and what the model is told of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from entries import shell_hook, write_file
from faces import (
    INTERRUPTIONS,
    SHELL,
    Diary,
    Face,
    Stop,
    asked,
    blocked,
    ends_with,
    fails_with,
    make_session,
    with_args,
)
from hookline import Answer, Decision, Edit, Event, StoppedError, Tool, ToolCallDeniedError, ToolResult
from hookline.lifecycle import Asked, Turn
from hookline.testing import FakeRunner, make_engine, make_hook
from support import Bench
from waiting import wait_until

CALL = ["before_tool_call", "after_tool_call"]
ASKED = ["before_tool_call", "permission_request", "after_tool_call"]
APPROVED = ["before_tool_call", "permission_request", "approval_requested", "approval_resolved", "after_tool_call"]
DENIED_BY_HOOK = {"failed": True, "approval_rejected": True, "rejection_source": "hook", "hook_denied": True}
DENIED_BY_USER = {"failed": True, "approval_rejected": True, "rejection_source": "user", "hook_denied": False}


def make_turn(diary: Diary, **options: Any) -> Turn:
    """A turn whose own events are left aside."""
    return make_session(diary, **options).turn("go")


def never(tool: Tool) -> str:
    pytest.fail(f"{tool} ran")


def edit_args(**args: Any) -> Answer:
    """A hook's answer that overrides arguments."""
    return Answer(edits=(Edit(field="args", operation="merge", value=args),))


def mentions(event: Event, name: str, value: Any) -> bool:
    return event.tool is not None and event.tool.args.get(name) == value


def result_of(diary: Diary, name: str = "after_tool_call") -> ToolResult:
    fields: Any = diary.only(name).fields
    return fields.result  # type: ignore[no-any-return]


async def say(answer: Any) -> Any:
    """An answer that takes its time."""
    await asyncio.sleep(0)
    return answer


# A call that runs


async def test_a_call_is_announced_run_and_reported(face: Face, diary: Diary):
    await face.do(make_turn(diary), "call_tool", SHELL, lambda _: diary.note("run"))
    assert diary.entries == ["before_tool_call", "run", "after_tool_call"]


async def test_events_of_a_call_carry_the_call(face: Face, diary: Diary):
    await face.do(make_turn(diary), "call_tool", SHELL, ends_with("ok"))
    assert [event.tool for event in diary.events] == [SHELL, SHELL]


async def test_events_of_a_call_carry_the_surroundings_of_the_turn(face: Face, diary: Diary):
    await face.do(make_turn(diary), "call_tool", SHELL, ends_with("ok"))
    first, second = diary.events
    assert first.turn_id == second.turn_id is not None
    assert {(event.session_id, event.profile, event.cwd) for event in diary.events} == {("s1", "Code", "/w")}


@pytest.mark.parametrize(
    ("returned", "text"),
    [("ok", "ok"), (None, ""), (7, "7"), ({"text": "seven"}, "seven"), (ToolResult(text="full"), "full")],
)
async def test_what_a_tool_returns_becomes_its_result(face: Face, diary: Diary, returned: Any, text: str):
    result = await face.do(make_turn(diary), "call_tool", SHELL, lambda _: returned)
    assert isinstance(result, ToolResult)
    assert (result.text, result.error, result.failed, result.approval_rejected) == (text, False, False, False)
    assert result_of(diary) == result


async def test_an_async_tool_is_awaited(diary: Diary):
    result = await make_turn(diary).call_tool(SHELL, lambda _: say("ok"))
    assert result.text == "ok"


async def test_the_time_of_a_call_is_measured(face: Face, diary: Diary):
    def run(_: Tool) -> str:
        time.sleep(0.02)
        return "ok"

    result = await face.do(make_turn(diary), "call_tool", SHELL, run)
    assert 20 <= result.duration_ms < 20_000
    assert result_of(diary).duration_ms == result.duration_ms


async def test_a_time_that_the_tool_gives_itself_is_kept(face: Face, diary: Diary):
    run = ends_with("")
    result = await face.do(
        make_turn(diary), "call_tool", SHELL, lambda tool: ToolResult(text=run(tool), duration_ms=42)
    )
    assert result.duration_ms == 42


async def test_a_result_that_failed_is_no_error(face: Face, diary: Diary):
    await face.do(make_turn(diary), "call_tool", SHELL, lambda _: ToolResult(text="exit 1", failed=True))
    assert diary.names == CALL
    assert (result_of(diary).failed, result_of(diary).error) == (True, False)


async def test_a_call_runs_with_the_arguments_as_hooks_left_them(face: Face):
    diary = Diary({"before_tool_call": with_args(command="ls -A")})
    seen: list[Any] = []
    await face.do(make_turn(diary), "call_tool", SHELL, lambda tool: seen.append(tool.args))
    assert seen == [{"command": "ls -A"}]
    assert mentions(diary.only("after_tool_call"), "command", "ls -A")


async def test_arguments_nobody_edits_reach_the_tool_as_the_same_object(face: Face, diary: Diary):
    seen: list[Tool] = []
    await face.do(make_turn(diary), "call_tool", SHELL, seen.append)
    assert seen[0].args is SHELL.args


async def test_context_of_hooks_is_appended_to_the_result(face: Face):
    diary = Diary({"after_tool_call": Decision(context=("lint: fine", "tests: fine"))})
    result = await face.do(make_turn(diary), "call_tool", SHELL, ends_with("wrote a.py"))
    assert result.text == "wrote a.py\nlint: fine\ntests: fine"


async def test_context_of_one_hook_after_another_keeps_their_order(face: Face):
    hooks = [make_hook(name, event="after_tool_call") for name in ("a", "b")]
    runner = FakeRunner({name: Answer(context=(name,)) for name in ("a", "b")})
    with make_engine(hooks, runner) as engine:
        result = await face.do(make_session(engine).turn("go"), "call_tool", SHELL, ends_with("ok"))
    assert result.text == "ok\na\nb"


async def test_the_event_tells_the_result_without_what_hooks_add_to_it(face: Face):
    diary = Diary({"after_tool_call": Decision(context=("more",))})
    await face.do(make_turn(diary), "call_tool", SHELL, ends_with("ok"))
    assert result_of(diary).text == "ok"


# As a context manager


async def test_a_call_can_be_lived_through_by_hand(face: Face, diary: Diary):
    async with face.live(make_turn(diary).tool_call(SHELL)) as call:
        assert call.tool == SHELL
        call.finish("ok")
    assert diary.names == CALL
    assert call.result is not None
    assert (call.result.text, result_of(diary).text) == ("ok", "ok")


async def test_a_call_that_nobody_finished_has_an_empty_result(face: Face, diary: Diary):
    async with face.live(make_turn(diary).tool_call(SHELL)):
        pass
    assert result_of(diary).text == ""
    assert not result_of(diary).failed


async def test_a_failure_inside_a_call_goes_on_after_it_was_reported(face: Face, diary: Diary):
    call = make_turn(diary).tool_call(SHELL)
    with pytest.raises(ValueError, match="broken"):
        async with face.live(call):
            raise ValueError("broken")
    assert diary.names == [*CALL, "tool_error"]
    assert call.result is not None
    assert call.result.error


# A call that fails


async def test_a_tool_that_raises_is_reported_twice_and_told_to_the_model(face: Face, diary: Diary):
    result = await face.do(make_turn(diary), "call_tool", SHELL, fails_with(ValueError("no such file")))
    assert diary.names == [*CALL, "tool_error"]
    assert (result.text, result.error, result.failed) == ("no such file", True, True)


async def test_both_events_of_an_error_carry_the_result_with_its_marks(face: Face, diary: Diary):
    await face.do(make_turn(diary), "call_tool", SHELL, fails_with(ValueError("no such file")))
    for name in ("after_tool_call", "tool_error"):
        found = result_of(diary, name)
        assert (found.text, found.error, found.failed, found.approval_rejected) == ("no such file", True, True, False)
        assert (found.rejection_source, found.hook_denied) == (None, None)


async def test_an_error_without_words_is_told_by_its_name(face: Face, diary: Diary):
    result = await face.do(make_turn(diary), "call_tool", SHELL, fails_with(KeyError()))
    assert result.text == "KeyError"


async def test_context_of_both_events_of_an_error_is_appended_in_order(face: Face):
    diary = Diary({"after_tool_call": Decision(context=("first",)), "tool_error": Decision(context=("second",))})
    result = await face.do(make_turn(diary), "call_tool", SHELL, fails_with(ValueError("broken")))
    assert result.text == "broken\nfirst\nsecond"


async def test_a_result_that_is_none_is_an_error_of_the_tool(face: Face, diary: Diary):
    """A mapping that is no result is a mistake of the tool, not of the turn."""
    result = await face.do(make_turn(diary), "call_tool", SHELL, lambda _: {"colour": "red"})
    assert result.error
    assert "colour" in result.text


# A call that is ended from outside


@pytest.mark.parametrize("kind", [*INTERRUPTIONS, asyncio.CancelledError])
async def test_an_interrupted_call_is_reported_as_failed_and_not_as_an_error(
    face: Face, diary: Diary, kind: type[BaseException]
):
    with pytest.raises(kind):
        await face.do(make_turn(diary), "call_tool", SHELL, fails_with(kind()))
    assert diary.names == CALL
    found = result_of(diary)
    assert (found.text, found.failed, found.error, found.approval_rejected) == ("interrupted", True, False, False)


async def test_a_cancelled_call_is_reported(diary: Diary):
    started = asyncio.Event()

    async def run(_: Tool) -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(make_turn(diary).call_tool(SHELL, run))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert diary.names == CALL
    assert result_of(diary).text == "interrupted"


async def test_an_interrupted_call_interrupts_its_turn(face: Face, diary: Diary):
    with pytest.raises(Stop):
        async with face.live(make_turn(diary)) as turn:
            await face.do(turn, "call_tool", SHELL, fails_with(Stop()))
    assert diary.fields("after_turn")["status"] == "interrupted"


async def test_a_failed_call_does_not_fail_its_turn(face: Face, diary: Diary):
    async with face.live(make_turn(diary)) as turn:
        await face.do(turn, "call_tool", SHELL, fails_with(ValueError("broken")))
    assert diary.fields("after_turn")["status"] == "ok"


# A call that a hook denies


async def test_a_denied_call_does_not_run_and_the_model_is_told_why(face: Face):
    diary = Diary({"before_tool_call": blocked("not here")})
    result = await face.do(make_turn(diary), "call_tool", SHELL, never)
    assert (result.text, result.failed, result.error) == ("not here", True, False)


async def test_a_denied_call_is_reported_with_its_marks_and_never_as_an_error(face: Face):
    diary = Diary({"before_tool_call": blocked("not here")})
    await face.do(make_turn(diary), "call_tool", SHELL, never)
    assert diary.names == CALL
    found = result_of(diary)
    assert {name: getattr(found, name) for name in DENIED_BY_HOOK} == DENIED_BY_HOOK
    assert (found.text, found.error, found.duration_ms) == ("not here", False, 0)


async def test_a_denied_call_by_hand_raises_reason_message_and_result(face: Face):
    diary = Diary({"before_tool_call": blocked("not here", user_message="ask Kim")})
    with pytest.raises(ToolCallDeniedError, match="not here") as caught:
        async with face.live(make_turn(diary).tool_call(SHELL)):
            diary.note("not reached")
    error = caught.value
    assert isinstance(error, StoppedError)
    assert (error.reason, error.user_message, error.result.text) == ("not here", "ask Kim", "not here")
    assert (error.decision.verdict, error.result.hook_denied) == ("block", True)
    assert diary.entries == CALL


async def test_a_denial_without_a_reason_is_told_all_the_same(face: Face):
    diary = Diary({"before_tool_call": blocked(None)})
    result = await face.do(make_turn(diary), "call_tool", SHELL, never)
    assert result.text
    assert result.hook_denied


async def test_context_of_hooks_is_appended_to_a_denial(face: Face):
    diary = Diary({"before_tool_call": blocked("not here"), "after_tool_call": Decision(context=("see RULES",))})
    result = await face.do(make_turn(diary), "call_tool", SHELL, never)
    assert result.text == "not here\nsee RULES"


async def test_the_report_of_a_denied_call_says_what_hooks_had_made_of_it(face: Face):
    runner = FakeRunner({"edit": edit_args(command="ls -A"), "stop": Answer(verdict="block")})
    hooks = [make_hook("edit"), make_hook("stop"), make_hook("see", event="after_tool_call")]
    with make_engine(hooks, runner) as engine:
        await face.do(make_session(engine).turn("go"), "call_tool", SHELL, never)
    name, event = runner.calls[-1]
    assert name == "see"
    assert mentions(event, "command", "ls -A")


async def test_a_turn_goes_on_after_a_denied_call(face: Face):
    diary = Diary({"before_tool_call": blocked()})
    async with face.live(make_turn(diary)) as turn:
        await face.do(turn, "call_tool", SHELL, never)
    assert diary.fields("after_turn")["status"] == "ok"


# A call that hooks put to the human


@pytest.mark.parametrize("answer", [True, 1, "yes"])
async def test_a_call_in_question_runs_if_the_human_says_yes(face: Face, answer: Any):
    diary = Diary({"before_tool_call": asked()})
    result = await face.do(make_turn(diary, ask=lambda _: answer), "call_tool", SHELL, ends_with("ran"))
    assert result.text == "ran"
    assert diary.names == ASKED


@pytest.mark.parametrize("answer", [False, None, 0, ""])
async def test_a_call_in_question_is_rejected_by_the_user_if_the_human_does_not_say_yes(face: Face, answer: Any):
    diary = Diary({"before_tool_call": asked("sure?")})
    result = await face.do(make_turn(diary, ask=lambda _: answer), "call_tool", SHELL, never)
    assert diary.names == ASKED
    assert {name: getattr(result_of(diary), name) for name in DENIED_BY_USER} == DENIED_BY_USER
    assert result.text == "sure?"


@pytest.mark.parametrize(("answer", "text"), [(True, "ran"), (False, "sure?"), (None, "sure?")])
async def test_a_human_may_take_their_time(answer: Any, text: str):
    diary = Diary({"before_tool_call": asked("sure?")})
    result = await make_turn(diary, ask=lambda _: say(answer)).call_tool(SHELL, ends_with("ran"))
    assert result.text == text


async def test_a_call_in_question_is_denied_by_the_hook_if_nobody_can_be_asked(face: Face):
    diary = Diary({"before_tool_call": asked("sure?")})
    result = await face.do(make_turn(diary), "call_tool", SHELL, never)
    assert {name: getattr(result, name) for name in DENIED_BY_HOOK} == DENIED_BY_HOOK
    assert "sure?" in result.text
    assert "nobody could be asked" in result.text


async def test_a_question_shows_the_call_as_hooks_left_it(face: Face):
    def decide(event: Event) -> Decision:
        return replace(with_args(command="rm a")(event), verdict="ask", reason="sure?")

    questions: list[Asked] = []
    diary = Diary({"before_tool_call": decide})
    turn = make_turn(diary, ask=lambda question: questions.append(question) or True)
    await face.do(turn, "call_tool", SHELL, ends_with("ran"))
    (question,) = questions
    assert question.reason == "sure?"
    assert question.tool == replace(SHELL, args={"command": "rm a"})


async def test_a_rejected_question_raises_for_a_host_by_hand(face: Face):
    diary = Diary({"before_tool_call": asked("sure?", user_message="look twice")})
    with pytest.raises(ToolCallDeniedError, match=r"sure\?") as caught:
        async with face.live(make_turn(diary, ask=lambda _: False).tool_call(SHELL)):
            diary.note("not reached")
    assert (caught.value.user_message, caught.value.result.rejection_source) == ("look twice", "user")


async def test_a_call_does_not_run_if_the_question_cannot_be_put(face: Face):
    diary = Diary({"before_tool_call": asked()})

    def fail(_: Asked) -> bool:
        raise EOFError("no terminal")

    with pytest.raises(EOFError, match="no terminal"):
        await face.do(make_turn(diary, ask=fail), "call_tool", SHELL, never)


async def test_a_call_cancelled_while_the_human_thinks_does_not_run(diary: Diary):
    diary = Diary({"before_tool_call": asked()})
    thinking = asyncio.Event()

    async def ask(_: Asked) -> bool:
        thinking.set()
        await asyncio.Event().wait()
        return True

    task = asyncio.create_task(make_turn(diary, ask=ask).call_tool(SHELL, never))
    await thinking.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "tool_error" not in diary.names


# Approval by the host


async def call_with(face: Face, diary: Diary, approve: Callable[[Tool], Any], run: Callable[[Tool], Any]) -> ToolResult:
    result: ToolResult = await face.do(make_turn(diary), "call_tool", SHELL, run, approve=approve)
    return result


async def test_an_approved_call_is_asked_about_announced_resolved_and_run(face: Face, diary: Diary):
    result = await call_with(face, diary, lambda _: True, ends_with("ran"))
    assert diary.names == APPROVED
    assert result.text == "ran"


async def test_both_events_of_an_approval_carry_one_request(face: Face, diary: Diary):
    await call_with(face, diary, lambda _: True, ends_with("ran"))
    requested, resolved = diary.fields("approval_requested"), diary.fields("approval_resolved")
    assert requested["request_id"]
    assert resolved == {**requested, "approved": True}
    assert diary.only("approval_requested").tool == SHELL


async def test_each_approval_is_a_request_of_its_own(face: Face, diary: Diary):
    for _ in range(2):
        await call_with(face, diary, lambda _: True, ends_with("ran"))
    first, second = (event.fields.request_id for event in diary.all("approval_requested"))
    assert first != second


async def test_the_caller_of_an_approval_is_the_profile_where_the_agent_has_no_name(face: Face, diary: Diary):
    await call_with(face, diary, lambda _: True, ends_with("ran"))
    assert diary.fields("approval_requested")["caller_name"] == "Code"


async def test_a_rejected_call_does_not_run_and_is_reported_as_the_users_rejection(face: Face, diary: Diary):
    result = await call_with(face, diary, lambda _: False, never)
    assert diary.names == APPROVED
    assert diary.fields("approval_resolved")["approved"] is False
    assert {name: getattr(result_of(diary), name) for name in DENIED_BY_USER} == DENIED_BY_USER
    assert "rejected" in result.text


async def test_a_rejected_call_raises_for_a_host_by_hand(face: Face, diary: Diary):
    with pytest.raises(ToolCallDeniedError) as caught:
        async with face.live(make_turn(diary).tool_call(SHELL, approve=lambda _: False)):
            diary.note("not reached")
    assert caught.value.result.rejection_source == "user"
    assert diary.entries == APPROVED


async def test_an_approval_without_an_answer_is_none(face: Face, diary: Diary):
    """A callback that forgets to return must not open the gate."""
    await call_with(face, diary, lambda _: None, never)
    assert diary.fields("approval_resolved")["approved"] is False


async def test_a_call_that_a_hook_denies_is_not_put_up_for_approval(face: Face):
    diary = Diary({"before_tool_call": blocked()})
    await call_with(face, diary, never, never)
    assert diary.names == CALL


async def test_a_call_that_hooks_let_pass_is_put_up_for_approval_all_the_same(face: Face):
    diary = Diary({"before_tool_call": asked()})
    turn = make_turn(diary, ask=lambda _: True)
    await face.do(turn, "call_tool", SHELL, never, approve=lambda _: False)
    assert diary.names == [*ASKED[:2], *APPROVED[1:]]


async def test_an_approval_sees_the_call_as_hooks_left_it(face: Face):
    diary = Diary({"before_tool_call": with_args(command="ls -A")})
    seen: list[Tool] = []
    await call_with(face, diary, lambda tool: seen.append(tool) or True, ends_with("ran"))
    assert seen[0].args == {"command": "ls -A"}
    assert mentions(diary.only("approval_requested"), "command", "ls -A")


async def test_an_approval_may_take_its_time(diary: Diary):
    result = await make_turn(diary).call_tool(SHELL, never, approve=lambda _: say(False))
    assert result.rejection_source == "user"


async def test_an_approval_that_is_cancelled_is_not_resolved(diary: Diary):
    waiting = asyncio.Event()

    async def approve(_: Tool) -> bool:
        waiting.set()
        await asyncio.Event().wait()
        return True

    task = asyncio.create_task(make_turn(diary).call_tool(SHELL, never, approve=approve))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "approval_requested" in diary.names
    assert "approval_resolved" not in diary.names


async def test_an_approval_that_fails_is_not_resolved_and_the_call_does_not_run(face: Face, diary: Diary):
    with pytest.raises(EOFError, match="no terminal"):
        await call_with(face, diary, fails_with(EOFError("no terminal")), never)
    assert "approval_resolved" not in diary.names


# Arguments that the human edits


def edits(**args: Any) -> Callable[[Tool], Tool]:
    """An approval that edits arguments."""
    return lambda tool: replace(tool, args={**tool.args, **args})


async def test_hooks_are_asked_again_about_arguments_that_the_human_edited(face: Face, diary: Diary):
    await call_with(face, diary, edits(command="ls /tmp"), ends_with("ran"))
    assert diary.names == [*APPROVED[:4], *CALL]
    first, second = diary.all("before_tool_call")
    assert (first.tool, second.tool) == (SHELL, replace(SHELL, args={"command": "ls /tmp"}))


async def test_a_call_runs_with_the_arguments_that_the_human_edited(face: Face, diary: Diary):
    seen: list[Any] = []
    await call_with(face, diary, edits(command="ls /tmp"), lambda tool: seen.append(tool.args))
    assert seen == [{"command": "ls /tmp"}]
    assert mentions(diary.only("after_tool_call"), "command", "ls /tmp")


async def test_an_edit_of_the_human_is_an_approval_of_the_call_as_it_was_shown(face: Face, diary: Diary):
    await call_with(face, diary, edits(command="ls /tmp"), ends_with("ran"))
    resolved = diary.only("approval_resolved")
    assert (resolved.fields.approved, resolved.tool) == (True, SHELL)


async def test_a_hook_may_deny_what_the_human_made_of_a_call(face: Face):
    diary = Diary(
        {"before_tool_call": lambda event: blocked("no") if mentions(event, "command", "rm x") else Decision()}
    )
    result = await call_with(face, diary, edits(command="rm x"), never)
    assert {name: getattr(result, name) for name in DENIED_BY_HOOK} == DENIED_BY_HOOK
    assert mentions(diary.only("after_tool_call"), "command", "rm x")
    assert "tool_error" not in diary.names


async def test_a_hook_may_edit_what_the_human_made_of_a_call(face: Face):
    diary = Diary({"before_tool_call": with_args(safe=True)})
    seen: list[Any] = []
    await call_with(face, diary, edits(command="rm x", safe=False), lambda tool: seen.append(tool.args))
    assert seen == [{"command": "rm x", "safe": True}]


async def test_a_hook_may_put_what_the_human_made_of_a_call_in_question(face: Face):
    diary = Diary({"before_tool_call": lambda event: asked() if mentions(event, "command", "rm x") else Decision()})
    turn = make_turn(diary, ask=lambda _: False)
    result = await face.do(turn, "call_tool", SHELL, never, approve=edits(command="rm x"))
    assert result.rejection_source == "user"


async def test_hooks_are_not_asked_again_about_a_call_handed_back_as_it_was(face: Face, diary: Diary):
    await call_with(face, diary, lambda tool: tool, ends_with("ran"))
    assert diary.names == APPROVED


async def test_the_human_is_asked_once_however_hooks_edit(face: Face):
    diary = Diary({"before_tool_call": with_args(safe=True)})
    await call_with(face, diary, edits(command="rm x"), ends_with("ran"))
    assert len(diary.all("approval_requested")) == 1


@pytest.mark.parametrize(("before", "after"), [(True, 1), (1, True), (1, 1.0), ([True], [1])])
async def test_an_edit_that_changes_only_the_kind_of_a_value_counts(face: Face, diary: Diary, before: Any, after: Any):
    tool = Tool(name="edit", args={"force": before})
    seen: list[Any] = []
    run: Callable[[Tool], Any] = lambda tool: seen.append(tool.args["force"])  # noqa: E731
    await face.do(make_turn(diary), "call_tool", tool, run, approve=edits(force=after))
    assert repr(seen) == repr([after])


# Real hooks


async def test_a_call_goes_through_all_its_hooks_in_their_order(face: Face):
    runner = FakeRunner({"edit": edit_args(command="ls -A")})
    names = ["edit", "look", "after"]
    hooks = [make_hook(name, event="after_tool_call" if name == "after" else "before_tool_call") for name in names]
    with make_engine(hooks, runner) as engine:
        await face.do(make_session(engine).turn("go"), "call_tool", SHELL, ends_with("ok"))
    assert [(name, event.tool.args["command"]) for name, event in runner.calls if event.tool] == [
        ("edit", "ls"),
        ("look", "ls -A"),
        ("after", "ls -A"),
    ]


async def test_b40_a_project_cannot_open_the_users_guard_for_a_host(face: Face, bench: Bench):
    """Field report B40: a project's hook of the same id runs beside the user's, not in its place."""
    bench.write(write_file(shell_hook("guard", "echo mine >&2; exit 2", on_error="block")), layer="user")
    engine = bench.open(write_file(shell_hook("guard", "true"), shell_hook("format", "true", event="after_tool_call")))
    result = await face.do(make_session(engine, cwd=bench.project).turn("go"), "call_tool", SHELL, never)
    assert (result.text, result.hook_denied) == ("mine", True)


async def test_calls_side_by_side_keep_apart(diary: Diary):
    """Two calls of one turn that overlap are reported with their own arguments and results."""
    gates = {"a": asyncio.Event(), "b": asyncio.Event()}

    async def run(tool: Tool) -> str:
        await gates[tool.args["name"]].wait()
        return str(tool.args["name"])

    turn = make_turn(diary)
    calls = [asyncio.create_task(turn.call_tool(Tool(name="t", args={"name": name}), run)) for name in ("a", "b")]
    await wait_until(lambda: len(diary.all("before_tool_call")) == 2, "both calls are under way")
    gates["b"].set()
    await calls[1]
    gates["a"].set()
    await calls[0]
    ends: list[Any] = [(event.tool, event.fields) for event in diary.all("after_tool_call")]
    assert [(tool.args["name"], fields.result.text) for tool, fields in ends] == [("b", "b"), ("a", "a")]


async def test_a_call_that_is_postponed_is_not_reported(face: Face, diary: Diary):
    with pytest.raises(ValueError, match="later"):
        async with face.live(make_session(diary).turn("go").tool_call(SHELL)) as call:
            call.postpone()
            raise ValueError("later")
    assert diary.names == ["before_tool_call"]
