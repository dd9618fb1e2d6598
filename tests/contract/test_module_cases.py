"""The cases of the module contract (section 8), each with modules in files; those of the tool's wrapper stand there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookline import (
    AfterTurn,
    BeforeAgentStart,
    BeforeModelCall,
    BeforeTurn,
    Decision,
    Event,
    SessionBeforeSwitch,
    SessionBeforeTree,
)
from hookline.handlers.discover import HookItem, discover
from hookline.handlers.exec import exec_command
from hookline.handlers.paths import resolve_path
from hookline.handlers.status import StatusLine
from hookline.outcome import EMPTY_DECISION
from modules import (
    call_event,
    calls,
    context_event,
    hear_errors,
    noted,
    open_modules,
    result_event,
    step_event,
    write_module,
)
from support import Bench

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _no_calls() -> Iterator[None]:
    calls.clear()
    yield
    calls.clear()


def tool_calls(*returned: str, prefix: str = "") -> str:
    """A module with handlers h1, h2 and so on of `tool_call`."""
    return noted(*((f"h{n}", "tool_call", value) for n, value in enumerate(returned, 1)), prefix=prefix)


def results(*returned: str) -> str:
    return noted(*((f"h{n}", "tool_result", value) for n, value in enumerate(returned, 1)))


async def test_handlers_are_called_in_the_order_of_modules_then_of_registration(bench: Bench):
    """Case 1: A.h1, A.h2, B.h1."""
    first = noted(("h1", "turn_start", "None"), ("h2", "turn_start", "None"), prefix="A.")
    engine = open_modules(bench, first, noted(("h1", "turn_start", "None"), prefix="B."))
    await engine.fire(step_event())
    assert calls == ["A.h1", "A.h2", "B.h1"]


async def test_the_last_result_that_does_not_block_stands_and_the_tool_runs(bench: Bench):
    """Case 2: the results of tool_call, none of which blocks."""
    engine = open_modules(bench, tool_calls("{'reason': 'one'}", "{'reason': 'two'}", "None"))
    decision = await engine.fire(call_event())
    assert decision.is_allowed
    assert calls == ["h1", "h2", "h3"]
    reasons = [run.outcome.reason for run in decision.runs]
    assert reasons == ["one", "two", None]


async def test_the_first_block_ends_the_event(bench: Bench):
    """Case 3: only A.h1 and A.h2 are called."""
    first = tool_calls("None", "{'block': True, 'reason': 'x'}", "None", prefix="A.")
    engine = open_modules(bench, first, tool_calls("None", prefix="B."))
    decision = await engine.fire(call_event())
    assert decision.is_blocked
    assert decision.reason == "x"
    assert calls == ["A.h1", "A.h2"]


async def test_the_reason_of_a_block_is_handed_on_exactly(bench: Bench):
    """Case 4, the engine's half: exactly R."""
    engine = open_modules(bench, tool_calls("{'block': True, 'reason': '  R: {x} \\u20ac '}"))
    assert (await engine.fire(call_event())).reason == "  R: {x} \u20ac "


@pytest.mark.parametrize("returned", ["{'block': True}", "{'block': True, 'reason': ''}"])
async def test_a_block_without_a_reason_has_the_usual_one(bench: Bench, returned: str):
    """Case 5: the default text."""
    engine = open_modules(bench, tool_calls(returned))
    assert (await engine.fire(call_event())).reason == "Tool execution was blocked by a hook"


async def test_a_tool_call_handler_that_raises_blocks_with_its_text(bench: Bench):
    """Case 6, the engine's half: blocked with E's text, and told to listeners too (F)."""
    engine = open_modules(bench, tool_calls("!E went wrong", "None"))
    errors = hear_errors(engine)
    decision = await engine.fire(call_event())
    assert decision.is_blocked
    assert "E went wrong" in (decision.reason or "")
    assert calls == ["h1"]
    assert [error.error for error in errors] == ["E went wrong"]


async def test_without_handlers_nothing_is_decided(bench: Bench):
    """Case 8, the engine's half: nobody is concerned, so the host hands on what it has."""
    engine = open_modules(bench, noted(("h1", "turn_start", "None")))
    assert not engine.listens("before_tool_call")
    assert await engine.fire(call_event()) is EMPTY_DECISION


async def test_a_tool_call_shows_exactly_its_fields(bench: Bench):
    """Case 9: tool_name, tool_call_id, input, and type."""
    shown = "calls.append((event.type, *event.fields, event.tool_name, event.tool_call_id, event.input))"
    engine = open_modules(bench, tool_calls(shown))
    await engine.fire(call_event(command="ls"))
    expected = ("tool_call", "tool_name", "tool_call_id", "input", "bash", "1", {"command": "ls"})
    assert calls == ["h1", expected]


async def test_no_opinion_on_a_result_leaves_it_as_it_is(bench: Bench):
    """Case 10: the same result object."""
    engine = open_modules(bench, results("None"))
    event = result_event()
    decision = await engine.fire(event)
    assert decision.event is not None
    assert decision.event.fields.result is event.fields.result
    assert decision.edits == {}


@pytest.mark.parametrize(
    ("returned", "content", "details"),
    [
        ("{'content': [{'type': 'text', 'text': 'C2'}]}", "C2", "D"),
        ("{'details': 'D2'}", "C", "D2"),
        ("{'details': None}", "C", None),
    ],
)
async def test_a_result_is_overridden_field_by_field(bench: Bench, returned: str, content: str, details: Any):
    """Case 11; F: other fields of the result survive, a detail can be cleared on purpose."""
    engine = open_modules(bench, results(returned))
    decision = await engine.fire(result_event(text="C", details="D", duration_ms=7))
    assert decision.event is not None
    result = decision.event.fields.result
    assert (result.text, result.details, result.duration_ms) == (content, details, 7)


async def test_a_failed_call_is_one_result_with_the_error_as_its_text(bench: Bench):
    """Case 13, the engine's half: is_error, content [text boom], details None."""
    engine = open_modules(bench, results("calls.append((event.is_error, event.content, event.details))"))
    await engine.fire(result_event(text="boom", error=True, failed=True))
    assert calls == ["h1", (True, [{"type": "text", "text": "boom"}], None)]


async def test_a_result_handler_that_raises_leaves_the_result_unchanged(bench: Bench):
    """Case 15: HookError delivered, the result unchanged."""
    engine = open_modules(bench, results("!boom"))
    errors = hear_errors(engine)
    decision = await engine.fire(result_event())
    assert [(error.event, error.error) for error in errors] == [("tool_result", "boom")]
    assert not decision.is_blocked
    assert decision.edits == {}


@pytest.mark.parametrize(
    ("returned", "is_failed"), [("{'is_error': False, 'content': 'X'}", False), ("{'content': 'X'}", True)]
)
async def test_only_is_error_turns_a_failure_into_a_success(bench: Bench, returned: str, is_failed: bool):
    """Case 17, the engine's half."""
    engine = open_modules(bench, results(returned))
    decision = await engine.fire(result_event(text="boom", error=True, failed=True))
    assert decision.event is not None
    assert decision.event.fields.result.failed is is_failed
    assert decision.event.fields.result.text == "X"


async def test_no_opinion_on_is_error_is_no_success(bench: Bench):
    """Case 17, its other side: None is no opinion, not False."""
    engine = open_modules(bench, results("{'is_error': None, 'content': None}"))
    decision = await engine.fire(result_event(text="boom", error=True, failed=True))
    assert decision.event is not None
    assert decision.event.fields.result.failed
    assert decision.event.fields.result.text == "boom"


async def test_overrides_of_several_handlers_add_up_and_later_ones_see_them(bench: Bench):
    """Case 18; F: a later empty result keeps them."""
    engine = open_modules(bench, results("{'content': 'X'}", "calls.append(event.content) or {'details': 'Y'}", "{}"))
    decision = await engine.fire(result_event())
    assert decision.event is not None
    assert (decision.event.fields.result.text, decision.event.fields.result.details) == ("X", "Y")
    assert calls[2] == [{"type": "text", "text": "X"}]


async def test_context_goes_from_handler_to_handler_past_one_that_raises(bench: Bench):
    """Case 19: [0, 1, 2] and one HookError."""
    add = "{{'messages': [*event.messages, {}]}}"
    first = noted(("h1", "context", add.format(1)), ("h2", "context", "!boom"))
    engine = open_modules(bench, first, noted(("h1", "context", add.format(2)), ("h2", "context", "{}")))
    errors = hear_errors(engine)
    decision = await engine.fire(context_event(0))
    assert decision.edits["messages"] == [0, 1, 2]
    assert len(errors) == 1


async def test_an_empty_context_is_a_result(bench: Bench):
    """Case 20: empty."""
    engine = open_modules(bench, noted(("h1", "context", "{'messages': []}")))
    assert (await engine.fire(context_event(0))).edits["messages"] == []


async def test_without_context_handlers_the_messages_are_the_same_list(bench: Bench):
    """Case 20: the same list object."""
    messages = [{"role": "user", "content": "hi"}]
    engine = open_modules(bench, noted(("h1", "context", "None")))
    decision = await engine.fire(Event(BeforeModelCall(messages=messages)))
    assert decision.event is not None
    assert decision.event.fields.messages is messages


async def test_the_first_message_before_the_agent_starts_is_kept(bench: Bench):
    """Case 22: both called, m1 kept."""
    message = "{{'message': {{'custom_type': 't', 'content': {!r}}}}}"
    hooks = [(name, "before_agent_start", message.format(name)) for name in ("m1", "m2")]
    engine = open_modules(bench, noted(*hooks))
    decision = await engine.fire(Event(BeforeAgentStart(prompt="hi")))
    assert calls == ["m1", "m2"]
    assert decision.edits["message"]["content"] == "m1"


async def fire_switch(bench: Bench, *returned: str) -> tuple[Decision, list[str]]:
    hooks = [(f"h{n}", "session_before_switch", value) for n, value in enumerate(returned, 1)]
    engine = open_modules(bench, noted(*hooks))
    errors = hear_errors(engine)
    return await engine.fire(Event(SessionBeforeSwitch(reason="new"))), [error.error for error in errors]


async def test_cancel_ends_the_event(bench: Bench):
    """Case 24: h3 not called, cancelled."""
    decision, _ = await fire_switch(bench, "{'cancel': False}", "{'cancel': True}", "None")
    assert decision.is_blocked
    assert calls == ["h1", "h2"]


async def test_a_handler_that_raises_does_not_cancel_and_hides_no_cancel(bench: Bench):
    """Case 25: HookError and cancelled."""
    decision, errors = await fire_switch(bench, "!boom", "{'cancel': True}")
    assert decision.is_blocked
    assert errors == ["boom"]


async def test_the_latest_result_stands_as_a_whole(bench: Bench):
    """Case 26: {cancel False} takes the summary back."""
    summary = "{'summary': {'summary': 'S', 'details': None}}"
    hooks = [("h1", "session_before_tree", summary), ("h2", "session_before_tree", "{'cancel': False}")]
    engine = open_modules(bench, noted(*hooks))
    decision = await engine.fire(Event(SessionBeforeTree(preparation={"target_id": "e1"})))
    assert decision.is_allowed
    assert decision.edits == {}


async def test_what_an_observer_returns_is_ignored(bench: Bench):
    """Case 30: a return from agent_start."""
    engine = open_modules(bench, noted(("h1", "agent_start", "{'block': True, 'messages': []}")))
    decision = await engine.fire(Event(BeforeTurn(turn=1)))
    assert decision.is_allowed
    assert decision.edits == {}


async def test_each_handler_that_raises_is_told_with_its_path_and_later_ones_run(bench: Bench):
    """Case 31: two HookErrors."""
    hooks = [("h1", "turn_start", "!one"), ("h2", "turn_start", "!two"), ("h3", "turn_start", "None")]
    engine = open_modules(bench, noted(*hooks))
    errors = hear_errors(engine)
    await engine.fire(step_event())
    path = str(bench.hooks_folder("user") / "named" / "a.py")
    assert [(error.hook_path, error.event, error.error) for error in errors] == [
        (path, "turn_start", "one"),
        (path, "turn_start", "two"),
    ]
    assert calls == ["h1", "h2", "h3"]


def test_modules_that_cannot_be_loaded_are_errors_in_order(bench: Bench):
    """Case 33: one module, five errors."""
    good = noted(("h1", "turn_start", "None"))
    texts = [good, "x = 1", "hook = 42", "def hook(api): raise ValueError('no')", "def hook(api:", good]
    for name, text in zip("abcdef", texts, strict=True):
        write_module(bench, f"{name}.py", text, folder="named")
    (bench.hooks_folder("user") / "named" / "f.py").unlink()
    bench.write("modules: [named/a.py, named/b.py, named/c.py, named/d.py, named/e.py, named/f.py]", layer="user")
    engine = bench.open()
    assert [module.spec.path.name for module in engine.handling.modules.loaded] == ["a.py"]
    causes = ["no function hook", "42", "ValueError: no", "SyntaxError", "no such file"]
    errors = engine.handling.modules.errors
    assert [error.path.name for error in errors] == ["b.py", "c.py", "d.py", "e.py", "f.py"]
    assert all(cause in error.text for cause, error in zip(causes, errors, strict=True))
    failed = [problem for problem in engine.problems if problem.code == "module-failed"]
    assert [problem.place.path for problem in failed] == [error.path for error in errors]


@pytest.mark.parametrize(
    ("written", "resolved"),
    [("/abs/a", "/abs/a"), ("~/a", "/home/me/a"), ("rel/a", "/cwd/rel/a"), ("../u", "/u"), ("file:///x/a", "/x/a")],
)
def test_paths_are_taken_from_the_folder_they_are_written_in(written: str, resolved: str):
    """Case 35."""
    assert resolve_path(written, Path("/cwd"), Path("/home/me")) == Path(resolved)


class Listed:
    """A provider of fixed items."""

    def __init__(self, name: str, priority: float, *items: HookItem) -> None:
        self.name = name
        self.priority = priority
        self._items = items

    def load(self, cwd: Path) -> list[HookItem]:
        return list(self._items)


async def test_the_item_of_the_higher_priority_counts(tmp_path: Path):
    """Case 37: the second is shadowed; two items without a key are both kept."""
    low, high = (
        HookItem(name="a.py", path=tmp_path / where / "a.py", type="pre", tool="bash") for where in ("low", "high")
    )
    keyless = [HookItem(name="k.py", path=tmp_path / where / "k.py") for where in ("low", "high")]
    providers = [Listed("low", 1, low, keyless[0]), Listed("high", 9, high, keyless[1])]
    found = await discover(providers, tmp_path)
    assert [item.path.parent.name for item in found.items] == ["high", "high", "low"]
    assert [(item.name, item.provider) for item in found.all_items if item.is_shadowed] == [("a.py", "low")]


async def test_without_a_user_dialogs_are_dismissed(bench: Bench):
    """Case 39: the values, as a plain handler sees them."""
    engine = open_modules(
        bench,
        """
        from modules import calls
        def hook(api):
            @api.on("turn_start")
            def look(event, ctx):
                ui = ctx.ui
                ui.notify("n"); ui.set_status("k", "t"); ui.set_editor_text("t")
                calls.append((ui.select("t", ["a"]), ui.input("t", ""), ui.editor("t", ""), ui.confirm("t", "m"),
                              ui.custom(print), ui.get_editor_text(), ctx.has_ui))
        """,
    )
    await engine.fire(step_event())
    assert calls == [(None, None, None, False, None, "", False)]


async def test_a_guard_that_asks_for_leave_blocks_without_a_user(bench: Bench):
    """Case 39: the example that asks before `rm -rf` has its own reason for that."""
    engine = open_modules(
        bench,
        """
        def hook(api):
            @api.on("tool_call", tool_name="bash")
            async def guard(event, ctx):
                if "rm -rf" not in event.input.get("command", ""):
                    return None
                if not ctx.has_ui:
                    return {"block": True, "reason": "Dangerous command blocked (no UI)"}
                if not await ctx.ui.confirm("Dangerous", event.input["command"]):
                    return {"block": True, "reason": "Blocked by user"}
        """,
    )
    assert (await engine.fire(call_event(command="rm -rf /"))).reason == "Dangerous command blocked (no UI)"
    assert (await engine.fire(call_event(command="ls"))).is_allowed


def test_the_status_line_is_sorted_cleaned_and_cut():
    """Case 40: the texts."""
    line = StatusLine()
    line.set("b", "y\nz")
    line.set("a", "x   x\t!")
    assert line.render(80) == "x x ! y z"
    line.set("a", None)
    assert line.render(80) == "y z"
    line.set("b", "hello world")
    assert line.render(5) == "hell\u2026"


async def test_a_program_is_run_without_raising_for_its_exit():
    """Case 40: out, err, 3, not killed."""
    result = await exec_command("sh", ["-c", "echo out; echo err >&2; exit 3"])
    assert (result.stdout, result.stderr, result.code, result.killed) == ("out\n", "err\n", 3, False)


async def test_a_program_past_its_time_is_killed_soon():
    """Case 40: killed, non-zero, within 0.5 s."""
    began_at = time.monotonic()
    result = await exec_command("sleep", ["5"], timeout=0.2)
    assert result.killed
    assert result.code != 0
    assert time.monotonic() - began_at < 0.5


async def test_agent_end_and_agent_start_are_the_turn(bench: Bench):
    """Section 3: the names are aliases, and `on` takes either."""
    engine = open_modules(bench, noted(("start", "before_turn", "None"), ("end", "agent_end", "None")))
    await engine.fire(Event(BeforeTurn(turn=1)))
    await engine.fire(Event(AfterTurn(turn=1)))
    assert calls == ["start", "end"]
