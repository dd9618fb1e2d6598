"""JSON to data, with the place of everything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.config.json_text import parse_json
from hookline.config.text import UnreadableTextError
from hookline.document import Document
from hookline.problem import Problem
from properties import steady
from runaway import at_most_cpu

PATH = Path("hooks.json")


def parse(text: str) -> Document:
    return parse_json(text, PATH)


def refuse(text: str) -> Problem:
    with pytest.raises(UnreadableTextError) as caught:
        parse(text)
    return caught.value.problem


def place(problem: Problem) -> tuple[int, int]:
    return problem.place.line, problem.place.column


def find_position(text: str, index: int) -> tuple[int, int]:
    """Line and column of an index, counted character by character."""
    line = column = 1
    for letter in text[:index]:
        line, column = (line + 1, 1) if letter == "\n" else (line, column + 1)
    return line, column


class Writer:
    """Writes JSON in small pieces with odd spaces between them and notes where each key and value starts."""

    def __init__(self, spaces: list[str]) -> None:
        self.text = ""
        self.keys: dict[tuple[Any, ...], int] = {}
        self.values: dict[tuple[Any, ...], int] = {}
        self._spaces = spaces or [""]
        self._turn = 0

    def write(self, value: Any, trail: tuple[Any, ...] = ()) -> None:
        self.space()
        self.values[trail] = len(self.text)
        if isinstance(value, dict):
            self.put("{")
            for number, (key, item) in enumerate(value.items()):
                self.put("," if number else "")
                self.keys[*trail, key] = len(self.text)
                self.put(json.dumps(key))
                self.put(":")
                self.write(item, (*trail, key))
            self.put("}")
        elif isinstance(value, list):
            self.put("[")
            for index, item in enumerate(value):
                self.put("," if index else "")
                self.write(item, (*trail, index))
            self.put("]")
        else:
            self.put(json.dumps(value, ensure_ascii=False))

    def put(self, text: str) -> None:
        self.text += text
        self.space()

    def space(self) -> None:
        self.text += self._spaces[self._turn % len(self._spaces)]
        self._turn += 1


spaces = st.lists(st.sampled_from(["", "", " ", "\n", "\r\n", "\t", "\r", "  \n "]))
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


@steady
@given(values, spaces)
def test_the_data_are_those_of_json(value: Any, between: list[str]):
    writer = Writer(between)
    writer.write(value)
    assert repr(parse(writer.text).data) == repr(json.loads(writer.text))


@steady
@given(values, spaces)
def test_the_place_of_everything_is_where_it_stands(value: Any, between: list[str]):
    writer = Writer(between)
    writer.write(value)
    document = parse(writer.text)
    for trail, index in writer.values.items():
        at = document.place(*trail)
        assert (at.line, at.column) == (find_position(writer.text, index) if trail else (1, 1))
    for trail, index in writer.keys.items():
        at = document.place(*trail, at_key=True)
        assert (at.line, at.column) == find_position(writer.text, index)


@pytest.mark.parametrize("text", ["", " \n\t\r\n"])
def test_an_empty_text_is_no_data(text: str):
    assert parse(text).data is None


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ('{"a": 1,}', (1, 9)),
        ('{"a": 1, // why\n "b": 2}', (1, 10)),
        ("{'a': 1}", (1, 2)),
        ('{"a" 1}', (1, 6)),
        ("[1, 2", (1, 6)),
        ('{"é": tru}', (1, 7)),
        ("[1]\n[2]", (2, 1)),
        ('{\n"a": "x\ny"}', (2, 8)),
        ('["\\x"]', (1, 3)),
        ("[01]", (1, 3)),
    ],
)
def test_a_text_that_is_no_json_is_refused_at_its_fault(text: str, position: tuple[int, int]):
    problem = refuse(text)
    assert (problem.code, problem.severity) == ("json-syntax", "error")
    assert place(problem) == position


def test_the_cure_names_the_usual_faults():
    assert refuse("[1,]").cure == "JSON has no comments and no trailing commas; hooks.yaml allows both"


def test_a_number_longer_than_python_reads_is_refused():
    problem = refuse(f'{{"a": {"1" * 5000}}}')
    assert problem.code == "json-syntax"
    assert "4300 digits" in problem.message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_is_not_finite_is_a_defect(number: str):
    [defect] = parse(f'{{"a": [0, {number}]}}').defects
    assert (defect.code, defect.path, defect.position) == ("not-finite", ("a", 1), (1, 11))
    assert defect.message == f"{number} is not a finite number"


def test_a_key_that_stands_twice_is_a_defect_with_both_places():
    document = parse('{"b": {\n  "a": 1,\n  "a": 2}}')
    [defect] = document.defects
    assert (defect.code, defect.path, defect.position) == ("duplicate-key", ("b", "a"), (3, 3))
    assert defect.message == "the key 'a' stands twice; the first is at line 2, column 3"


def test_a_key_that_stands_three_times_points_to_the_first_each_time():
    messages = [defect.message for defect in parse('{"a":1,"a":2,"a":3}').defects]
    assert messages == ["the key 'a' stands twice; the first is at line 1, column 2"] * 2


def test_a_key_written_with_an_escape_is_the_same_key():
    assert [defect.code for defect in parse('{"a": 1, "\\u0061": 2}').defects] == ["duplicate-key"]


def test_half_a_character_is_a_defect():
    (defect,) = parse('["\\ud800"]').defects
    assert (defect.code, defect.path, defect.position) == ("bad-scalar", (0,), (1, 2))


def test_nesting_as_deep_as_a_hooks_file_could_need_is_read():
    assert parse("[" * 50 + "]" * 50).defects == ()


@pytest.mark.parametrize("depth", [300, 500, 900, 990, 5000, 100_000])
def test_deeper_nesting_is_read_or_refused_but_never_fails(depth: int):
    text = "[" * depth + "]" * depth
    try:
        parse(text)
    except UnreadableTextError as error:
        assert error.problem.code == "json-syntax"


def test_a_large_file_takes_seconds_not_minutes():
    with at_most_cpu(15):
        parse("[" + '{"id": "a", "event": "after_turn"},\n' * 50_000 + "{}]")
