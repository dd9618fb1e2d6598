"""A hooks file that cannot be read any more keeps closed what its last good version guarded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from entries import command_hook, shell_hook, write_file
from hookline import Engine
from hookline.config.memory import GuardMemory
from hookline.config.text import MAX_FILE_SIZE
from hookline.config.trust import GuardedEvent
from hookline.outcome import EMPTY_DECISION, Decision
from support import Bench, make_prompt_event
from trusting import codes_of, open_recorded, trust_project

GUARD = GuardedEvent(event="before_tool_call", hook_id="g")
GUARDING = write_file(command_hook("g", "true", on_error="block"))
BROKEN = "hooks:\n\t- id: g\n"


@pytest.fixture
def memory(bench: Bench) -> GuardMemory:
    return GuardMemory(bench.home)


def memory_file(bench: Bench) -> Path:
    (path,) = (bench.home / "hooks" / "memory").iterdir()
    return path


# Remembering


def test_what_was_remembered_is_recalled(bench: Bench, memory: GuardMemory):
    path = bench.write("hooks: []\n")
    memory.remember(path, (GUARD,))
    assert memory.recall(path) == (GUARD,)


def test_of_a_file_that_was_never_read_nothing_is_recalled(bench: Bench, memory: GuardMemory):
    assert memory.recall(bench.project / "hooks.yaml") == ()


def test_the_newest_version_is_what_is_recalled(bench: Bench, memory: GuardMemory):
    path = bench.write("hooks: []\n")
    memory.remember(path, (GUARD,))
    memory.remember(path, ())
    assert memory.recall(path) == ()


def test_each_file_has_a_memory_of_its_own(bench: Bench, memory: GuardMemory):
    project, user = bench.write("hooks: []\n"), bench.write("hooks: []\n", layer="user")
    memory.remember(project, (GUARD,))
    assert memory.recall(user) == ()


def test_nothing_is_written_when_nothing_is_new(bench: Bench, memory: GuardMemory):
    path = bench.write("hooks: []\n")
    memory.remember(path, (GUARD,))
    before = memory_file(bench).stat()
    memory.remember(path, (GUARD,))
    assert os.path.samestat(memory_file(bench).stat(), before)


def test_a_file_without_guards_leaves_no_memory(bench: Bench, memory: GuardMemory):
    memory.remember(bench.write("hooks: []\n"), ())
    assert not bench.home.exists()


@pytest.mark.parametrize("text", ["", "[]", '{"guards": 1}', '{"guards": [1, null]}', "{", "[" * 100_000])
def test_a_damaged_memory_recalls_nothing(bench: Bench, memory: GuardMemory, text: str):
    path = bench.write("hooks: []\n")
    memory.remember(path, (GUARD,))
    memory_file(bench).write_text(text)
    assert memory.recall(path) == ()


def test_a_home_that_cannot_be_written_is_logged_and_no_failure(
    bench: Bench, memory: GuardMemory, log_lines: list[str]
):
    path = bench.write("hooks: []\n")
    (bench.home / "hooks").mkdir(parents=True)
    (bench.home / "hooks" / "memory").touch()
    memory.remember(path, (GUARD,))
    (line,) = log_lines
    assert str(path) in line
    assert "could not be remembered" in line


async def test_an_engine_works_although_its_home_cannot_be_written(bench: Bench, log_lines: list[str]):
    bench.home.touch()
    engine = bench.open(write_file(shell_hook("g", "exit 2", on_error="block")))
    assert (await engine.fire(bench.event())).verdict == "block"
    assert [line for line in log_lines if "could not be remembered" in line]


# A file of the user's that breaks


def open_over(bench: Bench, text: str, *, layer: str = "user", name: str = "hooks.yaml") -> None:
    """Open and close an engine over a good version of a file."""
    bench.write(text, layer=layer, name=name)
    bench.open().close()


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


BREAKS: dict[str, Callable[[Path], object]] = {
    "a tab": lambda path: path.write_text(BROKEN),
    "a quote": lambda path: path.write_text("hooks:\n  - id: 'g\n"),
    "a merge conflict": lambda path: path.write_text(f"<<<<<<< HEAD\n{GUARDING}\n=======\nhooks: []\n>>>>>>> x\n"),
    "an unknown alias": lambda path: path.write_text("hooks: [*g]\n"),
    "a second document": lambda path: path.write_text("hooks: []\n---\nhooks: []\n"),
    "cut off": lambda path: path.write_text(GUARDING[:-2]),
    "nested too deeply": lambda path: path.write_text("[" * 100 + "]" * 100),
    "no UTF-8": lambda path: path.write_bytes(b"hooks: [] # \xff\n"),
    "UTF-16": lambda path: path.write_bytes("hooks: []\n".encode("utf-16")),
    "too large": lambda path: path.write_text("#" * (MAX_FILE_SIZE + 1)),
    "a folder": replace_by_folder,
    "a dangling link": replace_by_dangling_link,
    "a pipe": replace_by_pipe,
}


@pytest.mark.parametrize("damage", BREAKS.values(), ids=BREAKS.keys())
async def test_a_users_file_that_breaks_keeps_closed_what_it_guarded(bench: Bench, damage: Callable[[Path], object]):
    open_over(bench, GUARDING)
    damage(bench.hooks_folder("user") / "hooks.yaml")
    assert (await bench.open().fire(bench.event())).verdict == "block"


async def test_a_json_file_that_breaks_keeps_closed_what_it_guarded(bench: Bench):
    open_over(bench, GUARDING, name="hooks.json")
    bench.write(GUARDING[:-1] + ",}", layer="user", name="hooks.json")
    assert (await bench.open().fire(bench.event())).verdict == "block"


NO_HOOKS: dict[str, str] = {
    "no mapping": "just a text\n",
    "a list": GUARDING.removeprefix('{"hooks": ').removesuffix("}"),
    "hooks as a mapping": 'hooks:\n  g: {event: before_tool_call, run: {type: shell, shell: "true"}}\n',
    "hooks as a text": "hooks: none\n",
    "hooks misspelt": GUARDING.replace('"hooks"', '"hoks"'),
    "hooks twice": "hooks:\n  - " + GUARDING[GUARDING.index("[") + 1 : -2] + "\nhooks: []\n",
}


@pytest.mark.parametrize("text", NO_HOOKS.values(), ids=NO_HOOKS.keys())
async def test_a_file_whose_hooks_are_lost_by_a_mistake_keeps_closed_what_it_guarded(bench: Bench, text: str):
    open_over(bench, GUARDING)
    bench.write(text, layer="user")
    engine = bench.open()
    assert [problem for problem in engine.problems if problem.severity == "error"]
    assert (await engine.fire(bench.event())).verdict == "block"


@pytest.mark.parametrize("text", NO_HOOKS.values(), ids=NO_HOOKS.keys())
async def test_a_mistake_that_loses_all_hooks_is_not_remembered_as_a_good_version(bench: Bench, text: str):
    open_over(bench, GUARDING)
    open_over(bench, text)
    bench.write(BROKEN, layer="user")
    assert (await bench.open().fire(bench.event())).verdict == "block"


async def fire_broken(bench: Bench) -> Decision:
    open_over(bench, GUARDING)
    bench.write(BROKEN, layer="user")
    return await bench.open().fire(bench.event())


async def test_the_reason_says_which_hook_guarded_the_event(bench: Bench):
    reason = (await fire_broken(bench)).reason
    assert reason is not None
    assert "before_tool_call" in reason
    assert "'g'" in reason


async def test_the_reason_says_where_the_file_is_broken(bench: Bench):
    reason = (await fire_broken(bench)).reason
    assert reason is not None
    assert f"{bench.hooks_folder('user') / 'hooks.yaml'}:2:1" in reason


async def test_the_reason_says_what_to_do(bench: Bench):
    reason = (await fire_broken(bench)).reason
    assert reason is not None
    assert "mend" in reason
    assert "--broken-config open" in reason


async def test_hooks_of_other_files_do_not_run_at_a_closed_event_and_say_so(bench: Bench):
    open_over(bench, GUARDING)
    bench.write(BROKEN, layer="user")
    decision = await bench.open(write_file(shell_hook("h", "touch ran"))).fire(bench.event())
    assert [(run.hook.id, run.status, run.reason) for run in decision.runs] == [("h", "skipped", "the event is closed")]
    assert not (bench.project / "ran").exists()


def test_only_the_events_that_were_guarded_are_closed(bench: Bench):
    open_over(
        bench, write_file(command_hook("g", "true", on_error="block"), command_hook("h", "true", event="after_turn"))
    )
    bench.write(BROKEN, layer="user")
    engine = bench.open()
    assert engine.listens("before_tool_call")
    assert not engine.listens("after_turn")
    assert not engine.listens("user_prompt_submit")


async def test_every_guarded_event_is_closed(bench: Bench):
    guards = [
        command_hook("g", "true", on_error="block"),
        command_hook("p", "true", event="user_prompt_submit", on_error="block"),
    ]
    open_over(bench, write_file(*guards))
    bench.write(BROKEN, layer="user")
    engine = bench.open()
    assert (await engine.fire(bench.event())).verdict == "block"
    assert (await engine.fire(make_prompt_event())).verdict == "block"


async def test_a_file_that_guarded_nothing_closes_nothing(bench: Bench):
    open_over(bench, write_file(command_hook("h", "true", on_error="warn")))
    bench.write(BROKEN, layer="user")
    assert await bench.open().fire(bench.event()) is EMPTY_DECISION


async def test_a_guard_that_was_removed_before_the_file_broke_closes_nothing(bench: Bench):
    open_over(bench, GUARDING)
    open_over(bench, "hooks: []\n")
    bench.write(BROKEN, layer="user")
    assert await bench.open().fire(bench.event()) is EMPTY_DECISION


async def test_a_guard_that_was_left_out_for_a_mistake_is_remembered_too(bench: Bench):
    open_over(bench, write_file({**command_hook("g", "true", on_error="block"), "evnt": "x"}))
    bench.write(BROKEN, layer="user")
    assert (await bench.open().fire(bench.event())).verdict == "block"


async def test_a_file_that_stays_broken_stays_closed(bench: Bench):
    await fire_broken(bench)
    bench.open().close()
    assert (await bench.open().fire(bench.event())).verdict == "block"


async def test_a_mended_file_opens_its_events_again(bench: Bench):
    await fire_broken(bench)
    bench.write(write_file(shell_hook("g", "touch ran", on_error="block")), layer="user")
    decision = await bench.open().fire(bench.event())
    assert decision.verdict == "allow"
    assert (bench.project / "ran").exists()


async def test_a_file_that_was_removed_closes_nothing(bench: Bench):
    await fire_broken(bench)
    (bench.hooks_folder("user") / "hooks.yaml").unlink()
    assert await bench.open().fire(bench.event()) is EMPTY_DECISION


def test_a_broken_file_is_among_the_problems(bench: Bench):
    open_over(bench, GUARDING)
    path = bench.write(BROKEN, layer="user")
    (problem,) = bench.open().problems
    assert (problem.code, problem.place.path, problem.place.line) == ("yaml-syntax", path, 2)


# broken_config="open"


async def test_a_host_may_do_without_a_broken_file(bench: Bench):
    await fire_broken(bench)
    assert await bench.open(broken_config="open").fire(bench.event()) is EMPTY_DECISION


def test_a_host_that_does_without_a_broken_file_is_told_of_it(bench: Bench):
    bench.write(BROKEN, layer="user")
    assert codes_of(bench.open(broken_config="open")) == ["yaml-syntax"]


async def test_doing_without_a_broken_file_is_for_one_run(bench: Bench):
    await fire_broken(bench)
    bench.open(broken_config="open").close()
    assert (await bench.open().fire(bench.event())).verdict == "block"


async def test_doing_without_a_broken_file_does_not_open_the_gate_of_a_bad_entry(bench: Bench):
    bench.write(write_file({**command_hook("g", "true", on_error="block"), "evnt": "x"}), layer="user")
    assert (await bench.open(broken_config="open").fire(bench.event())).verdict == "block"


# A project's file that breaks


async def test_a_trusted_projects_file_that_breaks_keeps_closed_what_it_guarded(bench: Bench):
    open_over(bench, GUARDING, layer="project")
    bench.write(BROKEN)
    decision = await bench.open().fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert f"{bench.hooks_folder() / 'hooks.yaml'}:2:1" in decision.reason


async def test_a_recorded_projects_file_that_breaks_keeps_closed_what_it_guarded(bench: Bench):
    path = bench.write(GUARDING)
    trust_project(bench)
    path.write_text(BROKEN)
    decision = await open_recorded(bench).fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert "hooks.yaml" in decision.reason


def break_and_trust_again(bench: Bench) -> None:
    path = bench.write(GUARDING)
    trust_project(bench)
    open_recorded(bench).close()
    path.write_text(BROKEN)
    trust_project(bench)


async def test_a_broken_file_that_is_trusted_as_it_is_stays_closed(bench: Bench):
    break_and_trust_again(bench)
    decision = await open_recorded(bench).fire(bench.event())
    assert decision.verdict == "block"
    assert decision.reason is not None
    assert "hooks.yaml:2:1" in decision.reason


async def test_a_host_may_do_without_a_broken_file_of_a_trusted_project(bench: Bench):
    break_and_trust_again(bench)
    assert await open_recorded(bench, broken_config="open").fire(bench.event()) is EMPTY_DECISION


@pytest.mark.parametrize("trust", ["recorded", "none", ["sha256:0"]])
async def test_an_untrusted_projects_broken_file_blocks_nothing(bench: Bench, trust: str | list[str]):
    open_over(bench, GUARDING, layer="project")
    bench.write(BROKEN)
    assert await bench.open(trust=trust).fire(bench.event()) is EMPTY_DECISION


def test_what_an_untrusted_project_guards_is_not_remembered(bench: Bench):
    bench.write(GUARDING)
    open_recorded(bench).close()
    assert not (bench.home / "hooks" / "memory").exists()


async def test_one_project_does_not_close_the_events_of_another(bench: Bench):
    open_over(bench, GUARDING, layer="project")
    shutil.move(bench.project, bench.root / "other")
    bench.project.mkdir()
    bench.project = bench.root / "other"
    bench.write(BROKEN)
    assert await bench.open().fire(bench.event()) is EMPTY_DECISION


# Other formats


async def test_a_broken_file_of_the_chrys_format_is_off_as_documented(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(bench.root))
    bench.write(GUARDING, layer="user", dialect="chrys")
    Engine.open(bench.project, home=bench.home, dialects=["chrys"]).close()
    bench.write(BROKEN, layer="user", dialect="chrys")
    with Engine.open(bench.project, home=bench.home, dialects=["chrys"]) as engine:
        assert codes_of(engine) == ["yaml-syntax"]
        assert await engine.fire(bench.event()) is EMPTY_DECISION
