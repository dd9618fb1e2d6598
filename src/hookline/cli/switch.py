"""Switching a hook on or off by its id: what `enable` and `disable` share."""

from __future__ import annotations

from pathlib import Path

from hookline.catalogue import find_switch
from hookline.cli.options import load, resolve_home
from hookline.cli.screen import say
from hookline.cli.trust import record_trust, snapshot_project
from hookline.config.layers import Layers
from hookline.config.trust import TrustStore, judge
from hookline.errors import ConfigError
from hookline.handlers.reading import read_module


def switch(hook_id: str, project: Path, home: Path | None, layer: str | None, *, is_enabled: bool) -> None:
    """Edit the one file that holds the hook; a trusted project stays trusted with the edit."""
    layers = load(project, home, trust="all")
    _refuse_entryless(layers, hook_id)
    found = find_switch(layers, hook_id, layer)
    store = TrustStore(resolve_home(home))
    was_trusted = found.hook.source.layer == "project" and _is_trusted(layers, store)
    is_changed = found.set_enabled(is_enabled=is_enabled)
    state = "enabled" if is_enabled else "disabled"
    if not is_changed:
        say(f"hook {hook_id!r} of {found.path} is {state} already")
        return
    say(f"hook {hook_id!r} of {found.path} is {state} now")
    if was_trusted:
        again = load(project, home, trust="all")
        record_trust(store, again, snapshot_project(again))
        say("the project stays trusted, with this change")


def _is_trusted(layers: Layers, store: TrustStore) -> bool:
    record = store.get(layers.project)
    return record is not None and judge(snapshot_project(layers), record).state == "trusted"


def _refuse_entryless(layers: Layers, hook_id: str) -> None:
    """Say how a hook is switched that no entry of a hooks file stands for; raises `ConfigError` if it is such a one."""
    if any(hook.id == hook_id for loaded in layers.files for hook in loaded.reading.hooks):
        return
    for script in layers.modules.hooks:
        if script.id == hook_id:
            how = f"name it under disabled_ids of the settings in your own hooks file: [{hook_id!r}]"
            raise ConfigError(f"hook {hook_id!r} is the file {script.source.place.path}; to leave it out, {how}")
    for spec in layers.modules.specs:
        if any(hook.id == hook_id for hook in read_module(spec, layers.settings).hooks):
            how = "write {path: ..., enabled: false} for it under modules, or move it out of the script folder"
            raise ConfigError(f"hook {hook_id!r} belongs to the module {spec.path}; to leave that out, {how}")
