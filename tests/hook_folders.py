"""Builders for hook folders: a spec needs only what matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hookline.folders.load import Loaded, load_folders
from hookline.folders.registry import FolderRegistry
from hookline.folders.spec import FolderSpec, SpecError, parse_spec


def make_spec(*, event: str = "Stop", matcher: str | None = None, **keys: Any) -> dict[str, Any]:
    """A spec that does nothing at an event; `keys` are further keys of it, None leaves one out."""
    trigger = {"event": event} if matcher is None else {"event": event, "matcher": matcher}
    found = {"trigger": trigger, "command": "true", **keys}
    return {key: value for key, value in found.items() if value is not None}


def read_spec(directory: str = "d", **keys: Any) -> FolderSpec:
    """The spec of a folder, read from its text."""
    return parse_spec(json.dumps(make_spec(**keys)), Path(directory, "hook.json"))


def refuse_spec(directory: str = "d", **keys: Any) -> str:
    """Why a spec is not valid."""
    try:
        spec = read_spec(directory, **keys)
    except SpecError as error:
        return str(error)
    raise AssertionError(f"{spec} is valid")


class HooksDir:
    """A hooks folder under test."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, directory: str, text: str | None = None, **keys: Any) -> Path:
        """Add a hook folder with a spec; returns the spec's path."""
        folder = self.path / directory
        folder.mkdir(exist_ok=True)
        path = folder / "hook.json"
        path.write_text(json.dumps(make_spec(**keys)) if text is None else text, encoding="utf-8")
        return path

    def load(self) -> Loaded:
        return load_folders(self.path)

    def index(self) -> FolderRegistry:
        return FolderRegistry(self.load())
