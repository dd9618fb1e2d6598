"""The example of hook objects, run as a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "hook_objects.py"


def test_the_objects_of_the_example_have_their_say_in_a_turn(tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    env = {**os.environ, "HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, EXAMPLE], cwd=project, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "prompt: push with [key]",
        "result: push without --force",
        "result: ran git push",
    ]
    (turn,) = (project / "turns.jsonl").read_text().splitlines()
    assert (json.loads(turn)["session_id"], json.loads(turn)["data"]["success"]) == ("s1", True)
