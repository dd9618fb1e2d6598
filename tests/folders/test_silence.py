"""When hook folders keep silent."""

from __future__ import annotations

import pytest

from hookline.folders.silence import find_kill_switch, find_recursion, find_silence


@pytest.mark.parametrize("value", ["1", "true"])
def test_the_kill_switch_silences_all_hook_folders(value: str):
    """Case 39 and fact 55 of the folder contract."""
    reason = find_kill_switch({"VIX_DISABLE_HOOKS": value})
    assert reason == f"hook folders are switched off by VIX_DISABLE_HOOKS={value}"


@pytest.mark.parametrize("environment", [{}, *({"VIX_DISABLE_HOOKS": value} for value in ("", "0", "false", "TRUE"))])
def test_nothing_else_is_the_kill_switch(environment: dict[str, str]):
    """Fact 55 of the folder contract."""
    assert find_kill_switch(environment) is None


def test_a_thread_that_a_hook_started_fires_nothing():
    """Case 39 and fact 51 of the folder contract."""
    assert "origin 'vix'" in (find_recursion("vix") or "")
    assert find_recursion("user") is None
    assert find_recursion("") is None


def test_either_reason_is_enough():
    assert find_silence({}, "user") is None
    assert find_silence({"VIX_DISABLE_HOOKS": "1"}, "user")
    assert find_silence({}, "vix")
