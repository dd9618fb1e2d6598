"""The engine's words with a database that is away for a while."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.testing import InMemoryConnector

from hookline.fleet.errors import UnreachableError
from hookline.fleet.patience import PatientJobManager, is_away


class FlakyConnector(InMemoryConnector):
    """Fails as often as it is told, and then answers."""

    def __init__(self, failures: int, cause: Exception) -> None:
        super().__init__()
        self.failures = failures
        self.cause = cause

    async def generic_execute(self, query: str, suffix: Any, **arguments: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise ConnectorException from self.cause
        return await super().generic_execute(query, suffix, **arguments)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.fleet.patience._PAUSE_S", 0.0)


async def make_task(connector: InMemoryConnector) -> Job:
    """A task that a worker has taken."""
    failures, connector.failures = getattr(connector, "failures", 0), 0  # type: ignore[attr-defined]
    talks = PatientJobManager(connector)
    worker = await talks.register_worker()
    await talks.defer_job_async(Job(id=None, queue="q", lock=None, queueing_lock=None, task_name="t"))
    task = await talks.fetch_job(None, worker)
    assert task is not None
    connector.failures = failures  # type: ignore[attr-defined]
    return task


async def test_the_end_of_a_job_is_told_until_it_is_heard():
    connector = FlakyConnector(3, psycopg.OperationalError("gone"))
    task = await make_task(connector)
    assert task.id is not None
    await PatientJobManager(connector).finish_job(task, Status.SUCCEEDED, delete_job=False)
    assert connector.jobs[task.id]["status"] == "succeeded"


async def test_a_job_is_given_back_however_long_that_takes():
    connector = FlakyConnector(3, psycopg.OperationalError("gone"))
    task = await make_task(connector)
    assert task.id is not None
    await PatientJobManager(connector).retry_job(task)
    assert connector.jobs[task.id]["status"] == "todo"


async def test_there_is_no_job_and_no_heartbeat_while_the_database_is_away():
    connector = FlakyConnector(2, psycopg.OperationalError("gone"))
    talks = PatientJobManager(connector)
    assert await talks.fetch_job(None, 1) is None
    await talks.update_heartbeat(1)
    assert connector.failures == 0


async def test_what_the_database_refuses_is_not_repeated():
    connector = FlakyConnector(9, psycopg.errors.RaiseException("no such job"))
    talks = PatientJobManager(connector)
    task = Job(id=1, queue="q", lock=None, queueing_lock=None, task_name="t")
    for word in (
        talks.finish_job(task, Status.FAILED, delete_job=False),
        talks.retry_job(task),
        talks.fetch_job(None, 1),
        talks.update_heartbeat(1),
    ):
        with pytest.raises(ConnectorException):
            await asyncio.wait_for(word, 5)
    assert connector.failures == 5


async def test_a_worker_that_ends_does_not_wait_for_the_database():
    connector = FlakyConnector(9, psycopg.OperationalError("gone"))
    talks = PatientJobManager(connector)
    talks.is_closing = True
    task = Job(id=1, queue="q", lock=None, queueing_lock=None, task_name="t")
    with pytest.raises(ConnectorException):
        await asyncio.wait_for(talks.finish_job(task, Status.FAILED, delete_job=False), 5)


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (psycopg.OperationalError(), True),
        (psycopg.InterfaceError(), True),
        (UnreachableError(), True),
        (psycopg.DataError(), False),
        (ConnectorException(), False),
        (ValueError(), False),
    ],
    ids=repr,
)
def test_being_away_is_told_from_other_mistakes(error: Exception, away: bool):
    assert is_away(error) == away
