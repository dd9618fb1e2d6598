"""Bugs that users of other hook engines reported, of the kinds that live in processes, replies, texts and paths."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from entries import command_hook, give_reply, script_hook, shell_hook, write_file, write_reply
from hookline import AfterToolCall, AfterTurn, Decision, Engine, Event, Failure, Tool, ToolResult
from hookline.config.layers import load_layers
from hookline.config.lint import lint_file
from support import Bench, find_run, make_event, make_prompt_event, make_result_event
from waiting import (
    count_descriptors,
    ended_in_the_end,
    find_in_session,
    is_running,
    wait_for_end,
    wait_until,
)

# The longest single argument or variable that Linux takes.
LONGEST_STRING = 131_072


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hookline", *arguments], capture_output=True, text=True, check=False)


def failure_kind(decision: Decision, hook_id: str) -> str | None:
    outcome = find_run(decision, hook_id).outcome
    return outcome.kind if isinstance(outcome, Failure) else None


# B01


SLOW = "echo $$ > lead; sleep 300 & echo $! > kid; sleep 300"


async def test_b01_a_time_limit_ends_the_children_of_a_hook_too(bench: Bench) -> None:
    """B01 (anthropics/claude-code#24206): a hook's time limit bounds what it started, not only its first process."""
    engine = bench.open(write_file(shell_hook("slow", SLOW, event="after_turn", timeout_seconds=1)))
    async with asyncio.timeout(3):
        decision = await engine.fire(Event(AfterTurn(turn=1), session_id="s1", cwd=str(bench.project)))
    lead, kid = int(bench.read("lead")), int(bench.read("kid"))
    assert find_run(decision, "slow").status == "timeout"
    await wait_for_end(lead, within_s=10)
    await wait_for_end(kid, within_s=10)


async def test_b01_nothing_of_the_hooks_session_is_left(bench: Bench) -> None:
    """B01 (anthropics/claude-code#24206): once a timed out hook is settled, its session and group are empty."""
    engine = bench.open(write_file(shell_hook("slow", SLOW, event="after_turn", timeout_seconds=1)))
    fired = await engine.fire(Event(AfterTurn(turn=1), session_id="s1", cwd=str(bench.project)))
    lead = int(bench.read("lead"))
    await engine.settle(fired)
    assert find_in_session(lead) == []


async def test_b01_a_child_that_left_the_group_is_ended_too(bench: Bench) -> None:
    """B01 (anthropics/claude-code#24206): a grandchild in a session of its own does not outlive the time limit."""
    text = "setsid sh -c 'echo $$ > kid; exec sleep 300' & wait"
    engine = bench.open(write_file(shell_hook("slow", text, timeout_seconds=1)))
    fired = await engine.fire(bench.event())
    kid = int(bench.read("kid"))
    await engine.settle(fired)
    await wait_for_end(kid, within_s=10)


@pytest.mark.parametrize("env", [{}, {"HOOKLINE_RUN_ID": "same"}], ids=["plain", "same-token"])
async def test_b01_a_time_limit_ends_nothing_of_another_hook(bench: Bench, env: Mapping[str, str]) -> None:
    """B01 (anthropics/claude-code#24206): what is ended is what the hook started, whatever environments look like."""
    slow = shell_hook("slow", "sleep 300", mode="async", timeout_seconds=0.5, env=env)
    other = shell_hook("other", "while [ ! -e go ]; do sleep 0.05; done", mode="async", env=env)
    engine = bench.open(write_file(slow, other))
    fired = await engine.fire(bench.event())
    settling = asyncio.create_task(engine.settle(fired))
    done, _ = await asyncio.wait({settling}, timeout=2)
    assert not done
    (bench.project / "go").touch()
    assert [(run.hook.id, run.status) for run in (await settling).runs] == [("slow", "timeout"), ("other", "ok")]


# B02

DEAF = "trap '' TERM; echo $$ > lead; while :; do sleep 1; done"


async def test_b02_a_hook_that_ignores_term_is_killed(bench: Bench) -> None:
    """B02 (vybestack/llxprt-code#2791): TERM is followed by KILL, and the process is gone."""
    engine = bench.open(write_file(shell_hook("deaf", DEAF, timeout_seconds=1, kill_grace_seconds=1)))
    async with asyncio.timeout(3):
        decision = await engine.fire(bench.event())
    assert find_run(decision, "deaf").status == "timeout"
    assert failure_kind(decision, "deaf") == "timeout"
    await wait_for_end(int(bench.read("lead")), within_s=10)


async def test_b02_the_final_signal_is_recorded(bench: Bench) -> None:
    """B02 (vybestack/llxprt-code#2791): the settled run of a hook that ignored TERM tells that KILL ended it."""
    engine = bench.open(write_file(shell_hook("deaf", DEAF, timeout_seconds=0.5, kill_grace_seconds=0.5)))
    decision = await engine.settle(await engine.fire(bench.event()))
    run = find_run(decision, "deaf")
    assert (run.status, run.signal) == ("timeout", signal.SIGKILL)


async def test_b02_the_final_signal_is_recorded_for_a_host_that_asks_later(bench: Bench) -> None:
    """B02 (vybestack/llxprt-code#2791): settling after the process is long gone tells the final signal as well."""
    engine = bench.open(write_file(shell_hook("deaf", DEAF, timeout_seconds=0.5, kill_grace_seconds=0.2)))
    fired = await engine.fire(bench.event())
    lead = int(bench.read("lead"))
    await wait_until(lambda: not Path(f"/proc/{lead}").exists(), "the process was ended and collected")
    run = find_run(await engine.settle(fired), "deaf")
    assert (run.status, run.signal) == ("timeout", signal.SIGKILL)


async def test_b02_a_hook_that_ends_on_term_is_not_killed(bench: Bench) -> None:
    """B02 (vybestack/llxprt-code#2791): a hook that cleans up on TERM gets the time of its grace to do so."""
    text = "trap 'sleep 0.3; echo clean > clean; exit 0' TERM; echo $$ > lead; while :; do sleep 0.05; done"
    engine = bench.open(write_file(shell_hook("tidy", text, timeout_seconds=0.5, kill_grace_seconds=20)))
    fired = await engine.fire(bench.event())
    decision = await engine.settle(fired)
    assert find_run(decision, "tidy").status == "timeout"
    assert bench.read("clean") == "clean\n"


# B06


async def test_b06_a_background_child_does_not_hold_up_the_answer(bench: Bench) -> None:
    """B06 (NousResearch/hermes-agent#12647): the reply is taken at the hook's exit, whoever still holds its pipes."""
    text = f"sleep 300 & echo $! > kid; echo all of it; {give_reply(action='modify', args_override={'command': 'x'})}"
    engine = bench.open(write_file(shell_hook("bg", text, timeout_seconds=60)))
    started = time.monotonic()
    decision = await engine.fire(bench.event())
    took = time.monotonic() - started
    with ended_in_the_end(int(bench.read("kid"))):
        assert took < 10
        assert decision.edits == {"args": {"command": "x"}}
        assert find_run(decision, "bg").stdout == "all of it\n"


async def test_b06_a_background_child_is_left_alone_every_time(bench: Bench) -> None:
    """B06 (NousResearch/hermes-agent#12647): a hook that exits by itself may leave children, and they live on."""
    engine = bench.open(write_file(shell_hook("bg", "sleep 300 & echo $! >> kids")))
    for _ in range(3):
        await engine.settle(await engine.fire(bench.event()))
    kids = [int(line) for line in bench.read("kids").split()]
    states = [is_running(kid) for kid in kids]
    for kid in kids:
        with ended_in_the_end(kid):
            pass
    assert states == [True, True, True]


# B07


@pytest.mark.timeout(180)
async def test_b07_input_that_is_not_read_is_no_failure(bench: Bench) -> None:
    """B07 (google-gemini/gemini-cli#14231): 200 hooks that never read 5 MB of input all end by their exit status."""
    engine = bench.open(write_file(command_hook("echo", "true", on_error="block")))
    event = bench.event(args={"text": "x" * 5_000_000})
    await engine.fire(event)
    before = count_descriptors()
    seen = set()
    for _ in range(200):
        decision = await engine.fire(event)
        run = find_run(decision, "echo")
        seen.add((decision.verdict, run.status, run.exit_code, decision.warnings))
    assert seen == {("allow", "ok", 0, ())}
    assert count_descriptors() == before


async def test_b07_input_that_is_not_read_does_not_hide_a_failure(bench: Bench) -> None:
    """B07 (google-gemini/gemini-cli#14231): with unread input too the exit status decides."""
    engine = bench.open(write_file(command_hook("no", "false", on_error="block")))
    decision = await engine.fire(bench.event(args={"text": "x" * 5_000_000}))
    assert decision.verdict == "block"
    assert find_run(decision, "no").exit_code == 1


# B13

TEXT = '、"x" 表 漢字 émoji 🚀'
ECHO = f"""
import json, os, sys
payload = json.load(sys.stdin)
with open(os.environ["HOOKLINE_HOOK_PAYLOAD_FILE"]) as file:
    assert json.load(file) == payload
with open(os.environ["HOOKLINE_HOOK_RESULT"], "w") as file:
    json.dump({{"extra_context": payload["text"]}}, file, ensure_ascii=len(sys.argv) < 2)
print({TEXT.encode()!r})
"""
LOCALES = {
    "none": {},
    "C": {"LC_ALL": "C", "LANG": "C"},
    "C, no UTF-8 mode": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    **{name: {"PYTHONIOENCODING": name} for name in ("cp932", "cp950", "cp949", "gbk", "cp1252", "ascii")},
}


@pytest.mark.parametrize("name", LOCALES)
async def test_b13_the_payload_survives_any_locale(bench: Bench, name: str) -> None:
    """B13 (anthropics/claude-plugins-official#5334): a hook in any locale reads every character of the payload."""
    path = bench.write_script("r.py", ECHO)
    hook = command_hook("py", sys.executable, str(path), event="user_prompt_submit", env=LOCALES[name])
    engine = bench.open(write_file(hook))
    decision = await engine.fire(make_prompt_event(TEXT, cwd=str(bench.project)))
    assert decision.warnings == ()
    assert decision.context == (TEXT,)


async def test_b13_children_write_utf8_by_default(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """B13 (anthropics/claude-plugins-official#5334): an unescaped reply is UTF-8 even if the host's locale is C."""
    for variable in ("LC_ALL", "LANG"):
        monkeypatch.setenv(variable, "C")
    monkeypatch.setenv("PYTHONIOENCODING", "cp932")
    path = bench.write_script("r.py", ECHO)
    engine = bench.open(write_file(command_hook("py", sys.executable, str(path), "raw", event="user_prompt_submit")))
    decision = await engine.fire(make_prompt_event(TEXT, cwd=str(bench.project)))
    assert decision.context == (TEXT,)


async def test_b13_output_that_is_no_text_never_raises(bench: Bench) -> None:
    """B13 (anthropics/claude-plugins-official#5334): bytes that are no UTF-8 are shown as replacement characters."""
    text = r"printf 'a\377\376b'; printf '\201' >&2; exit 1"
    engine = bench.open(write_file(shell_hook("h", text, on_error="block")))
    decision = await engine.fire(bench.event())
    run = find_run(decision, "h")
    assert (run.stdout, run.stderr) == ("a\ufffd\ufffdb", "\ufffd")
    assert decision.verdict == "block"


async def test_b13_a_reply_in_another_encoding_is_malformed(bench: Bench) -> None:
    """B13 (anthropics/claude-plugins-official#5334): a reply that is no UTF-8 closes a guard and never raises."""
    text = r"""printf '{"reason": "\225\134"}' > "$HOOKLINE_HOOK_RESULT" """
    engine = bench.open(write_file(shell_hook("h", text, on_error="block")))
    decision = await engine.fire(bench.event())
    assert decision.verdict == "block"
    assert failure_kind(decision, "h") == "reply"


async def test_b13_half_a_surrogate_pair_reaches_the_hook(bench: Bench) -> None:
    """B13 (anthropics/claude-plugins-official#5334): text that no encoding can hold still gets through as JSON."""
    engine = bench.open(write_file(shell_hook("h", "cat > seen", event="user_prompt_submit", on_error="block")))
    decision = await engine.fire(make_prompt_event("half \ud83d of it", cwd=str(bench.project)))
    assert decision.verdict == "allow"
    assert json.loads(bench.read("seen"))["text"] == "half \ud83d of it"


# B14


def make_output_event(bench: Bench, text: str) -> Event:
    return make_result_event(text, session_id="s1", cwd=str(bench.project))


async def test_b14_a_large_result_reaches_the_hook_on_stdin(bench: Bench) -> None:
    """B14 (Digital-Process-Tools/claude-remember#266): 200,000 characters do not keep a hook from starting."""
    engine = bench.open(write_file(command_hook("count", "sh", "-c", "wc -c", event="after_tool_call")))
    decision = await engine.fire(make_output_event(bench, "x" * 200_000))
    run = find_run(decision, "count")
    assert run.status == "ok"
    assert int(run.stdout) > 200_000


async def test_b14_no_variable_holds_the_payload(bench: Bench) -> None:
    """B14 (Digital-Process-Tools/claude-remember#266): the environment names the payload's file, not its content."""
    code = """
import os
print(max(map(len, os.environ.values())), os.path.getsize(os.environ["HOOKLINE_HOOK_PAYLOAD_FILE"]))
"""
    engine = bench.open(write_file(command_hook("env", sys.executable, "-c", code, event="after_tool_call")))
    decision = await engine.fire(make_output_event(bench, "x" * 200_000))
    longest, size = map(int, find_run(decision, "env").stdout.split())
    assert longest < LONGEST_STRING
    assert size > 200_000


async def test_b14_a_placeholder_in_an_argument_is_an_argument(bench: Bench) -> None:
    """B14 (Digital-Process-Tools/claude-remember#266): nothing is put into arguments, nothing makes them too long."""
    engine = bench.open(write_file(command_hook("arg", "echo", "{output}", "${result}", event="after_tool_call")))
    decision = await engine.fire(make_output_event(bench, "x" * 200_000))
    assert find_run(decision, "arg").stdout == "{output} ${result}\n"


async def test_b14_a_variable_that_is_too_long_is_named_with_its_size(bench: Bench) -> None:
    """B14 (Digital-Process-Tools/claude-remember#266): the error names the variable and its size, not errno 7."""
    hook = command_hook("env", "true", event="after_tool_call", env={"RESULT": "x" * 200_000})
    engine = bench.open(write_file(hook))
    decision = await engine.fire(make_output_event(bench, "x"))
    (warning,) = decision.warnings
    assert failure_kind(decision, "env") == "spawn"
    assert "RESULT" in warning
    assert "200000" in warning
    assert "Errno" not in warning


async def test_b14_an_argument_that_is_too_long_is_named_with_its_size(bench: Bench) -> None:
    """B14 (Digital-Process-Tools/claude-remember#266): the error speaks of the argument and its size."""
    engine = bench.open(write_file(command_hook("arg", "echo", "x" * 200_000, event="after_tool_call")))
    decision = await engine.fire(make_output_event(bench, "x"))
    (warning,) = decision.warnings
    assert failure_kind(decision, "arg") == "spawn"
    assert "argument" in warning
    assert "200000" in warning


async def test_b14_a_hook_that_cannot_start_leaves_the_others_alone(bench: Bench) -> None:
    """B14 (Digital-Process-Tools/claude-remember#266): an argument list that is too long concerns its hook alone."""
    too_long = command_hook("arg", "echo", "x" * 200_000, event="after_tool_call")
    count = command_hook("count", "sh", "-c", "wc -c", event="after_tool_call")
    engine = bench.open(write_file(too_long, count))
    decision = await engine.fire(make_output_event(bench, "x"))
    assert [run.status for run in decision.runs] == ["failed", "ok"]


# B17

NOISE = "echo Welcome back! ; echo noise >&2\n"


@pytest.fixture
def noisy_home(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose every shell start-up file greets, on stdout and on stderr."""
    folder = bench.root / "noisy"
    folder.mkdir()
    for name in (".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshrc", ".zshenv", ".kshrc", ".shrc"):
        (folder / name).write_text(NOISE)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("BASH_ENV", str(folder / ".bashrc"))
    monkeypatch.setenv("ENV", str(folder / ".shrc"))
    return folder


@pytest.mark.parametrize("kind", ["shell", "script", "bash command"])
@pytest.mark.usefixtures("noisy_home")
async def test_b17_shell_start_up_files_are_not_read(bench: Bench, kind: str) -> None:
    """B17 (anthropics/claude-code#21992): greetings of start-up files get into neither reply nor output."""
    text = give_reply(action="block", reason="no")
    bench.write_script("deny.sh", text)
    hooks = {
        "shell": shell_hook("deny", text),
        "script": script_hook("deny", "deny.sh"),
        "bash command": command_hook("deny", "bash", "-c", text),
    }
    engine = bench.open(write_file(hooks[kind]))
    decision = await engine.fire(bench.event())
    run = find_run(decision, "deny")
    assert (decision.verdict, decision.reason) == ("block", "no")
    assert (run.stdout, run.stderr) == ("", "")


@pytest.mark.parametrize(("on_error", "verdict"), [("block", "block"), ("warn", "allow")])
async def test_b17_noise_in_a_reply_is_shown_and_never_lost(bench: Bench, on_error: str, verdict: str) -> None:
    """B17 (anthropics/claude-code#21992): a line before the JSON makes a bad reply, whose first bytes are shown."""
    text = write_reply('Welcome back!\n{"action": "block", "reason": "no"}')
    engine = bench.open(write_file(shell_hook("deny", text, on_error=on_error)))
    decision = await engine.fire(bench.event())
    assert decision.verdict == verdict
    assert failure_kind(decision, "deny") == "reply"
    assert "Welcome back!" in decision.warnings[0]


async def test_b17_noise_on_stdout_does_not_disturb_a_reply(bench: Bench) -> None:
    """B17 (anthropics/claude-code#21992): what a hook prints is output, its reply is a file of its own."""
    text = f"echo Welcome back!; {give_reply(action='block', reason='no')}"
    engine = bench.open(write_file(shell_hook("deny", text)))
    decision = await engine.fire(bench.event())
    assert (decision.verdict, decision.reason) == ("block", "no")


# B22


@pytest.mark.parametrize("on_failure", ["open", "closed"])
@pytest.mark.parametrize("code", [0, 1, 2, 3, 126, 127, 255])
async def test_b22_one_table_of_exit_codes(bench: Bench, code: int, on_failure: str) -> None:
    """B22 (mpfaffenberger/code_puppy#418): 0 has no objection, 2 blocks, any other code fails under on_error."""
    on_error = {"open": "warn", "closed": "block"}[on_failure]
    hook = command_hook("rc", "sh", "-c", f"echo why >&2; exit {code}", on_error=on_error)
    engine = bench.open(write_file(hook))
    decision = await engine.fire(bench.event())
    run = find_run(decision, "rc")
    assert run.exit_code == code
    if code == 0:
        assert (decision.verdict, decision.warnings, run.status) == ("allow", (), "ok")
    elif code == 2:
        assert (decision.verdict, decision.reason, decision.warnings) == ("block", "why", ())
        assert run.status == "blocked"
    else:
        assert decision.verdict == ("block" if on_failure == "closed" else "allow")
        assert run.status == "failed"
        assert failure_kind(decision, "rc") == "exit"
        assert f"exit code {code}" in decision.warnings[0]
        assert "why" in decision.warnings[0]


async def test_b22_a_block_by_exit_code_without_stderr_names_the_hook(bench: Bench) -> None:
    """B22 (mpfaffenberger/code_puppy#418): a block always has a reason; without a text it says whose it is."""
    engine = bench.open(write_file(command_hook("rc", "sh", "-c", "exit 2")))
    decision = await engine.fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert "'rc'" in decision.reason


@pytest.mark.parametrize("mode", ["blocking", "async"])
async def test_b22_exit_code_2_is_a_failure_where_nothing_can_be_stopped(bench: Bench, mode: str) -> None:
    """B22 (mpfaffenberger/code_puppy#418): outside a gate, exit code 2 stops nothing and is warned of."""
    hook = command_hook("rc", "sh", "-c", "echo why >&2; exit 2", event="after_tool_call", mode=mode)
    engine = bench.open(write_file(hook))
    decision = await engine.settle(await engine.fire(make_output_event(bench, "x")))
    assert decision.verdict == "allow"
    assert failure_kind(decision, "rc") == "exit"
    assert "why" in decision.warnings[0]


@pytest.fixture
def scaffold(bench: Bench) -> None:
    """A project with the hooks file that `hookline init` writes."""
    run_cli("init", "--project", str(bench.project), "--home", str(bench.home)).check_returncode()


@pytest.mark.usefixtures("scaffold")
async def test_b22_the_guard_of_the_scaffold_blocks(bench: Bench) -> None:
    """B22 (mpfaffenberger/code_puppy#418): the sample guard that init writes stops what it is about."""
    decision = await bench.open().fire(bench.event(args={"command": "rm -rf build"}))
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert "rm -rf" in decision.reason


@pytest.mark.usefixtures("scaffold")
async def test_b22_the_guard_of_the_scaffold_lets_other_commands_through(bench: Bench) -> None:
    """B22 (mpfaffenberger/code_puppy#418): the sample guard that init writes stops nothing else."""
    assert (await bench.open().fire(bench.event(args={"command": "ls"}))).is_allowed


@pytest.mark.parametrize(
    ("code", "on_error", "status"), [(0, "block", 0), (1, "block", 2), (1, "warn", 0), (2, "warn", 2)]
)
def test_b22_the_command_line_keeps_to_the_table(bench: Bench, code: int, on_error: str, status: int) -> None:
    """B22 (mpfaffenberger/code_puppy#418): fire exits with 2 for a block and with 0 for no objection."""
    bench.write(write_file(command_hook("rc", "sh", "-c", f"exit {code}", on_error=on_error)), layer="user")
    place = ("--project", str(bench.project), "--home", str(bench.home))
    ended = run_cli("fire", "before_tool_call", "--tool", "bash", *place)
    assert ended.returncode == status
    assert ("failed" in ended.stdout) is (code == 1)


# B23


@pytest.mark.parametrize(("name", "number"), [("SEGV", 11), ("KILL", 9), ("TERM", 15), ("HUP", 1)])
@pytest.mark.parametrize(("on_error", "verdict"), [("block", "block"), ("warn", "allow")])
async def test_b23_death_by_a_signal_is_a_failure(
    bench: Bench, name: str, number: int, on_error: str, verdict: str
) -> None:
    """B23 (MoonshotAI/kimi-code#1906): a guard killed by a signal has not said yes, and somebody hears of it."""
    engine = bench.open(write_file(shell_hook("dies", f"kill -{name} $$; sleep 9", on_error=on_error)))
    decision = await engine.fire(bench.event())
    run = find_run(decision, "dies")
    assert decision.verdict == verdict
    assert (run.status, run.signal, run.exit_code) == ("failed", number, None)
    assert failure_kind(decision, "dies") == "signal"
    assert f"SIG{name}" in decision.warnings[0]


async def test_b23_the_reply_of_a_killed_hook_does_not_count(bench: Bench) -> None:
    """B23 (MoonshotAI/kimi-code#1906): what a hook wrote before it was killed is no answer."""
    text = f"{give_reply(action='allow')}; kill -KILL $$"
    engine = bench.open(write_file(shell_hook("dies", text, on_error="block")))
    assert (await engine.fire(bench.event())).verdict == "block"


# B49

EVIL = {
    "semicolon": "a.py; touch pwned #",
    "substitution": "$(touch pwned)",
    "backticks": "`touch pwned`",
    "redirection": 'x" > 3 "',
    "newline": "a\ntouch pwned\n",
    "dash": "-rf",
    "quotes": "'; touch pwned; '",
}


@pytest.mark.parametrize("name", EVIL)
async def test_b49_a_value_is_never_pasted_into_a_command(bench: Bench, name: str) -> None:
    """B49 (mpfaffenberger/code_puppy#431): what looks like a placeholder stays text, whatever the model's value is."""
    shell = shell_hook("lint", "printf %s '{input.file} ${tool.args.file}' > out", event="after_tool_call")
    argv = command_hook("lint2", "printf", "%s|", "{input.file}", "${tool.args.file}", "$file", event="after_tool_call")
    engine = bench.open(write_file(shell, argv))
    call = Tool(name="edit", args={"file": EVIL[name]})
    decision = await engine.fire(Event(AfterToolCall(tool=call, result=ToolResult(text="ok")), cwd=str(bench.project)))
    assert bench.read("out") == "{input.file} ${tool.args.file}"
    assert find_run(decision, "lint2").stdout == "{input.file}|${tool.args.file}|$file|"
    assert sorted(path.name for path in bench.project.iterdir()) == [".hookline", "out"]


@pytest.mark.parametrize("name", EVIL)
async def test_b49_a_value_arrives_whole_in_the_payload(bench: Bench, name: str) -> None:
    """B49 (mpfaffenberger/code_puppy#431): a hook gets the value as data, and can pass it on as one argument."""
    code = """
        import json, subprocess, sys
        name = json.load(sys.stdin)["tool"]["args"]["file"]
        echo = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", name]
        print(subprocess.run(echo, capture_output=True, text=True, check=True).stdout)
    """
    path = bench.write_script("lint.py", code)
    engine = bench.open(write_file(command_hook("lint", sys.executable, str(path))))
    decision = await engine.fire(bench.event(args={"file": EVIL[name]}))
    assert json.loads(find_run(decision, "lint").stdout) == [EVIL[name]]
    assert [path.name for path in bench.project.iterdir()] == [".hookline"]


# B52

AWKWARD = "a b/ü (1)'q"


def open_awkward(bench: Bench, *entries: Mapping[str, Any]) -> Engine:
    """A project in a folder with a space, a letter outside ASCII, parentheses and a quote."""
    bench.project = bench.project / AWKWARD
    script = bench.write_script("ok.sh", '#!/bin/sh\npwd > ran; printf \'%s|\' "$0" "$@" > argv\n')
    script.chmod(0o755)
    return bench.open(write_file(*entries))


def awkward_script(bench: Bench) -> str:
    return str(bench.project / AWKWARD / ".hookline" / "hooks" / "ok.sh")


@pytest.mark.parametrize("kind", ["command", "script", "shell"])
async def test_b52_a_path_with_a_space_runs(bench: Bench, kind: str) -> None:
    """B52 (anthropics/claude-code#5648): no kind of hook splits the path of its project into words."""
    hooks = {
        "command": command_hook("h", awkward_script(bench), "x y", "$HOME"),
        "script": {**script_hook("h", "ok.sh"), "run": {"type": "script", "path": "ok.sh", "args": ["x y", "$HOME"]}},
        "shell": shell_hook(
            "h", '"$PROJECT_DIR"/.hookline/hooks/ok.sh "x y" \'$HOME\'', env={"PROJECT_DIR": "${workspace_cwd}"}
        ),
    }
    engine = open_awkward(bench, hooks[kind])
    decision = await engine.fire(bench.event())
    assert find_run(decision, "h").status == "ok", decision.warnings
    assert bench.read("ran") == f"{bench.project}\n"
    assert bench.read("argv") == f"{bench.hooks_folder() / 'ok.sh'}|x y|$HOME|"


def test_b52_an_unquoted_variable_is_warned_of(bench: Bench) -> None:
    """B52 (anthropics/claude-code#5648): check points at a shell text in which a path would be split."""
    good = shell_hook("sh", '"$PROJECT_DIR"/h/ok.sh')
    bad = shell_hook("bad", "$PROJECT_DIR/h/ok.sh")
    bench.write(write_file(good, bad))
    layers = load_layers(bench.project, home=bench.home, trust="all")
    problems = [problem for loaded in layers.files for problem in lint_file(loaded)]
    assert [problem.hook_id for problem in problems if problem.code == "unquoted-variable"] == ["bad"]


# B57


@pytest.mark.parametrize("on_error", ["block", "warn"])
async def test_b57_a_guard_runs_although_the_sessions_directory_is_gone(bench: Bench, on_error: str) -> None:
    """B57 (anthropics/claude-code#65378): in a deleted directory a guard still runs, and still blocks."""
    engine = bench.open(write_file(command_hook("guard", "sh", "-c", "pwd > ran; exit 2", on_error=on_error)))
    decision = await engine.fire(make_event(cwd=str(bench.project / "removed")))
    assert decision.verdict == "block"
    assert find_run(decision, "guard").status == "blocked"
    assert bench.read("ran") == f"{bench.project}\n"


async def test_b57_the_payload_tells_the_original_directory(bench: Bench) -> None:
    """B57 (anthropics/claude-code#65378): the payload keeps the session's directory and marks it as missing."""
    engine = bench.open(write_file(shell_hook("h", "cat > seen")))
    removed = str(bench.project / "removed")
    await engine.fire(make_event(cwd=removed))
    payload = json.loads(bench.read("seen"))
    assert (payload["cwd"], payload["cwd_missing"]) == (removed, True)


async def test_b57_a_directory_that_is_there_is_not_marked(bench: Bench) -> None:
    """B57 (anthropics/claude-code#65378): without a missing directory there is no mark."""
    engine = bench.open(write_file(shell_hook("h", "cat > seen")))
    decision = await engine.fire(bench.event())
    assert "cwd_missing" not in json.loads(bench.read("seen"))
    assert decision.warnings == ()


async def test_b57_the_change_of_directory_is_warned_of(bench: Bench) -> None:
    """B57 (anthropics/claude-code#65378): a warning names the directory that is gone and the one taken instead."""
    engine = bench.open(write_file(command_hook("h", "true")))
    removed = str(bench.project / "removed")
    (warning,) = (await engine.fire(make_event(cwd=removed))).warnings
    assert removed in warning
    assert str(bench.project) in warning


@pytest.mark.parametrize("has_home", [True, False], ids=["home", "root"])
async def test_b57_without_the_project_too_a_guard_runs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, has_home: bool
) -> None:
    """B57 (anthropics/claude-code#65378): project and session directory gone, the home serves, else the root."""
    home = bench.root / "person"
    if has_home:
        home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    bench.write(write_file(command_hook("guard", "sh", "-c", "pwd >&2; exit 2")), layer="user")
    engine = bench.open()
    bench.project.rmdir()
    decision = await engine.fire(make_event(cwd=str(bench.project)))
    assert (decision.verdict, decision.reason) == ("block", str(home) if has_home else "/")


async def test_b57_a_hooks_own_missing_directory_is_named(bench: Bench) -> None:
    """B57 (anthropics/claude-code#65378): the error is about the directory, not about the shell."""
    missing = str(bench.root / "missing")
    engine = bench.open(write_file(shell_hook("h", "true", cwd=missing, on_error="block")))
    decision = await engine.fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert missing in decision.reason
    assert "/bin/sh" not in decision.reason


ENGINE_IN_A_REMOVED_FOLDER = """
import os, sys
from hookline import BeforeToolCall, Engine, Event, Tool
project, home, removed = sys.argv[1:]
os.mkdir(removed)
os.chdir(removed)
os.rmdir(removed)
with Engine.open(project, home=home, trust="all") as engine:
    decision = engine.fire_sync(Event(BeforeToolCall(tool=Tool(name="bash")), cwd=removed))
print(decision.verdict, decision.reason)
"""


async def test_b57_a_guard_runs_although_the_engines_own_directory_is_gone(bench: Bench) -> None:
    """B57 (anthropics/claude-code#65378): the engine's process too may stand in a deleted directory."""
    bench.write(write_file(command_hook("guard", "sh", "-c", "pwd >&2; exit 2", on_error="block")))
    arguments = (str(bench.project), str(bench.home), str(bench.root / "removed"))
    ended = subprocess.run(
        [sys.executable, "-c", ENGINE_IN_A_REMOVED_FOLDER, *arguments], capture_output=True, text=True, check=False
    )
    assert ended.stdout == f"block {bench.project}\n", ended.stderr
