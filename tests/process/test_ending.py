"""Ending a child with everything it started, with real processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import Commands
from hookline.process.child import TOKEN_VARIABLE, Child, Command, Status
from hookline.process.ending import end_child, kill_child
from waiting import count_descriptors, ended_in_the_end, find_in_session, is_running, wait_for_pid, wait_until

DEAF = "trap '' TERM; echo $$ > {0}; while :; do sleep 1; done"


def start(command: Command, adopted: list[Child]) -> Child:
    child = Child(command)
    adopted.append(child)
    return child


async def test_a_child_that_ends_when_asked_is_not_killed(command: Commands, adopted: list[Child]) -> None:
    child = start(command("sleep", "300", kill_grace_s=60), adopted)
    started = time.monotonic()
    assert await end_child(child) == Status(signal=15)
    assert time.monotonic() - started < 30


async def test_a_child_that_cleans_up_gets_the_time_of_its_grace(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    text = "trap 'sleep 0.3; echo > clean; exit 7' TERM; echo $$ > pid; while :; do sleep 0.02; done"
    child = start(command.sh(text, kill_grace_s=30), adopted)
    await wait_for_pid(tmp_path / "pid")
    assert await end_child(child) == Status(exit_code=7)
    assert (tmp_path / "clean").exists()


async def test_a_child_that_ignores_term_is_killed_after_its_grace(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    child = start(command.sh(DEAF.format("pid"), kill_grace_s=0.5), adopted)
    await wait_for_pid(tmp_path / "pid")
    started = time.monotonic()
    assert await end_child(child) == Status(signal=9)
    assert time.monotonic() - started >= 0.5


async def test_without_a_grace_a_child_is_killed_at_once(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    child = start(command.sh(DEAF.format("pid"), kill_grace_s=0), adopted)
    await wait_for_pid(tmp_path / "pid")
    assert await end_child(child) == Status(signal=9)


async def test_a_stopped_child_is_killed(command: Commands, adopted: list[Child]) -> None:
    child = start(command.sh("trap '' TERM; kill -STOP $$", kill_grace_s=0.2), adopted)
    await wait_until(lambda: _state_of(child.pid) == "T", "the child has stopped")
    assert await end_child(child) == Status(signal=9)


async def test_a_child_that_has_ended_already_keeps_its_status(command: Commands, adopted: list[Child]) -> None:
    child = start(command.sh("exit 3"), adopted)
    await wait_until(lambda: child.has_exited, "the child has exited")
    assert await end_child(child) == Status(exit_code=3)


async def test_the_children_of_a_child_are_ended(command: Commands, adopted: list[Child], tmp_path: Path) -> None:
    child = start(command.sh("sleep 300 & sleep 300 & (sleep 300 & echo $! > pid; wait); wait"), adopted)
    kid = await wait_for_pid(tmp_path / "pid")
    assert len(find_in_session(child.pid)) == 5
    await end_child(child)
    assert find_in_session(child.pid) == []
    assert not is_running(kid)


async def test_children_that_ignore_term_are_killed(command: Commands, adopted: list[Child], tmp_path: Path) -> None:
    deaf = DEAF.format("pid")
    child = start(command.sh(f"({deaf}) & exec sleep 300", kill_grace_s=0.3), adopted)
    await wait_for_pid(tmp_path / "pid")
    await end_child(child)
    assert find_in_session(child.pid) == []


async def test_children_of_a_child_that_has_ended_are_ended(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    child = start(command.sh("sleep 300 & echo $! > pid"), adopted)
    kid = await wait_for_pid(tmp_path / "pid")
    await wait_until(lambda: child.has_exited, "the child has exited")
    assert await end_child(child) == Status(exit_code=0)
    assert not is_running(kid)


async def test_children_of_a_child_that_has_ended_get_the_time_of_its_grace(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    tidy = "trap 'sleep 0.3; echo > clean; exit' TERM; sh -c 'echo $PPID' > pid; while :; do sleep 0.02; done"
    child = start(command.sh(f"({tidy}) &", kill_grace_s=30), adopted)
    await wait_for_pid(tmp_path / "pid")
    await wait_until(lambda: child.has_exited, "the child has exited")
    await end_child(child)
    assert (tmp_path / "clean").exists()


@pytest.mark.parametrize("way", ["setsid sh -c '{}' &", "(setsid sh -c '{}' &) &"], ids=["child", "orphan"])
async def test_a_descendant_in_a_session_of_its_own_is_found_by_the_token(
    command: Commands, adopted: list[Child], tmp_path: Path, way: str
) -> None:
    text = way.format("echo $$ > pid; exec sleep 300")
    child = start(command.sh(f"{text} sleep 300"), adopted)
    stray = await wait_for_pid(tmp_path / "pid")
    assert os.getsid(stray) != child.pid
    await end_child(child)
    assert not is_running(stray)


async def test_a_descendant_with_a_token_of_its_own_is_ended(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    """The hooks of an agent that is itself run by a hook have sessions and tokens of their own."""
    nested = f"{TOKEN_VARIABLE}=nested setsid sh -c 'echo $$ > pid; exec sleep 300'"
    child = start(command.sh(f"{nested} & wait"), adopted)
    stray = await wait_for_pid(tmp_path / "pid")
    with ended_in_the_end(stray):
        await end_child(child)
        assert not is_running(stray)


async def test_a_descendant_in_a_session_of_its_own_that_ignores_term_is_killed(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    (tmp_path / "deaf").write_text(DEAF.format("pid"))
    child = start(command.sh("setsid sh deaf & exec sleep 300", kill_grace_s=0.3), adopted)
    stray = await wait_for_pid(tmp_path / "pid")
    await end_child(child)
    await wait_until(lambda: not is_running(stray), "the stray was killed", within_s=5)


async def test_a_group_of_its_own_within_the_session_is_found_without_a_token(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    code = "import os, time; os.setpgid(0, 0); print(os.getpid(), file=open('pid', 'w')); time.sleep(300)"
    child = start(command.sh(f'{sys.executable} -c "{code}" & exec sleep 300', has_token=False), adopted)
    stray = await wait_for_pid(tmp_path / "pid")
    assert os.getpgid(stray) != child.pid
    await end_child(child)
    await wait_until(lambda: not is_running(stray), "the stray was ended", within_s=5)


async def test_strangers_are_left_alone(command: Commands, adopted: list[Child], tmp_path: Path) -> None:
    child = start(command("sleep", "300"), adopted)
    stranger = start(command.sh("setsid sh -c 'echo $$ > pid; exec sleep 300' & exec sleep 300"), adopted)
    stray = await wait_for_pid(tmp_path / "pid")
    await end_child(child)
    with ended_in_the_end(stray):
        assert is_running(stranger.pid)
        assert is_running(stray)


async def test_several_children_are_ended_side_by_side(command: Commands, adopted: list[Child], tmp_path: Path) -> None:
    children = [start(command.sh(DEAF.format(f"pid{n}"), kill_grace_s=1), adopted) for n in range(4)]
    for n in range(4):
        await wait_for_pid(tmp_path / f"pid{n}")
    started = time.monotonic()
    assert await asyncio.gather(*map(end_child, children)) == [Status(signal=9)] * 4
    assert time.monotonic() - started < 3.5


async def test_a_child_that_was_ended_is_collected_and_leaves_no_descriptor(
    command: Commands, adopted: list[Child]
) -> None:
    before = count_descriptors()
    child = start(command("sleep", "300"), adopted)
    await end_child(child)
    assert not Path(f"/proc/{child.pid}").exists()
    assert count_descriptors() == before


async def test_killing_ends_a_child_and_its_descendants_at_once(
    command: Commands, adopted: list[Child], tmp_path: Path
) -> None:
    (tmp_path / "deaf").write_text(DEAF.format("pid"))
    child = start(command.sh("setsid sh deaf & sh -c 'trap \"\" TERM; exec sleep 300'", kill_grace_s=60), adopted)
    stray = await wait_for_pid(tmp_path / "pid")
    kill_child(child)
    await wait_until(lambda: find_in_session(child.pid) == [], "its session was killed", within_s=5)
    await wait_until(lambda: not is_running(stray), "the stray was killed", within_s=5)


async def test_a_child_that_was_killed_is_collected_and_leaves_no_descriptor(
    command: Commands, adopted: list[Child]
) -> None:
    before = count_descriptors()
    child = start(command("sleep", "300"), adopted)
    kill_child(child)
    assert not Path(f"/proc/{child.pid}").exists()
    assert count_descriptors() == before


HOST_THAT_IGNORES_CHILDREN = """
import asyncio, os, signal
from hookline.process.child import Child, Command
from hookline.process.ending import end_child
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
text = "trap '' TERM; echo ready; while :; do sleep 1; done"
child = Child(Command(argv=("/bin/sh", "-c", text), env={}, cwd="/", timeout_s=20, kill_grace_s=0.3))
stdout, _ = child.output_fds
os.set_blocking(stdout, True)
os.read(stdout, 100)
status = asyncio.run(end_child(child))
print(status.exit_code, status.signal)
"""


def test_a_child_whose_status_was_taken_is_ended_all_the_same() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", HOST_THAT_IGNORES_CHILDREN],
        capture_output=True,
        text=True,
        check=False,
        timeout=40,
    )
    assert (ended.stdout, ended.stderr) == ("None None\n", "")


def _state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
