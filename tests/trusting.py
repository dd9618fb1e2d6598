"""Trust given the way a person gives it, but without a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookline import Engine
from hookline.config.file import LoadedFile
from hookline.config.layers import load_layers
from hookline.config.project import project_folders, project_guards, project_hooks
from hookline.config.snapshot import Snapshot, take_snapshot
from hookline.config.trust import TrustStore
from hookline.dialects.table import get_dialect
from support import Bench


def read_project_files(bench: Bench, dialects: Sequence[str] = ("native",)) -> list[LoadedFile]:
    """The project's files, trusted or not."""
    layers = load_layers(bench.project, home=bench.home, dialects=dialects, trust="all", remember_guards=False)
    return [loaded for loaded in layers.files if loaded.file.layer == "project"]


def snapshot_project(bench: Bench, dialects: Sequence[str] = ("native",)) -> Snapshot:
    """The content that the project's hooks are made of now."""
    folders = project_folders(bench.project, [get_dialect(name) for name in dialects])
    return take_snapshot(bench.project, folders, project_hooks(read_project_files(bench, dialects)))


def trust_project(bench: Bench, dialects: Sequence[str] = ("native",)) -> Snapshot:
    """Record the project as trusted, as it is now."""
    snapshot = snapshot_project(bench, dialects)
    TrustStore(bench.home).put(snapshot, project_guards(read_project_files(bench, dialects)))
    return snapshot


def open_recorded(bench: Bench, **options: Any) -> Engine:
    """An engine that takes the project's hooks as the user's record says."""
    return bench.open(trust="recorded", **options)


def codes_of(engine: Engine) -> list[str]:
    """The codes of what loading found."""
    return [problem.code for problem in engine.problems]
