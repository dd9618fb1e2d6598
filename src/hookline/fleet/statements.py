"""The statements of a fleet, read from files where each stands under its name."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- (?P<name>\w+) --$", re.MULTILINE)


@cache
def load_queries() -> dict[str, str]:
    """The statements that are run again and again, by name."""
    return _load("queries.sql")


@cache
def load_migrations() -> dict[str, str]:
    """The parts of the schema by name, in the order in which they are applied."""
    return _load("migrations.sql")


def _load(name: str) -> dict[str, str]:
    text = (resources.files("hookline.fleet") / "sql" / name).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))
