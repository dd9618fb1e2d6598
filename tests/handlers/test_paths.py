"""From the text that names a file to its path: section 2 of the module contract."""

from __future__ import annotations

import os
import pwd
import string
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.handlers.paths import UnusablePathError, resolve_path
from properties import steady

CWD = Path("/cwd")
HOME = Path("/home/you")

names = st.text(string.ascii_letters + string.digits + "._- é日", min_size=1, max_size=8).filter(str.strip)
parts = st.lists(st.one_of(names, st.sampled_from([".", ".."])), min_size=1, max_size=6)
any_text = st.text(max_size=20)


def resolve(text: str, base: Path = CWD) -> str:
    return str(resolve_path(text, base, HOME))


def refuse(text: str) -> str:
    with pytest.raises(UnusablePathError) as caught:
        resolve_path(text, CWD, HOME)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "path"),
    [("/abs/a", "/abs/a"), ("~/a", "/home/you/a"), ("rel/a", "/cwd/rel/a"), ("../u", "/u")],
)
def test_a_path_of_each_kind_is_resolved(text: str, path: str) -> None:
    """Case 35: paths from /cwd."""
    assert resolve(text) == path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("~", "/home/you"),
        ("~/", "/home/you"),
        ("~/../other/a", "/home/other/a"),
        ("~//etc/a", "/home/you/etc/a"),
        ("a/./b//c/", "/cwd/a/b/c"),
        ("/a/../../../b", "/b"),
        ("//a/b", "/a/b"),
        ("a/~/b", "/cwd/a/~/b"),
        ("./~/b", "/cwd/~/b"),
        (".", "/cwd"),
    ],
)
def test_dots_slashes_and_the_tilde_are_taken_out(text: str, path: str) -> None:
    assert resolve(text) == path


def test_the_tilde_of_a_named_user_is_that_users_home() -> None:
    user = pwd.getpwuid(os.getuid())
    assert resolve(f"~{user.pw_name}/a") == str(Path(user.pw_dir, "a"))


def test_the_tilde_of_an_unknown_user_is_refused() -> None:
    assert refuse("~no-such-user/a") == (
        "'~no-such-user/a': there is no user 'no-such-user'; write ./~no-such-user/... for a file of that name"
    )


def test_parents_are_taken_out_by_the_text_alone(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to("deep/er")
    assert resolve("link/../a", tmp_path) == str(tmp_path / "a")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("file:///abs/a", "/abs/a"),
        ("file://localhost/abs/a", "/abs/a"),
        ("FILE://LOCALHOST/abs/a", "/abs/a"),
        ("file:/abs/a", "/abs/a"),
        ("file:///a%20b/%C3%A9", "/a b/é"),
        ("file:///a/../b", "/b"),
        ("file:///a/%2e%2e/b", "/b"),
        ("file:///~/a", "/~/a"),
        ("file:///a%23b%3Fc", "/a#b?c"),
        ("file:///a%C2%A0b", "/a\u00a0b"),
    ],
)
def test_a_file_url_is_a_path(text: str, path: str) -> None:
    assert resolve(text) == path


def test_a_byte_in_a_file_url_that_is_no_text_names_its_file() -> None:
    assert resolve("file:///a%FF") == os.fsdecode(b"/a\xff")


def test_a_file_of_another_host_is_refused() -> None:
    assert refuse("file://server/a") == (
        "'file://server/a' is a file of another host, 'server'; write file:///... for one of this host"
    )


@pytest.mark.parametrize("text", ["file://", "file:", "file:a", "file://server", "file:a/b"])
def test_a_file_url_without_an_absolute_path_is_refused(text: str) -> None:
    assert refuse(text) == f"{text!r} names no absolute path; write file:///... or the path alone"


@pytest.mark.parametrize("text", ["file:///a?b", "file:///a#b"])
def test_a_file_url_with_a_query_or_fragment_is_refused(text: str) -> None:
    assert "write %3F or %23" in refuse(text)


@pytest.mark.parametrize("text", ["https://example.org/a.py", "http://a", "ssh+git://a/b"])
def test_another_url_is_refused(text: str) -> None:
    assert refuse(text) == f"{text!r} is no path: of URLs only file:// ones are read"


@pytest.mark.parametrize("text", ["", " ", "\t\n", "\u00a0", "\ufeff", "\u200b \u2060"])
def test_an_empty_path_is_refused(text: str) -> None:
    assert refuse(text) == f"{text!r} is an empty path; name a file"


@pytest.mark.parametrize("text", ["a\0b", "/a\0", "file:///a%00b"])
def test_a_path_with_nul_is_refused(text: str) -> None:
    assert refuse(text) == f"{text!r} contains the character NUL, which no path can contain"


def test_a_path_of_characters_without_bytes_is_refused() -> None:
    assert "no file name can be made of" in refuse("a\ud800b")


def test_bytes_of_the_file_system_that_are_no_text_are_kept() -> None:
    assert resolve(os.fsdecode(b"/a\xff")) == os.fsdecode(b"/a\xff")


@pytest.mark.parametrize("space", [c for c in map(chr, range(0x110000)) if unicodedata.category(c) == "Zs"])
def test_a_space_of_any_kind_is_a_plain_one(space: str) -> None:
    assert resolve(f"my{space}hooks/a") == "/cwd/my hooks/a"


@pytest.mark.parametrize("unseen", ["\ufeff", "\u200b", "\u2060", "\u180e"])
def test_what_has_no_width_is_nothing(unseen: str) -> None:
    assert resolve(f"{unseen}~/ho{unseen}oks") == "/home/you/hooks"


def test_what_has_no_width_may_follow_the_tilde() -> None:
    assert resolve("~\u200b/a") == "/home/you/a"


@pytest.mark.parametrize("name", ["a\u200cb", "👩\u200d💻"])
def test_joiners_that_spell_a_name_are_kept(name: str) -> None:
    assert resolve(name) == f"/cwd/{name}"


def test_spaces_in_a_file_url_are_plain_ones_too() -> None:
    assert resolve("file:///a\u00a0b") == "/a b"


def test_a_file_with_the_name_as_it_is_written_wins(tmp_path: Path) -> None:
    (tmp_path / "a\u00a0b").touch()
    (tmp_path / "a b").touch()
    assert resolve("a\u00a0b", tmp_path) == str(tmp_path / "a\u00a0b")


def test_a_broken_link_with_the_name_as_it_is_written_wins(tmp_path: Path) -> None:
    (tmp_path / "a\u00a0b").symlink_to("nowhere")
    assert resolve("a\u00a0b", tmp_path) == str(tmp_path / "a\u00a0b")


@steady
@given(parts)
def test_a_relative_path_is_the_same_as_its_absolute_one(segments: list[str]) -> None:
    text = "/".join(segments)
    assert resolve(text) == resolve(f"/cwd/{text}")


@steady
@given(parts)
def test_a_path_and_its_url_are_the_same(segments: list[str]) -> None:
    path = Path("/", *segments)
    assert resolve(path.as_uri()) == resolve(str(path))


@steady
@given(any_text)
def test_whatever_is_no_path_is_refused_and_all_else_is_absolute_and_final(text: str) -> None:
    try:
        path = resolve_path(text, CWD, HOME)
    except UnusablePathError as error:
        assert repr(text) in str(error)
        return
    assert path.is_absolute()
    assert ".." not in path.parts
    assert resolve_path(str(path), Path("/elsewhere"), Path("/nobody")) == path
