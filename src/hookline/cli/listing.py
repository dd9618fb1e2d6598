"""All hooks as far as they are known without running any: those of files, scripts in folders, handlers of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from hookline.catalogue import Listed
from hookline.cli.options import load
from hookline.config.layers import Layers
from hookline.config.modules import ModuleSet
from hookline.dialects.base import ModuleEntry
from hookline.handlers.discover import Discovery, HookItem, SkippedFile
from hookline.handlers.reading import ModuleReading, read_module
from hookline.problem import Problem

_LEFT_OUT = {"untrusted": "untrusted", "trust-changed": "changed", "untrustable": "untrustable"}
_BROKEN = "its module cannot be loaded"


class ListedHook(Listed, frozen=True, kw_only=True):
    """A hook in this listing."""

    @property
    def is_broken(self) -> bool:
        """Whether its module is at fault."""
        return self.why_not == _BROKEN


class ListedModule(Struct, frozen=True, kw_only=True):
    """A module as it was read; `why_not` as of a hook."""

    reading: ModuleReading
    why_not: str = ""


class Listing(Struct, frozen=True, kw_only=True):
    """
    Everything, in the order in which it runs.

    `shadowed` and `disabled` are files in folders that do not count, `skipped` those that are no hooks, `off` the
    modules that a hooks file switches off.
    """

    hooks: tuple[ListedHook, ...]
    modules: tuple[ListedModule, ...]
    shadowed: tuple[HookItem, ...]
    disabled: tuple[HookItem, ...]
    skipped: tuple[SkippedFile, ...]
    off: tuple[ModuleEntry, ...]

    @property
    def problems(self) -> list[Problem]:
        """What reading the modules found."""
        return [problem for module in self.modules for problem in module.reading.problems]


def make_listing(layers: Layers, project: Path, home: Path | None) -> Listing:
    """List everything of these layers, a project's hooks too that do not count."""
    why_not = next((_LEFT_OUT[problem.code] for problem in layers.problems if problem.code in _LEFT_OUT), "")
    own = load(project, home, trust="all").modules if why_not else layers.modules
    sets = (("project", own, why_not), ("user", layers.modules, ""))
    modules = {
        layer: [_list_module(reading, why) for reading in _read(found, layer, layers)] for layer, found, why in sets
    }
    hooks: list[ListedHook] = []
    for layer, found, why in sets:
        files = [loaded for loaded in layers.files if loaded.file.layer == layer]
        hooks += [ListedHook(hook=hook, why_not=file.why_not) for file in files for hook in file.reading.hooks]
        hooks += [ListedHook(hook=hook, why_not=why) for hook in found.hooks if hook.source.layer == layer]
        hooks += [ListedHook(hook=hook, why_not=m.why_not) for m in modules[layer] for hook in m.reading.hooks]
    hooks += [ListedHook(hook=hook) for hook in layers.folders.hooks]
    discoveries = [(layer, found.discovery or Discovery()) for layer, found, _ in sets]
    return Listing(
        hooks=tuple(hooks),
        modules=tuple(module for found in modules.values() for module in found),
        shadowed=tuple(
            item for layer, found in discoveries for item in found.all_items if item.layer == layer and item.is_shadowed
        ),
        disabled=tuple(item for layer, found in discoveries for item in found.disabled if item.layer == layer),
        skipped=tuple(dict.fromkeys(file for _, found in discoveries for file in found.skipped)),
        off=tuple(entry for loaded in layers.files for entry in loaded.reading.modules if not entry.enabled),
    )


def _read(found: ModuleSet, layer: str, layers: Layers) -> Iterator[ModuleReading]:
    return (read_module(spec, layers.settings) for spec in found.specs if spec.layer == layer)


def _list_module(reading: ModuleReading, why_not: str) -> ListedModule:
    is_broken = any(problem.severity == "error" for problem in reading.problems)
    return ListedModule(reading=reading, why_not=why_not or (_BROKEN if is_broken else ""))


def describe_left_out(listing: Listing) -> Iterator[str]:
    """A line for each file in a folder, and each module, that was switched off."""
    for item in listing.disabled:
        yield f"{item.path} is switched off: disabled_ids of the settings names {item.id}"
    for entry in listing.off:
        yield f"{entry.place}: the module {entry.path} is switched off"


def listing_to_json(listing: Listing) -> dict[str, Any]:
    """The modules, and what does not count, as data."""
    return {
        "modules": [_module_to_json(module) for module in listing.modules],
        "shadowed": [_item_to_json(item) for item in listing.shadowed],
        "disabled": [_item_to_json(item) for item in listing.disabled],
        "skipped": [{"file": str(file.path), "reason": file.reason} for file in listing.skipped],
        "modules_off": [{"module": entry.path, "source": str(entry.place)} for entry in listing.off],
    }


def _module_to_json(module: ListedModule) -> dict[str, Any]:
    reading = module.reading
    return {
        "path": str(reading.spec.path),
        "layer": reading.spec.layer,
        "loaded": not module.why_not,
        "why_not": module.why_not or None,
        "required": reading.spec.is_required,
        "hooks": [hook.id for hook in reading.hooks],
        "commands": [{"name": found.name, "description": found.description} for found in reading.commands],
        "renderers": [found.name for found in reading.renderers],
        "whole": reading.is_whole,
        "gaps": list(reading.gaps),
    }


def _item_to_json(item: HookItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "path": str(item.path),
        "layer": item.layer,
        "kind": item.kind,
        "provider": item.provider,
        "shadowed_by": item.shadowed_by,
    }


def find_unread(listing: Listing) -> Iterable[ListedModule]:
    """The modules that count and may register more than is listed."""
    return (module for module in listing.modules if module.reading.gaps and not module.why_not)
