"""The figures of several kinds of rounds as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict


def make_table(rows: Sequence[Struct]) -> str:
    """A line of the fields' names, and a line for each record; all are of one type, and there is at least one."""
    names = [name.replace("_", " ") for name in rows[0].__struct_fields__]
    cells = [[str(value) for value in asdict(row).values()] for row in rows]
    widths = [max(len(row[n]) for row in (names, *cells)) for n in range(len(names))]
    return "\n".join("  ".join(cell.rjust(widths[n]) for n, cell in enumerate(row)) for row in (names, *cells))
