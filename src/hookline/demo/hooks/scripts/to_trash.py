"""Turns `rm FILE...` into a move to the trash folder. Reads the payload from stdin, writes the reply file."""

import json
import os
import sys

payload = json.load(sys.stdin)
files = payload["tool"]["args"]["command"].removeprefix("rm").strip()
reply = {"action": "modify", "args_override": {"command": f"mkdir -p .trash && mv {files} .trash/"}}
with open(os.environ["HOOKLINE_HOOK_RESULT"], "w", encoding="utf-8") as file:
    json.dump(reply, file)
