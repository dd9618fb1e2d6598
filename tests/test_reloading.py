"""Reloading: what is on the disk counts from one instant on, or everything stays as it was."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from entries import command_hook, shell_hook, write_file
from hookline import Engine, HooklineError, HookName, Reloaded
from hookline.config.layers import Layers, load_layers
from hookline.dialects.table import get_dialect
from jobs import make_job, open_outbox
from support import GUARD, Bench, find_run
from trusting import codes_of, open_recorded, trust_project
from waiting import wait_until

MODULE = """
    from pathlib import Path

    with Path({count!r}).open("a") as file:
        file.write("loaded ")

    def hook(api):
        api.on("before_tool_call", lambda event, context: {answer}, id="{name}")
"""


def ids_of(engine: Engine) -> list[str]:
    return [hook.id for hook in engine.hooks]


def write_hooks(bench: Bench, *ids: str, layer: str = "project", **root: Any) -> Path:
    """A hooks file with a harmless hook for each id."""
    return bench.write(write_file(*(command_hook(hook_id, "true") for hook_id in ids), **root), layer=layer)


def write_module(bench: Bench, name: str, *, answer: str = "None", layer: str = "user") -> Path:
    """A module in a `pre` folder that notes each time it is loaded."""
    text = MODULE.format(count=str(bench.root / f"{name}.count"), answer=answer, name=name)
    return bench.write_script(f"pre/{name}.py", text, layer=layer)


def count_loads(bench: Bench, name: str) -> int:
    return len((bench.root / f"{name}.count").read_text().split())


class SlowLoads:
    """Loads that have read the disk and then wait until they may go on."""

    def __init__(self) -> None:
        self.count = 0
        self.has_read = threading.Event()
        self.may_go_on = threading.Event()

    def load(self, *args: Any, **options: Any) -> Layers:
        self.count += 1
        layers = load_layers(*args, **options)
        self.has_read.set()
        assert self.may_go_on.wait(20)
        return layers


@pytest.fixture
def slow_loads(monkeypatch: pytest.MonkeyPatch) -> SlowLoads:
    loads = SlowLoads()
    monkeypatch.setattr("hookline.reloading.load_layers", loads.load)
    return loads


@pytest.fixture
def in_threads() -> Iterator[Callable[..., Any]]:
    """Starts a function on a thread of its own; returns its future."""
    with ThreadPoolExecutor(20) as pool:
        yield pool.submit


# What a reload changes, and what it tells


async def test_a_hook_that_was_added_runs_after_a_reload(bench: Bench):
    engine = bench.open(write_file(command_hook("old", "true")))
    write_hooks(bench, "old", "new")
    reloaded = engine.reload()
    assert reloaded.added == (HookName(id="new", layer="project"),)
    assert (reloaded.removed, reloaded.changed) == ((), ())
    assert [run.hook.id for run in (await engine.fire(bench.event())).runs] == ["old", "new"]


async def test_a_hook_that_was_removed_runs_no_more(bench: Bench):
    engine = bench.open(write_file(command_hook("old", "true")))
    write_hooks(bench)
    assert engine.reload().removed == (HookName(id="old", layer="project"),)
    assert not engine.listens("before_tool_call")


def test_a_hook_that_reads_otherwise_has_changed(bench: Bench):
    engine = bench.open(write_file(command_hook("a", "true")))
    bench.write(write_file(command_hook("a", "false")))
    assert engine.reload().changed == (HookName(id="a", layer="project"),)


def test_a_hook_that_only_stands_on_another_line_has_not_changed(bench: Bench):
    engine = bench.open(write_file(command_hook("a", "true")))
    bench.write("\n\n" + write_file(command_hook("a", "true")))
    reloaded = engine.reload()
    assert not reloaded.has_changed
    assert str(reloaded) == "hooks reloaded: nothing has changed"


def test_another_order_of_hooks_is_told(bench: Bench):
    engine = bench.open(write_file(command_hook("a", "true"), command_hook("b", "true")))
    write_hooks(bench, "b", "a")
    assert engine.reload().is_reordered
    assert ids_of(engine) == ["b", "a"]


def test_new_problems_and_mended_ones_are_told(bench: Bench):
    engine = bench.open(write_file(command_hook("a", "true")))
    bench.write(write_file({"id": "a", "event": "no_such_event", "run": {"type": "command", "argv": ["true"]}}))
    (problem,) = engine.reload().problems
    assert problem in engine.problems
    write_hooks(bench, "a")
    assert engine.reload().mended == (problem,)
    assert engine.problems == ()


def test_a_reload_is_told_in_one_line(bench: Bench):
    engine = bench.open(write_file(command_hook("a", "true"), command_hook("b", "true")))
    write_hooks(bench, "b", "c")
    assert str(engine.reload()) == "hooks reloaded: 1 added: c (project); 1 removed: a (project)"


async def test_reloading_off_the_loop_returns_the_same(bench: Bench):
    engine = bench.open()
    write_hooks(bench, "a", layer="user")
    assert (await engine.areload()).added == (HookName(id="a", layer="user"),)


def test_hooks_attached_by_code_stay(bench: Bench):
    engine = bench.open(write_file(command_hook("a", "true")))
    engine.on("before_tool_call", lambda event, context: None, id="mine")
    write_hooks(bench, "b")
    reloaded = engine.reload()
    assert ids_of(engine) == ["b", "mine"]
    assert "mine" not in str(reloaded)


async def test_a_dialect_that_the_users_file_names_later_is_read(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """Its hooks run, with the home that is theirs."""
    monkeypatch.setenv("HOME", str(bench.root))
    bench.write(write_file(command_hook("foreign", "test", "-n", "${chrys_home}")), dialect="chrys")
    engine = bench.open()
    bench.write("dialects: [chrys]\nhooks: []\n", layer="user")
    engine.reload()
    assert find_run(await engine.fire(bench.event()), "foreign").hook.source.dialect == get_dialect("chrys").name


# Settings


def test_a_setting_that_may_change_has_its_new_value(bench: Bench):
    engine = bench.open(write_file(settings={"shutdown_grace_seconds": 1}))
    bench.write(write_file(settings={"shutdown_grace_seconds": 2}))
    assert engine.reload().settings == ("shutdown_grace_s",)
    assert engine.settings.shutdown_grace_s == 2


def test_a_setting_that_cannot_change_is_kept_and_named(bench: Bench):
    engine = bench.open(write_file(settings={"max_parallel_hooks": 2}))
    path = bench.write(write_file(settings={"max_parallel_hooks": 3}))
    reloaded = engine.reload()
    (problem,) = reloaded.problems
    assert (problem.severity, problem.code, problem.place.path) == ("notice", "setting-kept", path)
    assert "settings.max_parallel_hooks is 3 now, but the running engine keeps 2" in problem.message
    assert (reloaded.settings, engine.settings.max_parallel_hooks) == ((), 2)
    assert not engine.reload().has_changed


# Modules


def test_a_module_that_has_not_changed_is_not_loaded_anew(bench: Bench):
    write_module(bench, "kept")
    write_module(bench, "other")
    engine = bench.open()
    write_module(bench, "other", answer="{}")
    assert engine.reload().changed == (HookName(id="other", layer="user"),)
    assert (count_loads(bench, "kept"), count_loads(bench, "other")) == (1, 2)


def test_modules_run_in_the_order_in_which_a_fresh_engine_runs_them(bench: Bench):
    for name in ("a", "b", "c"):
        write_module(bench, name)
    engine = bench.open()
    write_module(bench, "b", answer="{}")
    write_module(bench, "a0")
    engine.reload()
    assert ids_of(engine) == ids_of(bench.open()) == ["a", "a0", "b", "c"]


async def test_a_module_that_cannot_be_loaded_any_more_keeps_closed_what_it_guarded(bench: Bench):
    text = "def hook(api):\n    api.on('before_tool_call', lambda e, c: None, id='guard', on_error='block')\n"
    path = bench.write_script("pre/guard.py", text, layer="user")
    engine = bench.open()
    path.write_text("def hook(api:\n")
    reloaded = engine.reload()
    assert [closure.hook_id for closure in reloaded.closed] == ["guard"]
    assert (await engine.fire(bench.event())).verdict == "block"
    path.write_text(text)
    assert engine.reload().opened == reloaded.closed
    assert (await engine.fire(bench.event())).verdict == "allow"


def open_with_required(bench: Bench) -> tuple[Engine, Path]:
    path = bench.write_script(
        "needed.py", "def hook(api):\n    api.on('after_turn', print, id='needed')\n", layer="user"
    )
    bench.write("modules: [{path: needed.py, required: true}]\nhooks: []\n", layer="user")
    return bench.open(), path


def test_a_required_module_that_fails_leaves_everything_as_it_was(bench: Bench):
    engine, path = open_with_required(bench)
    path.write_text("raise RuntimeError('broken')\n")
    write_hooks(bench, "new")
    reloaded = engine.reload()
    assert "a module that is required cannot be loaded" in reloaded.failure
    assert ids_of(engine) == ["needed"]
    assert [problem.code for problem in reloaded.problems] == codes_of(engine) == ["reload-failed"]


def test_what_a_failed_reload_left_is_loaded_once_it_is_mended(bench: Bench):
    engine, path = open_with_required(bench)
    text = path.read_text()
    path.write_text("raise RuntimeError('broken')\n")
    failed = engine.reload()
    path.write_text(text)
    write_hooks(bench, "new")
    reloaded = engine.reload()
    assert (reloaded.failure, reloaded.mended) == ("", failed.problems)
    assert ids_of(engine) == ["new", "needed"]


# Failures and events under way


async def test_a_mistake_while_reloading_leaves_everything_as_it_was(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    engine = bench.open(write_file(command_hook("a", "true")))

    def fail(*args: Any, **options: Any) -> Layers:
        raise RuntimeError("a mistake")

    monkeypatch.setattr("hookline.reloading.load_layers", fail)
    assert engine.reload().failure == "RuntimeError: a mistake"
    assert [run.status for run in (await engine.fire(bench.event())).runs] == ["ok"]


async def test_an_event_under_way_keeps_the_hooks_it_started_with(bench: Bench):
    wait = "echo > started; while [ ! -e go ]; do sleep 0.02; done"
    engine = bench.open(write_file(shell_hook("first", wait), command_hook("second", "true")))
    firing = asyncio.ensure_future(engine.fire(bench.event()))
    await wait_until((bench.project / "started").exists, "the first hook runs")
    write_hooks(bench, "third")
    await engine.areload()
    (bench.project / "go").touch()
    assert [run.hook.id for run in (await firing).runs] == ["first", "second"]
    assert [run.hook.id for run in (await engine.fire(bench.event())).runs] == ["third"]


MANY_HANDLERS = """
    def hook(api):
        for n in range(50):
            api.on("before_tool_call", lambda event, context: None, id=f"{version}-{{n}}")
"""


async def test_no_event_meets_a_half_loaded_index(bench: Bench):
    """Every event meets all hooks of one version, those of a file and those of a module alike."""

    def write(version: int) -> None:
        bench.write(write_file(*(command_hook(f"{version}-{n}", "true", match={"tool_name": "x"}) for n in range(50))))
        bench.write_script("pre/many.py", MANY_HANDLERS.format(version=version))

    write(0)
    engine = bench.open()
    met: set[tuple[int, frozenset[str]]] = set()
    for version in range(1, 4):
        write(version)
        reloading = asyncio.ensure_future(engine.areload())
        while not reloading.done():
            runs = (await engine.fire(bench.event())).runs
            met.add((len(runs), frozenset(run.hook.id.partition("-")[0] for run in runs)))
            hooks = engine.hooks
            met.add((len(hooks) // 2, frozenset(hook.id.partition("-")[0] for hook in hooks)))
            await asyncio.sleep(0)
    assert {count for count, _ in met} == {50}
    assert all(len(versions) == 1 for _, versions in met)


def test_a_closed_engine_does_not_reload(bench: Bench):
    engine = bench.open()
    engine.close()
    with pytest.raises(HooklineError, match="the engine is closed"):
        engine.reload()


def test_what_is_being_loaded_when_the_engine_closes_never_counts(
    bench: Bench, slow_loads: SlowLoads, in_threads: Callable[..., Any]
):
    slow_loads.may_go_on.set()
    engine = bench.open()
    slow_loads.may_go_on.clear()
    slow_loads.has_read.clear()
    write_hooks(bench, "late")
    reloading = in_threads(engine.reload)
    assert slow_loads.has_read.wait(20)
    engine.close()
    slow_loads.may_go_on.set()
    with pytest.raises(HooklineError, match="the engine is closed"):
        reloading.result()
    assert ids_of(engine) == []


def test_an_engine_that_was_given_its_layers_says_that_it_cannot_reload(bench: Bench):
    with (
        Engine(load_layers(bench.project, home=bench.home)) as engine,
        pytest.raises(HooklineError, match=r"Engine\.open"),
    ):
        engine.reload()


# Several at once


def test_an_older_load_is_never_published_after_a_newer_one(
    bench: Bench, slow_loads: SlowLoads, in_threads: Callable[..., Any]
):
    """Case 42 of the folder contract: of two overlapping reloads the newest content wins."""
    slow_loads.may_go_on.set()
    engine = bench.open(write_file(command_hook("first", "true")))
    slow_loads.may_go_on.clear()
    slow_loads.has_read.clear()
    older = in_threads(engine.reload)
    assert slow_loads.has_read.wait(20)
    write_hooks(bench, "newest")
    newer = in_threads(engine.reload)
    slow_loads.may_go_on.set()
    assert older.result().added == ()
    assert newer.result().added == (HookName(id="newest", layer="project"),)
    assert ids_of(engine) == ["newest"]


def test_reloads_that_are_asked_for_during_one_are_one_more(
    bench: Bench, slow_loads: SlowLoads, in_threads: Callable[..., Any]
):
    """Fault W12 of the folder contract: reloads are serialised, and do not pile up."""
    slow_loads.may_go_on.set()
    engine = bench.open()
    slow_loads.may_go_on.clear()
    slow_loads.has_read.clear()
    first = in_threads(engine.reload)
    assert slow_loads.has_read.wait(20)
    others = [in_threads(engine.reload) for _ in range(10)]
    while sum(future.running() for future in others) < 10:
        pass
    write_hooks(bench, "a")
    slow_loads.may_go_on.set()
    answers: list[Reloaded] = [future.result() for future in others]
    assert first.result().added == ()
    assert {answer.added for answer in answers} <= {(HookName(id="a", layer="project"),), ()}
    assert ids_of(engine) == ["a"]
    assert slow_loads.count <= 4


# Trust

GUARDING = f"hooks: [{{id: guard, event: before_tool_call, run: {{type: shell, shell: ./check}}, {GUARD}}}]\n"


def open_trusted(bench: Bench) -> Engine:
    bench.write(GUARDING)
    check = bench.project / "check"
    check.write_text("#!/bin/sh\nexit 0\n")
    check.chmod(0o755)
    trust_project(bench)
    return open_recorded(bench)


@pytest.mark.parametrize("name", [".hookline/hooks/hooks.yaml", "check"])
async def test_changed_content_of_a_trusted_project_is_not_loaded(bench: Bench, name: str):
    engine = open_trusted(bench)
    path = bench.project / name
    path.write_text(path.read_text() + "# changed\n")
    reloaded = engine.reload()
    assert reloaded.trust == "changed"
    assert [problem.code for problem in reloaded.problems] == ["trust-changed"]
    assert [closure.hook_id for closure in reloaded.closed] == ["guard"]
    assert ids_of(engine) == []
    assert (await engine.fire(bench.event())).verdict == "block"


async def test_changed_content_runs_once_it_is_trusted(bench: Bench):
    engine = open_trusted(bench)
    bench.write(GUARDING + "# changed\n")
    engine.reload()
    trust_project(bench)
    reloaded = engine.reload()
    assert (reloaded.trust, reloaded.added) == ("trusted", (HookName(id="guard", layer="project"),))
    assert (await engine.fire(bench.event())).verdict == "allow"


def test_a_projects_hooks_that_appear_later_are_not_trusted(bench: Bench):
    """B45 (anthropics/claude-code#31242): a hooks file that is created while the engine runs is not loaded either."""
    engine = open_recorded(bench)
    bench.write(GUARDING)
    reloaded = engine.reload()
    assert (reloaded.trust, reloaded.added, ids_of(engine)) == ("untrusted", (), [])
    assert [problem.code for problem in reloaded.problems] == ["untrusted"]


async def test_an_event_under_way_runs_nothing_that_was_changed_since_it_started(bench: Bench):
    """The reload took the project's hooks away, and with them the record of what may run; the event has not lost it."""
    wait = "echo > started; while [ ! -e go ]; do sleep 0.02; done"
    bench.write(write_file(shell_hook("first", wait), shell_hook("second", "./later")))
    later = bench.project / "later"
    later.write_text("#!/bin/sh\nexit 0\n")
    later.chmod(0o755)
    trust_project(bench)
    engine = open_recorded(bench)
    firing = asyncio.ensure_future(engine.fire(bench.event()))
    await wait_until((bench.project / "started").exists, "the first hook runs")
    later.write_text("#!/bin/sh\ntouch evil\n")
    assert (await engine.areload()).trust == "changed"
    (bench.project / "go").touch()
    assert "has changed since you trusted it" in find_run(await firing, "second").reason
    assert not (bench.project / "evil").exists()


# Files that cannot be read, and durable jobs


async def test_a_file_that_cannot_be_read_keeps_closed_what_it_guarded(bench: Bench):
    """B36 (anthropics/claude-code#75081): also when the mistake is made while the engine runs."""
    engine = bench.open(write_file(command_hook("guard", "true", on_error="block")))
    bench.write("hooks: [\n")
    assert [closure.hook_id for closure in engine.reload().closed] == ["guard"]
    assert (await engine.fire(bench.event())).verdict == "block"


def test_an_untrusted_layer_cannot_take_the_users_guard_away(bench: Bench):
    """B40 (woojubb/robota#2024): a project's hook of the same name that comes later replaces nothing."""
    write_hooks(bench, "guard", layer="user")
    engine = bench.open()
    bench.write(write_file({**command_hook("guard", "true"), "enabled": False}))
    engine.reload()
    assert [(hook.source.layer, hook.enabled) for hook in engine.hooks] == [("project", False), ("user", True)]


def durable(hook_id: str) -> dict[str, Any]:
    return command_hook(hook_id, "true", event="after_turn", mode="async", delivery="durable")


async def test_pending_jobs_of_a_hook_that_comes_with_a_reload_are_run(bench: Bench):
    path = write_hooks(bench, "other", layer="user")
    engine = bench.open()
    open_outbox(bench.home).put(make_job(file=path.resolve(), age_s=3600))
    bench.write(write_file(durable("job")), layer="user")
    engine.reload()
    await wait_until(lambda: open_outbox(bench.home).count()["done"] == 1, "the job was run")


@pytest.mark.parametrize("text", ["hooks: [\n", "hooks: [{id: job, event: after_turn, run: nothing}]\n"])
async def test_pending_jobs_of_a_hook_whose_entry_cannot_be_read_wait(bench: Bench, text: str):
    """What cannot be read does not say that a hook is gone."""
    path = bench.write(write_file(durable("job")), layer="user")
    readable = bench.write(write_file(durable("other")))
    engine, store = bench.open(), open_outbox(bench.home)
    path.write_text(text)
    store.put(make_job(file=path.resolve(), age_s=3600))
    store.put(make_job(hook_id="other", file=readable.resolve(), age_s=3600))
    engine.reload()
    wanted = {"pending": 1, "done": 1, "failed": 0}
    await wait_until(lambda: store.count() == wanted, "only the other hook's job was run")
    path.write_text(write_file(durable("job")))
    engine.reload()
    await wait_until(lambda: store.count()["done"] == 2, "the job was run")


def test_options_that_cannot_be_honoured_any_more_leave_everything_as_it_was(bench: Bench):
    """A home that turns out to lie inside the project is refused, as it is at the start."""
    home = bench.root / "link"
    home.symlink_to(bench.home)
    write_hooks(bench, "a", layer="user")
    engine = Engine.open(bench.project, home=home)
    home.unlink()
    (bench.project / "inside").mkdir()
    home.symlink_to(bench.project / "inside")
    assert "inside the project" in engine.reload().failure
    assert ids_of(engine) == ["a"]
    engine.close()
