"""`hookline check`: every problem of every hooks file, and how to mend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import click

from hookline.cli.options import home_option, json_option, load, project_option
from hookline.cli.screen import paint, problem_to_json, say, say_json, show_problem
from hookline.config.file import LoadedFile, load_file
from hookline.config.folders import NO_FOLDERS, FolderSet, find_folders
from hookline.config.layers import Layers, find_foreign_files
from hookline.config.lint import lint_file
from hookline.config.locate import HookFile, default_home
from hookline.dialects.base import Reading
from hookline.dialects.table import DIALECTS
from hookline.dialects.vix import VIX
from hookline.problem import Place, Problem

_TRUST_CODES = frozenset({"untrusted", "untrustable", "trust-changed"})


@click.command("check")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@project_option
@home_option
@json_option
def command(files: tuple[Path, ...], project: Path, home: Path | None, as_json: bool) -> int:
    """
    Report every problem of the hooks files of all layers, or of FILES.

    Reads files and runs nothing, so it needs no trust. Exits with 1 when there is an error: a hook that cannot
    work as it is written.
    """
    if files:
        loaded = [_load_named(_to_hook_file(path, home)) for path in files]
        folders = NO_FOLDERS
        problems = [problem for file in loaded for problem in (*file.reading.problems, *lint_file(file))]
    else:
        layers = load(project, home, trust="all")
        loaded = list(layers.files)
        folders = layers.folders
        linted = [problem for file in loaded for problem in lint_file(file)]
        problems = [*layers.problems, *linted, *_find_disabled_dialects(project, layers)]
        problems += [problem for problem in load(project, home).problems if problem.code in _TRUST_CODES]
    problems.sort(key=lambda problem: (str(problem.place.path), problem.place.line, problem.place.column))
    counts: Counter[str] = Counter(problem.severity for problem in problems)
    if as_json:
        say_json(
            {
                "files": [str(file.file.path) for file in loaded],
                "hooks": len(folders.specs) + sum(len(file.reading.hooks) for file in loaded),
                "errors": counts["error"],
                "warnings": counts["warning"],
                "problems": [problem_to_json(problem) for problem in problems],
            }
        )
    else:
        _show(loaded, problems, counts, folders)
    return 1 if counts["error"] else 0


def _to_hook_file(path: Path, home: Path | None) -> HookFile:
    """A file given by name: its folder tells the dialect, and whether it is the user's own."""
    full = path.absolute()
    dialect = next((d for d in DIALECTS.values() if d.folder in full.parts), DIALECTS["native"])
    own_home = home.absolute() if home is not None else default_home(dialect)
    layer: Literal["project", "user"] = "user" if full.is_relative_to(own_home) else "project"
    return HookFile(layer=layer, dialect=dialect, path=path)


def _load_named(file: HookFile) -> LoadedFile:
    """A file that is named; the spec of a hook folder is read as its folder is."""
    if file.dialect is not VIX:
        return load_file(file)
    path = file.path.absolute()
    found = find_folders(path.parent.parent)
    hooks = tuple(hook for hook in found.hooks if hook.source.place.path == path)
    problems = tuple(problem for problem in found.problems if problem.place.path == path)
    return LoadedFile(file=file, reading=Reading(hooks=hooks, problems=problems))


def _find_disabled_dialects(project: Path, layers: Layers) -> Iterable[Problem]:
    for file in find_foreign_files(project.absolute(), layers):
        name, kind = file.dialect.name, "folder" if file.dialect is VIX else "file"
        yield Problem(
            severity="notice",
            code="dialect-off",
            message=f"this is a {name} {kind}, and {name} {kind}s are not read",
            place=Place(path=file.path),
            cure=f"to read them, write dialects: [native, {name}] in your own hooks.yaml or set HOOKLINE_DIALECTS",
        )


def _show(loaded: list[LoadedFile], problems: list[Problem], counts: Counter[str], folders: FolderSet) -> None:
    texts: dict[Path, list[str]] = {}
    for problem in problems:
        path = problem.place.path
        if path not in texts:
            texts[path] = _read_lines(path)
        for line in show_problem(problem, texts[path]):
            say(line)
    if not loaded and not folders.specs and not folders.loaded.invalid:
        say("no hooks file was found; hookline init writes one")
        return
    switches = [hook.enabled for file in loaded for hook in file.reading.hooks]
    switches += [spec.enabled for spec in folders.specs.values()]
    off = switches.count(False)
    summary = f"{_count(len(loaded), 'file')}, {_count(len(switches), 'hook')} read"
    summary += f" ({off} switched off): " if off else ": "
    summary += f"{_count(counts['error'], 'error')}, {_count(counts['warning'], 'warning')}"
    say(paint(summary, "red" if counts["error"] else "yellow" if counts["warning"] else "green"))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines() if path.is_file() else []
    except OSError:
        return []
