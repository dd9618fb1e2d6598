"""Small private files in the user's home: whole or not at all, and for the user's eyes only."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hookline.config.store import name_for, read_json, write_json


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Names


@pytest.mark.parametrize("path", ["/a", "/a/../b", "/" + "x" * 5000, "/\udcff", "/a b\nc", "/漢字"])
def test_a_name_is_a_plain_file_name_whatever_the_path_holds(path: str):
    name = name_for(Path(path))
    assert name.isascii()
    assert name.removesuffix(".json").isalnum()
    assert len(name) < 100


def test_a_link_has_the_name_of_what_it_leads_to(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path)
    assert name_for(tmp_path / "link") == name_for(tmp_path)


def test_different_paths_have_different_names():
    assert len({name_for(Path(path)) for path in ("/a", "/b", "/a/b", "/A", "/a ")}) == 5


# Reading


def test_what_was_written_is_read(tmp_path: Path):
    data = {"text": "ä \udcff 漢", "list": [1, None, True], "object": {"a": {}}}
    write_json(tmp_path / "f.json", data)
    assert read_json(tmp_path / "f.json") == data


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b'"text"', b"null", b"\xff\xfe", b"{}trailing", b"[" * 100_000, b'{"n": ' + b"9" * 5000 + b"}"],
    ids=lambda text: repr(text[:8]),
)
def test_a_file_that_holds_no_object_reads_as_none(tmp_path: Path, text: bytes):
    (tmp_path / "f.json").write_bytes(text)
    assert read_json(tmp_path / "f.json") is None


def test_a_missing_file_reads_as_none(tmp_path: Path):
    assert read_json(tmp_path / "f.json") is None


def test_a_folder_in_its_place_reads_as_none(tmp_path: Path):
    assert read_json(tmp_path) is None


# Writing


def test_a_file_and_its_folder_are_for_the_user_alone(tmp_path: Path):
    before = os.umask(0)
    try:
        write_json(tmp_path / "folder" / "f.json", {})
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "folder") == 0o700
    assert mode_of(tmp_path / "folder" / "f.json") == 0o600


def test_all_folders_that_had_to_be_made_are_for_the_user_alone(tmp_path: Path):
    before = os.umask(0)
    try:
        write_json(tmp_path / "home" / "hooks" / "memory" / "f.json", {})
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "home") == 0o700
    assert mode_of(tmp_path / "home" / "hooks") == 0o700


def test_a_new_version_replaces_the_old_one_whole(tmp_path: Path):
    write_json(tmp_path / "f.json", {"old": "x" * 1000})
    write_json(tmp_path / "f.json", {"new": 1})
    assert read_json(tmp_path / "f.json") == {"new": 1}


def test_a_reader_of_the_old_version_keeps_it(tmp_path: Path):
    write_json(tmp_path / "f.json", {"old": 1})
    with (tmp_path / "f.json").open() as reader:
        write_json(tmp_path / "f.json", {"new": 1})
        assert "old" in reader.read()


def test_nothing_but_the_file_is_left_in_its_folder(tmp_path: Path):
    write_json(tmp_path / "f.json", {})
    write_json(tmp_path / "f.json", {"a": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["f.json"]


def test_data_that_cannot_be_written_leaves_the_old_version(tmp_path: Path):
    write_json(tmp_path / "f.json", {"old": 1})
    with pytest.raises(TypeError):
        write_json(tmp_path / "f.json", {"bad": object()})
    assert read_json(tmp_path / "f.json") == {"old": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["f.json"]


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        write_json(tmp_path / "file" / "f.json", {})


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path):
    (tmp_path / "other").write_text("precious")
    (tmp_path / "f.json").symlink_to(tmp_path / "other")
    write_json(tmp_path / "f.json", {"a": 1})
    assert (tmp_path / "other").read_text() == "precious"
    assert read_json(tmp_path / "f.json") == {"a": 1}
