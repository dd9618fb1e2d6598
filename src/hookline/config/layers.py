"""
Loading: from the hook files of all layers to the hooks, settings and problems an engine starts with.

Nothing here runs anything of a hook. What is left out is always reported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hookline.config.file import LoadedFile, load_file
from hookline.config.locate import HookFile, default_home, find_homes, find_hook_files, hook_file_candidates
from hookline.config.memory import GuardMemory
from hookline.config.modules import ModuleSet, find_modules
from hookline.config.project import ProjectParts, ProjectVerdict, TrustStanding, guards_of, judge_project
from hookline.config.snapshot import Snapshot
from hookline.config.trust import Trust, TrustStore, check_trust
from hookline.dialects.base import Dialect, Reading
from hookline.dialects.native import NATIVE
from hookline.dialects.table import DIALECTS, get_dialect
from hookline.errors import ConfigError
from hookline.handlers.discover import Provider
from hookline.hook import Hook, Settings
from hookline.problem import Place, Problem
from hookline.registry import Closure

BrokenConfig = Literal["closed", "open"]


class Layers(Struct, frozen=True, kw_only=True):
    """
    What all hook files say together, in the order in which hooks run.

    `hooks` are those that may run; those that modules register are known only when these are loaded. `parts` are
    what the project's hooks are made of, whether they count or not. `snapshot` is the trusted content, to be
    compared again before each run; None when content does not matter. `trust` tells how the project's hooks stand.
    """

    project: Path
    homes: dict[str, Path]
    files: tuple[LoadedFile, ...]
    hooks: tuple[Hook, ...]
    closures: tuple[Closure, ...]
    settings: Settings
    problems: tuple[Problem, ...]
    modules: ModuleSet = ModuleSet()
    parts: ProjectParts = ProjectParts(files=())
    snapshot: Snapshot | None = None
    trust: TrustStanding = "nothing"


def load_layers(
    project: Path,
    *,
    home: Path | None = None,
    dialects: Sequence[str] | None = None,
    trust: Trust = "recorded",
    broken_config: BrokenConfig = "closed",
    providers: Sequence[Provider] = (),
    remember_guards: bool = True,
) -> Layers:
    """
    Find and read all hook files of a project and its user.

    `home` is native's user folder. `dialects` names the formats to read, in the order of their layers; if it
    is None the user's own file says which. `trust` judges the project's files. A counted native file that
    cannot be parsed closes what its last good version guarded, unless `broken_config` is `open`. `providers` find
    modules and scripts besides those in the usual folders.
    Raises `ConfigError` for an option that cannot be honoured.
    """
    check_trust(trust)
    if broken_config not in ("closed", "open"):
        raise ConfigError(f"unknown broken_config {broken_config!r}; it must be 'closed' or 'open'")
    native_home = home if home is not None else default_home()
    _check_home(native_home, project)
    enabled, problems = _choose_dialects(native_home, dialects)
    homes = find_homes(enabled, native_home)
    files = [load_file(file) for file in find_hook_files(project, homes, enabled)]
    own = [loaded for loaded in files if loaded.file.layer == "project"]
    settings = _merge_settings([loaded.reading for loaded in files if loaded.file.layer == "user"])
    memory = GuardMemory(native_home)
    parts = _find_parts(project, homes, files, own, settings, memory)
    verdict = judge_project(project, enabled, parts, trust, TrustStore(native_home))
    files = [_count(loaded, verdict) for loaded in files]
    counted = [loaded.reading for loaded in files if loaded.is_counted]
    modules = find_modules(
        project,
        homes,
        files,
        settings,
        providers=providers,
        with_project=verdict.is_counted,
        snapshot=verdict.snapshot,
    )
    closures = [closure for reading in counted for closure in reading.closures]
    problems += [problem for reading in counted for problem in reading.problems]
    problems += verdict.problems
    problems += _find_collisions(counted)
    problems += modules.problems
    if broken_config == "closed":
        closures += [closure for loaded in files for closure in _close_broken(loaded, memory)]
    if remember_guards:
        _remember_guards(files, memory)
    return Layers(
        project=project,
        homes=homes,
        files=tuple(files),
        hooks=_order_hooks(files, modules),
        modules=modules,
        parts=parts,
        closures=(*closures, *verdict.closures),
        settings=_merge_settings(counted),
        problems=tuple(problems),
        snapshot=verdict.snapshot,
        trust=_find_standing(parts, verdict),
    )


def _find_standing(parts: ProjectParts, verdict: ProjectVerdict) -> TrustStanding:
    if verdict.is_counted:
        return "trusted" if parts.paths else "nothing"
    return verdict.why_not or "nothing"


def _find_parts(
    project: Path,
    homes: dict[str, Path],
    files: Sequence[LoadedFile],
    own: Sequence[LoadedFile],
    settings: Settings,
    memory: GuardMemory,
) -> ProjectParts:
    """What the project's hooks are made of, whether they may run or not."""
    found = find_modules(project, homes, files, settings)
    modules = [spec.path for spec in found.specs if spec.layer == "project"]
    scripts = [hook.source.place.path for hook in found.hooks if hook.source.layer == "project"]
    guards = [guard for module in modules for guard in memory.recall(module)]
    return ProjectParts(files=own, modules=[*modules, *scripts], guards=guards)


def _order_hooks(files: Sequence[LoadedFile], modules: ModuleSet) -> tuple[Hook, ...]:
    """The hooks of each layer: those of its files, then its scripts; the project's layer before the user's."""
    found: list[Hook] = []
    for layer in ("project", "user"):
        counted = (loaded.reading for loaded in files if loaded.is_counted and loaded.file.layer == layer)
        found += [hook for reading in counted for hook in reading.hooks]
        found += [hook for hook in modules.hooks if hook.source.layer == layer]
    return tuple(found)


def _check_home(home: Path, project: Path) -> None:
    """A home that a repository could fill is no home; the user's default one may lie below a project."""
    if home == default_home():
        return
    real = Path(os.path.realpath(home))
    if real.is_relative_to(os.path.realpath(project)):
        raise ConfigError(f"the home {home} lies inside the project {project}: a project must not bring its own home")


def _count(loaded: LoadedFile, verdict: ProjectVerdict) -> LoadedFile:
    if loaded.file.layer == "user" or verdict.is_counted:
        return loaded
    return replace(loaded, is_counted=False, why_not=verdict.why_not)


def _close_broken(loaded: LoadedFile, memory: GuardMemory) -> Iterator[Closure]:
    """Keep closed what the last good version of a file guarded that cannot be parsed any more."""
    if not loaded.is_counted or not _has_memory(loaded) or not loaded.is_broken:
        return
    place = loaded.reading.problems[0].place
    for guard in memory.recall(loaded.file.path):
        reason = (
            f"{guard.event} was guarded by hook {guard.hook_id!r} of {place.path}, which cannot be read now "
            f"(see {place}): mend the file, or pass --broken-config open for one run without its hooks"
        )
        yield Closure(event=guard.event, hook_id=guard.hook_id, reason=reason)


def _has_memory(loaded: LoadedFile) -> bool:
    return loaded.file.dialect is NATIVE


def _remember_guards(files: Iterable[LoadedFile], memory: GuardMemory) -> None:
    for loaded in files:
        if loaded.is_counted and _has_memory(loaded) and not loaded.is_broken:
            memory.remember(loaded.file.path, guards_of(loaded.reading), loaded.reading.dialects or ())


def find_foreign_files(project: Path, layers: Layers) -> tuple[HookFile, ...]:
    """The hook files of dialects that are known but not enabled."""
    others = [dialect for dialect in DIALECTS.values() if dialect.name not in layers.homes]
    return find_hook_files(project, find_homes(others, default_home()), others)


def _choose_dialects(native_home: Path, names: Sequence[str] | None) -> tuple[list[Dialect], list[Problem]]:
    """The dialects to read; native is always one of them."""
    problems: list[Problem] = []
    if names is None:
        names, problems = _dialects_of_user(native_home)
    chosen = [get_dialect(name) for name in dict.fromkeys(names)]
    return (chosen if NATIVE in chosen else [NATIVE, *chosen]), problems


def _dialects_of_user(native_home: Path) -> tuple[list[str], list[Problem]]:
    for path in hook_file_candidates(native_home, NATIVE):
        if os.path.lexists(path):
            loaded = load_file(HookFile(layer="user", dialect=NATIVE, path=path))
            named = loaded.reading.dialects or ()
            if loaded.is_broken:  # or the guards of other dialects would vanish with it
                named = GuardMemory(native_home).recall_dialects(path)
            document = loaded.document
            problems = [
                Problem(
                    severity="error",
                    code="unknown-dialect",
                    message=f"unknown dialect {name!r}",
                    place=document.place("dialects") if document else Place(path=path),
                    cure=f"known: {', '.join(DIALECTS)}",
                )
                for name in named
                if name not in DIALECTS
            ]
            return [name for name in named if name in DIALECTS], problems
    return [], []


def _find_collisions(readings: Sequence[Reading]) -> list[Problem]:
    first: dict[str, Hook] = {}
    problems = []
    for hook in (hook for reading in readings for hook in reading.hooks):
        earlier = first.setdefault(hook.id, hook)
        if earlier is not hook:
            problems.append(
                Problem(
                    severity="warning",
                    code="id-collision",
                    message=f"the same id is used at {earlier.source.place}; both hooks run",
                    place=hook.source.place,
                    hook_id=hook.id,
                    cure="give one of them another id, so that logs tell them apart",
                )
            )
    return problems


def _merge_settings(readings: Iterable[Reading]) -> Settings:
    merged: dict[str, Any] = {}
    for reading in readings:
        merged = {**reading.settings, **merged}
    return Settings(**merged)
