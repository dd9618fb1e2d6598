"""What a project's hooks are made of: what is covered, what is refused, and which changes are seen."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from entries import command_hook, make_entry, shell_hook, write_file
from hookline.config.snapshot import MAX_BYTES, MAX_FILES, Snapshot, UncoverableError
from support import Bench
from trusting import snapshot_project

HOOKS = ".hookline/hooks"
TOOL = "tools/a.sh"


def write_tool(bench: Bench, text: str = "true\n") -> Path:
    """A file of the project outside its hook folder, which hooks may name."""
    path = bench.project / TOOL
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def cover(bench: Bench, run: dict[str, Any]) -> Snapshot:
    """The snapshot of a project with one hook that runs this."""
    bench.write(write_file(make_entry("h", run)))
    return snapshot_project(bench)


def refuse(bench: Bench) -> str:
    """Why the project's hooks cannot be covered."""
    with pytest.raises(UncoverableError) as caught:
        snapshot_project(bench)
    return str(caught.value)


@pytest.fixture
def outside(bench: Bench) -> Path:
    """A folder that is no part of the project, with a script in it."""
    folder = bench.root / "outside"
    folder.mkdir()
    (folder / "a.sh").write_text("true\n")
    return folder


# What is covered


def test_every_file_of_the_hook_folder_is_covered_at_any_depth(bench: Bench):
    bench.write("hooks: []\n")
    for name in ("a.sh", "lib/b.sh", "lib/deep/c.txt", ".hidden", "lib/.git/config", "empty"):
        path = bench.hooks_folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    covered = snapshot_project(bench).digests
    names = {"hooks.yaml", "a.sh", "lib/b.sh", "lib/deep/c.txt", ".hidden", "lib/.git/config", "empty"}
    assert {f"{HOOKS}/{name}" for name in names} <= covered.keys()


@pytest.mark.parametrize("folder", ["", "/lib", "/lib/empty"])
def test_the_names_in_each_folder_are_covered(bench: Bench, folder: str):
    bench.write("hooks: []\n")
    (bench.hooks_folder() / "lib" / "empty").mkdir(parents=True)
    assert f"{HOOKS}{folder}" in snapshot_project(bench).digests


@pytest.mark.parametrize(
    "run",
    [
        {"type": "command", "argv": ["sh", TOOL]},
        {"type": "command", "argv": ["sh", f"./{TOOL}"]},
        {"type": "command", "argv": ["sh", f"tools/../{TOOL}"]},
        {"type": "command", "argv": [f"./{TOOL}"]},
        {"type": "command", "argv": ["sh"], "args": [TOOL]},
        {"type": "command", "argv": ["sh", "${project}/" + TOOL]},
        {"type": "script", "path": f"../../{TOOL}"},
        {"type": "script", "path": "${project}/" + TOOL},
        {"type": "script", "path": "own.sh", "args": [TOOL]},
        {"type": "script", "path": "own.sh", "interpreter": [f"./{TOOL}"]},
        {"type": "script", "path": "own.sh", "interpreter": ["sh", TOOL]},
        {"type": "shell", "shell": f"sh {TOOL} --fast"},
        {"type": "shell", "shell": f"sh '{TOOL}' && sh \"{TOOL}\""},
        {"type": "shell", "shell": f"X=1 ./{TOOL}"},
        {"type": "shell", "shell": f"true\nsh {TOOL}\n"},
        {"type": "shell", "shell": f'sh {TOOL} "'},
        {"type": "shell", "shell": f"sh {TOOL}; true"},
        {"type": "shell", "shell": f"(./{TOOL})"},
        {"type": "shell", "shell": f"./{TOOL}|cat"},
        {"type": "shell", "shell": f"sh <{TOOL}"},
        {"type": "shell", "shell": f"x=$(./{TOOL})"},
        {"type": "shell", "shell": f"x=`./{TOOL}`"},
        {"type": "shell", "shell": f"true a#b && sh {TOOL}"},
    ],
    ids=lambda run: next(str(run[key]) for key in ("shell", "argv", "path") if key in run),
)
def test_a_project_file_that_a_hook_names_is_covered(bench: Bench, run: dict[str, Any]):
    write_tool(bench)
    bench.write_script("own.sh", "true")
    told = {key: fill_in(value, bench.project) for key, value in run.items()}
    assert TOOL in cover(bench, told).digests


def fill_in(value: Any, project: Path) -> Any:
    if isinstance(value, list):
        return [fill_in(item, project) for item in value]
    return value.replace("${project}", str(project))


def test_an_argument_that_starts_at_the_hooks_own_directory_is_covered(bench: Bench):
    write_tool(bench)
    covered = cover(bench, {"type": "command", "argv": ["sh", "a.sh"], "cwd": "${workspace_cwd}/tools"})
    assert TOOL in covered.digests


def test_a_file_named_by_its_real_path_is_covered_in_a_project_reached_by_a_link(bench: Bench):
    tool = write_tool(bench)
    bench.write(write_file(command_hook("h", "sh", str(tool))))
    link = bench.root / "link"
    link.symlink_to(bench.project)
    bench.project = link
    assert TOOL in snapshot_project(bench).digests


@pytest.mark.parametrize("path", ["link/../a.sh", "./link/../a.sh"])
def test_the_file_that_really_runs_is_covered_and_not_one_of_a_similar_path(bench: Bench, path: str):
    tool = write_tool(bench)
    (bench.project / "tools" / "sub").mkdir()
    bench.write_script("a.sh", "echo this one looks harmless")
    (bench.hooks_folder() / "link").symlink_to("../../tools/sub")
    before = cover(bench, {"type": "script", "path": path})
    tool.write_text("echo changed\n")
    assert snapshot_project(bench).digest != before.digest


def test_files_that_no_hook_names_are_not_covered(bench: Bench):
    write_tool(bench)
    (bench.project / "README.md").write_text("hello\n")
    (bench.project / ".hookline" / "notes.txt").parent.mkdir(exist_ok=True)
    (bench.project / ".hookline" / "notes.txt").write_text("hello\n")
    covered = cover(bench, {"type": "command", "argv": ["true", "tools", "README", "*.md"]})
    assert covered.digests.keys() == {HOOKS, f"{HOOKS}/hooks.yaml"}


def test_files_outside_the_project_are_not_covered(bench: Bench, outside: Path):
    covered = cover(bench, {"type": "command", "argv": ["/bin/sh", str(outside / "a.sh"), "../outside/a.sh"]})
    assert covered.digests.keys() == {HOOKS, f"{HOOKS}/hooks.yaml"}


@pytest.mark.parametrize("word", ["x" * 5000, r"nul\u0000byte", r"\ud800", r"a\nb", "", "..", "/"])
def test_a_word_that_is_no_file_of_the_project_names_none(bench: Bench, word: str):
    entry = f'{{"id": "h", "event": "after_turn", "run": {{"type": "command", "argv": ["true", "{word}"]}}}}'
    bench.write(f'{{"hooks": [{entry}]}}', name="hooks.json")
    assert snapshot_project(bench).digests.keys() == {HOOKS, f"{HOOKS}/hooks.json"}


# What is not covered is said


@pytest.mark.parametrize("run", [{"type": "command", "argv": ["make", "lint"]}, {"type": "shell", "shell": "npm test"}])
def test_what_a_launcher_goes_on_to_run_is_said_to_be_uncovered(bench: Bench, run: dict[str, Any]):
    (told,) = cover(bench, run).not_covered
    assert "'h'" in told
    assert ("make" if "argv" in run else "npm") in told


def test_what_a_script_imports_from_elsewhere_is_said_to_be_uncovered(bench: Bench):
    bench.write_script("own.py", "import helper")
    (told,) = cover(bench, {"type": "script", "path": "own.py"}).not_covered
    assert "'h'" in told
    assert "own.py" in told


@pytest.mark.parametrize(
    "run",
    [
        {"type": "command", "argv": ["python3", TOOL]},
        {"type": "command", "argv": ["python3", "tools"]},
        {"type": "command", "argv": ["sh", "-c", f"exec ./{TOOL}"]},
        {"type": "shell", "shell": 'sh "$PWD/tools/a.sh"'},
    ],
    ids=lambda run: str(run.get("argv") or run["shell"]),
)
def test_what_a_hook_runs_beyond_the_covered_files_is_said_to_be_uncovered(bench: Bench, run: dict[str, Any]):
    write_tool(bench)
    assert any("'h'" in told for told in cover(bench, run).not_covered)


def test_a_hook_that_runs_nothing_of_the_project_leaves_nothing_uncovered(bench: Bench):
    assert cover(bench, {"type": "command", "argv": ["touch", "done"]}).not_covered == ()


# Links


def make_file_link(bench: Bench, outside: Path) -> str:
    bench.write("hooks: []\n")
    (bench.hooks_folder() / "a.sh").symlink_to(outside / "a.sh")
    return f"{HOOKS}/a.sh"


def make_folder_link(bench: Bench, outside: Path) -> str:
    bench.write("hooks: []\n")
    (bench.hooks_folder() / "lib").symlink_to(outside)
    return f"{HOOKS}/lib"


def make_relative_link(bench: Bench, outside: Path) -> str:
    bench.write("hooks: []\n")
    (bench.hooks_folder() / "a.sh").symlink_to(f"../../../{outside.name}/a.sh")
    return f"{HOOKS}/a.sh"


def make_chain_of_links(bench: Bench, outside: Path) -> str:
    bench.write("hooks: []\n")
    (bench.project / "step").symlink_to(outside / "a.sh")
    (bench.hooks_folder() / "a.sh").symlink_to("../../step")
    return f"{HOOKS}/a.sh"


def link_the_hooks_file(bench: Bench, outside: Path) -> str:
    (outside / "hooks.yaml").write_text("hooks: []\n")
    bench.hooks_folder().mkdir(parents=True)
    (bench.hooks_folder() / "hooks.yaml").symlink_to(outside / "hooks.yaml")
    return f"{HOOKS}/hooks.yaml"


def link_the_hook_folder(bench: Bench, outside: Path) -> str:
    (outside / "hooks.yaml").write_text("hooks: []\n")
    bench.hooks_folder().parent.mkdir()
    bench.hooks_folder().symlink_to(outside)
    return HOOKS


def link_the_folder_above(bench: Bench, outside: Path) -> str:
    (outside / "hooks").mkdir()
    (outside / "hooks" / "hooks.yaml").write_text("hooks: []\n")
    (bench.project / ".hookline").symlink_to(outside)
    return HOOKS


def link_an_argument(bench: Bench, outside: Path) -> str:
    (bench.project / "tools").mkdir()
    (bench.project / TOOL).symlink_to(outside / "a.sh")
    bench.write(write_file(command_hook("h", "sh", TOOL)))
    return TOOL


def link_the_folder_of_an_argument(bench: Bench, outside: Path) -> str:
    (bench.project / "tools").symlink_to(outside)
    bench.write(write_file(shell_hook("h", f"sh {TOOL}")))
    return TOOL


def make_dangling_link(bench: Bench, outside: Path) -> str:
    bench.write("hooks: []\n")
    (bench.hooks_folder() / "a.sh").symlink_to(outside / "gone")
    return f"{HOOKS}/a.sh"


@pytest.mark.parametrize(
    "make",
    [
        make_file_link,
        make_folder_link,
        make_relative_link,
        make_chain_of_links,
        make_dangling_link,
        link_the_hooks_file,
        link_the_hook_folder,
        link_the_folder_above,
        link_an_argument,
        link_the_folder_of_an_argument,
    ],
)
def test_a_link_that_leaves_the_project_is_refused_with_its_path_and_target(
    bench: Bench, outside: Path, make: Callable[[Bench, Path], str]
):
    name = make(bench, outside)
    why = refuse(bench)
    assert str(bench.project / name) in why
    assert str(outside) in why


def test_a_link_within_the_project_is_covered_by_the_content_it_leads_to(bench: Bench):
    tool = write_tool(bench)
    bench.write("hooks: []\n")
    (bench.hooks_folder() / "a.sh").symlink_to("../../tools/a.sh")
    before = snapshot_project(bench)
    assert f"{HOOKS}/a.sh" in before.digests
    tool.write_text("echo changed\n")
    assert snapshot_project(bench).digest != before.digest


@pytest.mark.parametrize("target", [".", "..", "../.."])
def test_a_link_that_goes_in_circles_is_refused(bench: Bench, target: str):
    bench.write("hooks: []\n")
    (bench.hooks_folder() / "loop").symlink_to(target)
    with pytest.raises((UncoverableError, OSError)):
        snapshot_project(bench)


# What cannot be read to an end


def test_a_pipe_in_the_hook_folder_is_refused(bench: Bench):
    bench.write("hooks: []\n")
    os.mkfifo(bench.hooks_folder() / "pipe")
    assert "pipe is no regular file" in refuse(bench)


def test_a_hooks_file_that_is_a_pipe_is_refused(bench: Bench):
    bench.hooks_folder().mkdir(parents=True)
    os.mkfifo(bench.hooks_folder() / "hooks.yaml")
    assert "hooks.yaml is no regular file" in refuse(bench)


def test_more_files_than_can_be_looked_at_are_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("hookline.config.snapshot.MAX_FILES", 50)  # the real limit takes seconds to reach
    bench.write("hooks: []\n")
    for number in range(50):
        (bench.hooks_folder() / f"{number}").touch()
    assert "more than 50 files" in refuse(bench)


def test_the_limit_of_files_leaves_room_for_real_projects():
    assert MAX_FILES >= 1000


def test_more_bytes_than_can_be_read_are_refused(bench: Bench):
    bench.write("hooks: []\n")
    with (bench.hooks_folder() / "big").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert str(MAX_BYTES) in refuse(bench)


@pytest.fixture
def deep_folders(bench: Bench) -> Iterator[None]:
    """Folders in the hook folder, each in the one before, deeper than Python calls go."""
    bench.write("hooks: []\n")
    subprocess.run(["mkdir", "-p", "/".join("a" * 1200)], cwd=bench.hooks_folder(), check=True)
    yield
    subprocess.run(["rm", "-rf", bench.hooks_folder() / "a"], check=True)


@pytest.mark.usefixtures("deep_folders")
def test_folders_nested_too_deeply_are_refused(bench: Bench):
    with pytest.raises((UncoverableError, OSError)):
        snapshot_project(bench)


# Changes


def rewrite_with_its_time_put_back(path: Path) -> None:
    status = path.stat()
    path.write_text("FALSE"[: status.st_size].ljust(status.st_size))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_link(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("echo changed\n")
    path.unlink()
    path.symlink_to(other)


def write_beside(path: Path) -> None:
    path.with_name("new").touch()


CHANGES: dict[str, Callable[[Path], object]] = {
    "rewritten": lambda path: path.write_text("echo changed\n"),
    "rewritten with its size and time kept": rewrite_with_its_time_put_back,
    "appended to": lambda path: path.write_text(f"{path.read_text()}#\n"),
    "emptied": lambda path: path.write_text(""),
    "removed": Path.unlink,
    "renamed": lambda path: path.rename(path.with_name("b.sh")),
    "replaced by a folder": replace_by_folder,
    "replaced by a link": replace_by_link,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("name", [f"{HOOKS}/hooks.yaml", f"{HOOKS}/lib/a.sh", TOOL])
def test_a_changed_file_is_seen(bench: Bench, name: str, change: Callable[[Path], object]):
    taken = take_with_tool(bench)
    change(bench.project / name)
    found = taken.find_change()
    assert found is not None
    assert name.startswith(found)


def take_with_tool(bench: Bench) -> Snapshot:
    """The snapshot of a project with a script in a folder of its hook folder, and one elsewhere."""
    write_tool(bench)
    (bench.hooks_folder() / "lib").mkdir(parents=True)
    bench.write_script("lib/a.sh", "true\n")
    return cover(bench, {"type": "command", "argv": ["sh", TOOL]})


@pytest.mark.parametrize("folder", ["", "lib"])
def test_a_file_that_was_added_is_seen_at_its_folder(bench: Bench, folder: str):
    taken = take_with_tool(bench)
    (bench.hooks_folder() / folder / "new").touch()
    assert taken.find_change() == f"{HOOKS}/{folder}".rstrip("/")


def test_a_hook_folder_that_was_removed_is_seen(bench: Bench):
    taken = take_with_tool(bench)
    shutil.rmtree(bench.hooks_folder())
    assert taken.find_change() is not None


def rewrite_as_it_was(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


@pytest.mark.parametrize("touch", [Path.touch, rewrite_as_it_was, lambda path: path.chmod(0o600)])
@pytest.mark.parametrize("name", [f"{HOOKS}/hooks.yaml", f"{HOOKS}/lib/a.sh", TOOL])
def test_a_file_that_was_touched_but_is_equal_has_not_changed(bench: Bench, name: str, touch: Callable[[Path], object]):
    taken = take_with_tool(bench)
    touch(bench.project / name)
    assert taken.find_change() is None


def test_a_file_that_came_and_went_is_no_change(bench: Bench):
    taken = take_with_tool(bench)
    (bench.hooks_folder() / "new").touch()
    (bench.hooks_folder() / "new").unlink()
    assert taken.find_change() is None


def test_a_file_that_nothing_names_may_change(bench: Bench):
    taken = take_with_tool(bench)
    (bench.project / "README.md").write_text("hello\n")
    (bench.project / "tools" / "b.sh").write_text("hello\n")
    assert taken.find_change() is None


def test_a_file_replaced_by_a_pipe_is_seen_without_waiting_for_a_writer(bench: Bench):
    taken = take_with_tool(bench)
    path = bench.project / TOOL
    path.unlink()
    os.mkfifo(path)
    found: list[str | None] = []
    looking = threading.Thread(target=lambda: found.append(taken.find_change()), daemon=True)
    looking.start()
    looking.join(5)
    is_waiting = looking.is_alive()
    if is_waiting:
        os.close(os.open(path, os.O_WRONLY))
        looking.join()
    assert not is_waiting
    assert found == [TOOL]


# The digest of it all


def test_the_digest_does_not_depend_on_where_the_project_lies(bench: Bench):
    before = take_with_tool(bench)
    moved = bench.root / "moved"
    bench.project.rename(moved)
    bench.project = moved
    assert snapshot_project(bench).digest == before.digest


def test_the_digest_depends_on_which_file_holds_what(bench: Bench):
    bench.write("hooks: []\n")
    first, second = bench.write_script("a.sh", "one"), bench.write_script("b.sh", "two")
    before = snapshot_project(bench)
    first.write_text("two")
    second.write_text("one")
    assert snapshot_project(bench).digest != before.digest


def test_the_digest_says_how_it_was_made(bench: Bench):
    bench.write("hooks: []\n")
    assert snapshot_project(bench).digest.startswith("sha256:")


def test_names_that_are_no_text_are_digested_too(bench: Bench):
    bench.write("hooks: []\n")
    before = snapshot_project(bench)
    Path(os.fsdecode(os.fsencode(bench.hooks_folder()) + b"/\xff.sh")).touch()
    assert snapshot_project(bench).digest != before.digest
