"""A few of the rounds that `python -m soak.kill` runs by the hundreds: kill -9 at random moments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parent.parent
_ROUNDS = 5


def run_rounds(kind: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "soak.kill", "--kind", kind, "--rounds", str(_ROUNDS), "--json"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == bool(report["violations"])
    return report


@pytest.mark.parametrize("kind", ["put", "run", "finish", "recovery", "supervisor", "engines"])
def test_every_job_that_was_promised_is_run_and_none_twice_at_once(kind: str) -> None:
    """B65, B66, cases 8 and 9: after the recovery every job is done or given up, and every file is whole."""
    report = run_rounds(kind)
    (figures,) = report["kinds"]
    assert report["violations"] == []
    assert figures["rounds"] == _ROUNDS
    assert 0 < figures["promised"] <= figures["done"] + figures["given_up"]
