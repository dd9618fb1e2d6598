"""Which files and folders say what the hooks of a project and its user are, so that they can be watched."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from hookline.config.layers import Layers
from hookline.config.locate import default_home
from hookline.config.project import project_folders, project_hooks
from hookline.config.snapshot import find_arguments
from hookline.config.trust import TrustStore
from hookline.dialects.native import NATIVE
from hookline.dialects.table import get_dialect
from hookline.dialects.xcsh import XCSH
from hookline.handlers.discover import Provider
from hookline.handlers.folders import FolderProvider, builtin_providers

# What Hookline writes into the user's folder of hooks while it works.
_WRITTEN = frozenset({"detached", "log", "logs", "memory", "outbox", "tmp"})


class WatchRoot(Struct, frozen=True, kw_only=True):
    """
    A file, or a folder with everything in it, that may be there or come to be there.

    `skipped` are names right in the folder that do not count, `skipped_starts` beginnings of such names at any depth.
    """

    path: Path
    skipped: frozenset[str] = frozenset()
    skipped_starts: tuple[str, ...] = ()


def watch_roots(layers: Layers, providers: Sequence[Provider] = ()) -> tuple[WatchRoot, ...]:
    """
    The roots of all file-based layers, whether they count now or not.

    Also those of what trust covers, and of the record that says what is trusted.
    """
    dialects = [get_dialect(name) for name in layers.homes]
    folders = project_folders(layers.project, dialects)
    folders += [layers.homes[dialect.name] / "hooks" for dialect in dialects]
    folders += [folder for provider in _list_providers(layers, providers) for folder in _list_folders(layers, provider)]
    files = [path for path in _list_files(layers) if not any(path.is_relative_to(folder) for folder in folders)]
    own = os.path.realpath(layers.homes[NATIVE.name] / "hooks")
    if layers.folders.path is not None:
        folders.append(layers.folders.path)
    return tuple(_make_root(path, own, layers) for path in dict.fromkeys([*folders, *files]))


def _make_root(path: Path, own: str, layers: Layers) -> WatchRoot:
    return WatchRoot(
        path=path,
        skipped=_WRITTEN if os.path.realpath(path) == own else frozenset(),
        # The history of a hook folder lies in it.
        skipped_starts=("state.",) if path == layers.folders.path else (),
    )


def _list_providers(layers: Layers, providers: Sequence[Provider]) -> Iterator[FolderProvider]:
    with_xcsh = XCSH.name in layers.homes
    user_home = default_home(XCSH).parent if with_xcsh else None
    home = layers.homes[NATIVE.name]
    yield from builtin_providers(layers.project, home, with_xcsh=with_xcsh, user_home=user_home)
    yield from (provider for provider in providers if isinstance(provider, FolderProvider))


def _list_folders(layers: Layers, provider: FolderProvider) -> Iterator[Path]:
    for name in ("pre", "post"):
        yield layers.project / provider.root / name


def _list_files(layers: Layers) -> Iterator[Path]:
    """The single files that matter wherever they lie; a file that trust covers does so while it is gone, too."""
    store = TrustStore(layers.homes[NATIVE.name])
    yield store.path_of(layers.project)
    yield from (spec.path for spec in layers.modules.specs)
    if layers.modules.discovery is not None:
        yield from (item.path for item in layers.modules.discovery.items)
    yield from layers.parts.paths
    for hook in project_hooks(layers.parts.files):
        yield from find_arguments(hook, layers.project)
    record = store.get(layers.project)
    if record is not None:
        yield from (layers.project / name for name in record.digests)
