"""Hook objects attached to an engine: their order, their answers, their failures, and who hears of them."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from asking import Asking, PlainAsking, change, fail
from entries import shell_hook, write_file
from hookline import (
    AfterToolCall,
    AfterTurn,
    Allow,
    Block,
    ConfigError,
    Decision,
    Engine,
    Error,
    Event,
    Failure,
    HookMatcher,
    HookPayload,
    Mutate,
    SessionEnd,
    SessionStart,
    ShellHook,
    Tool,
    ToolResult,
    UserPromptSubmit,
)
from hookline.handlers.modules import HookError
from hookline.match import compile_match, find_mismatch
from support import Bench, find_run, make_event, make_prompt_event, make_result_event
from waiting import wait_for_end, wait_for_pid, wait_until

pytestmark = pytest.mark.anyio


@pytest.fixture
def engine(bench: Bench) -> Engine:
    return bench.open()


def text_of(decision: Decision) -> str:
    assert decision.event is not None
    assert isinstance(decision.event.fields, UserPromptSubmit)
    return decision.event.fields.text


def args_of(decision: Decision) -> Any:
    assert decision.event is not None
    assert decision.event.tool is not None
    return decision.event.tool.args


def result_of(decision: Decision) -> ToolResult:
    assert decision.event is not None
    assert isinstance(decision.event.fields, AfterToolCall)
    return decision.event.fields.result


def order_of(decision: Decision) -> list[str]:
    return [run.hook.id for run in decision.runs]


async def read_log(bench: Bench, count: int) -> list[dict[str, Any]]:
    """The records of the run log, once there are as many."""
    folder = bench.home / "hooks" / "log"

    def read() -> list[dict[str, Any]]:
        lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines() if line]
        return [json.loads(line) for line in lines]

    await wait_until(lambda: len(read()) >= count, f"{count} runs were logged")
    return read()


# Attaching


async def test_an_object_answers_its_event(engine: Engine):
    asked = Asking("a", "pre_tool_use", Block(reason="no", user_message="sorry"))
    engine.attach(asked)
    decision = await engine.fire(make_event(session_id="s1", turn_id="t1"))
    assert (decision.verdict, decision.reason, decision.user_message) == ("block", "no", "sorry")
    (told,) = asked.told
    assert (told.event, told.hook_id, told.session_id, told.turn_id) == ("pre_tool_use", "a", "s1", "t1")


async def test_an_engine_without_objects_listens_to_nothing_and_with_one_to_its_event(engine: Engine):
    assert not engine.listens("before_tool_call")
    engine.attach(Asking("a", "pre_tool_use"))
    assert engine.listens("before_tool_call")
    assert not engine.listens("after_tool_call")


async def test_several_objects_run_in_order_of_attachment_and_can_be_taken_off_again(engine: Engine):
    """Fact 2: attached by value, order is the order of attachment."""
    remove = engine.attach([Asking("a", "pre_tool_use"), Asking("b", "pre_tool_use")])
    engine.attach(Asking("c", "pre_tool_use"))
    assert order_of(await engine.fire(make_event())) == ["a", "b", "c"]
    remove()
    remove()
    assert order_of(await engine.fire(make_event())) == ["c"]


async def test_objects_and_handlers_share_one_order(engine: Engine):
    seen: list[str] = []

    def note(name: str) -> Any:
        return lambda *_: seen.append(name)

    engine.on("tool_call", note("handler 1"))
    engine.attach(Asking("object", "pre_tool_use", lambda payload: seen.append("object") or Allow()))
    engine.on("tool_call", note("handler 2"))
    await engine.fire(make_event())
    assert seen == ["handler 1", "object", "handler 2"]


async def test_objects_stand_behind_the_hooks_of_files(bench: Bench):
    engine = bench.open(write_file(shell_hook("file", "true", on_error="block")))
    engine.attach(Asking("object", "pre_tool_use"))
    assert order_of(await engine.fire(bench.event())) == ["file", "object"]


@pytest.mark.parametrize("taken_by", ["object", "handler", "file"])
async def test_an_id_that_is_taken_is_refused(bench: Bench, taken_by: str):
    """A16: ids are unique in an engine."""
    engine = bench.open(write_file(shell_hook("file", "true")))
    engine.attach(Asking("object", "session_start"))
    engine.on("tool_call", lambda event: None, id="handler")
    with pytest.raises(ConfigError, match=f"hook `{taken_by}`: another hook of this engine has this id"):
        engine.attach(Asking(taken_by, "pre_tool_use"))


async def test_an_object_that_was_taken_off_can_be_attached_again(engine: Engine):
    asked = Asking("a", "pre_tool_use")
    engine.attach(asked)()
    engine.attach(asked)
    assert order_of(await engine.fire(make_event())) == ["a"]


async def test_of_objects_of_which_one_is_wrong_none_is_attached(engine: Engine):
    """Fact 3 and A7: what would never fire is refused before it is attached, everything at once."""
    wrong = [
        Asking("a", "pre_tool_use"),
        Asking("b", "turn_end", matcher=HookMatcher()),
        Asking("c", "pre_tool_use", matcher=HookMatcher(args_jsonpath="$.x", match_regex="(")),
        Asking("a", "pre_tool_use"),
    ]
    with pytest.raises(ConfigError) as refused:
        engine.attach(wrong)
    assert "hook `b` has a matcher on non-tool event `turn_end`" in str(refused.value)
    assert "hook `c`: invalid hook matcher regex" in str(refused.value)
    assert "hook `a`: another hook" in str(refused.value)
    assert engine.hooks == ()


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
async def test_a_time_limit_that_is_none_is_refused(engine: Engine, limit: float):
    with pytest.raises(ConfigError, match="timeout_s must be greater than 0"):
        engine.attach(Asking("a", "pre_tool_use"), timeout_s=limit)


async def test_objects_of_the_host_run_though_its_project_is_not_trusted(bench: Bench):
    """A shell hook too: the host's own code is not the project's."""
    engine = bench.open(write_file(shell_hook("file", "true")), trust="none")
    engine.attach(ShellHook("shell", "pre_tool_use", "echo no >&2; exit 1"))
    assert (await engine.fire(bench.event())).reason == "no"


async def test_after_the_end_of_the_engine_guards_keep_their_gate_closed(bench: Bench):
    engine = bench.open()
    guard, other = Asking("guard", "pre_tool_use", on_error="block"), Asking("other", "user_prompt_submit")
    engine.attach([guard, other])
    engine.close(grace_s=0)
    assert (await engine.fire(make_event())).verdict == "block"
    assert find_run(await engine.fire(make_prompt_event()), "other").status == "skipped"
    assert not guard.told
    assert not other.told


async def test_after_the_end_of_the_engine_a_guard_of_results_shows_none(bench: Bench):
    engine = bench.open()
    engine.attach([Asking("guard", "post_tool_use", on_error="block"), Asking("other", "post_tool_use")])
    engine.close(grace_s=0)
    decision = await engine.fire(make_result_event("key"))
    assert result_of(decision).text == "hook `guard` failed: the engine is closed"
    assert find_run(decision, "other").status == "skipped"


async def test_an_attached_object_is_listed_like_every_hook(engine: Engine):
    engine.attach(
        [
            Asking("a", "pre_tool_use", matcher=HookMatcher(tool_name="bash", args_jsonpath="$.x"), on_error="block"),
            ShellHook("b", "turn_end", "true", timeout_ms=700, description="counts"),
        ]
    )
    first, second = engine.snapshot()["hooks"]
    assert (first["event"], first["layer"], first["dialect"], first["on_error"]) == (
        "before_tool_call",
        "code",
        "agentyk",
        "block",
    )
    assert first["match"]["tool_name"] == "bash"
    assert first["match"]["predicate"] == "args_jsonpath '$.x'"
    assert first["source"].partition(":")[0].endswith("asking.py")
    assert (second["timeout_seconds"], second["description"]) == (0.7, "counts")
    assert second["runs"] == "hookline.objects.shell.ShellHook"


async def test_the_match_of_an_object_says_why_a_call_is_not_meant(engine: Engine):
    matcher = HookMatcher(tool_name_glob="bash|edit_*", args_jsonpath="$.command", match_regex=r"^rm\s")
    engine.attach(Asking("a", "pre_tool_use", matcher=matcher))
    match = compile_match(engine.hooks[0].match)
    assert find_mismatch(match, make_event(args={"command": "ls"})) == (
        r"the value at '$.command' of the arguments must match '^rm\s'; it is 'ls'"
    )
    assert find_mismatch(match, make_event(args={"command": "rm x"})) is None


# Prompts


async def test_changes_of_a_prompt_are_seen_by_the_next_object(engine: Engine):
    """Case 30: A changes the message to "m1", B sees "m1", which stands."""
    first, second = Asking("a", "user_prompt_submit", change(message="m1")), Asking("b", "user_prompt_submit")
    engine.attach([first, second])
    decision = await engine.fire(make_prompt_event("m0"))
    assert (first.data["message"], second.data["message"], text_of(decision)) == ("m0", "m1", "m1")


async def test_a_message_that_is_no_text_is_ignored_and_told(engine: Engine):
    """Case 30: patch message 5."""
    engine.attach(Asking("a", "user_prompt_submit", change(message=5)))
    decision = await engine.fire(make_prompt_event("m0"))
    assert text_of(decision) == "m0"
    assert decision.warnings == ("hook 'a': ignored: patch.message: it is int, not text",)


async def test_an_empty_message_takes_the_text_away(engine: Engine):
    """Case 30: patch message ""."""
    engine.attach(Asking("a", "user_prompt_submit", change(message="")))
    assert text_of(await engine.fire(make_prompt_event("m0"))) == ""


async def test_a_blocked_prompt_carries_reason_and_message_and_no_text_of_hooks(engine: Engine):
    """Case 31: the decision says blocked, the first block ends the event, and nothing else is handed on."""
    later = Asking("later", "user_prompt_submit")
    engine.attach(
        [
            Asking("redact", "user_prompt_submit", change(message="my ***")),
            Asking("guard", "user_prompt_submit", Block(reason="a secret", user_message="Remove it.")),
            later,
        ]
    )
    decision = await engine.fire(make_prompt_event("my SECRET"))
    assert (decision.reason, decision.user_message, decision.edits) == ("a secret", "Remove it.", {})
    assert later.told == []


async def test_a_turn_that_a_block_has_ended_is_told_with_its_reason(engine: Engine):
    """Case 31: turn_end sees {"success": false, "error": reason}."""
    asked = Asking("end", "turn_end")
    engine.attach(asked)
    await engine.fire(Event(AfterTurn(turn=1, status="failed", failed=True, error="a secret")))
    assert asked.data == {"success": False, "error": "a secret"}


# Calls


async def test_arguments_are_merged_as_deep_as_one_level(engine: Engine):
    """Case 32: nested objects are replaced, null is stored as null, what is not named stays."""
    engine.attach(Asking("a", "pre_tool_use", change(arguments={"a": 9, "n": {"x": 7}, "new": None})))
    decision = await engine.fire(make_event(args={"a": 1, "n": {"x": 1, "y": 2}}))
    assert args_of(decision) == {"a": 9, "n": {"x": 7}, "new": None}
    assert find_run(decision, "a").effects == ("edited",)


async def test_a_patch_that_changes_nothing_is_no_change(engine: Engine):
    """Case 32: an identical patch."""
    engine.attach(Asking("a", "pre_tool_use", change(arguments={"command": "ls"})))
    decision = await engine.fire(make_event())
    assert (decision.edits, find_run(decision, "a").effects) == ({}, ())


async def test_arguments_that_are_no_object_are_refused(engine: Engine):
    """A17: the kind of the arguments cannot change."""
    engine.attach(Asking("a", "pre_tool_use", change(arguments=["rm"])))
    decision = await engine.fire(make_event())
    assert args_of(decision) == {"command": "ls"}
    assert decision.warnings == ("hook 'a': ignored: edit of args: its value is of the wrong kind, list",)


async def test_a_block_ends_the_call_with_what_was_changed_before_it(engine: Engine):
    """Case 34: the second sees the change, the third is not asked; fact 24: matchers look at the call as it stands."""
    second = Asking("b", "pre_tool_use", Block(reason="r"), matcher=HookMatcher(args_jsonpath="a", match_regex="^2$"))
    third = Asking("c", "pre_tool_use")
    engine.attach([Asking("a", "pre_tool_use", change(arguments={"a": 2})), second, third])
    decision = await engine.fire(make_event(args={"a": 1}))
    assert second.data["arguments"] == {"a": 2}
    assert (decision.verdict, decision.reason, args_of(decision)) == ("block", "r", {"a": 2})
    assert [(run.hook.id, run.status, run.effects) for run in decision.runs] == [
        ("a", "ok", ("edited",)),
        ("b", "blocked", ("blocked",)),
        ("c", "skipped", ()),
    ]
    assert third.told == []


async def test_an_object_may_not_change_its_payload_in_place(engine: Engine):
    def meddle(payload: HookPayload) -> Allow:
        payload.data["arguments"]["list"].append("x")
        payload.data["arguments"]["command"] = "rm"
        return Allow()

    later = Asking("b", "pre_tool_use")
    engine.attach([Asking("a", "pre_tool_use", meddle), later])
    args = {"command": "ls", "list": [1]}
    decision = await engine.fire(make_event(args=args))
    assert args == args_of(decision) == later.data["arguments"] == {"command": "ls", "list": [1]}


async def test_an_object_for_another_tool_is_not_asked(engine: Engine):
    asked = Asking("a", "pre_tool_use", matcher=HookMatcher(tool_name="edit"))
    engine.attach(asked)
    assert (await engine.fire(make_event())).runs == ()


async def test_objects_are_not_told_of_calls_that_were_denied(engine: Engine):
    """Fact 27: not for denied calls, whoever denied them."""
    asked = Asking("a", "post_tool_use")
    engine.attach(asked)
    for source in ("hook", "user"):
        result = ToolResult(text="no", failed=True, approval_rejected=True, rejection_source=source)  # type: ignore[arg-type]
        await engine.fire(Event(AfterToolCall(tool=Tool(name="bash"), result=result)))
    assert asked.told == []
    await engine.fire(make_result_event())
    assert asked.data["result"] == "ok"


async def test_results_are_changed_one_after_another(engine: Engine):
    """Fact 27: result, error, additional_context; the next object sees the result as it stands."""
    second = Asking("b", "post_tool_use", change(additional_context="more"))
    engine.attach([Asking("a", "post_tool_use", change(error={"a": 1})), second])
    decision = await engine.fire(make_result_event("ok"))
    assert (result_of(decision).text, result_of(decision).failed, decision.context) == ('{"a":1}', True, ("more",))
    assert (second.data["result"], second.data["success"]) == ('{"a":1}', False)


async def test_a_replaced_result_keeps_no_block_of_the_old_one(engine: Engine):
    """A3: neither blocks nor details of what was replaced are handed on."""
    engine.attach(Asking("a", "post_tool_use", change(result="gone")))
    result = ToolResult(text="key", content=[{"type": "image", "data": "key"}], details={"key": 1}, failed=True)
    decision = await engine.fire(Event(AfterToolCall(tool=Tool(name="edit"), result=result)))
    assert result_of(decision) == ToolResult(text="gone")
    assert decision.edits["result"] == "gone"


# Events without a gate


@pytest.mark.parametrize(
    ("name", "fields"),
    [("session_start", SessionStart()), ("session_end", SessionEnd()), ("turn_end", AfterTurn(turn=1))],
)
@pytest.mark.parametrize("outcome", [Block(reason="no"), change(message="x")])
async def test_what_means_nothing_at_an_event_is_ignored_and_told(
    engine: Engine, name: str, fields: Any, outcome: Block | Mutate
):
    """Facts 20 and 28: advisory."""
    engine.attach(Asking("a", name, outcome))
    decision = await engine.fire(Event(fields))
    assert (decision.verdict, decision.edits, len(decision.warnings)) == ("allow", {}, 1)


async def test_session_events_tell_agent_and_reason(engine: Engine):
    """Facts 4 and 6: no turn for events of a session."""
    start, end = Asking("start", "session_start"), Asking("end", "session_end")
    engine.attach([start, end])
    await engine.fire(Event(SessionStart(), turn_id="t1"))
    await engine.fire(Event(SessionEnd()))
    assert (start.data, end.data, start.told[0].turn_id) == ({"agent": "agent"}, {"reason": "closed"}, None)


# Failures


@pytest.mark.parametrize("answer", [Error(message="boom"), fail("boom"), lambda payload: "yes"])
async def test_a_failing_object_with_policy_block_closes_its_gate(engine: Engine, answer: Any):
    """Case 36: denied "hook `ID` failed: MSG"; case 42: a raising object is an error under policy."""
    engine.attach(Asking("guard", "pre_tool_use", answer, on_error="block"))
    decision = await engine.fire(make_event())
    assert decision.verdict == "block"
    run = find_run(decision, "guard")
    assert isinstance(run.outcome, Failure)
    assert decision.reason == f"hook `guard` failed: {run.outcome.message}"
    assert run.outcome.message in (
        "boom",
        "it raised ValueError: boom",
        "it returned str, which is no outcome (Allow, Mutate, Block, Error)",
    )


async def test_a_failing_object_with_policy_allow_means_nothing(engine: Engine):
    """Case 36: runs, and no warning."""
    engine.attach(Asking("a", "pre_tool_use", Error(message="boom"), on_error="allow"))
    decision = await engine.fire(make_event())
    assert (decision.verdict, decision.warnings) == ("allow", ())
    assert find_run(decision, "a").status == "failed"


async def test_a_failing_object_with_policy_warn_is_told(bench: Bench):
    """Case 36 and A14: the warning names hook, event and message, for people, listeners, hooks and the run log."""
    engine = bench.open(write_file(shell_hook("heard", "cat > heard", event="hook_failed")))
    heard: list[HookError] = []
    engine.handling.on_error(heard.append)
    engine.attach(Asking("a", "pre_tool_use", Error(message="boom")))
    decision = await engine.fire(bench.event())
    assert (decision.verdict, decision.warnings) == ("allow", ("hook `a` failed: boom",))
    assert [(error.hook_id, error.event, error.error) for error in heard] == [("a", "pre_tool_use", "boom")]
    await wait_until((bench.project / "heard").exists, "hook_failed was told")
    record = next(record for record in await read_log(bench, 2) if record["hook"] == "a")
    assert (record["status"], record["kind"], record["error"]) == ("failed", "crash", "boom")


@pytest.mark.parametrize("name", ["session_start", "turn_end"])
async def test_the_failure_of_a_guard_where_nothing_can_be_stopped_is_told(engine: Engine, name: str):
    """Fact 30 and A14: a policy block on an advisory event is no longer silent."""
    engine.attach(Asking("a", name, Error(message="boom"), on_error="block"))
    fields: Any = SessionStart() if name == "session_start" else AfterTurn(turn=1)
    decision = await engine.fire(Event(fields))
    assert (decision.verdict, decision.warnings) == ("allow", ("hook `a` failed: boom",))


async def test_a_failure_after_a_call_hides_the_result_of_a_guard(engine: Engine):
    """Case 38: the output is "hook `ID` failed: MSG", an error, and later objects see no other."""
    later = Asking("later", "post_tool_use")
    engine.attach([Asking("guard", "post_tool_use", Error(message="boom"), on_error="block"), later])
    result = ToolResult(text="key", content=[{"type": "image", "data": "key"}], details={"key": 1})
    decision = await engine.fire(Event(AfterToolCall(tool=Tool(name="edit"), result=result)))
    text = "hook `guard` failed: boom"
    assert result_of(decision) == ToolResult(text=text, failed=True)
    assert (decision.edits["result"], decision.edits["is_error"]) == (text, True)
    assert later.data["error"] == text
    run = find_run(decision, "guard")
    assert (run.status, run.effects) == ("failed", ("edited",))


@pytest.mark.parametrize("policy", ["warn", "allow"])
async def test_a_failure_after_a_call_hides_nothing_under_other_policies(engine: Engine, policy: str):
    engine.attach(Asking("a", "post_tool_use", Error(message="boom"), on_error=policy))
    assert result_of(await engine.fire(make_result_event("ok"))).text == "ok"


async def test_a_match_without_an_answer_is_a_failure_of_the_object(engine: Engine):
    """A guard that cannot look at its arguments keeps its gate closed, and hides what came out."""
    matcher = HookMatcher(args_jsonpath="$", match_regex="x")
    engine.attach(
        [
            Asking("before", "pre_tool_use", on_error="block", matcher=matcher),
            Asking("after", "post_tool_use", on_error="block", matcher=matcher),
        ]
    )
    args = {"x": float("nan")}
    decision = await engine.fire(make_event(args=args))
    assert (decision.verdict, find_run(decision, "before").outcome.kind) == ("block", "match")  # type: ignore[union-attr]
    event = Event(AfterToolCall(tool=Tool(name="edit", args=args), result=ToolResult(text="key")))
    assert result_of(await engine.fire(event)).text.startswith("hook `after` failed: ")


async def test_a_long_argument_is_looked_at_beside_the_event_loop(engine: Engine):
    """A model that writes much neither holds up the host nor gets by a guard."""
    matcher = HookMatcher(args_jsonpath="$.command", match_regex=r"\bpush\b.*--force\b")
    engine.attach(Asking("guard", "pre_tool_use", Block(reason="no"), matcher=matcher))
    event = make_event(args={"command": "é " * 200_000 + "push --force"})
    turns_of_the_loop = 0
    task = asyncio.create_task(engine.fire(event))
    while not task.done():
        await asyncio.sleep(0.001)
        turns_of_the_loop += 1
    assert (await task).reason == "no"
    assert turns_of_the_loop > 5


async def test_a_match_that_takes_too_long_is_a_failure(engine: Engine):
    """A guard that has no answer in time keeps its gate closed."""
    matcher = HookMatcher(args_jsonpath="$.command", match_regex=r"\bpush\b")
    engine.attach(Asking("guard", "pre_tool_use", on_error="block", matcher=matcher), timeout_s=0.001)
    decision = await engine.fire(make_event(args={"command": "é " * 200_000}))
    assert (decision.verdict, find_run(decision, "guard").outcome.kind) == ("block", "match")  # type: ignore[union-attr]


async def test_a_ring_of_values_has_no_text(engine: Engine):
    ring: list[Any] = []
    ring.append(ring)
    engine.attach(Asking("guard", "pre_tool_use", on_error="block", matcher=HookMatcher(args_jsonpath="$.x")))
    decision = await engine.fire(make_event(args={"x": ring}))
    assert decision.reason is not None
    assert "cannot be read as text" in decision.reason


async def test_an_object_that_tries_to_exit_ends_nothing(engine: Engine):
    """A11."""

    def leave(payload: HookPayload) -> Any:
        raise SystemExit(3)

    engine.attach(Asking("a", "session_start", leave))
    assert (await engine.fire(Event(SessionStart()))).warnings == ("hook `a` failed: it raised SystemExit: 3",)


async def test_what_was_said_and_changed_is_in_the_run_log(bench: Bench):
    """A14: rewrites with their reasons, and denials, are records."""
    engine = bench.open()
    engine.attach(
        [
            Asking("edit", "pre_tool_use", Mutate(patch={"arguments": {"a": 2}}, reason="safer")),
            Asking("deny", "pre_tool_use", Block(reason="no")),
        ]
    )
    await engine.fire(make_event())
    found = {record["hook"]: record for record in await read_log(bench, 2)}
    assert (found["edit"]["effects"], found["edit"]["reason"]) == (["edited"], "safer")
    assert (found["deny"]["effects"], found["deny"]["reason"], found["deny"]["status"]) == (
        ["blocked"],
        "no",
        "blocked",
    )
    assert (found["deny"]["layer"], found["deny"]["dialect"]) == ("code", "agentyk")


# Time


async def hang(payload: HookPayload) -> Any:
    await asyncio.Event().wait()


async def test_an_object_that_does_not_answer_is_given_up_at_its_limit(engine: Engine):
    """A10: every object has a time limit."""
    engine.attach(Asking("a", "pre_tool_use", hang, on_error="block"), timeout_s=0.1)
    decision = await engine.fire(make_event())
    assert decision.reason == "hook `a` failed: hook timed out after 100 ms"
    assert find_run(decision, "a").status == "timeout"


async def test_the_limit_is_the_setting_for_handlers(bench: Bench):
    engine = bench.open("settings: {handler_timeout_seconds: 0.1}\nhooks: []")
    engine.attach(Asking("a", "pre_tool_use", hang))
    assert find_run(await engine.fire(make_event()), "a").status == "timeout"


async def test_a_plain_object_runs_beside_the_event_loop(engine: Engine):
    def where(payload: HookPayload) -> Block:
        return Block(reason=threading.current_thread().name)

    engine.attach(PlainAsking("a", "pre_tool_use", where))
    decision = await engine.fire(make_event())
    assert decision.reason != threading.current_thread().name


async def test_a_plain_object_may_return_something_to_await(engine: Engine):
    async def answer() -> Block:
        await asyncio.sleep(0)
        return Block(reason="late")

    engine.attach(PlainAsking("a", "pre_tool_use", lambda payload: answer()))
    assert (await engine.fire(make_event())).reason == "late"


async def test_a_plain_object_that_does_not_answer_is_given_up(engine: Engine):
    is_over = threading.Event()
    engine.attach(PlainAsking("a", "pre_tool_use", lambda payload: is_over.wait(30)), timeout_s=0.1)
    assert find_run(await engine.fire(make_event()), "a").status == "timeout"
    assert engine.handling.objects.runner.stuck_count == 1
    is_over.set()
    await wait_until(lambda: engine.handling.objects.runner.stuck_count == 0, "the thread was free again")


async def test_a_cancelled_caller_does_not_wait_for_an_object(bench: Bench):
    """Case 42: cancelled at once, though the object does not heed it; the run log has it."""
    engine = bench.open()
    started, is_over = asyncio.Event(), asyncio.Event()

    async def stubborn(payload: HookPayload) -> Allow:
        started.set()
        try:
            await asyncio.sleep(1.5)
        except asyncio.CancelledError:
            await is_over.wait()
        return Allow()

    engine.attach(Asking("a", "pre_tool_use", stubborn))
    task = asyncio.create_task(engine.fire(make_event()))
    await started.wait()
    before = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - before < 0.2
    is_over.set()
    (record,) = await read_log(bench, 1)
    assert (record["hook"], record["status"]) == ("a", "cancelled")


async def test_objects_answer_hosts_without_an_event_loop(engine: Engine):
    engine.attach([Asking("a", "pre_tool_use", change(arguments={"a": 1})), PlainAsking("b", "pre_tool_use")])
    decision = await asyncio.to_thread(engine.fire_sync, make_event())
    assert args_of(decision) == {"command": "ls", "a": 1}
    assert order_of(decision) == ["a", "b"]


async def test_the_calls_of_a_batch_do_not_wait_for_one_another(engine: Engine):
    """A12: only the objects of one call are one after another."""
    arrived: list[HookPayload] = []
    all_arrived = asyncio.Event()

    async def meet(payload: HookPayload) -> Allow:
        arrived.append(payload)
        if len(arrived) == 4:
            all_arrived.set()
        await all_arrived.wait()
        return Allow()

    engine.attach(Asking("a", "pre_tool_use", meet))
    decisions = await asyncio.gather(*(engine.fire(make_event()) for _ in range(4)))
    assert {find_run(decision, "a").status for decision in decisions} == {"ok"}


# Shell hooks


async def test_a_shell_hook_answers_like_any_object(bench: Bench):
    engine = bench.open()
    command = """printf '{"decision":"mutate","patch":{"arguments":{"command":"'$AGENTYK_HOOK_TOOL_NAME'"}}}'"""
    engine.attach(ShellHook("a", "pre_tool_use", command))
    assert args_of(await engine.fire(bench.event())) == {"command": "bash"}


async def test_a_shell_hook_has_a_limit_of_its_own_and_says_so(engine: Engine):
    """Fact 36: the text of a timeout; a limit at attach does not count for it."""
    engine.attach(ShellHook("a", "pre_tool_use", "sleep 60", on_error="block", timeout_ms=150), timeout_s=0.01)
    decision = await engine.fire(make_event())
    assert decision.reason == "hook `a` failed: hook timed out after 150 ms"
    assert find_run(decision, "a").status == "timeout"


async def test_the_engine_sees_to_the_end_of_a_shell_hooks_processes(engine: Engine, tmp_path: Path):
    """A8: settling waits for them."""
    command = "trap '' TERM; echo $$ > pid; sleep 60 & wait"
    engine.attach(ShellHook("a", "pre_tool_use", command, timeout_ms=500, cwd=str(tmp_path)))
    decision = await engine.settle(await engine.fire(make_event()))
    assert find_run(decision, "a").signal is not None
    await wait_for_end(await wait_for_pid(tmp_path / "pid"), within_s=0.5)


async def test_a_cancelled_caller_leaves_no_process_of_a_shell_hook(engine: Engine, tmp_path: Path):
    """Case 42, with a process."""
    engine.attach(ShellHook("a", "pre_tool_use", "echo $$ > pid; sleep 60", timeout_ms=30_000, cwd=str(tmp_path)))
    task = asyncio.create_task(engine.fire(make_event()))
    pid = await wait_for_pid(tmp_path / "pid")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_for_end(pid)


async def test_arguments_too_large_for_a_variable_do_not_pass_a_guard(engine: Engine):
    """A1: a model that chooses large arguments does not get by."""
    engine.attach(ShellHook("guard", "pre_tool_use", "grep -q FORBIDDEN && { echo no >&2; exit 1; }; exit 0"))
    args = {"command": "x" * 140_000 + "FORBIDDEN"}
    assert (await engine.fire(make_event(args=args))).reason == "no"


async def test_a_guard_keeps_its_gate_closed_where_hooks_start_hooks_too_deep(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOOKLINE_HOOK_DEPTH", "3")
    engine = bench.open()
    engine.attach(ShellHook("guard", "pre_tool_use", "true", on_error="block"))
    assert (await engine.fire(bench.event())).verdict == "block"
