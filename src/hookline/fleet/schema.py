"""Setting up a fleet's database: procrastinate's tables and our own, each step once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from procrastinate.schema import SchemaManager

from hookline.fleet.address import Address
from hookline.fleet.database import Connection, ask, connect, translating_errors
from hookline.fleet.errors import FleetError
from hookline.fleet.statements import load_migrations

_LOCK = 7419_0001
_LEDGER = """
CREATE TABLE IF NOT EXISTS hookline_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())
"""


class Migration(Struct, frozen=True, kw_only=True):
    """One step of a schema, known by its name."""

    name: str
    script: str


def apply_schema(address: Address) -> tuple[str, ...]:
    """
    Bring a database to the newest schema, all of it or nothing; returns the names of what was applied.

    May be run at any time, by several at once, and again. Raises `FleetError` for a database whose tables of
    procrastinate belong to another application.
    """
    connection = connect(address)
    try:
        with translating_errors(address), connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            return tuple(_apply(connection, address))
    finally:
        connection.close()


def _apply(connection: Connection, address: Address) -> Iterator[str]:
    (tables,) = ask(connection, address, "tables")
    if tables["queue"] and not tables["ours"]:
        message = f"{address} holds tables of procrastinate that another application made"
        raise FleetError(f"{message}; give the fleet a database of its own, or a schema: ?options=-csearch_path%3DNAME")
    connection.execute(_LEDGER)
    if not tables["queue"]:
        connection.execute(SchemaManager.get_schema())
        # The whole schema is what all steps up to now have led to.
        for migration in _list_engine_migrations():
            _note(connection, migration)
        yield "procrastinate"
    for migration in (*_list_engine_migrations(), *_list_own_migrations()):
        if not _is_noted(connection, migration):
            connection.execute(migration.script)
            _note(connection, migration)
            yield migration.name


def _list_engine_migrations() -> list[Migration]:
    paths = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    return [Migration(name=f"procrastinate {path.stem}", script=path.read_text(encoding="utf-8")) for path in paths]


def _list_own_migrations() -> list[Migration]:
    return [Migration(name=f"hookline {name}", script=script) for name, script in load_migrations().items()]


def _is_noted(connection: Connection, migration: Migration) -> bool:
    found = connection.execute("SELECT FROM hookline_migrations WHERE name = %s", [migration.name])
    return found.fetchone() is not None


def _note(connection: Connection, migration: Migration) -> None:
    connection.execute("INSERT INTO hookline_migrations (name) VALUES (%s)", [migration.name])
