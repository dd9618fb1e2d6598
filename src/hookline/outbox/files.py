"""
Durable jobs as files: one JSON file a job, in a folder for each state.

A file is written under another name, flushed, renamed, and the folder flushed, so that it is whole or not there.
The right to run a job is a lock of the operating system on a file of its own, which the hook's process inherits:
when the host is killed the lock is free only once the hook has ended too.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from hookline.job import Job, JobSource, JobState, utc_now
from hookline.outbox.codec import UnreadableJobError, decode_job, encode_job
from hookline.outbox.store import Claim, OutboxError
from hookline.private import make_private_folder, read_regular

try:
    import fcntl
except ImportError:  # pragma: no cover - untested: Windows
    fcntl = None  # type: ignore[assignment]

STATES: tuple[JobState, ...] = ("pending", "done", "failed")
_NETWORK_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs"})
_STALE_TEMPORARY_S = 3600
_LONGEST_ID = 100
_MOST_KEPT_OF_TORN = 64 * 1024
_OCTAL = re.compile(rb"\\([0-7]{3})")
_MOUNTS = Path("/proc/self/mountinfo")


class FileClaim(Struct, frozen=True, kw_only=True):
    """A claim by a lock; `lock_fd` is the open lock file."""

    job: Job
    lock_fd: int

    @property
    def inheritable(self) -> tuple[int, ...]:
        """The lock, so that whoever runs the job holds it."""
        return (self.lock_fd,)


class FileOutbox:
    """The outbox below a folder; nothing is created before the first job."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._is_ready = False

    def put(self, job: Job) -> None:
        """Write a pending job and flush it with its folder; raises `OutboxError` when that fails."""
        try:
            self._make_ready()
            self._write("pending", job)
        except (OSError, ValueError, TypeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise OutboxError(f"the outbox does not accept the job: {reason or error} ({self._root})") from error

    def claim(self, job_id: str) -> FileClaim | None:
        """Lock a pending job, and look again whether it is pending still."""
        lock_fd = self._lock(job_id) if _is_job_id(job_id) else None
        if lock_fd is None:
            return None
        job = self._read("pending", job_id)
        if job is None or self._is_finished(job_id):
            self._unlock(job_id, lock_fd)
            return None
        return FileClaim(job=job, lock_fd=lock_fd)

    def begin(self, claim: Claim, now: datetime) -> FileClaim:
        """Record one more start."""
        assert isinstance(claim, FileClaim)
        job = claim.job.started(now)
        self._write("pending", job, flush_folder=False)
        return FileClaim(job=job, lock_fd=claim.lock_fd)

    def finish(self, claim: Claim, job: Job) -> None:
        """Write the job where its state says, remove the pending one, and free the lock for good."""
        assert isinstance(claim, FileClaim)
        self._write(job.state, job)
        _remove(self._path("pending", job.id))
        self._unlock(job.id, claim.lock_fd)

    def release(self, claim: Claim) -> None:
        """Let go of the lock without opening it: a process that inherited it holds it on."""
        assert isinstance(claim, FileClaim)
        os.close(claim.lock_fd)

    def adopt(self, job_id: str, lock_fd: int) -> FileClaim | None:
        """The claim of whoever inherited its lock; None when the job is pending no more."""
        job = self._read("pending", job_id)
        return None if job is None else FileClaim(job=job, lock_fd=lock_fd)

    def get(self, job_id: str) -> Job | None:
        """The job in whatever state it is."""
        if not _is_job_id(job_id):
            return None
        return next((job for state in STATES if (job := self._read(state, job_id)) is not None), None)

    def list(self, state: JobState) -> Iterator[Job]:
        """The jobs in a state, in the order of their ids; torn and foreign files are set aside."""
        self._sweep(state)
        for name in self._names(state):
            job = self._read(state, name.removesuffix(".json"), sets_aside=state == "pending")
            if job is not None:
                yield job

    def list_by_age(self, *, except_for: Container[str] = ()) -> Iterator[tuple[Job, int]]:
        """The pending jobs and the sizes of their files, as they were stored; torn and foreign files are set aside."""
        found: list[tuple[int, str, int]] = []
        with contextlib.suppress(OSError), os.scandir(self._root / "pending") as entries:
            for entry in entries:
                name = entry.name.removesuffix(".json")
                if not name.startswith(".") and name not in except_for:
                    with contextlib.suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime_ns, name, status.st_size))
        for _, name, size in sorted(found):
            job = self._read("pending", name, sets_aside=True)
            if job is not None and not self._is_finished(name):
                yield job, size

    def hand_over(self, jobs: Sequence[Job]) -> None:
        """
        Move pending jobs that a fleet has taken over to the done ones, as they are; nobody else may claim them.

        A job among the done ones that says it is pending was handed over, at the time of its file. What a crash of
        the machine undoes of this is handed over again, which the fleet notices.
        """
        pending, done = (os.fspath(self._root / state) for state in ("pending", "done"))
        for job in jobs:
            path = f"{pending}/{job.id}.json"
            os.utime(path)
            os.rename(path, f"{done}/{job.id}.json")  # noqa: PTH104 - measured
        _flush_folder(self._root / "done")

    def give_up(self, job: Job) -> None:
        """Write the end of a pending job that nobody else may claim."""
        self._write(job.state, job)
        _remove(self._path("pending", job.id))

    def retry(self, job_id: str) -> Job | None:
        """Write a failed job as a new pending one, then remove the failed one."""
        if not _is_job_id(job_id) or (lock_fd := self._lock(job_id)) is None:
            return None
        try:
            job = self._read("failed", job_id)
            if job is None or not job.hook_id:
                return None
            fresh = job.reset()
            self.put(fresh)
            _remove(self._path("failed", job_id))
            return fresh
        finally:
            self._unlock(job_id, lock_fd)

    def purge(self, state: JobState, before: datetime) -> int:
        """Remove finished jobs by the time of their file."""
        assert state != "pending"
        count = 0
        for name in self._names(state):
            path = self._root / state / name
            with contextlib.suppress(OSError):
                if datetime.fromtimestamp(path.stat().st_mtime, UTC) < before:
                    path.unlink()
                    count += 1
        return count

    def count(self) -> Mapping[JobState, int]:
        """How many files there are in each folder."""
        return {state: sum(1 for _ in self._names(state)) for state in STATES}

    def sweep(self) -> None:
        """Remove the temporary files that crashed writers left; listing a state does so for that state."""
        for state in STATES:
            self._sweep(state)

    def _sweep(self, state: JobState) -> None:
        oldest = utc_now().timestamp() - _STALE_TEMPORARY_S
        with contextlib.suppress(OSError), os.scandir(self._root / state) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # its writer has just finished
                    if entry.name.startswith(".") and entry.stat().st_mtime < oldest:
                        _remove(Path(entry.path))

    def _make_ready(self) -> None:
        if self._is_ready:
            return
        for name in (*STATES, "locks"):
            make_private_folder(self._root / name)
        _flush_folder(self._root)
        _flush_folder(self._root.parent)
        system = find_file_system(self._root)
        if system in _NETWORK_SYSTEMS:
            raise OSError(None, f"its locks cannot be trusted on a network file system ({system})")
        self._is_ready = True

    def _path(self, state: JobState, job_id: str) -> Path:
        return self._root / state / f"{job_id}.json"

    def _names(self, state: JobState) -> Sequence[str]:
        try:
            names = os.listdir(self._root / state)  # noqa: PTH208 - names are what is wanted
        except OSError:
            return []
        return sorted(name for name in names if not name.startswith("."))

    def _write(self, state: JobState, job: Job, *, flush_folder: bool = True) -> None:
        folder = self._root / state
        temporary = folder / f".{job.id}.{os.urandom(4).hex()}"
        data = encode_job(job)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view) :]
                os.fsync(fd)
            finally:
                os.close(fd)
            os.rename(temporary, self._path(state, job.id))  # noqa: PTH104 - measured
        except BaseException:
            _remove(temporary)
            raise
        if flush_folder:
            _flush_folder(folder)

    def _read(self, state: JobState, job_id: str, *, sets_aside: bool = False) -> Job | None:
        path = self._path(state, job_id)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            if sets_aside and (path := path.with_suffix("")).is_file():
                self._set_aside(path, "not a job's file")
            return None
        except OSError:
            return None
        try:
            job = decode_job(data)
        except UnreadableJobError as error:
            if sets_aside:
                self._set_aside(path, str(error))
            return None
        if job.id != job_id:
            if sets_aside:
                self._set_aside(path, f"the file of another job ({job.id!r})")
            return None
        if state == "done" and job.state == "pending":
            return _read_handed_over(path, job)
        return job

    def _set_aside(self, path: Path, reason: str) -> None:
        """Move what is no job to the failed ones, with a note and what could be kept of it."""
        now = utc_now()
        taken = path.with_name(f".torn-{os.urandom(8).hex()}")
        with contextlib.suppress(OSError):
            path.rename(taken)  # whoever succeeds in this writes the note
            kept = read_regular(taken, _MOST_KEPT_OF_TORN).decode("utf-8", "replace")
            note = Job(
                id=f"torn-{os.urandom(8).hex()}",
                hook_id="",
                event="",
                payload={"file": path.name, "content": kept},
                source=JobSource(layer="user", dialect="", file=str(path)),
                created_at=now,
            )
            self._write("failed", note.failed(f"unreadable: {reason}", now))
            taken.unlink()

    def _is_finished(self, job_id: str) -> bool:
        """Whether a crash came between writing the end of a job and removing the pending file; mends that."""
        if any(self._path(state, job_id).exists() for state in ("done", "failed")):
            _remove(self._path("pending", job_id))
            return True
        return False

    def _lock(self, job_id: str) -> int | None:
        if fcntl is None:  # pragma: no cover - untested: Windows
            raise OutboxError("durable delivery is not available on this system: it has no inheritable locks")
        path = self._root / "locks" / job_id
        while True:
            try:
                fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:  # there has been no job yet
                return None
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                return None
            except OSError:
                os.close(fd)
                raise
            if _is_same_file(fd, path):
                return fd
            os.close(fd)  # its last holder removed it after we opened it

    def _unlock(self, job_id: str, lock_fd: int) -> None:
        """Remove the lock file while the lock is held, then free it, also from those that inherited it."""
        _remove(self._root / "locks" / job_id)
        with contextlib.suppress(OSError):
            fcntl.flock(lock_fd, fcntl.LOCK_UN)
        os.close(lock_fd)


def find_file_system(path: Path) -> str:
    """The type of the file system a path is on; empty where the system does not tell."""
    try:
        mounts = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return ""
    real, best, found = os.path.realpath(path), "", ""
    for mount in mounts:
        fields, _, kind = mount.partition(b" - ")
        rest = os.fsdecode(kind)
        point = os.fsdecode(_OCTAL.sub(lambda escape: bytes([int(escape[1], 8)]), fields.split()[4]))
        is_below = real == point or real.startswith(point.rstrip("/") + "/")
        if is_below and len(point) >= len(best):
            best, found = point, rest.split()[0]
    return found


def read_boot_id() -> str:
    """What tells this start of the machine from others; empty where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def read_host() -> str:
    """This machine's name."""
    return socket.gethostname()


def _is_job_id(text: str) -> bool:
    """Whether a text from outside can be a job's id, which is part of a file's name."""
    return len(text) <= _LONGEST_ID and text.isascii() and text.replace("-", "").isalnum()


def _read_handed_over(path: Path, job: Job) -> Job:
    """A job that was moved to the done ones as it was."""
    with contextlib.suppress(OSError):
        return job.forwarded(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    return job.forwarded(job.created_at)


def _flush_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _is_same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return False


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
