"""A setup of another format: which one it is, and what it becomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from hookline.bridge.program import Format
from hookline.conversion.base import Conversion
from hookline.conversion.chrys import convert_chrys
from hookline.conversion.objects import convert_objects
from hookline.conversion.vix import convert_vix
from hookline.dialects.chrys import CHRYS
from hookline.errors import ConfigError
from hookline.folders.spec import SPEC_FILE

CONVERTERS: Mapping[Format, Callable[[Path], Conversion]] = {
    "chrys": convert_chrys,
    "vix": convert_vix,
    "objects": convert_objects,
}
_PEEK = 4096


def convert(path: Path, format_: Format | None = None) -> Conversion:
    """
    What the setup at `path` becomes; its format is told by the path where it is not given.

    Raises `ConfigError` for what is no such setup.
    """
    format_ = format_ or find_format(path)
    if (format_ == "vix") != path.is_dir():
        wanted = "folder of hook folders" if format_ == "vix" else "file"
        raise ConfigError(f"{path} is no {wanted}, which a setup of {format_} is")
    return CONVERTERS[format_](Path(os.path.abspath(path)))  # noqa: PTH100 - a link in the path keeps its name


def find_format(path: Path) -> Format:
    """The format of a setup, by its path and by what it starts with; raises `ConfigError`."""
    if path.is_dir():
        file = next((path / name for name in CHRYS.file_names if (path / name).is_file()), None)
        if file is not None:
            raise ConfigError(f"{path} holds a hooks file; name that: {file}")
        return "vix"
    if path.name == SPEC_FILE:
        raise ConfigError(f"{path} is the spec of one hook folder; name the folder that all of them are in")
    return "objects" if path.suffix == ".json" and _starts_list(path) else "chrys"


def _starts_list(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(_PEEK).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
