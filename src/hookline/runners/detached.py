"""
Hooks that outlive the process that fired them.

A shell stands between: it starts the hook within a millisecond or two and waits for it in next to no memory,
whatever becomes of the host; when the hook has ended it turns into a Python process that writes down how
(`hookline.finish`). Nothing of the environment is written to disk. If the shell is killed the hook goes on, and
a durable job's claim, which the hook inherited, is free only when the hook has ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from msgspec import Struct

from hookline.dialects.table import get_dialect
from hookline.dialects.wire import UnencodableError
from hookline.hook import Hook
from hookline.outcome import Failure, Run
from hookline.private import make_private_folder, write_private
from hookline.process.child import Command, describe_start_error
from hookline.runners.base import Payload
from hookline.runners.command import describe_directory
from hookline.runners.exchange import CallFiles
from hookline.runners.preparation import Preparation, UnrunnableError

# $1 the Python that finishes, $2 its program, $3 the descriptor that tells it what to write; then the hook's command.
_SUPERVISOR = 'python=$1 program=$2 note=$3; shift 3; "$@"; exec "$python" -I -S -c "$program" "$note" "$?"'
_FINISHER = (
    "import json, os, sys; fd = int(sys.argv[1]); note = json.loads(os.pread(fd, os.fstat(fd).st_size, 0)); "
    "sys.path[:] = note['path']; "
    "import hookline.finish as finish; finish.finish(note, int(sys.argv[2]))"
)


_DAY_S = 24 * 3600
_FORGOTTEN_CALL_DAYS = 30


class DetachedFolders(Struct, frozen=True, kw_only=True):
    """Where detached runs keep what must outlive their host: below the user's home, closed to others."""

    calls: Path
    outputs: Path
    log: Path
    outbox: Path


class DetachedLauncher:
    """Starts detached hooks; does not wait for them."""

    def __init__(self, preparation: Preparation, folders: DetachedFolders) -> None:
        self._preparation = preparation
        self._folders = folders
        self._started: list[subprocess.Popen[bytes]] = []

    async def launch(self, hook: Hook, payload: Payload, *, record: dict[str, Any], run_id: str | None = None) -> Run:
        """
        Start a hook and return at once; `record` is its line for the run log, to be completed when it ends.

        The run is `detached`, or failed if it could not be started.
        """
        run_id = run_id or uuid.uuid4().hex
        directory = self._preparation.choose_directory(hook, payload)
        notes = describe_directory(directory)
        dialect = get_dialect(hook.source.dialect)
        try:
            data = payload.encode(dialect, is_cwd_missing=directory.missing is not None)
            files = self._write_files(run_id, data)
        except (UnencodableError, OSError) as error:
            failure = Failure(kind="spawn", message=f"the payload cannot be written: {error}", provokable=True)
            return Run(hook=hook, id=run_id, status="failed", outcome=failure, notes=notes)
        try:
            command = await self._preparation.prepare(hook, payload, files, directory, run_id=run_id)
            self._start(command, files, record, payload, run_id, reads_payload=dialect.is_stdin_payload)
        except (UnrunnableError, OSError, ValueError) as error:
            files.discard()
            message = describe_start_error(error, command) if isinstance(error, OSError | ValueError) else str(error)
            return Run(
                hook=hook, id=run_id, status="failed", outcome=Failure(kind="spawn", message=message), notes=notes
            )
        return Run(hook=hook, id=run_id, status="detached", notes=notes)

    def _write_files(self, run_id: str, data: bytes) -> CallFiles:
        make_private_folder(self._folders.calls)
        make_private_folder(self._folders.outputs)
        # A name of its own for each attempt: an earlier one may have been killed before it could clean up.
        name = f"{run_id}-{os.urandom(4).hex()}"
        files = CallFiles(payload=self._folders.calls / f"{name}.json", reply=self._folders.calls / f"{name}.reply")
        try:
            write_private(files.payload, data)
            write_private(files.reply, b"")
        except OSError:
            files.discard()
            raise
        return files

    def _start(
        self,
        command: Command,
        files: CallFiles,
        record: dict[str, Any],
        payload: Payload,
        run_id: str,
        *,
        reads_payload: bool,
    ) -> None:
        output = self._folders.outputs / f"{run_id}.log"
        delivery = payload.delivery
        note = {
            "path": [entry for entry in sys.path if entry],
            "record": {**record, "run": run_id},
            "files": [str(files.payload), str(files.reply)],
            "output": str(output),
            "log": str(self._folders.log),
            "outbox": str(self._folders.outbox),
            "job": None if delivery is None else delivery.job_id,
            "lock": None if delivery is None else list(delivery.inheritable),
        }
        note_fd = _write_nameless(files.payload.with_suffix(".note"), json.dumps(note).encode())
        output_fd = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        stdin = os.open(files.payload if reads_payload else os.devnull, os.O_RDONLY)
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _SUPERVISOR, "sh", sys.executable, _FINISHER, str(note_fd), *command.argv],
                env=command.env,
                cwd=command.cwd,
                stdin=stdin,
                stdout=output_fd,
                stderr=output_fd,
                start_new_session=True,
                pass_fds=(*command.inherited, note_fd),
            )
        finally:
            os.close(stdin)
            os.close(output_fd)
            os.close(note_fd)
        # Nobody waits for them; those that have ended are taken note of here, the others outlive this process.
        self._started = [known for known in (*self._started, process) if known.poll() is None]

    def tidy(self, *, keep_days: float) -> None:
        """Remove output that is old enough, and payloads of runs that nobody will finish any more."""
        now = time.time()
        sweep_old(self._folders.outputs, older_than_s=keep_days * _DAY_S, now=now)
        sweep_old(self._folders.calls, older_than_s=_FORGOTTEN_CALL_DAYS * _DAY_S, now=now)

    def close(self) -> None:
        """Let go of what still runs."""
        for process in self._started:
            if process.poll() is None:
                process.returncode = 0  # or its destructor would complain that it still runs
        self._started = []


def _write_nameless(path: Path, data: bytes) -> int:
    """A file that is open and has no name any more: nobody else can read it, and nothing has to be removed."""
    write_private(path, data)
    try:
        return os.open(path, os.O_RDONLY)
    finally:
        path.unlink()


def sweep_old(folder: Path, *, older_than_s: float, now: float) -> None:
    """Remove files of detached runs that are old enough that nobody needs them any more."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        try:
            if now - entry.stat(follow_symlinks=False).st_mtime > older_than_s:
                os.unlink(entry.path)  # noqa: PTH108 - an entry of a scan
        except OSError:
            continue
