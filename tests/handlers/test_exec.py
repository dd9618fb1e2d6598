"""Programs that handlers run, with real processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hookline.handlers.exec import ExecError, ExecResult, exec_command
from waiting import count_descriptors, is_running, wait_for_end, wait_for_pid, wait_until


async def test_a_program_gives_its_outputs_and_its_code():
    """Case 40: exec(sh -c "echo out; echo err >&2; exit 3")."""
    result = await exec_command("sh", ["-c", "echo out; echo err >&2; exit 3"])
    assert result == ExecResult(stdout="out\n", stderr="err\n", code=3, killed=False)


async def test_a_program_that_takes_too_long_is_killed_in_time():
    """Case 40: 200 ms on sleep 5."""
    started = time.monotonic()
    result = await exec_command("sleep", ["5"], timeout=0.2)
    assert time.monotonic() - started < 0.5
    assert (result.killed, result.timed_out) == (True, True)
    assert result.code == 143


async def test_no_shell_looks_at_the_arguments(tmp_path: Path):
    result = await exec_command("printf", ["%s|", "$HOME; ls", "*"], cwd=tmp_path)
    assert result.stdout == "$HOME; ls|*|"


async def test_a_program_runs_in_the_folder_it_is_given(tmp_path: Path):
    assert (await exec_command("pwd", ["-P"], cwd=tmp_path)).stdout == f"{tmp_path.resolve()}\n"


async def test_a_program_may_stand_in_the_folder_it_runs_in(tmp_path: Path):
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\necho here\n")
    program.chmod(0o755)
    assert (await exec_command("./tool", cwd=tmp_path)).stdout == "here\n"


async def test_a_name_is_not_looked_up_in_the_folder_a_program_runs_in(tmp_path: Path):
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\necho here\n")
    program.chmod(0o755)
    with pytest.raises(ExecError, match="cannot start 'tool': there is no such program in PATH"):
        await exec_command("tool", cwd=tmp_path, env={"PATH": f":.:{os.environ['PATH']}"})


async def test_a_program_gets_the_environment_of_the_host_and_more():
    result = await exec_command("sh", ["-c", 'echo "$HOME|$EXTRA"'], env={"EXTRA": "1"})
    assert result.stdout == f"{os.environ['HOME']}|1\n"


async def test_a_missing_program_raises():
    """F: a missing program does raise."""
    with pytest.raises(ExecError, match="cannot start 'no-such-program': there is no such program in PATH"):
        await exec_command("no-such-program")
    with pytest.raises(ExecError, match=r"cannot start '/no/such/program': No such file"):
        await exec_command("/no/such/program")


async def test_a_missing_folder_raises():
    """F: a missing folder does raise."""
    with pytest.raises(ExecError, match="the working directory '/no/such/folder' does not exist"):
        await exec_command("true", cwd="/no/such/folder")


async def test_a_program_that_ends_by_a_signal_has_a_code_that_is_not_zero():
    result = await exec_command("sh", ["-c", "kill -SEGV $$"])
    assert (result.code, result.killed) == (139, False)


async def test_a_program_that_takes_too_long_keeps_what_it_wrote():
    """F: a timed-out child gives its partial output."""
    result = await exec_command("sh", ["-c", "echo begun; echo note >&2; sleep 30"], timeout=0.2)
    assert (result.stdout, result.stderr, result.timed_out) == ("begun\n", "note\n", True)


async def test_a_program_that_takes_too_long_never_has_code_zero():
    """F: a timed-out child gives a non-zero code."""
    text = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    result = await exec_command("sh", ["-c", text], timeout=0.2)
    assert (result.timed_out, result.code) == (True, 143)


async def test_a_whole_group_is_ended(tmp_path: Path):
    """F: a timed-out child has its whole group ended."""
    text = "sleep 300 & echo $! > kid; wait"
    result = await exec_command("sh", ["-c", text], cwd=tmp_path, timeout=0.2)
    assert result.killed
    assert not is_running(int((tmp_path / "kid").read_text()))


async def test_a_program_that_ignores_the_request_is_killed(tmp_path: Path):
    """F: TERM, then KILL."""
    text = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"
    result = await exec_command("sh", ["-c", text], cwd=tmp_path, timeout=0.2)
    assert result.code == 137
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_a_signal_ends_a_program_and_keeps_what_it_wrote(tmp_path: Path):
    """F: a cancelled child gives killed, a non-zero code, its partial output, its whole group ended."""
    signal = asyncio.Event()
    text = "echo begun; sleep 300 & echo $! > pid; wait"
    running = asyncio.ensure_future(exec_command("sh", ["-c", text], cwd=tmp_path, signal=signal, timeout=60))
    kid = await wait_for_pid(tmp_path / "pid")
    signal.set()
    result = await running
    assert (result.stdout, result.killed, result.timed_out, result.code) == ("begun\n", True, False, 143)
    assert not is_running(kid)


async def test_a_signal_of_another_thread_ends_a_program(tmp_path: Path):
    signal = threading.Event()
    running = asyncio.ensure_future(exec_command("sh", ["-c", "echo $$ > pid; sleep 300"], cwd=tmp_path, signal=signal))
    await wait_for_pid(tmp_path / "pid")
    signal.set()
    assert (await running).killed


async def test_a_signal_that_is_never_set_changes_nothing():
    assert await exec_command("true", signal=asyncio.Event()) == ExecResult(stdout="", stderr="", code=0)


async def test_a_signal_that_is_set_already_starts_nothing(tmp_path: Path):
    signal = asyncio.Event()
    signal.set()
    result = await exec_command("touch", ["ran"], cwd=tmp_path, signal=signal)
    assert (result.killed, result.code) == (True, 143)
    assert not (tmp_path / "ran").exists()


async def test_a_signal_that_fails_ends_the_program_and_raises(tmp_path: Path):
    class Broken:
        def __init__(self) -> None:
            self.looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            if (tmp_path / "pid").exists():
                raise OSError("gone")
            return False

    with pytest.raises(OSError, match="gone"):
        await exec_command("sh", ["-c", "echo $$ > pid; exec sleep 300"], cwd=tmp_path, signal=Broken())
    assert not is_running(await wait_for_pid(tmp_path / "pid"))


async def test_a_caller_that_is_cancelled_leaves_no_process(tmp_path: Path):
    running = asyncio.ensure_future(exec_command("sh", ["-c", "sleep 300 & echo $! > pid; wait"], cwd=tmp_path))
    kid = await wait_for_pid(tmp_path / "pid")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_running(kid)


async def test_a_caller_that_is_cancelled_twice_leaves_no_process(tmp_path: Path):
    text = "trap 'echo > asked' TERM; echo $$ > pid; while :; do sleep 0.05; done"
    running = asyncio.ensure_future(exec_command("sh", ["-c", text], cwd=tmp_path))
    pid = await wait_for_pid(tmp_path / "pid")
    running.cancel()
    await wait_until((tmp_path / "asked").exists, "the program was asked to end")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await wait_for_end(pid)


async def test_output_that_is_too_much_is_cut_and_says_so():
    result = await exec_command("sh", ["-c", "head -c 9000000 /dev/zero | tr '\\0' x"])
    assert result.is_cut
    assert "bytes left out]" in result.stdout
    assert len(result.stdout) <= 8 * 1024 * 1024


async def test_a_megabyte_of_output_is_whole():
    result = await exec_command("sh", ["-c", "head -c 1000000 /dev/zero | tr '\\0' x"])
    assert (len(result.stdout), result.is_cut) == (1_000_000, False)


def test_a_status_that_somebody_else_took_raises():
    code = (
        "import asyncio, signal\n"
        "from hookline.handlers.exec import exec_command\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "asyncio.run(exec_command('true'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ExecError: the exit status of 'true' was taken by another part of this process" in done.stderr


async def test_programs_leave_no_descriptor():
    await exec_command("true", signal=asyncio.Event())
    before = count_descriptors()
    await exec_command("true", signal=asyncio.Event())
    await exec_command("sleep", ["5"], timeout=0.05)
    assert count_descriptors() == before


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        (("",), {}, TypeError, "command must be the name of a program, not ''"),
        (("sh", "-c"), {}, TypeError, "args must be a list of texts, not '-c'; no shell takes a text apart"),
        (("sh", ["-c", 1]), {}, TypeError, "args must be a list of texts"),
        (("true",), {"timeout": 0}, ValueError, "timeout must be more than 0 seconds, not 0"),
        (("true",), {"signal": object()}, TypeError, "signal must have a method is_set"),
    ],
)
async def test_what_cannot_be_run_is_refused(arguments: tuple, options: dict, error: type[Exception], text: str):
    with pytest.raises(error, match=text):
        await exec_command(*arguments, **options)
