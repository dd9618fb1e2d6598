"""What counts at the roots that are watched, and which folders have to be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hookline.config import inventory
from hookline.config.inventory import Inventory, take_inventory
from hookline.config.layers import load_layers
from hookline.config.roots import WatchRoot, watch_roots
from hookline.handlers.folders import FolderProvider
from support import Bench


def look(path: Path, **options: object) -> Inventory:
    return take_inventory([WatchRoot(path=path, **options)])  # type: ignore[arg-type]


def names_in(found: Inventory, folder: Path) -> list[str]:
    return sorted(os.path.relpath(path, folder) for path in found.entries)


def make_file(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_everything_below_a_folder_counts(tmp_path: Path):
    make_file(tmp_path / "a" / "b" / "c")
    assert names_in(look(tmp_path), tmp_path) == [".", "a", "a/b", "a/b/c"]


def test_names_that_are_left_out_do_not_count(tmp_path: Path):
    for name in ("tmp/x", "a/tmp", "state.json", "a/state.1234", "a/hook.json", "hooks.yaml~", "__pycache__/m.pyc"):
        make_file(tmp_path / name)
    found = look(tmp_path, skipped=frozenset({"tmp"}), skipped_starts=("state.",))
    assert names_in(found, tmp_path) == [".", "a", "a/hook.json", "a/tmp"]


def test_a_root_that_does_not_exist_is_waited_for_in_the_nearest_folder_above(tmp_path: Path):
    found = look(tmp_path / "one" / "two" / "three" / "four")
    assert (found.entries, list(found.folders)) == ({}, [str(tmp_path)])


def test_the_two_folders_above_a_root_are_watched(tmp_path: Path):
    root = tmp_path / "one" / "two"
    root.mkdir(parents=True)
    assert sorted(look(root).folders) == [str(tmp_path), str(tmp_path / "one"), str(root)]


def test_the_folder_that_a_link_leads_to_is_watched(tmp_path: Path):
    target = make_file(tmp_path / "elsewhere" / "file")
    link = tmp_path / "hooks" / "file"
    link.parent.mkdir()
    link.symlink_to(target)
    assert str(target.parent) in look(link.parent).folders


def test_a_link_into_itself_is_followed_once(tmp_path: Path):
    (tmp_path / "again").symlink_to(tmp_path)
    assert names_in(look(tmp_path), tmp_path) == [".", "again"]


def test_a_link_that_leads_nowhere_counts(tmp_path: Path):
    (tmp_path / "link").symlink_to("nowhere")
    assert "link" in names_in(look(tmp_path), tmp_path)


def test_a_change_of_content_or_mode_is_seen(tmp_path: Path):
    path = make_file(tmp_path / "file", "one")
    before = look(tmp_path)
    path.write_text("two")
    changed = look(tmp_path)
    path.chmod(0o700)
    assert len({str(found.entries[str(path)]) for found in (before, changed, look(tmp_path))}) == 3


def test_a_file_that_has_just_changed_looks_different_once_more(tmp_path: Path):
    """Within one tick of the disk's clock a file can change again and keep its size and times."""
    path = make_file(tmp_path / "file")
    assert look(tmp_path).entries[str(path)] != look(tmp_path).entries[str(path)]


def test_more_than_can_be_looked_at_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inventory, "MAX_ENTRIES", 3)
    for name in "abcdef":
        make_file(tmp_path / name)
    found = look(tmp_path)
    assert (found.is_cut, len(found.entries)) == (True, 3)


def test_the_folders_of_a_hosts_own_provider_are_roots(bench: Bench):
    provider = FolderProvider(name="mine", priority=5, root=bench.root / "mine")
    layers = load_layers(bench.project, home=bench.home, providers=[provider])
    paths = [root.path for root in watch_roots(layers, [provider])]
    assert bench.root / "mine" / "pre" in paths


def test_what_hookline_writes_is_left_out_where_the_home_is_the_projects_too(bench: Bench):
    """A person may work in their home folder: then both layers have one folder."""
    (bench.project / ".hookline").symlink_to(bench.home)
    make_file(bench.home / "hooks" / "log" / "today.jsonl")
    found = take_inventory(watch_roots(load_layers(bench.project, home=bench.home)))
    assert not any(path.endswith("today.jsonl") for path in found.entries)
