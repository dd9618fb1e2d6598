"""A fleet on a real server, with the installed program: from the agent's fire to the worker's run log."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from fleets import NOTE, fleet_hook, make_fleet_job, read_notes, turn, write_hooks
from msgspec.structs import replace

from hookline.fleet.address import Address
from hookline.fleet.database import PostgresDatabase, connect, translating_errors
from hookline.fleet.errors import FleetError, RefusedError, UnreachableError
from hookline.fleet.schema import apply_schema
from hookline.fleet.store import FleetStore
from hookline.job import Job
from jobs import make_job, open_outbox
from support import Bench
from terminal import find_hookline, make_environment, run_hookline
from waiting import wait_until


@pytest.fixture
def database(url: str) -> Iterator[PostgresDatabase]:
    with contextlib.closing(PostgresDatabase(Address.from_url(url))) as database:
        yield database


@pytest.fixture
def store(database: PostgresDatabase) -> FleetStore:
    return FleetStore(database)


def get(store: FleetStore, job: Job) -> Job:
    found = store.get(job.id)
    assert found is not None
    return found


@contextlib.contextmanager
def working(bench: Bench, url: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker as a process of its own; ended in the end."""
    command = [find_hookline(), "worker", "--from", url, "--silent-after", "1", *options]
    with (
        open(bench.root / "worker.txt", "ab") as said,
        subprocess.Popen(command, cwd=bench.project, env=make_environment(bench), stdout=said, stderr=said) as worker,
    ):
        try:
            yield worker
        finally:
            worker.kill()


def read_said(bench: Bench) -> str:
    return (bench.root / "worker.txt").read_text()


async def test_what_an_agent_fires_is_done_by_a_worker(bench: Bench, url: str, store: FleetStore) -> None:
    write_hooks(bench)
    engine = bench.open(trust="none")
    (run,) = (await engine.fire(turn(bench))).runs
    assert (run.status, run.reason) == ("queued", "left to the fleet")
    assert run_hookline(bench, "outbox", "forward", "--to", url).stdout == "1 forwarded\n"
    assert run_hookline(bench, "worker", "--from", url, "--until-empty").returncode == 0
    assert read_notes(bench) == [f"{run.id} 1"]
    found = store.get(run.id)
    assert found is not None
    assert (found.state, found.exit_code, found.starts) == ("done", 0, 1)
    log = run_hookline(bench, "log", "--json").stdout
    assert [(json.loads(line)["run"], json.loads(line)["status"]) for line in log.splitlines()] == [
        (run.id, "queued"),
        (run.id, "ok"),
    ]


async def test_a_worker_that_is_asked_to_end_gives_its_jobs_back(bench: Bench, url: str, store: FleetStore) -> None:
    write_hooks(bench, fleet_hook(bench, f"{NOTE}; [ $HOOKLINE_JOB_ATTEMPT = 1 ] || exit 0; sleep 60"))
    store.put(job := make_fleet_job(bench))
    with working(bench, url, "--grace", "0") as worker:
        await wait_until(lambda: len(read_notes(bench)) == 1, "the hook runs")
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0
    assert (get(store, job).state, get(store, job).starts) == ("pending", 1)
    assert run_hookline(bench, "worker", "--from", url, "--until-empty").returncode == 0
    assert (get(store, job).state, get(store, job).starts) == ("done", 2)


async def test_what_a_killed_worker_ran_is_run_by_another_once_the_hook_has_ended(
    bench: Bench, url: str, store: FleetStore
) -> None:
    write_hooks(bench, fleet_hook(bench, f'{NOTE}; while [ ! -e "$NOTES.go" ]; do sleep 0.02; done'))
    store.put(job := make_fleet_job(bench))
    with working(bench, url) as first:
        await wait_until(lambda: len(read_notes(bench)) == 1, "the hook runs")
        first.kill()
    with working(bench, url):
        await wait_until(lambda: "left by a worker that is gone" in read_said(bench), "the job is taken over")
        assert read_notes(bench) == [f"{job.id} 1"]  # the orphan holds the lock
        (bench.root / "notes.go").touch()
        await wait_until(lambda: get(store, job).state == "done", "the job is done")
    assert read_notes(bench) == [f"{job.id} 1", f"{job.id} 2"]
    assert get(store, job).starts == 2


async def test_the_jobs_of_a_session_follow_each_other_without_a_wait(
    bench: Bench, url: str, store: FleetStore
) -> None:
    """Longer than the worker's own looks are apart it would take without being woken."""
    write_hooks(bench)
    jobs = [make_fleet_job(bench, route={"lock": "s1"}) for _ in range(10)]
    with working(bench, url):
        await wait_until(lambda: "a worker for" in read_said(bench), "the worker is there")
        store.put_all(jobs)
        await wait_until(lambda: store.count()["done"] == 10, "all jobs are done", within_s=8)
    assert [line.split()[0] for line in read_notes(bench)] == [job.id for job in jobs]


async def test_a_worker_waits_for_connections_that_broke_and_goes_on(
    bench: Bench, url: str, server: str, store: FleetStore
) -> None:
    write_hooks(bench)
    with working(bench, url):
        await wait_until(lambda: "a worker for" in read_said(bench), "the worker is there")
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000)"  # waits until each has ended, in ms
                " FROM pg_stat_activity WHERE datname = %s",
                [url.rpartition("/")[2]],
            )
        store.put(job := make_fleet_job(bench))
        await wait_until(lambda: get(store, job).state == "done", "the job is done")


async def test_a_worker_that_others_took_for_dead_begins_anew(bench: Bench, url: str, store: FleetStore) -> None:
    write_hooks(bench)
    with working(bench, url), psycopg.connect(url, autocommit=True) as connection:
        count = "SELECT count(*) FROM procrastinate_workers"
        await wait_until(lambda: connection.execute(count).fetchone() == (1,), "the worker is there")
        connection.execute("DELETE FROM procrastinate_workers")
        store.put(job := make_fleet_job(bench))
        await wait_until(lambda: get(store, job).state == "done", "the job is done")
    assert "this worker was taken for dead, since it was not heard of; it begins anew" in read_said(bench)


def test_a_worker_without_a_hook_says_so(bench: Bench, url: str) -> None:
    done = run_hookline(bench, "worker", "--from", url)
    assert done.returncode == 1
    assert done.stderr.startswith("hookline: no hook here says where: fleet, so a worker could only refuse jobs")


# forward


def test_a_second_forwarder_ends_with_a_sentence(bench: Bench, url: str) -> None:
    command = [find_hookline(), "outbox", "forward", "--follow", "--to", url]
    with subprocess.Popen(command, env=make_environment(bench), stderr=subprocess.PIPE) as first:
        lock = bench.home / "hooks" / "outbox" / "forward.lock"
        while not lock.exists() or lock.read_text() != f"{first.pid}\n":
            assert first.poll() is None
        second = run_hookline(bench, "outbox", "forward", "--to", url)
        first.kill()
    assert second.returncode == 1
    assert f"another forwarder is at work in {lock.parent} (process {first.pid})" in second.stderr


async def test_a_following_forwarder_forwards_what_is_fired(bench: Bench, url: str, store: FleetStore) -> None:
    write_hooks(bench)
    engine = bench.open(trust="none")
    command = [find_hookline(), "outbox", "forward", "--follow", "--to", url]
    with subprocess.Popen(command, env=make_environment(bench), stderr=subprocess.PIPE) as forwarder:
        (run,) = (await engine.fire(turn(bench))).runs
        await wait_until(lambda: store.get(run.id) is not None, "the job is in the fleet")
        await wait_until(lambda: open_outbox(bench.home).count()["pending"] == 0, "the job has left")
        forwarder.send_signal(signal.SIGINT)
        assert forwarder.wait(20) == 130


def test_a_user_who_may_only_forward_can_forward_and_read_nothing(bench: Bench, url: str, server: str) -> None:
    role = f"laptop_{os.urandom(4).hex()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        connection.execute(f"GRANT EXECUTE ON FUNCTION hookline_forward_v1 TO {role}".encode())
    mine = url.replace("hookline@", f"{role}@")
    write_hooks(bench)
    open_outbox(bench.home).put(make_fleet_job(bench))
    try:
        assert run_hookline(bench, "outbox", "forward", "--to", mine).stdout == "1 forwarded\n"
        listed = run_hookline(bench, "outbox", "list", "--from", mine)
        assert "permission denied" in listed.stderr
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {role}".encode())
            connection.execute(f"DROP ROLE {role}".encode())


# looking at a fleet


def put_failed(store: FleetStore) -> Job:
    store.put(job := make_job())
    claim = store.claim(job.id)
    assert claim is not None
    store.finish(claim, replace(job.failed("why", job.created_at), exit_code=3, stdout="out"))
    return job


def test_a_fleet_is_listed_shown_retried_and_purged(bench: Bench, url: str, store: FleetStore) -> None:
    job = put_failed(store)
    listed = run_hookline(bench, "outbox", "list", "--from", url).stdout.splitlines()
    assert listed[0].split()[:4] == [job.id, "failed", "after_turn", "job"]
    assert listed[1] == "0 pending, 0 done, 1 failed"
    shown = json.loads(run_hookline(bench, "outbox", "show", job.id, "--from", url).stdout)
    assert (shown["payload"], shown["stdout"], shown["error"]) == (job.payload, "out", "why")
    retried = run_hookline(bench, "outbox", "retry", "--all", "--from", url)
    assert retried.stdout == "1 of 1 jobs are pending again\n"
    assert store.count()["pending"] == 1
    put_failed(store)
    purged = run_hookline(bench, "outbox", "purge", "--from", url)
    assert purged.stdout == "0 done removed\n1 failed removed\n"


def test_a_fleet_tells_its_figures(bench: Bench, url: str, store: FleetStore) -> None:
    store.put(make_job(age_s=100))
    put_failed(store)
    data = json.loads(run_hookline(bench, "fleet", "metrics", "--from", url).stdout)
    assert data["counts"] == {"pending": 1, "done": 0, "failed": 1}
    assert 100 <= data["oldest_pending_s"] < 200
    text = run_hookline(bench, "fleet", "metrics", "--format", "prometheus", HOOKLINE_FLEET_URL=url).stdout
    assert 'hookline_fleet_jobs{state="failed",hook="job",queue="hooks"} 1\n' in text
    assert "# TYPE hookline_fleet_workers gauge\nhookline_fleet_workers 0\n" in text


# the schema


def test_a_fleet_is_set_up_once_however_often_it_is_asked(bench: Bench, empty_url: str) -> None:
    first = run_hookline(bench, "fleet", "init", "--to", empty_url)
    assert first.stdout.splitlines()[:2] == ["applied procrastinate", "applied hookline 01_jobs"]
    second = run_hookline(bench, "fleet", "init", "--to", empty_url)
    assert second.stdout == f"the fleet in {Address.from_url(empty_url)} is up to date\n"


def test_several_who_set_up_a_fleet_at_once_do_it_once(empty_url: str) -> None:
    program = (
        "import sys; from hookline.fleet.address import Address; from hookline.fleet.schema import apply_schema\n"
        "print(len(apply_schema(Address.from_url(sys.argv[1]))))"
    )
    command = [os.fspath(Path(find_hookline()).with_name("python")), "-c", program, empty_url]
    all_ = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    counts = [process.communicate(timeout=30)[0] for process in all_]
    assert sorted(counts)[:2] == ["0\n", "0\n"]
    assert sorted(counts)[2] != "0\n"


def test_a_step_of_the_schema_that_is_new_is_applied_alone(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = Address.from_url(empty_url)
    apply_schema(address)
    monkeypatch.setattr("hookline.fleet.schema.load_migrations", lambda: {"99_more": "CREATE TABLE more (id int)"})
    assert apply_schema(address) == ("hookline 99_more",)
    assert apply_schema(address) == ()


def test_a_step_that_fails_leaves_nothing_behind(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = Address.from_url(empty_url)
    steps = {"98_more": "CREATE TABLE more (id int)", "99_wrong": "CREATE NONSENSE"}
    monkeypatch.setattr("hookline.fleet.schema.load_migrations", lambda: steps)
    with pytest.raises(FleetError):
        apply_schema(address)
    with psycopg.connect(empty_url) as connection:
        found = connection.execute("SELECT to_regclass('more'), to_regclass('procrastinate_jobs')").fetchone()
    assert found == (None, None)


def test_tables_of_another_application_are_left_alone(empty_url: str) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE procrastinate_jobs (id int)")
    with pytest.raises(FleetError, match="tables of procrastinate that another application made"):
        apply_schema(Address.from_url(empty_url))


# what goes wrong


@pytest.mark.parametrize(
    "arguments",
    [
        ("outbox", "list", "--from"),
        ("outbox", "forward", "--to"),
        ("outbox", "forward", "--follow", "--to"),
        ("worker", "--from"),
        ("fleet", "metrics", "--from"),
    ],
    ids=" ".join,
)
def test_a_database_that_is_not_set_up_is_said_to_be(bench: Bench, empty_url: str, arguments: tuple[str, ...]) -> None:
    write_hooks(bench)
    open_outbox(bench.home).put(make_fleet_job(bench))
    done = run_hookline(bench, *arguments, empty_url)
    assert done.returncode == 1
    shown = Address.from_url(empty_url)
    assert done.stderr == f"hookline: no fleet is set up in {shown}; run hookline fleet init --to with its address\n"


def test_a_value_that_the_database_refuses_is_no_database_that_is_gone(database: PostgresDatabase) -> None:
    with pytest.raises(RefusedError):
        database.ask("get", id="\0")
    assert database.ask("count") == []


def test_a_connection_that_ended_while_nobody_used_it_is_made_anew(url: str, database: PostgresDatabase) -> None:
    store = FleetStore(database)
    store.put(job := make_job())
    claim = store.claim(job.id)
    assert claim is not None
    store.release(claim)  # so that there is one for locks too
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"  # waits until each has ended, in ms
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert store.claim(job.id) is not None


def test_a_connection_that_ends_during_a_statement_is_a_database_that_is_gone(url: str) -> None:
    address = Address.from_url(url)
    connection = connect(address)
    with pytest.raises(UnreachableError, match="does not answer"), translating_errors(address):
        connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    connection.close()
