"""The hooks of the demo, which people copy: each does what its description says."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline import AfterToolCall, AfterTurn, Decision, Engine, Event, Tool, ToolResult, UserPromptSubmit
from hookline.config.file import load_file
from hookline.config.lint import lint_file
from hookline.config.locate import HookFile
from hookline.demo.agent import HOOKS_FOLDER, TOOL_KINDS, ScriptedAgent, furnish
from hookline.dialects.native import NATIVE
from hookline.testing import Asked, RecordingUI
from support import Bench, find_run, make_event
from terminal import run_hookline, talk_to_hookline

ROOT = Path(__file__).parents[2]
HOOK_IDS = ["no-rm-rf", "to-trash", "lint", "house-rules", "notify", "ask-to-publish"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The scratch folder of the demo, with its hooks and files."""
    found = tmp_path / "project"
    furnish(found, sorted(path for path in HOOKS_FOLDER.rglob("*") if path.suffix in (".yaml", ".py")))
    return found


@pytest.fixture
def engine(folder: Path, tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(folder, home=tmp_path / "home", trust="all") as engine:
        yield engine


def shell(folder: Path, command: str) -> Event:
    return make_event(args={"command": command}, cwd=str(folder), session_id="s1")


def edited(folder: Path, path: str, *, tool: str = "edit") -> Event:
    call = Tool(name=tool, kind=TOOL_KINDS[tool], args={"path": path})
    return Event(AfterToolCall(tool=call, result=ToolResult(text="ok")), cwd=str(folder))


def ran(decision: Decision) -> list[str]:
    return [run.hook.id for run in decision.runs if run.status != "skipped"]


@pytest.fixture
def bare_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A search path on which there is Python, and nothing else."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(programs))
    return programs


# The file


def test_the_file_loads_without_problems(engine: Engine):
    assert engine.problems == ()
    assert [hook.id for hook in engine.hooks] == HOOK_IDS


@pytest.mark.parametrize("path", [HOOKS_FOLDER / "hooks.yaml", ROOT / "examples/guarded_agent/hooks/hooks.yaml"])
def test_a_check_finds_nothing_wrong(path: Path):
    problems = lint_file(load_file(HookFile(layer="user", dialect=NATIVE, path=path)))
    assert [str(problem) for problem in problems if problem.severity != "notice"] == []


def test_the_example_is_the_demo():
    assert (ROOT / "examples" / "guarded_agent").resolve() == HOOKS_FOLDER.parent.resolve()


def test_every_hook_has_a_description(engine: Engine):
    assert all(hook.description for hook in engine.hooks)


# no-rm-rf


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf .",
        "rm -fr build",
        "sudo rm -rf /",
        "ls; rm   -rf x",
        "rm -vrf x",
        "rm -Rf x",
        "rm -r -f x",
        "rm -rvf x",
        "rm --recursive --force x",
    ],
)
async def test_no_rm_rf_refuses_recursive_forced_deletion(engine: Engine, folder: Path, command: str):
    decision = await engine.fire(shell(folder, command))
    assert decision.verdict == "block"
    assert decision.reason == "rm -rf is not allowed here; remove single files instead"


@pytest.mark.parametrize("command", ["ls", "rm -r x", "rm -f x", "farm -rf x", "echo rm; ls -rf"])
async def test_no_rm_rf_lets_other_commands_pass(engine: Engine, folder: Path, command: str):
    decision = await engine.fire(shell(folder, command))
    assert decision.is_allowed
    assert ran(decision) == []


async def test_no_rm_rf_looks_at_shells_alone(engine: Engine, folder: Path):
    event = make_event(tool="note", kind="todo", args={"command": "rm -rf ."}, cwd=str(folder))
    assert (await engine.fire(event)).runs == ()


def test_no_rm_rf_is_a_guard(engine: Engine):
    (hook,) = (hook for hook in engine.hooks if hook.id == "no-rm-rf")
    assert hook.is_guard


# to-trash


@pytest.mark.parametrize("names", ["old-notes.txt", "old-notes.txt greet.py", "'greet.py'"])
async def test_to_trash_turns_a_removal_into_a_move_that_works(engine: Engine, folder: Path, names: str):
    before = {path.name for path in folder.glob("*.*") if path.is_file()}
    decision = await engine.fire(shell(folder, f"rm {names}"))
    assert decision.is_allowed
    command = decision.edits["args"]["command"]
    assert command == f"mkdir -p .trash && mv {names} .trash/"
    subprocess.run(["/bin/sh", "-c", command], cwd=folder, check=True)
    after = {path.name for path in folder.glob("*.*") if path.is_file()}
    assert {path.name for path in (folder / ".trash").iterdir()} == before - after != set()


@pytest.mark.parametrize("command", ["rm -i x", "ls rm", "cd x && rm y", "rmdir x"])
async def test_to_trash_leaves_everything_but_a_plain_rm_alone(engine: Engine, folder: Path, command: str):
    decision = await engine.fire(shell(folder, command))
    assert (decision.edits, ran(decision)) == ({}, [])


async def test_to_trash_is_not_asked_about_what_is_refused(engine: Engine, folder: Path):
    decision = await engine.fire(shell(folder, "rm x; rm -rf ."))
    assert ran(decision) == ["no-rm-rf"]
    assert find_run(decision, "to-trash").status == "skipped"


# lint


@pytest.mark.skipif(shutil.which("ruff", path=Path(sys.executable).parent) is None, reason="needs ruff")
async def test_lint_tells_what_ruff_says(engine: Engine, folder: Path, bare_path: Path):
    ruff = shutil.which("ruff", path=Path(sys.executable).parent)
    assert ruff is not None
    (bare_path / "ruff").symlink_to(ruff)
    (folder / "greet.py").write_text("import os\n", encoding="utf-8")
    (context,) = (await engine.fire(edited(folder, "greet.py"))).context
    assert context.startswith("ruff says: ")
    assert "F401" in context


async def test_lint_without_ruff_says_what_python_thinks_of_it(engine: Engine, folder: Path, bare_path: Path):
    (folder / "greet.py").write_text("def broken(:\n", encoding="utf-8")
    (context,) = (await engine.fire(edited(folder, "greet.py"))).context
    assert context.startswith("py_compile (ruff is not installed) says: ")
    assert "SyntaxError" in context


async def test_lint_says_so_when_there_is_nothing_to_say(engine: Engine, folder: Path, bare_path: Path):
    (context,) = (await engine.fire(edited(folder, "greet.py"))).context
    assert context.endswith("says: nothing to complain about")


@pytest.mark.parametrize(("path", "tool"), [("notes.txt", "edit"), ("greet.py", "read"), ("greet.pyc", "edit")])
async def test_lint_looks_only_at_edited_python_files(engine: Engine, folder: Path, path: str, tool: str):
    assert (await engine.fire(edited(folder, path, tool=tool))).runs == ()


# house-rules


async def test_house_rules_are_reminded_of_with_every_prompt(engine: Engine, folder: Path):
    for text in ("first", "second"):
        decision = await engine.fire(Event(UserPromptSubmit(text=text), cwd=str(folder)))
        assert decision.is_allowed
        assert decision.reminders == ("Keep functions short, and remove nothing that you did not create.",)


# notify


async def test_notify_writes_a_line_at_the_end_of_each_turn(engine: Engine, folder: Path):
    for number in (1, 2):
        await engine.fire(Event(AfterTurn(turn=number), cwd=str(folder), session_id="s 1"))
        await engine.drain_turn("s 1")
    text = (folder / "notifications.log").read_text(encoding="utf-8")
    assert text == "a turn of session s 1 has ended\n" * 2


async def test_notify_does_not_make_the_agent_wait(engine: Engine, folder: Path):
    os.mkfifo(folder / "notifications.log")  # the hook hangs until somebody reads
    decision = await engine.fire(Event(AfterTurn(turn=1), cwd=str(folder), session_id="s1"))
    assert find_run(decision, "notify").status == "queued"
    assert await asyncio.to_thread((folder / "notifications.log").read_text) == "a turn of session s1 has ended\n"


# ask-to-publish


PUBLISH = make_event(tool="publish", kind="", args={"path": "greet.py"})


@pytest.mark.parametrize(
    ("answer", "verdict", "reason"), [(True, "allow", None), (False, "block", "the user does not want it published")]
)
async def test_ask_to_publish_lets_the_user_decide(engine: Engine, answer: bool, verdict: str, reason: str | None):
    statuses: list[dict[str, str]] = []

    def look(_: Asked) -> bool:
        statuses.append(dict(ui.statuses))
        return answer

    ui = RecordingUI(confirm=[look])
    engine.connect(ui=ui)
    decision = await engine.fire(PUBLISH)
    assert (decision.verdict, decision.reason) == (verdict, reason)
    assert (statuses, ui.statuses) == ([{"publish": "the agent waits to publish greet.py"}], {})


async def test_ask_to_publish_without_a_user_blocks(engine: Engine):
    decision = await engine.fire(PUBLISH)
    assert (decision.verdict, decision.reason) == ("block", "nobody is there to agree that it is published")


@pytest.mark.parametrize(("answer", "told"), [("y", "published as published/greet.py"), ("n", "denied: the user")])
def test_the_demo_in_a_terminal_asks_the_person(bench: Bench, answer: str, told: str):
    talk = talk_to_hookline(bench, "demo", answer=answer)
    assert talk.status == 0
    assert "The agent wants to publish greet.py." in talk.shown
    assert told in talk.shown


def test_the_demo_without_a_terminal_says_that_nobody_is_asked(bench: Bench):
    ended = run_hookline(bench, "demo")
    assert ended.returncode == 0
    assert "Nobody can be asked here, so the answer is no" in ended.stdout
    assert "denied: nobody is there to agree that it is published" in ended.stdout


# All of them together


async def test_the_scripted_agent_is_stopped_redirected_and_annotated(engine: Engine, folder: Path):
    told: list[str] = []
    decisions: list[tuple[str, Decision]] = []
    agent = ScriptedAgent(
        engine=engine,
        folder=folder,
        report=lambda event, decision: decisions.append((event.name, decision)),
        narrate=told.append,
    )
    await agent.run()
    calls = [decision for name, decision in decisions if name == "before_tool_call"]
    assert [decision.verdict for decision in calls] == ["block", "allow", "allow", "allow", "allow", "block"]
    assert (folder / ".trash" / "old-notes.txt").exists()
    assert (folder / "greet.py").exists()
    assert any("says: " in line for line in told)
    assert (folder / "notifications.log").read_text(encoding="utf-8") == "a turn of session demo has ended\n"
