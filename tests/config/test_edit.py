"""Switching a hook on or off in its file, with everything else of the file kept to the byte."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from hookline.config.edit import EditError, set_enabled
from hookline.config.file import load_file, parse_document
from hookline.config.locate import HookFile
from hookline.config.text import decode_text
from hookline.dialects.base import Dialect
from hookline.dialects.chrys import CHRYS
from hookline.dialects.native import NATIVE
from hookline.hook import Hook
from properties import steady

BOM = b"\xef\xbb\xbf"
RUN = "run: {type: shell, shell: x}"


def switch(
    path: Path, text: str | bytes, index: int = 0, *, is_enabled: bool = False, dialect: Dialect = NATIVE
) -> str:
    """Write a file, switch an entry, and return the text it has then."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    set_enabled(path, dialect, index, is_enabled=is_enabled)
    return path.read_bytes().decode()


def refuse(path: Path, text: str, index: int = 0, *, is_enabled: bool = False) -> str:
    """Why an entry cannot be switched in its file, which is left as it is."""
    path.write_bytes(text.encode())
    with pytest.raises(EditError) as caught:
        set_enabled(path, NATIVE, index, is_enabled=is_enabled)
    assert path.read_bytes() == text.encode()
    assert list(path.parent.iterdir()) == [path]
    return str(caught.value)


def read_data(path: Path, dialect: Dialect = NATIVE) -> Any:
    return parse_document(decode_text(path.read_bytes(), path), path, dialect).data


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hooks.yaml"


@pytest.fixture
def json_path(tmp_path: Path) -> Path:
    return tmp_path / "hooks.json"


# Where the flag stands already


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("enabled: true", "enabled: false"),
        ("enabled:   true  ", "enabled:   false  "),
        ("enabled: True", "enabled: false"),
        ("enabled: TRUE", "enabled: false"),
        ("enabled: true # as Anna asked", "enabled: false # as Anna asked"),
        ("enabled: true\t# tab", "enabled: false\t# tab"),
        ("enabled:\n      true", "enabled:\n      false"),
        ("enabled: # why\n      true", "enabled: # why\n      false"),
        ('"enabled": true', '"enabled": false'),
        ("? enabled\n    : true", "? enabled\n    : false"),
    ],
)
def test_a_flag_that_is_there_is_rewritten_in_place(path: Path, before: str, after: str):
    text = f"hooks:\n  - id: a\n    event: after_turn\n    {before}\n    {RUN}\n"
    assert switch(path, text) == text.replace(before, after)


@pytest.mark.parametrize(("before", "after"), [("yes", "false"), ("on", "false"), ("True", "false")])
def test_a_flag_in_a_word_of_old_yaml_is_rewritten_where_it_is_one(path: Path, before: str, after: str):
    text = f"hooks:\n  - {{id: a, event: after_turn, enabled: {before}, {RUN}}}\n"
    assert switch(path, text, dialect=CHRYS) == text.replace(f"enabled: {before}", f"enabled: {after}")


def test_a_flag_is_switched_on_the_same_way(path: Path):
    text = f"hooks:\n  - id: a\n    event: after_turn\n    {RUN}\n    enabled: false # for now\n"
    assert switch(path, text, is_enabled=True) == text.replace("false", "true")


def test_a_flag_at_the_very_end_of_a_file_is_rewritten(path: Path):
    text = "hooks:\n  - id: a\n    enabled: true"
    assert switch(path, text) == "hooks:\n  - id: a\n    enabled: false"


@pytest.mark.parametrize("is_enabled", [True, False])
def test_a_flag_that_says_so_already_is_no_change(path: Path, is_enabled: bool):
    text = f"hooks:\n  - id: a\n    enabled: {str(is_enabled).lower()}\n"
    path.write_text(text)
    before = path.stat()
    assert not set_enabled(path, NATIVE, 0, is_enabled=is_enabled)
    assert os.path.samestat(path.stat(), before)


def test_a_hook_without_the_flag_is_on_already(path: Path):
    path.write_text("hooks:\n  - id: a\n")
    assert not set_enabled(path, NATIVE, 0, is_enabled=True)


def test_a_change_is_told(path: Path):
    path.write_text("hooks:\n  - id: a\n")
    assert set_enabled(path, NATIVE, 0, is_enabled=False)


# Where the flag has to be added


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- id: a\n  x: 1\n", "- enabled: false\n  id: a\n  x: 1\n"),
        ("-   id: a\n    x: 1\n", "-   enabled: false\n    id: a\n    x: 1\n"),
        ("-\n  id: a\n", "-\n  enabled: false\n  id: a\n"),
        ("- # mine\n  id: a\n", "- # mine\n  enabled: false\n  id: a\n"),
        ('- "id": a\n', '- enabled: false\n  "id": a\n'),
        ("- description: |\n    long\n    text\n  id: a\n", None),
        ("- &anchor\n  id: a\n", "- &anchor\n  enabled: false\n  id: a\n"),
        ("- !!map\n  id: a\n", "- !!map\n  enabled: false\n  id: a\n"),
    ],
)
def test_in_block_style_the_flag_gets_a_line_of_its_own(path: Path, before: str, after: str | None):
    after = after or before.replace("- ", "- enabled: false\n  ", 1)
    assert switch(path, f"hooks:\n{before}") == f"hooks:\n{after}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{id: a}", "{enabled: false, id: a}"),
        ("{ id: a, x: [1, {y: z}] }", "{ enabled: false, id: a, x: [1, {y: z}] }"),
        ("{\n    id: a, # mine\n  }", "{\n    enabled: false, id: a, # mine\n  }"),
        ('{"id": "a"}', '{enabled: false, "id": "a"}'),
        ("{id: 漢字 😀, x: ä}", "{enabled: false, id: 漢字 😀, x: ä}"),
    ],
)
def test_in_flow_style_the_flag_comes_first(path: Path, before: str, after: str):
    assert switch(path, f"hooks:\n  - {before}\n") == f"hooks:\n  - {after}\n"


def test_the_right_one_of_several_flow_entries_on_a_line_is_switched(path: Path):
    text = "hooks: [{id: 漢字}, {id: b}, {id: c}]\n"
    assert switch(path, text, 1) == "hooks: [{id: 漢字}, {enabled: false, id: b}, {id: c}]\n"


def test_the_right_one_of_several_block_entries_is_switched(path: Path):
    text = "hooks:\n- id: a\n- id: b\n- id: c\n"
    assert switch(path, text, 2) == "hooks:\n- id: a\n- id: b\n- enabled: false\n  id: c\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"hooks": [{"id": "a"}]}', '{"hooks": [{"enabled": false, "id": "a"}]}'),
        ('{"hooks":[{"id":"a"}]}\n', '{"hooks":[{"enabled": false, "id":"a"}]}\n'),
        (
            '{\n  "hooks": [\n    {\n      "id": "a"\n    }\n  ]\n}\n',
            '{\n  "hooks": [\n    {\n      "enabled": false, "id": "a"\n    }\n  ]\n}\n',
        ),
        ('{"hooks": [{"id": "a", "enabled" : true}]}', '{"hooks": [{"id": "a", "enabled" : false}]}'),
        ('{"hooks": [{"id": "\\u6f22 \\"}"}]}', '{"hooks": [{"enabled": false, "id": "\\u6f22 \\"}"}]}'),
    ],
)
def test_json_stays_json(json_path: Path, before: str, after: str):
    assert switch(json_path, before) == after
    assert json.loads(after)["hooks"][0]["enabled"] is False


# What is kept


def test_crlf_lines_stay_crlf_lines(path: Path):
    text = "hooks:\r\n- id: a\r\n  x: 1\r\n"
    assert switch(path, text) == "hooks:\r\n- enabled: false\r\n  id: a\r\n  x: 1\r\n"


def test_a_file_of_mixed_lines_is_switched(path: Path):
    text = "hooks:\n- id: a\r\n  x: 1\n"
    switch(path, text)
    assert read_data(path) == {"hooks": [{"id": "a", "x": 1, "enabled": False}]}


@pytest.mark.parametrize("name", ["hooks.yaml", "hooks.json"])
def test_a_byte_order_mark_is_kept(tmp_path: Path, name: str):
    after = switch(tmp_path / name, BOM + b'{"hooks": [{"id": "a", "enabled": true}]}')
    assert after.encode() == BOM + b'{"hooks": [{"id": "a", "enabled": false}]}'


def test_a_byte_order_mark_is_kept_when_the_flag_is_added_on_the_first_line(path: Path):
    assert switch(path, BOM + b"hooks: [{id: a}]\n").encode() == BOM + b"hooks: [{enabled: false, id: a}]\n"


def test_comments_blank_lines_and_odd_spaces_are_kept(path: Path):
    head = "# top\n\n---\nhooks:   # all of them\n\n  # the first\n"
    text = f"{head}  -   id:   a   # its id\n\n      # on its event\n      x: 1\n"
    after = switch(path, text)
    assert after.replace("enabled: false\n      ", "") == text


def test_a_file_without_a_last_line_end_gets_none(path: Path):
    assert switch(path, "hooks:\n- id: a") == "hooks:\n- enabled: false\n  id: a"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_the_mode_is_kept(path: Path, mode: int):
    path.write_text("hooks:\n- id: a\n")
    path.chmod(mode)
    set_enabled(path, NATIVE, 0, is_enabled=False)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_stays_a_link_and_what_it_leads_to_is_switched(tmp_path: Path, path: Path):
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "mine.yaml"
    target.write_text("hooks:\n- id: a\n")
    path.symlink_to("elsewhere/mine.yaml")
    set_enabled(path, NATIVE, 0, is_enabled=False)
    assert path.readlink() == Path("elsewhere/mine.yaml")
    assert target.read_text() == "hooks:\n- enabled: false\n  id: a\n"


def test_a_link_to_a_json_file_of_another_name_is_read_as_the_link_says(tmp_path: Path, json_path: Path):
    (tmp_path / "mine").write_text('{"hooks": [{"id": "a"}]}')
    json_path.symlink_to("mine")
    set_enabled(json_path, NATIVE, 0, is_enabled=False)
    assert json.loads(json_path.read_text()) == {"hooks": [{"enabled": False, "id": "a"}]}


def test_nothing_else_is_left_in_the_folder(path: Path):
    switch(path, "hooks:\n- id: a\n")
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_is_an_os_error_and_the_file_stays(path: Path, monkeypatch: pytest.MonkeyPatch):
    path.write_text("hooks:\n- id: a\n")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)  # nothing real fails at will here, least of all for root
    with pytest.raises(OSError, match="disk full"):
        set_enabled(path, NATIVE, 0, is_enabled=False)
    assert path.read_text() == "hooks:\n- id: a\n"
    assert list(path.parent.iterdir()) == [path]


# Anchors, aliases and merges


def test_an_anchor_that_nobody_uses_is_no_hindrance(path: Path):
    text = "hooks:\n- id: a\n  run: &r {type: shell, shell: x}\n"
    assert switch(path, text) == text.replace("- id", "- enabled: false\n  id")


def test_an_alias_inside_an_entry_is_no_hindrance(path: Path):
    text = "hooks:\n- id: a\n  run: &r {type: shell, shell: x}\n- id: b\n  run: *r\n"
    assert switch(path, text, 1) == text.replace("- id: b", "- enabled: false\n  id: b")


def test_a_merge_of_something_else_is_no_hindrance(path: Path):
    text = "base: &base {event: after_turn}\nhooks:\n- <<: *base\n  id: a\n"
    switch(path, text)
    assert read_data(path)["hooks"] == [{"event": "after_turn", "id": "a", "enabled": False}]
    assert read_data(path)["base"] == {"event": "after_turn"}


def test_an_entry_that_others_merge_is_refused(path: Path):
    why = refuse(path, "hooks:\n- &a\n  id: a\n  event: after_turn\n- <<: *a\n  id: b\n")
    assert f"{path}:2:3" in why
    assert "by hand" in why


def test_a_flag_that_others_merge_is_refused(path: Path):
    refuse(path, "hooks:\n- &a\n  id: a\n  enabled: true\n- <<: *a\n  id: b\n")


def test_a_flag_that_is_merged_from_elsewhere_is_refused(path: Path):
    refuse(path, "base: &base {enabled: true}\nhooks:\n- <<: *base\n  id: a\n")


def test_a_flag_that_is_an_alias_is_refused(path: Path):
    refuse(path, "on: &on true\nhooks:\n- id: a\n  enabled: *on\n")


def test_a_flag_that_has_an_anchor_of_its_own_and_is_used_elsewhere_is_refused(path: Path):
    refuse(path, "hooks:\n- id: a\n  enabled: &on true\n- id: b\n  enabled: *on\n")


def test_an_entry_that_is_an_alias_of_another_is_refused(path: Path):
    refuse(path, "hooks:\n- &a {id: a}\n- *a\n", 1)


@pytest.mark.parametrize("flag", ["!!bool true", '"true"', "'true'", "1", "|\n    true"])
def test_a_flag_that_is_written_oddly_is_changed_as_wanted_or_not_at_all(path: Path, flag: str):
    text = f"hooks:\n- id: a\n  enabled: {flag}\n"
    path.write_text(text)
    try:
        set_enabled(path, NATIVE, 0, is_enabled=False)
    except EditError:
        assert path.read_text() == text
    else:
        assert read_data(path) == {"hooks": [{"id": "a", "enabled": False}]}


# Files that are odd or broken


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\u0085", "\r"], ids=ascii)
@pytest.mark.parametrize(
    "text",
    [
        "# one%s# two\nhooks:\n- id: a\n",
        "hooks:\n- x: 'one%stwo'\n  id: a\n",
        "# one%shooks: [{id: a}]\n",
        "hooks:%s- id: a\n",
    ],
    ids=ascii,
)
def test_a_line_end_that_only_yaml_knows_is_counted_or_refused(path: Path, text: str, sign: str):
    path.write_bytes((text % sign).encode())
    data = read_data(path)
    try:
        set_enabled(path, NATIVE, 0, is_enabled=False)
    except EditError:
        assert path.read_bytes() == (text % sign).encode()
    else:
        data["hooks"][0]["enabled"] = False
        assert read_data(path) == data


def test_a_fault_in_another_entry_is_no_hindrance(path: Path):
    text = "hooks:\n- id: a\n- id: b\n  id: c\n"
    assert switch(path, text) == "hooks:\n- enabled: false\n  id: a\n- id: b\n  id: c\n"


@pytest.mark.parametrize("data", [b"hooks: [", b"\xff", b"hooks:\n\t- id: a\n"])
def test_a_file_that_cannot_be_read_is_refused(path: Path, data: bytes):
    path.write_bytes(data)
    with pytest.raises(EditError, match="cannot be read"):
        set_enabled(path, NATIVE, 0, is_enabled=False)
    assert path.read_bytes() == data


@pytest.mark.parametrize("text", ["hooks: []\n", "", "hooks:\n- a\n"])
def test_an_entry_that_is_gone_by_now_is_refused(path: Path, text: str):
    path.write_text(text)
    with pytest.raises(EditError):
        set_enabled(path, NATIVE, 0, is_enabled=False)
    assert path.read_text() == text


def test_a_file_that_is_gone_by_now_is_an_os_error(path: Path):
    with pytest.raises(FileNotFoundError):
        set_enabled(path, NATIVE, 0, is_enabled=False)


# Any file at all


class Sketch(Struct, frozen=True, kw_only=True):
    """A hooks file to be tried: its name and bytes, which entry to switch, and whether that one is on."""

    name: str
    data: bytes
    index: int
    is_enabled: bool


WORDS = st.text(st.sampled_from("ab ä漢😀:#'\"{}[],&*!|>%@`-?\\/<~"), min_size=1, max_size=8)
COMMENTS = st.sampled_from(["", "", " # note", "   # enabled: true", "  # {id: x}"])
BLANKS = st.sampled_from(["", "", "", "\n", "# - id: none\n", "\n\n  # enabled: false\n"])


def quote(text: str, style: str) -> str:
    if style == "single":
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text, ensure_ascii=False)


@st.composite
def make_pairs(draw: st.DrawFn, number: int) -> list[tuple[str, str]]:
    """The keys of an entry and their values as text, in any order."""
    style = draw(st.sampled_from(["single", "double"]))
    pairs = [
        ("id", quote(f"{number}{draw(WORDS)}", style)),
        ("event", draw(st.sampled_from(["after_turn", "before_tool_call"]))),
        ("run", "{" + f"type: shell, shell: {quote(draw(WORDS), style)}" + "}"),
    ]
    if draw(st.booleans()):
        pairs.append(("description", quote(draw(WORDS), style)))
    if draw(st.booleans()):
        pairs.append(("execution", "{mode: async}"))
    if draw(st.booleans()):
        pairs.append(("enabled", draw(st.sampled_from(["true", "false", "True", "FALSE"]))))
    return draw(st.permutations(pairs))


@st.composite
def make_yaml(draw: st.DrawFn, entries: list[list[tuple[str, str]]]) -> str:
    """A whole file in YAML; all its entries share an indentation, each has a style of its own."""
    head = draw(st.sampled_from(["", "# top\n", "---\n", "version: 1\n", "settings: {max_parallel_hooks: 2}\n\n"]))
    if draw(st.integers(0, 3)) == 0:
        flows = draw(st.sampled_from([", ", ",", ",\n  "])).join(map(make_flow, entries))
        return f"{head}hooks: [{flows}]{draw(COMMENTS)}\n"
    indent, gap = " " * draw(st.integers(0, 4)), " " * draw(st.integers(1, 3))
    text = f"{head}hooks:{draw(COMMENTS)}\n"
    for pairs in entries:
        text += draw(BLANKS)
        if draw(st.booleans()):
            text += f"{indent}-{gap}{make_flow(pairs)}{draw(COMMENTS)}\n"
            continue
        inner = f"{indent} {gap}"
        start = f"{indent}-{gap}" if draw(st.booleans()) else f"{indent}-{draw(COMMENTS)}\n{inner}"
        lines = [f"{key}:{draw(st.sampled_from([' ', '   ']))}{value}{draw(COMMENTS)}\n" for key, value in pairs]
        text += start + lines[0] + "".join(f"{draw(BLANKS)}{inner}{line}" for line in lines[1:])
    return text + draw(st.sampled_from(["", "version: 1\n" if "version" not in head else "", "# end"]))


def make_flow(pairs: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"


def make_json(entries: list[list[tuple[str, str]]], indent: int | None) -> str:
    document = parse_document(f"hooks: [{', '.join(map(make_flow, entries))}]", Path("x.yaml"), NATIVE)
    return json.dumps(document.data, indent=indent, ensure_ascii=False)


@st.composite
def make_sketch(draw: st.DrawFn) -> Sketch:
    entries = [draw(make_pairs(number)) for number in range(draw(st.integers(1, 4)))]
    index = draw(st.integers(0, len(entries) - 1))
    is_json = draw(st.integers(0, 3)) == 0
    text = make_json(entries, draw(st.sampled_from([None, 0, 2]))) if is_json else draw(make_yaml(entries))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return Sketch(
        name="hooks.json" if is_json else "hooks.yaml",
        data=draw(st.sampled_from([b"", b"", BOM])) + text.encode(),
        index=index,
        is_enabled=dict(entries[index]).get("enabled", "true").lower() == "true",
    )


def read_hooks(path: Path) -> list[Hook]:
    """The hooks of a file without their places, which an edit may move."""
    loaded = load_file(HookFile(layer="user", dialect=NATIVE, path=path))
    assert [problem for problem in loaded.reading.problems if problem.severity == "error"] == []
    return [_without_place(hook) for hook in loaded.reading.hooks]


def _without_place(hook: Hook) -> Hook:
    return replace(hook, source=replace(hook.source, place=replace(hook.source.place, line=0, column=0)))


@steady
@given(make_sketch())
def test_an_edit_changes_the_flag_and_nothing_else(sketch: Sketch):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / sketch.name
        path.write_bytes(sketch.data)
        wanted = read_data(path)
        assert set_enabled(path, NATIVE, sketch.index, is_enabled=not sketch.is_enabled)
        wanted["hooks"][sketch.index]["enabled"] = not sketch.is_enabled
        assert read_data(path) == wanted
        assert_one_edit(sketch.data, path.read_bytes())


def count_equal(first: bytes, second: bytes) -> int:
    """How many bytes are equal before the first that differs."""
    pairs = zip(first, second, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def assert_one_edit(before: bytes, after: bytes) -> None:
    """That the one differs from the other by one stretch of bytes, which holds at most the word of the flag."""
    start = count_equal(before, after)
    end = count_equal(before[start:][::-1], after[start:][::-1])
    removed, added = before[start : len(before) - end], after[start : len(after) - end]
    if removed:
        assert removed.strip().lower().decode().isalpha()
        assert len(removed) <= len("false")
        assert len(added) <= len("false")
    else:
        assert len(added.replace(b" ", b"")) <= len('"enabled":false,\r\n')


@steady
@given(make_sketch())
def test_an_edit_and_its_opposite_leave_the_same_hooks(sketch: Sketch):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / sketch.name
        path.write_bytes(sketch.data)
        before = read_hooks(path)
        set_enabled(path, NATIVE, sketch.index, is_enabled=not sketch.is_enabled)
        assert read_hooks(path) != before
        set_enabled(path, NATIVE, sketch.index, is_enabled=sketch.is_enabled)
        assert read_hooks(path) == before


@steady
@given(make_sketch())
def test_an_edit_to_what_is_so_already_writes_nothing(sketch: Sketch):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / sketch.name
        path.write_bytes(sketch.data)
        assert not set_enabled(path, NATIVE, sketch.index, is_enabled=sketch.is_enabled)
        assert path.read_bytes() == sketch.data
