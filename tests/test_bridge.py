"""The bridge by itself: a native payload in, a native reply out, whatever the program does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import Bench
from terminal import find_hookline, make_environment, run_hookline
from waiting import wait_until

CALL = {"event": "before_tool_call", "tool": {"name": "bash", "args": {"command": "ls"}}}


def ask(bench: Bench, *words: str, payload: Any = CALL, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the bridge by hand."""
    return run_hookline(bench, "bridge", *words, stdin=json.dumps(payload), **environment)


def test_a_reply_is_printed_by_hand(bench: Bench):
    ended = ask(bench, "vix", "--", "echo no >&2; exit 2")
    assert (ended.returncode, json.loads(ended.stdout)) == (0, {"action": "block", "reason": "no"})


def test_a_reply_is_written_where_a_hook_is_asked_for_it(bench: Bench):
    (bench.root / "payload").write_text(json.dumps(CALL))
    (bench.root / "reply").touch()
    files = {name: str(bench.root / name) for name in ("payload", "reply")}
    ended = ask(
        bench,
        "vix",
        "echo no >&2; exit 2",
        payload=None,
        HOOKLINE_HOOK_PAYLOAD_FILE=files["payload"],
        HOOKLINE_HOOK_RESULT=files["reply"],
    )
    assert ended.stdout == ""
    assert json.loads((bench.root / "reply").read_text()) == {"action": "block", "reason": "no"}


@pytest.mark.parametrize(("program", "status"), [("exit 2", 1), ("exit 7", 7), ("kill -9 $$", 1)])
def test_a_failure_is_never_taken_for_a_block(bench: Bench, program: str, status: int):
    ended = ask(bench, "chrys", "--", f"echo why >&2; {program}")
    assert (ended.returncode, ended.stdout) == (status, "")
    assert ended.stderr.startswith("why\nhookline bridge: ")


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ([], "must be a JSON object"),
        ({}, "does not name its event"),
        ({"event": "nothing"}, "unknown event 'nothing'"),
        ({"event": "before_tool_call"}, "does not fit"),
        ({"event": "tool_error", "tool": {"name": "a"}, "result": {}}, "hook folders know no event 'tool_error'"),
    ],
)
def test_a_payload_that_is_no_event_is_a_failure(bench: Bench, payload: Any, message: str):
    ended = ask(bench, "vix", "true", payload=payload)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert message in ended.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("vix", "--run=command", "true"), "runs one text under a shell"),
        (("vix", "echo", "a"), "runs one text under a shell"),
        (("vix", "--matcher=(", "true"), "--matcher '('"),
        (("objects", "--matcher=[]", "true"), "--matcher '[]'"),
        (("objects", '--matcher={"match_regex": "a"}', "true"), "requires args_jsonpath"),
        (("vix",), "Missing argument"),
    ],
)
def test_a_program_that_its_format_does_not_allow_is_a_failure(bench: Bench, words: tuple[str, ...], message: str):
    ended = ask(bench, *words)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert message in ended.stderr


def test_own_variables_reach_the_program_and_the_native_ones_do_not(bench: Bench):
    ended = ask(
        bench,
        "objects",
        'printf \'{"decision":"block","reason":"%s"}\' "$OWN,$HOOKLINE_ENV_OWN,$HOOKLINE_HOOK_ID,$AGENTYK_HOOK_ID"',
        HOOKLINE_ENV_OWN="mine",
        HOOKLINE_HOOK_ID="hook",
    )
    assert json.loads(ended.stdout)["reason"] == "mine,,,hook"


def test_arguments_of_a_megabyte_reach_the_program(bench: Bench):
    payload = {**CALL, "tool": {"name": "bash", "args": {"command": "x" * 1_000_000}}}
    ended = ask(bench, "objects", "cat > seen; exit 1", payload=payload)
    assert json.loads(ended.stdout)["action"] == "block"
    assert json.loads((bench.project / "seen").read_text())["data"]["arguments"] == payload["tool"]["args"]


@pytest.mark.parametrize("value", ["rm \ud800", "rm \ud83d", "\x00", 10**30, 1e300, {"a": [None, True]}, "x\u2028y"])
@pytest.mark.parametrize("format_", ["chrys", "vix", "objects"])
def test_no_value_of_an_argument_keeps_a_guard_from_its_answer(bench: Bench, format_: str, value: Any):
    """What a model may put into a call, or into the name of a tool, must not make a guard fail."""
    payload = {**CALL, "tool": {"name": "bash \ud800", "args": {"command": value}}}
    program = {"chrys": """printf '{"action":"block"}' > "$CHRYS_HOOK_RESULT\"""", "vix": "exit 2", "objects": "exit 1"}
    ended = ask(bench, format_, program[format_], payload=payload)
    assert json.loads(ended.stdout)["action"] == "block"


def test_a_reply_is_no_longer_than_what_it_was_made_from(bench: Bench):
    payload = {**CALL, "tool": {"name": "bash", "args": {"command": "x" * 1_000_000}}}
    reply = json.dumps({"action": "modify", "args_override": {"n": "漢" * 100}}, ensure_ascii=False)
    ended = ask(bench, "chrys", f"printf %s '{reply}' > \"$CHRYS_HOOK_RESULT\"", payload=payload)
    assert json.loads(ended.stdout) == json.loads(reply)
    assert len(ended.stdout.encode()) <= len(reply.encode()) + 1


def test_what_nobody_waits_for_counts_for_nothing(bench: Bench):
    ended = ask(bench, "vix", "--no-reply", "exit 2")
    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize("format_", ["chrys", "objects"])
async def test_a_bridge_that_is_asked_to_end_ends_its_program(bench: Bench, format_: str):
    process = subprocess.Popen(
        [find_hookline(), "bridge", format_, "echo $$ > pid; exec sleep 60"],
        cwd=bench.project,
        env=make_environment(bench),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(CALL).encode())
    process.stdin.close()
    pid = bench.project / "pid"
    await wait_until(lambda: pid.is_file() and pid.read_text().endswith("\n"), "the program runs")
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 128 + signal.SIGTERM
    await wait_until(lambda: not is_alive(int(pid.read_text())), "the program has ended")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.is_file() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
