"""The database of a fleet within this process: procrastinate's in-memory connector, and our statements over it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from procrastinate.sql import queries
from procrastinate.testing import InMemoryConnector
from procrastinate.types import JobToDefer

from hookline.fleet.errors import UnreachableError

Row = dict[str, Any]


class MemoryDatabase:
    """Answers the statements of `sql/queries.sql`; `is_down` makes it as if nobody answered."""

    def __init__(self) -> None:
        self.connector = InMemoryConnector()
        self.is_down = False
        self._kept: dict[str, Row] = {}
        self._locked: set[str] = set()
        self._mutex = threading.RLock()

    def ask(self, query: str, **values: Any) -> list[Row]:
        if self.is_down:
            raise UnreachableError("the memory does not answer")
        answer: Callable[..., list[Row]] = getattr(self, f"_{query}")
        with self._mutex:
            return answer(**values)

    def lock(self, job_id: str) -> MemoryLock | None:
        with self._mutex:
            if job_id in self._locked:
                return None
            self._locked.add(job_id)
            return MemoryLock(self._locked, job_id)

    def close(self) -> None:
        self._locked.clear()

    def task(self, job_id: str) -> Row:
        """The engine's row of a job."""
        return self.connector.jobs[self._kept[job_id]["task_id"]]

    def _forward(self, **lists: Any) -> list[Row]:
        given = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        fresh = [row for row in given if row["ids"] not in self._kept]
        tasks = [
            JobToDefer(
                queue_name=row["queues"],
                task_name="hookline",
                priority=row["priorities"],
                lock=row["locks"] or None,
                queueing_lock=row["ids"],
                args={"job": row["jobs"]},
                scheduled_at=None,
            )
            for row in fresh
        ]
        self.connector.on_notification = None  # a worker looks by itself
        made = _run(lambda: self.connector.execute_query_all_async(queries["defer_jobs"], jobs=tasks)) if tasks else []
        for row, task in zip(fresh, made, strict=True):
            self._kept[row["ids"]] = {
                "id": row["ids"],
                "task_id": task["id"],
                "state": "pending",
                "hook_id": row["hook_ids"],
                "created_at": row["created"],
                "starts": row["starts"],
                "last_start": row["last_starts"],
                "finished_at": None,
                "ending": None,
            }
        return [{"fresh": len(fresh)}]

    def _joined(self) -> list[Row]:
        rows = [row for row in self._kept.values() if row["task_id"] is not None]
        return [{**row, "job": self.connector.jobs[row["task_id"]]["args"]["job"]} for row in rows]

    def _get(self, *, id: str) -> list[Row]:  # noqa: A002 - the statement's own word
        return [row for row in self._joined() if row["id"] == id]

    def _list(self, *, state: str, after: int, most: int) -> list[Row]:
        found = [row for row in self._joined() if row["state"] == state and row["task_id"] > after]
        return sorted(found, key=lambda row: int(row["task_id"]))[:most]

    def _count(self) -> list[Row]:
        counts = Counter(row["state"] for row in self._kept.values() if row["state"] != "removed")
        return [{"state": state, "count": count} for state, count in counts.items()]

    def _begin(self, *, id: str, now: Any) -> list[Row]:  # noqa: A002
        row = self._kept.get(id)
        if row is None or row["state"] != "pending":
            return []
        row |= {"starts": row["starts"] + 1, "last_start": now}
        return [{"starts": row["starts"]}]

    def _finish(self, *, id: str, **values: Any) -> list[Row]:  # noqa: A002
        row = self._kept[id]
        if row["state"] != "pending":
            return []
        row |= values
        task = self.task(id)
        if task["status"] == "todo":
            task["status"] = "succeeded" if values["state"] == "done" else "failed"
        return [{"id": id}]

    def _retry(self, *, id: str) -> list[Row]:  # noqa: A002
        row = self._kept.get(id)
        if row is None or row["state"] != "failed" or self.task(id)["status"] in ("todo", "doing"):
            return []
        row |= {"state": "pending", "starts": 0, "last_start": None, "finished_at": None, "ending": None}
        self.task(id).update(status="todo", attempts=0, scheduled_at=None, worker_id=None)
        return [{"id": id}]

    def _purge(self, *, state: str, before: Any) -> list[Row]:
        ended = [row for row in self._kept.values() if row["state"] == state and row["finished_at"] < before]
        for row in ended:
            del self.connector.jobs[row["task_id"]]
            row |= {"state": "removed", "task_id": None, "ending": None}
        return [{"count": len(ended)}]

    def _open(self, *, queues: list[str] | None) -> list[Row]:
        tasks = self.connector.jobs.values()
        served = [task for task in tasks if queues is None or task["queue_name"] in queues]
        return [{"is_any": any(task["status"] in ("todo", "doing") for task in served)}]

    def _beats(self) -> list[Row]:
        return [{"id": worker, "last_heartbeat": beat} for worker, beat in self.connector.workers.items()]

    def _take_over(self, *, ids: list[int], beats: list[Any]) -> list[Row]:
        workers = self.connector.workers
        for worker, beat in zip(ids, beats, strict=True):
            if workers.get(worker) == beat:
                del workers[worker]
        tasks = self.connector.jobs.values()
        held = [task for task in tasks if task["status"] == "doing" and task["worker_id"] not in workers]
        for task in held:
            task |= {"status": "todo", "attempts": task["attempts"] + 1, "worker_id": None}
        return [{"id": task["queueing_lock"]} for task in held]


class MemoryLock:
    """A lock that other processes cannot share."""

    def __init__(self, locked: set[str], job_id: str) -> None:
        self._locked = locked
        self._job_id = job_id
        self._nothing: int | None = None

    def share(self) -> int:
        if self._nothing is None:
            self._nothing = os.open(os.devnull, os.O_RDONLY)
        return self._nothing

    def free(self) -> None:
        self._locked.discard(self._job_id)
        if self._nothing is not None:
            os.close(self._nothing)
            self._nothing = None

    leave = free


def _run(work: Callable[[], Any]) -> Any:
    """Run a coroutine to its end, on a thread of its own: the caller's may have a loop that runs."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(work())))
    thread.start()
    thread.join()
    return results[0]
