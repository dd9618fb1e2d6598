"""Wrapped tools: section 5 of the module contract, for functions and objects, plain and async."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec
import pytest

from entries import shell_hook, write_file
from faces import Diary, Face, Stop, asked, blocked, fails_with, make_session
from hookline import Decision, Engine, HooklineError, ToolCallDeniedError, ToolFailedError, ToolResult, wrap_tool
from hookline.lifecycle import SchemaError, WrapError
from support import Bench

DEFAULT = "Tool execution was blocked by a hook"
BLOCKS = [{"type": "text", "text": "C"}]


@pytest.fixture
def engine(bench: Bench) -> Engine:
    return bench.open()


class Tools:
    """Makes a tool of a function, plain or async as the face is, and calls it."""

    def __init__(self, face: Face) -> None:
        self._is_async = face.name == "async"

    def make(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not self._is_async:
            return function

        @functools.wraps(function)
        async def run(*args: Any, **options: Any) -> Any:
            return function(*args, **options)

        return run

    async def call(self, tool: Callable[..., Any], *args: Any, **options: Any) -> Any:
        found = tool(*args, **options)
        return await found if self._is_async else found


@pytest.fixture
def tools(face: Face) -> Tools:
    return Tools(face)


def bash(command: str) -> Any:
    """Run a command."""
    return f"ran {command}"


def never(command: str) -> Any:
    pytest.fail(f"{command} ran")


# Blocked


async def test_a_blocked_call_raises_exactly_the_reason_and_nothing_runs(tools: Tools, engine: Engine):
    """Case 4: {block, reason R}: raises with text exactly R; the tool is never called; no tool_result."""
    engine.on("tool_call", lambda event: {"block": True, "reason": "R: no, not here"})
    engine.on("tool_result", lambda event: pytest.fail("tool_result was told"))
    with pytest.raises(ToolCallDeniedError) as caught:
        await tools.call(wrap_tool(tools.make(never), engine), "ls")
    assert str(caught.value) == "R: no, not here"


@pytest.mark.parametrize("result", [{"block": True}, {"block": True, "reason": ""}])
async def test_a_block_without_a_reason_gets_the_default_text(tools: Tools, engine: Engine, result: Any):
    """Case 5."""
    engine.on("tool_call", lambda event: result)
    with pytest.raises(ToolCallDeniedError) as caught:
        await tools.call(wrap_tool(tools.make(never), engine), "ls")
    assert str(caught.value) == DEFAULT


async def test_a_stand_in_engine_that_blocks_without_a_reason_gets_the_default_text(tools: Tools):
    with pytest.raises(ToolCallDeniedError) as caught:
        await tools.call(wrap_tool(tools.make(never), Diary({"before_tool_call": blocked(None)})), "ls")
    assert str(caught.value) == DEFAULT


async def test_a_handler_that_raises_blocks_with_exactly_its_text(tools: Tools, engine: Engine):
    """Case 6: tool_call handler raises E: the call fails with E's text, the tool never called."""

    def fail(event: Any) -> None:
        raise ValueError("E: cannot say")

    engine.on("tool_call", fail)
    with pytest.raises(ToolCallDeniedError) as caught:
        await tools.call(wrap_tool(tools.make(never), engine), "ls")
    assert str(caught.value) == "E: cannot say"


async def test_the_first_block_ends_the_matter(tools: Tools, engine: Engine):
    """Case 3: h1 None, h2 {block, reason x}, h3: h3 is not called; blocked with x."""
    engine.on("tool_call", lambda event: None)
    engine.on("tool_call", lambda event: {"block": True, "reason": "x"})
    engine.on("tool_call", lambda event: pytest.fail("h3 was called"))
    with pytest.raises(ToolCallDeniedError, match=r"^x$"):
        await tools.call(wrap_tool(tools.make(never), engine), "ls")


async def test_reasons_without_a_block_let_the_tool_run(tools: Tools, engine: Engine):
    """Case 2: h1 {reason one}, h2 {reason two}, h3 None: not blocked, the tool runs."""
    for result in ({"reason": "one"}, {"reason": "two"}, None):
        engine.on("tool_call", lambda event, context, said=result: said)
    assert await tools.call(wrap_tool(tools.make(bash), engine), "ls") == "ran ls"


async def test_a_question_that_nobody_can_answer_is_a_no(tools: Tools):
    with pytest.raises(ToolCallDeniedError, match=r"sure\?"):
        await tools.call(wrap_tool(tools.make(never), Diary({"before_tool_call": asked("sure?")})), "ls")


async def test_a_question_of_a_bare_engine_goes_to_who_is_named(tools: Tools):
    diary = Diary({"before_tool_call": asked("sure?")})
    assert await tools.call(wrap_tool(tools.make(bash), diary, ask=lambda _: True), "ls") == "ran ls"


async def test_a_call_that_the_host_does_not_approve_raises(tools: Tools, diary: Diary):
    with pytest.raises(ToolCallDeniedError, match="rejected by the user"):
        await tools.call(wrap_tool(tools.make(never), diary, approve=lambda _: False), "ls")


# Nobody has anything to say


async def test_without_hooks_a_tool_gets_the_very_arguments_and_gives_its_very_result(tools: Tools, engine: Engine):
    """Case 8: no handlers: identical arguments object, own result object."""
    given: Mapping[str, Any] = {"command": "ls"}
    result = object()
    seen: list[Any] = []
    tool = wrap_tool(tools.make(lambda params: seen.append(params) or result), engine, arguments_in="params")
    assert await tools.call(tool, given) is result
    assert seen[0] is given


async def test_hooks_that_say_nothing_leave_arguments_and_result_the_objects_they_are(tools: Tools, engine: Engine):
    """Cases 8 and 10: with handlers that have no opinion."""
    for name in ("tool_call", "tool_result"):
        engine.on(name, lambda event: None)  # type: ignore[call-overload]
    given, result = {"command": "ls"}, {"content": BLOCKS, "details": 1}
    seen: list[Any] = []
    tool = wrap_tool(tools.make(lambda params: seen.append(params) or result), engine, arguments_in="params")
    assert await tools.call(tool, given) is result
    assert seen[0] is given


async def test_a_handlers_own_copy_of_the_input_reaches_nobody(tools: Tools, engine: Engine):
    """F: `event.input` is the handler's own copy."""
    engine.on("tool_call", lambda event: event.input.update(command="rm -rf /"))
    assert await tools.call(wrap_tool(tools.make(bash), engine), "ls") == "ran ls"


# What hooks see


async def test_hooks_see_name_id_and_input_of_the_call(tools: Tools, engine: Engine):
    """Case 9: tool_call fields for tool bash, id 1, {command: ls}: exactly tool_name, tool_call_id, input."""
    seen: list[Any] = []
    engine.on("tool_call", seen.append)

    def execute(tool_call_id: str, params: Mapping[str, Any]) -> str:
        return "ok"

    tool = wrap_tool(tools.make(execute), engine, name="bash", arguments_in="params", call_id_in="tool_call_id")
    await tools.call(tool, "1", {"command": "ls"})
    (event,) = seen
    assert event.fields == ("tool_name", "tool_call_id", "input")
    assert (event.type, event.tool_name, event.tool_call_id, event.input) == (
        "tool_call",
        "bash",
        "1",
        {"command": "ls"},
    )


def everything(a: Any, /, b: Any, *rest: Any, c: Any = 3, **more: Any) -> Any:
    return [a, b, list(rest), c, more]


@pytest.mark.parametrize(
    ("args", "options", "shown"),
    [
        ((1, 2), {}, {"a": 1, "b": 2}),
        ((1,), {"b": 2, "c": 4}, {"a": 1, "b": 2, "c": 4}),
        ((1, 2, 5, 6), {"z": 7}, {"a": 1, "b": 2, "rest": (5, 6), "z": 7}),
    ],
)
async def test_arguments_are_shown_by_name_however_they_are_given(
    tools: Tools, diary: Diary, args: Any, options: Any, shown: Any
):
    await tools.call(wrap_tool(tools.make(everything), diary), *args, **options)
    tool = diary.only("before_tool_call").tool
    assert tool is not None
    assert (tool.name, tool.args) == ("everything", shown)
    assert tool.call_id


async def test_a_parameter_that_is_no_business_of_hooks_is_not_shown(tools: Tools, diary: Diary):
    tool = wrap_tool(tools.make(lambda ctx, command: [ctx, command]), diary, name="t", hidden=["ctx"])
    assert await tools.call(tool, "secret", "ls") == ["secret", "ls"]
    found = diary.only("before_tool_call").tool
    assert found is not None
    assert found.args == {"command": "ls"}


async def test_a_wrong_call_raises_as_the_function_would_and_asks_nobody(tools: Tools, diary: Diary):
    with pytest.raises(TypeError, match="command"):
        await tools.call(wrap_tool(tools.make(bash), diary))
    assert diary.names == []


# Rewritten arguments


async def test_rewritten_arguments_are_chained_and_run(tools: Tools, engine: Engine):
    """F: returning `input` rewrites the call: chained to later handlers."""
    engine.on("tool_call", lambda event: {"input": {"command": "ls -A"}})
    engine.on("tool_call", lambda event: {"input": {"command": f"{event.input['command']} /tmp"}})
    assert await tools.call(wrap_tool(tools.make(bash), engine), "ls") == "ran ls -A /tmp"


async def test_rewritten_arguments_take_their_places(tools: Tools, engine: Engine):
    engine.on("tool_call", lambda event: {"input": {"a": 10, "b": 20, "rest": [30], "c": 40, "z": 50}})
    found = await tools.call(wrap_tool(tools.make(everything), engine), 1, 2, 5, z=7)
    assert found == [10, 20, [30], 40, {"z": 50}]


async def test_what_hooks_do_not_see_stays_when_they_rewrite(tools: Tools, engine: Engine):
    engine.on("tool_call", lambda event: {"input": {"command": "pwd"}})
    tool = wrap_tool(tools.make(lambda ctx, command: [ctx, command]), engine, hidden=["ctx"])
    assert await tools.call(tool, "secret", "ls") == ["secret", "pwd"]


@pytest.mark.parametrize(
    ("rewritten", "word"),
    [({"command": "ls", "x": 1}, "takes no argument 'x'"), ({}, "needs the argument 'command'")],
)
async def test_arguments_that_the_function_does_not_take_deny_the_call(
    tools: Tools, engine: Engine, rewritten: Any, word: str
):
    engine.on("tool_call", lambda event: {"input": rewritten})
    with pytest.raises(ToolCallDeniedError, match=word):
        await tools.call(wrap_tool(tools.make(never), engine), "ls")


async def test_a_text_in_place_of_a_list_of_arguments_denies_the_call(tools: Tools, engine: Engine):
    engine.on("tool_call", lambda event: {"input": {**event.input, "rest": "abc"}})
    with pytest.raises(ToolCallDeniedError, match="takes a list for 'rest'"):
        await tools.call(wrap_tool(tools.make(everything), engine), 1, 2, 3)


class Arguments(msgspec.Struct):
    command: str


def refuse_numbers(args: Mapping[str, Any]) -> bool:
    return isinstance(args["command"], str)


SCHEMAS = [
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    Arguments,
    refuse_numbers,
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=["json schema", "struct", "function"])
async def test_rewritten_arguments_must_fit_the_schema(tools: Tools, engine: Engine, schema: Any):
    """F: validated against the tool's schema where the host gives one."""
    engine.on("tool_call", lambda event: {"input": {"command": 7 if event.input["command"] == "ls" else "pwd"}})
    with pytest.raises(ToolCallDeniedError, match="a hook rewrote the arguments of bash, and they do not fit"):
        await tools.call(wrap_tool(tools.make(never), engine, name="bash", schema=schema), "ls")
    assert await tools.call(wrap_tool(tools.make(bash), engine, schema=schema), "cd") == "ran pwd"


async def test_the_input_as_it_was_is_kept_for_audit(tools: Tools, bench: Bench):
    """F: the original is kept: in the run log, in the record of the run that rewrote it."""
    engine = bench.open()
    engine.on("tool_call", lambda event: {"input": {"command": "ls -A"}}, id="rewrite")
    await tools.call(wrap_tool(tools.make(bash), engine), "ls")
    engine.close()
    lines = [line for path in bench.home.rglob("*.jsonl") for line in path.read_text().splitlines() if line]
    (record,) = [record for record in map(json.loads, lines) if record["hook"] == "rewrite"]
    assert record["before"]["tool"]["args"] == {"command": "ls"}
    assert record["payload"]["tool"]["args"] == {"command": "ls -A"}


# Results


RETURNED: list[tuple[Any, Any]] = [
    ("C", "X"),
    ({"n": 1}, "X"),
    (7, "X"),
    (
        {"content": BLOCKS, "details": "D", "more": 1},
        {"content": [{"type": "text", "text": "X"}], "details": "D", "more": 1},
    ),
]


@pytest.mark.parametrize(("returned", "expected"), RETURNED, ids=lambda value: type(value).__name__)
async def test_new_content_comes_back_in_the_shape_of_what_was_returned(
    tools: Tools, engine: Engine, returned: Any, expected: Any
):
    """Case 11: {content C2}: content C2, details D."""
    engine.on("tool_result", lambda event: {"content": "X"})
    assert await tools.call(wrap_tool(tools.make(lambda: returned), engine)) == expected


class Result:
    def __init__(self) -> None:
        self.content, self.details, self.cost = BLOCKS, "D", 5


async def test_a_result_object_comes_back_as_a_copy_with_the_new_parts(tools: Tools, engine: Engine):
    """Case 11: {details D2}: content C, details D2."""
    engine.on("tool_result", lambda event: {"details": "D2"})
    own = Result()
    found = await tools.call(wrap_tool(tools.make(lambda: own), engine))
    assert (found.content, found.details, found.cost, type(found)) == (BLOCKS, "D2", 5, Result)
    assert found.content is own.content
    assert own.details == "D"


class Record(msgspec.Struct, frozen=True):
    content: Any
    details: Any = None


class Pair(NamedTuple):
    content: Any
    details: Any = None


async def test_a_frozen_record_comes_back_as_one(tools: Tools, engine: Engine):
    engine.on("tool_result", lambda event: {"content": "X"})
    found = await tools.call(wrap_tool(tools.make(lambda: Record(content="C", details="D")), engine))
    assert found == Record(content="X", details="D")


async def test_an_object_that_cannot_be_changed_gives_a_result_and_never_itself(
    tools: Tools, engine: Engine, caplog: Any
):
    """What a hook took out must not get out by way of an object that cannot be copied."""
    engine.on("tool_result", lambda event: {"content": "[redacted]"})
    found = await tools.call(wrap_tool(tools.make(lambda: Pair("SECRET")), engine))
    assert isinstance(found, ToolResult)
    assert (found.text, "SECRET" in repr(found)) == ("[redacted]", False)
    assert "a Pair cannot take what hooks made of it" in caplog.text


class Sulking:
    @property
    def content(self) -> str:
        raise OSError("gone")

    def __str__(self) -> str:
        raise OSError("gone")


async def test_a_result_that_cannot_be_read_is_handed_back_all_the_same(tools: Tools, engine: Engine):
    seen: list[Any] = []
    engine.on("tool_result", lambda event: seen.append(event.content[0]["text"]))
    own = Sulking()
    assert await tools.call(wrap_tool(tools.make(lambda: own), engine)) is own
    assert seen == ["<Sulking without a text: gone>"]


async def test_a_result_that_nobody_hears_of_is_not_read(tools: Tools, engine: Engine):
    engine.on("tool_call", lambda event: None)
    tool = wrap_tool(tools.make(bash), engine, read=lambda _: pytest.fail("it was read"))
    assert await tools.call(tool, "ls") == "ran ls"


async def test_parts_that_a_text_cannot_carry_are_told(tools: Tools, engine: Engine, caplog: Any):
    engine.on("tool_result", lambda event: {"details": "D2"})
    assert await tools.call(wrap_tool(tools.make(bash), engine), "ls") == "ran ls"
    assert "only the text is kept" in caplog.text


async def test_a_host_may_say_how_its_results_are_read_and_written(tools: Tools, engine: Engine):
    engine.on("tool_result", lambda event: {"content": event.content[0]["text"].upper()})
    tool = wrap_tool(
        tools.make(lambda: ("ok", 1)),
        engine,
        read=lambda returned: ToolResult(text=returned[0]),
        write=lambda returned, result: (result.text, returned[1]),
    )
    assert await tools.call(tool) == ("OK", 1)


async def test_context_is_added_to_what_the_caller_gets(tools: Tools, engine: Engine):
    engine.on("tool_result", lambda event: {"context": "lint: fine"})
    assert await tools.call(wrap_tool(tools.make(bash), engine), "ls") == "ran ls\nlint: fine"


async def test_a_success_marked_as_an_error_raises_the_joined_text(tools: Tools, engine: Engine):
    """F: True on success raises with the joined text."""
    engine.on("tool_result", lambda event: {"is_error": True})
    blocks = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    with pytest.raises(ToolFailedError) as caught:
        await tools.call(wrap_tool(tools.make(lambda: {"content": blocks}), engine))
    assert str(caught.value) == "a\nb"


async def test_a_success_without_words_marked_as_an_error_raises_the_default_text(tools: Tools, engine: Engine):
    """F: or "Tool result marked as error by a hook"."""
    engine.on("tool_result", lambda event: {"is_error": True})
    with pytest.raises(ToolFailedError, match=r"^Tool result marked as error by a hook$"):
        await tools.call(wrap_tool(tools.make(lambda: None), engine))


async def test_a_failure_that_the_tool_returned_is_handed_back(tools: Tools, engine: Engine):
    engine.on("tool_result", lambda event: {"details": event.is_error})
    returned = {"content": BLOCKS, "is_error": True}
    found = await tools.call(wrap_tool(tools.make(lambda: returned), engine))
    assert found == {"content": BLOCKS, "is_error": True, "details": True}


# Failures


@pytest.mark.parametrize("said", [None, {"content": "X"}, {"details": 1}, {"is_error": True}])
async def test_what_a_tool_raises_goes_on_as_the_same_object(tools: Tools, engine: Engine, said: Any):
    """Case 13: one tool_result with is_error, [text boom], details None; then the same exception object."""
    seen: list[Any] = []
    engine.on("tool_result", lambda event: seen.append(event) or said)
    boom = ValueError("boom")
    with pytest.raises(ValueError, match="boom") as caught:
        await tools.call(wrap_tool(tools.make(fails_with(boom)), engine), "ls")
    assert caught.value is boom
    (event,) = seen
    assert (event.is_error, event.content, event.details) == (True, [{"type": "text", "text": "boom"}], None)


@pytest.mark.parametrize(
    ("content", "found"),
    [("X", "X"), ([{"type": "image"}], ToolResult(content=[{"type": "image"}]))],
)
async def test_a_failure_made_a_success_returns(tools: Tools, engine: Engine, content: Any, found: Any):
    """Case 17: tool raised, handler {is_error False, content X}: succeeds with X."""
    engine.on("tool_result", lambda event: {"is_error": False, "content": content})
    returned = await tools.call(wrap_tool(tools.make(fails_with(ValueError("boom"))), engine), "ls")
    if isinstance(returned, ToolResult):
        returned = msgspec.structs.replace(returned, duration_ms=0)
    assert returned == found


async def test_an_interruption_goes_on_and_is_told(tools: Tools, diary: Diary):
    with pytest.raises(Stop):
        await tools.call(wrap_tool(tools.make(fails_with(Stop())), diary), "ls")
    assert diary.names == ["before_tool_call", "after_tool_call"]


async def test_a_listener_that_raises_disturbs_nothing(tools: Tools, engine: Engine):
    """Case 15 and F: no second tool_result, the tool's outcome stands, the error is delivered."""
    told: list[Any] = []

    def fail(event: Any) -> None:
        told.append(event)
        raise RuntimeError("listener")

    engine.on("tool_result", fail)
    own = {"content": BLOCKS}
    assert await tools.call(wrap_tool(tools.make(lambda: own), engine)) is own
    boom = ValueError("boom")
    with pytest.raises(ValueError, match="boom") as caught:
        await tools.call(wrap_tool(tools.make(fails_with(boom)), engine), "ls")
    assert caught.value is boom
    assert len(told) == 2


# What a call is part of


async def test_calls_in_a_turn_carry_it_and_are_counted(face: Face, tools: Tools, diary: Diary):
    async with face.live(make_session(diary).turn("go")) as turn:
        await tools.call(wrap_tool(tools.make(bash), turn, kind="shell"), "ls")
    event = diary.only("before_tool_call")
    assert (event.session_id, event.turn_id) == ("s1", diary.only("before_turn").turn_id)
    assert event.tool is not None
    assert event.tool.kind == "shell"
    assert diary.fields("after_turn")["tool_calls"] == 1


async def test_calls_in_a_session_belong_to_its_turn_under_way(face: Face, tools: Tools, diary: Diary):
    async with face.live(make_session(diary)) as session:
        tool = wrap_tool(tools.make(bash), session)
        await tools.call(tool, "ls")
        async with face.live(session.turn("go")):
            await tools.call(tool, "ls")
    loose, within = diary.all("before_tool_call")
    assert (loose.turn_id, within.turn_id) == (None, diary.only("before_turn").turn_id)


async def test_what_calls_are_part_of_may_be_found_at_each_call(face: Face, tools: Tools, diary: Diary):
    session = make_session(diary)
    tool = wrap_tool(tools.make(bash), lambda: turn)
    for _ in range(2):
        async with face.live(session.turn("go")) as turn:
            await tools.call(tool, "ls")
    assert len({event.turn_id for event in diary.all("before_tool_call")}) == 2


async def test_real_hooks_guard_a_wrapped_tool(tools: Tools, bench: Bench):
    guard = shell_hook("guard", 'grep -q "rm -rf" && echo "not here" >&2 && exit 2; exit 0', on_error="block")
    tool = wrap_tool(tools.make(bash), bench.open(write_file(guard)))
    assert await tools.call(tool, "ls") == "ran ls"
    with pytest.raises(ToolCallDeniedError, match=r"^not here$"):
        await tools.call(tool, command="rm -rf /")


# What a wrapped tool is


async def test_a_wrapped_function_keeps_name_doc_and_signature(tools: Tools, diary: Diary):
    wrapped = wrap_tool(tools.make(bash), diary)
    assert (wrapped.__name__, wrapped.__doc__) == ("bash", "Run a command.")
    assert inspect.signature(wrapped) == inspect.signature(bash)
    assert inspect.iscoroutinefunction(wrapped) == inspect.iscoroutinefunction(tools.make(bash))


class Search:
    """Search the web."""

    name = "web_search"

    def __init__(self) -> None:
        self.calls = 0

    def run(self, query: str) -> str:
        self.calls += 1
        return f"found {query}"

    def __call__(self, query: str) -> str:
        """Search."""
        return self.run(query)


class AsyncSearch(Search):
    async def execute(self, query: str) -> str:
        return self.run(query)

    async def __call__(self, query: str) -> str:  # type: ignore[override]
        return self.run(query)


def test_each_way_to_call_a_tool_object_is_one_tool_call(diary: Diary):
    own = Search()
    wrapped = wrap_tool(own, diary)
    assert (wrapped("a"), wrapped.run(query="b"), own.calls) == ("found a", "found b", 2)
    assert [event.tool.args for event in diary.all("before_tool_call") if event.tool] == [
        {"query": "a"},
        {"query": "b"},
    ]


def test_a_wrapped_object_is_the_same_in_all_else(diary: Diary):
    own = Search()
    wrapped = wrap_tool(own, diary)
    assert isinstance(wrapped, Search)
    assert (wrapped.name, wrapped.__doc__, wrapped.run.__name__) == ("web_search", "Search the web.", "run")
    assert inspect.signature(wrapped) == inspect.signature(own)
    wrapped.calls = 7
    assert own.calls == 7
    assert "Search" in repr(wrapped)


async def test_methods_of_an_object_may_be_plain_and_async(diary: Diary):
    wrapped = wrap_tool(AsyncSearch(), diary)
    calls: list[Awaitable[str]] = [wrapped.execute("a"), wrapped("b")]
    assert [await call for call in calls] == ["found a", "found b"]
    assert wrapped.run("c") == "found c"
    names = {event.tool.name for event in diary.all("before_tool_call") if event.tool}
    assert (len(diary.all("after_tool_call")), names) == (3, {"web_search"})


def test_methods_of_other_names_can_be_named(diary: Diary):
    class Odd:
        def invoke(self, text: str) -> str:
            return text

    assert wrap_tool(Odd(), diary, methods=["invoke"]).invoke("a") == "a"
    assert len(diary.all("before_tool_call")) == 1


async def test_a_function_that_does_not_tell_that_it_is_async_can_be_told_to_be(engine: Engine, diary: Diary):
    async def later(command: str) -> str:
        return f"ran {command}"

    def decorated(command: str) -> Any:
        return later(command)

    for within in (engine, diary):
        assert await wrap_tool(decorated, within, is_async=True)("ls") == "ran ls"
    with pytest.raises(HooklineError, match="is async"):
        wrap_tool(decorated, diary)("ls")


def test_a_partial_function_is_a_tool_of_its_functions_name(diary: Diary):
    wrapped = wrap_tool(functools.partial(bash, command="ls"), diary)
    assert wrapped() == "ran ls"
    assert diary.only("before_tool_call").tool.name == "bash"  # type: ignore[union-attr]


def generate() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("tool", "options", "word"),
    [
        (7, {}, "is no tool"),
        (Search, {}, "is a class"),
        (generate, {}, "is a generator"),
        (bash, {"arguments_in": "params"}, "no parameter 'params'"),
    ],
)
def test_what_cannot_be_wrapped_is_refused_at_once(diary: Diary, tool: Any, options: Any, word: str):
    with pytest.raises(WrapError, match=word):
        wrap_tool(tool, diary, **options)


def test_arguments_that_are_no_mapping_are_refused(diary: Diary):
    with pytest.raises(WrapError, match="must be a mapping, not list"):
        wrap_tool(lambda params: params, diary, arguments_in="params")([])


def test_an_unusable_schema_is_refused_at_once(diary: Diary):
    with pytest.raises(SchemaError):
        wrap_tool(bash, diary, schema={"type": "sting"})


def test_a_decision_in_words_of_no_handler_keeps_them(diary: Diary):
    diary = Diary({"before_tool_call": Decision(verdict="block", reason="by rule 7")})
    with pytest.raises(ToolCallDeniedError, match=r"^by rule 7$"):
        wrap_tool(bash, diary)("ls")
