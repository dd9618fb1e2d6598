"""
The modules and scripts of all layers: those that hook files name, and those in `pre` and `post` folders.

Nothing here runs any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from hookline.config.file import LoadedFile
from hookline.config.locate import default_home
from hookline.config.snapshot import Snapshot
from hookline.dialects.base import ModuleEntry
from hookline.dialects.native import NATIVE
from hookline.dialects.xcsh import XCSH
from hookline.handlers.discover import Discovery, HookItem, Provider, SkippedFile, discover_sync
from hookline.handlers.folders import FolderProvider, builtin_providers
from hookline.handlers.importing import load_order
from hookline.handlers.paths import UnusablePathError, resolve_path
from hookline.hook import (
    CommandAction,
    Execution,
    Hook,
    LayerName,
    Match,
    ModuleSpec,
    ScriptAction,
    Settings,
    Source,
)
from hookline.problem import Place, Problem

_EVENTS = {"pre": "before_tool_call", "post": "after_tool_call"}


class ModuleSet(Struct, frozen=True, kw_only=True):
    """
    The modules to load, in order, the hooks that scripts are, and what was wrong.

    `discovery` is all that was found in folders, what is shadowed, disabled or skipped included. `refusals` are
    the problems that keep an engine from starting: required modules whose paths lead nowhere.
    """

    specs: tuple[ModuleSpec, ...] = ()
    hooks: tuple[Hook, ...] = ()
    problems: tuple[Problem, ...] = ()
    refusals: tuple[Problem, ...] = ()
    discovery: Discovery | None = None


class NamedModule(Struct, frozen=True, kw_only=True):
    """A module that a hook file names, its path resolved."""

    entry: ModuleEntry
    layer: LayerName
    path: Path


def find_modules(
    project: Path,
    homes: Mapping[str, Path],
    files: Sequence[LoadedFile],
    settings: Settings,
    *,
    providers: Sequence[Provider] = (),
    with_project: bool = True,
    snapshot: Snapshot | None = None,
) -> ModuleSet:
    """
    Find all modules and scripts.

    Without `with_project` those of the project are left out, so that they shadow nobody. A module that is part
    of the `snapshot` is loaded only with the content it had there.
    """
    files = [loaded for loaded in files if with_project or loaded.file.layer == "user"]
    found = discover_sync(
        [*_list_providers(project, homes, with_project=with_project), *providers],
        project,
        disabled_ids=settings.disabled_ids,
    )
    problems: list[Problem] = [_describe_skip(skip) for skip in found.skipped]
    problems += [_warn(project, warning) for warning in found.warnings]
    problems += [_describe_shadow(item) for item in found.all_items if item.is_shadowed]
    refusals: list[Problem] = []
    named = list(resolve_entries(files, homes, problems, refusals))
    modules = [item for item in found.items if item.kind == "module"]
    specs = []
    for file in load_order([module.path for module in named], modules):
        says = [module for module in named if module.path in file.configured]
        if says and not any(module.entry.enabled for module in says):
            continue
        limits = [module.entry.timeout_s for module in says if module.entry.timeout_s is not None]
        layer = file.item.layer if file.item is not None else says[0].layer
        specs.append(
            ModuleSpec(
                path=file.path,
                layer=layer,
                is_required=any(module.entry.is_required for module in says),
                timeout_s=limits[0] if limits else None,
                sha256=_find_digest(snapshot, file.path),
            )
        )
    scripts = [item for item in found.items if item.kind != "module"]
    return ModuleSet(
        specs=tuple(specs),
        hooks=tuple(_make_hook(item) for item in scripts),
        problems=tuple(problems),
        refusals=tuple(refusals),
        discovery=found,
    )


def _list_providers(project: Path, homes: Mapping[str, Path], *, with_project: bool) -> list[FolderProvider]:
    with_xcsh = XCSH.name in homes
    user_home = default_home(XCSH).parent if with_xcsh else None
    found = builtin_providers(project, homes[NATIVE.name], with_xcsh=with_xcsh, user_home=user_home)
    return [provider for provider in found if with_project or provider.layer == "user"]


def resolve_entries(
    files: Sequence[LoadedFile], homes: Mapping[str, Path], problems: list[Problem], refusals: list[Problem]
) -> Iterator[NamedModule]:
    """
    The modules that hook files name.

    A path that cannot name any is added to the problems, and to the refusals if the module is required.
    """
    for loaded in files:
        for entry in loaded.reading.modules:
            try:
                path = resolve_path(entry.path, loaded.file.path.parent, homes[NATIVE.name].parent)
            except UnusablePathError as error:
                problem = _describe_path(entry, error)
                problems.append(problem)
                refusals += [problem] if entry.is_required and entry.enabled else []
                continue
            yield NamedModule(entry=entry, layer=loaded.file.layer, path=path)


def _describe_path(entry: ModuleEntry, error: UnusablePathError) -> Problem:
    return Problem(
        severity="error",
        code="module-path",
        message=f"the module {entry.path!r} cannot be found: {error}",
        place=entry.place,
        cure="write the path of a Python file, relative to this file",
    )


def _find_digest(snapshot: Snapshot | None, path: Path) -> str | None:
    if snapshot is None:
        return None
    covered = snapshot.files.get(snapshot.name_of(path))
    return None if covered is None else covered.digest


def _make_hook(item: HookItem) -> Hook:
    """The command hook that a script in a folder is; its file name says for which tool."""
    is_script = item.kind == "script"
    return Hook(
        id=item.id,
        event=_EVENTS[item.type or "pre"],
        action=ScriptAction(path=item.path) if is_script else CommandAction(argv=(str(item.path),)),
        source=Source(layer=item.layer, dialect=NATIVE.name, place=Place(path=item.path)),
        match=Match(tool_name=None if item.is_for_every_tool else item.tool),
        execution=Execution(mode="blocking", on_provoked_error="block"),
        description=f"found by {item.provider}" if item.provider else "",
    )


def _describe_skip(skip: SkippedFile) -> Problem:
    return Problem(
        severity=skip.severity,
        code="skipped-file",
        message=f"this file is no hook: {skip.reason}",
        place=Place(path=skip.path),
    )


def _describe_shadow(item: HookItem) -> Problem:
    return Problem(
        severity="warning",
        code="shadowed-hook",
        message=f"this hook does not run: {item.shadowed_by} has one of the same name for the same tool",
        place=Place(path=item.path),
        cure="give it another name",
    )


def _warn(project: Path, text: str) -> Problem:
    return Problem(severity="warning", code="provider-failed", message=text, place=Place(path=project))
