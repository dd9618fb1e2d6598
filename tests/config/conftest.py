"""A user whose home lies beside the project, so that all dialects' files can be laid out."""

from __future__ import annotations

import pytest

from support import Bench


@pytest.fixture
def user_bench(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench whose root is the user's home folder; the user's chrys files are below it."""
    monkeypatch.setenv("HOME", str(bench.root))
    return bench
