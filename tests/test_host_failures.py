"""What becomes of hooks when their host fails, each way as a real process with a stated outcome."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from entries import command_hook, shell_hook, write_file
from hookline import AfterTurn, Event
from hookline.job import utc_now
from hookline.outbox.codec import encode_job
from hookline.runlog import LogQuery, read_records
from hosts import run_host, start_host
from jobs import HOUR_S, is_emptied, is_held, is_old_enough, make_job, open_outbox
from storage import unprivileged
from support import Bench
from waiting import is_running, wait_for_end, wait_for_pid, wait_until

UNTIL_GO = "echo $$ > started; while [ ! -e go ]; do sleep 0.02; done; echo > finished"
MANY = 10_000


def hook(
    text: str, hook_id: str = "h", *, event: str = "after_turn", mode: str = "async", **execution: Any
) -> dict[str, Any]:
    return shell_hook(hook_id, text, event=event, mode=mode, **execution)


def write_hooks(bench: Bench, *hooks: dict[str, Any], **settings: Any) -> Path:
    return bench.write(write_file(*hooks, settings={"outbox_retry_age_seconds": 0.2, **settings}))


def read_log(bench: Bench) -> list[tuple[str, str]]:
    records = read_records(bench.home / "hooks" / "log", LogQuery())
    return [(record["hook"], record["status"]) for record in records]


async def recover(bench: Bench) -> None:
    """Run what is pending, as the next agent does."""
    with bench.open():
        store = open_outbox(bench.home)
        await wait_until(lambda: is_emptied(store), "no job is pending", within_s=10)


def count_jobs(bench: Bench) -> dict[str, int]:
    return dict(open_outbox(bench.home).count())


# The end of a session

_SESSION = """
async def main():
    async with open_engine() as engine:
        async with Session(engine, id="s1", cwd=str(PROJECT)):
            say("begun")
        say("ended")
asyncio.run(main())
"""


async def test_hooks_of_a_sessions_end_that_are_done_within_the_grace_are_done(bench: Bench) -> None:
    """Outcome: the host waits for them, and they are recorded as `ok`."""
    write_hooks(bench, hook("sleep 0.3; echo > finished", event="session_end"), shutdown_grace_seconds=20)
    run_host(bench, _SESSION)
    assert (bench.project / "finished").exists()
    assert read_log(bench) == [("h", "ok")]


async def test_hooks_of_a_sessions_end_that_take_longer_are_cancelled_after_the_grace(bench: Bench) -> None:
    """Outcome: the host goes on once the grace is over, the hook is ended and recorded as `cancelled`."""
    write_hooks(bench, hook(UNTIL_GO, event="session_end"), shutdown_grace_seconds=0.5)
    with start_host(bench, _SESSION) as host:
        host.read("begun")
        pid = await wait_for_pid(bench.project / "started")
        started = time.monotonic()
        host.read("ended")
        assert time.monotonic() - started < 10
        status, _, complaints = host.end()
    assert status == 0, complaints
    assert not is_running(pid)
    assert read_log(bench) == [("h", "cancelled")]


async def test_durable_hooks_of_a_sessions_end_that_take_longer_are_run_by_the_next_agent(bench: Bench) -> None:
    """Outcome: cancelled after the grace, still pending, and run again at the next start."""
    text = '[ "$HOOKLINE_JOB_ATTEMPT" = 2 ] || sleep 60; echo > finished'
    write_hooks(bench, hook(text, event="session_end", delivery="durable"), shutdown_grace_seconds=0.3)
    run_host(bench, _SESSION)
    assert count_jobs(bench) == {"pending": 1, "done": 0, "failed": 0}
    await recover(bench)
    assert (bench.project / "finished").exists()
    assert read_log(bench) == [("h", "cancelled"), ("h", "ok")]


async def test_a_blocking_hook_of_a_sessions_end_is_waited_for(bench: Bench) -> None:
    """Outcome: it runs to its own end; no grace cuts it short."""
    write_hooks(
        bench, hook("sleep 0.5; echo > finished", event="session_end", mode="blocking"), shutdown_grace_seconds=0
    )
    run_host(bench, _SESSION)
    assert read_log(bench) == [("h", "ok")]


# A host that dies

_FIRE = """
engine = open_engine()
decision = engine.fire_sync(turn())
say("fired", describe(decision.runs))
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
async def test_a_best_effort_hook_of_a_host_that_is_killed_runs_on_to_its_end(bench: Bench, number: int) -> None:
    """Outcome: nobody ends it, and nobody is left to record how it ended."""
    write_hooks(bench, hook(UNTIL_GO))
    with start_host(bench, _FIRE) as host:
        host.read("fired")
        pid = await wait_for_pid(bench.project / "started")
        host.kill(number)
    assert is_running(pid)
    (bench.project / "go").touch()
    await wait_for_end(pid)
    assert (bench.project / "finished").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
async def test_a_durable_hook_of_a_host_that_is_killed_is_run_again_after_its_end_not_before(
    bench: Bench, number: int
) -> None:
    """Outcome, case 8: while the orphan runs nobody starts it again; afterwards the next agent does, as attempt 2."""
    write_hooks(bench, hook(f'echo "$HOOKLINE_JOB_ATTEMPT" >> attempts; {UNTIL_GO}', delivery="durable"))
    with start_host(bench, _FIRE) as host:
        host.read("fired")
        pid = await wait_for_pid(bench.project / "started")
        host.kill(number)
    await wait_until(lambda: is_old_enough(bench.home), "the job is old enough")
    with bench.open() as engine:
        await engine.settle(await engine.fire(bench.event()))
        assert is_running(pid)
        assert bench.read("attempts") == "1\n"
    (bench.project / "go").touch()
    await wait_for_end(pid)
    await recover(bench)
    assert bench.read("attempts") == "1\n2\n"
    assert count_jobs(bench) == {"pending": 0, "done": 1, "failed": 0}


async def test_a_job_that_kills_its_hosts_fails_after_as_many_starts_as_it_may_have(
    bench: Bench,
) -> None:
    """Outcome, case 8: three hosts die with it; the fourth gives it up and says why."""
    write_hooks(bench, hook("echo $HOOKLINE_JOB_ATTEMPT >> attempts; kill -KILL $PPID; sleep 0.1", delivery="durable"))
    for program in (_FIRE, "engine = open_engine(); time.sleep(600)", "engine = open_engine(); time.sleep(600)"):
        with start_host(bench, program) as host:
            assert host.wait() == -signal.SIGKILL
        await wait_until(
            lambda: is_old_enough(bench.home) and not is_held(bench.home), "the job is free and old enough"
        )
    await recover(bench)
    assert bench.read("attempts") == "1\n2\n3\n"
    (job,) = open_outbox(bench.home).list("failed")
    assert job.error == "started 3 times without coming to an end; the most is 3 (outbox_max_retries)"


async def test_a_blocking_hook_of_a_host_that_is_killed_runs_on_to_its_end(bench: Bench) -> None:
    """Outcome: like one that nobody waits for; its answer goes nowhere."""
    write_hooks(bench, hook(UNTIL_GO, event="before_tool_call", mode="blocking"))
    with start_host(bench, "open_engine().fire_sync(tool())") as host:
        pid = await wait_for_pid(bench.project / "started")
        host.kill()
    assert is_running(pid)
    (bench.project / "go").touch()
    await wait_for_end(pid)


async def test_what_a_killed_host_left_in_memory_is_swept_by_the_next(bench: Bench) -> None:
    """Outcome: payload files of dead hosts do not pile up."""
    write_hooks(bench, hook(f'echo "$HOOKLINE_HOOK_PAYLOAD_FILE" > where; {UNTIL_GO}'))
    with start_host(bench, _FIRE) as host:
        host.read("fired")
        await wait_for_pid(bench.project / "started")
        host.kill()
    payload = Path(bench.read("where").strip())
    assert payload.exists()
    (bench.project / "go").touch()
    with bench.open() as engine:
        await engine.settle(await engine.fire(bench.event()))
        await engine.settle(await engine.fire(Event(AfterTurn(turn=2), cwd=str(bench.project))))
    assert not payload.exists()


# The end of the interpreter


@pytest.mark.parametrize(
    "way",
    ["", "sys.exit(0)", "raise SystemExit", "del engine"],
    ids=["end of the program", "sys.exit", "SystemExit", "dropped"],
)
async def test_an_interpreter_that_ends_cancels_what_is_in_flight(bench: Bench, way: str) -> None:
    """Outcome: no process is left, each run is recorded as `cancelled`, a durable one stays pending; no complaint."""
    write_hooks(bench, hook(UNTIL_GO), hook("echo > second; sleep 60", "d", mode="fire_and_forget", delivery="durable"))
    program = f"""
engine = open_engine()
engine.fire_sync(turn())
while not ((PROJECT / "started").exists() and (PROJECT / "second").exists()):
    time.sleep(0.01)
{way}
"""
    with start_host(bench, program) as host:
        status, _, complaints = host.end()
    assert status == 0
    assert [line for line in complaints.splitlines() if "was cancelled: its session or engine ended" not in line] == []
    pid = await wait_for_pid(bench.project / "started")
    await wait_for_end(pid, within_s=5)
    assert sorted(read_log(bench)) == [("d", "cancelled"), ("h", "cancelled")]
    assert count_jobs(bench) == {"pending": 1, "done": 0, "failed": 0}


async def test_an_interpreter_that_ends_by_an_exception_cancels_what_is_in_flight(bench: Bench) -> None:
    """Outcome: the host's own exception is what its user sees; hooks are ended and recorded."""
    write_hooks(bench, hook(UNTIL_GO))
    program = """
        engine = open_engine()
        engine.fire_sync(turn())
        while not (PROJECT / "started").exists():
            time.sleep(0.01)
        raise ZeroDivisionError("mine")
        """
    with start_host(bench, program) as host:
        status, _, complaints = host.end()
    assert (status, "ZeroDivisionError: mine" in complaints) == (1, True)
    assert "hookline" not in complaints.partition("ZeroDivisionError")[2]
    assert read_log(bench) == [("h", "cancelled")]


async def test_an_engine_that_is_to_be_closed_at_exit_gives_hooks_their_grace(bench: Bench) -> None:
    """Outcome: a host without a place for `close` loses no hook that ends in time, and one that does not is ended."""
    write_hooks(bench, hook("sleep 0.5; touch ended", "quick"))
    run_host(bench, "engine = open_engine(); engine.close_at_exit(); engine.fire_sync(turn())")
    assert (bench.project / "ended").exists()
    assert read_log(bench) == [("quick", "ok")]
    write_hooks(bench, hook(UNTIL_GO, "late"), shutdown_grace_seconds=0.2)
    run_host(bench, "engine = open_engine(); engine.close_at_exit(); engine.fire_sync(turn())")
    assert read_log(bench) == [("quick", "ok"), ("late", "cancelled")]


async def test_a_host_that_exits_at_once_leaves_hooks_to_themselves(bench: Bench) -> None:
    """Outcome: `os._exit` is like being killed: durable runs are done by the next agent."""
    write_hooks(bench, hook("echo $HOOKLINE_JOB_ATTEMPT >> attempts", delivery="durable"))
    with start_host(bench, "engine = open_engine(); engine.fire_sync(turn()); os._exit(3)") as host:
        assert host.wait() == 3
    await recover(bench)
    assert count_jobs(bench) == {"pending": 0, "done": 1, "failed": 0}


async def test_an_engine_that_was_closed_leaves_the_end_of_the_interpreter_nothing_to_do(bench: Bench) -> None:
    """Outcome: a silent end, with jobs that are not due yet waiting in the outbox, whichever way it is closed."""
    write_hooks(bench, hook("true", delivery="durable"), outbox_retry_age_seconds=3600)
    put_pending(bench, 3, age_s=0)
    for program in (
        "open_engine().close()",
        "engine = open_engine(); time.sleep(0.3); engine.close(); engine.close()",
        "with open_engine() as engine: engine.settle; engine.fire_sync(turn())",
        "async def main():\n    async with open_engine() as engine: await engine.fire(turn())\nasyncio.run(main())",
        "engine = open_engine(); time.sleep(0.3)",
    ):
        assert run_host(bench, program, options=["-X", "dev"])[1] == ""
    assert count_jobs(bench)["pending"] == 3


async def test_hooks_fired_while_the_interpreter_ends_hurt_nobody(bench: Bench) -> None:
    """Outcome: an `atexit` function may fire; its hooks are run or are skipped, and the end is orderly."""
    write_hooks(bench, hook("true", delivery="durable"), hook("true", "b"))
    program = """
        engine = open_engine()
        atexit.register(lambda: say("fired", describe(engine.fire_sync(turn()).runs)))
        """
    with start_host(bench, program) as host:
        said = host.read("fired")
        status, _, complaints = host.end()
    assert (status, "Traceback" in complaints) == (0, False), complaints
    assert said
    await recover(bench)
    assert count_jobs(bench)["failed"] == 0


# Ctrl-C


@pytest.mark.parametrize(
    "program",
    [
        "engine = open_engine(); engine.fire_sync(tool()); say('not reached')",
        "with open_engine() as engine: engine.fire_sync(tool()); say('not reached')",
        "async def main(): await open_engine().fire(tool())\nasyncio.run(main())",
        "async def main():\n    async with open_engine() as engine: await engine.fire(tool())\nasyncio.run(main())",
    ],
    ids=["sync", "sync block", "async", "async block"],
)
async def test_an_interrupt_ends_a_blocking_hook_and_the_host(bench: Bench, program: str) -> None:
    """Outcome: KeyboardInterrupt reaches the host at once, and the hook it waited for is ended, not left behind."""
    write_hooks(bench, hook(UNTIL_GO, event="before_tool_call", mode="blocking"))
    with start_host(bench, program) as host:
        pid = await wait_for_pid(bench.project / "started")
        host.process.send_signal(signal.SIGINT)
        status, said, complaints = host.end()
    assert status in (1, 130, -signal.SIGINT)
    assert (said, complaints.strip().splitlines()[-1]) == ("", "KeyboardInterrupt")
    await wait_for_end(pid, within_s=5)
    assert not (bench.project / "finished").exists()


async def test_an_interrupt_leaves_durable_hooks_to_the_next_agent(bench: Bench) -> None:
    """Outcome: ended with the host, recorded as `cancelled`, pending, and run again later."""
    text = 'echo $$ > started; [ "$HOOKLINE_JOB_ATTEMPT" = 2 ] || sleep 60'
    write_hooks(bench, hook(text, delivery="durable"))
    with start_host(bench, _FIRE) as host:
        host.read("fired")
        pid = await wait_for_pid(bench.project / "started")
        host.kill(signal.SIGINT)
    await wait_for_end(pid, within_s=5)
    assert read_log(bench) == [("h", "cancelled")]
    await recover(bench)
    assert count_jobs(bench) == {"pending": 0, "done": 1, "failed": 0}


async def test_an_interrupt_of_the_terminal_does_not_reach_hooks(bench: Bench) -> None:
    """Outcome: a host that handles Ctrl-C itself finds its hooks alive; they are in groups of their own."""
    write_hooks(bench, hook(UNTIL_GO))
    program = """
        engine = open_engine()
        engine.fire_sync(turn())
        try:
            say("fired")
            time.sleep(600)
        except KeyboardInterrupt:
            say("interrupted")
        engine.drain_turn_sync("s1")
        engine.close()
        """
    with start_host(bench, program, start_new_session=True) as host:
        host.read("fired")
        pid = await wait_for_pid(bench.project / "started")
        os.killpg(host.pid, signal.SIGINT)
        host.read("interrupted")
        assert is_running(pid)
        (bench.project / "go").touch()
        assert host.end()[0] == 0
    assert read_log(bench) == [("h", "ok")]


async def test_an_interrupt_while_the_engine_closes_still_ends_the_hooks(bench: Bench) -> None:
    """Outcome: an impatient user who interrupts the grace gets the end at once, and no process is left."""
    write_hooks(bench, hook(UNTIL_GO), shutdown_grace_seconds=60)
    program = """
        engine = open_engine()
        engine.fire_sync(turn())
        while not (PROJECT / "started").exists():
            time.sleep(0.01)
        say("closing")
        engine.close()
        """
    with start_host(bench, program) as host:
        host.read("closing")
        pid = await wait_for_pid(bench.project / "started")
        time.sleep(0.2)  # until it waits
        started = time.monotonic()
        host.kill(signal.SIGINT)
        assert time.monotonic() - started < 10
    await wait_for_end(pid, within_s=5)
    assert read_log(bench) == [("h", "cancelled")]


# Loops that end early


async def test_a_loop_that_ends_early_does_not_end_its_hooks(bench: Bench) -> None:
    """Outcome: what nobody waits for lives on the engine's own thread; another loop may wait for it."""
    write_hooks(bench, hook(UNTIL_GO), hook("true", "d", delivery="durable"))
    program = """
        engine = open_engine()
        asyncio.run(engine.fire(turn()))
        say("fired")
        sys.stdin.readline()
        asyncio.run(engine.drain_turn("s1"))
        say("drained")
        engine.close()
        """
    with start_host(bench, program, stdin=-1) as host:
        host.read("fired")
        pid = await wait_for_pid(bench.project / "started")
        assert is_running(pid)
        (bench.project / "go").touch()
        assert host.process.stdin is not None
        host.process.stdin.write(b"\n")
        host.process.stdin.flush()
        host.read("drained")
        status, _, complaints = host.end()
    assert (status, complaints) == (0, "")
    assert sorted(read_log(bench)) == [("d", "ok"), ("h", "ok")]


@pytest.mark.parametrize("mode", ["blocking", "async"])
async def test_a_loop_that_is_closed_while_it_waits_hurts_nobody(bench: Bench, mode: str) -> None:
    """Outcome: the hook is ended or finished elsewhere, the engine goes on for the next loop, and nothing is said."""
    write_hooks(bench, hook(UNTIL_GO, mode=mode), hook("true", "d", delivery="durable"))
    waiting = "engine.fire(turn())" if mode == "blocking" else "engine.drain_turn('s1')"
    first = "" if mode == "blocking" else "loop.run_until_complete(engine.fire(turn()))"
    program = f"""
engine = open_engine()
loop = asyncio.new_event_loop()
{first}
task = loop.create_task({waiting})
while not (PROJECT / "started").exists():
    loop.run_until_complete(asyncio.sleep(0.01))
task.cancel()
loop.run_until_complete(asyncio.wait([task]))
loop.close()
(PROJECT / "go").touch()
say("next", describe(asyncio.run(engine.settle(asyncio.run(engine.fire(turn())))).runs))
engine.close()
"""
    with start_host(bench, program) as host:
        assert host.read("next") == "h=ok d=ok"
        status, _, complaints = host.end()
    assert (status, complaints) == (0, "")
    assert count_jobs(bench)["pending"] == 0


async def test_a_loop_that_is_abandoned_while_it_stores_a_job_loses_nothing(bench: Bench) -> None:
    """Outcome: a job that was being stored when its loop went away is stored, and run by somebody, once."""
    write_hooks(bench, hook("echo $HOOKLINE_JOB_ID >> ran", delivery="durable"))
    program = """
        engine = open_engine()
        for number in range(10):
            loop = asyncio.new_event_loop()
            task = loop.create_task(engine.fire(turn(number)))
            for _ in range(number):
                loop.run_until_complete(asyncio.sleep(0))
            task.cancel()
            loop.run_until_complete(asyncio.wait([task]))
            loop.close()
        engine.close()
        """
    _, complaints = run_host(bench, program)
    assert complaints == ""
    await recover(bench)
    ran = bench.read("ran").split() if (bench.project / "ran").exists() else []
    assert len(ran) == len(set(ran)) == count_jobs(bench)["done"]


async def test_an_engine_can_be_closed_from_two_threads(bench: Bench) -> None:
    """Outcome: both return once it is closed, and neither raises."""
    write_hooks(bench, hook("sleep 0.3"))
    program = """
        engine = open_engine()
        engine.fire_sync(turn())
        errors = []
        def close():
            try:
                engine.close()
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=close) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        say("errors", errors)
        """
    with start_host(bench, program) as host:
        assert host.read("errors") == "[]"
        assert host.end()[0] == 0
    assert read_log(bench) == [("h", "ok")]


# Homes that cannot be written


async def test_in_a_read_only_home_hooks_run_and_say_that_they_are_not_durable(bench: Bench) -> None:
    """Outcome: every hook runs; durable ones once, with a warning; the log is complained about once; no failure."""
    write_hooks(
        bench, hook("echo > ran", delivery="durable"), hook("true", "g", event="before_tool_call", mode="blocking")
    )
    (bench.home / "hooks").mkdir(parents=True)
    program = """
        import logging
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        with open_engine() as engine:
            for number in range(3):
                decision = asyncio.run(engine.settle(asyncio.run(engine.fire(turn(number)))))
                say("runs", describe(decision.runs), any("not durable" in warning for warning in decision.warnings))
            say("guard", describe(engine.fire_sync(tool()).runs))
        """
    for folder in (bench.home / "hooks", bench.home):
        folder.chmod(0o500)
    try:
        with start_host(bench, program, prefix=unprivileged) as host:
            status, said, complaints = host.end()
    finally:
        for folder in (bench.home, bench.home / "hooks"):
            folder.chmod(0o700)
    assert (status, complaints) == (0, "")
    assert said.count("runs h=ok True\n") == 3
    assert "guard g=ok\n" in said
    assert said.count("the run log") == 1
    assert (bench.project / "ran").exists()


async def test_pending_jobs_in_a_home_that_became_read_only_are_left_for_later_and_that_is_said(bench: Bench) -> None:
    """Outcome: nothing is run that cannot be written down, nothing is lost, and the host is told once."""
    write_hooks(bench, hook("echo $HOOKLINE_JOB_ID >> ran", delivery="durable"))
    (job_id,) = put_pending(bench, 1)
    outbox = bench.home / "hooks" / "outbox"
    for folder in (*outbox.iterdir(), outbox):
        folder.chmod(0o500)
    program = """
        import logging
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        engine = open_engine()
        time.sleep(1)
        engine.close()
        """
    try:
        with start_host(bench, program, prefix=unprivileged) as host:
            status, said, complaints = host.end()
    finally:
        for folder in (outbox, *outbox.iterdir()):
            folder.chmod(0o700)
    assert (status, complaints) == (0, "")
    assert not (bench.project / "ran").exists()
    assert "outbox" in said
    assert "another process runs this job" not in said
    assert read_log(bench) == []
    await recover(bench)
    assert bench.read("ran") == f"{job_id}\n"


# The clock


async def test_after_the_clock_was_set_back_pending_jobs_are_run(bench: Bench) -> None:
    """Outcome: a job from the future is due at once; nothing waits until the clock has caught up."""
    write_hooks(bench, hook("echo $HOOKLINE_JOB_ID >> ran", delivery="durable"), outbox_retry_age_seconds=3600)
    put_pending(bench, 2, created_at=utc_now() + timedelta(days=365))
    await recover(bench)
    assert len(bench.read("ran").split()) == 2


# Ten thousand jobs


def put_pending(bench: Bench, count: int, *, age_s: float = HOUR_S, **fields: Any) -> list[str]:
    """Jobs of the project's hook that a host left behind; written without flushing, for there are many."""
    file = (bench.hooks_folder() / "hooks.yaml").resolve()
    folder = bench.home / "hooks" / "outbox" / "pending"
    for name in ("pending", "done", "failed", "locks"):
        (folder.parent / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    payload = {"event": "after_turn", "turn": 1, "cwd": str(bench.project), "text": "x" * 500}
    jobs = [
        make_job(**{"hook_id": "h", "file": file, "age_s": age_s, "payload": payload, **fields}) for _ in range(count)
    ]
    for job in jobs:
        (folder / f"{job.id}.json").write_bytes(encode_job(job))
    return [job.id for job in jobs]


_HEARTBEAT = """
async def main():
    beats = []
    opened = time.perf_counter()
    engine = open_engine()
    say("opened", time.perf_counter() - opened)
    started = None
    while time.perf_counter() - opened < (4 if started else 25):
        beats.append(time.perf_counter())
        if started is None and (PROJECT / "ran").exists():
            started = time.perf_counter() - opened
            say("first", started)
        await asyncio.sleep(0.002)
    say("stall", max(later - sooner for sooner, later in zip(beats, beats[1:])))
    os._exit(0)
asyncio.run(main())
"""


async def test_with_ten_thousand_pending_jobs_work_begins_soon_and_the_host_is_not_held_up(
    bench: Bench, record_property: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Outcome: the first job starts within about a second, and the host's loop is never held for long."""
    write_hooks(bench, command_hook("h", "touch", "ran", event="after_turn", mode="async", delivery="durable"))
    put_pending(bench, MANY)
    with start_host(bench, _HEARTBEAT) as host:
        figures = {name: float(host.read(name)) for name in ("opened", "first", "stall")}
    for name, value in figures.items():
        record_property(f"{name}_s", value)
    with capsys.disabled():
        print(
            f" [10,000 pending: opened in {figures['opened']:.3f} s, first job after {figures['first']:.2f} s,"
            f" longest stall {figures['stall'] * 1000:.0f} ms]",
            end="",
        )
    assert figures["opened"] < 1
    assert figures["first"] < 5
    assert figures["stall"] < 0.25


async def test_with_thousands_of_jobs_of_other_projects_the_host_is_not_held_up(bench: Bench) -> None:
    """Outcome: they are read and left alone; a job of this project among them is run within seconds."""
    write_hooks(bench, command_hook("h", "touch", "ran", event="after_turn", mode="async", delivery="durable"))
    put_pending(bench, 3000, file="/elsewhere/hooks.yaml")
    put_pending(bench, 1, job_id="f" * 32)
    with start_host(bench, _HEARTBEAT) as host:
        first, stall = float(host.read("first")), float(host.read("stall"))
    assert first < 10
    assert stall < 0.25


async def test_with_many_pending_jobs_no_more_run_at_once_than_may(bench: Bench) -> None:
    """Outcome: `max_parallel_hooks` holds for recovered jobs as for all others."""
    text = 'echo "+" >> load; sleep 0.03; echo "-" >> load'
    write_hooks(bench, hook(text, delivery="durable"), max_parallel_hooks=3)
    put_pending(bench, 40)
    await recover(bench)
    running, most = 0, 0
    for sign in bench.read("load").split():
        running += 1 if sign == "+" else -1
        most = max(most, running)
    assert most == 3


async def test_with_many_pending_jobs_an_engine_closes_at_once(bench: Bench) -> None:
    """Outcome: what was not started stays pending; nothing is waited for but what runs."""
    write_hooks(bench, hook("sleep 0.05", delivery="durable"))
    put_pending(bench, 2000)
    program = """
        engine = open_engine()
        time.sleep(0.5)
        started = time.monotonic()
        engine.close()
        say("closed", time.monotonic() - started)
        """
    with start_host(bench, program) as host:
        assert float(host.read("closed")) < 3
        status, _, complaints = host.end()
    assert (status, complaints) == (0, "")
    counts = count_jobs(bench)
    assert counts["pending"] > 1000
    assert counts["failed"] == 0
    assert sum(counts.values()) == 2000


async def test_a_fired_event_is_not_held_up_by_many_pending_jobs(bench: Bench) -> None:
    """Outcome: a guard answers while the outbox is worked through, as quickly as on any busy machine."""
    guard = command_hook("g", "true", event="before_tool_call")
    write_hooks(bench, hook("sleep 0.02", delivery="durable"), guard)
    put_pending(bench, 3000)
    with bench.open() as engine:
        times = []
        for _ in range(15):
            started = time.monotonic()
            decision = await engine.fire(bench.event())
            times.append(time.monotonic() - started)
            assert decision.is_allowed
            await asyncio.sleep(0)
        engine.close(grace_s=0)
    assert statistics.median(times) < 0.5


async def test_memory_does_not_grow_with_the_number_of_pending_jobs(bench: Bench) -> None:
    """Outcome: jobs are read one by one."""
    write_hooks(bench, command_hook("h", "true", event="after_turn", mode="async", delivery="durable"))
    put_pending(bench, 2000, file="/elsewhere/hooks.yaml", payload={"event": "after_turn", "text": "x" * 20_000})
    program = """
        engine = open_engine()
        say("opened")
        time.sleep(600)
        """
    with start_host(bench, program) as host:
        host.read("opened")
        process = psutil.Process(host.pid)
        before = process.memory_info().rss
        peak = 0
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline:
            peak = max(peak, process.memory_info().rss)
            await asyncio.sleep(0.02)
    assert peak - before < 20_000_000
