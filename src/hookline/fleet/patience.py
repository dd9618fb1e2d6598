"""The engine's words with the database, repeated until they are heard: an outage must not cost a job its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import TypeVar

import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback

from hookline.fleet.errors import UnreachableError

T = TypeVar("T")

_PAUSE_S = 1.0


class PatientJobManager(JobManager):
    """
    Does what the engine asks for when the database is there again.

    The engine's own worker ends when a word is lost, and the hooks that it runs with it. `worker_id` is that of the
    worker that was registered last. With `is_closing` nothing is repeated any more.
    """

    worker_id: int | None = None
    is_closing: bool = False

    async def register_worker(self) -> int:
        """Register a worker; not repeated, since there is nothing to lose yet."""
        self.worker_id = await super().register_worker()
        return self.worker_id

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """The next job; none while the database is away."""
        try:
            return await super().fetch_job(queues, worker_id)
        except ConnectorException as error:
            if not is_away(error):
                raise
            await asyncio.sleep(_PAUSE_S)
            return None

    async def update_heartbeat(self, worker_id: int) -> None:
        """Send a heartbeat; the next one comes soon."""
        try:
            await super().update_heartbeat(worker_id)
        except ConnectorException as error:
            if not is_away(error):
                raise

    async def _repeat(self, ask: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await ask()
            except ConnectorException as error:
                if self.is_closing or not is_away(error):
                    raise
                await asyncio.sleep(_PAUSE_S)

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """Write down that a job ended."""
        await self._repeat(lambda: super(PatientJobManager, self).finish_job(job, status, delete_job))

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Give a job back."""
        await self._repeat(lambda: super(PatientJobManager, self).retry_job(job, retry_at, priority, queue, lock))

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Listen for new jobs, and again when the connection is lost."""
        await self._repeat(
            lambda: super(PatientJobManager, self).listen_for_jobs(on_notification=on_notification, queues=queues)
        )


def is_forgotten(error: BaseException) -> bool:
    """Whether an error means that others have taken this worker for dead, so that it may not take jobs any more."""
    return isinstance(error, ConnectorException) and isinstance(error.__cause__, psycopg.errors.ForeignKeyViolation)


def is_away(error: BaseException) -> bool:
    """Whether an error means that the database does not answer, perhaps only for now."""
    gone = (UnreachableError, psycopg.OperationalError, psycopg.InterfaceError)
    return isinstance(error, gone) or (isinstance(error, ConnectorException) and isinstance(error.__cause__, gone))
