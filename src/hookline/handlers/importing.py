"""From the file of a module hook to the module and its factory: importing one runs it."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
import uuid
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from msgspec import Struct

from hookline.handlers.discover import HookItem
from hookline.private import read_regular

MAX_SOURCE_SIZE = 8 * 1024 * 1024
FACTORY_NAME = "hook"

_LONGEST_SHOWN = 500
_NAME_PREFIX = "_hookline_module"
_DECLARATION = re.compile(rb"^[ \t\f]*#.*?coding[:=]")


class UnloadableModuleError(Exception):
    """A file that gives no module hook; its text says which file, where in it, and why. `line` counts from 1."""

    def __init__(self, path: Path, reason: str, *, line: int = 0) -> None:
        super().__init__(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.line = line


class ModuleFile(Struct, frozen=True, kw_only=True):
    """
    One module to load.

    `item` is what discovery says of it, None when it is only configured; `configured` are the paths by which it was
    configured, none when it is only discovered.
    """

    path: Path
    item: HookItem | None = None
    configured: tuple[Path, ...] = ()


def load_order(configured: Sequence[Path], discovered: Sequence[HookItem]) -> list[ModuleFile]:
    """
    The modules to load, in order: those discovered, then those configured that were not.

    What leads to the same file is one module. Items that are no modules are passed over.
    """
    modules = [item for item in discovered if item.kind == "module"]
    paths: dict[str, Path] = {}
    items: dict[str, HookItem] = {}
    named: dict[str, list[Path]] = {}
    for item in modules:
        real = os.path.realpath(item.path)
        paths.setdefault(real, item.path)
        items.setdefault(real, item)
    for path in configured:
        real = os.path.realpath(path)
        paths.setdefault(real, path)
        named.setdefault(real, []).append(path)
    return [
        ModuleFile(path=path, item=items.get(real), configured=tuple(named.get(real, ())))
        for real, path in paths.items()
    ]


def import_file(path: Path, *, expected_sha256: str | None = None) -> ModuleType:
    """
    Run a file as a new module, under a name that no other has.

    The file is read once: with `expected_sha256` what runs is what has that digest. Nothing is written beside it.
    Of a module that fails nothing stays behind; forget one that is used no more with `forget_module`.
    Raises `UnloadableModuleError`.
    """
    source = _read_source(path)
    if expected_sha256 is not None and hashlib.sha256(source).hexdigest() != expected_sha256:
        raise UnloadableModuleError(path, "its content is not the one that was trusted; look at it, then trust it anew")
    code = _compile(source, path)
    module = _make_module(path)
    # Dataclasses, pickle and typing look a module up by its name while it runs.
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except KeyboardInterrupt:
        forget_module(module)
        raise
    except BaseException as error:  # the boundary around a module: a SystemExit in it must not end the host
        forget_module(module)
        line = find_line(error.__traceback__, code.co_filename)
        raise UnloadableModuleError(path, f"importing it raised {describe_error(error)}", line=line) from error
    return module


def parse_file(path: Path) -> ast.Module:
    """
    The syntax of a file, which is read and not run; what Python refuses to compile is refused here.

    Raises `UnloadableModuleError`.
    """
    source = _read_source(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are told when the module is loaded
        _compile(source, path)
        return ast.parse(source, str(path))


def forget_module(module: ModuleType) -> None:
    """Take a module from Python's list, so that it goes when nobody holds it any more."""
    spec = module.__spec__
    if spec is not None and spec.name.startswith(_NAME_PREFIX):
        sys.modules.pop(spec.name, None)


def find_factory(module: ModuleType) -> Callable[..., Any]:
    """
    The function `hook` of a module, plain or async.

    Raises `UnloadableModuleError` when it has none.
    """
    path = Path(str(module.__file__))
    if FACTORY_NAME not in vars(module):
        raise UnloadableModuleError(path, "it has no function hook; define `def hook(api): ...`")
    factory = vars(module)[FACTORY_NAME]
    if not callable(factory):
        kind = type(factory).__name__
        raise UnloadableModuleError(
            path, f"its hook is {_show(factory)}, of type {kind}, not a function; define `def hook(api): ...`"
        )
    found: Callable[..., Any] = factory
    return found


def _read_source(path: Path) -> bytes:
    try:
        source = read_regular(path, MAX_SOURCE_SIZE + 1)
    except FileNotFoundError as error:
        raise UnloadableModuleError(path, "there is no such file") from error
    except OSError as error:
        raise UnloadableModuleError(path, f"it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UnloadableModuleError(path, f"it cannot be read: {error}") from error
    if len(source) > MAX_SOURCE_SIZE:
        raise UnloadableModuleError(path, f"it has more than {MAX_SOURCE_SIZE} bytes")
    return source


def _compile(source: bytes, path: Path) -> CodeType:
    """The code of a file, which may declare another encoding than UTF-8 as any Python file may."""
    _check_text(source, path)
    try:
        return compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        reason = f"{type(error).__name__}: {error.msg}"
        raise UnloadableModuleError(path, reason, line=error.lineno or 0) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        # Zero bytes, and what is nested too deeply for Python's own parser.
        raise UnloadableModuleError(path, f"it cannot be compiled: {describe_error(error)}") from error


def _check_text(source: bytes, path: Path) -> None:
    try:
        source.decode()
    except UnicodeDecodeError as error:
        if any(_DECLARATION.match(line) for line in source.split(b"\n", 2)[:2]):
            return
        line = source.count(b"\n", 0, error.start) + 1
        reason = f"byte 0x{source[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise UnloadableModuleError(path, reason, line=line) from error


def _make_module(path: Path) -> ModuleType:
    stem = re.sub(r"\W", "_", path.stem)
    module = module_from_spec(ModuleSpec(f"{_NAME_PREFIX}_{stem}_{uuid.uuid4().hex}", None, origin=str(path)))
    module.__file__ = str(path)
    return module


def find_line(traceback: TracebackType | None, filename: str) -> int:
    """The last line of this file on the way to an error, 0 when the error came from outside of it."""
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == filename:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def describe_error(error: BaseException) -> str:
    """An error's kind and text, which may be long and may itself fail."""
    kind = type(error).__name__
    try:
        text = str(error)
    except Exception:  # the text is made by the module's own class
        text = ""
    return _shorten(f"{kind}: {text}" if text else kind)


def _show(value: object) -> str:
    try:
        return _shorten(repr(value))
    except Exception:  # the text is made by the module's own class
        return "a value that cannot be shown"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."
