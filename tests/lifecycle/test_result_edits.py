"""What hooks make of a tool call's result: what the host, the model and whoever raised get of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faces import SHELL, Diary, Face, Stop, asked, blocked, ends_with, fails_with, make_session
from hookline import Decision, Engine, ToolCallDeniedError, ToolResult
from hookline.lifecycle import Turn, make_check
from support import Bench

IMAGE = {"type": "image", "data": "aGk="}
MARKED = "Tool result marked as error by a hook"


def text_block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


@pytest.fixture
def engine(bench: Bench) -> Engine:
    return bench.open()


def make_turn(engine: Engine) -> Turn:
    return make_session(engine).turn("go")  # type: ignore[arg-type]


def say(engine: Engine, *results: Any, event: str = "tool_result") -> list[Any]:
    """Handlers that return these results, one each; gives the list of the events they get."""
    seen: list[Any] = []

    def answer(result: Any) -> Callable[[Any], Any]:
        def handler(event: Any) -> Any:
            seen.append(event)
            return result

        return handler

    for result in results:
        engine.on(event, answer(result))  # type: ignore[call-overload]
    return seen


async def call(face: Face, engine: Engine, run: Any = None) -> ToolResult:
    full = ToolResult(text="C", content=[text_block("C"), IMAGE], details={"d": 1})
    result: ToolResult = await face.do(make_turn(engine), "call_tool", SHELL, run or (lambda _: full))
    return result


# The parts of a result


async def test_a_result_that_nobody_edits_is_handed_back_as_it_was(face: Face, engine: Engine):
    """Case 10: `tool_result` None leaves the tool's own result."""
    say(engine, None)
    own = ToolResult(text="ok", duration_ms=5)
    assert await call(face, engine, lambda _: own) is own


async def test_new_content_leaves_the_details(face: Face, engine: Engine):
    """Case 11: {content C2}: content C2, details D."""
    say(engine, {"content": [text_block("C2")]})
    result = await call(face, engine)
    assert (result.content, result.text, result.details) == ([text_block("C2")], "C2", {"d": 1})


async def test_new_details_leave_the_content(face: Face, engine: Engine):
    """Case 11: {details D2}: content C, details D2."""
    say(engine, {"details": {"d": 2}})
    result = await call(face, engine)
    assert (result.content, result.details) == ([text_block("C"), IMAGE], {"d": 2})


async def test_details_can_be_cleared_on_purpose(face: Face, engine: Engine):
    """Section 4: a detail can be cleared on purpose."""
    say(engine, {"details": None})
    assert (await call(face, engine)).details is None


async def test_overrides_of_several_handlers_add_up_by_field(face: Face, engine: Engine):
    """Case 18: h1 {content X}, h2 {details Y}: both applied, h2 sees X."""
    seen = say(engine, {"content": [text_block("X")]}, {"details": "Y"}, {})
    result = await call(face, engine)
    assert (result.text, result.details) == ("X", "Y")
    assert seen[1].content == [text_block("X")]


async def test_a_text_in_place_of_a_result_leaves_nothing_of_its_other_parts(face: Face):
    """A3: a redacted result takes the images of the original with it."""

    def redact(event: Any) -> Decision:
        result = ToolResult(text="[redacted]", details=None)
        return Decision(event=type(event)(type(event.fields)(tool=event.tool, result=result)))

    turn = make_session(Diary({"after_tool_call": redact})).turn("go")
    result = await face.do(turn, "call_tool", SHELL, lambda _: ToolResult(text="secret", content=[IMAGE]))
    assert (result.text, result.content) == ("[redacted]", None)


async def test_context_is_appended_to_the_text_and_to_the_blocks(face: Face, engine: Engine):
    say(engine, {"context": "lint: fine"})
    result = await call(face, engine)
    assert result.text == "C\nlint: fine"
    assert result.content == [text_block("C"), IMAGE, text_block("lint: fine")]


async def test_context_comes_after_a_result_that_was_replaced(face: Face, engine: Engine):
    say(engine, {"content": "X", "context": "more"})
    result = await call(face, engine)
    assert (result.text, result.content) == ("X\nmore", [text_block("X"), text_block("more")])


async def test_a_handler_that_raises_leaves_the_result_alone(face: Face, engine: Engine):
    """Case 15: the error goes to the listeners, the result is unchanged."""
    engine.on("tool_result", lambda event: 1 / 0)
    own = ToolResult(text="ok", duration_ms=5)
    assert await call(face, engine, lambda _: own) is own


# A success that a hook marks as an error


async def test_a_success_marked_as_an_error_has_failed(face: Face, engine: Engine):
    say(engine, {"is_error": True})
    result = await call(face, engine)
    assert (result.failed, result.error, result.text) == (True, False, "C")


@pytest.mark.parametrize("content", [[], [IMAGE]])
async def test_an_error_without_words_gets_some(face: Face, engine: Engine, content: list[Any]):
    say(engine, {"is_error": True, "content": content})
    assert (await call(face, engine)).text == MARKED


async def test_words_of_an_error_that_stand_in_blocks_alone_are_joined(face: Face, engine: Engine):
    say(engine, {"is_error": True})
    result = await call(face, engine, lambda _: ToolResult(content=[text_block("a"), IMAGE, text_block("b")]))
    assert result.text == "a\nb"


async def test_a_marked_success_raises_nothing_in_a_block_and_is_no_tool_error(face: Face, engine: Engine):
    say(engine, {"is_error": True})
    errors = say(engine, None, event="tool_error")
    async with face.live(make_turn(engine).tool_call(SHELL)) as tool_call:
        tool_call.finish("ok")
    assert tool_call.result is not None
    assert (tool_call.result.failed, tool_call.is_marked, errors) == (True, True, [])


# A failure that a hook makes a success of


async def test_a_failure_made_a_success_comes_back_as_one(face: Face, engine: Engine):
    """Case 17: tool raised, handler {is_error False, content X}: succeeds with X."""
    say(engine, {"is_error": False, "content": "X"})
    result = await call(face, engine, fails_with(ValueError("boom")))
    assert (result.text, result.failed, result.error) == ("X", False, False)


async def test_a_failure_made_a_success_does_not_leave_its_block(face: Face, engine: Engine):
    """Case 17, by hand: the block ends as if nothing had been raised."""
    say(engine, {"is_error": False, "content": "X"})
    tool_call = make_turn(engine).tool_call(SHELL)
    async with face.live(tool_call):
        raise ValueError("boom")
    assert tool_call.is_mended
    assert tool_call.result is not None
    assert tool_call.result.text == "X"


async def test_other_words_for_a_failure_leave_it_one(face: Face, engine: Engine):
    """Case 17: {content X} alone: the error goes on."""
    say(engine, {"content": "X"})
    boom = ValueError("boom")
    tool_call = make_turn(engine).tool_call(SHELL)
    with pytest.raises(ValueError, match="boom") as caught:
        async with face.live(tool_call):
            raise boom
    assert caught.value is boom
    assert tool_call.result is not None
    assert (tool_call.result.text, tool_call.result.failed, tool_call.result.error) == ("X", True, True)


async def test_a_failure_is_told_once_with_its_text_as_one_block(face: Face, engine: Engine):
    """Case 13: one `tool_result` with is_error, content [text boom], details None."""
    (seen,) = [say(engine, None)]
    await call(face, engine, fails_with(ValueError("boom")))
    (event,) = seen
    assert (event.is_error, event.content, event.details) == (True, [text_block("boom")], None)


async def test_a_failure_made_a_success_is_still_told_as_a_call_that_raised(face: Face, engine: Engine):
    """Rule 3: for an exception `tool_error` follows, with the result as it stands."""
    say(engine, {"is_error": False, "content": "X"})
    results = []
    engine.on("tool_error", lambda event: results.append(event.result))
    await call(face, engine, fails_with(ValueError("boom")))
    ((text, failed, error),) = [(result.text, result.failed, result.error) for result in results]
    assert (text, failed, error) == ("X", False, True)


async def test_an_interruption_cannot_be_made_a_success(face: Face, engine: Engine):
    say(engine, {"is_error": False, "content": "X"})
    with pytest.raises(Stop):
        async with face.live(make_turn(engine).tool_call(SHELL)):
            raise Stop


async def test_a_denied_call_cannot_be_made_a_success(face: Face, engine: Engine):
    say(engine, {"block": True, "reason": "no"}, event="tool_call")
    say(engine, {"is_error": False, "content": "X"}, event="after_tool_call")
    with pytest.raises(ToolCallDeniedError, match="no") as caught:
        async with face.live(make_turn(engine).tool_call(SHELL)):
            pytest.fail("the call ran")
    assert caught.value.result.failed


# Calls that did not run


async def test_handlers_of_modules_hear_no_result_of_a_call_that_a_hook_denied(face: Face, engine: Engine):
    """Rule 3, case 4: no `tool_result` for a call that was blocked; by its own name the event tells of it."""
    say(engine, {"block": True}, event="tool_call")
    aliased, native = say(engine, None), say(engine, None, event="after_tool_call")
    assert (await call(face, engine)).hook_denied
    assert (len(aliased), len(native)) == (0, 1)


async def test_handlers_of_modules_hear_no_result_of_a_call_that_the_user_rejected(face: Face, engine: Engine):
    aliased = say(engine, None)
    await face.do(make_turn(engine), "call_tool", SHELL, ends_with("ok"), approve=lambda _: False)
    assert aliased == []


# Arguments that a hook rewrites


async def test_rewritten_arguments_that_do_not_fit_are_denied(face: Face, engine: Engine):
    """A17: patches that change the kind of the arguments are refused where the host gives a schema."""
    say(engine, {"input": {"command": 7}}, event="tool_call")
    check = make_check({"type": "object", "properties": {"command": {"type": "string"}}})
    result = await face.do(make_turn(engine), "call_tool", SHELL, fails_with(AssertionError("ran")), check=check)
    assert result.hook_denied
    assert "rewrote the arguments of bash" in result.text
    assert "$.command: 7 is not of type 'string'" in result.text


async def test_arguments_that_nobody_rewrote_are_not_checked(face: Face, engine: Engine):
    say(engine, {}, event="tool_call")
    check: Any = lambda _: pytest.fail("checked")  # noqa: E731
    assert (await face.do(make_turn(engine), "call_tool", SHELL, ends_with("ok"), check=check)).text == "ok"


async def test_a_call_keeps_what_was_asked_for_beside_what_runs(face: Face, engine: Engine):
    """F: the original input is kept for audit."""
    say(engine, {"input": {"command": "ls -A"}}, event="tool_call")
    async with face.live(make_turn(engine).tool_call(SHELL)) as tool_call:
        tool_call.finish("ok")
    assert (tool_call.requested, dict(tool_call.tool.args)) == (SHELL, {"command": "ls -A"})


# Permission


@pytest.mark.parametrize("way", ["approval", "question"])
async def test_a_hook_denies_that_the_human_is_asked(face: Face, way: str):
    """Facts 49 and 50 of folders: "Permission denied by hook: REASON", and the prompt is skipped."""
    diary = Diary(
        {"permission_request": blocked("not now")} | ({"before_tool_call": asked()} if way != "approval" else {})
    )
    turn = make_session(diary, ask=lambda _: pytest.fail("asked")).turn("go")
    approve: Any = (lambda _: pytest.fail("asked")) if way == "approval" else None
    result = await face.do(turn, "call_tool", SHELL, fails_with(AssertionError("ran")), approve=approve)
    assert (result.text, result.rejection_source) == ("Permission denied by hook: not now", "hook")
    assert diary.names == ["before_tool_call", "permission_request", "after_tool_call"]


async def test_a_permission_request_names_the_folders_that_are_asked_for(face: Face, diary: Diary):
    turn = make_session(diary).turn("go")
    await face.do(turn, "call_tool", SHELL, ends_with("ok"), approve=lambda _: True, requested_dirs=["/etc"])
    assert diary.fields("permission_request")["requested_dirs"] == ["/etc"]


async def test_a_call_that_needs_no_human_asks_for_no_permission(face: Face, diary: Diary):
    await face.do(make_session(diary).turn("go"), "call_tool", SHELL, ends_with("ok"))
    assert "permission_request" not in diary.names
