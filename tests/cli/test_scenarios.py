"""The command line, as scenarios tell it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenario import Folder, ScenarioError, is_match, is_same, parse_scenario, run_scenario

SCENARIOS = sorted((Path(__file__).parents[1] / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_scenario(path: Path, tmp_path: Path):
    faults = list(run_scenario(parse_scenario(path.read_text(encoding="utf-8")), Folder(tmp_path)))
    assert not faults, "\n".join([f"{path.name}: {fault}" for fault in faults])


def test_every_scenario_types_something_and_says_what_it_shows():
    for path in SCENARIOS:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# "), path
        assert "\n$ " in text, path


def play(text: str, folder: Path) -> list[str]:
    return list(run_scenario(parse_scenario(text), Folder(folder)))


def test_a_scenario_finds_a_wrong_exit_status(tmp_path: Path):
    assert play("$ hookline --version\n> ...\n? 3\n", tmp_path) == ["line 1: exit status 0 instead of 3"]


def test_a_scenario_finds_a_line_that_is_not_told(tmp_path: Path):
    [fault] = play("$ hookline --version\n", tmp_path)
    assert fault.startswith("line 1: stdout is not as told:\nhookline, version")


def test_a_scenario_finds_a_line_that_is_missing(tmp_path: Path):
    [fault] = play("$ hookline --version\n> ...\n! a warning\n", tmp_path)
    assert fault == "line 1: stderr is empty"


def test_a_scenario_finds_a_wrong_value(tmp_path: Path):
    [fault] = play("$ hookline check --json\n= hooks 1\n= errors 0\n", tmp_path)
    assert fault == "line 1: hooks is 0 instead of 1"


@pytest.mark.parametrize("text", ["> stray\n", "$ ls\n", "$ hookline\n% x\n"])
def test_a_scenario_that_is_not_written_right_is_refused(text: str):
    with pytest.raises(ScenarioError, match="line"):
        parse_scenario(text)


@pytest.mark.parametrize(
    ("expected", "text", "holds"),
    [
        ([], "", True),
        ([], "a\n", False),
        (["a"], "a\n", True),
        (["a"], "a", False),
        (["a..."], "abc\n", True),
        (["a..."], "a\nb\n", False),
        (["a", "..."], "a\n", True),
        (["a", "...", "z"], "a\nb\nc\nz\n", True),
        (["...", "z"], "a\ny\n", False),
        (["a.c"], "abc\n", False),
        (["a"], "a  \n", True),
    ],
)
def test_lines_are_compared_with_wildcards(expected: list[str], text: str, holds: bool):
    assert is_match(expected, text) is holds


@pytest.mark.parametrize(
    ("expected", "found", "holds"),
    [
        ("a...", "abc", True),
        (1, True, False),
        (1, 1.0, False),
        ([1, "..."], [1, "x"], True),
        ([1], [1, 2], False),
        ({"a": None}, {"a": None}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
    ],
)
def test_values_are_compared_with_their_types(expected: object, found: object, holds: bool):
    assert is_same(expected, found) is holds
