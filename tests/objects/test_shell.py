"""Shell hooks: what a command gets, what its end means, and what is left of it."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hookline.errors import ConfigError
from hookline.objects.protocol import HookObject, check_object, run_object
from hookline.objects.records import Allow, Block, Error, HookOutcome, HookPayload, LateError, Mutate, ObjectEvent
from hookline.objects.shell import PAYLOAD_VARIABLE, ShellHook, ShellLimits
from hookline.process.child import Child
from waiting import count_descriptors, wait_for_end, wait_for_pid, wait_until

CALL = {"tool_name": "bash", "tool_call_id": "c1", "arguments": {"command": "ls"}}


def make_payload(**options: Any) -> HookPayload:
    defaults: dict[str, Any] = {"event": "pre_tool_use", "hook_id": "h", "session_id": "s", "turn_id": "t"}
    return HookPayload(**defaults | {"data": CALL} | options)


def make_hook(command: str, *, event: ObjectEvent = "pre_tool_use", **options: Any) -> ShellHook:
    return ShellHook("h", event, command, **{"timeout_ms": 20_000, **options})


async def run(command: str, payload: HookPayload | None = None, **options: Any) -> HookOutcome:
    return await make_hook(command, **options).run(payload or make_payload())


async def read(command: str, payload: HookPayload | None = None, **options: Any) -> str:
    """What a command prints, taken from the reason of a block."""
    found = await run(f"{{ {command}\n}} >&2; exit 1", payload, **options)
    assert isinstance(found, Block), found
    return found.reason


def refuse(command: str = "true", **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        make_hook(command, **options)
    return str(caught.value)


def test_a_shell_hook_is_a_hook_object():
    """Fact 34: 5 s and warn, unless told otherwise."""
    hook: HookObject = ShellHook("h", "pre_tool_use", "true")
    assert isinstance(hook, ShellHook)
    assert check_object(hook) == ()
    assert (hook.timeout_ms, hook.on_error, hook.matcher) == (5000, "warn", None)


# What a command gets


async def test_the_payload_is_on_stdin():
    """Fact 33: payload on stdin."""
    payload = make_payload()
    assert json.loads(await read("cat", payload)) == payload.to_data()


async def test_the_payload_is_in_a_variable_too():
    """Fact 33."""
    payload = make_payload()
    assert json.loads(await read(f'printf %s "${PAYLOAD_VARIABLE}"', payload)) == payload.to_data()


async def test_variables_tell_what_it_is_about():
    """Fact 33: event, ids and names."""
    names = ("EVENT", "ID", "SESSION_ID", "TURN_ID", "TOOL_NAME", "TOOL_CALL_ID")
    command = f'echo "{" ".join(f"$AGENTYK_HOOK_{name}" for name in names)}"'
    assert await read(command) == "pre_tool_use h s t bash c1"


async def test_variables_without_a_value_are_empty():
    """Fact 33: an empty text when absent."""
    payload = make_payload(event="session_start", turn_id=None, data={"agent": "a"})
    command = "".join(f'echo "[${{AGENTYK_HOOK_{name}-unset}}]";' for name in ("TURN_ID", "TOOL_NAME", "TOOL_CALL_ID"))
    assert await read(command, payload, event="session_start") == "[]\n[]\n[]"


async def test_the_users_variables_win_over_the_hosts_and_not_over_the_payloads(monkeypatch: pytest.MonkeyPatch):
    """Fact 33: the user's map first; the user cannot override the payload's."""
    monkeypatch.setenv("COLOUR", "red")
    monkeypatch.setenv("SHAPE", "round")
    env = {"COLOUR": "blue", "AGENTYK_HOOK_EVENT": "mine", "AGENTYK_HOOK_MINE": "kept"}
    command = 'echo "$COLOUR $SHAPE $AGENTYK_HOOK_EVENT $AGENTYK_HOOK_MINE"'
    assert await read(command, env=env) == "blue round pre_tool_use kept"


async def test_variables_of_an_outer_hook_are_not_inherited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTYK_HOOK_OTHER", "old")
    assert await read('echo "${AGENTYK_HOOK_OTHER-unset}"') == "unset"


@pytest.mark.parametrize("size", [140_000, 2_000_000])
async def test_a_payload_of_any_size_reaches_the_command(size: int):
    """A1: above 128 KiB the variable is left unset; the payload is on stdin all the same."""
    payload = make_payload(data=CALL | {"arguments": {"command": "x" * size}})
    command = f'echo "${{{PAYLOAD_VARIABLE}-unset}}" $(wc -c)'
    assert await read(command, payload) == f"unset {len(payload.to_json())}"


async def test_the_largest_payload_that_fits_is_in_the_variable():
    """A1: up to what the system takes."""
    room = 128 * 1024 - len(PAYLOAD_VARIABLE) - 2
    instant = datetime(2026, 1, 31, tzinfo=UTC)
    empty = len(make_payload(data="", ts=instant).to_json())
    command = f'test -n "${{{PAYLOAD_VARIABLE}+x}}" && echo set || echo unset'
    assert await read(command, make_payload(data="x" * (room - empty), ts=instant)) == "set"
    assert await read(command, make_payload(data="x" * (room - empty + 1), ts=instant)) == "unset"


async def test_a_system_that_takes_less_stops_no_guard():
    """A1: also where all variables together must not exceed what one of them may be elsewhere."""
    before = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (256 * 1024, before[1]))
    try:
        found = await read(f'echo "${{{PAYLOAD_VARIABLE}-unset}}"; wc -c', make_payload(data="x" * 130_800))
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, before)
    assert found.startswith("unset\n130")


@pytest.mark.parametrize("name", ["ba\0sh", "ba\ud800sh", "x" * 140_000])
async def test_a_name_that_no_variable_can_hold_stops_no_guard(name: str):
    """A1: a NUL in a tool's name likewise: the variable is unset, the command runs."""
    payload = make_payload(data=CALL | {"tool_name": name})
    limits = ShellLimits(output_bytes=1_000_000)
    found = await read('echo "${AGENTYK_HOOK_TOOL_NAME-unset}"; cat', payload, limits=limits)
    text = found.removeprefix("unset\n")
    assert json.loads(text)["data"]["tool_name"] == name


async def test_a_command_that_reads_nothing_is_no_failure():
    """Fact 33: nobody has to read stdin."""
    payload = make_payload(data="x" * 1_000_000)
    assert await run("exec <&-; exit 0", payload) == Allow()


async def test_a_payload_without_a_json_form_is_an_error():
    found = await run("true", make_payload(data={1, 2}))
    assert isinstance(found, Error)
    assert "no JSON form" in found.message


async def test_no_code_of_a_repository_comes_with_the_environment(monkeypatch: pytest.MonkeyPatch):
    """A18: the environment rules are native's."""
    monkeypatch.setenv("PYTHONPATH", "/tmp/evil")
    monkeypatch.setenv("BASH_ENV", "/tmp/evil")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    command = 'echo "${PYTHONPATH-unset} ${BASH_ENV-unset} $PYTHONSAFEPATH"; case "$PATH" in .:*) echo bad;; esac'
    assert await read(command) == "unset unset 1"


async def test_hooks_in_hooks_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOOKLINE_HOOK_DEPTH", "1")
    assert await read('echo "$HOOKLINE_HOOK_DEPTH"') == "2"


async def test_the_directory_is_the_hosts_unless_it_is_given(tmp_path: Path):
    """Fact 33: cwd inherited. A18: or chosen."""
    assert await read("pwd -P") == str(Path.cwd().resolve())
    assert await read("pwd -P", cwd=str(tmp_path)) == str(tmp_path.resolve())


async def test_a_command_that_cannot_be_started_is_an_error(tmp_path: Path):
    found = await run("true", cwd=str(tmp_path / "gone"))
    assert isinstance(found, Error)
    assert "does not exist" in found.message


# What its end means


@pytest.mark.parametrize("command", ["exit 0", "printf '  \\n\\n'", "echo note >&2"])
async def test_nothing_said_and_exit_0_is_allow(command: str):
    """Fact 35: trimmed stdout empty, exit 0."""
    assert await run(command) == Allow()


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo ' no way ' >&2; exit 1", "no way"),
        ("exit 2", "hook exited unsuccessfully"),
        ("kill -KILL $$", "hook exited unsuccessfully"),
        ("echo stop >&2; kill -TERM $$", "stop"),
    ],
)
async def test_nothing_said_and_another_end_is_a_block(command: str, reason: str):
    """Fact 35: non-zero or signal blocks with trimmed stderr, or else says so."""
    assert await run(command) == Block(reason=reason)


async def test_a_command_that_is_not_found_is_a_block():
    """Fact 35: exit 127 too."""
    found = await run("no-such-program-anywhere")
    assert isinstance(found, Block)
    assert "not found" in found.reason


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("text", ["yes", '["allow"]', '"allow"', "nope {}"])
async def test_anything_but_an_object_is_an_error(text: str, code: int):
    """Fact 35: not starting with "{" is an error, whatever the exit code."""
    found = await run(f"cat <<'END'\n{text}\nEND\nexit {code}")
    assert isinstance(found, Error)
    assert "not a JSON decision" in found.message


@pytest.mark.parametrize("text", ["{}", '{"decision": "deny"}', "{", '{"decision": "allow"} {}'])
async def test_an_object_that_is_no_outcome_is_an_error(text: str):
    """Fact 35: it must be a valid outcome."""
    assert isinstance(await run(f"echo '{text}'"), Error)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('{"decision": "allow"}', Allow()),
        ('{"decision": "block", "reason": "r"}', Block(reason="r")),
        ('{"decision": "mutate", "patch": {"arguments": {"a": 1}}}', Mutate(patch={"arguments": {"a": 1}})),
        ('{"decision": "error", "message": "m"}', Error(message="m")),
    ],
)
@pytest.mark.parametrize("code", [0, 1])
async def test_a_decision_counts_whatever_the_exit_code(text: str, outcome: HookOutcome, code: int):
    """Fact 35: the exit code is then ignored."""
    assert await run(f"echo '  {text}'; exit {code}") == outcome


async def test_as_much_output_as_allowed_passes():
    """Fact 34: exactly 65536 bytes of both outputs pass, one more does not."""
    assert await run("head -c 32768 /dev/zero | tr '\\0' ' '; head -c 32768 /dev/zero >&2") == Allow()
    found = await run("head -c 32768 /dev/zero | tr '\\0' ' '; head -c 32769 /dev/zero >&2")
    assert found == Error(message="hook wrote 65537 bytes; the most is 65536")


async def test_output_without_end_is_drained_and_not_stored():
    """Fact 34: excess is drained."""
    found = await run("head -c 20000000 /dev/zero; echo done >&2")
    assert found == Error(message="hook wrote 20000005 bytes; the most is 65536")


@pytest.mark.parametrize("size", [1000, 600_000])
async def test_the_output_limit_is_a_setting(size: int):
    """A19: limits are settings."""
    text = f'printf \'{{"decision": "error", "message": "\'; head -c {size} /dev/zero | tr \'\\0\' x; printf \'"}}\''
    assert await run(text, limits=ShellLimits(output_bytes=size + 100)) == Error(message="x" * size)
    assert "the most is" in (await run(text, limits=ShellLimits(output_bytes=size))).to_json()


# Time


async def test_a_command_whose_time_is_up_is_an_error():
    """Fact 36: the text of a timeout."""
    assert await run("sleep 60", timeout_ms=200) == LateError(message="hook timed out after 200 ms")


async def test_all_that_a_command_started_ends_with_its_time(tmp_path: Path):
    """A8: the whole group is ended, and those that left it."""
    command = "trap '' TERM; setsid sleep 60 & echo $! > left; sleep 60 & echo $! > child; wait"
    assert await run(command, timeout_ms=500, cwd=str(tmp_path)) == LateError(message="hook timed out after 500 ms")
    for name in ("left", "child"):
        await wait_for_end(await wait_for_pid(tmp_path / name))


async def test_a_child_that_holds_the_output_does_not_hold_the_verdict(tmp_path: Path):
    """A9: the verdict is read when the command itself has ended."""
    started = time.monotonic()
    found = await run("sleep 60 & echo $! > pid; echo no >&2; exit 1", cwd=str(tmp_path))
    assert found == Block(reason="no")
    assert time.monotonic() - started < 10
    os.kill(await wait_for_pid(tmp_path / "pid"), 9)


async def test_cancellation_is_prompt_and_leaves_nothing(tmp_path: Path):
    """Case 42, the translation: cancelling returns at once, and what ran is ended. A10."""
    task = asyncio.create_task(run("echo $$ > pid; sleep 60; true", cwd=str(tmp_path)))
    pid = await wait_for_pid(tmp_path / "pid")
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 1
    await wait_for_end(pid)


async def test_somebody_else_may_see_to_the_end(tmp_path: Path):
    adopted: list[Child] = []
    hook = make_hook("sleep 60", timeout_ms=200, adopt=adopted.append)
    assert isinstance(await hook.run(make_payload()), Error)
    assert len(adopted) == 1
    adopted[0].signal_group(9)
    adopted[0].reap()


async def test_no_descriptor_is_left():
    await run("true")
    before = count_descriptors()
    for command, timeout_ms in [("echo x", 5000), ("exit 3", 5000), ("sleep 60", 100)]:
        await run(command, timeout_ms=timeout_ms)
    await wait_until(lambda: count_descriptors() <= before, "all descriptors were closed")


async def test_a_shell_hook_is_asked_like_any_object():
    assert await run_object(make_hook("exit 1"), make_payload()) == Block(reason="hook exited unsuccessfully")


# Limits, checked when it is made


@pytest.mark.parametrize("timeout_ms", [0, 99, 30_001, -1])
def test_a_time_limit_out_of_range_is_refused(timeout_ms: int):
    """A16: out-of-range limits are refused when the hook is made, not clamped."""
    assert refuse(timeout_ms=timeout_ms) == f"hook `h`: timeout_ms is {timeout_ms}; it must be from 100 to 30000"


@pytest.mark.parametrize("timeout_ms", [100, 30_000])
def test_the_ends_of_the_range_are_in_it(timeout_ms: int):
    """Fact 34: 100 ms to 30 s."""
    assert make_hook("true", timeout_ms=timeout_ms).timeout_ms == timeout_ms


def test_a_command_that_is_too_long_is_refused():
    """Fact 34: 16 KiB, in bytes; A16: when the hook is made."""
    assert make_hook("x" * 16 * 1024).command
    assert "the command has 16386 bytes" in refuse("é" * 8193)


def test_too_many_variables_are_refused():
    """Fact 34: 16 variables."""
    env = {f"V{number}": "" for number in range(17)}
    assert "env has 17 variables; the most is 16" in refuse(env=env)
    env.popitem()
    assert make_hook("true", env=env).env == env


@pytest.mark.parametrize("env", [{"": "x"}, {"A=B": "x"}, {"A": "x\0"}, {"A\0": "x"}, {"A": "x" * 140_000}])
def test_a_variable_that_cannot_be_handed_over_is_refused(env: dict[str, str]):
    assert "cannot be handed over" in refuse(env=env)


@pytest.mark.parametrize("command", ["", "  \n", "a\0b"])
def test_a_command_that_cannot_run_is_refused(command: str):
    assert "the command" in refuse(command)


def test_every_problem_is_told():
    assert refuse("", env={"": ""}, timeout_ms=5).count(";") == 3


def test_the_ceilings_are_settings():
    """A19: the 30 s ceiling is a setting."""
    assert make_hook("true", timeout_ms=60_000, limits=ShellLimits(most_timeout_ms=60_000)).timeout_ms == 60_000
