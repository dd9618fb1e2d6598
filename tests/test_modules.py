"""What authors of modules and hosts import, and modules that are loaded into a running engine."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import hookline.modules as facade
from hookline import ConfigError, Engine, Event, SessionStart
from hookline.handlers import events, results
from hookline.modules import HookError, NotWiredError, UnknownCommandError, load
from hookline.testing import RecordingHost, RecordingUI
from support import Bench

GUARD = """
def hook(api):
    @api.on("tool_call")
    def guard(event, ctx):
        return {"block": True, "reason": "by policy"}
"""
BROKEN = {
    "no_hook.py": "x = 1\n",
    "number.py": "hook = 42\n",
    "raises.py": "def hook(api):\n    raise RuntimeError('boom')\n",
    "syntax.py": "def hook(api)\n",
}


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def engine(bench: Bench) -> Engine:
    return bench.open()


def test_every_name_is_there_once():
    assert len(set(facade.__all__)) == len(facade.__all__)
    assert all(hasattr(facade, name) for name in facade.__all__)


def test_every_event_and_result_class_is_among_the_names():
    offered = {
        name
        for module in (events, results)
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    assert offered <= set(facade.__all__)


async def test_a_module_that_is_loaded_into_an_engine_is_asked(engine: Engine, bench: Bench):
    loading = load(engine, [write(bench.root, "guard.py", GUARD)])
    assert (len(loading.modules), loading.errors) == (1, ())
    decision = await engine.fire(bench.event())
    assert (decision.verdict, decision.reason) == ("block", "by policy")


def test_one_good_module_loads_beside_five_that_do_not(engine: Engine, bench: Bench, caplog: pytest.LogCaptureFixture):
    """Case 33: one module, five errors in order."""
    names = [write(bench.root, name, text).name for name, text in BROKEN.items()]
    with caplog.at_level(logging.WARNING, "hookline"):
        loading = load(engine, [write(bench.root, "good.py", GUARD), *names, "missing.py"], cwd=bench.root)
    assert [module.spec.path.name for module in loading.modules] == ["good.py"]
    assert [error.path.name for error in loading.errors] == [*names, "missing.py"]
    assert len(caplog.records) == 5
    assert [hook.id for hook in engine.hooks] == ["good:tool_call"]
    assert engine.modules.errors == loading.errors


def test_paths_of_every_kind_are_resolved(engine: Engine, bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """Case 35: absolute, of the home, relative to the folder, and with a way up."""
    monkeypatch.setenv("HOME", str(bench.root / "own"))
    paths = [
        write(bench.root, "abs/a.py", GUARD),
        write(bench.root, "own/b.py", GUARD),
        write(bench.root, "cwd/rel/c.py", GUARD),
        write(bench.root, "u.py", GUARD),
    ]
    loading = load(engine, [str(paths[0]), "~/b.py", "rel/c.py", "../u.py"], cwd=bench.root / "cwd")
    assert [module.spec.path for module in loading.modules] == paths


def test_a_path_that_names_no_file_is_an_error_of_the_load(engine: Engine):
    loading = load(engine, ["https://example.org/hooks.py"])
    assert "only file:// ones are read" in loading.errors[0].text


def test_a_file_that_is_loaded_already_is_not_loaded_again(engine: Engine, bench: Bench):
    path = write(bench.root, "guard.py", GUARD)
    (bench.root / "link.py").symlink_to(path)
    load(engine, [path])
    assert load(engine, [path, bench.root / "link.py"]).modules == ()
    assert len(engine.hooks) == 1


def test_a_required_module_that_fails_leaves_nothing_of_the_others(engine: Engine, bench: Bench):
    paths = [write(bench.root, "guard.py", GUARD), write(bench.root, "raises.py", BROKEN["raises.py"])]
    with pytest.raises(ConfigError, match=r"required cannot be loaded: .*boom"):
        load(engine, paths, is_required=True)
    assert (engine.hooks, engine.modules.loaded) == ((), ())


def test_a_time_limit_is_that_of_the_handlers(engine: Engine, bench: Bench):
    load(engine, [write(bench.root, "guard.py", GUARD)], timeout_s=2.5)
    assert engine.hooks[0].execution.timeout_s == 2.5


def test_what_was_loaded_stays_when_the_modules_of_the_files_are_loaded_anew(engine: Engine, bench: Bench):
    load(engine, [write(bench.root, "guard.py", GUARD)])
    engine.load_modules()
    assert [hook.id for hook in engine.hooks] == ["guard:tool_call"]


# What an engine offers to hosts


async def test_a_listener_hears_of_a_failure_until_it_is_taken_off(engine: Engine):
    heard: list[HookError] = []
    remove = engine.on_error(heard.append)

    @engine.on("session_start", id="broken")
    def fail(event: events.SessionStartEvent) -> None:
        raise ValueError("boom")

    await engine.fire(Event(SessionStart()))
    remove()
    await engine.fire(Event(SessionStart()))
    assert [(error.hook_id, error.event, error.error) for error in heard] == [("broken", "session_start", "boom")]


async def test_a_command_gets_its_arguments_and_the_project(engine: Engine, bench: Bench):
    text = """
        def hook(api):
            api.register_command("say", lambda args, ctx: (args, ctx.cwd, ctx.session.id))
    """
    load(engine, [bench.write_script("say.py", text.replace("\n        ", "\n"))])
    assert await engine.run_command("/say it  loud", session_id="s1") == ("it  loud", str(bench.project), "s1")
    with pytest.raises(UnknownCommandError, match="commands: /say"):
        await engine.run_command("/sing")


async def test_a_host_and_a_user_interface_can_be_connected_later(engine: Engine, bench: Bench):
    text = "def hook(api):\n    api.register_command('note', lambda args, ctx: api.append_entry('note', args))\n"
    load(engine, [write(bench.root, "note.py", text)])
    with pytest.raises(NotWiredError):
        await engine.run_command("note first")
    host, ui = RecordingHost(), RecordingUI(confirm=[True])
    engine.connect(host=host, ui=ui)
    await engine.run_command("note second")
    assert host.entries == [("note", "second")]

    @engine.on("session_start")
    async def ask(event: events.SessionStartEvent, ctx: facade.Context) -> None:
        await ctx.ui.confirm("Start?", "")

    await engine.fire(Event(SessionStart()))
    assert [asked.title for asked in ui.asked] == ["Start?"]
