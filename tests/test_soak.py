"""The soak: a short one leaves nothing behind, and what would be left is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
MEBIBYTE = 1024 * 1024


def run_soak(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "soak", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )


@pytest.mark.timeout(180)
def test_a_short_soak_leaves_nothing_behind():
    done = run_soak("--fires", "200")
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1].startswith("nothing leaked"), done.stdout
    assert done.returncode == 0


@pytest.mark.timeout(180)
def test_a_soak_may_end_by_the_clock():
    done = run_soak("--seconds", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    fires = int(done.stdout.removeprefix("fires").split(",")[0])
    assert 0 < fires < 20_000


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the report of a soak from what it found to be more than at the start."""
    monkeypatch.syspath_prepend(str(ROOT))
    from soak.figures import Holdings  # noqa: PLC0415 - stands beside the package, not on the path of tests
    from soak.load import Tally  # noqa: PLC0415
    from soak.report import Report  # noqa: PLC0415

    def make(memory: int = 100, wrong: list[str] | None = None, tasks_left: int = 0, **more: int) -> list[str]:
        nothing = {"processes": 0, "descriptors": 6, "threads": 1, "files": 0}
        found = {name: count + more.get(name, 0) for name, count in nothing.items()}
        tally = Tally(
            fires=1,
            seconds=1.0,
            memory={0.25: 100 * MEBIBYTE, 0.5: 100 * MEBIBYTE, 0.75: 100 * MEBIBYTE, 1.0: memory * MEBIBYTE},
            wrong=wrong or [],
            tasks_left=tasks_left,
        )
        made = Report(tally=tally, before=Holdings(**nothing), after=Holdings(**found), left=0)
        assert str(made)
        return list(made.find_faults())

    return make


def test_a_soak_that_left_nothing_has_no_fault(report: Any):
    assert report() == []


@pytest.mark.parametrize("name", ["processes", "descriptors", "threads", "files"])
def test_a_soak_that_left_something_says_what(report: Any, name: str):
    assert report(**{name: 2}) == [f"2 {name} more than at the start"]


def test_a_soak_whose_memory_grows_says_by_how_much(report: Any):
    assert report(memory=120) == []
    assert report(memory=121) == ["memory grew by 21% after the first quarter; the most is 20%"]


def test_a_soak_that_left_tasks_or_decided_wrongly_says_so(report: Any):
    assert report(tasks_left=1) == ["1 tasks were left on the loops of the callers"]
    assert report(wrong=["deaf: allow, not block"]) == ["deaf: allow, not block"]
