"""`python -m soak`: run the soak, print its figures, and fail when anything leaked."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import random
import sys
import tempfile
import uuid
from pathlib import Path

from hookline import Engine
from soak.figures import MARK_VARIABLE, end_left_processes, find_processes, measure, wait_until
from soak.hooks import Kind, usable_kinds, write_hooks
from soak.load import Enough, Load, Tally
from soak.report import Report

_FIRES = 20_000
_SHORT_FIRES = 300
# Not counted: after them, what is made once and kept has been made.
_WARM_UP_FIRES = 150


def main() -> int:
    """Run the soak that the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--fires", type=int, help=f"stop after so many fires (default {_FIRES:,})")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--short", action="store_true", help=f"stop after {_SHORT_FIRES} fires")
    parser.add_argument("--seed", type=int, default=None, help="repeat the random choices of another run")
    options = parser.parse_args()
    fires = options.fires or (_SHORT_FIRES if options.short else None)
    if fires is None and options.seconds is None:
        fires = _FIRES
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    with tempfile.TemporaryDirectory(prefix="hookline-soak-") as root:
        report = soak(Path(root), Enough(fires=fires, seconds=options.seconds), seed=seed)
    sys.stdout.write(f"{report}\n")
    faults = list(report.find_faults())
    for fault in faults:
        sys.stdout.write(f"FAULT: {fault}\n")
    sys.stdout.write(f"{len(faults)} faults; seed {seed}\n" if faults else f"nothing leaked; seed {seed}\n")
    return 1 if faults else 0


def soak(root: Path, enough: Enough, *, seed: int) -> Report:
    """Run an engine under load in a scratch folder, close it, and look at what is left."""
    logging.getLogger("hookline").setLevel(logging.CRITICAL)
    complaints = Complaints()
    logging.getLogger("asyncio").addHandler(complaints)
    mark = os.environ[MARK_VARIABLE] = uuid.uuid4().hex
    project, home, kinds = root / "project", root / "home", usable_kinds()
    write_hooks(project, kinds)
    asyncio.run(asyncio.sleep(0))  # what an event loop makes once and keeps is no leak
    before = measure(mark, ())
    tally, folders = run_engine(project, home, kinds, enough, seed=seed)
    left = end_left_processes(mark)
    wait_until(lambda: not find_processes(mark))  # detached hooks end by themselves
    gc.collect()
    wait_until(lambda: measure(mark, folders) == before)
    tally.wrong += complaints.texts
    return Report(tally=tally, before=before, after=measure(mark, folders), left=left)


def run_engine(
    project: Path, home: Path, kinds: tuple[Kind, ...], enough: Enough, *, seed: int
) -> tuple[Tally, tuple[Path, ...]]:
    """Put an engine under load and close it; returns also the folders in which no file is to stay."""
    with Engine.open(project, home=home, trust="all") as engine:
        Load(engine, kinds, Enough(fires=_WARM_UP_FIRES), seed=seed + 1).run()
        private = tuple(folder for folder, _ in engine._parts.exchange._folders.values())
        tally = Load(engine, kinds, enough, seed=seed).run()
    hooks = home / "hooks"
    return tally, (*private, hooks / "tmp", hooks / "detached", hooks / "outbox" / "locks")


class Complaints(logging.Handler):
    """What asyncio complains about, such as tasks that nobody waited for."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"asyncio: {record.getMessage()}")


if __name__ == "__main__":
    sys.exit(main())
