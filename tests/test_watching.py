"""Watching: what happens to hook files on the disk reaches a running engine, and nothing else does."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from entries import command_hook, write_file
from hookline import Engine, HooklineError, Reloaded
from hookline.config.layers import load_layers
from hookline.reloading import Reloader
from hookline.watching import Watch
from support import Bench
from trusting import open_recorded, trust_project
from waiting import count_descriptors, wait_until


def write_hooks(bench: Bench, *ids: str, layer: str = "project", name: str = "hooks.yaml") -> Path:
    return bench.write(write_file(*(command_hook(hook_id, "true") for hook_id in ids)), layer=layer, name=name)


async def wait_for_hooks(engine: Engine, *ids: str) -> None:
    """Wait until an engine has these hooks and no others."""
    await wait_until(lambda: [hook.id for hook in engine.hooks] == list(ids), f"the hooks are {ids}", within_s=10)


class Reloads:
    """How often an engine has loaded its hooks since it watches."""

    def __init__(self) -> None:
        self.count = 0

    async def settle(self) -> int:
        """Wait until the watch has begun, which loads once; returns the count."""
        await wait_until(lambda: self.count > 0, "the watch has begun")
        return self.count


@pytest.fixture
def reloads(monkeypatch: pytest.MonkeyPatch) -> Reloads:
    found, reload = Reloads(), Reloader.reload

    def count(reloader: Reloader) -> Reloaded:
        reloaded = reload(reloader)
        found.count += 1
        return reloaded

    monkeypatch.setattr(Reloader, "reload", count)
    return found


# What is seen


@pytest.mark.parametrize("layer", ["project", "user"])
async def test_a_hooks_file_that_is_written_is_loaded(bench: Bench, layer: str):
    path = write_hooks(bench, "a", layer=layer)
    engine = bench.open()
    engine.watch()
    path.write_text(write_file(command_hook("b", "true")))
    await wait_for_hooks(engine, "b")


@pytest.mark.parametrize("layer", ["project", "user"])
async def test_folders_that_come_to_be_are_seen(bench: Bench, layer: str):
    """Fault W13 of the folder contract: a root may be missing when the watch begins."""
    engine = bench.open()
    engine.watch()
    write_hooks(bench, "a", layer=layer)
    await wait_for_hooks(engine, "a")


async def test_a_root_that_is_deleted_and_made_again_is_seen(bench: Bench):
    """Fault W13 of the folder contract: deleting the root does not end hot reload."""
    engine = bench.open(write_file(command_hook("a", "true")))
    engine.watch()
    for hook_id in ("b", "c"):
        shutil.rmtree(bench.project / ".hookline")
        await wait_for_hooks(engine)
        write_hooks(bench, hook_id)
        await wait_for_hooks(engine, hook_id)


async def test_a_file_that_an_editor_replaces_is_seen_every_time(bench: Bench):
    path = write_hooks(bench, "a")
    engine = bench.open()
    engine.watch()
    for hook_id in ("b", "c"):
        path.rename(path.with_name("hooks.yaml~"))
        write_hooks(bench, hook_id, name="hooks.yaml.tmp").rename(path)
        await wait_for_hooks(engine, hook_id)


async def test_the_file_that_a_link_leads_to_is_watched(bench: Bench):
    target = bench.root / "dotfiles" / "hooks.yaml"
    target.parent.mkdir()
    target.write_text(write_file(command_hook("a", "true")))
    link = bench.hooks_folder("user") / "hooks.yaml"
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    engine = bench.open()
    engine.watch()
    target.write_text(write_file(command_hook("b", "true")))
    await wait_for_hooks(engine, "b")


async def test_a_linked_folder_that_leads_elsewhere_now_is_seen(bench: Bench):
    for version in ("one", "two"):
        folder = bench.root / version / "hooks"
        folder.mkdir(parents=True)
        (folder / "hooks.yaml").write_text(write_file(command_hook(version, "true")))
    link = bench.project / ".hookline"
    link.symlink_to(bench.root / "one")
    engine = bench.open()
    engine.watch()
    link.unlink()
    link.symlink_to(bench.root / "two")
    await wait_for_hooks(engine, "two")


async def test_scripts_and_modules_in_folders_come_and_go(bench: Bench):
    engine = bench.open()
    engine.watch()
    script = bench.write_script("pre/bash.sh", "exit 0\n")
    await wait_for_hooks(engine, "hook:pre:bash:bash.sh")
    script.unlink()
    bench.write_script("post/m.py", "def hook(api):\n    api.on('after_turn', print, id='m')\n", layer="user")
    await wait_for_hooks(engine, "m")


async def test_a_program_becomes_a_hook_when_it_may_be_executed(bench: Bench):
    """Whether a file may be run or read decides what it is, so that a change of its mode alone counts."""
    program = bench.write_script("pre/bash", "#!/bin/sh\n")
    engine = bench.open()
    engine.watch()
    program.chmod(0o755)
    await wait_for_hooks(engine, "hook:pre:bash:bash")
    program.chmod(0o644)
    await wait_for_hooks(engine)


async def test_a_configured_module_far_away_is_watched(bench: Bench):
    module = bench.root / "elsewhere" / "module.py"
    module.parent.mkdir()
    module.write_text("def hook(api):\n    api.on('after_turn', print, id='one')\n")
    bench.write(f"modules: [{{path: {module}}}]\nhooks: []\n", layer="user")
    engine = bench.open()
    engine.watch()
    module.write_text("def hook(api):\n    api.on('after_turn', print, id='two')\n")
    await wait_for_hooks(engine, "two")


async def test_the_files_of_other_dialects_are_watched(bench: Bench):
    engine = bench.open(dialects=["chrys"])
    engine.watch()
    bench.write(write_file(command_hook("a", "true")), dialect="chrys")
    await wait_for_hooks(engine, "a")


async def test_trust_that_is_given_while_the_engine_runs_counts(bench: Bench):
    write_hooks(bench, "a")
    engine = open_recorded(bench)
    engine.watch()
    trust_project(bench)
    await wait_for_hooks(engine, "a")


async def test_a_file_outside_the_folders_that_trust_covers_is_watched(bench: Bench):
    """Also while the project's hooks do not count because of it, so that putting it back is seen."""
    bench.write(write_file(command_hook("a", "./check")))
    check = bench.project / "check"
    check.write_text("one")
    trust_project(bench)
    engine = open_recorded(bench)
    engine.watch()
    check.unlink()
    await wait_for_hooks(engine)
    check.write_text("one")
    await wait_for_hooks(engine, "a")


async def test_what_changed_before_the_watch_began_is_loaded(bench: Bench):
    engine = bench.open()
    write_hooks(bench, "a")
    engine.watch()
    await wait_for_hooks(engine, "a")


# When


async def test_a_steady_stream_of_writes_does_not_put_reloads_off(bench: Bench):
    """Fault W13 of the folder contract: 30 writes at 100 ms starved a debounce that every one of them restarted."""
    engine = bench.open(write_file(command_hook("first", "true")))
    engine.watch()
    is_over = threading.Event()

    def write() -> None:
        number = 0
        while not is_over.wait(0.05):
            number += 1
            write_hooks(bench, f"hook-{number}")
            (bench.hooks_folder() / f"other-{number}").touch()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        await wait_until(lambda: engine.hooks[0].id != "first", "a reload happens while files change", within_s=5)
        assert writer.is_alive()
    finally:
        is_over.set()
        writer.join()


async def test_writes_close_together_are_one_reload(bench: Bench, reloads: Reloads):
    engine = bench.open()
    engine.watch()
    before = await reloads.settle()
    for number in range(20):
        write_hooks(bench, f"hook-{number}")
    await wait_for_hooks(engine, "hook-19")
    assert reloads.count - before <= 2


async def test_what_the_system_does_not_tell_is_found_all_the_same(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """Fault W13 of the folder contract: after an overflow everything is looked at again."""
    monkeypatch.setattr("hookline.watching.RustNotify", DeafNotify)
    engine = bench.open()
    engine.watch()
    write_hooks(bench, "a")
    await wait_for_hooks(engine, "a")
    write_hooks(bench, "b")
    await wait_for_hooks(engine, "b")


class DeafNotify:
    """A watcher whose notices are all lost."""

    def __init__(self, watch_paths: list[str], **options: Any) -> None:
        assert watch_paths

    def watch(self, debounce_ms: int, step_ms: int, timeout_ms: int, stop_event: threading.Event) -> str:
        stop_event.wait(timeout_ms / 1000)
        return "timeout"

    def close(self) -> None:
        pass


async def test_a_system_that_watches_no_more_files_is_told_of_and_made_up_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
):
    def refuse(*args: Any, **options: Any) -> None:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr("hookline.watching.RustNotify", refuse)
    engine = bench.open()
    engine.watch()
    for hook_id in ("a", "b"):
        write_hooks(bench, hook_id)
        await wait_for_hooks(engine, hook_id)
    assert log_lines == [
        "the system watches no more files (OS file watch limit reached); hook files are looked at every second instead"
    ]


async def test_a_watcher_that_fails_begins_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]):
    class FailingNotify(DeafNotify):
        def watch(self, *args: Any, **options: Any) -> str:
            monkeypatch.setattr("hookline.watching.RustNotify", DeafNotify)
            raise RuntimeError("error in underlying watcher")

    monkeypatch.setattr("hookline.watching.RustNotify", FailingNotify)
    engine = bench.open()
    watch = engine.watch()
    await wait_until(lambda: bool(log_lines), "the failure is told")
    write_hooks(bench, "a")
    await wait_for_hooks(engine, "a")
    assert watch.is_running
    assert log_lines == ["watching hook files failed and begins anew: RuntimeError('error in underlying watcher')"]


# What does not count


@pytest.mark.parametrize(
    "name",
    ["hooks.yaml~", ".hooks.yaml.swp", "4913", ".#hooks.yaml", "#hooks.yaml#", "hooks.yaml.tmp", "hooks.yaml.bak"],
)
async def test_what_editors_leave_behind_is_no_change(bench: Bench, reloads: Reloads, name: str):
    bench.hooks_folder().mkdir(parents=True)
    await check_nothing_is_loaded(bench, reloads, lambda: bench.write_script(name, "text"))


@pytest.mark.parametrize("folder", ["log", "logs", "outbox", "tmp", "memory", "detached"])
async def test_what_hookline_itself_writes_is_no_change(bench: Bench, reloads: Reloads, folder: str):
    bench.hooks_folder("user").mkdir(parents=True)
    await check_nothing_is_loaded(bench, reloads, lambda: bench.write_script(f"{folder}/a.json", "{}", layer="user"))


async def test_reading_files_is_no_change(bench: Bench, reloads: Reloads):
    path = write_hooks(bench, "a")
    await check_nothing_is_loaded(bench, reloads, path.read_text)


async def check_nothing_is_loaded(bench: Bench, reloads: Reloads, act: Callable[[], object]) -> None:
    """What happens in one folder reaches the watch before a change that is made there later."""
    engine = bench.open()
    engine.watch()
    before = await reloads.settle()
    start = time.monotonic()
    act()
    await wait_until(lambda: time.monotonic() > start + 0.4, "a reload would have happened by now")
    assert reloads.count == before
    write_hooks(bench, "new", layer="user")
    await wait_until(lambda: reloads.count > before, "a real change is seen")


# Telling, and the end


async def test_every_change_is_told_to_the_listener(bench: Bench):
    told: list[Reloaded] = []
    engine = bench.open()
    engine.watch(told.append)
    write_hooks(bench, "a")
    await wait_until(lambda: bool(told), "the reload was told")
    assert [str(name) for name in told[0].added] == ["a (project)"]


async def test_a_reload_is_logged_and_what_it_left_out_is_a_warning(bench: Bench, log_lines: list[str]):
    engine = bench.open()
    engine.watch()
    path = bench.write("hooks: [\n")
    await wait_until(lambda: len(log_lines) == 2, "the reload and its problem were logged")
    assert log_lines[0] == "hooks reloaded: 1 new problems"
    assert str(path) in log_lines[1]


async def test_a_listener_that_raises_disturbs_nothing(bench: Bench, log_lines: list[str]):
    engine = bench.open()
    watch = engine.watch(lambda reloaded: 1 / 0)
    for hook_id in ("a", "b"):
        write_hooks(bench, hook_id)
        await wait_for_hooks(engine, hook_id)
    assert watch.is_running
    assert log_lines[0] == "on_reload raised ZeroDivisionError('division by zero')"


async def test_a_listener_may_stop_the_watch(bench: Bench):
    watches: list[Watch] = []
    engine = bench.open()
    watches.append(engine.watch(lambda reloaded: watches[0].stop()))
    write_hooks(bench, "a")
    await wait_until(lambda: not any(thread.name == "hookline-watch" for thread in threading.enumerate()), "it ended")


async def test_a_watch_that_was_stopped_loads_nothing_more(bench: Bench, reloads: Reloads):
    engine = bench.open()
    with engine.watch() as watch:
        before = await reloads.settle()
    write_hooks(bench, "a")
    assert not watch.is_running
    assert reloads.count == before


async def test_closing_the_engine_ends_its_watches(bench: Bench):
    descriptors = count_descriptors()
    engine = bench.open()
    watches = [engine.watch(), engine.watch()]
    engine.close()
    assert [watch.is_running for watch in watches] == [False, False]
    assert not any(thread.name == "hookline-watch" for thread in threading.enumerate())
    await wait_until(lambda: count_descriptors() <= descriptors, "the watchers have let go of their descriptors")


def test_an_engine_that_is_closed_or_cannot_reload_cannot_watch(bench: Bench):
    engine = bench.open()
    engine.close()
    with pytest.raises(HooklineError, match="the engine is closed"):
        engine.watch()
    with (
        Engine(load_layers(bench.project, home=bench.home)) as given,
        pytest.raises(HooklineError, match=r"Engine\.open"),
    ):
        given.watch()


def test_without_the_extra_watching_says_what_to_install(bench: Bench):
    program = f"""
import sys
sys.modules["watchfiles"] = None
from hookline import Engine, HooklineError
with Engine.open({str(bench.project)!r}, home={str(bench.home)!r}) as engine:
    try:
        engine.watch()
    except HooklineError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "watching hook files needs watchfiles: pip install 'hookline[watch]'\n"


@pytest.fixture(autouse=True)
def no_thread_is_left(bench: Bench) -> Iterator[None]:
    """Whatever a test does, its engine's end is the end of its watch."""
    yield
    bench.close()
    assert not any(thread.name == "hookline-watch" for thread in threading.enumerate())
