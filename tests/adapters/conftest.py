"""What the tests of adapters share."""

from __future__ import annotations

import pytest

from faces import Diary


@pytest.fixture
def diary() -> Diary:
    return Diary()
