"""Trust in a project's hooks: its three states, its record, and the values that grant it."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from builders import make_hook
from entries import command_hook, shell_hook, write_file
from hookline import ConfigError, Engine
from hookline.config.snapshot import CoveredFile, Snapshot
from hookline.config.trust import (
    GuardedEvent,
    TrustRecord,
    TrustStore,
    check_trust,
    find_guards,
    judge,
    read_guards,
    write_guards,
)
from hookline.outcome import EMPTY_DECISION
from support import Bench, find_run
from trusting import codes_of, open_recorded, snapshot_project, trust_project

GUARD = GuardedEvent(event="before_tool_call", hook_id="g")
A, B, FOLDER = ".hookline/hooks/a.sh", ".hookline/hooks/b.sh", ".hookline/hooks"


def snapshot_of(digests: dict[str, str]) -> Snapshot:
    """A snapshot of files with these digests."""
    files = {name: CoveredFile(digest=digest, identity=(0, 0, 0, 0)) for name, digest in digests.items()}
    return Snapshot(project=Path("/project"), files=files)


# The three states


def test_content_without_a_record_is_new():
    assert judge(snapshot_of({A: "1"}), None).state == "new"


def test_content_equal_to_its_record_is_trusted():
    judgement = judge(snapshot_of({A: "1", B: "2"}), TrustRecord(digests={B: "2", A: "1"}))
    assert (judgement.state, judgement.changes) == ("trusted", ())


@pytest.mark.parametrize(
    ("found", "changes"),
    [
        ({A: "1", B: "changed"}, (B,)),
        ({A: "1"}, (B,)),
        ({A: "1", B: "2", "new": "3"}, ("new",)),
        ({A: "1", "renamed": "2"}, (B, "renamed")),
        ({A: "2", B: "1"}, (A, B)),
        ({}, (A, B)),
    ],
    ids=["rewritten", "removed", "added", "renamed", "swapped", "all removed"],
)
def test_content_that_differs_from_its_record_has_changed_and_names_what_differs(
    found: dict[str, str], changes: tuple[str, ...]
):
    judgement = judge(snapshot_of(found), TrustRecord(digests={A: "1", B: "2"}))
    assert (judgement.state, judgement.changes) == ("changed", changes)


def test_a_changed_folder_is_named_after_the_files_that_changed_in_it():
    record = TrustRecord(digests={FOLDER: "folder:1", A: "1"})
    judgement = judge(snapshot_of({FOLDER: "folder:2", A: "1", B: "2"}), record)
    assert judgement.changes == (B, FOLDER)


def test_changed_content_keeps_what_the_trusted_version_guarded():
    judgement = judge(snapshot_of({A: "2"}), TrustRecord(digests={A: "1"}, guards=(GUARD,)))
    assert judgement.guards == (GUARD,)


@pytest.mark.parametrize("found", [{A: "1"}, {A: "2"}])
def test_content_that_was_never_trusted_guards_nothing(found: dict[str, str]):
    assert judge(snapshot_of(found), None).guards == ()


# Which events are guarded


@pytest.mark.parametrize(
    ("options", "is_guard"),
    [
        ({}, True),
        ({"event": "user_prompt_submit"}, True),
        ({"event": "after_turn"}, False),
        ({"mode": "async"}, False),
        ({"mode": "fire_and_forget"}, False),
        ({"on_error": "warn"}, False),
        ({"on_error": "ignore"}, False),
        ({"enabled": False}, False),
    ],
    ids=str,
)
def test_a_guard_is_an_enabled_blocking_gate_hook_that_blocks_on_errors(options: dict[str, Any], is_guard: bool):
    hook = make_hook("g", **{"on_error": "block", **options})
    assert [guard.hook_id for guard in find_guards([hook])] == (["g"] if is_guard else [])


def test_guards_are_the_same_after_writing_and_reading():
    guards = (GUARD, GuardedEvent(event="user_prompt_submit", hook_id="ä\n\udcff"))
    assert read_guards(json.loads(json.dumps(write_guards(guards)))) == guards


@pytest.mark.parametrize("item", [None, 1, "before_tool_call", ["before_tool_call", "g"]])
def test_what_is_no_guarded_event_is_not_read_as_one(item: Any):
    assert read_guards([item, {"event": GUARD.event, "hook": GUARD.hook_id}]) == (GUARD,)


# The record


@pytest.fixture
def store(bench: Bench) -> TrustStore:
    return TrustStore(bench.home)


def record_file(bench: Bench) -> Path:
    (path,) = (bench.home / "trust").iterdir()
    return path


def test_what_was_recorded_is_found(bench: Bench, store: TrustStore):
    bench.write(write_file(command_hook("g", "true", on_error="block")))
    taken = trust_project(bench)
    assert store.get(bench.project) == TrustRecord(digests=taken.digests, guards=(GUARD,))


def test_a_project_that_was_never_trusted_has_no_record(bench: Bench, store: TrustStore):
    assert store.get(bench.project) is None


def test_a_record_is_found_by_any_path_that_leads_to_the_project(bench: Bench, store: TrustStore):
    bench.write("hooks: []\n")
    trust_project(bench)
    (bench.root / "link").symlink_to(bench.project)
    assert store.get(bench.root / "link") == store.get(bench.project)
    assert store.get(bench.project / ".." / "project") is not None


def test_a_project_that_took_the_place_of_a_trusted_one_has_its_record(bench: Bench):
    """The record is about a path: what stands there now is compared with it, and is found changed."""
    bench.write(write_file(shell_hook("h", "touch ran")))
    trust_project(bench)
    shutil.rmtree(bench.project)
    bench.project.mkdir()
    bench.write(write_file(shell_hook("h", "touch other")))
    assert codes_of(open_recorded(bench)) == ["trust-changed"]


def test_a_project_that_was_moved_is_new(bench: Bench):
    bench.write(write_file(shell_hook("h", "touch ran")))
    trust_project(bench)
    bench.project = bench.project.rename(bench.root / "moved")
    assert codes_of(open_recorded(bench)) == ["untrusted"]


def test_a_record_is_for_the_users_eyes_only(bench: Bench):
    bench.write("hooks: []\n")
    trust_project(bench)
    assert stat.S_IMODE(record_file(bench).stat().st_mode) == 0o600
    assert stat.S_IMODE((bench.home / "trust").stat().st_mode) == 0o700


def test_a_newer_record_takes_the_place_of_the_older(bench: Bench, store: TrustStore):
    bench.write("hooks: []\n")
    trust_project(bench)
    bench.write_script("a.sh", "true")
    taken = trust_project(bench)
    record = store.get(bench.project)
    assert record is not None
    assert record.digests == taken.digests


def test_a_removed_record_is_gone(bench: Bench, store: TrustStore):
    bench.write("hooks: []\n")
    trust_project(bench)
    assert store.remove(bench.project)
    assert store.get(bench.project) is None


def test_removing_a_record_that_is_not_there_says_so(bench: Bench, store: TrustStore):
    assert not store.remove(bench.project)


def test_a_record_that_cannot_be_written_is_an_os_error(bench: Bench):
    bench.write("hooks: []\n")
    bench.home.mkdir()
    (bench.home / "trust").touch()
    with pytest.raises(OSError, match="trust"):
        trust_project(bench)


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def drop(path: Path, key: str) -> None:
    data = json.loads(path.read_text())
    del data[key]
    path.write_text(json.dumps(data))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_text(""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "no JSON": lambda path: path.write_text("trusted: yes\n"),
    "a list": lambda path: path.write_text("[]"),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "nested endlessly": lambda path: path.write_text("[" * 100_000),
    "without its project": lambda path: drop(path, "project"),
    "without its files": lambda path: drop(path, "files"),
    "without its guards": lambda path: drop(path, "guards"),
    "with files of another kind": lambda path: rewrite(path, files=[]),
    "with guards of another kind": lambda path: rewrite(path, guards={}),
    "of another project": lambda path: rewrite(path, project="/elsewhere"),
    "of a project that is no text": lambda path: rewrite(path, project=1),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
async def test_a_damaged_or_foreign_record_counts_as_none(bench: Bench, damage: Callable[[Path], object]):
    bench.write(write_file(shell_hook("h", "touch ran", on_error="block")))
    trust_project(bench)
    damage(record_file(bench))
    engine = open_recorded(bench)
    assert codes_of(engine) == ["untrusted"]
    assert await engine.fire(bench.event()) is EMPTY_DECISION


def test_a_record_copied_from_another_project_grants_nothing(bench: Bench):
    text = write_file(shell_hook("h", "touch ran"))
    bench.write(text)
    trust_project(bench)
    copied = record_file(bench).read_bytes()
    (bench.root / "elsewhere").mkdir()
    other = Bench(bench.root / "elsewhere")
    other.write(text)
    trust_project(other)
    record_file(other).write_bytes(copied)
    engine = open_recorded(other)
    assert codes_of(engine) == ["untrusted"]
    other.close()


# The states of an engine


async def test_hooks_of_a_trusted_project_run(bench: Bench):
    bench.write(write_file(shell_hook("h", "touch ran")))
    trust_project(bench)
    engine = open_recorded(bench)
    await engine.fire(bench.event())
    assert (bench.project / "ran").exists()
    assert engine.problems == ()


async def test_hooks_of_a_new_project_do_not_run(bench: Bench):
    bench.write(write_file(shell_hook("h", "touch ran", on_error="block")))
    assert await open_recorded(bench).fire(bench.event()) is EMPTY_DECISION
    assert not (bench.project / "ran").exists()


async def test_hooks_of_a_changed_project_do_not_run_and_its_guarded_events_are_closed(bench: Bench):
    path = bench.write(write_file(shell_hook("g", "true", on_error="block"), shell_hook("h", "touch ran")))
    trust_project(bench)
    path.write_text(path.read_text() + "\n")
    decision = await open_recorded(bench).fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert "hooks.yaml" in decision.reason
    assert not (bench.project / "ran").exists()


def test_events_that_the_trusted_version_did_not_guard_stay_open_when_it_changes(bench: Bench):
    path = bench.write(write_file(shell_hook("g", "true", on_error="block"), shell_hook("h", "x", event="after_turn")))
    trust_project(bench)
    path.write_text(path.read_text() + "\n")
    engine = open_recorded(bench)
    assert engine.listens("before_tool_call")
    assert not engine.listens("after_turn")
    assert not engine.listens("user_prompt_submit")


def test_a_guard_that_the_changed_version_adds_closes_nothing(bench: Bench):
    path = bench.write(write_file(shell_hook("h", "true", event="after_turn")))
    trust_project(bench)
    path.write_text(write_file(shell_hook("g", "true", on_error="block")))
    engine = open_recorded(bench)
    assert codes_of(engine) == ["trust-changed"]
    assert not engine.listens("before_tool_call")


async def test_content_put_back_as_it_was_is_trusted_again(bench: Bench):
    path = bench.write(write_file(shell_hook("h", "touch ran")))
    trust_project(bench)
    text = path.read_text()
    path.write_text("hooks: []\n")
    path.write_text(text)
    await open_recorded(bench).fire(bench.event())
    assert (bench.project / "ran").exists()


async def test_an_entry_that_was_left_out_when_trusted_keeps_its_gate_closed_after_a_change(bench: Bench):
    """A guard with a mistake in it closes its gate; a change of the file must not open it."""
    path = bench.write(write_file({**command_hook("g", "true", on_error="block"), "evnt": "x"}))
    trust_project(bench)
    assert (await open_recorded(bench).fire(bench.event())).verdict == "block"
    path.write_text("hooks: []\n")
    assert (await open_recorded(bench).fire(bench.event())).verdict == "block"


async def test_deleting_the_whole_hook_folder_of_a_trusted_project_closes_what_it_guarded(bench: Bench):
    bench.write(write_file(shell_hook("g", "true", on_error="block")))
    trust_project(bench)
    shutil.rmtree(bench.hooks_folder().parent)
    engine = open_recorded(bench)
    decision = await engine.fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert "'g'" in decision.reason
    assert codes_of(engine) == ["trust-changed"]


async def test_a_project_of_a_user_who_took_trust_back_is_new(bench: Bench, store: TrustStore):
    bench.write(write_file(shell_hook("g", "true", on_error="block")))
    trust_project(bench)
    store.remove(bench.project)
    engine = open_recorded(bench)
    assert codes_of(engine) == ["untrusted"]
    assert await engine.fire(bench.event()) is EMPTY_DECISION


# The value of `trust`


@pytest.mark.parametrize("trust", ["", "yes", "ALL", "sha256:0", "true"])
def test_a_word_that_means_nothing_is_refused_with_what_is_possible(trust: str):
    with pytest.raises(ConfigError) as caught:
        check_trust(trust)  # type: ignore[arg-type]
    assert repr(trust) in str(caught.value)
    assert "recorded, all, none" in str(caught.value)


@pytest.mark.parametrize("trust", [None, True, 1, b"all"])
def test_a_value_that_is_neither_a_word_nor_digests_is_refused(bench: Bench, trust: Any):
    bench.write("hooks: []\n")
    with pytest.raises(ConfigError):
        bench.open(trust=trust)


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
async def test_digests_trust_exactly_their_content(bench: Bench, kind: Callable[[list[str]], Collection[str]]):
    path = bench.write(write_file(shell_hook("h", "touch ran")))
    trust = kind(["sha256:0", snapshot_project(bench).digest])
    await bench.open(trust=trust).fire(bench.event())
    assert (bench.project / "ran").exists()
    path.write_text(write_file(shell_hook("h", "touch other")))
    assert await bench.open(trust=trust).fire(bench.event()) is EMPTY_DECISION
    assert not (bench.project / "other").exists()


@pytest.mark.parametrize("trust", [[], ["sha256:0"], ["all"]])
async def test_digests_of_other_content_trust_nothing(bench: Bench, trust: list[str]):
    bench.write(write_file(shell_hook("h", "touch ran")))
    trust_project(bench)
    engine = bench.open(trust=trust)
    assert await engine.fire(bench.event()) is EMPTY_DECISION
    assert codes_of(engine) == ["untrusted"]


async def test_content_trusted_by_its_digest_that_changes_later_does_not_run(bench: Bench):
    script = bench.write_script("h.sh", "true")
    bench.write(write_file(command_hook("h", "sh", str(script))))
    engine = bench.open(trust=[snapshot_project(bench).digest])
    script.write_text("touch ran\n")
    run = find_run(await engine.fire(bench.event()), "h")
    assert run.status == "skipped"
    assert not (bench.project / "ran").exists()


async def test_all_trusts_what_is_there_and_whatever_becomes_of_it(bench: Bench):
    script = bench.write_script("h.sh", "true")
    bench.write(write_file(command_hook("h", "sh", str(script))))
    engine = bench.open(trust="all")
    script.write_text("touch ran\n")
    await engine.fire(bench.event())
    assert (bench.project / "ran").exists()


async def test_none_trusts_nothing_not_even_what_is_recorded(bench: Bench):
    bench.write(write_file(shell_hook("g", "touch ran", on_error="block")))
    trust_project(bench)
    engine = bench.open(trust="none")
    assert codes_of(engine) == ["untrusted"]
    assert await engine.fire(bench.event()) is EMPTY_DECISION


def test_recorded_is_the_default(bench: Bench):
    bench.write("hooks: []\n")
    with Engine.open(bench.project, home=bench.home) as engine:
        assert codes_of(engine) == ["untrusted"]


def test_looking_at_a_project_records_nothing(bench: Bench):
    bench.write("hooks: []\n")
    open_recorded(bench)
    assert not os.path.lexists(bench.home / "trust")
