"""
`python -m soak.edits PROJECT HOME SEED EDITS [KIND ...]`: change hook files at random, as people and tools do.

Prints when the last edit was made, on the clock that all processes of the machine share.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

NAMES = 50
_MODULES = 8
_LONGEST_PAUSE_S = 0.06

Edit = Callable[[random.Random, Path, str], None]
"""Changes something below a layer's folder of hooks; the text tells this edit from all others."""

_HOOKS_FILE = """\
version: 1
hooks:
  - id: left-{version}
    event: before_tool_call
    match: {{tool_name: pair}}
    run: {{type: command, argv: ["true"]}}
    execution: {{mode: blocking}}
{filling}
  - id: right-{version}
    event: before_tool_call
    match: {{tool_name: pair}}
    run: {{type: command, argv: ["true"]}}
    execution: {{mode: blocking}}
"""
_FILLING = """\
  - id: filling-{version}-{number}
    event: after_turn
    run: {{type: command, argv: ["true"]}}
"""
_MODULE = """\
def hook(api):
    api.on("before_tool_call", lambda event, context: None, id="left-{version}")
    api.on("before_tool_call", lambda event, context: None, id="right-{version}")
"""


def edit_hooks_file(chance: random.Random, hooks: Path, version: str) -> None:
    """Replace the hooks file as a whole, by a file or by a link to one, or take it away."""
    path = hooks / "hooks.yaml"
    if chance.random() < 0.15:
        path.unlink()
        return
    filling = "".join(_FILLING.format(version=version, number=number) for number in range(chance.randrange(20)))
    text = _HOOKS_FILE.format(version=version, filling=filling.rstrip("\n"))
    if chance.random() < 0.2:
        target = hooks.parent / f"target-{version}.yaml"
        target.write_text(text, encoding="utf-8")
        link = hooks / f"hooks-{version}.yaml.tmp"
        link.symlink_to(target)
        link.replace(path)
    else:
        _replace(path, version, text)


def edit_script(chance: random.Random, hooks: Path, version: str) -> None:
    """Write a script in place, rename one, change its mode, or take it away."""
    folder = hooks / chance.choice(("pre", "post"))
    folder.mkdir(parents=True, exist_ok=True)
    path, other = (folder / f"tool-{chance.randrange(NAMES)}.sh" for _ in range(2))
    match chance.choice(("write", "write", "rename", "chmod", "delete")):
        case "write":
            path.write_text(f"#!/bin/sh\n# {version}\n", encoding="utf-8")
        case "rename":
            path.replace(other)
        case "chmod":
            path.chmod(chance.choice((0o644, 0o755)))
        case _:
            path.unlink()


def edit_module(chance: random.Random, hooks: Path, version: str) -> None:
    """Replace a module as a whole, rename one, or take it away."""
    folder = hooks / "pre"
    folder.mkdir(parents=True, exist_ok=True)
    path, other = (folder / f"module-{chance.randrange(_MODULES)}.py" for _ in range(2))
    match chance.choice(("write", "write", "rename", "delete")):
        case "write":
            _replace(path, version, _MODULE.format(version=version))
        case "rename":
            path.replace(other)
        case _:
            path.unlink()


def edit_root(chance: random.Random, hooks: Path, version: str) -> None:
    """Delete a whole folder of hooks, or move it away and perhaps back."""
    away = hooks.parent.with_name(f"away-{version}")
    match chance.choice(("delete", "move", "move and return")):
        case "delete":
            shutil.rmtree(hooks)
        case "move":
            hooks.parent.rename(away)
        case _:
            hooks.parent.rename(away)
            time.sleep(chance.random() * _LONGEST_PAUSE_S)
            away.rename(hooks.parent)


# How often each is chosen follows from how often it stands here.
KINDS: dict[str, tuple[Edit, ...]] = {
    "native": (edit_hooks_file,) * 4,
    "scripts": (edit_script,) * 6,
    "modules": (edit_module,) * 4,
    "roots": (edit_root,),
}


def _replace(path: Path, version: str, text: str) -> None:
    """Write a file under a name of its own and rename it, so that no reader sees a half of it."""
    fresh = path.with_name(f"{path.name}-{version}.tmp")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def main() -> None:
    """Make the edits that the command line asks for."""
    project, home, seed, count = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    edits = [edit for kind in sys.argv[5:] or KINDS for edit in KINDS[kind]]
    chance = random.Random(seed)
    for number in range(count):
        hooks = chance.choice((project / ".hookline" / "hooks", project / ".hookline" / "hooks", home / "hooks"))
        with contextlib.suppress(OSError):  # the other process was quicker
            hooks.mkdir(parents=True, exist_ok=True)
            chance.choice(edits)(chance, hooks, f"{seed}-{number}")
        time.sleep(chance.random() * _LONGEST_PAUSE_S)
    sys.stdout.write(f"{time.monotonic()}\n")


if __name__ == "__main__":
    main()
