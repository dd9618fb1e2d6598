"""
A fleet whose parts die at random moments: no job is lost, none is done twice.

    python -m soak.fleet [--rounds N] [--kind KIND] [--seed N] [--stopped SECONDS] [--json]

One PostgreSQL server of its own, workers that live on from round to round, and in each round a home with some jobs, a
forwarder, and one fault at a random moment. Afterwards every job must be done in the fleet, the effects of a hook
that looks whether it has done its work must be exactly as many as jobs, and every local file must be there. Exits
with 1 when not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from hookline import AfterTurn, Engine, Event
from hookline.fleet.address import Address
from hookline.fleet.database import PostgresDatabase
from hookline.fleet.errors import FleetError, UnreachableError
from hookline.fleet.fleet import Fleet
from hookline.fleet.schema import apply_schema
from hookline.fleet.store import FleetStore
from hookline.job import Job
from hookline.outbox.files import FileOutbox
from soak.server import Server, find_programs, running_server
from soak.table import make_table

_WITHIN_S = 60.0
_POLL_S = 0.01
_SILENT_S = 1.5
_JOBS = 12
_MOST_SHOWN = 20

# Runs in the project of its round. A mark that only one can make shows two runs at once.
_HOOK = """\
if [ -e "marks/$HOOKLINE_JOB_ID" ]; then echo "again $HOOKLINE_JOB_ID" >> runs; exit 0; fi
if ! (set -C; : > "busy/$HOOKLINE_JOB_ID") 2>/dev/null; then echo "overlap $HOOKLINE_JOB_ID" >> runs; fi
trap 'rm -f "busy/$HOOKLINE_JOB_ID"; exit 143' TERM
echo "start $HOOKLINE_JOB_ID $HOOKLINE_JOB_ATTEMPT" >> runs
sleep 0.2
echo "effect $HOOKLINE_JOB_ID" >> effects.$HOOKLINE_JOB_ID
mv effects.$HOOKLINE_JOB_ID "marks/$HOOKLINE_JOB_ID"
rm -f "busy/$HOOKLINE_JOB_ID"
"""


class Program:
    """A process of the command line."""

    def __init__(self, *arguments: str, home: Path) -> None:
        environment = {**os.environ, "HOOKLINE_HOME": str(home)}
        self._command = [sys.executable, "-m", "hookline", *arguments]
        self._said = tempfile.TemporaryFile("a+", encoding="utf-8")  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            self._command, cwd=home, env=environment, stdout=self._said, stderr=subprocess.STDOUT
        )

    def wait_for(self, word: str) -> None:
        """Wait until it has said a word."""
        _wait_until(lambda: word in self._read() or not self.is_alive(), f"{self._command} says {word!r}")
        if word not in self._read():
            raise AssertionError(f"{self._command} ended before it said {word!r}: {self._read()}")

    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self.wait()

    def wait(self) -> str:
        """Wait for its end; returns what it has said."""
        self._process.wait(timeout=_WITHIN_S)
        said = self._read()
        self._said.close()
        return said

    def _read(self) -> str:
        self._said.seek(0)
        return self._said.read()


class Ground:
    """The server, the workers and the hooks that all rounds of a kind share."""

    def __init__(self, root: Path, server: Server, chance: random.Random, *, stopped_s: float) -> None:
        self.root = root
        self.server = server
        self.chance = chance
        self.stopped_s = stopped_s
        self.home = self._make_home("worker")
        self.project = root / "nothing"
        self.project.mkdir()
        self.database = PostgresDatabase(Address.from_url(server.url))
        self.store = FleetStore(self.database)
        self.workers: list[Program] = []

    def _make_home(self, name: str) -> Path:
        home = self.root / name
        path = home / "hooks" / "hooks.json"
        path.parent.mkdir(parents=True)
        execution = {"mode": "fire_and_forget", "delivery": "durable", "where": "fleet"}
        hook = {"id": "job", "event": "after_turn", "run": {"type": "shell", "shell": _HOOK}, "execution": execution}
        path.write_text(json.dumps({"settings": {"outbox_max_retries": 20}, "hooks": [hook]}), encoding="utf-8")
        return home

    def make_round(self, name: str) -> Round:
        """A home and a project of their own, with jobs to forward."""
        home = self._make_home(f"home-{name}")
        project = self.root / f"project-{name}"
        for folder in ("marks", "busy"):
            (project / folder).mkdir(parents=True)
        return Round(self, home, project)

    def keep_workers(self, count: int) -> None:
        """See to it that so many workers are there and ready."""
        self.workers = [worker for worker in self.workers if worker.is_alive()]
        fresh = [self._start_worker() for _ in range(count - len(self.workers))]
        for worker in fresh:
            worker.wait_for("a worker for")
        self.workers += fresh

    def _start_worker(self) -> Program:
        arguments = ("--from", self.server.url, "--concurrency", "3", "--silent-after", str(_SILENT_S))
        return Program("worker", "--project", str(self.project), *arguments, home=self.home)

    def kill_worker(self) -> None:
        """Kill one of the workers."""
        self.workers.pop(self.chance.randrange(len(self.workers))).kill()

    def pause(self, longest_s: float) -> None:
        """Let a random time pass."""
        time.sleep(self.chance.uniform(0, longest_s))

    def close(self) -> None:
        """End the workers."""
        for worker in self.workers:
            worker.kill()
        self.database.close()


class Round:
    """One home with jobs."""

    def __init__(self, ground: Ground, home: Path, project: Path) -> None:
        self.ground = ground
        self.home = home
        self.project = project
        self.outbox = FileOutbox(home / "hooks" / "outbox")
        self.ids: set[str] = set()

    def fire(self, count: int) -> None:
        """Fire as an agent does."""
        with Engine.open(self.project, home=self.home, trust="none") as engine:
            for turn in range(count):
                (run,) = engine.fire_sync(Event(AfterTurn(turn=turn), cwd=str(self.project))).runs
                assert run.status == "queued", run
                self.ids.add(run.id)

    def start_forwarder(self, *, follows: bool = True, home: Path | None = None) -> Program:
        """A forwarder of this home, or of another one with the same jobs."""
        options = ("--follow",) if follows else ()
        return Program("outbox", "forward", "--to", self.ground.server.url, *options, home=home or self.home)

    def forward(self) -> None:
        """Forward what is left."""
        _wait_until(lambda: self._forward_once() == 0, "the rest is forwarded")

    def _forward_once(self) -> int:
        with contextlib.suppress(FleetError), Fleet.opened(self.ground.server.url) as fleet:
            fleet.forward(self.home / "hooks" / "outbox")
        return self.outbox.count()["pending"]

    def is_over(self) -> bool:
        """Whether the fleet has no pending job of this round."""
        try:
            jobs = [self.ground.store.get(job_id) for job_id in self.ids]
        except UnreachableError:
            return False
        return all(job is not None and job.state != "pending" for job in jobs)

    def pause_from_first_start(self, longest_s: float) -> None:
        """Let a random time pass after the first hook was started."""
        _wait_until(lambda: self.count_words("start") > 0, "a hook is started")
        self.ground.pause(longest_s)

    def count_marks(self) -> int:
        """How many jobs have had their effect."""
        return len(list((self.project / "marks").iterdir()))

    def count_words(self, word: str) -> int:
        """How many lines of the hooks begin with a word."""
        path = self.project / "runs"
        lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        return sum(line.startswith(word) for line in lines)


def _strike_forwarder(one: Round) -> None:
    one.ground.keep_workers(1)
    one.fire(_JOBS)
    forwarder = one.start_forwarder()
    one.ground.pause(0.9)
    one.fire(2)
    one.ground.pause(0.05)
    forwarder.kill()


def _strike_worker(one: Round) -> None:
    one.ground.keep_workers(2)
    one.fire(_JOBS)
    one.forward()
    one.pause_from_first_start(0.6)
    one.ground.kill_worker()


def _strike_server(one: Round) -> None:
    one.ground.keep_workers(2)
    forwarder = one.start_forwarder()
    one.fire(_JOBS)
    one.pause_from_first_start(0.6)
    one.ground.server.kill()
    one.ground.pause(0.5)
    one.fire(2)
    one.ground.server.start()
    one.ground.pause(0.5)
    forwarder.kill()


def _strike_network(one: Round) -> None:
    one.ground.keep_workers(2)
    forwarder = one.start_forwarder()
    one.fire(_JOBS)
    one.pause_from_first_start(0.6)
    frozen = one.ground.server.freeze()
    try:
        one.fire(2)
        time.sleep(one.ground.stopped_s)
    finally:
        one.ground.server.thaw(frozen)
    one.ground.pause(0.5)
    forwarder.kill()


def _strike_two_forwarders(one: Round) -> None:
    one.ground.keep_workers(1)
    one.fire(_JOBS)
    both = [one.start_forwarder(follows=False) for _ in range(2)]
    said = [forwarder.wait() for forwarder in both]
    if not all("forwarded" in text or "another forwarder is at work" in text for text in said):
        raise AssertionError(f"two forwarders said {said}")


def _strike_duplicates(one: Round) -> None:
    """The same jobs from two homes at once, and again from files that came back."""
    one.ground.keep_workers(1)
    one.fire(_JOBS)
    copy = one.home.with_name(f"{one.home.name}-copy")
    shutil.copytree(one.home, copy)
    kept = one.home.with_name(f"{one.home.name}-kept")
    shutil.copytree(one.home / "hooks" / "outbox" / "pending", kept)
    both = [one.start_forwarder(follows=False), one.start_forwarder(follows=False, home=copy)]
    for forwarder in both:
        forwarder.wait()
    shutil.rmtree(one.home / "hooks" / "outbox" / "done")
    (one.home / "hooks" / "outbox" / "done").mkdir(mode=0o700)
    shutil.copytree(kept, one.home / "hooks" / "outbox" / "pending", dirs_exist_ok=True)


class Kind(Struct, frozen=True, kw_only=True):
    """One fault; `may_overlap` where the server, and its locks with it, is lost."""

    name: str
    what: str
    strike: Callable[[Round], None]
    may_overlap: bool = False


KINDS = (
    Kind(name="forwarder", what="the forwarder is killed", strike=_strike_forwarder),
    Kind(name="worker", what="one of two workers is killed", strike=_strike_worker),
    Kind(name="server", what="the server is killed and started again", strike=_strike_server, may_overlap=True),
    Kind(name="network", what="the server stands still for a while", strike=_strike_network, may_overlap=True),
    Kind(name="forwarders", what="two forwarders are started at once", strike=_strike_two_forwarders),
    Kind(name="duplicates", what="jobs are forwarded twice", strike=_strike_duplicates),
)


class Figures(Struct, kw_only=True):
    """What the rounds of a kind have shown."""

    kind: str
    rounds: int = 0
    jobs: int = 0
    effects: int = 0
    done: int = 0
    dead: int = 0
    runs: int = 0
    run_again: int = 0
    overlaps: int = 0
    longest_recovery_s: float = 0.0
    violations: int = 0


@contextlib.contextmanager
def made_ground(chance: random.Random, *, stopped_s: float) -> Iterator[Ground]:
    """A server with a fleet, and nothing in it."""
    with (
        tempfile.TemporaryDirectory(prefix="hookline-fleet-", ignore_cleanup_errors=True) as root,
        running_server() as server,
    ):
        apply_schema(Address.from_url(server.url))
        with contextlib.closing(Ground(Path(root), server, chance, stopped_s=stopped_s)) as ground:
            yield ground


def run_rounds(ground: Ground, kind: Kind, rounds: int) -> tuple[Figures, list[str]]:
    """All rounds of a kind; returns the figures, and the promises that were broken, in words."""
    figures, broken = Figures(kind=kind.name), []
    for number in range(rounds):
        one = ground.make_round(f"{kind.name}-{number}")
        found = _run_round(one, kind, figures)
        figures.rounds += 1
        figures.violations += len(found)
        broken += [f"{kind.name}, round {number}: {text}" for text in found]
        shutil.rmtree(one.project, ignore_errors=True)
        shutil.rmtree(one.home, ignore_errors=True)
    return figures, broken[:_MOST_SHOWN]


def _run_round(one: Round, kind: Kind, figures: Figures) -> list[str]:
    kind.strike(one)
    started = time.monotonic()
    try:
        one.ground.keep_workers(1)
        one.forward()
        _wait_until(one.is_over, "every job is over")
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return [f"no recovery: {error}", *_verify(one, kind, figures)]
    figures.longest_recovery_s = max(figures.longest_recovery_s, round(time.monotonic() - started, 2))
    return list(_verify(one, kind, figures))


def _verify(one: Round, kind: Kind, figures: Figures) -> Iterator[str]:
    """Every promise that a round has broken, in words."""
    jobs: dict[str, Job | None] = {job_id: one.ground.store.get(job_id) for job_id in sorted(one.ids)}
    states = [None if job is None else job.state for job in jobs.values()]
    figures.jobs += len(jobs)
    figures.done += states.count("done")
    figures.dead += states.count("failed")
    figures.effects += one.count_marks()
    figures.runs += one.count_words("start")
    figures.run_again += one.count_words("again")
    figures.overlaps += one.count_words("overlap")
    for job_id, job in jobs.items():
        if job is None:
            yield f"job {job_id} is not in the fleet"
        elif job.state != "done":
            yield f"job {job_id} is {job.state}: {job.error}"
    if one.count_marks() != len(jobs):
        yield f"{one.count_marks()} effects of {len(jobs)} jobs"
    if one.count_words("overlap") and not kind.may_overlap:
        yield f"{one.count_words('overlap')} runs of a job at once"
    here = {job.id: job for job in one.outbox.list("done") if job.forwarded_at is not None}
    for job_id in sorted(one.ids - here.keys()):
        yield f"the file of job {job_id} is not among the forwarded ones"
    counts = one.outbox.count()
    if counts["pending"] or counts["failed"]:
        yield f"{counts['pending']} pending and {counts['failed']} failed files here"


def _wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {_WITHIN_S:g} s: {what}")
        time.sleep(_POLL_S)


def main() -> int:
    """Run the rounds that are asked for and print their figures."""
    parser = argparse.ArgumentParser(prog="python -m soak.fleet", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="rounds of each kind (default: 100)")
    parser.add_argument("--kind", choices=[kind.name for kind in KINDS], action="append", help="only this kind")
    parser.add_argument("--seed", type=int, default=None, help="the seed of the random moments")
    parser.add_argument(
        "--stopped", type=float, default=20.0, help="seconds that the server stands still (default: 20)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    logging.getLogger("hookline").setLevel(logging.CRITICAL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what it has started ends with it
    seed = random.randrange(2**32) if options.seed is None else options.seed
    rows, broken = [], []
    try:
        find_programs()
    except FileNotFoundError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    with made_ground(random.Random(seed), stopped_s=options.stopped) as ground:
        for kind in KINDS:
            if options.kind is None or kind.name in options.kind:
                figures, found = run_rounds(ground, kind, options.rounds)
                rows.append(figures)
                broken += found
    if options.json:
        report = json.dumps({"seed": seed, "kinds": [asdict(row) for row in rows], "violations": broken})
    else:
        said = [f"  {kind.name}: {kind.what}" for kind in KINDS if kind.name in {row.kind for row in rows}]
        report = "\n".join((f"seed {seed}; rounds in which ...", *said, make_table(rows), *broken))
    sys.stdout.write(report + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
