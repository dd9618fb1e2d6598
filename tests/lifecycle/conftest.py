"""What the tests of the lifecycle share: both faces, and an engine that keeps a diary."""

from __future__ import annotations

import pytest

from faces import FACES, Diary, Face


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    """A host with an event loop, and one without."""
    found: Face = request.param
    return found


@pytest.fixture
def diary() -> Diary:
    return Diary()
