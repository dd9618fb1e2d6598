"""Loading modules: their code is run, their `hook(api)` is called, and what it registers counts or is rolled back."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct

from hookline.handlers.api import HookAPI, Registration
from hookline.handlers.importing import (
    MAX_SOURCE_SIZE,
    UnloadableModuleError,
    describe_error,
    find_factory,
    find_line,
    forget_module,
    import_file,
)
from hookline.hook import ModuleSpec, Settings
from hookline.private import read_regular

LOAD_TIMEOUT_S = 30.0
"""How long a module may take to load, its `hook(api)` included."""


class LoadedModule(Struct, frozen=True, kw_only=True, eq=False):
    """A module that is loaded, with what it registered."""

    spec: ModuleSpec
    module: ModuleType
    registration: Registration
    digest: str

    def is_current(self) -> bool:
        """Whether its file still holds what was loaded."""
        return digest_file(self.spec.path) == self.digest

    def unload(self) -> None:
        """Take everything it registered off again and forget its code."""
        self.registration.leave()
        forget_module(self.module)


class LoadError(Struct, frozen=True, kw_only=True):
    """A module that could not be loaded, and why."""

    spec: ModuleSpec
    text: str
    line: int = 0

    @property
    def path(self) -> Path:
        """The file."""
        return self.spec.path


class Loading(Struct, frozen=True, kw_only=True):
    """What became of the modules, each list in the order in which they were to be loaded."""

    modules: tuple[LoadedModule, ...] = ()
    errors: tuple[LoadError, ...] = ()


def load_modules(specs: Sequence[ModuleSpec], settings: Settings) -> Loading:
    """
    Load modules one after another; one that fails contributes nothing and leaves the others alone.

    Each is loaded on a thread of its own, so that one that hangs is an error after `LOAD_TIMEOUT_S`.
    """
    modules: list[LoadedModule] = []
    errors: list[LoadError] = []
    for spec in specs:
        try:
            modules.append(_load_in_time(spec, settings))
        except UnloadableModuleError as error:
            errors.append(LoadError(spec=spec, text=str(error), line=error.line))
    return Loading(modules=tuple(modules), errors=tuple(errors))


def _load_in_time(spec: ModuleSpec, settings: Settings) -> LoadedModule:
    registration = Registration(spec.path, spec.layer, settings, timeout_s=spec.timeout_s)
    outcome: list[Any] = []

    def load() -> None:
        try:
            loaded = _load(spec, registration)
        except UnloadableModuleError as error:
            outcome.append(error)
        except BaseException as error:  # boundary: a module may raise what it likes, also while it is imported
            outcome.append(UnloadableModuleError(spec.path, f"loading it raised {describe_error(error)}"))
        else:
            outcome.append(loaded)
            if registration.is_over:
                loaded.unload()

    thread = threading.Thread(target=load, name=f"hookline loads {spec.path.name}", daemon=True)
    thread.start()
    thread.join(LOAD_TIMEOUT_S)
    if not outcome:
        registration.leave()
        raise UnloadableModuleError(spec.path, f"it did not finish loading within {LOAD_TIMEOUT_S:g} s")
    if isinstance(outcome[0], UnloadableModuleError):
        registration.leave()
        raise outcome[0]
    loaded: LoadedModule = outcome[0]
    return loaded


def _load(spec: ModuleSpec, registration: Registration) -> LoadedModule:
    # Taken before it runs: a file that changes in between is loaded anew the next time.
    digest = spec.sha256 or digest_file(spec.path)
    module = import_file(spec.path, expected_sha256=spec.sha256)
    try:
        factory = find_factory(module)
        _call_factory(factory, HookAPI(registration), spec.path)
    except BaseException:
        forget_module(module)
        raise
    return LoadedModule(spec=spec, module=module, registration=registration, digest=digest)


def digest_file(path: Path) -> str:
    """The digest of a file's content, empty when it cannot be read."""
    try:
        return hashlib.sha256(read_regular(path, MAX_SOURCE_SIZE + 1)).hexdigest()
    except (OSError, ValueError):
        return ""


def _call_factory(factory: Any, api: HookAPI, path: Path) -> None:
    try:
        made = factory(api)
        if inspect.isawaitable(made):
            asyncio.run(_wait_for(made))
    except BaseException as error:  # boundary: whatever the factory raises, an exit too, is this module's failure
        line = find_line(error.__traceback__, str(path))
        raise UnloadableModuleError(path, f"its hook(api) raised {describe_error(error)}", line=line) from error


async def _wait_for(made: Any) -> None:
    await made
