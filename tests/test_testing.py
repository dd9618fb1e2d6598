"""What Hookline offers to people who test their own hooks and hosts."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from hookline import EVENT_TYPES, Agent, Answer, Decision, Edit, Event, Failure, PayloadError, Session, Tool
from hookline.errors import UnknownEventError
from hookline.events import EVENT_NAMES
from hookline.fields import ToolResult
from hookline.hook import Match, Settings
from hookline.runners.base import Payload
from hookline.testing import FakeRunner, HooklineProject, RecordingEngine, make_engine, make_event, make_hook
from support import find_run

MODES = ["blocking", "async", "fire_and_forget"]


def edit(**args: Any) -> Answer:
    return Answer(edits=(Edit(field="args", operation="merge", value=args),))


def block(reason: str | None = None) -> Answer:
    return Answer(verdict="block", reason=reason)


# make_event


@pytest.mark.parametrize("name", EVENT_NAMES)
def test_an_event_of_every_name_is_made_of_nothing(name: str):
    event = make_event(name)
    assert event.name == name
    assert event.session_id


@pytest.mark.parametrize("row", EVENT_TYPES, ids=lambda row: row.name)
def test_a_made_event_carries_a_tool_when_its_kind_does(row: Any):
    event = make_event(row.name)
    assert (event.tool is not None) == row.has_tool


def test_a_made_event_is_about_a_tool_call_unless_told_otherwise():
    assert make_event().name == "before_tool_call"


def test_a_made_event_takes_what_its_payload_says():
    event = make_event("before_tool_call", tool={"name": "bash", "args": {"command": "ls"}}, session_id="s1", cwd="/w")
    assert (event.tool, event.session_id, event.cwd) == (Tool(name="bash", args={"command": "ls"}), "s1", "/w")


def test_a_made_event_takes_an_agent():
    event = make_event(agent={"id": "i1", "name": "Helper", "parent_id": "main", "depth": 1})
    assert event.agent == Agent(id="i1", name="Helper", parent_id="main", depth=1)


def test_a_made_error_is_one():
    result: Any = make_event("tool_error").fields
    assert (result.result.error, result.result.failed) == (True, True)


def test_a_made_event_of_no_known_name_is_refused():
    with pytest.raises(UnknownEventError):
        make_event("before_lunch")


def test_a_made_event_with_a_field_that_does_not_fit_is_refused():
    with pytest.raises(PayloadError):
        make_event("before_turn", turn="one")


# make_hook


def test_a_made_hook_guards_nothing_and_waits():
    hook = make_hook()
    assert (hook.id, hook.event, hook.is_blocking, hook.is_guard) == ("hook", "before_tool_call", True, False)


def test_a_made_hook_with_on_error_block_is_a_guard():
    assert make_hook(on_error="block").is_guard


def test_a_made_hook_takes_what_its_execution_has():
    hook = make_hook("h", mode="async", timeout_s=3, kill_grace_s=1)
    assert (hook.execution.mode, hook.execution.timeout_s, hook.execution.kill_grace_s) == ("async", 3, 1)


def test_a_made_hook_of_no_known_event_is_refused():
    with pytest.raises(UnknownEventError):
        make_hook(event="before_lunch")


def test_a_made_hook_comes_from_code_and_not_from_a_file():
    assert make_hook().source.layer == "code"


# FakeRunner


async def test_a_fake_runner_answers_as_told():
    run = await FakeRunner({"h": block("no")}).run(make_hook("h"), Payload(make_event()))
    assert (run.status, run.outcome) == ("ok", block("no"))


async def test_a_fake_runner_has_no_objection_where_it_was_told_nothing():
    run = await FakeRunner().run(make_hook("h"), Payload(make_event()))
    assert (run.status, run.outcome) == ("ok", Answer())


async def test_a_fake_runner_may_answer_by_the_event():
    runner = FakeRunner({"h": lambda event: block(event.session_id)})
    run = await runner.run(make_hook("h"), Payload(make_event(session_id="s9")))
    assert run.outcome == block("s9")


@pytest.mark.parametrize(("kind", "status"), [("exit", "failed"), ("crash", "failed"), ("timeout", "timeout")])
async def test_a_fake_failure_has_the_status_of_its_kind(kind: Any, status: str):
    failure = Failure(kind=kind, message="m")
    run = await FakeRunner({"h": failure}).run(make_hook("h"), Payload(make_event()))
    assert (run.status, run.outcome) == (status, failure)


async def test_a_fake_runner_lists_what_it_ran_with_the_events():
    runner, event = FakeRunner(), make_event()
    for name in ("a", "b"):
        await runner.run(make_hook(name), Payload(event))
    assert runner.calls == [("a", event), ("b", event)]


async def test_a_fake_run_has_the_id_it_is_given():
    run = await FakeRunner().run(make_hook(), Payload(make_event()), run_id="r1")
    assert run.id == "r1"


# make_engine


async def test_a_made_engine_runs_hooks_in_the_order_given():
    runner = FakeRunner()
    with make_engine([make_hook(name) for name in "bca"], runner) as engine:
        decision = await engine.fire(make_event())
    assert [name for name, _ in runner.calls] == ["b", "c", "a"]
    assert [run.hook.id for run in decision.runs] == ["b", "c", "a"]


async def test_a_made_engine_shows_each_hook_the_edits_before_it():
    runner = FakeRunner({"a": edit(command="ls -A"), "b": edit(safe=True)})
    with make_engine([make_hook(name) for name in "abc"], runner) as engine:
        decision = await engine.fire(make_event(tool={"name": "bash", "args": {"command": "ls"}}))
    assert [event.tool.args for _, event in runner.calls if event.tool] == [
        {"command": "ls"},
        {"command": "ls -A"},
        {"command": "ls -A", "safe": True},
    ]
    assert decision.edits == {"args": {"command": "ls -A", "safe": True}}


async def test_a_made_engine_matches_hooks_as_any_other():
    hooks = [make_hook("shells", match=Match(tool_kind="shell")), make_hook("reads", match=Match(tool_name="read"))]
    with make_engine(hooks) as engine:
        decision = await engine.fire(make_event())
    assert [run.hook.id for run in decision.runs] == ["shells"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_block_in_a_made_engine_skips_the_rest(mode: Any):
    runner = FakeRunner({"a": block("no")})
    with make_engine([make_hook("a"), make_hook("b", mode=mode)], runner) as engine:
        decision = await engine.fire(make_event())
    assert (decision.verdict, decision.reason) == ("block", "no")
    assert find_run(decision, "b").status == "skipped"
    assert [name for name, _ in runner.calls] == ["a"]


async def test_a_made_engine_asks_where_a_hook_asks():
    runner = FakeRunner({"a": Answer(verdict="ask", reason="sure?")})
    with make_engine([make_hook("a"), make_hook("b")], runner) as engine:
        decision = await engine.fire(make_event())
    assert (decision.verdict, decision.reason) == ("ask", "sure?")


@pytest.mark.parametrize(("on_error", "verdict"), [("block", "block"), ("warn", "allow"), ("ignore", "allow")])
async def test_a_failure_in_a_made_engine_counts_by_its_policy(on_error: Any, verdict: str):
    runner = FakeRunner({"a": Failure(kind="exit", message="exit code 1")})
    with make_engine([make_hook("a", on_error=on_error)], runner) as engine:
        decision = await engine.fire(make_event())
    assert decision.verdict == verdict
    assert decision.runs[0].status == "failed"


async def test_hooks_nobody_waits_for_are_queued_and_run_in_a_made_engine():
    runner = FakeRunner()
    with make_engine([make_hook("a", mode="async"), make_hook("b", mode="fire_and_forget")], runner) as engine:
        decision = await engine.fire(make_event())
        assert [run.status for run in decision.runs] == ["queued", "queued"]
        settled = await engine.settle(decision)
    assert [run.status for run in settled.runs] == ["ok", "ok"]
    assert sorted(name for name, _ in runner.calls) == ["a", "b"]


async def test_a_made_engine_drains_async_hooks():
    runner = FakeRunner()
    with make_engine([make_hook("a", mode="async")], runner) as engine:
        await engine.fire(make_event(session_id="s1"))
        await engine.drain_turn("s1")
        assert [name for name, _ in runner.calls] == ["a"]


async def test_reminders_and_context_come_through_a_made_engine():
    runner = FakeRunner({"a": Answer(reminders=("short",), context=("page 2",))})
    with make_engine([make_hook("a", event="user_prompt_submit")], runner) as engine:
        decision = await engine.fire(make_event("user_prompt_submit"))
    assert (decision.reminders, decision.context) == (("short",), ("page 2",))


def test_a_made_engine_works_without_an_event_loop():
    with make_engine([make_hook("a")], FakeRunner({"a": block("no")})) as engine:
        assert engine.fire_sync(make_event()).reason == "no"


def test_a_made_engine_listens_only_where_it_has_hooks():
    with make_engine([make_hook(event="after_turn")]) as engine:
        assert engine.listens("after_turn")
        assert not engine.listens("before_turn")


def test_a_made_engine_takes_settings():
    with make_engine([], settings=Settings(max_parallel_hooks=1)) as engine:
        assert engine.settings.max_parallel_hooks == 1


async def test_a_runner_that_raises_is_a_failed_run_where_nobody_waits():
    def fail(_: Event) -> Answer:
        raise ValueError("a mistake in the test")

    with make_engine([make_hook("a", mode="async")], FakeRunner({"a": fail})) as engine:
        decision = await engine.settle(await engine.fire(make_event()))
    (run,) = decision.runs
    assert isinstance(run.outcome, Failure)
    assert (run.status, run.outcome.kind) == ("failed", "crash")


# RecordingEngine


async def test_a_recording_engine_lists_the_events_of_a_host():
    engine = RecordingEngine()
    async with Session(engine, id="s1") as session, session.turn("go") as turn:
        await turn.call_tool(Tool(name="bash"), lambda _: "ok")
    assert engine.names == [
        "session_start",
        "user_prompt_submit",
        "before_turn",
        "before_tool_call",
        "after_tool_call",
        "after_turn",
        "session_end",
    ]
    assert [event.session_id for event in engine.events] == ["s1"] * 7


async def test_a_recording_engine_lists_what_was_waited_for():
    engine = RecordingEngine()
    async with Session(engine, id="s1") as session, session.turn("go") as turn, turn.sub_agent("A", invocation_id="i"):
        pass
    assert engine.drains == [("turn", "s1", "i"), ("turn", "s1", None), ("session", "s1", None)]


async def test_a_recording_engine_decides_as_told():
    engine = RecordingEngine({"before_tool_call": Decision(verdict="block", reason="no")})
    async with Session(engine).turn("go") as turn:
        result = await turn.call_tool(Tool(name="bash"), lambda _: pytest.fail("the call ran"))
    assert (result.text, result.hook_denied) == ("no", True)


async def test_a_recording_engine_may_decide_by_the_event():
    def decide(event: Event) -> Decision:
        return Decision(reminders=(event.session_id,))

    engine = RecordingEngine({"user_prompt_submit": decide})
    async with Session(engine, id="s7").turn("go") as turn:
        assert turn.reminders == ("s7",)


def test_a_recording_engine_serves_a_host_without_an_event_loop():
    engine = RecordingEngine({"after_tool_call": Decision(context=("more",))})
    with Session(engine, id="s1").turn("go") as turn:
        result = turn.call_tool_sync(Tool(name="bash"), lambda _: ToolResult(text="ok"))
    assert result.text == "ok\nmore"
    assert engine.drains == [("turn", "s1", None)]


def test_a_decision_of_a_recording_engine_carries_the_event():
    engine, event = RecordingEngine(), make_event()
    assert engine.fire_sync(event).event is event


def test_a_recording_engine_refuses_a_name_that_is_no_event():
    with pytest.raises(UnknownEventError):
        RecordingEngine().listens("before_lunch")


# HooklineProject and the fixture


@pytest.fixture
def project(tmp_path: Path) -> HooklineProject:
    return HooklineProject(tmp_path / "hookline")


async def test_a_project_runs_the_hooks_written_into_it(project: HooklineProject):
    project.write_hooks(
        """
        hooks:
          - id: guard
            event: before_tool_call
            run: {type: script, path: guard.sh}
            execution: {mode: blocking, on_error: block}
        """
    )
    project.write(".hookline/hooks/guard.sh", "echo 'not here' >&2; exit 2\n")
    decision = await project.open().fire(make_event(cwd=str(project.folder)))
    assert decision.reason == "not here"
    project.close()


def test_a_project_may_be_opened_with_other_options(project: HooklineProject):
    project.write_hooks("hooks: [{id: a, event: after_turn, run: {type: shell, shell: 'true'}}]")
    engine = project.open(trust="none")
    assert engine.hooks == ()
    project.close()


async def test_closing_a_project_closes_its_engines(project: HooklineProject):
    project.write_hooks("hooks: [{id: a, event: after_turn, run: {type: shell, shell: touch ran}}]")
    engine = project.open()
    project.close()
    decision = await engine.fire(make_event("after_turn", cwd=str(project.folder)))
    assert [run.status for run in decision.runs] == ["skipped"]


def run_pytest(folder: Path, test: str) -> subprocess.CompletedProcess[str]:
    """Run tests of somebody else's project, which uses the fixture."""
    (folder / "conftest.py").write_text("from hookline.testing import hookline_project\n", encoding="utf-8")
    (folder / "test_hooks.py").write_text(textwrap.dedent(test), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-W", "error"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "HOOKLINE"))}
    return subprocess.run(
        [*command, f"--rootdir={folder}", "-c", os.devnull, "test_hooks.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_the_fixture_gives_a_test_a_project_with_real_hooks(tmp_path: Path):
    done = run_pytest(
        tmp_path,
        """
        from hookline.testing import make_event

        HOOKS = '''
            hooks:
              - id: no-rm
                event: before_tool_call
                match: {args: {command: {regex: '^rm'}}}
                run: {type: shell, shell: 'echo no >&2; exit 2'}
                execution: {mode: blocking, on_error: block}
        '''

        def fire(project, command):
            event = make_event(tool={"name": "bash", "args": {"command": command}}, cwd=str(project.folder))
            return project.open().fire_sync(event)

        def test_no_rm_blocks(hookline_project):
            hookline_project.write_hooks(HOOKS)
            assert fire(hookline_project, "rm x").reason == "no"

        def test_no_rm_lets_pass(hookline_project):
            hookline_project.write_hooks(HOOKS)
            assert fire(hookline_project, "ls").is_allowed
        """,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_each_test_gets_a_project_of_its_own_that_ends_with_it(tmp_path: Path):
    """Also its hooks that still run end."""
    done = run_pytest(
        tmp_path,
        """
        import pathlib
        import time

        from hookline.testing import make_event

        HERE = pathlib.Path.cwd()

        def test_one(hookline_project):
            hookline_project.write_hooks(f'''
                hooks:
                  - id: slow
                    event: after_turn
                    run: {{type: shell, shell: "echo $$ > {HERE}/pid; sleep 60"}}
            ''')
            hookline_project.open().fire_sync(make_event("after_turn", cwd=str(hookline_project.folder)))
            while not (HERE / "pid").exists() or not (HERE / "pid").read_text().endswith("\\n"):
                time.sleep(0.02)
            (HERE / "folder").write_text(str(hookline_project.folder))

        def test_two(hookline_project):
            assert str(hookline_project.folder) != (HERE / "folder").read_text()
            assert list(hookline_project.folder.iterdir()) == []
        """,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_the_module_is_of_use_without_pytest(tmp_path: Path):
    """Only the fixture needs it."""
    (tmp_path / "pytest.py").write_text("raise ImportError('no pytest here')\n", encoding="utf-8")
    code = "import hookline.testing as t; print(t.make_event().name, hasattr(t, 'hookline_project'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout == "before_tool_call False\n", done.stderr
