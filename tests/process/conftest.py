"""What the tests of processes share: commands in a folder of their own, and children that do not outlive a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import Commands
from hookline.process.child import Child
from hookline.process.ending import kill_child


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
