"""`hookline check`: every problem of every hooks file, and how to mend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import click
from msgspec.structs import replace

from hookline.cli.options import home_option, json_option, load, project_option, resolve_home
from hookline.cli.screen import paint, problem_to_json, say, say_json, show_problem
from hookline.config.file import LoadedFile, load_file
from hookline.config.folders import NO_FOLDERS, find_folders
from hookline.config.layers import Layers, find_foreign_files
from hookline.config.lint import lint_file
from hookline.config.locate import HookFile, default_home
from hookline.config.modules import NamedModule, resolve_entries
from hookline.dialects.base import Reading
from hookline.dialects.table import DIALECTS
from hookline.dialects.vix import VIX
from hookline.handlers.reading import read_module
from hookline.hook import ModuleSpec, Settings
from hookline.problem import Place, Problem

_TRUST_CODES = frozenset({"untrusted", "untrustable", "trust-changed"})


@click.command("check")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@project_option
@home_option
@json_option
def command(files: tuple[Path, ...], project: Path, home: Path | None, as_json: bool) -> int:
    """
    Report every problem of the hooks files and modules of all layers, or of FILES.

    Reads files and runs nothing, so it needs no trust. Exits with 1 when there is an error: a hook that cannot
    work as it is written.
    """
    problems: list[Problem] = []
    if files:
        loaded = [_load_named(_to_hook_file(path, home)) for path in files]
        homes: Mapping[str, Path] = {"native": resolve_home(home)}
        named = list(resolve_entries(loaded, homes, problems, []))
        specs = [ModuleSpec(path=module.path, layer=module.layer) for module in named if module.entry.enabled]
        scripts, settings, folders = 0, Settings(), NO_FOLDERS
        problems += [problem for file in loaded for problem in file.reading.problems]
    else:
        layers = load(project, home, trust="all")
        loaded = list(layers.files)
        named = list(resolve_entries(loaded, layers.homes, [], []))
        specs, scripts, settings = list(layers.modules.specs), len(layers.modules.hooks), layers.settings
        folders = layers.folders
        problems += [*layers.problems, *_find_disabled_dialects(project, layers)]
        problems += [problem for problem in load(project, home).problems if problem.code in _TRUST_CODES]
    readings = [read_module(spec, settings) for spec in specs]
    problems += [problem for file in loaded for problem in lint_file(file)]
    problems += _point_at_entries(named, [problem for reading in readings for problem in reading.problems])
    hooks = [hook for file in loaded for hook in file.reading.hooks]
    hooks += [hook for reading in readings for hook in reading.hooks]
    problems.sort(key=lambda problem: (str(problem.place.path), problem.place.line, problem.place.column))
    counts: Counter[str] = Counter(problem.severity for problem in problems)
    if as_json:
        say_json(
            {
                "files": [str(file.file.path) for file in loaded],
                "modules": [str(spec.path) for spec in specs],
                "hooks": len(hooks) + scripts + len(folders.specs),
                "errors": counts["error"],
                "warnings": counts["warning"],
                "problems": [problem_to_json(problem) for problem in problems],
            }
        )
    else:
        _show_problems(problems)
        if loaded or specs or scripts or folders.specs or folders.loaded.invalid:
            switches = [hook.enabled for hook in hooks] + [spec.enabled for spec in folders.specs.values()]
            _show_summary(loaded, len(specs), len(switches) + scripts, switches.count(False), counts)
        else:
            say("no hooks file was found; hookline init writes one")
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


def _point_at_entries(named: Iterable[NamedModule], problems: Iterable[Problem]) -> Iterable[Problem]:
    """The problems; that a module is not there is one of the entry that names it."""
    entries = {module.path: module.entry for module in named}
    for problem in problems:
        entry = entries.get(problem.place.path) if problem.code == "module-missing" else None
        if entry is None:
            yield problem
        else:
            cure = "relative paths start at the folder of this file"
            yield replace(problem, place=entry.place, message=f"{problem.message}: {problem.place.path}", cure=cure)


def _show_problems(problems: list[Problem]) -> None:
    texts: dict[Path, list[str]] = {}
    for problem in problems:
        path = problem.place.path
        if path not in texts:
            texts[path] = _read_lines(path)
        for line in show_problem(problem, texts[path]):
            say(line)


def _show_summary(loaded: list[LoadedFile], modules: int, hooks: int, off: int, counts: Counter[str]) -> None:
    parts = [_count(len(loaded), "file"), *([_count(modules, "module")] if modules else []), _count(hooks, "hook")]
    summary = f"{', '.join(parts)} read"
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
