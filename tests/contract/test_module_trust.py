"""Modules of a project: code that runs only as the user has trusted it (section 2, and promise 4 of the engine)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookline import Engine, Event, SessionStart
from hookline.config.layers import load_layers
from hookline.dialects.table import get_dialect
from modules import EVIL, GUARD, call_event, trust_modules, write_module
from support import Bench
from trusting import codes_of, open_recorded

pytestmark = pytest.mark.anyio


def write_guard(bench: Bench, text: str = GUARD) -> Path:
    return write_module(bench, "bash.py", text, layer="project")


def write_evil(bench: Bench) -> Path:
    """A module in place of the guard that leaves a trace when it is imported; returns the trace."""
    trace = bench.root / "imported"
    write_guard(bench, EVIL.format(trace=str(trace)))
    return trace


def test_a_new_module_is_not_imported_and_is_reported(bench: Bench):
    """A project with nothing but pre/bash.py, and no hooks file."""
    trace = write_evil(bench)
    engine = open_recorded(bench)
    assert codes_of(engine) == ["untrusted"]
    assert str(bench.hooks_folder() / "pre" / "bash.py") in str(engine.problems[0])
    assert not engine.fire_sync(Event(SessionStart())).runs
    assert not trace.exists()


@pytest.mark.parametrize("trust", ["none", ["sha256:0"]])
def test_trust_in_other_content_imports_nothing(bench: Bench, trust: str | list[str]):
    trace = write_evil(bench)
    engine = bench.open(trust=trust)
    assert codes_of(engine) == ["untrusted"]
    assert not trace.exists()


def test_the_digest_that_is_trusted_covers_modules(bench: Bench):
    write_guard(bench)
    layers = load_layers(bench.project, home=bench.home, trust="all")
    digest = layers.parts.take_snapshot(bench.project, [get_dialect("native")]).digest
    engine = bench.open(trust=[digest])
    assert len(engine.handling.modules.loaded) == 1
    trace = write_evil(bench)
    assert codes_of(bench.open(trust=[digest])) == ["untrusted"]
    assert not trace.exists()


def test_a_trusted_module_guards(bench: Bench):
    write_guard(bench)
    trust_modules(bench)
    engine = open_recorded(bench)
    assert engine.problems == ()
    assert engine.fire_sync(call_event(command="rm")).reason == "guarded"
    assert engine.fire_sync(call_event(command="ls")).is_allowed


def guard_once(bench: Bench) -> None:
    """A trusted guard that has been loaded once, so that it is known what it guards."""
    write_guard(bench)
    trust_modules(bench)
    open_recorded(bench).close(grace_s=0)


def test_a_module_that_changed_closes_what_it_guarded(bench: Bench):
    guard_once(bench)
    trace = write_evil(bench)
    engine = open_recorded(bench)
    assert codes_of(engine) == ["trust-changed"]
    decision = engine.fire_sync(call_event(command="ls"))
    assert decision.is_blocked
    assert "bash:tool_call" in (decision.reason or "")
    assert not trace.exists()


def test_a_module_that_is_gone_closes_what_it_guarded(bench: Bench):
    guard_once(bench)
    (bench.hooks_folder() / "pre" / "bash.py").unlink()
    engine = open_recorded(bench)
    assert codes_of(engine) == ["trust-changed"]
    assert engine.fire_sync(call_event(command="ls")).is_blocked


def test_a_module_beside_a_trusted_one_stops_all_of_them(bench: Bench):
    guard_once(bench)
    trace = bench.root / "imported"
    write_module(bench, "more.py", EVIL.format(trace=str(trace)), layer="project", folder="post")
    engine = open_recorded(bench)
    assert codes_of(engine) == ["trust-changed"]
    assert engine.fire_sync(call_event(command="ls")).is_blocked
    assert not trace.exists()


def test_a_module_that_changes_between_the_look_and_the_import_does_not_run(bench: Bench):
    guard_once(bench)
    layers = load_layers(bench.project, home=bench.home)
    trace = write_evil(bench)
    engine = Engine(layers)
    engine.start()
    assert [problem.code for problem in engine.problems] == ["module-failed"]
    assert "not the one that was trusted" in engine.problems[0].message
    assert engine.fire_sync(call_event(command="ls")).is_blocked
    assert not trace.exists()
    engine.close(grace_s=0)


def test_a_trusted_module_that_changes_later_goes_on_as_it_was_loaded(bench: Bench):
    guard_once(bench)
    engine = open_recorded(bench)
    trace = write_evil(bench)
    assert engine.fire_sync(call_event(command="rm")).reason == "guarded"
    assert engine.fire_sync(call_event(command="ls")).is_allowed
    assert not trace.exists()


@pytest.mark.parametrize("as_folder", [False, True])
def test_a_link_out_of_the_project_cannot_be_trusted(bench: Bench, as_folder: bool):
    trace = bench.root / "imported"
    outside = bench.root / "outside"
    outside.mkdir()
    (outside / "bash.py").write_text(EVIL.format(trace=str(trace)).replace("\n    ", "\n"))
    folder = bench.hooks_folder()
    folder.mkdir(parents=True)
    if as_folder:
        (folder / "pre").symlink_to(outside)
    else:
        (folder / "pre").mkdir()
        (folder / "pre" / "bash.py").symlink_to(outside / "bash.py")
    engine = open_recorded(bench)
    assert codes_of(engine) == ["untrustable"]
    assert not trace.exists()


def test_a_module_named_outside_of_the_project_cannot_be_trusted(bench: Bench):
    trace = bench.root / "imported"
    (bench.root / "evil.py").write_text(EVIL.format(trace=str(trace)).replace("\n    ", "\n"))
    bench.write("modules: [../../../evil.py]")
    engine = open_recorded(bench)
    assert codes_of(engine) == ["untrustable"]
    assert not trace.exists()


def test_a_module_of_the_project_that_the_user_names_runs_on_the_users_word(bench: Bench):
    trace = write_evil(bench)
    bench.write("modules: [../../project/.hookline/hooks/pre/bash.py]", layer="user")
    engine = open_recorded(bench)
    assert {hook.source.layer for hook in engine.hooks} == {"user"}
    assert trace.exists()
