"""Lints the edited file with ruff and tells the model what it finds; without ruff the file is only compiled."""

import json
import os
import shutil
import subprocess
import sys

path = json.load(sys.stdin)["tool"]["args"]["path"]
if ruff := shutil.which("ruff"):
    command, name = [ruff, "check", "--quiet", "--output-format=concise", path], "ruff"
else:
    command, name = [sys.executable, "-m", "py_compile", path], "py_compile (ruff is not installed)"
done = subprocess.run(command, capture_output=True, text=True, check=False)
findings = (done.stdout + done.stderr).strip() or "nothing to complain about"
with open(os.environ["HOOKLINE_HOOK_RESULT"], "w", encoding="utf-8") as file:
    json.dump({"extra_context": f"{name} says: {findings}"}, file)
