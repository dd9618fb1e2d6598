"""One round of each kind that `python -m soak.fleet` runs by the hundred: the parts of a fleet die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parent.parent
_KINDS = ["forwarder", "worker", "server", "network", "forwarders", "duplicates"]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """What a run of all kinds tells, on a server of its own."""
    if not os.environ.get("HOOKLINE_TEST_POSTGRES"):
        pytest.skip("set HOOKLINE_TEST_POSTGRES as for the other tests of a fleet; its value does not matter here")
    command = [sys.executable, "-m", "soak.fleet", "--rounds", "1", "--stopped", "1", "--json"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if "there is no PostgreSQL here" in done.stderr:
        pytest.skip("install PostgreSQL's own programs, such as Debian's package postgresql")
    assert done.stderr == ""
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == bool(report["violations"])
    return report


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", _KINDS)
def test_every_job_is_done_once_and_no_file_is_lost(report: dict[str, Any], kind: str) -> None:
    (figures,) = [figures for figures in report["kinds"] if figures["kind"] == kind]
    assert [text for text in report["violations"] if text.startswith(kind)] == []
    assert 0 < figures["jobs"] == figures["done"] == figures["effects"]
