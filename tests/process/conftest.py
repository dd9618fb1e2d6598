"""What the tests of processes share: commands that need only what matters, and children that do not outlive them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.process.child import TOKEN_VARIABLE, Child, Command
from hookline.process.ending import kill_child


class Commands:
    """Builds commands that run in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, *argv: str, env: Mapping[str, str] | None = None, **options: Any) -> Command:
        own = {"PATH": os.environ["PATH"], TOKEN_VARIABLE: uuid.uuid4().hex}
        defaults = {"cwd": str(self._folder), "timeout_s": 30.0, "kill_grace_s": 5.0}
        return Command(argv=argv, env=own if env is None else {**own, **env}, **{**defaults, **options})

    def sh(self, text: str, **options: Any) -> Command:
        return self("/bin/sh", "-c", text, **options)


@pytest.fixture
def command(tmp_path: Path) -> Commands:
    return Commands(tmp_path)


@pytest.fixture
def adopted() -> Iterator[list[Child]]:
    """The children that were handed over; those that nobody ended are killed after the test."""
    children: list[Child] = []
    yield children
    for child in children:
        if child.exit_fd is not None:
            kill_child(child)
