"""The directions that imports may take: hosts → lifecycle → engine → dispatch → edges → rules → words."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable

from imports import (
    Import,
    find_cycle,
    find_files,
    find_foreign_imports,
    find_imports,
    list_packages,
    read_imports,
    read_trees,
)

# Each part of the package and how high it stands; an import may go down or stay level, never up.
WORDS, RULES, EDGES, DISPATCH, ENGINE, LIFECYCLE, HOSTS = range(7)
LEVELS = {
    "errors": WORDS,
    "problem": WORDS,
    "fields": WORDS,
    "facts": WORDS,
    "edit_rule": WORDS,
    "events": WORDS,
    "hook": WORDS,
    "outcome": WORDS,
    "document": WORDS,
    "job": WORDS,
    "match": RULES,
    "patterns": RULES,
    "registry": RULES,
    "fold": RULES,
    "sample": RULES,
    "redact": RULES,
    "config": EDGES,
    "dialects": EDGES,
    "process": EDGES,
    "runners": EDGES,
    "handlers": EDGES,
    "matcher": EDGES,
    "payload": EDGES,
    "objects": EDGES,
    "outbox": EDGES,
    "runlog": EDGES,
    "definition": EDGES,
    "private": EDGES,
    "waiting": EDGES,
    "folders": EDGES,
    "dispatch": DISPATCH,
    "background": DISPATCH,
    "hookset": DISPATCH,
    "attachment": DISPATCH,
    "handling": DISPATCH,
    "telling": DISPATCH,
    "delivery": DISPATCH,
    "assembly": ENGINE,
    "catalogue": ENGINE,
    "holder": ENGINE,
    "reloading": ENGINE,
    "watching": ENGINE,
    "engine": ENGINE,
    "lifecycle": LIFECYCLE,
    "adapters": HOSTS,
    "cli": HOSTS,
    "bridge": HOSTS,
    "conversion": HOSTS,
    "demo": HOSTS,
    "modules": HOSTS,  # one place to import from, for authors of modules and of hosts
    "terminal": HOSTS,
    "recording": HOSTS,
    "telemetry": HOSTS,
    "prompting": HOSTS,
    "fleet": HOSTS,
    "testing": HOSTS,
    "finish": HOSTS,  # what a detached hook's supervisor turns into: a program of its own
    "__main__": HOSTS,
}
# Which other edges an edge may use.
EDGE_FRIENDS = {
    "runners": {"dialects", "process", "handlers", "objects"},
    "config": {"dialects", "folders", "handlers"},
    "dialects": {"folders"},
    "handlers": {"process", "waiting"},
    "folders": {"dialects"},
    "objects": {"dialects", "process", "runners"},
}
# Edges that know nothing of Hookline and that every other edge may use.
COMMON_EDGES = {"private"}
# Edges that keep records; beside words they may use the rule that takes secrets out of them.
RECORD_KEEPERS = {"outbox", "runlog"}
# What the checks of a file look up the way runners do, so that `check` tells what would really run.
LINT_LOOKUPS = {"runners.interpreter", "runners.environment"}
# What tells a script from other files where scripts are found, so that what is found can be run.
FOLDER_LOOKUPS = {"runners.interpreter"}
# Records are structs of it, which cost a fortieth of a dataclass to define; it does nothing else for them.
RECORD_PACKAGE = "msgspec"
# Packages that come with an extra, and the one module that may import each.
EXTRAS = {
    "prompt_toolkit": "terminal",
    "watchfiles": "watching",
    "jsonschema": "lifecycle.schema",
    "referencing": "lifecycle.schema",
}
# What a rule may import beside it, when it is first needed: no other engine has the bound on time of RE2.
RULE_PACKAGES = {"patterns.linear": {"re2"}}
# Packages whose `__init__` is a public surface of its own, for host authors.
PUBLIC_PACKAGES = {"lifecycle"}
STOCK_PARTS = {"base", "spec", "entry", "hookfile", "findings", "reply", "wire"}
DIALECT_TABLE = "dialects.table"
# The root only holds names that are resolved when first used, and the version, which has to stand somewhere that
# the build reads. The command line shows it; importing the root costs nothing, and the root imports no host.
ROOT_READERS = {"cli.main": ("__version__",)}
# Imports inside functions that dodge no cycle.
LATE_IMPORTS = {
    ("process.run", "process.windows"),  # a module that is of use on one system only
    ("handling", "attachment"),  # half of what that takes, for those with objects only
    ("match", "patterns.linear"),  # a good deal of code, for hooks with a pattern on the event's subject only
    ("holder", "watching"),  # an extra
    ("holder", "handling"),  # a tenth of the time that an engine takes to open, for those with handlers only
}
MOST_LINES = 400
NAMES_WITHOUT_AN_IDEA = {"utils", "util", "core", "manager", "managers", "helpers", "helper", "common", "misc"}


def part_of(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def level_of(module: str) -> int:
    """The level of a module; one that has none stands above all, so that nothing may import it."""
    return LEVELS.get(part_of(module), HOSTS)


def inner_imports() -> list[Import]:
    """All imports between modules; the root, which holds the public names of all of them, stands outside."""
    return [found for found in read_imports() if found.importer and found.imported]


def list_modules(level: int) -> set[str]:
    return {module for module in read_trees() if module and level_of(module) == level}


def say(heading: str, found: Iterable[object]) -> str:
    return "\n  ".join([f"{heading}:", *map(str, found)])


def list_dialects() -> set[str]:
    modules = {name for name in read_trees() if name.startswith("dialects.")}
    return modules - {f"dialects.{part}" for part in STOCK_PARTS} - {DIALECT_TABLE}


def test_every_part_of_the_package_has_its_level():
    unknown = {part_of(module) for module in read_trees() if module} - LEVELS.keys()
    assert not unknown, say("parts without a place in LEVELS; say where they stand", sorted(unknown))


def test_no_import_goes_up():
    up = [found for found in inner_imports() if level_of(found.imported) > level_of(found.importer)]
    assert not up, say("imports that go up", up)


def test_words_import_only_words():
    words = list_modules(WORDS)
    assert {"errors", "events", "hook", "outcome"} <= words
    wrong = [found for found in inner_imports() if found.importer in words and found.imported not in words]
    assert not wrong, say("words that import what is no word", wrong)


def test_words_and_rules_import_no_other_package():
    allowed = {*sys.stdlib_module_names, RECORD_PACKAGE}
    pure = list_modules(WORDS) | list_modules(RULES)
    assert {"match", "registry", "fold"} <= pure
    wrong = {
        module: foreign
        for module in pure
        if (foreign := find_foreign_imports(module) - allowed - RULE_PACKAGES.get(module, set()))
    }
    assert not wrong, say("words and rules that import other packages", wrong.items())


def test_packages_of_extras_are_imported_where_their_absence_is_told():
    wrong = [
        f"{module} imports {package}"
        for module in read_trees()
        for package in find_foreign_imports(module) & EXTRAS.keys()
        if EXTRAS[package] != module
    ]
    assert not wrong, say("modules that need an extra", wrong)


def test_edges_use_only_the_edges_they_may_use():
    wrong = []
    for found in inner_imports():
        importer, imported = part_of(found.importer), part_of(found.imported)
        if level_of(importer) != EDGES or level_of(imported) != EDGES or importer == imported:
            continue
        if found.importer == "config.lint" and found.imported in LINT_LOOKUPS:
            continue
        if found.importer == "handlers.folders" and found.imported in FOLDER_LOOKUPS:
            continue
        if imported not in EDGE_FRIENDS.get(importer, set()) | COMMON_EDGES:
            wrong.append(found)
    assert not wrong, say("edges that reach into other edges", wrong)


def test_process_knows_nothing_but_itself():
    wrong = [found for found in inner_imports() if part_of(found.importer) == "process" != part_of(found.imported)]
    assert not wrong, say("process knows no hooks, but", wrong)


def test_common_edges_import_nothing_of_ours():
    wrong = [found for found in inner_imports() if part_of(found.importer) in COMMON_EDGES]
    assert not wrong, say("edges for everybody that know something of Hookline", wrong)


def test_record_keepers_use_words_alone():
    allowed = {part for part, level in LEVELS.items() if level == WORDS} | COMMON_EDGES | {"redact"}
    wrong = [
        found
        for found in inner_imports()
        if part_of(found.importer) in RECORD_KEEPERS
        and part_of(found.imported) not in allowed | {part_of(found.importer)}
    ]
    assert not wrong, say("the outbox and the run log know records alone, but", wrong)


def test_dialects_import_no_other_dialect():
    dialects = list_dialects()
    assert {"dialects.native", "dialects.chrys"} <= dialects
    wrong = [
        found
        for found in inner_imports()
        if found.importer in dialects and (found.imported in dialects or found.imported == DIALECT_TABLE)
    ]
    assert not wrong, say("dialects that import each other", wrong)


def test_stock_parts_of_dialects_import_no_dialect():
    stock = {f"dialects.{part}" for part in STOCK_PARTS}
    assert stock <= read_trees().keys()
    wrong = [
        found
        for found in inner_imports()
        if found.importer in stock and found.imported.startswith("dialects.") and found.imported not in stock
    ]
    assert not wrong, say("stock parts that import a dialect", wrong)


def test_every_dialect_is_in_the_table():
    imported = {found.imported for found in inner_imports() if found.importer == DIALECT_TABLE}
    missing = list_dialects() - imported
    assert not missing, say("dialects that are not in the table", sorted(missing))


def test_nothing_imports_the_package_root():
    wrong = [found for found in read_imports() if not found.imported and found.importer not in ROOT_READERS]
    assert not wrong, say("modules that import the package root", wrong)


def test_those_who_may_read_the_root_take_nothing_else_from_it():
    for module, names in ROOT_READERS.items():
        tree = read_trees()[module]
        taken = [
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "hookline"
            for alias in node.names
        ]
        assert sorted(taken) == sorted(names), f"{module} takes {taken} from the root instead of {names}"


def test_packages_below_the_root_import_nothing():
    packages = list_packages() - PUBLIC_PACKAGES
    wrong = [found for found in read_imports() if found.importer in packages]
    assert {"config", "dialects", "cli"} <= packages
    assert not wrong, say("packages whose __init__ imports", wrong)


def test_imports_are_absolute():
    wrong = [
        f"{module} (line {node.lineno})"
        for module, tree in read_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not wrong, say("relative imports, which the other tests here do not see", wrong)


def test_there_is_no_import_cycle():
    graph: dict[str, set[str]] = {}
    for found in inner_imports():
        graph.setdefault(found.importer, set()).add(found.imported)
    ring = find_cycle(graph)
    assert not ring, f"import cycle: {' → '.join(ring)}"


def test_imports_inside_functions_are_of_other_packages():
    """The command line and the root import by name when a verb or a public name is first used; nobody else may."""
    wrong = [
        found
        for found in inner_imports()
        if found.is_lazy and part_of(found.importer) != "cli" and (found.importer, found.imported) not in LATE_IMPORTS
    ]
    assert not wrong, say("imports of our own inside functions", wrong)


def test_no_file_is_longer_than_an_idea():
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in find_files()}
    long = [f"{path}: {count} lines" for path, count in lines.items() if count > MOST_LINES]
    assert not long, say(f"files of more than {MOST_LINES} lines", long)


def test_no_module_is_named_after_no_idea():
    named = {part for module in read_trees() for part in module.split(".")}
    found = sorted(named & NAMES_WITHOUT_AN_IDEA)
    assert not found, say("modules whose name says nothing", found)


def test_the_reader_of_imports_sees_every_kind():
    text = (
        "import hookline\n"
        "import hookline.events\n"
        "from hookline import fold, __version__\n"
        "from hookline.dialects.table import DIALECTS\n"
        "from hookline.config import layers\n"
        "from hookline.hook import Hook as Record\n"
        "if TYPE_CHECKING:\n"
        "    from hookline.outcome import Run\n"
        "def use():\n"
        "    from hookline.engine import Engine\n"
        "import json\n"
    )
    modules = {"", "events", "fold", "dialects.table", "config.layers", "hook", "outcome", "engine"}
    found = {(i.imported, i.line, i.is_lazy) for i in find_imports("config.text", ast.parse(text), modules)}
    assert found == {
        ("", 1, False),
        ("events", 2, False),
        ("fold", 3, False),
        ("", 3, False),
        ("dialects.table", 4, False),
        ("config.layers", 5, False),
        ("hook", 6, False),
        ("outcome", 8, False),
        ("engine", 10, True),
    }


def test_the_search_for_cycles_finds_one():
    assert find_cycle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert find_cycle({"a": ["b", "c"], "b": ["c"]}) == []
