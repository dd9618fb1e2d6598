"""
`python -m benchmarks.growth [--short]`: what the statements of a fleet take while its tables grow.

Behind docs/explanation/growth.md. The rows are made by the server itself, so that many take some seconds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import psycopg
from soak.server import running_server

from benchmarks.fleet import Ground
from benchmarks.measure import show_time
from hookline.fleet.address import Address
from hookline.fleet.fleet import Fleet
from hookline.fleet.schema import apply_schema

_ROUNDS = 15
_FILL = """
WITH task AS (
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, status)
    SELECT 'hooks', 'hookline', {lock}, md5(n::text || '{state}'), jsonb_build_object('job', repeat('x', 1500)),
        '{status}'
    FROM generate_series(1, {count}) AS n
    RETURNING id, queueing_lock
)
INSERT INTO hookline_jobs (id, task_id, state, hook_id, created_at, finished_at)
SELECT queueing_lock, id, '{state}', 'fleet', now(), CASE '{state}' WHEN 'done' THEN now() END FROM task
"""
_FETCH = "SELECT id FROM procrastinate_fetch_job_v2(NULL, %s)"
_SIZES = """
SELECT pg_total_relation_size('hookline_jobs') AS keys,
    pg_total_relation_size('procrastinate_jobs') + pg_total_relation_size('procrastinate_events') AS jobs
"""


def fill(connection: psycopg.Connection[tuple[object, ...]], count: int, *, state: str, lock: str = "NULL") -> None:
    """Put so many jobs in a state into the tables, without waking anybody."""
    status = {"pending": "todo", "done": "succeeded"}[state]
    connection.execute("SET session_replication_role = replica")
    connection.execute(_FILL.format(count=count, state=state, status=status, lock=lock).encode())
    connection.execute("SET session_replication_role = DEFAULT")
    for table in ("procrastinate_jobs", "hookline_jobs"):
        connection.execute(f"VACUUM ANALYZE {table}".encode())


def measure(ground: Ground, count: int, *, state: str, lock: str = "NULL") -> str:
    """A line of figures with so many jobs in a state."""
    ground.clear()
    with psycopg.connect(ground.url, autocommit=True) as connection, Fleet.opened(ground.url) as fleet:
        fill(connection, count, state=state, lock=lock)
        sizes = connection.execute(_SIZES.encode()).fetchone() or (0, 0)
        (worker,) = connection.execute("INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id").fetchone() or (
            0,
        )
        ground.store.put_all(ground.make_jobs(1))
        fetch, forward = [], []
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            connection.execute(_FETCH, [worker])
            fetch.append(time.perf_counter() - start)
            jobs = ground.make_jobs(200)
            start = time.perf_counter()
            fleet.store.put_all(jobs)
            forward.append((time.perf_counter() - start) / 200)
        start = time.perf_counter()
        fleet.read_metrics()
        metrics = time.perf_counter() - start
    per_key, per_job = (int(str(size)) / count for size in sizes)
    return (
        f"{count:>9,} {state:8} {'one session' if lock != 'NULL' else '':12}"
        f"{show_time(statistics.median(fetch)):>9}{show_time(statistics.median(forward)):>12}"
        f"{show_time(metrics):>10}{per_key:>10,.0f}{per_job:>10,.0f}"
    )


def measure_look(ground: Ground) -> float:
    """What it takes a worker that was woken to find that another one was quicker, in seconds."""
    ground.clear()
    looks = []
    with psycopg.connect(ground.url, autocommit=True) as connection:
        fill(connection, 10_000, state="done")
        for _ in range(20 * _ROUNDS):
            start = time.perf_counter()
            connection.execute(_FETCH, [1])
            looks.append(time.perf_counter() - start)
    return statistics.median(looks)


def main() -> None:
    """Measure everything, and print it."""
    largest = 20_000 if "--short" in sys.argv[1:] else 200_000
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as root, running_server(is_safe=True) as server:
        apply_schema(Address.from_url(server.url))
        ground = Ground(Path(root), server.url)
        print(
            f"{'jobs':>9} {'state':21}{'fetch one':>9}{'forward one':>12}{'metrics':>10}{'B a key':>10}{'B a job':>10}"
        )
        for count in sorted({1_000, largest // 10, largest}):
            print(measure(ground, count, state="pending"), flush=True)
            print(measure(ground, count, state="done"), flush=True)
        for count in (100, 10_000):
            print(measure(ground, count, state="pending", lock="'s1'"), flush=True)
        print(f"a look that finds nothing: {show_time(measure_look(ground))}")


if __name__ == "__main__":
    main()
