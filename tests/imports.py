"""What the modules of the package import of each other, read from their text and never by importing them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = "hookline"
SOURCE = Path(__file__).parents[1] / "src" / ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """
    One import of a module by another; both are named without `hookline.`, the root package by an empty name.

    `is_lazy` tells that it stands inside a function.
    """

    importer: str
    imported: str
    line: int
    is_lazy: bool = False

    def __str__(self) -> str:
        return f"{self.importer or ROOT} (line {self.line}) imports {self.imported or ROOT}"


def find_files() -> list[Path]:
    """All Python files of the package."""
    return sorted(SOURCE.rglob("*.py"))


def list_packages() -> set[str]:
    """The names of all packages below the root."""
    return {name_module(path) for path in find_files() if path.name == "__init__.py"} - {""}


def name_module(path: Path) -> str:
    """The name of a file's module below the package; a package has the name of its folder."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def read_trees() -> Mapping[str, ast.Module]:
    """Each module's syntax tree."""
    return {name_module(path): ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in find_files()}


@functools.cache
def read_imports() -> tuple[Import, ...]:
    """Every import of a module of the package by another, those inside functions and for type checkers included."""
    trees = read_trees()
    return tuple(found for importer, tree in trees.items() for found in find_imports(importer, tree, set(trees)))


def find_imports(importer: str, tree: ast.Module, modules: Iterable[str]) -> Iterator[Import]:
    """The imports in one tree; `modules` are the names that are modules, so that the others are names in them."""
    known = set(modules)
    lazy = {id(node) for function in ast.walk(tree) if _is_function(function) for node in ast.walk(function)}
    for node in ast.walk(tree):
        for name in _name_targets(node):
            if name == ROOT or name.startswith(f"{ROOT}."):
                imported = _find_module(name.removeprefix(ROOT).removeprefix("."), known)
                yield Import(importer=importer, imported=imported, line=node.lineno, is_lazy=id(node) in lazy)


def find_foreign_imports(module: str) -> set[str]:
    """The top-level names of what a module imports from outside the package."""
    found = set()
    for node in ast.walk(read_trees()[module]):
        found |= {name.split(".")[0] for name in _name_targets(node)}
    return found - {ROOT}


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def _name_targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _find_module(name: str, known: set[str]) -> str:
    """The module that holds a dotted name: the name itself, or the nearest enclosing module."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def find_cycle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """The modules of a ring of imports, in order; empty when there is none."""
    done: set[str] = set()

    def visit(node: str, trail: list[str]) -> list[str]:
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in done:
            return []
        for target in sorted(graph.get(node, ())):
            if ring := visit(target, [*trail, node]):
                return ring
        done.add(node)
        return []

    return next((ring for node in sorted(graph) if (ring := visit(node, []))), [])
