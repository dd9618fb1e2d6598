"""
Recorded behaviour of the reference implementation of Chrys hooks, judged on the installed command.

`tests/vectors/chrys.jsonl` holds the recordings and `run_vectors.py` beside it judges them; both are kept as they
were recorded.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

VECTORS = Path(__file__).parents[1] / "vectors"
TIME_LIMIT_S = 600


def list_ids() -> list[str]:
    lines = (VECTORS / "chrys.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["id"] for line in lines]


@pytest.mark.timeout(TIME_LIMIT_S)
def test_the_command_behaves_as_recorded():
    runner = [sys.executable, str(VECTORS / "run_vectors.py"), "--cmd", f"{sys.executable} -m hookline", "--jobs", "2"]
    done = subprocess.run(runner, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == [f"{len(list_ids())} passed, 0 failed"], done.stdout + done.stderr


def test_the_recordings_are_all_there():
    ids = list_ids()
    assert len(set(ids)) == len(ids) == 171
