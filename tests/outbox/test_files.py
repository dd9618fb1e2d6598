"""The outbox as files: the contract of every store, and what only files can go wrong with."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.job import Job, JobState, utc_now
from hookline.outbox import files
from hookline.outbox.codec import decode_job, encode_job
from hookline.outbox.files import FileOutbox, find_file_system
from hookline.outbox.store import OutboxError
from jobs import HOUR_S, make_job
from storage import SmallDisk, small_disk, unprivileged

pytest.register_assert_rewrite("store_contract")

from store_contract import SharedStoreContract, get, ids, put_finished, run_side_by_side, take  # noqa: E402 - see above

_NO_JOBS = {
    "torn": encode_job(make_job())[:-10],
    "empty": b"",
    "binary": bytes(range(256)),
    "not an object": b"[1, 2]",
    "another object": b'{"hello": "world"}',
    "wrong types": encode_job(make_job()).replace(b'"starts": 0', b'"starts": "none"'),
    "nested": b"[" * 100_000,
    "of another job": encode_job(make_job()),
}


class FilePlace:
    """A folder with an outbox in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.program = (
            "from pathlib import Path\n"
            "from hookline.outbox.files import FileOutbox\n"
            f"store = FileOutbox(Path({str(root)!r}))\n"
        )

    def open(self) -> FileOutbox:
        return FileOutbox(self.root)

    def write(self, state: JobState, name: str, data: bytes) -> Path:
        """Put a file into the folder of a state, as somebody else might."""
        path = self.root / state / name
        path.write_bytes(data)
        return path

    def names(self, state: JobState) -> list[str]:
        """All names in the folder of a state."""
        return names_in(self.root / state)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def place(tmp_path: Path) -> FilePlace:
    return FilePlace(tmp_path / "outbox")


@pytest.fixture
def store(place: FilePlace) -> FileOutbox:
    """An outbox whose folders are there."""
    store = place.open()
    put_finished(store, "done")
    store.purge("done", utc_now() + timedelta(hours=1))
    return store


class TestFileOutbox(SharedStoreContract):
    """The contract, over files."""


# What is on disk


def test_nothing_is_made_before_the_first_job(place: FilePlace) -> None:
    store = place.open()
    assert (store.get(make_job().id), store.claim(make_job().id), ids(store, "failed")) == (None, None, [])
    assert not place.root.exists()


def test_a_job_is_one_json_file_named_by_its_id(place: FilePlace, store: FileOutbox) -> None:
    store.put(job := make_job(payload={"event": "after_turn", "text": "ü"}))
    data = json.loads((place.root / "pending" / f"{job.id}.json").read_text(encoding="ascii"))
    assert (data["id"], data["hook_id"], data["payload"]["text"], data["state"]) == (job.id, "job", "ü", "pending")
    assert place.names("pending") == [f"{job.id}.json"]


def test_folders_and_files_are_closed_to_others(place: FilePlace) -> None:
    before = os.umask(0)
    try:
        store = place.open()
        put_finished(store, "done")
        put_finished(store, "failed")
        store.put(job := make_job())
        take(store, job)
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (place.root, *place.root.rglob("*"))}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert len(modes) == 1 + 4 + 4


def test_no_lock_is_left_of_a_finished_job(place: FilePlace, store: FileOutbox) -> None:
    job = put_finished(store, "failed")
    store.retry(job.id)
    store.finish(claim := take(store, job), replace(claim.job, state="done"))
    assert list((place.root / "locks").iterdir()) == []


def test_whoever_inherited_a_claim_can_take_it_over(store: FileOutbox) -> None:
    store.put(job := make_job())
    claim = take(store, job)
    adopted = store.adopt(job.id, claim.inheritable[0])
    assert adopted is not None
    store.finish(adopted, replace(job, state="done"))
    assert get(store, job).state == "done"


def test_a_claim_of_a_job_that_is_over_is_not_taken_over(store: FileOutbox) -> None:
    job = put_finished(store, "done")
    assert store.adopt(job.id, 0) is None


# Deaths between two steps


@pytest.mark.parametrize("state", ["done", "failed"])
def test_a_death_between_writing_the_end_and_removing_the_pending_job_is_mended(
    place: FilePlace, store: FileOutbox, state: JobState
) -> None:
    finished = put_finished(store, state)
    place.write("pending", f"{finished.id}.json", encode_job(make_job(finished.id, starts=1)))
    assert store.claim(finished.id) is None
    assert store.count() == {"pending": 0, "done": 0, "failed": 0, state: 1}
    assert ids(store, state) == [finished.id]


def test_a_death_in_the_middle_of_a_retry_leaves_a_job_that_can_be_retried(place: FilePlace, store: FileOutbox) -> None:
    failed = put_finished(store, "failed")
    place.write("pending", f"{failed.id}.json", encode_job(failed.reset()))
    store.claim(failed.id)
    assert store.retry(failed.id) == failed.reset()
    assert take(store, failed).job == failed.reset()


def test_a_lock_that_a_dead_process_left_does_not_hold(place: FilePlace, store: FileOutbox) -> None:
    store.put(job := make_job())
    (place.root / "locks" / job.id).touch()
    assert store.claim(job.id) is not None


# Temporary files


def test_a_half_written_file_is_no_job(place: FilePlace, store: FileOutbox) -> None:
    place.write("pending", f".{make_job().id}.0a1b2c3d", b'{"id": ')
    assert ids(store, "pending") == []
    assert store.count()["pending"] == 0


def test_stale_temporary_files_are_swept(place: FilePlace, store: FileOutbox) -> None:
    for state in ("pending", "done", "failed"):
        path = place.write(state, ".x.0a1b2c3d", b"half")
        os.utime(path, (time.time() - 2 * HOUR_S,) * 2)
    store.sweep()
    assert [place.names(state) for state in ("pending", "done", "failed")] == [[], [], []]


def test_temporary_files_of_living_writers_are_not_swept(place: FilePlace, store: FileOutbox) -> None:
    place.write("pending", ".x.0a1b2c3d", b"half")
    store.sweep()
    assert place.names("pending") == [".x.0a1b2c3d"]


def test_jobs_are_not_swept(place: FilePlace, store: FileOutbox) -> None:
    store.put(job := make_job())
    os.utime(place.root / "pending" / f"{job.id}.json", (0, 0))
    store.sweep()
    assert ids(store, "pending") == [job.id]


def test_writers_of_one_job_never_share_a_temporary_name(place: FilePlace, store: FileOutbox) -> None:
    """B66: many write one job at once; each write succeeds, and the file is one of theirs, whole."""
    job = make_job(payload={"text": "x" * 50_000})
    barrier = threading.Barrier(6)

    def write(number: int) -> None:
        barrier.wait()
        for _ in range(10):
            place.open().put(replace(job, host=str(number)))

    run_side_by_side(*[lambda number=number: write(number) for number in range(6)])
    assert get(store, job).payload == job.payload
    assert place.names("pending") == [f"{job.id}.json"]


# What is no job


@pytest.mark.parametrize("data", _NO_JOBS.values(), ids=_NO_JOBS.keys())
def test_what_is_no_job_is_set_aside_with_a_note(place: FilePlace, store: FileOutbox, data: bytes) -> None:
    path = place.write("pending", "0123456789abcdef.json", data)
    assert ids(store, "pending") == []
    (note,) = store.list("failed")
    assert (note.payload["file"], note.source.file, note.state) == (path.name, str(path), "failed")
    assert (note.error or "").startswith("unreadable: ")
    assert not path.exists()


def test_what_is_no_job_is_set_aside_once(place: FilePlace, store: FileOutbox) -> None:
    place.write("pending", "a.json", b"{")
    for _ in range(3):
        assert ids(place.open(), "pending") == []
    assert store.count() == {"pending": 0, "done": 0, "failed": 1}


def test_what_could_be_read_of_it_is_kept(place: FilePlace, store: FileOutbox) -> None:
    data = encode_job(make_job(payload={"text": "precious"}))[:-10]
    place.write("pending", "a.json", data)
    ids(store, "pending")
    (note,) = store.list("failed")
    assert note.payload["content"] == data.decode()


def test_a_file_of_another_name_is_set_aside(place: FilePlace, store: FileOutbox) -> None:
    place.write("pending", "notes.txt", b"hello")
    assert ids(store, "pending") == []
    (note,) = store.list("failed")
    assert (note.payload["file"], note.payload["content"]) == ("notes.txt", "hello")
    assert place.names("pending") == []


def test_the_jobs_around_a_torn_one_are_kept(place: FilePlace, store: FileOutbox) -> None:
    jobs = sorted(make_job().id for _ in range(5))
    for job_id in jobs:
        store.put(make_job(job_id))
    path = place.root / "pending" / f"{jobs[2]}.json"
    os.truncate(path, path.stat().st_size - 10)
    assert ids(store, "pending") == jobs[:2] + jobs[3:]


def test_a_torn_job_cannot_be_claimed(place: FilePlace, store: FileOutbox) -> None:
    place.write("pending", "a.json", b"{")
    assert store.claim("a") is None


def test_a_note_cannot_be_retried(place: FilePlace, store: FileOutbox) -> None:
    place.write("pending", "a.json", b"{")
    ids(store, "pending")
    (note,) = store.list("failed")
    assert store.retry(note.id) is None


def test_of_many_that_find_a_torn_job_one_sets_it_aside(place: FilePlace, store: FileOutbox) -> None:
    for round_ in range(15):
        for number in range(4):
            place.write("pending", f"{round_}-{number}.json", b"{" * 60_000)
        barrier = threading.Barrier(4)

        def look(barrier: threading.Barrier = barrier) -> list[str]:
            barrier.wait()
            return ids(place.open(), "pending")

        run_side_by_side(*[look] * 4)
    assert store.count() == {"pending": 0, "done": 0, "failed": 60}


@pytest.mark.parametrize("state", ["done", "failed"])
def test_torn_files_of_finished_jobs_are_left_where_they_are(
    place: FilePlace, store: FileOutbox, state: JobState
) -> None:
    place.write(state, "a.json", b"{")
    assert ids(store, state) == []
    assert place.names(state) == ["a.json"]


def test_a_folder_among_the_jobs_hurts_nobody(place: FilePlace, store: FileOutbox) -> None:
    (place.root / "pending" / "a.json").mkdir()
    store.put(job := make_job())
    assert ids(store, "pending") == [job.id]


# File systems


@pytest.mark.parametrize("system", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "ceph"])
def test_a_network_file_system_is_refused(place: FilePlace, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(files, "find_file_system", lambda path: system)
    with pytest.raises(OutboxError, match=rf"not accept.*locks.*network file system \({system}\)"):
        place.open().put(make_job())


@pytest.mark.parametrize("system", ["", "ext4", "tmpfs", "btrfs", "overlay"])
def test_any_other_file_system_is_taken(place: FilePlace, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(files, "find_file_system", lambda path: system)
    store = place.open()
    store.put(make_job())
    assert store.count()["pending"] == 1


def test_a_file_system_is_found_by_its_mount(disk: SmallDisk) -> None:
    assert find_file_system(disk.folder / "not" / "there") == "tmpfs"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("plain", "plain"),
        ("a b", r"a\040b"),
        ("tab\there", r"tab\011here"),
        ("back\\slash", r"back\134slash"),
        ("é", "é"),
    ],
)
def test_the_innermost_mount_counts_whatever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, written: str
) -> None:
    mounts = tmp_path / "mountinfo"
    lines = [
        "22 1 8:1 / / rw,relatime - ext4 /dev/root rw",
        f"23 22 0:41 / {tmp_path}/{written} rw,relatime shared:1 - nfs4 server:/x rw",
        f"24 23 0:42 / {tmp_path}/{written}/inner rw - tmpfs tmpfs rw",
    ]
    mounts.write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(files, "_MOUNTS", mounts)
    found = [find_file_system(tmp_path / name / inner) for inner in ("outbox", "inner/outbox")]
    assert (find_file_system(tmp_path), found) == ("ext4", ["nfs4", "tmpfs"])


def test_a_system_without_mounts_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOUNTS", tmp_path / "none")
    assert find_file_system(tmp_path) == ""


# No room, no permission


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def test_on_a_full_disk_a_job_is_not_accepted(disk: SmallDisk) -> None:
    """B66: whoever stores a job is told that it was not stored, and nothing is left of the attempt."""
    store = FileOutbox(disk.folder / "outbox")
    store.put(make_job())
    disk.fill()
    with pytest.raises(OutboxError, match=r"does not accept the job: (No space left on device|File too large)"):
        store.put(make_job())
    assert names_in(disk.folder / "outbox" / "done") == []
    assert len(names_in(disk.folder / "outbox" / "pending")) == 1


def test_after_space_is_freed_the_next_job_is_accepted(disk: SmallDisk) -> None:
    """B66."""
    store = FileOutbox(disk.folder / "outbox")
    store.put(first := make_job())
    disk.fill()
    with pytest.raises(OutboxError):
        store.put(make_job())
    disk.free()
    store.put(second := make_job())
    assert ids(store, "pending") == sorted([first.id, second.id])


def test_a_job_larger_than_the_room_that_is_left_is_not_accepted(disk: SmallDisk) -> None:
    store = FileOutbox(disk.folder / "outbox")
    store.put(make_job())
    disk.fill(leave=8192)
    with pytest.raises(OutboxError):
        store.put(make_job(payload={"text": "x" * 50_000}))
    store.put(make_job())
    assert len(ids(store, "pending")) == 2


def test_on_a_full_disk_a_job_whose_start_cannot_be_counted_stays_whole(disk: SmallDisk) -> None:
    store = FileOutbox(disk.folder / "outbox")
    store.put(job := make_job())
    disk.fill()
    with pytest.raises(OSError, match=r"No space left|too large"):
        store.begin(take(store, job), utc_now())
    assert get(store, job) == job


def test_on_a_full_disk_a_job_whose_end_cannot_be_written_stays_pending(disk: SmallDisk) -> None:
    store = FileOutbox(disk.folder / "outbox")
    store.put(job := make_job())
    claim = store.begin(take(store, job), utc_now())
    disk.fill()
    with pytest.raises(OSError, match=r"No space left|too large"):
        store.finish(claim, replace(claim.job, state="done"))
    store.release(claim)
    disk.free()
    assert take(store, job).job == claim.job


def test_on_a_full_disk_a_failed_job_that_cannot_be_retried_stays_failed(disk: SmallDisk) -> None:
    store = FileOutbox(disk.folder / "outbox")
    job = put_finished(store, "failed")
    disk.fill()
    with pytest.raises(OutboxError):
        store.retry(job.id)
    disk.free()
    assert ids(store, "failed") == [job.id]
    assert store.retry(job.id) is not None


_READER = """
import sys
from pathlib import Path
from hookline.outbox.files import FileOutbox
from hookline.outbox.codec import decode_job
from hookline.outbox.store import OutboxError
store = FileOutbox(Path(sys.argv[1]))
print(len(list(store.list("pending"))))
try:
    store.put(decode_job(sys.stdin.buffer.read()))
except OutboxError as error:
    print(error)
"""


@contextlib.contextmanager
def read_only(root: Path) -> Iterator[None]:
    """A folder and those in it that may be read, but not written."""
    folders = [path for path in (root, *root.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o500)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o700)


def _read_unprivileged(root: Path, job: Job) -> list[str]:
    command = unprivileged(sys.executable, "-c", _READER, str(root))
    done = subprocess.run(command, input=encode_job(job), stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().splitlines()


def test_in_a_read_only_home_jobs_are_read_but_not_accepted(place: FilePlace, store: FileOutbox) -> None:
    store.put(make_job())
    with read_only(place.root):
        count, said = _read_unprivileged(place.root, make_job())
    assert count == "1"
    assert "does not accept the job: Permission denied" in said
    assert str(place.root) in said


def test_a_home_that_cannot_be_made_accepts_no_job(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o500)
    said = _read_unprivileged(tmp_path / "home" / "hooks" / "outbox", make_job())[-1]
    assert "does not accept the job: Permission denied" in said


def test_a_file_where_the_outbox_should_be_accepts_no_job(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("mine")
    with pytest.raises(OutboxError, match="does not accept the job"):
        FileOutbox(tmp_path / "outbox").put(make_job())


def test_every_job_survives_its_encoding() -> None:
    job = make_job(state="failed", starts=2, last_start=utc_now(), finished_at=utc_now(), exit_code=1, error="e")
    assert decode_job(encode_job(job)) == job
