"""What every test may use: builders that need only what matters."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import Bench


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A project and a home to put hooks in, and engines over them that are closed in the end."""
    for name in [name for name in os.environ if name.startswith("HOOKLINE")]:
        monkeypatch.delenv(name)
    bench = Bench(tmp_path)
    yield bench
    bench.close()


@pytest.fixture
def log_lines() -> Iterator[list[str]]:
    """What Hookline logs from here on, warnings and worse."""
    lines: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("hookline")
    logger.addHandler(handler)
    yield lines
    logger.removeHandler(handler)
