"""The cases of the native contract, one by one; 7, 8 and 9 wait for detached and durable hooks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from entries import command_hook, give_reply, script_hook, shell_hook, write_file
from hookline import AfterTurn, Event, Failure, SessionStart, UserInterrupt
from hookline.config.layers import load_layers
from hookline.config.lint import lint_file
from hookline.outcome import EMPTY_DECISION
from support import Bench, find_run, make_event
from waiting import PeakMemory, is_running, wait_for_end, wait_for_pid, wait_until

MEBIBYTE = 1024 * 1024
UNTIL_GO = "echo $$ > started; while [ ! -e go ]; do sleep 0.05; done; echo > finished"


def lint_codes(bench: Bench) -> set[str]:
    layers = load_layers(bench.project, home=bench.home, trust="all")
    return {problem.code for loaded in layers.files for problem in lint_file(loaded)}


def locate(text: str, needle: str) -> tuple[int, int]:
    """Line and column, counted from 1, of the only place where a text stands in another."""
    assert text.count(needle) == 1
    before = text[: text.index(needle)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


async def stays_unfinished(task: asyncio.Task[Any]) -> bool:
    done, _ = await asyncio.wait({task}, timeout=0.3)
    return not done


# Case 1


async def test_case_01_project_hooks_run_before_the_users(bench: Bench) -> None:
    """Case 1: a project's and a user's hook for one event run in this order."""
    bench.write(write_file(shell_hook("b", "echo user >> order")), layer="user")
    engine = bench.open(write_file(shell_hook("a", "echo project >> order")))
    decision = await engine.fire(bench.event())
    assert bench.read("order") == "project\nuser\n"
    assert [(run.hook.id, run.hook.source.layer) for run in decision.runs] == [("a", "project"), ("b", "user")]


async def test_case_01_a_block_of_the_project_ends_the_event(bench: Bench) -> None:
    """Case 1: a project's block ends the event with the reason it gave."""
    bench.write(write_file(shell_hook("mine", "touch ran")), layer="user")
    engine = bench.open(write_file(shell_hook("first", give_reply(action="block", reason="not here"))))
    decision = await engine.fire(bench.event())
    assert (decision.verdict, decision.reason) == ("block", "not here")
    assert not (bench.project / "ran").exists()


@pytest.mark.parametrize("mode", ["blocking", "async", "fire_and_forget"])
async def test_case_01_hooks_after_a_block_are_skipped_with_that_reason(bench: Bench, mode: str) -> None:
    """Case 1: after a project's block the user's hooks of any mode are skipped and say which hook blocked."""
    bench.write(write_file(shell_hook("mine", "touch ran", mode=mode)), layer="user")
    engine = bench.open(write_file(shell_hook("first", give_reply(action="block"))))
    decision = await engine.settle(await engine.fire(bench.event()))
    run = find_run(decision, "mine")
    assert (run.status, run.reason) == ("skipped", "hook 'first' blocked the event")
    assert not (bench.project / "ran").exists()


# Case 2


async def test_case_02_second_hook_sees_the_edit_of_the_first(bench: Bench) -> None:
    """Case 2: the payload of the second hook holds the path that the first one set."""
    first = shell_hook("first", give_reply(action="modify", args_override={"path": "z"}))
    engine = bench.open(write_file(first, shell_hook("second", "cat > seen")))
    await engine.fire(bench.event(args={"path": "a"}))
    assert json.loads(bench.read("seen"))["tool"]["args"] == {"path": "z"}


async def test_case_02_second_hook_is_matched_on_the_edit_of_the_first(bench: Bench) -> None:
    """Case 2: after the first hook's edit a hook for the new path runs and one for the old path does not."""
    first = shell_hook("first", give_reply(action="modify", args_override={"path": "z"}))
    for_new = command_hook("for-new", "true", match={"args": {"path": {"equals": "z"}}})
    for_old = command_hook("for-old", "true", match={"args": {"path": {"equals": "a"}}})
    engine = bench.open(write_file(first, for_new, for_old))
    decision = await engine.fire(bench.event(args={"path": "a"}))
    assert [run.hook.id for run in decision.runs] == ["first", "for-new"]


async def test_case_02_later_override_of_a_key_wins(bench: Bench) -> None:
    """Case 2: of two overrides of one key the later wins, and keys that only one of them names stay."""
    first = shell_hook("first", give_reply(action="modify", args_override={"path": "y", "mode": "r"}))
    second = shell_hook("second", give_reply(action="modify", args_override={"path": "z"}))
    engine = bench.open(write_file(first, second))
    decision = await engine.fire(bench.event(args={"path": "a", "text": "t"}))
    assert decision.edits == {"args": {"path": "z", "text": "t", "mode": "r"}}


async def test_case_02_object_value_is_replaced_whole(bench: Bench) -> None:
    """Case 2: an object in an override replaces the object that was there, key by key nothing is mixed."""
    engine = bench.open(
        write_file(shell_hook("first", give_reply(action="modify", args_override={"options": {"new": True}})))
    )
    decision = await engine.fire(bench.event(args={"options": {"old": 1}, "path": "a"}))
    assert decision.edits == {"args": {"options": {"new": True}, "path": "a"}}


# Case 3


@pytest.mark.parametrize(
    ("conditions", "args", "is_meant"),
    [
        ({"n": {"equals": "10"}}, {"n": 10}, True),
        ({"n": {"equals": "10"}}, {"n": "10"}, True),
        ({"n": {"equals": "10"}}, {"n": 10.0}, False),
        ({"n": {"equals": "True"}}, {"n": True}, True),
        ({"n": {"equals": "true"}}, {"n": True}, False),
        ({"n": {"equals": "1"}}, {"n": True}, False),
        ({"path": {}}, {"path": "a"}, True),
        ({"path": {}}, {"path": ""}, True),
        ({"path": {}}, {"path": False}, True),
        ({"path": {}}, {"path": 0}, True),
        ({"path": {}}, {"path": None}, False),
        ({"path": {}}, {"other": "a"}, False),
        ({"path": {"contains": ""}}, {"path": None}, False),
        ({"path": {"contains": ""}}, {}, False),
        ({"path": {"equals": "None"}}, {"path": None}, False),
        ({"path": {"regex": ""}}, {}, False),
        ({"path": {"contains": "src/", "regex": r"\.py$"}}, {"path": "src/a.py"}, True),
        ({"path": {"contains": "src/", "regex": r"\.py$"}}, {"path": "src/a.pyc"}, False),
        ({"list": {"equals": "[1, 'a']"}}, {"list": [1, "a"]}, True),
        ({}, {}, True),
    ],
)
async def test_case_03_argument_conditions(
    bench: Bench, conditions: Mapping[str, Any], args: Mapping[str, Any], is_meant: bool
) -> None:
    """Case 3: values are compared as Python's text of them, an empty condition asks for a value, null is none."""
    engine = bench.open(write_file(command_hook("h", "true", match={"args": conditions})))
    decision = await engine.fire(bench.event(args=args))
    assert [run.hook.id for run in decision.runs] == (["h"] if is_meant else [])


# Case 4

ENTRY = """
hooks:
  - id: bad
    event: before_tool_call
    run: {type: command, argv: ["true"]}
"""


@pytest.mark.parametrize(
    ("line", "needle", "code"),
    [
        ("match: {args: {n: {equals: 10}}}", "10}", "wrong-type"),
        ('enabled: "yes"', '"yes"', "wrong-type"),
        ("evnt: x", "evnt", "unknown-key"),
        ("execution: {mode: blocking, detach: true}", "true}", "detach-mode"),
        ("execution: {mode: async, detach: true}", "true}", "detach-mode"),
    ],
    ids=["equals-number", "enabled-text", "unknown-key", "detach-blocking", "detach-async"],
)
async def test_case_04_a_bad_entry_is_an_error_with_its_place(bench: Bench, line: str, needle: str, code: str) -> None:
    """Case 4: a value or key that does not fit is an error with file, line, column and the hook's id."""
    engine = bench.open(f"{ENTRY}    {line}\n")
    (problem,) = engine.problems
    path = bench.hooks_folder() / "hooks.yaml"
    assert (problem.severity, problem.code, problem.hook_id) == ("error", code, "bad")
    assert problem.place.path == path
    assert (problem.place.line, problem.place.column) == locate(path.read_text(), needle)
    assert problem.cure
    assert engine.hooks == ()


def test_case_04_a_mistyped_key_is_shown_with_the_known_one(bench: Bench) -> None:
    """Case 4: the error about the unknown key `evnt` offers `event`."""
    engine = bench.open(f"{ENTRY}    evnt: x\n")
    (problem,) = engine.problems
    assert "'evnt'" in problem.message
    assert "'event'" in problem.cure


def test_case_04_durable_on_a_blocking_hook_is_a_warning(bench: Bench) -> None:
    """Case 4: durable delivery of a blocking hook is warned of, and the hook loads."""
    engine = bench.open(f"{ENTRY}    execution: {{mode: blocking, delivery: durable}}\n")
    (problem,) = engine.problems
    assert (problem.severity, problem.code) == ("warning", "durable-blocking")
    assert problem.place.line == 6
    assert [hook.id for hook in engine.hooks] == ["bad"]


# Case 5


async def test_case_05_a_failed_guard_blocks_with_its_stderr(bench: Bench) -> None:
    """Case 5: exit 1 with on_error: block blocks the tool call, and the reason holds the stderr."""
    engine = bench.open(write_file(shell_hook("g", "echo no such rule >&2; exit 1", on_error="block")))
    decision = await engine.fire(bench.event())
    run = find_run(decision, "g")
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert "no such rule" in decision.reason
    assert (run.status, run.exit_code) == ("failed", 1)


async def test_case_05_the_reply_of_a_failed_hook_is_ignored(bench: Bench) -> None:
    """Case 5: a hook that exits with 1 has said nothing, whatever its reply file holds."""
    say = give_reply(action="modify", args_override={"command": "rm"})
    engine = bench.open(write_file(shell_hook("g", f"{say}; exit 1", on_error="warn")))
    decision = await engine.fire(bench.event())
    assert decision.verdict == "allow"
    assert decision.edits == {}
    assert find_run(decision, "g").effects == ()


async def test_case_05_the_reason_of_a_failed_guard_is_not_its_reply(bench: Bench) -> None:
    """Case 5: a guard that fails blocks for its failure, not for what its reply file says."""
    say = give_reply(action="allow", reason="from the reply")
    engine = bench.open(write_file(shell_hook("g", f"{say}; exit 1", on_error="block")))
    decision = await engine.fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert "from the reply" not in decision.reason


async def test_case_05_on_error_warn_allows_and_warns(bench: Bench) -> None:
    """Case 5: exit 1 with on_error: warn lets the call through with a warning that holds the stderr."""
    engine = bench.open(write_file(shell_hook("g", "echo no such rule >&2; exit 1", on_error="warn")))
    decision = await engine.fire(bench.event())
    (warning,) = decision.warnings
    assert decision.verdict == "allow"
    assert "'g'" in warning
    assert "no such rule" in warning


async def test_case_05_on_error_block_only_warns_where_nothing_can_be_stopped(bench: Bench) -> None:
    """Case 5: on after_turn a failure with on_error: block is a warning."""
    engine = bench.open(write_file(shell_hook("g", "exit 1", event="after_turn", on_error="block")))
    decision = await engine.fire(Event(AfterTurn(turn=1), cwd=str(bench.project)))
    assert decision.verdict == "allow"
    assert find_run(decision, "g").status == "failed"
    assert len(decision.warnings) == 1


# Case 6


async def test_case_06_the_end_of_a_turn_waits_for_async_hooks(bench: Bench) -> None:
    """Case 6: drain_turn returns when an async hook of the turn has ended, and returns its run."""
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO, mode="async")))
    await engine.fire(bench.event(session_id="s"))
    await wait_for_pid(bench.project / "started")
    drain = asyncio.create_task(engine.drain_turn("s"))
    assert await stays_unfinished(drain)
    (bench.project / "go").touch()
    assert [(run.hook.id, run.status) for run in await drain] == [("h", "ok")]
    assert (bench.project / "finished").exists()


async def test_case_06_the_end_of_a_turn_does_not_wait_for_fire_and_forget_hooks(bench: Bench) -> None:
    """Case 6: drain_turn returns although a fire-and-forget hook still runs."""
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO, mode="fire_and_forget")))
    await engine.fire(bench.event(session_id="s"))
    pid = await wait_for_pid(bench.project / "started")
    assert await asyncio.wait_for(engine.drain_turn("s"), 10) == ()
    assert is_running(pid)


async def test_case_06_the_end_of_a_turn_does_not_wait_for_hooks_of_an_interrupt(bench: Bench) -> None:
    """Case 6: drain_turn returns although an async hook of user_interrupt still runs."""
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO, mode="async", event="user_interrupt")))
    await engine.fire(Event(UserInterrupt(), session_id="s", cwd=str(bench.project)))
    pid = await wait_for_pid(bench.project / "started")
    assert await asyncio.wait_for(engine.drain_turn("s"), 10) == ()
    assert is_running(pid)


async def test_case_06_the_end_of_a_turn_does_not_wait_for_hooks_of_the_session(bench: Bench) -> None:
    """Case 6: drain_turn returns although an async hook of session_start still runs."""
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO, mode="async", event="session_start")))
    await engine.fire(Event(SessionStart(), session_id="s", cwd=str(bench.project)))
    pid = await wait_for_pid(bench.project / "started")
    assert await asyncio.wait_for(engine.drain_turn("s"), 10) == ()
    assert is_running(pid)


async def test_case_06_the_end_of_a_session_waits_for_its_hooks(bench: Bench) -> None:
    """Case 6: an async hook of session_start that ends within the grace is waited for at the session's end."""
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO, mode="async", event="session_start")))
    await engine.fire(Event(SessionStart(), session_id="s", cwd=str(bench.project)))
    await wait_for_pid(bench.project / "started")
    drain = asyncio.create_task(engine.drain_session("s", grace_s=30))
    assert await stays_unfinished(drain)
    (bench.project / "go").touch()
    assert [(run.hook.id, run.status) for run in await drain] == [("h", "ok")]


async def test_case_06_the_end_of_a_session_cancels_what_outlasts_the_grace(bench: Bench) -> None:
    """Case 6: an async hook that outlasts the session's grace is cancelled and its process ended."""
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO, mode="async", event="session_start")))
    await engine.fire(Event(SessionStart(), session_id="s", cwd=str(bench.project)))
    pid = await wait_for_pid(bench.project / "started")
    (run,) = await engine.drain_session("s", grace_s=0.2)
    assert run.status == "cancelled"
    assert run.reason
    await wait_for_end(pid)


async def test_case_06_the_end_of_a_session_leaves_other_sessions_alone(bench: Bench) -> None:
    """Case 6: the hooks of another session are neither waited for nor cancelled."""
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO, mode="async")))
    await engine.fire(bench.event(session_id="other"))
    pid = await wait_for_pid(bench.project / "started")
    assert await asyncio.wait_for(engine.drain_session("s", grace_s=0), 10) == ()
    assert is_running(pid)


async def test_case_06_a_cancelled_drain_leaves_the_hooks_running(bench: Bench) -> None:
    """Case 6: a drain_turn that is interrupted does not end the hooks it waited for."""
    engine = bench.open(write_file(shell_hook("h", UNTIL_GO, mode="async")))
    await engine.fire(bench.event(session_id="s"))
    await wait_for_pid(bench.project / "started")
    drain = asyncio.create_task(engine.drain_turn("s"))
    assert await stays_unfinished(drain)
    drain.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await drain
    (bench.project / "go").touch()
    await wait_until((bench.project / "finished").exists, "the hook ran to its end")


# Case 10


async def test_case_10_a_large_payload_arrives_whole(bench: Bench) -> None:
    """Case 10: a payload of 10 MB reaches the hook on stdin and in its file, byte for byte the same."""
    text = 'wc -c < "$HOOKLINE_HOOK_PAYLOAD_FILE" > size; cmp - "$HOOKLINE_HOOK_PAYLOAD_FILE" && echo same > same'
    engine = bench.open(write_file(shell_hook("h", text, on_error="block")))
    decision = await engine.fire(bench.event(args={"text": "x" * 10 * MEBIBYTE}))
    assert decision.verdict == "allow"
    assert int(bench.read("size")) > 10 * MEBIBYTE
    assert bench.read("same") == "same\n"


async def test_case_10_a_large_reply_is_malformed_and_never_read_whole(bench: Bench) -> None:
    """Case 10: a reply of 10 MB is no reply, and costs no memory of its size."""
    text = 'head -c 10485760 /dev/zero | tr "\\0" " " > "$HOOKLINE_HOOK_RESULT"'
    engine = bench.open(write_file(shell_hook("h", text, on_error="block")))
    memory = PeakMemory()
    decision = await engine.fire(bench.event())
    outcome = find_run(decision, "h").outcome
    assert decision.verdict == "block"
    assert isinstance(outcome, Failure)
    assert outcome.kind == "reply"
    assert memory.growth < 8 * MEBIBYTE


async def test_case_10_endless_output_takes_bounded_memory(bench: Bench) -> None:
    """Case 10: of 100 MB of output on both streams 256 KiB each are kept, and memory stays bounded."""
    text = "head -c 104857600 /dev/zero & head -c 104857600 /dev/zero >&2; wait"
    engine = bench.open(write_file(shell_hook("h", text)))
    memory = PeakMemory()
    decision = await engine.fire(bench.event())
    run = find_run(decision, "h")
    assert run.status == "ok"
    for output in (run.stdout, run.stderr):
        assert 200_000 < len(output) <= 256 * 1024
        assert "bytes left out" in output
    assert memory.growth < 16 * MEBIBYTE


async def test_case_10_output_without_a_newline_is_kept(bench: Bench) -> None:
    """Case 10: output that never ends its line is output."""
    engine = bench.open(write_file(shell_hook("h", "printf no-newline; printf nor-here >&2")))
    run = find_run(await engine.fire(bench.event()), "h")
    assert (run.stdout, run.stderr) == ("no-newline", "nor-here")


async def test_case_10_output_after_the_leaders_exit_is_not_waited_for(bench: Bench) -> None:
    """Case 10: a background child that goes on writing after the hook's exit holds nothing up."""
    engine = bench.open(write_file(shell_hook("h", "yes & echo $! > kid; echo early >&2", timeout_seconds=60)))
    async with asyncio.timeout(20):
        decision = await engine.fire(bench.event())
    run = find_run(decision, "h")
    assert (run.status, run.stderr) == ("ok", "early\n")
    await wait_for_end(int(bench.read("kid")))  # nobody reads its pipe any more


# Case 11

REPLACEMENTS = {
    "fifo": 'rm "$HOOKLINE_HOOK_RESULT"; mkfifo "$HOOKLINE_HOOK_RESULT"',
    "symlink": 'ln -sf "$PWD/target" "$HOOKLINE_HOOK_RESULT"',
    "dangling symlink": 'ln -sf "$PWD/nowhere" "$HOOKLINE_HOOK_RESULT"',
    "device": 'ln -sf /dev/zero "$HOOKLINE_HOOK_RESULT"',
    "directory": 'rm "$HOOKLINE_HOOK_RESULT"; mkdir "$HOOKLINE_HOOK_RESULT"',
    "full directory": 'rm "$HOOKLINE_HOOK_RESULT"; mkdir -p "$HOOKLINE_HOOK_RESULT/a/b"',
}


@pytest.mark.parametrize("how", REPLACEMENTS)
async def test_case_11_a_replaced_reply_file_is_a_malformed_reply(bench: Bench, how: str) -> None:
    """Case 11: whatever stands in the reply file's place is neither followed nor waited for: the guard closes."""
    (bench.project / "target").write_text('{"action": "allow", "extra_context": "followed"}')
    engine = bench.open(write_file(shell_hook("g", REPLACEMENTS[how], on_error="block")))
    async with asyncio.timeout(20):
        decision = await engine.fire(bench.event())
    outcome = find_run(decision, "g").outcome
    assert decision.verdict == "block"
    assert isinstance(outcome, Failure)
    assert outcome.kind == "reply"


@pytest.mark.parametrize("how", REPLACEMENTS)
async def test_case_11_a_replaced_reply_file_is_warned_of_where_the_policy_is_open(bench: Bench, how: str) -> None:
    """Case 11: with on_error: warn the call goes through, unedited, with a warning."""
    (bench.project / "target").write_text('{"action": "block", "reason": "followed"}')
    engine = bench.open(write_file(shell_hook("g", REPLACEMENTS[how], on_error="warn")))
    async with asyncio.timeout(20):
        decision = await engine.fire(bench.event())
    assert decision.verdict == "allow"
    assert len(decision.warnings) == 1
    assert "followed" not in decision.warnings[0]


# Case 12


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file can grow beyond 1 MiB, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEBIBYTE, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize(
    ("execution", "verdict"), [({"on_error": "block"}, "block"), ({"on_error": "warn"}, "allow"), ({}, "block")]
)
async def test_case_12_no_room_for_the_payload_is_a_failure_to_start(
    bench: Bench, execution: Mapping[str, Any], verdict: str
) -> None:
    """Case 12: a payload that cannot be written fails the hook as `spawn` under on_error, closed if that is unset."""
    engine = bench.open(write_file(shell_hook("h", "touch ran", **execution)))
    decision = await engine.fire(bench.event(args={"text": "x" * 2 * MEBIBYTE}))
    outcome = find_run(decision, "h").outcome
    assert isinstance(outcome, Failure)
    assert outcome.kind == "spawn"
    assert decision.verdict == verdict
    assert decision.warnings
    assert not (bench.project / "ran").exists()


@pytest.mark.usefixtures("full_disk")
async def test_case_12_an_observer_that_cannot_be_started_is_a_failed_run(bench: Bench) -> None:
    """Case 12: an async hook whose payload cannot be written is recorded as failed, not dropped."""
    engine = bench.open(write_file(shell_hook("h", "touch ran", mode="async")))
    fired = await engine.fire(bench.event(args={"text": "x" * 2 * MEBIBYTE}))
    run = find_run(await engine.settle(fired), "h")
    assert run.status == "failed"
    assert isinstance(run.outcome, Failure)
    assert run.outcome.kind == "spawn"


@pytest.mark.usefixtures("full_disk")
async def test_case_12_what_was_written_before_the_disk_was_full_is_removed(bench: Bench) -> None:
    """Case 12: the part of a payload that found room does not stay behind; the next, smaller one gets through."""
    engine = bench.open(write_file(shell_hook("h", 'ls "$(dirname "$HOOKLINE_HOOK_RESULT")" > files')))
    await engine.fire(bench.event(args={"text": "x" * 2 * MEBIBYTE}))
    decision = await engine.fire(bench.event())
    assert find_run(decision, "h").status == "ok"
    assert len([name for name in bench.read("files").split() if name.endswith(".json")]) == 1


# Case 13


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("${workspace_cwd}", "{project}"),
        ("${hookline_home}", "{home}"),
        ("<${session_id}>", "<s 1>"),
        ("${profile}${profile}", "CodeCode"),
        ("${unknown} $HOME ${HOME:-x} ~", "${unknown} $HOME ${HOME:-x} ~"),
    ],
)
async def test_case_13_templates_in_env(bench: Bench, template: str, text: str) -> None:
    """Case 13: known templates in env are replaced wherever they stand; anything else stays as it is."""
    engine = bench.open(write_file(shell_hook("h", 'printf %s "$VALUE" > value', env={"VALUE": template})))
    await engine.fire(bench.event(session_id="s 1", profile="Code"))
    wanted = text.replace("{project}", str(bench.project)).replace("{home}", str(bench.home))
    assert bench.read("value") == wanted


async def test_case_13_a_template_is_replaced_literally_and_once(bench: Bench) -> None:
    """Case 13: what a template stands for is not looked at again, nor by a shell."""
    engine = bench.open(write_file(shell_hook("h", 'printf %s "$VALUE" > value', env={"VALUE": "${session_id}"})))
    await engine.fire(bench.event(session_id="${profile} $(touch pwned) \\1", profile="Code"))
    assert bench.read("value") == "${profile} $(touch pwned) \\1"
    assert not (bench.project / "pwned").exists()


async def test_case_13_templates_in_cwd(bench: Bench) -> None:
    """Case 13: a hook with a template in cwd runs in the folder that it stands for."""
    (bench.project / "sub dir").mkdir()
    engine = bench.open(write_file(shell_hook("h", "pwd > here", cwd="${workspace_cwd}/sub dir")))
    await engine.fire(bench.event())
    assert bench.read("sub dir/here").strip() == str(bench.project / "sub dir")


def test_case_13_unknown_templates_are_warned_of(bench: Bench) -> None:
    """Case 13: check warns of a template that it does not know."""
    bench.write(write_file(shell_hook("h", "true", env={"VALUE": "${workspace}"})))
    assert "unknown-template" in lint_codes(bench)


def test_case_13_known_templates_are_not_warned_of(bench: Bench) -> None:
    """Case 13: check says nothing of the four templates there are."""
    known = "${workspace_cwd} ${hookline_home} ${session_id} ${profile}"
    bench.write(write_file(shell_hook("h", "true", env={"VALUE": known}, cwd="${workspace_cwd}")))
    assert "unknown-template" not in lint_codes(bench)


async def test_case_13_a_relative_script_path_starts_at_its_file(bench: Bench) -> None:
    """Case 13: a script's relative path is looked up from the folder of the hooks file, not from any cwd."""
    bench.write_script("scripts/h.sh", "echo ran > ran")
    engine = bench.open(write_file(script_hook("h", "scripts/h.sh", on_error="block")))
    decision = await engine.fire(bench.event())
    assert decision.verdict == "allow"
    assert bench.read("ran") == "ran\n"


def test_case_13_a_relative_cwd_is_reported(bench: Bench) -> None:
    """Case 13: check warns of a relative cwd, which would depend on where the agent was started."""
    bench.write(write_file(shell_hook("h", "true", cwd="sub")))
    assert "relative-cwd" in lint_codes(bench)


# Case 14


class UntouchedArguments(Mapping[str, Any]):
    """Arguments that nobody may look at."""

    def __getitem__(self, name: str) -> Any:
        raise AssertionError("the arguments were read")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("the arguments were read")

    def __len__(self) -> int:
        raise AssertionError("the arguments were read")


@pytest.mark.parametrize(
    "options",
    [{"event": "after_turn"}, {"match": {"tool_name": "other"}}, {"match": {"tool_kind": "mcp"}}],
    ids=["other-event", "other-tool", "other-kind"],
)
@pytest.mark.parametrize("mode", ["blocking", "async", "fire_and_forget"])
async def test_case_14_an_event_for_no_hook_gives_the_empty_decision(
    bench: Bench, options: Mapping[str, Any], mode: str
) -> None:
    """Case 14: with 20 hooks, none for the event, the one shared empty decision comes back, no payload is built."""
    hooks = [command_hook(f"h{number}", "true", mode=mode, **options) for number in range(20)]
    engine = bench.open(write_file(*hooks))
    assert len(engine.hooks) == 20
    assert await engine.fire(make_event(args=UntouchedArguments())) is EMPTY_DECISION


async def test_case_14_disabled_hooks_are_not_for_the_event(bench: Bench) -> None:
    """Case 14: 20 hooks that are switched off give the shared empty decision."""
    hooks = [{**command_hook(f"h{number}", "true"), "enabled": False} for number in range(20)]
    engine = bench.open(write_file(*hooks))
    assert not engine.listens("before_tool_call")
    assert await engine.fire(make_event(args=UntouchedArguments())) is EMPTY_DECISION


# Case 15


@pytest.mark.parametrize("hook_id", ["x" * 300, "鉤" * 100, "a/../b c'\"$(x)"], ids=["300-x", "100-cjk", "odd-signs"])
@pytest.mark.parametrize("mode", ["blocking", "async"])
async def test_case_15_long_and_odd_ids_run_like_any_other(bench: Bench, hook_id: str, mode: str) -> None:
    """Case 15: an id of any length and script is handed to the hook as it is, and its hook runs."""
    engine = bench.open(write_file(shell_hook(hook_id, 'printf %s "$HOOKLINE_HOOK_ID" > id', mode=mode)))
    decision = await engine.settle(await engine.fire(bench.event()))
    assert find_run(decision, hook_id).status == "ok"
    assert bench.read("id") == hook_id
    assert [path.name for path in Path(bench.project).iterdir() if path.name != ".hookline"] == ["id"]
