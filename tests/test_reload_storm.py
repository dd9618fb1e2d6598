"""A short storm of edits; `python -m soak.reload` runs a longer one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_storm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "soak.reload", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_a_storm_of_edits_ends_with_what_is_on_the_disk():
    """Faults W12 and W13 of the folder contract: in a storm nothing is half loaded, and the newest content wins."""
    done = run_storm("--edits", "100", "--within", "5")  # the machine that runs tests may be busy
    assert done.stdout.splitlines()[-1].startswith("the storm is over"), done.stdout + done.stderr
    assert done.returncode == 0
