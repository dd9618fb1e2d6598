"""
Loading: from the hook files of all layers to the hooks, settings and problems an engine starts with.

Nothing here runs anything of a hook. What is left out is always reported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hookline.config.file import LoadedFile, load_file
from hookline.config.folders import NO_FOLDERS, FolderSet, find_folders
from hookline.config.locate import HookFile, default_home, find_homes, find_hook_files, hook_file_candidates
from hookline.config.memory import GuardMemory, close_folder, close_module
from hookline.config.modules import ModuleSet, find_modules
from hookline.config.project import ProjectParts, ProjectVerdict, TrustStanding, guards_of, judge_project
from hookline.config.snapshot import Snapshot
from hookline.config.trust import Trust, TrustRecord, TrustStore, check_trust
from hookline.dialects.base import Dialect, Reading
from hookline.dialects.native import NATIVE
from hookline.dialects.table import DIALECTS, get_dialect
from hookline.dialects.vix import VIX
from hookline.errors import ConfigError
from hookline.folders.load import load_folders
from hookline.handlers.discover import Provider
from hookline.hook import Hook, Settings
from hookline.problem import Place, Problem
from hookline.registry import Closure

BrokenConfig = Literal["closed", "open"]


class Layers(Struct, frozen=True, kw_only=True):
    """
    What all hook files say together, in the order in which hooks run.

    `hooks` are those that may run; those that modules register are known only when these are loaded. `folders` are
    the user's hook folders. `parts` are
    what the project's hooks are made of, whether they count or not. `snapshot` is the trusted content, to be
    compared again before each run; None when content does not matter. `trust` tells how the project's hooks stand,
    `closes_broken` that what a broken file or module guarded stays closed.
    """

    project: Path
    homes: dict[str, Path]
    files: tuple[LoadedFile, ...]
    hooks: tuple[Hook, ...]
    closures: tuple[Closure, ...]
    settings: Settings
    problems: tuple[Problem, ...]
    modules: ModuleSet = ModuleSet()
    folders: FolderSet = NO_FOLDERS
    parts: ProjectParts = ProjectParts(files=())
    snapshot: Snapshot | None = None
    closes_broken: bool = True
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
    vix_hooks: Path | None = None,
) -> Layers:
    """
    Find and read all hook files of a project and its user.

    `home` is native's user folder. `dialects` names the formats to read, in the order of their layers; if it
    is None the user's own file says which. `trust` judges the project's files. A counted native file that
    cannot be parsed, or a module that cannot be read, closes what its last good version guarded, unless
    `broken_config` is `open`. `providers` find modules and scripts besides those in the usual folders. `vix_hooks` is
    the folder of the user's hook folders, which enables their dialect; by default that is `~/.vix/hooks` where the
    dialect is enabled.
    Raises `ConfigError` for an option that cannot be honoured.
    """
    check_trust(trust)
    if broken_config not in ("closed", "open"):
        raise ConfigError(f"unknown broken_config {broken_config!r}; it must be 'closed' or 'open'")
    native_home = home if home is not None else default_home()
    _check_home(native_home, project)
    enabled, problems = _choose_dialects(native_home, dialects)
    if vix_hooks is not None:
        _check_home(vix_hooks, project, "folder of hook folders")
        enabled = list(dict.fromkeys((*enabled, VIX)))
    homes = find_homes(enabled, native_home)
    files = [load_file(file) for file in find_hook_files(project, homes, enabled)]
    own = [loaded for loaded in files if loaded.file.layer == "project"]
    settings = _merge_settings([loaded.reading for loaded in files if loaded.file.layer == "user"])
    memory = GuardMemory(native_home)
    store = TrustStore(native_home)
    parts = _find_parts(project, homes, files, own, settings, memory, store.get(project))
    verdict = judge_project(project, enabled, parts, trust, store)
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
    folders = find_folders(
        vix_hooks or _find_vix_hooks(homes),
        memory,
        is_closed=broken_config == "closed",
        remembers=remember_guards,
    )
    closures = [closure for reading in counted for closure in reading.closures]
    problems += [problem for reading in counted for problem in reading.problems]
    problems += _find_missing(project, vix_hooks)
    problems += verdict.problems
    problems += _find_collisions([*counted, Reading(hooks=folders.hooks)])
    problems += modules.problems
    problems += folders.problems
    if broken_config == "closed":
        closures += [closure for loaded in files for closure in _close_broken(loaded, memory)]
        closures += _close_skipped(modules, native_home)
    if remember_guards:
        _remember_guards(files, memory)
    return Layers(
        project=project,
        homes=homes,
        files=tuple(files),
        hooks=_order_hooks(files, modules, folders, homes),
        modules=modules,
        folders=folders,
        parts=parts,
        closures=(*closures, *verdict.closures, *folders.closures),
        settings=_merge_settings(counted),
        problems=tuple(problems),
        snapshot=verdict.snapshot,
        closes_broken=broken_config == "closed",
        trust=_find_standing(parts, verdict),
    )


def _find_missing(project: Path, vix_hooks: Path | None) -> Iterator[Problem]:
    """Folders that were named and are not there: a mistake in a path must not look like a project without hooks."""
    for path, what in ((project, "project"), (vix_hooks, "folder of hook folders")):
        if path is not None and not path.is_dir():
            yield Problem(
                severity="warning",
                code="missing-folder",
                message=f"the {what} is no folder, so no hooks are found there; check the path",
                place=Place(path=path),
            )


def _find_standing(parts: ProjectParts, verdict: ProjectVerdict) -> TrustStanding:
    if verdict.is_counted:
        return "trusted" if parts.paths else "nothing"
    return verdict.why_not or "nothing"


def reload_folders(layers: Layers) -> Layers:
    """The same layers with the user's hook folders read again."""
    before = layers.folders
    after = find_folders(before.path, GuardMemory(layers.homes[NATIVE.name]), is_closed=before.is_closed)
    counted = [loaded.reading for loaded in layers.files if loaded.is_counted]
    return replace(
        layers,
        folders=after,
        hooks=_order_hooks(layers.files, layers.modules, after, layers.homes),
        closures=(*(closure for closure in layers.closures if closure not in before.closures), *after.closures),
        problems=(
            *(found for found in layers.problems if found.code != "id-collision" and found not in before.problems),
            *_find_collisions([*counted, Reading(hooks=after.hooks)]),
            *after.problems,
        ),
    )


def _find_vix_hooks(homes: Mapping[str, Path]) -> Path | None:
    return homes[VIX.name] / "hooks" if VIX.name in homes else None


def _find_parts(
    project: Path,
    homes: dict[str, Path],
    files: Sequence[LoadedFile],
    own: Sequence[LoadedFile],
    settings: Settings,
    memory: GuardMemory,
    record: TrustRecord | None,
) -> ProjectParts:
    """What the project's hooks are made of, whether they may run or not."""
    found = find_modules(project, homes, files, settings)
    modules = [spec.path for spec in found.specs if spec.layer == "project"]
    scripts = [hook.source.place.path for hook in found.hooks if hook.source.layer == "project"]
    # A module that is gone guarded something too.
    gone = [project / name for name in (() if record is None else record.digests) if name.endswith(".py")]
    guards = dict.fromkeys(guard for path in (*modules, *gone) for guard in memory.recall(path))
    return ProjectParts(files=own, modules=[*modules, *scripts], guards=list(guards))


def _order_hooks(
    files: Sequence[LoadedFile], modules: ModuleSet, folders: FolderSet, homes: Mapping[str, Path]
) -> tuple[Hook, ...]:
    """
    The hooks of each layer, the project's before the user's.

    In a layer come those of its files and folders, dialect by dialect, then its scripts.
    """
    found: list[Hook] = []
    for layer in ("project", "user"):
        for dialect in homes:
            found += [
                hook
                for loaded in files
                if loaded.is_counted and loaded.file.layer == layer and loaded.file.dialect.name == dialect
                for hook in loaded.reading.hooks
            ]
            if layer == "user" and dialect == VIX.name:
                found += folders.hooks
        found += [hook for hook in modules.hooks if hook.source.layer == layer]
    return tuple(found)


def _check_home(home: Path, project: Path, what: str = "home") -> None:
    """A home that a repository could fill is no home; the user's default one may lie below a project."""
    if home == default_home():
        return
    real = Path(os.path.realpath(home))
    if real.is_relative_to(os.path.realpath(project)):
        raise ConfigError(
            f"the {what} {home} lies inside the project {project}: a project must not bring its own {what}"
        )


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


def _close_skipped(modules: ModuleSet, native_home: Path) -> Iterator[Closure]:
    """Keep closed what files guarded that were modules and are none any more, such as those that cannot be read."""
    if modules.discovery is not None:
        for skip in modules.discovery.skipped:
            yield from close_module(skip.path, skip.reason, native_home)
        for folder in modules.discovery.lost:
            yield from close_folder(folder, native_home)


def _has_memory(loaded: LoadedFile) -> bool:
    return loaded.file.dialect is NATIVE


def _remember_guards(files: Iterable[LoadedFile], memory: GuardMemory) -> None:
    for loaded in files:
        if loaded.is_counted and _has_memory(loaded) and not loaded.is_broken:
            memory.remember(loaded.file.path, guards_of(loaded.reading), loaded.reading.dialects or ())


def find_foreign_files(project: Path, layers: Layers) -> tuple[HookFile, ...]:
    """The hook files of dialects that are known but not enabled, and the folder of the user's hook folders."""
    others = [dialect for dialect in DIALECTS.values() if dialect.name not in layers.homes]
    homes = find_homes(others, default_home())
    found = find_hook_files(project, homes, others)
    folder = _find_vix_hooks(homes)
    if folder is None or not load_folders(folder).specs:
        return found
    return (*found, HookFile(layer="user", dialect=VIX, path=folder))


def _choose_dialects(native_home: Path, names: Sequence[str] | None) -> tuple[list[Dialect], list[Problem]]:
    """The dialects to read; native is always one of them."""
    problems: list[Problem] = []
    if names is None:
        names, problems = _dialects_of_user(native_home)
    if isinstance(names, str):
        raise ConfigError(f"dialects must be a list of names, not one text; write [{names!r}]")
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
        if earlier.source.place != hook.source.place:
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
