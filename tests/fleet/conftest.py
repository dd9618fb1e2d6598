"""A fleet's database: a real server's where there is one, and the engine's own for tests."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from hookline.fleet.address import Address
from hookline.fleet.schema import apply_schema

SERVER = os.environ.get("HOOKLINE_TEST_POSTGRES", "")
_TABLES = (
    "hookline_jobs, procrastinate_jobs, procrastinate_events, procrastinate_workers, procrastinate_periodic_defers"
)


@pytest.fixture(scope="session")
def server() -> str:
    """The URL of a server on which databases may be made."""
    if not SERVER:
        pytest.skip("set HOOKLINE_TEST_POSTGRES to the URL of a PostgreSQL server on which databases may be made")
    return SERVER


@pytest.fixture
def empty_url(server: str) -> Iterator[str]:
    """The URL of a database without any table."""
    name = f"hookline_{uuid.uuid4().hex[:12]}"
    _run(server, f"CREATE DATABASE {name}")
    yield f"{server.rpartition('/')[0]}/{name}"
    _run(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def shared_url(server: str) -> Iterator[str]:
    """The URL of a database in which a fleet is set up, the same for all tests."""
    name = f"hookline_{uuid.uuid4().hex[:12]}"
    _run(server, f"CREATE DATABASE {name}")
    url = f"{server.rpartition('/')[0]}/{name}"
    apply_schema(Address.from_url(url))
    yield url
    _run(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def url(shared_url: str) -> str:
    """The URL of a database in which a fleet is set up, without any job."""
    _run(shared_url, f"TRUNCATE {_TABLES} RESTART IDENTITY")
    return shared_url


def _run(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())
