"""
What a project's hooks are made of: the digest of every file that belongs to them.

Covered are all files of the folders of hooks and every argument of a hook that names a file of the project. What
those files go on to run is not covered, and is said to be so.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from hookline.hook import CommandAction, Hook, ScriptAction, ShellAction
from hookline.private import read_regular

MAX_FILES = 10_000
MAX_DEPTH = 30
MAX_BYTES = 256 * 1024 * 1024
# Programs whose arguments name what they go on to run, which no digest of the arguments covers.
_LAUNCHERS = frozenset(
    {"make", "just", "task", "npm", "npx", "pnpm", "yarn", "bun", "deno", "cargo", "go", "gradle", "mvn", "tox", "nox"}
    | {"pytest", "uv", "uvx", "pipx", "poetry", "hatch", "docker"}
)

# What a hook writes to is not what it is made of.
_REDIRECTION = re.compile(r"""[0-9&]?>>?\|?\s*(?:"[^"]*"|'[^']*'|[^\s;&|()<>"']+)""")
_HERE = re.compile(r"\$\{?PWD\}?")
_SHELL_SIGNS = re.compile(r"""[\s;&|()<>`"'$={},:]+""")

Identity = tuple[int, int, int, int, int]
"""Device, inode, size, and times of change of content and of anything: what tells quickly that a file is the same."""


class UncoverableError(Exception):
    """Hooks that cannot be trusted as they are, and why: a link that leaves the project, too much to read."""


class CoveredFile(Struct, frozen=True, kw_only=True):
    """One file, or the list of names in one folder, with its digest and its identity when it was read."""

    digest: str
    identity: Identity


class Snapshot(Struct, frozen=True, kw_only=True):
    """The covered files of a project by their path in it, and what is not covered, in words."""

    project: Path
    files: dict[str, CoveredFile]
    not_covered: tuple[str, ...] = ()

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each covered file, by its path in the project."""
        return {name: file.digest for name, file in self.files.items()}

    @property
    def digest(self) -> str:
        """One digest for all of it."""
        whole = hashlib.sha256()
        for name, digest in sorted(self.digests.items()):
            whole.update(f"{name}\0{digest}\0".encode("utf-8", "surrogateescape"))
        return f"sha256:{whole.hexdigest()}"

    def name_of(self, path: Path) -> str:
        """Under which name a path of the project is kept."""
        return name_in(self.project, path)

    def find_change(self) -> str | None:
        """The first covered file that is not what it was when it was read, None when all are."""
        for name, file in self.files.items():
            path = self.project / name
            try:
                if _identify(path) == file.identity or _digest_any(path) == file.digest:
                    continue
            except OSError:
                pass
            return name
        return None


def name_in(project: Path, path: Path) -> str:
    """
    The name of a path in its project.

    `link/../file` is another file than `file` where the link leads elsewhere: then the name is where it leads.
    """
    normal = os.path.abspath(path)  # noqa: PTH100 - links keep their names
    name = os.path.relpath(normal, project)
    if not name.startswith(os.pardir) and _is_same(normal, path):
        return name
    return os.path.relpath(os.path.realpath(path), os.path.realpath(project))


def _is_same(first: str, second: Path) -> bool:
    try:
        return os.path.samefile(first, second)  # noqa: PTH121 - texts
    except OSError:
        return False


def take_snapshot(
    project: Path, folders: Iterable[Path], hooks: Sequence[Hook], modules: Sequence[Path] = ()
) -> Snapshot:
    """
    Read all files that the project's hooks are made of.

    Raises `UncoverableError` when a link leads out of the project, something is no regular file or there is
    too much, and `OSError` when something cannot be read.
    """
    taker = _Taker(project)
    for folder in folders:
        if os.path.lexists(folder):
            taker.add_tree(folder)
    for hook in hooks:
        for path in find_arguments(hook, project):
            taker.add_file(path)
    for module in modules:
        if os.path.lexists(module):
            taker.add_file(module)
    imports = (f"module {module.name}: what it imports" for module in modules if module.suffix == ".py")
    not_covered = (*_find_not_covered(hooks, project), *imports)
    return Snapshot(project=project, files=taker.files, not_covered=not_covered)


class _Taker:
    def __init__(self, project: Path) -> None:
        self._project = project
        self._real_project = Path(os.path.realpath(project))
        self._bytes = 0
        self.files: dict[str, CoveredFile] = {}

    def add_tree(self, folder: Path, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise UncoverableError(f"the folders in {self._project} are nested more than {MAX_DEPTH} levels deep")
        self._check_inside(folder)
        self._add(folder)
        for name in _list_folder(folder):
            path = folder / name
            if path.is_dir():
                self.add_tree(path, depth + 1)
            else:
                self.add_file(path)

    def add_file(self, path: Path) -> None:
        self._check_inside(path)
        if not stat.S_ISREG(path.stat().st_mode):
            raise UncoverableError(f"{path} is no regular file")
        self._add(path)

    def _check_inside(self, path: Path) -> None:
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self._real_project):
            raise UncoverableError(f"{path} is a link that leaves the project, to {real}")

    def _add(self, path: Path) -> None:
        name = name_in(self._project, path)
        if name in self.files:
            return
        identity = _identify(path)
        self._bytes += identity[2]
        if len(self.files) >= MAX_FILES or self._bytes > MAX_BYTES:
            raise UncoverableError(f"there are more than {MAX_FILES} files or {MAX_BYTES} bytes to cover")
        self.files[name] = CoveredFile(digest=_digest_any(path), identity=identity)


def _identify(path: Path) -> Identity:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _list_folder(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208 - names, as they are digested


def _digest_any(path: Path) -> str:
    """The digest of a file's bytes, or of the names in a folder."""
    digest = hashlib.sha256()
    if path.is_dir():
        digest.update("\0".join(_list_folder(path)).encode("utf-8", "surrogateescape"))
        return f"folder:{digest.hexdigest()}"
    digest.update(read_regular(path, MAX_BYTES + 1))
    return digest.hexdigest()


def find_arguments(hook: Hook, project: Path) -> Iterator[Path]:
    """The arguments of a hook that name a regular file of the project, and so belong to what is covered."""
    for base in dict.fromkeys((project, _own_directory(hook, project))):
        for word in _words_of(hook):
            path = Path(os.path.join(base, word))  # noqa: PTH118 - keeps the text as it is written
            if _is_regular(path) and _is_inside(path, project):
                yield path


def _own_directory(hook: Hook, project: Path) -> Path:
    """Where the hook's relative arguments start."""
    return project / hook.program.cwd.replace("${workspace_cwd}", str(project))


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _is_inside(path: Path, project: Path) -> bool:
    """Whether a path is written as one of the project, or leads there."""
    return Path(os.path.abspath(path)).is_relative_to(project) or path.resolve().is_relative_to(  # noqa: PTH100
        project.resolve()
    )


def _words_of(hook: Hook) -> list[str]:
    """All words of a hook's command that may name a file; an argument may be a text for a shell itself."""
    action = hook.program
    if isinstance(action, ShellAction):
        return split_shell_words(action.text)
    if isinstance(action, ScriptAction):
        arguments = [*action.interpreter, str(action.path), *action.args]
    else:
        assert isinstance(action, CommandAction)
        arguments = [*action.argv, *action.args]
    inner = [word for argument in arguments if _SHELL_SIGNS.search(argument) for word in split_shell_words(argument)]
    return [*dict.fromkeys([*arguments, *inner])]


def split_shell_words(text: str) -> list[str]:
    """All words of a shell text that may name a file, however they are quoted or nested."""
    text = _REDIRECTION.sub(" ", _HERE.sub(".", text))
    try:
        quoted = shlex.split(text, comments=False)
    except ValueError:
        quoted = []
    return [*dict.fromkeys([*quoted, *(word for word in _SHELL_SIGNS.split(text) if word)])]


def _find_not_covered(hooks: Iterable[Hook], project: Path) -> Iterator[str]:
    for hook in hooks:
        words = _words_of(hook)
        names = {os.path.basename(word) for word in words}  # noqa: PTH119 - words, not paths
        launchers = sorted(names & _LAUNCHERS)
        if launchers:
            yield f"hook {hook.id!r}: what {', '.join(launchers)} goes on to run"
        if "-m" in words:
            yield f"hook {hook.id!r}: the module that -m names"
        for word in words:
            if word not in (".", "..", "/") and os.path.isdir(project / word):  # noqa: PTH112 - never raises
                yield f"hook {hook.id!r}: what is in the folder {word}"
        for path in find_arguments(hook, project):
            yield f"hook {hook.id!r}: what {path.name} imports or runs from elsewhere"
