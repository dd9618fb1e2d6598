"""A hook of a fleet at the engine: its job is stored like any other, and never run here."""

from __future__ import annotations

import json
from pathlib import Path

from fleets import fleet_hook, load_hook, read_notes, turn, write_hooks

from entries import script_hook, write_file
from hookline.definition import Definition
from hookline.job import Job, Route
from hookline.outbox.codec import decode_job
from jobs import HOUR_S, make_job, open_outbox
from storage import small_disk
from support import Bench, find_run
from waiting import wait_until


async def fire(bench: Bench) -> Job:
    (run,) = (await bench.open(trust="none").fire(turn(bench))).runs
    assert (run.status, run.reason, run.notes) == ("queued", "left to the fleet", ())
    job = open_outbox(bench.home).get(run.id)
    assert job is not None
    return job


async def test_a_job_of_a_fleet_is_stored_and_not_run(bench: Bench) -> None:
    write_hooks(bench)
    job = await fire(bench)
    assert (job.state, job.hook_id, job.event, job.payload["turn"]) == ("pending", "job", "after_turn", 1)
    assert job.payload["job_id"] == job.id
    bench.close()
    assert read_notes(bench) == []


async def test_its_route_tells_its_definition_and_how_it_is_to_travel(bench: Bench) -> None:
    write_hooks(bench, fleet_hook(bench, queue="audit", priority=7, order="session", max_age_seconds=60))
    job = await fire(bench)
    digest = Definition(load_hook(bench)).digest()
    assert job.route == Route(digest=digest, queue="audit", priority=7, lock="s1", max_age_s=60.0)


async def test_its_file_holds_no_command(bench: Bench) -> None:
    write_hooks(bench, fleet_hook(bench, "echo a-text-that-is-the-command"))
    job = await fire(bench)
    data = (bench.home / "hooks" / "outbox" / "pending" / f"{job.id}.json").read_text()
    assert "a-text-that-is-the-command" not in data
    assert set(json.loads(data)["route"]) == {"digest", "queue", "priority", "lock", "max_age_s"}


async def test_it_is_written_to_the_run_log_as_left_to_the_fleet(bench: Bench) -> None:
    write_hooks(bench)
    job = await fire(bench)
    bench.close()
    (path,) = (bench.home / "hooks" / "log").iterdir()
    (record,) = [json.loads(line) for line in path.read_text().split("\n") if line]
    assert (record["run"], record["status"], record["reason"]) == (job.id, "queued", "left to the fleet")


async def test_a_pending_job_of_a_fleet_is_not_recovered_here(bench: Bench) -> None:
    write_hooks(bench, fleet_hook(bench), fleet_hook(bench, hook_id="local", where="local"), outbox_retry_age_seconds=0)
    file = (bench.home / "hooks" / "hooks.yaml").resolve()
    remote = make_job(file=file, age_s=HOUR_S, route=Route(digest="d", queue="hooks"))
    gone = make_job(hook_id="gone", file=file, age_s=HOUR_S, route=Route(digest="d", queue="hooks"))
    local = make_job(hook_id="local", file=file, age_s=HOUR_S)
    store = open_outbox(bench.home)
    for job in (remote, gone, local):
        store.put(job)
    bench.open(trust="none")
    await wait_until(lambda: store.count()["done"] == 1, "the local job is done")
    bench.close()
    assert (store.get(remote.id), store.get(gone.id)) == (remote, gone)
    assert read_notes(bench) == [f"{local.id} 1"]


async def test_what_cannot_be_stored_fails_and_is_not_run_here(bench: Bench, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        bench.home = disk.folder / "home"
        write_hooks(bench)
        engine = bench.open(trust="none")
        disk.fill()
        decision = await engine.fire(turn(bench))
        run = find_run(decision, "job")
        bench.close()
    assert run.status == "failed"
    (warning,) = decision.warnings
    assert "cannot be left to the fleet: the outbox does not accept the job" in warning
    assert read_notes(bench) == []


async def test_a_script_that_cannot_be_read_is_no_job(bench: Bench) -> None:
    hook = script_hook("job", "none.sh", event="after_turn", mode="async", delivery="durable", where="fleet")
    bench.write(write_file(hook), layer="user")
    decision = await bench.open(trust="none").fire(turn(bench))
    (warning,) = decision.warnings
    assert "none.sh cannot be read" in warning
    assert open_outbox(bench.home).count()["pending"] == 0


def test_a_job_that_an_older_version_wrote_is_read() -> None:
    data = json.dumps(
        {
            "id": "a",
            "hook_id": "h",
            "event": "after_turn",
            "payload": {},
            "source": {"layer": "user", "dialect": "native", "file": "f"},
            "created_at": "2026-01-01T00:00:00+00:00",
        }
    )
    assert decode_job(data.encode()).route is None


async def test_hooks_of_both_kinds_run_side_by_side(bench: Bench) -> None:
    write_hooks(bench, fleet_hook(bench, hook_id="remote"), fleet_hook(bench, hook_id="here", where="local"))
    engine = bench.open(trust="none")
    decision = await engine.settle(await engine.fire(turn(bench)))
    assert [(run.hook.id, run.status) for run in decision.runs] == [("remote", "queued"), ("here", "ok")]
