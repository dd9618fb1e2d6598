"""A hooks folder to put hook folders in."""

from __future__ import annotations

from pathlib import Path

import pytest

from hook_folders import HooksDir


@pytest.fixture
def hooks(tmp_path: Path) -> HooksDir:
    path = tmp_path / "hooks"
    path.mkdir()
    return HooksDir(path)
