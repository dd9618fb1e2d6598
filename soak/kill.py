"""
Kill -9 at random moments: nothing that was promised is lost, nothing runs twice at once.

    python -m soak.kill [--rounds N] [--kind KIND] [--seed N] [--json]

Each round has a home of its own, real host processes that embed the engine, and one kill at a random moment.
Afterwards engines recover what is left, and what they leave is looked at: every job that was stored before `fire`
returned is done or was given up, no two runs of a job overlapped, and every file is whole. Exits with 1 when not.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from hookline import Engine
from hookline.job import Job, JobSource, JobState, utc_now
from hookline.outbox.codec import UnreadableJobError, decode_job
from hookline.outbox.files import FileOutbox
from soak.table import make_table

_STATES: tuple[JobState, ...] = ("pending", "done", "failed")
_RETRY_AGE_S = 0.2
_WITHIN_S = 30.0
_POLL_S = 0.002
# How long one engine may need before another is opened: one does not wait for what an orphan still holds.
_PATIENCE_S = 1.0
# Of each kind; the figures count them all.
_MOST_SHOWN = 20

# A marker that only one can make shows two runs of a job at once; a lock on it would end with its holder.
_HOOK = """\
mark=busy/$HOOKLINE_JOB_ID
if ! (set -C; : > "$mark") 2>/dev/null; then echo "overlap $HOOKLINE_JOB_ID" >> runs; exit 0; fi
trap 'rm -f "$mark"; exit 143' TERM
echo "start $HOOKLINE_JOB_ID $HOOKLINE_JOB_ATTEMPT $PPID" >> runs
{work}
echo "end $HOOKLINE_JOB_ID" >> runs
rm -f "$mark"
"""

_HOST = """
import asyncio, sys, time
from hookline import AfterTurn, Engine, Event

async def main(project, home, count):
    engine = Engine.open(project, home=home, trust="all")
    print("ready", flush=True)
    turn = 0
    while count < 0 or turn < count:
        turn += 1
        (run,) = (await engine.fire(Event(AfterTurn(turn=turn), cwd=project))).runs
        if run.status in ("queued", "detached") and not run.notes:
            print("stored", run.id, flush=True)
    print("fired", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


class Kind(Struct, frozen=True, kw_only=True):
    """One way to be killed: how long the hook works, in seconds, and what happens before the recovery."""

    name: str
    what: str
    strike: Callable[[Round], None]
    work_s: float = 0.0
    is_detached: bool = False


class Round:
    """A home, a project with one durable hook, and the hosts of one round."""

    def __init__(self, root: Path, kind: Kind, chance: random.Random) -> None:
        self.kind = kind
        self.chance = chance
        self.project = root / "project"
        self.home = root / "home"
        self.store = FileOutbox(self.home / "hooks" / "outbox")
        self.promised: set[str] = set()
        self.hosts: list[Host] = []
        self.is_left_by_survivor = False
        self._write_project()

    def _write_project(self) -> None:
        (self.project / "busy").mkdir(parents=True)
        self.source = self.project / ".hookline" / "hooks" / "hooks.json"
        self.source.parent.mkdir(parents=True)
        work = f"sleep {self.kind.work_s}" if self.kind.work_s else ":"
        execution = {"mode": "fire_and_forget", "delivery": "durable", "detach": self.kind.is_detached}
        run = {"type": "shell", "shell": _HOOK.format(work=work)}
        hook = {"id": "job", "event": "after_turn", "run": run, "execution": execution}
        settings = {"outbox_retry_age_seconds": _RETRY_AGE_S, "outbox_max_retries": 10}
        self.source.write_text(json.dumps({"settings": settings, "hooks": [hook]}), encoding="utf-8")

    def start_host(self, count: int) -> Host:
        """A host that fires `count` events, any number when that is negative, and goes on living."""
        host = Host(self.project, self.home, count)
        self.hosts.append(host)
        return host

    def store_jobs(self, count: int) -> None:
        """Jobs as a host left them an hour ago."""
        for number in range(count):
            job = Job(
                id=f"{self.chance.getrandbits(128):032x}",
                hook_id="job",
                event="after_turn",
                payload={"event": "after_turn", "turn": number, "cwd": str(self.project)},
                source=JobSource(layer="project", dialect="native", file=str(self.source.resolve())),
                created_at=utc_now() - timedelta(hours=1),
            )
            self.store.put(job)
            self.promised.add(job.id)

    def lines(self, word: str) -> list[list[str]]:
        """What hooks wrote that begins with a word, split."""
        try:
            text = (self.project / "runs").read_text(encoding="ascii")
        except FileNotFoundError:
            return []
        return [line.split() for line in text[: text.rfind("\n") + 1].splitlines() if line.startswith(word)]

    def pause(self, longest_s: float) -> None:
        """Let a random time pass."""
        time.sleep(self.chance.uniform(0, longest_s))

    def end(self) -> None:
        """Kill what still lives, and take note of what it had promised."""
        for host in self.hosts:
            self.promised |= host.kill()


class Host:
    """A process that embeds the engine."""

    def __init__(self, project: Path, home: Path, count: int) -> None:
        command = [sys.executable, "-c", _HOST, str(project), str(home), str(count)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._said = b""

    def wait_for(self, word: bytes) -> None:
        """Wait until the host has said a word."""
        assert self._process.stdout is not None
        while word not in self._said:
            data = os.read(self._process.stdout.fileno(), 65536)
            if not data:
                raise AssertionError(f"the host ended before it said {word.decode()}")
            self._said += data

    def kill(self) -> set[str]:
        """End the host as a power cut would; returns the jobs it had said were stored."""
        assert self._process.stdout is not None
        if not self._process.stdout.closed:
            self._process.kill()
            self._said += self._process.communicate()[0]
        return {line.split()[1] for line in self._said.decode().splitlines(keepends=True) if _is_promise(line)}


def _is_promise(line: str) -> bool:
    return line.startswith("stored ") and line.endswith("\n")


def _strike_during_put(ground: Round) -> None:
    host = ground.start_host(-1)
    host.wait_for(b"stored")
    ground.pause(0.15)
    ground.promised |= host.kill()


def _strike_during_run(ground: Round) -> None:
    host = ground.start_host(6)
    host.wait_for(b"fired")
    ground.pause(0.35)
    ground.promised |= host.kill()


def _strike_after_exit(ground: Round) -> None:
    """Between the exit of a hook and the moment its job is finished, or close to that."""
    host = ground.start_host(6)
    host.wait_for(b"fired")
    wanted = ground.chance.randint(1, 6)
    _wait_until(lambda: len(ground.lines("end")) >= wanted)
    ground.pause(0.006)
    ground.promised |= host.kill()


def _strike_during_recovery(ground: Round) -> None:
    ground.store_jobs(20)
    host = ground.start_host(0)
    host.wait_for(b"ready")
    ground.pause(0.25)
    ground.promised |= host.kill()


def _strike_supervisors(ground: Round) -> None:
    """The processes that stand between a host and its detached hooks; in half of the rounds the host too."""
    host = ground.start_host(4)
    host.wait_for(b"fired")
    _wait_until(lambda: len(ground.lines("start")) >= 2)
    ground.pause(0.4)
    if ground.chance.random() < 0.5:
        ground.promised |= host.kill()
    for line in ground.lines("start"):
        _kill_supervisor(int(line[3]))
    ground.promised |= host.kill()


def _kill_supervisor(pid: int) -> None:
    """Kill it unless it has ended; its number may be somebody else's by then."""
    try:
        if b"hookline" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return


def _strike_one_of_two(ground: Round) -> None:
    ground.store_jobs(24)
    hosts = [ground.start_host(2), ground.start_host(2)]
    for host in hosts:
        host.wait_for(b"ready")
    ground.pause(0.3)
    victim = hosts.pop(ground.chance.randrange(2))
    ground.promised |= victim.kill()
    (survivor,) = hosts
    survivor.wait_for(b"fired")
    ground.is_left_by_survivor = not _is_emptied(ground.store, within_s=3 * _PATIENCE_S)
    ground.promised |= survivor.kill()


KINDS = (
    Kind(name="put", what="the host while it stores jobs", strike=_strike_during_put),
    Kind(name="run", what="the host while hooks run", strike=_strike_during_run, work_s=0.1),
    Kind(name="finish", what="the host between a hook's exit and the end of its job", strike=_strike_after_exit),
    Kind(name="recovery", what="the host while it recovers", strike=_strike_during_recovery, work_s=0.01),
    Kind(
        name="supervisor",
        what="the supervisors of detached hooks",
        strike=_strike_supervisors,
        work_s=0.1,
        is_detached=True,
    ),
    Kind(name="engines", what="one of two engines that share a home", strike=_strike_one_of_two, work_s=0.02),
)


class Figures(Struct, kw_only=True):
    """What the rounds of a kind have shown."""

    kind: str
    rounds: int = 0
    promised: int = 0
    starts: int = 0
    done: int = 0
    given_up: int = 0
    started_again: int = 0
    finished_twice: int = 0
    temporary_files: int = 0
    most_engines: int = 0
    left_by_survivor: int = 0
    longest_recovery_s: float = 0.0
    violations: int = 0


def run_rounds(kind: Kind, rounds: int, chance: random.Random) -> tuple[Figures, list[str]]:
    """All rounds of a kind; returns the figures, and the promises that were broken, in words."""
    figures, broken = Figures(kind=kind.name), []
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="hookline-kill-", ignore_cleanup_errors=True) as root:
            ground = Round(Path(root), kind, chance)
            try:
                kind.strike(ground)
            finally:
                ground.end()
            _recover(ground, figures)
            found = list(_verify(ground, figures))
        figures.rounds += 1
        figures.violations += len(found)
        broken += [f"{kind.name}, round {number}: {text}" for text in found]
    return figures, broken[:_MOST_SHOWN]


def _recover(ground: Round, figures: Figures) -> None:
    """Open engines, one after another, until nothing is pending."""
    started = time.monotonic()
    engines = 0
    while not _is_emptied(ground.store, within_s=0) and time.monotonic() < started + _WITHIN_S:
        engines += 1
        with Engine.open(ground.project, home=ground.home, trust="all"):
            _is_emptied(ground.store, within_s=_PATIENCE_S)
    figures.most_engines = max(figures.most_engines, engines)
    figures.longest_recovery_s = max(figures.longest_recovery_s, round(time.monotonic() - started, 2))


def _verify(ground: Round, figures: Figures) -> Iterator[str]:
    """Every promise that a round has broken, in words."""
    figures.promised += len(ground.promised)
    figures.left_by_survivor += ground.is_left_by_survivor
    starts, ends = ground.lines("start"), [line[1] for line in ground.lines("end")]
    figures.starts += len(starts)
    figures.started_again += sum(line[2] != "1" for line in starts)
    figures.finished_twice += len(ends) - len(set(ends))
    yield from (f"two runs of job {line[1]} at once" for line in ground.lines("overlap"))
    states: dict[str, Job] = {}
    for state in _STATES:
        for path in sorted((ground.home / "hooks" / "outbox" / state).glob("*")):
            if path.name.startswith("."):
                figures.temporary_files += 1
                continue
            try:
                job = decode_job(path.read_bytes())
            except UnreadableJobError as error:
                yield f"{state}/{path.name} is not whole: {error}"
                continue
            states[job.id] = job
    figures.done += sum(job.state == "done" for job in states.values())
    figures.given_up += sum(job.state == "failed" for job in states.values())
    yield from (f"job {job_id} is lost" for job_id in sorted(ground.promised - states.keys()))
    for job in states.values():
        if job.state == "pending":
            yield f"job {job.id} is pending still, after {job.starts} starts"
        if job.state == "done" and job.id not in ends:
            yield f"job {job.id} is done, but its hook never came to its end"
        if job.state == "failed" and not (job.error or "").startswith("started "):
            yield f"job {job.id} failed: {job.error}"
    for path in (ground.home / "hooks" / "log").glob("*.jsonl"):
        yield from (f"a torn line in {path.name}" for line in path.read_bytes().splitlines() if not _is_record(line))


def _is_record(line: bytes) -> bool:
    try:
        return not line or isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _is_emptied(store: FileOutbox, *, within_s: float) -> bool:
    """Whether nothing is pending, or comes not to be within some seconds."""
    deadline = time.monotonic() + within_s
    while store.count()["pending"]:
        if time.monotonic() >= deadline:
            return False
        time.sleep(5 * _POLL_S)
    return True


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError("what was to be struck did not come about")
        time.sleep(_POLL_S)


def main() -> int:
    """Run the rounds that are asked for and print their figures."""
    parser = argparse.ArgumentParser(prog="python -m soak.kill", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="rounds of each kind (default: 200)")
    parser.add_argument("--kind", choices=[kind.name for kind in KINDS], action="append", help="only this kind")
    parser.add_argument("--seed", type=int, default=None, help="the seed of the random moments")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    for name in ("hookline", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    seed = random.randrange(2**32) if options.seed is None else options.seed
    rows, broken = [], []
    for kind in KINDS:
        if options.kind is None or kind.name in options.kind:
            figures, found = run_rounds(kind, options.rounds, random.Random(f"{seed} {kind.name}"))
            rows.append(figures)
            broken += found
    if options.json:
        report = json.dumps({"seed": seed, "kinds": [asdict(row) for row in rows], "violations": broken})
    else:
        report = "\n".join((f"seed {seed}; kill -9 of ...", *_describe(rows), make_table(rows), *broken))
    sys.stdout.write(report + "\n")
    return 1 if broken else 0


def _describe(rows: Sequence[Figures]) -> list[str]:
    shown = {row.kind for row in rows}
    return [f"  {kind.name}: {kind.what}" for kind in KINDS if kind.name in shown]


if __name__ == "__main__":
    sys.exit(main())
