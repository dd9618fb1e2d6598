"""Hosts: real processes that embed the engine, and may be stopped in any way."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from support import Bench

_WITHIN_S = 30

# What every host has at hand.
_BEGINNING = """
import asyncio, atexit, os, signal, sys, threading, time
from pathlib import Path
from hookline import AfterTurn, BeforeToolCall, Engine, Event, Session, SessionEnd, SessionStart, Tool, UserInterrupt

PROJECT, HOME = Path(sys.argv[1]), Path(sys.argv[2])

def open_engine(**options):
    return Engine.open(PROJECT, home=HOME, **{"trust": "all", **options})

def turn(number=1, **options):
    return Event(AfterTurn(turn=number), **{"cwd": str(PROJECT), "session_id": "s1", **options})

def tool(**options):
    call = Tool(name="bash", kind="shell", args={"command": "ls"})
    return Event(BeforeToolCall(tool=call), **{"cwd": str(PROJECT), "session_id": "s1", **options})

def say(*words):
    print(*words, flush=True)

def describe(runs):
    return " ".join(f"{run.hook.id}={run.status}" for run in runs)
"""


class Host:
    """A host under way."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._said = b""

    @property
    def pid(self) -> int:
        return self.process.pid

    def read(self, word: str) -> str:
        """The rest of the next line that begins with a word."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + _WITHIN_S
        while True:
            line, newline, rest = self._said.partition(b"\n")
            if newline:
                self._said = rest
                if line.split(b" ")[0].decode() == word:
                    return line.decode().partition(" ")[2]
                continue
            readable, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.process.stdout.fileno(), 65536) if readable else b""
            assert data, f"the host never said {word!r}; it said {self._said!r}"
            self._said += data

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        self.wait()

    def wait(self) -> int:
        """Wait for the end; returns how it ended."""
        return self.process.wait(_WITHIN_S)

    def end(self) -> tuple[int, str, str]:
        """Wait for the end; returns how it ended, what it said last, and its complaints."""
        stdout, stderr = self.process.communicate(timeout=_WITHIN_S)
        return self.process.returncode, (self._said + stdout).decode(), stderr.decode()


@contextmanager
def start_host(
    bench: Bench,
    program: str,
    *,
    env: Mapping[str, str] | None = None,
    prefix: Callable[..., Sequence[str]] = lambda *argv: argv,
    options: Sequence[str] = (),
    **popen: Any,
) -> Iterator[Host]:
    """A host that runs a program after the common beginning; it does not outlive the block."""
    text = _BEGINNING + textwrap.dedent(program)
    with subprocess.Popen(
        prefix(sys.executable, *options, "-c", text, str(bench.project), str(bench.home)),
        env={**os.environ, **(env or {})},
        cwd=bench.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **popen,
    ) as process:
        try:
            yield Host(process)
        finally:
            if process.poll() is None:
                process.kill()


def run_host(bench: Bench, program: str, **options: Any) -> tuple[str, str]:
    """Run a host to its good end; returns what it said and its complaints."""
    with start_host(bench, program, **options) as host:
        status, said, complaints = host.end()
    assert status == 0, complaints
    return said, complaints
