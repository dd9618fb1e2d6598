"""Running a command to its end or its time limit, with real processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Commands
from hookline.process.child import Child, Command, Status
from hookline.process.ending import end_child
from hookline.process.run import Ended, NotStarted, run_process
from waiting import PeakMemory, count_descriptors, ended_in_the_end, is_running, wait_for_end, wait_for_pid

MEBIBYTE = 1024 * 1024


async def run(command: Command, adopt: Callable[[Child], None] | None = None) -> Ended:
    """Run a command that is sure to start; by default nothing may be handed over."""

    def refuse(child: Child) -> None:
        raise AssertionError(f"{child} was handed over")

    ended = await run_process(command, adopt=adopt or refuse)
    assert isinstance(ended, Ended), ended
    return ended


async def fail_to_start(command: Command) -> str:
    """Run a command that cannot be started; returns why not."""
    result = await run_process(command, adopt=lambda _: None)
    assert isinstance(result, NotStarted)
    return result.message


# Ending by itself


@pytest.mark.parametrize("code", [0, 1, 2, 126, 127, 255])
async def test_exit_code_is_reported(command: Commands, code: int) -> None:
    ended = await run(command.sh(f"exit {code}"))
    assert (ended.status, ended.timed_out) == (Status(exit_code=code), False)


@pytest.mark.parametrize(("name", "number"), [("KILL", 9), ("SEGV", 11), ("TERM", 15)])
async def test_death_by_a_signal_is_reported_as_a_signal(command: Commands, name: str, number: int) -> None:
    ended = await run(command.sh(f"kill -{name} $$; sleep 9"))
    assert (ended.status, ended.timed_out) == (Status(signal=number), False)


async def test_as_much_output_is_kept_as_the_command_says(command: Commands) -> None:
    ended = await run(command.sh("printf %0300d 1", output_limit=100))
    assert (len(ended.stdout) <= 100, ended.is_cut) == (True, True)
    ended = await run(command.sh("printf %0100d 1", output_limit=100))
    assert (len(ended.stdout), ended.is_cut) == (100, False)


async def test_both_outputs_are_kept_apart(command: Commands) -> None:
    ended = await run(command.sh("echo out; echo err >&2"))
    assert (ended.stdout, ended.stderr) == ("out\n", "err\n")


async def test_output_without_a_newline_is_kept(command: Commands) -> None:
    ended = await run(command.sh("printf out; printf err >&2"))
    assert (ended.stdout, ended.stderr) == ("out", "err")


async def test_what_is_written_just_before_the_exit_is_kept(command: Commands) -> None:
    ended = await run(command.sh("head -c 60000 /dev/zero; kill -KILL $$"))
    assert len(ended.stdout) == 60000


async def test_the_duration_is_measured(command: Commands) -> None:
    ended = await run(command("sleep", "0.3"))
    assert 0.2 < ended.duration_s < 20


async def test_a_process_that_ended_is_collected(command: Commands) -> None:
    ended = await run(command.sh("echo $$"))
    assert not Path(f"/proc/{ended.stdout.strip()}").exists()


async def test_a_process_leads_a_session_and_a_group(command: Commands) -> None:
    code = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0))"
    assert (await run(command(sys.executable, "-c", code))).stdout == "True\n"


async def test_a_process_gets_its_environment_and_nothing_else(command: Commands) -> None:
    ended = await run(command("/usr/bin/env", env={"ONE": "1", "TWO": "2 é\n3"}))
    names = {line.partition("=")[0] for line in ended.stdout.splitlines()} - {"3"}
    assert names == {"ONE", "TWO", "PATH", "HOOKLINE_RUN_ID"}
    assert "TWO=2 é\n3\n" in ended.stdout


async def test_a_process_runs_in_its_directory(command: Commands, tmp_path: Path) -> None:
    folder = tmp_path / "a b ü"
    folder.mkdir()
    assert (await run(command.sh("pwd", cwd=str(folder)))).stdout == f"{folder}\n"


async def test_a_process_inherits_no_other_descriptor(command: Commands, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        ended = await run(command("ls", "-l", "/proc/self/fd"))
    assert "secret" not in ended.stdout


async def test_processes_run_side_by_side(command: Commands) -> None:
    meet = "touch {0}; while [ ! -e {1} ]; do sleep 0.02; done"
    one, other = await asyncio.gather(run(command.sh(meet.format("a", "b"))), run(command.sh(meet.format("b", "a"))))
    assert one.status == other.status == Status(exit_code=0)


def test_a_process_may_be_run_from_any_thread(command: Commands) -> None:
    ended: list[Ended] = []
    thread = threading.Thread(target=lambda: ended.append(asyncio.run(run(command.sh("echo out; exit 3")))))
    thread.start()
    thread.join()
    assert [(each.status, each.stdout) for each in ended] == [(Status(exit_code=3), "out\n")]


# Input


async def test_input_is_read_from_the_descriptor(command: Commands, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"x" * 10 * MEBIBYTE)
    with (tmp_path / "input").open("rb") as file:
        ended = await run(command("wc", "-c", stdin=file.fileno()))
    assert int(ended.stdout) == 10 * MEBIBYTE


async def test_input_that_is_not_read_is_no_failure(command: Commands, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"x" * 10 * MEBIBYTE)
    with (tmp_path / "input").open("rb") as file:
        ended = await run(command("true", stdin=file.fileno()))
    assert ended.status == Status(exit_code=0)


async def test_input_is_empty_unless_given(command: Commands) -> None:
    ended = await run(command("cat"))
    assert (ended.status, ended.stdout) == (Status(exit_code=0), "")


# Output without bounds


async def test_a_flood_on_both_outputs_takes_bounded_memory(command: Commands) -> None:
    memory = PeakMemory()
    ended = await run(command.sh("head -c 104857600 /dev/zero & head -c 104857600 /dev/zero >&2; wait"))
    assert memory.growth < 16 * MEBIBYTE
    assert max(len(ended.stdout), len(ended.stderr)) <= 256 * 1024


async def test_of_a_flood_the_head_and_the_tail_are_kept(command: Commands) -> None:
    ended = await run(command.sh("echo first; head -c 104857600 /dev/zero; echo last"))
    assert ended.stdout.startswith("first\n\0")
    assert ended.stdout.endswith("\0last\n")


async def test_of_a_flood_it_is_said_how_much_was_left_out(command: Commands) -> None:
    size = 100 * MEBIBYTE
    ended = await run(command.sh(f"head -c {size} /dev/zero"))
    head, note, tail = ended.stdout.strip("\n").split("\n")
    assert note == f"[{size - len(head) - len(tail)} bytes left out]"


# Pipes that are closed early or held open


async def test_a_process_that_closed_its_outputs_is_waited_for(command: Commands) -> None:
    ended = await run(command.sh("exec 1>&- 2>&-; sleep 0.3; exit 7"))
    assert ended.status == Status(exit_code=7)


async def test_a_process_that_closed_its_outputs_costs_no_time_while_it_runs(command: Commands) -> None:
    before = time.process_time()
    await run(command.sh("exec 1>&- 2>&-; sleep 1"))
    assert time.process_time() - before < 0.5


async def test_a_process_that_closed_its_outputs_still_has_its_time_limit(
    command: Commands, adopted: list[Child]
) -> None:
    ended = await run(command.sh("exec 1>&- 2>&-; sleep 300", timeout_s=0.3), adopted.append)
    assert ended.timed_out


async def test_a_background_child_that_holds_the_pipes_is_not_waited_for(command: Commands) -> None:
    ended = await run(command.sh("sleep 300 & echo $!; echo done >&2"))
    with ended_in_the_end(int(ended.stdout)) as kid:
        assert (ended.status, ended.stderr) == (Status(exit_code=0), "done\n")
        assert ended.duration_s < 10
        assert is_running(kid)


async def test_a_background_child_that_floods_the_pipe_is_not_waited_for(command: Commands) -> None:
    ended = await run(command.sh("yes & echo $! >&2"))
    assert ended.status == Status(exit_code=0)
    assert ended.duration_s < 10
    await wait_for_end(int(ended.stderr))  # nobody reads its pipe any more


async def test_a_child_in_a_session_of_its_own_that_holds_the_pipes_is_not_waited_for(command: Commands) -> None:
    ended = await run(command.sh("setsid sleep 300 & echo $!"))
    with ended_in_the_end(int(ended.stdout)):
        assert ended.status == Status(exit_code=0)
        assert ended.duration_s < 10


# The time limit


async def test_a_process_over_its_time_is_handed_over(command: Commands, adopted: list[Child]) -> None:
    ended = await run(command.sh("trap '' TERM; echo begun; while :; do sleep 1; done", timeout_s=0.5), adopted.append)
    assert ended.timed_out
    assert ended.stdout == "begun\n"
    assert [is_running(child.pid) for child in adopted] == [True]


async def test_a_process_that_is_stopped_is_handed_over_with_what_it_wrote(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    text = "trap '' TERM; echo begun; echo $$ > pid; while :; do sleep 1; done"
    running = asyncio.ensure_future(run_process(command.sh(text), adopt=adopted.append, stop=stop))
    await wait_for_pid(tmp_path / "pid")
    stop.set_result(None)
    ended = await running
    assert isinstance(ended, Ended)
    assert (ended.timed_out, ended.stdout, len(adopted)) == (True, "begun\n", 1)


async def test_a_stop_that_never_comes_changes_nothing(command: Commands) -> None:
    stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ended = await run_process(command("echo", "done"), adopt=lambda _: None, stop=stop)
    assert isinstance(ended, Ended)
    assert (ended.status, ended.timed_out, ended.stdout) == (Status(exit_code=0), False, "done\n")


async def test_the_caller_does_not_wait_for_the_grace_of_a_process(command: Commands, adopted: list[Child]) -> None:
    slow = command.sh("trap '' TERM; while :; do sleep 1; done", timeout_s=0.5, kill_grace_s=60)
    ended = await run(slow, adopted.append)
    assert ended.duration_s < 10


async def test_the_status_of_a_process_that_is_still_being_ended_is_unknown(
    command: Commands, adopted: list[Child]
) -> None:
    ended = await run(command.sh("trap '' TERM; while :; do sleep 1; done", timeout_s=0.5), adopted.append)
    assert ended.status == Status(exit_code=None, signal=None)


async def test_a_process_over_its_time_is_asked_to_end(command: Commands, adopted: list[Child]) -> None:
    ended = await run(command("sleep", "300", timeout_s=0.3), adopted.append)
    await wait_for_end(adopted[0].pid)
    assert ended.timed_out


async def test_a_process_that_exits_with_0_when_asked_is_over_its_time_all_the_same(
    command: Commands, adopted: list[Child]
) -> None:
    text = "trap 'exit 0' TERM; echo begun; while :; do sleep 0.02; done"
    ended = await run(command.sh(text, timeout_s=0.5), adopted.append)
    assert ended.timed_out


async def test_a_stopped_process_runs_into_its_time_limit(command: Commands, adopted: list[Child]) -> None:
    ended = await run(command.sh("kill -STOP $$", timeout_s=0.3), adopted.append)
    assert ended.timed_out
    assert len(adopted) == 1


# Cancelling


async def start_deaf(command: Commands, tmp_path: Path, adopted: list[Child]) -> tuple[asyncio.Task[Ended], int]:
    """A run of a process that ignores TERM, and the process's id."""
    text = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"
    task = asyncio.create_task(run(command.sh(text), adopted.append))
    return task, await wait_for_pid(tmp_path / "pid")


async def test_a_cancelled_run_returns_at_once(command: Commands, tmp_path: Path, adopted: list[Child]) -> None:
    task, _ = await start_deaf(command, tmp_path, adopted)
    started = time.monotonic()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert time.monotonic() - started < 2


async def test_the_process_of_a_cancelled_run_is_handed_over(
    command: Commands, tmp_path: Path, adopted: list[Child]
) -> None:
    task, pid = await start_deaf(command, tmp_path, adopted)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert [child.pid for child in adopted] == [pid]
    assert is_running(pid)


async def test_a_run_that_outlives_its_callers_time_is_handed_over(command: Commands, adopted: list[Child]) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await run(command("sleep", "300"), adopted.append)
    assert len(adopted) == 1


# A status that somebody else has taken

HOST_THAT_IGNORES_CHILDREN = """
import asyncio, os, signal, sys
from hookline.process.child import Command
from hookline.process.run import run_process
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
command = Command(argv=("/bin/sh", "-c", sys.argv[1]), env={}, cwd="/", timeout_s=20, kill_grace_s=1)
ended = asyncio.run(run_process(command, adopt=print))
print(ended.status.exit_code, ended.status.signal, ended.timed_out, ended.stdout)
"""


@pytest.mark.parametrize("text", ["echo out; exit 0", "echo out; exit 3", "echo out; kill -KILL $$"])
def test_a_status_that_was_taken_is_unknown_and_never_0(text: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", HOST_THAT_IGNORES_CHILDREN, text],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("None None False out\n\n", "")


# Failing to start


async def test_a_missing_directory_is_named(command: Commands, tmp_path: Path) -> None:
    message = await fail_to_start(command("true", cwd=str(tmp_path / "missing")))
    assert str(tmp_path / "missing") in message
    assert "true" not in message


async def test_a_file_in_place_of_the_directory_is_named(command: Commands, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert str(tmp_path / "file") in await fail_to_start(command("true", cwd=str(tmp_path / "file")))


async def test_a_missing_program_is_named(command: Commands) -> None:
    message = await fail_to_start(command("/nowhere/program", "argument"))
    assert "'/nowhere/program'" in message
    assert "No such file" in message


async def test_a_program_that_is_not_executable_is_named(command: Commands, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o644)
    message = await fail_to_start(command(str(program)))
    assert str(program) in message
    assert "executable" in message


async def test_a_folder_is_no_program(command: Commands, tmp_path: Path) -> None:
    assert str(tmp_path) in await fail_to_start(command(str(tmp_path)))


@pytest.mark.parametrize("content", ["echo ran\n", ""], ids=["text", "empty"])
async def test_a_script_without_a_first_line_is_told_about_it(command: Commands, tmp_path: Path, content: str) -> None:
    program = tmp_path / "program"
    program.write_text(content)
    program.chmod(0o755)
    message = await fail_to_start(command(str(program)))
    assert str(program) in message
    assert "#!" in message


async def test_a_script_whose_interpreter_is_missing_is_named(command: Commands, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/nowhere/sh\n")
    program.chmod(0o755)
    assert str(program) in await fail_to_start(command(str(program)))


async def test_a_variable_that_is_too_long_is_named_with_its_size(command: Commands) -> None:
    message = await fail_to_start(command("true", env={"SHORT": "x", "LONG": "x" * 200_000}))
    assert "LONG" in message
    assert "200000" in message


async def test_an_argument_that_is_too_long_is_told_by_its_size(command: Commands) -> None:
    assert "200000" in await fail_to_start(command("echo", "x" * 200_000))


@pytest.mark.parametrize("argument", ["a\0b", "half \ud83d of it"], ids=["nul", "half-a-pair"])
async def test_an_argument_that_no_system_takes_is_a_failure(command: Commands, argument: str) -> None:
    message = await fail_to_start(command("echo", argument))
    assert "'echo'" in message
    assert "argument" in message


@pytest.mark.parametrize("env", [{"A": "a\0b"}, {"A\0B": "c"}, {"A=B": "c"}], ids=["value", "name", "equals-sign"])
async def test_a_variable_that_no_system_takes_is_a_failure(command: Commands, env: dict[str, str]) -> None:
    assert "variable" in await fail_to_start(command("true", env=env))


async def test_a_directory_that_no_system_takes_is_a_failure(command: Commands) -> None:
    assert await fail_to_start(command("true", cwd="/a\0b"))


# Descriptors


async def test_200_runs_leave_no_descriptor(command: Commands) -> None:
    await run(command("true"))
    before = count_descriptors()
    for _ in range(200):
        await run(command("true"))
    assert count_descriptors() == before


async def test_runs_that_fail_to_start_leave_no_descriptor(command: Commands) -> None:
    await fail_to_start(command("/nowhere/program"))
    before = count_descriptors()
    for _ in range(50):
        await fail_to_start(command("/nowhere/program"))
        await fail_to_start(command("echo", "a\0b"))
    assert count_descriptors() == before


async def test_runs_over_their_time_leave_no_descriptor_once_they_are_ended(
    command: Commands, adopted: list[Child]
) -> None:
    before = count_descriptors()
    for _ in range(5):
        await run(command("sleep", "300", timeout_s=0.05), adopted.append)
    for child in adopted:
        await end_child(child)
    assert len(adopted) == 5
    assert count_descriptors() == before


async def test_cancelled_runs_leave_no_descriptor_once_they_are_ended(command: Commands, adopted: list[Child]) -> None:
    before = count_descriptors()
    for _ in range(5):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await run(command("sleep", "300"), adopted.append)
    for child in adopted:
        await end_child(child)
    assert len(adopted) == 5
    assert count_descriptors() == before


async def test_a_background_child_that_holds_the_pipes_leaves_no_descriptor(command: Commands) -> None:
    before = count_descriptors()
    ended = await run(command.sh("sleep 300 & echo $!"))
    with ended_in_the_end(int(ended.stdout)):
        assert count_descriptors() == before
