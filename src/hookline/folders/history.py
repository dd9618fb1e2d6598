"""
The `state.json` files of a hooks folder: reading them, adding runs, and removing them.

A record is added on disk under a lock of the hook's folder, so that several processes lose none of each other's.
A record that comes after its hook was removed is dropped: nothing here makes a folder.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from hookline.folders.load import Loaded
from hookline.folders.spec import SPEC_FILE, FolderSpec
from hookline.folders.state import EMPTY_STATE, RunRecord, State, StateError, encode_state, parse_state
from hookline.private import read_regular

STATE_FILE = "state.json"
_MAX_STATE_BYTES = 4 * 1024 * 1024
_LOCK_WAIT_S = 2.0
_LOCK_STEP_S = 0.002


def load_state(folder: Path) -> State:
    """
    The state of the hook in `folder`; an empty one when there is none yet.

    Raises `StateError` when it cannot be read. It is history only: the next record starts it anew.
    """
    path = folder / STATE_FILE
    try:
        data = read_regular(path, _MAX_STATE_BYTES)
    except FileNotFoundError:
        return EMPTY_STATE
    except OSError as error:
        raise StateError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return parse_state(data.decode("utf-8", "replace"))
    except StateError as error:
        raise StateError(f"{path} cannot be read: {error}") from error


def save_state(folder: Path, state: State) -> None:
    """
    Write the state of the hook in `folder`, at once or not at all.

    Raises `StateError`, also when there is no such folder.
    """
    try:
        _replace(folder / STATE_FILE, encode_state(state))
    except OSError as error:
        raise StateError(f"{folder / STATE_FILE} cannot be written: {error.strerror}") from error


def record_run(folder: Path, record: RunRecord) -> State | None:
    """
    Add a run to the history of the hook in `folder`, and return its state; None when the hook is not there any more.

    Reads and writes files, so call it where nobody waits. A history that cannot be read is started anew.
    Raises `StateError` when the record could not be written.
    """
    try:
        with _lock(folder):
            if not os.path.lexists(folder / SPEC_FILE):
                return None
            try:
                state = load_state(folder)
            except StateError:
                state = EMPTY_STATE
            state = state.take(record)
            _replace(folder / STATE_FILE, encode_state(state))
    except FileNotFoundError:  # removed before or under way
        return None
    except OSError as error:
        raise StateError(f"{folder / STATE_FILE} cannot be written: {error.strerror or error}") from error
    return state


def delete_state(folder: Path) -> None:
    """
    Remove the state of the hook in `folder`, if there is one; the folder stays, and a link to one is not followed.

    Raises `StateError`.
    """
    if folder.is_symlink():
        return
    try:
        (folder / STATE_FILE).unlink()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise StateError(f"{folder / STATE_FILE} cannot be removed: {error.strerror}") from error


def load_states(hooks_dir: Path, specs: Iterable[FolderSpec]) -> tuple[dict[str, State], list[StateError]]:
    """The states of these hooks by id, and why those that are missing cannot be read."""
    found: dict[str, State] = {}
    errors: list[StateError] = []
    for spec in specs:
        try:
            found[spec.id] = load_state(hooks_dir / spec.directory)
        except StateError as error:
            errors.append(error)
    return found, errors


def drop_removed(hooks_dir: Path, before: Loaded, after: Loaded) -> list[StateError]:
    """
    Remove the states of hooks that a reload no longer finds; returns why some could not be removed.

    What a hook remembers stays while its folder is there but not valid.
    """
    directories = {spec.directory for spec in after.specs}
    errors: list[StateError] = []
    for spec in before.specs:
        is_there = spec.directory in directories or not after.invalid.keys().isdisjoint({spec.directory, spec.id})
        if not is_there:
            try:
                delete_state(hooks_dir / spec.directory)
            except StateError as error:
                errors.append(error)
    return errors


def _replace(path: Path, data: bytes) -> None:
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix="state.", suffix=".tmp")
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.replace(temporary, path)  # noqa: PTH105 - a text and a path
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108 - a text
        raise


if os.name == "nt":  # pragma: no cover - untested: Windows

    @contextlib.contextmanager
    def _lock(folder: Path) -> Iterator[None]:
        """Nothing: a folder cannot be locked there."""
        del folder
        yield

else:
    import fcntl

    @contextlib.contextmanager
    def _lock(folder: Path) -> Iterator[None]:
        """Keep other recorders out of a folder; a holder that does not let go makes it a `TimeoutError`."""
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            deadline = time.monotonic() + _LOCK_WAIT_S
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        message = f"another process has kept it locked for {_LOCK_WAIT_S:g} seconds"
                        raise TimeoutError(message) from None
                    time.sleep(_LOCK_STEP_S)
            yield
        finally:
            os.close(fd)
