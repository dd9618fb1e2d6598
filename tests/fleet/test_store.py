"""The fleet as an outbox: the contract of every store, over the engine's memory and over a real server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from memory import MemoryDatabase

from hookline.fleet.address import Address
from hookline.fleet.database import PostgresDatabase
from hookline.fleet.store import FleetStore
from hookline.job import utc_now
from jobs import make_job

pytest.register_assert_rewrite("store_contract")

from store_contract import SharedStoreContract, StoreContract, ids, put_finished, take  # noqa: E402 - see above


class MemoryPlace:
    """A database within this process."""

    def __init__(self) -> None:
        self._database = MemoryDatabase()

    def open(self) -> FleetStore:
        return FleetStore(self._database)


class PostgresPlace:
    """A database on a server."""

    def __init__(self, url: str) -> None:
        self.address = Address.from_url(url)
        self.databases: list[PostgresDatabase] = []
        self.program = (
            "from hookline.fleet.address import Address\n"
            "from hookline.fleet.database import PostgresDatabase\n"
            "from hookline.fleet.store import FleetStore\n"
            f"store = FleetStore(PostgresDatabase(Address.from_url({url!r})))\n"
        )

    def open(self) -> FleetStore:
        self.databases.append(PostgresDatabase(self.address))
        return FleetStore(self.databases[-1])


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def place(self) -> MemoryPlace:
        return MemoryPlace()


class TestPostgresStore(SharedStoreContract):
    @pytest.fixture
    def place(self, url: str) -> Iterator[PostgresPlace]:
        place = PostgresPlace(url)
        yield place
        for database in place.databases:
            database.close()


class TestFleetStore:
    @pytest.fixture(params=["memory", "postgres"])
    def store(self, request: pytest.FixtureRequest) -> Iterator[FleetStore]:
        if request.param == "memory":
            yield FleetStore(MemoryDatabase())
            return
        database = PostgresDatabase(Address.from_url(request.getfixturevalue("url")))
        yield FleetStore(database)
        database.close()

    def test_a_job_that_was_stored_before_is_not_stored_again(self, store: FleetStore) -> None:
        jobs = [make_job(), make_job()]
        assert store.put_all(jobs[:1]) == 1
        assert store.put_all(jobs) == 1
        assert sorted(ids(store, "pending")) == sorted(job.id for job in jobs)

    def test_the_key_of_a_job_is_kept_when_it_is_done_and_when_it_is_removed(self, store: FleetStore) -> None:
        job = put_finished(store, "done")
        assert store.put_all([job]) == 0
        store.purge("done", utc_now() + timedelta(hours=1))
        assert store.put_all([job]) == 0
        assert store.count() == {"pending": 0, "done": 0, "failed": 0}

    def test_an_end_that_comes_too_late_changes_nothing(self, store: FleetStore) -> None:
        store.put(job := make_job())
        claim = take(store, job)
        store.finish(claim, job.failed("first", utc_now()))
        again = store.retry(job.id)
        assert again is not None
        store.finish(take(store, job), job.failed("second", utc_now()))
        assert [found.error for found in store.list("failed")] == ["second"]
