"""Providers that look into `pre` and `post` folders: section 2 of the module contract."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from hookline.handlers.discover import Discovery, Found, HookItem, SkippedFile, discover_sync
from hookline.handlers.folders import FolderProvider, builtin_providers

SHELL = "#!/bin/sh\ntrue\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "hooks"
    (path / "pre").mkdir(parents=True)
    (path / "post").mkdir()
    return path


def put(path: Path, text: str = "", *, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def load(root: Path) -> Found:
    return FolderProvider(name="test", priority=1, root=root).load(root.parent)


def load_one(path: Path) -> HookItem:
    found = load(path.parent.parent)
    assert (len(found.items), found.skipped, found.warnings) == (1, [], [])
    return found.items[0]


def skip_one(path: Path) -> SkippedFile:
    found = load(path.parent.parent)
    assert (found.items, found.warnings) == ([], [])
    (skipped,) = found.skipped
    assert skipped.path == path
    return skipped


def test_a_python_file_is_a_module(root: Path) -> None:
    """F: `.py` files are loaded as modules."""
    path = put(root / "pre" / "bash.py")
    assert load_one(path) == HookItem(name="bash.py", path=path, type="pre", tool="bash", kind="module")


def test_an_executable_python_file_with_a_shebang_is_a_module(root: Path) -> None:
    assert load_one(put(root / "pre" / "bash.py", "#!/usr/bin/env python3\n", mode=0o755)).kind == "module"


def test_a_file_in_pre_is_for_the_tool_of_its_name(root: Path) -> None:
    """F: `pre/bash.sh` → before_tool_call, tool `bash`."""
    path = put(root / "pre" / "bash.sh", SHELL, mode=0o755)
    assert load_one(path) == HookItem(name="bash.sh", path=path, type="pre", tool="bash", kind="script")


def test_a_file_in_post_is_for_after_the_tool(root: Path) -> None:
    assert load_one(put(root / "post" / "edit.sh")).id == "hook:post:edit:edit.sh"


@pytest.mark.parametrize("suffix", [".sh", ".bash", ".zsh", ".js", ".mjs", ".ts", ".rb", ".pl", ".ps1"])
def test_a_file_with_a_known_interpreter_is_a_script(root: Path, suffix: str) -> None:
    assert load_one(put(root / "pre" / f"bash{suffix}")).kind == "script"


def test_the_case_of_a_suffix_does_not_count(root: Path) -> None:
    put(root / "pre" / "a.PY")
    put(root / "pre" / "b.Sh")
    assert [item.kind for item in load(root).items] == ["module", "script"]


@pytest.mark.parametrize("name", ["bash", "bash.awk"])
def test_an_executable_file_that_says_what_runs_it_is_a_program(root: Path, name: str) -> None:
    item = load_one(put(root / "pre" / name, SHELL, mode=0o755))
    assert (item.kind, item.tool) == ("program", "bash")


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("mcp__github.create.sh", "mcp__github.create"),
        ("Bash.sh", "Bash"),
        ("a b.sh", "a b"),
        ("[a-z].sh", "[a-z]"),
        ("all_tools.sh", "all_tools"),
    ],
)
def test_the_name_before_the_suffix_is_taken_literally(root: Path, name: str, tool: str) -> None:
    item = load_one(put(root / "pre" / name))
    assert (item.tool, item.is_for_every_tool) == (tool, False)


@pytest.mark.parametrize("name", ["all.sh", "*.sh", "all.py"])
def test_a_file_called_all_or_star_is_for_every_tool(root: Path, name: str) -> None:
    item = load_one(put(root / "pre" / name))
    assert item.is_for_every_tool
    assert item.id == f"hook:pre:*:{name}"


def test_files_come_in_the_order_of_their_names_and_pre_before_post(root: Path) -> None:
    """F: files are taken in sorted name order on every file system."""
    names = ["b.sh", "a.py", "10.sh", "9.sh", "C.sh", "ä.sh"]
    for name in names:
        put(root / "post" / name)
        put(root / "pre" / name)
    expected = sorted(names)
    found = load(root)
    assert [item.name for item in found.items] == expected * 2
    assert [item.type for item in found.items] == ["pre"] * 6 + ["post"] * 6


def test_files_of_other_folders_are_not_looked_at(root: Path) -> None:
    put(root / "hooks.yaml")
    put(root / "bash.sh", SHELL, mode=0o755)
    put(root / "scripts" / "bash.sh", SHELL, mode=0o755)
    put(root / "Pre-commit" / "bash.sh", SHELL, mode=0o755)
    assert load(root) == Found(items=[], skipped=[], warnings=[])


@pytest.mark.parametrize("name", [".bash.sh.swp", ".hidden.py", ".DS_Store"])
def test_a_hidden_file_is_skipped(root: Path, name: str) -> None:
    skipped = skip_one(put(root / "pre" / name, SHELL, mode=0o755))
    assert skipped.reason == "its name begins with a dot: hidden files are no hooks"
    assert skipped.severity == "notice"


@pytest.mark.parametrize("name", ["bash.sh~", "bash.py.bak", "bash.sh.ORIG", "#bash.sh#", "a.swp", "bash.py.disabled"])
def test_a_copy_or_leftover_is_skipped(root: Path, name: str) -> None:
    skipped = skip_one(put(root / "pre" / name, SHELL, mode=0o755))
    assert skipped.reason == "its name is that of a copy or leftover of another file"
    assert skipped.severity == "notice"


@pytest.mark.parametrize("name", ["__pycache__", "bash.py", "bash.sh"])
def test_a_folder_is_skipped(root: Path, name: str) -> None:
    (root / "pre" / name).mkdir()
    skipped = skip_one(root / "pre" / name)
    assert (skipped.reason, skipped.severity) == ("it is a folder; hooks are files right in pre and post", "notice")


@pytest.mark.parametrize(
    ("name", "subject"), [("README.md", "'.md'"), ("bash", "a name without suffix"), ("bash.awk", "'.awk'")]
)
def test_a_file_that_nothing_runs_is_skipped(root: Path, name: str, subject: str) -> None:
    skipped = skip_one(put(root / "pre" / name, SHELL))
    assert skipped.reason == f"there is no known interpreter for {subject}, and it is not executable"
    assert skipped.severity == "warning"


def test_an_executable_file_that_does_not_say_what_runs_it_is_skipped(root: Path) -> None:
    skipped = skip_one(put(root / "pre" / "bash", "\x7fELF", mode=0o755))
    assert skipped.reason == (
        "there is no known interpreter for a name without suffix, and its first line does not name one with #!"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_skipped(root: Path) -> None:
    skipped = skip_one(put(root / "pre" / "bash.py", mode=0o000))
    assert skipped.reason == "it cannot be read: Permission denied"


def test_a_fifo_is_skipped_without_waiting(root: Path) -> None:
    os.mkfifo(root / "pre" / "bash.py")
    assert skip_one(root / "pre" / "bash.py").reason == "it cannot be read: this is not a regular file"


def test_a_socket_is_skipped(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "pre")  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("bash.sh")
        assert skip_one(root / "pre" / "bash.sh").reason.startswith("it cannot be read: ")


def test_a_file_whose_name_is_no_text_is_skipped(root: Path) -> None:
    path = root / "pre" / os.fsdecode(b"b\xff.sh")
    put(path)
    assert skip_one(path).reason == "its name is not UTF-8, so that no tool can have it; rename it"


def test_a_link_is_followed_and_keeps_its_own_name(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "shared" / "guard.txt", SHELL)
    link = root / "pre" / "bash.sh"
    link.symlink_to(tmp_path / "shared" / "guard.txt")
    item = load_one(link)
    assert (item.tool, item.path) == ("bash", link)


def test_a_broken_link_is_reported(root: Path) -> None:
    link = root / "pre" / "bash.sh"
    link.symlink_to("gone.sh")
    skipped = skip_one(link)
    assert skipped.reason == "it is a link to gone.sh, which cannot be followed: No such file or directory"
    assert skipped.severity == "warning"


def test_a_link_to_itself_is_reported(root: Path) -> None:
    link = root / "pre" / "bash.sh"
    link.symlink_to("bash.sh")
    assert "which cannot be followed: Too many levels" in skip_one(link).reason


def test_a_skipped_file_is_never_an_import_error(root: Path) -> None:
    """F: anything else is reported as skipped with the reason, never an import error."""
    put(root / "pre" / "notes.txt")
    put(root / "pre" / "bash.py")
    found = load(root)
    assert [item.name for item in found.items] == ["bash.py"]
    assert str(found.skipped[0]) == (
        f"{root}/pre/notes.txt: there is no known interpreter for '.txt', and it is not executable"
    )


def test_folders_that_are_not_there_hold_nothing(tmp_path: Path) -> None:
    assert load(tmp_path / "hooks") == Found(items=[], skipped=[], warnings=[])


def test_a_file_in_the_place_of_a_folder_is_a_warning(tmp_path: Path) -> None:
    put(tmp_path / "hooks" / "pre")
    put(tmp_path / "hooks" / "post" / "bash.sh")
    found = load(tmp_path / "hooks")
    assert [item.type for item in found.items] == ["post"]
    assert found.warnings == [
        f"the folder {tmp_path}/hooks/pre cannot be read: Not a directory; none of its hooks are there"
    ]


def test_a_folder_that_is_a_broken_link_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "pre").symlink_to("gone")
    assert len(load(tmp_path / "hooks").warnings) == 1


def test_a_root_that_is_a_broken_link_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "hooks").symlink_to("gone")
    assert len(load(tmp_path / "hooks").warnings) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_root_that_may_not_be_looked_into_is_a_warning(root: Path) -> None:
    root.chmod(0o000)
    try:
        assert len(load(root).warnings) == 2
    finally:
        root.chmod(0o755)


def test_a_relative_root_counts_from_the_working_folder(root: Path) -> None:
    put(root / "pre" / "bash.sh")
    provider = FolderProvider(name="test", priority=1, root=Path("hooks"))
    assert provider.load(root.parent).items[0].path == root / "pre" / "bash.sh"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def user_home(tmp_path: Path) -> Path:
    return tmp_path / "you"


def find_builtin(project: Path, user_home: Path, *, with_xcsh: bool) -> Discovery:
    providers = builtin_providers(project, user_home / ".hookline", with_xcsh=with_xcsh, user_home=user_home)
    return discover_sync(providers, project)


def put_everywhere(project: Path, user_home: Path, name: str) -> None:
    for base in (project, user_home):
        for folder in (".hookline", ".xcsh", ".claude"):
            put(base / folder / "hooks" / "pre" / name)


def test_the_project_comes_before_the_user(project: Path, user_home: Path) -> None:
    put_everywhere(project, user_home, "bash.py")
    found = find_builtin(project, user_home, with_xcsh=False)
    assert [item.path for item in found.all_items] == [
        project / ".hookline/hooks/pre/bash.py",
        user_home / ".hookline/hooks/pre/bash.py",
    ]
    assert [(item.layer, item.shadowed_by) for item in found.all_items] == [("project", None), ("user", "project")]


def test_the_folders_of_xcsh_and_claude_follow_when_it_is_enabled(project: Path, user_home: Path) -> None:
    put_everywhere(project, user_home, "bash.py")
    found = find_builtin(project, user_home, with_xcsh=True)
    assert found.providers == ("project", "user", "xcsh-project", "xcsh-user", "claude-project", "claude-user")
    assert [item.path.relative_to(project.parent).parts[:2] for item in found.all_items] == [
        ("project", ".hookline"),
        ("you", ".hookline"),
        ("project", ".xcsh"),
        ("you", ".xcsh"),
        ("project", ".claude"),
        ("you", ".claude"),
    ]


def test_the_home_of_the_user_is_the_one_of_the_process_unless_it_is_named(
    project: Path, user_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(user_home))
    roots = [provider.root for provider in builtin_providers(project, user_home / ".hookline", with_xcsh=True)]
    assert user_home / ".claude/hooks" in roots


def test_a_folder_that_is_both_the_projects_and_the_users_counts_as_the_users(tmp_path: Path) -> None:
    put_everywhere(tmp_path, tmp_path, "bash.py")
    found = find_builtin(tmp_path, tmp_path, with_xcsh=True)
    assert found.providers == ("user", "xcsh-user", "claude-user")
    assert [item.layer for item in found.all_items] == ["user"] * 3
