"""A native file that is written reads back as what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.config.text import parse_yaml
from hookline.conversion.base import Conversion, Converted, Ids, Loss
from hookline.conversion.layout import write_file
from hookline.problem import Place

PLACE = Place(path=Path("/there/hook.json"), line=3, column=1)
TEXTS = [
    "yes",
    "1e3",
    "0x10",
    "~",
    "null",
    "a: b",
    "# no",
    "- x",
    "'",
    '"',
    " lead",
    "trail ",
    "",
    "--id=x",
    "--",
    "@x",
]
LINES = [
    "a\nb",
    "a\n",
    "a\n\n",
    "a\n\nb\n",
    " a\nb",
    "a\tb\nc",
    "\ta\nb",
    "a\r\nb",
    "a \n b\n",
    "\n",
    "\na",
    "a\n ",
    "a\n\t",
]
ODD = ["\x00", "\x85", "\u2028", "\ufeff", "\x7f", "é\n漢", "\U0001f600", "\ue000", "a\\n", "\x1b[2K"]


def read_back(conversion: Conversion) -> object:
    return parse_yaml(write_file(conversion), Path("hooks.yaml")).data


def write_texts(*texts: str) -> Conversion:
    entry = Converted(data={"id": "x", "run": {"args": list(texts), "cwd": texts[0]}}, place=PLACE)
    return Conversion(source="there", entries=(entry,))


@pytest.mark.parametrize("text", [*TEXTS, *LINES, *ODD])
def test_a_text_reads_back_as_it_was(text: str):
    assert read_back(write_texts(text)) == {
        "version": 1,
        "hooks": [{"id": "x", "run": {"args": [text], "cwd": text}}],
    }


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_text_reads_back_as_it_was(texts: list[str]):
    found = read_back(write_texts(*texts))
    assert found == {"version": 1, "hooks": [{"id": "x", "run": {"args": texts, "cwd": texts[0]}}]}


def test_texts_of_many_lines_are_written_line_by_line():
    assert "        - |-\n          if true; then\n            false\n          fi\n" in write_file(
        write_texts("if true; then\n  false\nfi")
    )


def test_a_name_or_a_loss_cannot_get_out_of_its_comment():
    place = Place(path=Path("/a\nhooks: [evil]"), line=1, column=1)
    loss = Loss(hook_id="x\nversion: 2", place=place, message="a\rsettings: {}\u2028b: c")
    entry = Converted(data={"id": "x"}, place=place, losses=(loss,))
    conversion = Conversion(source="s\nq: 1", entries=(entry,), left_out=(loss,), remarks=("r\nq: 1",))
    assert read_back(conversion) == {"version": 1, "hooks": [{"id": "x"}]}


def test_no_hooks_are_an_empty_list():
    assert read_back(Conversion(source="there")) == {"version": 1, "hooks": []}


def test_ids_are_unique_and_can_be_shown():
    ids = Ids()
    assert [ids.take("a"), ids.take("a"), ids.take("a", "bash"), ids.take("\n"), ids.take("x" * 600)] == [
        "a",
        "a-2",
        "a.bash",
        "_",
        "x" * 500,
    ]
