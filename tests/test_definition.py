"""The digest of a hook's definition: the same on every machine, another one for every change that counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hookline.definition import Definition, UnreadableDefinitionError
from hookline.hook import ArgumentMatch, CommandAction, Execution, Hook, Match, ScriptAction, ShellAction, Source
from hookline.problem import Place


def make_hook(folder: Path, **fields: Any) -> Hook:
    place = Place(path=folder / "hooks.yaml", line=3, column=5)
    source = fields.pop("source", Source(layer="user", dialect="native", place=place))
    return Hook(**{"id": "a", "event": "after_turn", "action": ShellAction(text="x"), "source": source, **fields})


def digest(hook: Hook) -> str:
    return Definition(hook).digest()


def make_script(folder: Path, text: str = "true\n", name: str = "h.sh") -> Hook:
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / "scripts" / name).write_text(text)
    return make_hook(folder, action=ScriptAction(path=folder / "scripts" / name))


def test_the_place_of_the_file_and_the_layer_do_not_count(tmp_path: Path):
    here = make_hook(tmp_path / "here")
    place = Place(path=tmp_path / "there" / "other.yaml", line=9, column=1)
    there = make_hook(tmp_path, source=Source(layer="project", dialect="native", place=place))
    assert digest(here) == digest(there)


def test_a_description_does_not_count(tmp_path: Path):
    assert digest(make_hook(tmp_path)) == digest(make_hook(tmp_path, description="what it does"))


@pytest.mark.parametrize(
    "change",
    [
        {"id": "b"},
        {"event": "before_turn"},
        {"action": ShellAction(text="y")},
        {"action": CommandAction(argv=("x",))},
        {"action": ShellAction(text="x", env={"A": "b"})},
        {"action": ShellAction(text="x", cwd="/")},
        {"match": Match(profile="p")},
        {"match": Match(args={"path": ArgumentMatch(equals="x")})},
        {"execution": Execution(timeout_s=1.0)},
        {"execution": Execution(queue="audit")},
    ],
    ids=str,
)
def test_whatever_else_is_changed_counts(tmp_path: Path, change: dict[str, Any]):
    hook = make_hook(tmp_path)
    assert digest(hook) != digest(replace(hook, **change))


def test_a_script_counts_by_its_bytes_and_its_way_from_the_file(tmp_path: Path):
    here, there = make_script(tmp_path / "here"), make_script(tmp_path / "there")
    assert digest(here) == digest(there)
    assert digest(here) != digest(make_script(tmp_path / "there", "false\n"))
    assert digest(here) != digest(make_script(tmp_path / "there", name="g.sh"))


def test_a_script_is_read_each_time(tmp_path: Path):
    definition = Definition(make_script(tmp_path))
    before = definition.digest()
    (tmp_path / "scripts" / "h.sh").write_text("false\n")
    assert definition.digest() != before


def test_a_script_elsewhere_counts_by_its_whole_path(tmp_path: Path):
    script = make_script(tmp_path / "scripts-only").action
    assert digest(make_hook(tmp_path / "a" / "x", action=script)) == digest(make_hook(tmp_path / "b", action=script))


def test_a_script_that_cannot_be_read_is_said_to_be(tmp_path: Path):
    hook = make_hook(tmp_path, action=ScriptAction(path=tmp_path / "none.sh"))
    with pytest.raises(UnreadableDefinitionError, match=r"none\.sh cannot be read: No such file"):
        digest(hook)


def test_text_that_is_no_whole_character_has_a_digest(tmp_path: Path):
    assert len(digest(make_hook(tmp_path, action=ShellAction(text="\ud800")))) == 64
