"""Which program runs a script: chosen by its suffix, looked up once on the hook's search path."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from msgspec import Struct

# For each suffix the programs that may run it, the first that is found is taken.
_PROGRAMS: dict[str, tuple[tuple[str, ...], ...]] = {
    ".ps1": (("pwsh", "-File"), ("powershell", "-File")),
    ".sh": (("bash",), ("sh",)),
    ".bash": (("bash",), ("sh",)),
    ".zsh": (("bash",), ("sh",)),
    ".js": (("node",),),
    ".mjs": (("node",),),
    ".ts": (("npx", "tsx"),),
    ".rb": (("ruby",),),
    ".pl": (("perl",),),
}
# The first line of inline script metadata (packaging.python.org, inline script metadata).
_METADATA = re.compile(rb"^# /// script\s*$", re.MULTILINE)
_METADATA_WITHIN = 64 * 1024


class Interpreter(Struct, frozen=True, kw_only=True):
    """
    The program for a script and the arguments before the script's path.

    `is_shim` marks a version manager's stand-in for Python, which is many times slower than what it stands for.
    """

    argv: tuple[str, ...]
    is_shim: bool = False


class NoInterpreterError(Exception):
    """No program was found to run a script with; says which ones were looked for."""


def has_known_suffix(path: Path) -> bool:
    """Whether a file's suffix says which programs may run it; those of Python are not among them."""
    return path.suffix.lower() in _PROGRAMS


def choose_interpreter(path: Path, chosen: tuple[str, ...], *, search_path: str, prefers_uv: bool) -> Interpreter:
    """
    The interpreter of a script; `chosen` is what the hook itself names, and wins.

    Suffixes that are not known are run as Python. Raises `NoInterpreterError`.
    """
    if chosen:
        return Interpreter(argv=(_find(chosen[0], search_path), *chosen[1:]))
    programs = _PROGRAMS.get(path.suffix.lower())
    if programs is None:
        return _choose_python(path, search_path, prefers_uv=prefers_uv)
    for program, *arguments in programs:
        found = shutil.which(program, path=search_path)
        if found:
            return Interpreter(argv=(found, *arguments))
    names = " nor ".join(program for program, *_ in programs)
    raise NoInterpreterError(f"no {names} was found on PATH to run {path.name}")


def _find(program: str, search_path: str) -> str:
    found = shutil.which(program, path=search_path)
    if found is None:
        raise NoInterpreterError(f"the interpreter {program!r} was not found on PATH")
    return found


def _choose_python(path: Path, search_path: str, *, prefers_uv: bool) -> Interpreter:
    uv = shutil.which("uv", path=search_path)
    if uv and prefers_uv:
        return Interpreter(argv=(uv, "run", "--no-project"))
    if uv and _has_metadata(path):
        return Interpreter(argv=(uv, "run", "--no-project", "--script"))
    for name in ("python3", "python"):
        found = shutil.which(name, path=search_path)
        if found:
            return Interpreter(argv=(found,), is_shim=Path(found).parent.name == "shims")
    if sys.executable and not getattr(sys, "frozen", False):
        return Interpreter(argv=(sys.executable,))
    raise NoInterpreterError(f"no python3 nor python was found on PATH to run {path.name}")


def _has_metadata(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _METADATA.search(file.read(_METADATA_WITHIN)) is not None
    except OSError:
        return False
