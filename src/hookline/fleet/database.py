"""What a fleet asks of a database, and the answer of PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Iterator
from typing import Any, Protocol

import psycopg
from psycopg.rows import DictRow, dict_row

from hookline.fleet.address import Address
from hookline.fleet.errors import ConflictError, FleetError, MissingSchemaError, RefusedError, UnreachableError
from hookline.fleet.statements import load_queries

Connection = psycopg.Connection[DictRow]


class JobLock(Protocol):
    """The sole right to run a job, on all machines."""

    def share(self) -> int:
        """A descriptor; as long as any process has it open, the lock is held."""

    def free(self) -> None:
        """Take the lock from everybody."""

    def leave(self) -> None:
        """Let go of the lock; those it was shared with hold it on."""


class Database(Protocol):
    """A database that knows the statements of `sql/queries.sql`; may be used from any thread."""

    def ask(self, query: str, **values: Any) -> list[dict[str, Any]]:
        """
        The rows that a statement gives, in a transaction of its own.

        Raises `UnreachableError` when nobody answers, which leaves open whether the statement took effect.
        """

    def lock(self, job_id: str) -> JobLock | None:
        """The lock of a job, None when somebody has it."""

    def close(self) -> None:
        """Let go of all connections; locks that are held are freed."""


class PostgresDatabase:
    """
    A database on a server.

    There is one connection for statements, made when it is needed and made anew when it broke, and one for each
    lock: the server frees a lock when its connection ends, and a connection ends when nobody has it open any more.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._mutex = threading.Lock()
        self._connection: Connection | None = None
        self._spare: list[Connection] = []
        self._lent: set[Connection] = set()

    def ask(self, query: str, **values: Any) -> list[dict[str, Any]]:
        """Run a statement on the one connection."""
        with self._mutex:
            if self._connection is None or not _is_usable(self._connection):
                self._connection = self._connect()
            return ask(self._connection, self._address, query, **values)

    def lock(self, job_id: str) -> JobLock | None:
        """Take an advisory lock on a connection of its own."""
        with self._mutex:
            connection = self._spare.pop() if self._spare else None
        if connection is None or not _is_usable(connection):
            connection = self._connect()
        (row,) = ask(connection, self._address, "lock", id=job_id)
        with self._mutex:
            if not row["is_taken"]:
                self._spare.append(connection)
                return None
            self._lent.add(connection)
        return _PostgresLock(self, connection, job_id)

    def free(self, connection: Connection, job_id: str) -> None:
        """Free a lock, and keep its connection for the next one."""
        self._lent.discard(connection)
        try:
            ask(connection, self._address, "unlock", id=job_id)
        except UnreachableError:  # a connection that ended has freed it
            connection.close()
            return
        with self._mutex:
            self._spare.append(connection)

    def leave(self, connection: Connection) -> None:
        """Close our side of a connection without a word to the server, to which it lives on in other processes."""
        self._lent.discard(connection)
        with contextlib.suppress(psycopg.Error, OSError), open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), connection.fileno(), inheritable=False)
        connection.close()

    def close(self) -> None:
        """Close every connection."""
        with self._mutex:
            for connection in [*self._spare, *self._lent, *([self._connection] if self._connection else [])]:
                connection.close()
            self._spare, self._connection = [], None
            self._lent.clear()

    def _connect(self) -> Connection:
        return connect(self._address)


class _PostgresLock:
    def __init__(self, database: PostgresDatabase, connection: Connection, job_id: str) -> None:
        self._database = database
        self._connection = connection
        self._job_id = job_id
        self._is_shared = False

    def share(self) -> int:
        self._is_shared = True
        return self._connection.fileno()

    def free(self) -> None:
        self._database.free(self._connection, self._job_id)

    def leave(self) -> None:
        if self._is_shared:
            self._database.leave(self._connection)
        else:
            self.free()


def _is_usable(connection: Connection) -> bool:
    """Whether a connection that nobody uses now is alive; the server has nothing to say on one, but that it ends."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if not poll.poll(0):
        return True
    connection.close()
    return False


def connect(address: Address) -> Connection:
    """Open a connection; raises `UnreachableError` when that fails."""
    try:
        return psycopg.connect(address.conninfo, autocommit=True, row_factory=dict_row)
    except psycopg.Error as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UnreachableError(f"{address} cannot be reached: {reason}") from error


def ask(connection: Connection, address: Address, query: str, **values: Any) -> list[dict[str, Any]]:
    """The rows of a statement on a connection, its errors as ours."""
    with translating_errors(address):
        cursor = connection.execute(load_queries()[query], values)
        return cursor.fetchall() if cursor.description is not None else []


@contextlib.contextmanager
def translating_errors(address: Address) -> Iterator[None]:
    """Errors of the driver in the words of a fleet."""
    try:
        yield
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedColumn) as error:
        message = f"no fleet is set up in {address}; run hookline fleet init --to with its address"
        raise MissingSchemaError(message) from error
    except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected) as error:
        raise ConflictError(f"{address} is in use by another statement: {error}") from error
    except (psycopg.DataError, psycopg.errors.ProgramLimitExceeded) as error:
        raise RefusedError(f"{address} does not accept it: {str(error).strip()}") from error
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise UnreachableError(f"{address} does not answer: {str(error).strip()}") from error
    except psycopg.Error as error:
        raise FleetError(f"{address} refuses: {str(error).strip()}") from error
