"""Switching a hook on or off by its id: what `enable` and `disable` share."""

from __future__ import annotations

from pathlib import Path

from hookline.catalogue import find_switch
from hookline.cli.options import load, resolve_home
from hookline.cli.screen import say
from hookline.cli.trust import record_trust, snapshot_project
from hookline.config.layers import Layers
from hookline.config.trust import TrustStore, judge


def switch(hook_id: str, project: Path, home: Path | None, layer: str | None, *, is_enabled: bool) -> None:
    """Edit the one file that holds the hook; a trusted project stays trusted with the edit."""
    layers = load(project, home, trust="all")
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
