"""The public names of the package: written once for the interpreter, once for type checkers, and complete."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import hookline
from hookline import events

ROOT = Path(hookline.__file__)


def read_checked_names() -> dict[str, str]:
    """The names that type checkers are told, each with its module."""
    block = next(node for node in ast.parse(ROOT.read_text(encoding="utf-8")).body if isinstance(node, ast.If))
    return {
        alias.name: node.module.removeprefix("hookline.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }


def test_type_checkers_are_told_the_names_that_there_are() -> None:
    assert read_checked_names() == hookline._MODULE_OF


def test_the_names_are_kept_sorted() -> None:
    homes: dict[str, tuple[str, ...]] = hookline._HOMES
    assert list(homes) == sorted(homes)
    assert [names for names in homes.values() if list(names) != sorted(names)] == []
    assert list(read_checked_names().values()) == sorted(read_checked_names().values())


def test_every_name_can_be_imported() -> None:
    assert [name for name in hookline.__all__ if getattr(hookline, name, None) is None] == []


def test_the_record_of_every_event_is_public() -> None:
    assert {row.record.__name__ for row in events.EVENT_TYPES} <= set(hookline.__all__)


def test_what_methods_of_the_engine_return_is_public() -> None:
    """A host can name what it is handed; what an extra brings is named where the extra is."""
    returned = set()
    for name in dir(hookline.Engine):
        found: Any = getattr(hookline.Engine, name)
        function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        if not name.startswith("_") and callable(function):
            returned |= find_names(function)
    elsewhere = {"On", "Remove", "Modules", "Handling", "Watch"}  # of hookline.modules, an extra, and an inner part
    assert returned - elsewhere - set(hookline.__all__) == set()


def find_names(function: Any) -> set[str]:
    """The classes of the package in what a function says it returns."""
    tree = ast.parse(function.__annotations__.get("return", "None"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return {name for name in names if name[0].isupper() and name not in ("Any", "Self", "None")}
