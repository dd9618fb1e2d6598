"""The command line as a person has it: the installed program, in a terminal or without one."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from support import Bench

_WITHIN_S = 30
_QUESTION = "[y/N]"


class Talk(Struct, frozen=True, kw_only=True):
    """What a terminal showed, and how the program in it ended."""

    shown: str
    status: int


def run_hookline(
    bench: Bench, *arguments: str, cwd: Path | None = None, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a verb in the project, with the bench's home as the user's, and without a terminal."""
    return subprocess.run(
        [find_hookline(), *arguments],
        cwd=cwd or bench.project,
        env=make_environment(bench, **environment),
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=_WITHIN_S,
        check=False,
    )


def talk_to_hookline(
    bench: Bench,
    *arguments: str,
    answer: str = "y",
    meanwhile: Callable[[], object] | None = None,
    **environment: str,
) -> Talk:
    """Run a verb in a terminal and answer its question; `meanwhile` is called while it waits for the answer."""
    controller, terminal = pty.openpty()
    try:
        process = subprocess.Popen(
            [find_hookline(), *arguments],
            cwd=bench.project,
            env=make_environment(bench, **environment),
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        shown = _read(controller, until=_QUESTION)
        if _QUESTION in shown:
            if meanwhile is not None:
                meanwhile()
            os.write(controller, f"{answer}\n".encode())
            shown += _read(controller, until=None)
        return Talk(shown=shown, status=process.wait(_WITHIN_S))
    finally:
        os.close(controller)


def find_hookline() -> str:
    """The installed program, which does not put the folder it runs in on its import path."""
    found = shutil.which("hookline", path=str(Path(sys.executable).parent))
    assert found is not None, "hookline is not installed beside this Python"
    return found


def make_environment(bench: Bench, **environment: str) -> dict[str, str]:
    """A person's environment: a folder of their own, no colours, and Hookline's home where the bench has it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKLINE")}
    own = {"HOME": str(bench.root), "HOOKLINE_HOME": str(bench.home), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    return {**kept, **own, **environment}


def _read(controller: int, *, until: str | None) -> str:
    """What is shown until a text comes, or to the end."""
    shown = b""
    deadline = time.monotonic() + _WITHIN_S
    with contextlib.suppress(OSError):  # the way a terminal says that the program is gone
        while until is None or until.encode() not in shown:
            readable, _, _ = select.select([controller], [], [], max(0, deadline - time.monotonic()))
            assert readable, f"no end within {_WITHIN_S} s; shown so far: {shown!r}"
            data = os.read(controller, 65536)
            if not data:
                break
            shown += data
    return shown.decode("utf-8", "replace").replace("\r\n", "\n")
