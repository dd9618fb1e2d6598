"""YAML to data, strictly, with the place of everything."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.config.text import MAX_FILE_SIZE, UnreadableTextError, decode_text, parse_yaml
from hookline.document import Document
from hookline.problem import Problem
from properties import steady
from runaway import at_most_cpu

PATH = Path("hooks.yaml")


def parse(text: str, version: str = "1.2") -> Document:
    return parse_yaml(text, PATH, version=version)


def refuse(text: str, version: str = "1.2") -> Problem:
    """The problem for which a text is not read at all."""
    with pytest.raises(UnreadableTextError) as caught:
        parse(text, version)
    return caught.value.problem


def refuse_bytes(data: bytes) -> Problem:
    with pytest.raises(UnreadableTextError) as caught:
        decode_text(data, PATH)
    return caught.value.problem


def place(problem: Problem) -> tuple[int, int]:
    return problem.place.line, problem.place.column


def find_defects(text: str, version: str = "1.2") -> list[tuple[str, tuple[Any, ...], tuple[int, int]]]:
    return [(defect.code, defect.path, defect.position) for defect in parse(text, version).defects]


# Data


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
def test_an_empty_text_is_no_data(text: str):
    assert parse(text).data is None


def test_mappings_and_lists_are_dicts_and_lists():
    assert parse("a:\n  - 1\n  - {b: c}\nd: [x, 'y']\n").data == {"a": [1, {"b": "c"}], "d": ["x", "y"]}


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "12:30", "0b1", "1_000", "2001-01-01"])
def test_words_that_only_old_yaml_takes_for_values_are_text(word: str):
    assert parse(f"a: {word}").data == {"a": word}


@pytest.mark.parametrize("word", ["'true'", '"true"', "! true", "!!str true", "|-\n  true", ">-\n  true"])
def test_a_quoted_or_tagged_word_is_text(word: str):
    assert parse(f"a: {word}").data == {"a": "true"}


@pytest.mark.parametrize("key", ["yes", "on", "n"])
def test_a_key_is_read_like_a_value(key: str):
    assert parse(f"{key}: 1").data == {key: 1}


def test_an_empty_value_is_null():
    assert parse("a:\nb: 1\n").data == {"a": None, "b": 1}


def test_a_number_longer_than_python_reads_is_a_defect():
    assert find_defects("a: " + "1" * 5000) == [("bad-scalar", ("a",), (1, 4))]


@pytest.mark.parametrize("version", ["1.2", "1.1"])
@pytest.mark.parametrize("word", ["0" + "7" * 5000, "!!int " + "1" * 5000, "!!float " + "1" * 5000])
def test_a_long_number_in_any_form_is_read_or_a_defect(word: str, version: str):
    document = parse(f"a: {word}", version)
    assert document.defects or document.data["a"] == int("7" * 5000, 8)


# Tags


@pytest.mark.parametrize(
    ("text", "value"),
    [("!!int 12", 12), ("!!float 1.5", 1.5), ("!!bool true", True), ("!!null ~", None), ("!!str 12", "12")],
)
def test_a_standard_tag_that_fits_is_read(text: str, value: Any):
    document = parse(f"a: {text}")
    assert document.data == {"a": value}
    assert document.defects == ()


@pytest.mark.parametrize("text", ["!!map {b: 1}", "!!seq [1]"])
def test_a_standard_tag_of_a_container_is_read(text: str):
    assert find_defects(f"a: {text}") == []


@pytest.mark.parametrize(
    "text", ["!env X", "!!binary aGk=", "!!python/name:os.system x", "!!int x", "!x {b: 1}", "!x []"]
)
def test_any_other_tag_is_a_defect_of_its_value(text: str):
    assert find_defects(f"a: {text}") == [("foreign-tag", ("a",), (1, 4))]


def test_a_tag_of_the_whole_file_is_a_defect():
    assert find_defects("!x\na: 1") == [("foreign-tag", (), (1, 1))]


def test_nothing_is_made_by_a_tag():
    assert parse("a: !!python/object/apply:os.getcwd []").data == {"a": []}


# Numbers that are not finite


@pytest.mark.parametrize("text", [".inf", "-.inf", ".nan", "1e999", "!!float .inf", "!!float .nan", "!!float 1e999"])
def test_a_number_that_is_not_finite_is_a_defect(text: str):
    assert find_defects(f"a: {text}") == [("not-finite", ("a",), (1, 4))]


def test_a_defect_in_a_list_leads_to_its_item():
    assert find_defects("a:\n- 1\n- b: .inf\n") == [("not-finite", ("a", 1, "b"), (3, 6))]


# Keys


def test_a_key_that_stands_twice_is_a_defect_with_both_places():
    document = parse("a: 1\nb:\n  c: 2\n  c: 3\n")
    [defect] = document.defects
    assert (defect.code, defect.path, defect.position) == ("duplicate-key", ("b", "c"), (4, 3))
    assert defect.message == "the key 'c' stands twice; the first is at line 3, column 3"


def test_a_key_that_stands_three_times_points_to_the_first_each_time():
    messages = [defect.message for defect in parse("a: 1\na: 2\na: 3\n").defects]
    assert messages == ["the key 'a' stands twice; the first is at line 1, column 1"] * 2


@pytest.mark.parametrize(
    "text", ["{a: 1, a: 2}", "{a: 1, 'a': 2}", '{"a": 1, a: 2}', "{1: a, 0x1: b}", "{~: a, null: b}"]
)
def test_a_key_is_compared_by_its_value(text: str):
    assert [code for code, _, _ in find_defects(text)] == ["duplicate-key"]


def test_the_same_key_in_two_mappings_is_no_defect():
    assert find_defects("- a: 1\n- a: 2\n") == []


@pytest.mark.parametrize("key", ["[a, b]", "{a: 1}"])
def test_a_key_that_is_no_text_is_a_defect(key: str):
    [(code, path, position)] = find_defects(f"b: {{? {key} : 1}}")
    assert (code, path[0], position) == ("bad-key", "b", (1, 7))


def test_a_path_to_a_defect_can_be_looked_up():
    for defect in parse("? [a]\n: 1\n.inf: 2\n").defects:
        hash(defect.path)


# Merges, anchors and aliases


def test_a_merge_adds_what_is_not_there():
    text = "base: &base {a: 1, b: 2}\nuse:\n  <<: *base\n  b: 3\n"
    assert parse(text).data["use"] == {"a": 1, "b": 3}


def test_a_key_of_ones_own_wins_wherever_it_stands():
    assert parse("base: &base {b: 2}\nuse:\n  b: 3\n  <<: *base\n").data["use"] == {"b": 3}


def test_of_several_merged_mappings_the_first_wins():
    text = "x: &x {a: 1}\ny: &y {a: 2, b: 2}\nuse:\n  <<: [*x, *y]\n"
    assert parse(text).data["use"] == {"a": 1, "b": 2}


def test_a_merged_key_keeps_its_place():
    document = parse("base: &base\n  a: 1\nuse:\n  <<: *base\n")
    found = document.place("use", "a")
    assert (found.line, found.column) == (2, 6)


def test_an_override_of_a_merged_key_is_no_duplicate():
    assert find_defects("base: &base {a: 1}\nuse: {<<: *base, a: 2}\n") == []


def test_a_quoted_merge_key_is_a_key_like_any_other():
    assert parse("'<<': {a: 1}").data == {"<<": {"a": 1}}


@pytest.mark.parametrize(("text", "path"), [("use:\n  <<: [1]\n", ("use",)), ("<<: [1, {}]\n", ())])
def test_a_merge_of_something_else_is_a_defect(text: str, path: tuple[str, ...]):
    assert [(code, where) for code, where, _ in find_defects(text)] == [("bad-merge", path)]


def test_an_alias_is_the_value_of_its_anchor():
    assert parse("a: &x [1, 2]\nb: *x\nc: &y text\nd: *y\n").data == {
        "a": [1, 2],
        "b": [1, 2],
        "c": "text",
        "d": "text",
    }


def test_the_nearest_anchor_before_an_alias_counts():
    assert parse("a: &x 1\nb: *x\nc: &x 2\nd: *x\n").data == {"a": 1, "b": 1, "c": 2, "d": 2}


@pytest.mark.parametrize(("text", "position"), [("a: *x", (1, 4)), ("a: &x [*x]", (1, 8)), ("a: &x {b: *x}", (1, 11))])
def test_an_alias_of_nothing_or_of_what_it_is_in_is_refused(text: str, position: tuple[int, int]):
    problem = refuse(text)
    assert (problem.code, place(problem)) == ("yaml-syntax", position)
    assert "the alias *x names nothing" in problem.message


def test_an_alias_bomb_is_refused_at_once():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]"
        for before, name in zip("abcdefghi", "bcdefghij", strict=True)
    ]
    with at_most_cpu(2):
        problem = refuse("\n".join(lines))
    assert problem.message == "the aliases expand to too much"
    assert problem.place.line == 7


def test_a_bomb_of_merges_is_refused_or_read_at_once():
    keys = ", ".join(f"k{number}: 1" for number in range(1000))
    text = f"a: &a {{{keys}}}\n" + "".join(f"m{n}: {{<<: [{', '.join(['*a'] * 100)}]}}\n" for n in range(50))
    with at_most_cpu(5), pytest.raises(UnreadableTextError, match="expand to too much"):
        parse(text)


# Places


def test_every_key_and_value_has_its_place():
    document = parse("hooks:\n  - id: a\n    run: {type: shell}\n  - id: 'é'\n")
    assert str(document.place("hooks", 0, "id")) == "hooks.yaml:2:9"
    assert str(document.place("hooks", 0, "id", at_key=True)) == "hooks.yaml:2:5"
    assert str(document.place("hooks", 0, "run", "type")) == "hooks.yaml:3:17"
    assert str(document.place("hooks", 1)) == "hooks.yaml:4:5"


def test_the_place_of_what_is_not_there_is_that_of_what_it_would_be_in():
    document = parse("hooks:\n  - id: a\n")
    assert str(document.place("hooks", 0, "event")) == "hooks.yaml:2:5"
    assert str(document.place("settings", "x")) == "hooks.yaml:1:1"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(ending: str):
    document = parse(ending.join(["a: 1", "", "b:", "  c: 2", ""]))
    assert str(document.place("b", "c")) == "hooks.yaml:4:6"


@pytest.mark.parametrize("before", ["é", "日本", "\U0001f600"])
def test_columns_count_characters(before: str):
    document = parse(f"{{'{before}': 1, b: 2}}")
    found = document.place("b", at_key=True)
    assert found.column == len(f"{{'{before}': 1, ") + 1


keys = st.text("abcé日", min_size=1, max_size=4)
data = st.recursive(
    st.sampled_from(["x", "é", "12", "true", "two words", "'quoted'", '"a\\tb"']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)


def write_block(value: Any, indent: int, found: list[tuple[tuple[Any, ...], str]], trail: tuple[Any, ...]) -> list[str]:
    """A value as lines of block YAML; `found` gets, for each scalar that is a value, its trail and its text."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        lines = []
        for key, item in value.items():
            if isinstance(item, dict | list) and item:
                lines += [f"{pad}{key}:", *write_block(item, indent + 2, found, (*trail, key))]
            else:
                lines.append(f"{pad}{key}: {write_leaf(item, found, (*trail, key))}")
        return lines
    if isinstance(value, list) and value:
        lines = []
        for index, item in enumerate(value):
            if isinstance(item, dict | list) and item:
                lines += [f"{pad}-", *write_block(item, indent + 2, found, (*trail, index))]
            else:
                lines.append(f"{pad}- {write_leaf(item, found, (*trail, index))}")
        return lines
    return [f"{pad}{write_leaf(value, found, trail)}"]


def write_leaf(value: Any, found: list[tuple[tuple[Any, ...], str]], trail: tuple[Any, ...]) -> str:
    text = value if isinstance(value, str) else "{}" if isinstance(value, dict) else "[]"
    found.append((trail, text))
    return text


@steady
@given(st.dictionaries(keys, data, min_size=1))
def test_the_place_of_a_value_is_where_its_text_stands(value: dict[str, Any]):
    found: list[tuple[tuple[Any, ...], str]] = []
    lines = write_block(value, 0, found, ())
    document = parse("\n".join(lines))
    for trail, text in found:
        at = document.place(*trail)
        assert lines[at.line - 1][at.column - 1 :] == text
        if isinstance(trail[-1], str):
            at = document.place(*trail, at_key=True)
            assert lines[at.line - 1][at.column - 1 :].startswith(f"{trail[-1]}: ")


# Texts that are not read at all


@pytest.mark.parametrize(
    ("text", "position", "cure"),
    [
        ("a: [1, 2", (1, 9), "check the indentation and quotes"),
        ("a: 'x", (1, 4), "check the indentation and quotes"),
        ("a: b: c", (1, 5), "check the indentation and quotes"),
        ("a:\n\tb: 1", (2, 1), "indent with spaces, not tabs"),
        ("a: `b`", (1, 4), "check the indentation and quotes"),
        ("a: 1\n- b", (2, 1), "check the indentation and quotes"),
    ],
)
def test_a_text_that_is_no_yaml_is_refused_near_its_fault(text: str, position: tuple[int, int], cure: str):
    problem = refuse(text)
    assert problem.code == "yaml-syntax"
    assert problem.severity == "error"
    assert position <= place(problem) <= (position[0] + 1, 20)
    assert problem.cure.startswith(cure)


def test_a_second_document_is_refused_where_it_starts():
    problem = refuse("a: 1\n---\nb: 2\n")
    assert place(problem) == (2, 1)
    assert problem.message == "a second document starts here; only one is read"
    assert problem.cure == "remove the line ---"


def test_a_document_may_start_and_end_as_such():
    assert parse("%YAML 1.2\n---\na: 1\n...\n").data == {"a": 1}


@pytest.mark.parametrize("letter", ["\x00", "\x07", "\x1b", "\x7f"])
def test_a_control_character_is_refused_by_its_place_and_number(letter: str):
    problem = refuse(f"é: 1\nbé: ab{letter}c\n")
    assert problem.code == "yaml-syntax"
    assert place(problem) == (2, 7)
    assert repr(letter) in problem.message


def test_nesting_as_deep_as_a_hooks_file_could_need_is_read():
    assert parse("[" * 50 + "]" * 50).defects == ()


def test_deeper_nesting_is_refused_where_it_becomes_too_deep():
    problem = refuse("[" * 51 + "]" * 51)
    assert place(problem) == (1, 51)
    assert problem.message == "nested more than 50 levels deep"


def test_nesting_of_any_depth_is_refused_at_once():
    with at_most_cpu(2):
        assert refuse("[" * 100_000).code == "yaml-syntax"


# Bytes


def test_utf8_is_text():
    assert decode_text("é: 日".encode(), PATH) == "é: 日"


def test_a_byte_order_mark_is_dropped():
    assert decode_text(b"\xef\xbb\xbfa: 1", PATH) == "a: 1"


@pytest.mark.parametrize(
    ("data", "byte", "position"),
    [
        (b"a: 1\nb: \xe9\n", "0xe9", (2, 4)),
        ("é: ".encode() + b"\xff", "0xff", (1, 4)),
        (b"\xef\xbb\xbfa: \xff", "0xff", (1, 4)),
        (b"\xff\xfea\x00", "0xff", (1, 1)),
        (b"a: \xed\xa0\x80", "0xed", (1, 4)),
    ],
)
def test_what_is_not_utf8_is_refused_at_the_first_wrong_byte(data: bytes, byte: str, position: tuple[int, int]):
    problem = refuse_bytes(data)
    assert (problem.code, problem.message) == ("not-utf8", f"byte {byte} is not UTF-8")
    assert place(problem) == position
    assert problem.cure == "save the file as UTF-8"


def test_a_file_of_the_largest_size_is_read():
    assert len(decode_text(b" " * MAX_FILE_SIZE, PATH)) == MAX_FILE_SIZE


def test_a_larger_file_is_refused_as_a_whole():
    problem = refuse_bytes(b" " * (MAX_FILE_SIZE + 1))
    assert (problem.code, place(problem)) == ("file-too-large", (0, 0))
    assert str(MAX_FILE_SIZE) in problem.message
    assert str(problem.place) == "hooks.yaml"


def test_a_file_of_the_largest_size_takes_seconds_not_minutes():
    line = "- {id: a, event: after_turn, run: {type: shell, shell: 'true'}}\n"
    text = "hooks:\n" + line * 20_000
    started = time.process_time()
    parse(text)
    assert time.process_time() - started < 15


# The older version


def test_a_word_that_old_yaml_reads_otherwise_is_noted_with_its_place():
    document = parse("a: yes\nb: true\nc: [1, 1e3]\nd: 'no'\n", "1.1")
    assert document.data == {"a": True, "b": True, "c": [1, "1e3"], "d": "no"}
    assert [(word.text, word.position) for word in document.old_scalars] == [("yes", (1, 4)), ("1e3", (3, 8))]


def test_no_word_is_noted_by_the_newer_version():
    assert parse("a: yes\nb: 12:30\n").old_scalars == ()


def test_a_value_that_old_yaml_cannot_make_is_a_defect():
    assert find_defects("a: 2001-99-99", "1.1") == [("bad-scalar", ("a",), (1, 4))]
