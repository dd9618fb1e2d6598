"""The example host as a real process, and its parts under what a terminal and a task group do to them."""

from __future__ import annotations

import asyncio
import datetime
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entries import command_hook, give_reply, shell_hook, write_file
from hookline import Engine, Session, Tool, ToolResult
from hookline.events import list_event_names
from hookline.lifecycle import Asked
from recording import names, read_events, record_all, trust_project
from support import Bench
from waiting import wait_until

HOST = Path(__file__).parents[2] / "examples" / "host.py"
LIFE = [
    "session_start",
    "user_prompt_submit",
    "before_turn",
    "before_tool_call",
    "after_tool_call",
    "after_turn",
    "session_end",
]

# The same with what the example does besides: the agent starts, and calls the model twice.
STEP = ["model_step_start", "before_model_call"]
STEPPED = [
    *LIFE[:3],
    "before_agent_start",
    *STEP,
    *LIFE[3:5],
    "model_step_end",
    *STEP,
    "model_step_end",
    *LIFE[5:],
]


class Host:
    """A scratch project with recording hooks that are trusted, and the example host to be run in it."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.home = root / "user"

    def write_hooks(self, *entries: Mapping[str, Any]) -> None:
        """Write the project's hooks file and trust it; the recording hooks come first."""
        path = self.project / ".hookline" / "hooks" / "hooks.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(write_file(*record_all(), *entries), encoding="utf-8")
        trust_project(self.project, self.home / ".hookline")

    def start(self, prompt: str, **options: Any) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKLINE")}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(
            [sys.executable, HOST, prompt],
            cwd=self.project,
            env={**kept, "HOME": str(self.home)},
            text=True,
            **streams,
            **options,
        )

    def run(self, prompt: str, *, answer: str | None = None) -> str:
        """Run it to its end and return what it printed; fails when it failed."""
        with self.start(prompt) as process:
            stdout, stderr = process.communicate(answer, timeout=30)
        assert process.returncode == 0, stderr
        assert stderr == ""
        return stdout

    @property
    def events(self) -> list[dict[str, Any]]:
        return read_events(self.project)

    def event(self, name: str) -> dict[str, Any]:
        """The one event of this name."""
        (found,) = (event for event in self.events if event["event"] == name)
        return found


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_prompt_is_answered_and_every_event_fired_in_order(host: Host):
    host.write_hooks()
    assert host.run("echo hi") == "echo hi\ntool: hi\n\ndone\n"
    assert names(host.events) == STEPPED


def test_every_event_carries_the_base_fields(host: Host):
    host.write_hooks()
    host.run("echo hi")
    for event in host.events:
        assert event["schema"] == 1
        assert event["profile"] == "Example"
        assert event["agent"] == {"id": "main", "name": "", "parent_id": None, "depth": 0}
        assert datetime.datetime.fromisoformat(event["timestamp"]).tzinfo == datetime.UTC
    assert len({event["session_id"] for event in host.events}) == 1
    assert len({event["event_id"] for event in host.events}) == len(STEPPED)


def test_every_event_carries_the_working_directory_of_the_session(host: Host):
    host.write_hooks()
    host.run("echo hi")
    assert {event["cwd"] for event in host.events} == {str(host.project)}


def test_events_of_the_turn_carry_its_id_and_those_of_the_session_none(host: Host):
    host.write_hooks()
    host.run("echo hi")
    found = {event["event"]: event.get("turn_id") for event in host.events}
    assert (found.pop("session_start"), found.pop("session_end")) == (None, None)
    assert len(set(found.values())) == 1
    assert None not in found.values()


def test_every_event_carries_its_own_fields(host: Host):
    host.write_hooks()
    host.run("echo hi")
    tool = {"name": "bash", "kind": "shell", "call_id": "1", "args": {"command": "echo hi"}}
    prompt = host.event("user_prompt_submit")
    assert (prompt["text"], prompt["injected"]) == ("echo hi", False)
    before = host.event("before_turn")
    assert (before["turn"], before["user_text"], before["is_retry"]) == (1, "echo hi", False)
    assert host.event("before_tool_call")["tool"] == tool
    after = host.event("after_tool_call")
    assert after["tool"] == tool
    assert after["result"] == {
        "text": "hi\n",
        "duration_ms": after["result"]["duration_ms"],
        "error": False,
        "failed": False,
        "approval_rejected": False,
    }
    assert after["result"]["duration_ms"] > 0
    end = host.event("after_turn")
    assert (end["turn"], end["status"], end["failed"]) == (1, "ok", False)
    assert (end["response"], end["tool_calls"], end["iterations"]) == ("done", 1, 2)
    first, second = (event for event in host.events if event["event"] == "model_step_end")
    assert (first["turn_index"], second["turn_index"], second["message"]) == (0, 1, "done")
    assert (first["message"], first["tool_results"]) == (tool, [after["result"]])


def test_a_tool_that_raises_is_an_error_of_the_call_and_not_of_the_turn(host: Host):
    host.write_hooks()
    output = host.run(r"printf '\377'")
    assert names(host.events) == [*STEPPED[:8], "tool_error", *STEPPED[8:]]
    for name in ("after_tool_call", "tool_error"):
        result = host.event(name)["result"]
        assert (result["error"], result["failed"], result["approval_rejected"]) == (True, True, False)
        assert result["text"] in output
    assert host.event("after_turn")["status"] == "ok"


def test_a_command_that_fails_is_no_error(host: Host):
    host.write_hooks()
    assert "no-such-file" in host.run("ls no-such-file")
    assert names(host.events) == STEPPED


def test_a_denied_call_does_not_run_and_the_model_is_told_why(host: Host):
    host.write_hooks(shell_hook("guard", "echo 'not here' >&2; exit 2", on_error="block"))
    assert host.run("touch ran") == "touch ran\ntool: not here\ndone\n"
    assert not (host.project / "ran").exists()


def test_a_denied_call_is_reported_as_denied(host: Host):
    host.write_hooks(shell_hook("guard", "echo 'not here' >&2; exit 2", on_error="block"))
    host.run("touch ran")
    assert names(host.events) == STEPPED
    assert host.event("after_tool_call")["result"] == {
        "text": "not here",
        "duration_ms": 0,
        "error": False,
        "failed": True,
        "approval_rejected": True,
        "rejection_source": "hook",
        "hook_denied": True,
    }


def test_a_blocked_prompt_is_not_sent_and_starts_no_turn(host: Host):
    host.write_hooks(shell_hook("guard", give_reply(action="block", reason="a key"), event="user_prompt_submit"))
    assert host.run("echo hi") == "not sent: a key\n"
    assert names(host.events) == ["session_start", "user_prompt_submit", "session_end"]


def test_a_message_for_the_user_is_shown_in_place_of_the_reason(host: Host):
    reply = give_reply(action="block", reason="a key", user_message="Remove the key.")
    host.write_hooks(shell_hook("guard", reply, event="user_prompt_submit"))
    assert host.run("echo hi") == "not sent: Remove the key.\n"


def test_a_call_runs_as_hooks_rewrote_it(host: Host):
    host.write_hooks(shell_hook("edit", give_reply(action="modify", args_override={"command": "echo edited"})))
    assert host.run("echo hi") == "echo hi\ntool: edited\n\ndone\n"
    assert host.event("after_tool_call")["tool"]["args"] == {"command": "echo edited"}


def test_the_model_is_told_what_hooks_add_to_a_result(host: Host):
    host.write_hooks(shell_hook("add", give_reply(extra_context="lint: fine"), event="after_tool_call"))
    assert host.run("echo hi") == "echo hi\ntool: hi\n\nlint: fine\ndone\n"


@pytest.mark.parametrize(("answer", "told"), [("y\n", "tool: hi"), ("n\n", "tool: sure?"), ("\n", "tool: sure?")])
def test_a_question_is_put_to_the_person_at_the_terminal(host: Host, answer: str, told: str):
    host.write_hooks(shell_hook("ask", give_reply(action="ask", reason="sure?"), on_error="block"))
    output = host.run("echo hi", answer=answer)
    assert "sure? - go on? [y/N] " in output
    assert told in output


def test_a_no_of_the_person_is_reported_as_the_users(host: Host):
    host.write_hooks(shell_hook("ask", give_reply(action="ask", reason="sure?"), on_error="block"))
    host.run("echo hi", answer="n\n")
    result = host.event("after_tool_call")["result"]
    assert (result["rejection_source"], result["hook_denied"]) == ("user", False)


def test_a_question_nobody_is_there_to_answer_is_a_no(host: Host):
    """A host that cannot ask treats a question as a block."""
    host.write_hooks(shell_hook("ask", give_reply(action="ask", reason="sure?"), on_error="block"))
    host.run("touch ran", answer="")
    assert not (host.project / "ran").exists()
    assert host.event("after_turn")["status"] == "ok"


def test_without_trust_no_hook_of_the_project_runs(host: Host):
    host.write_hooks()
    for record in (host.home / ".hookline" / "trust").iterdir():
        record.unlink()
    with host.start("echo hi") as process:
        stdout, _ = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (0, "echo hi\ntool: hi\n\ndone\n")
    assert host.events == []


async def test_ctrl_c_ends_turn_and_session_as_interrupted(host: Host):
    host.write_hooks(command_hook("slow", "sleep", "60", event="after_tool_call"))
    with host.start("echo hi", start_new_session=True) as process:
        await wait_until(lambda: "after_tool_call" in names(host.events), "the call was reported")
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = await asyncio.to_thread(process.communicate, timeout=30)
    assert "KeyboardInterrupt" in stderr
    assert names(host.events)[-2:] == ["after_turn", "session_end"]
    assert host.event("after_turn")["status"] == "interrupted"


# The parts of the host, under what its own main does not do


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example host as a module."""
    spec = importlib.util.spec_from_file_location("host", HOST)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "host", module)
    spec.loader.exec_module(module)
    yield module


def make_session(engine: Engine, bench: Bench, **options: Any) -> Session:
    return Session(engine, id="s1", profile="Example", cwd=bench.project, **options)


async def ask_no(_: Asked) -> bool:
    return False


def last(bench: Bench, name: str) -> dict[str, Any]:
    return [event for event in read_events(bench.project) if event["event"] == name][-1]


async def test_a_turn_that_is_cancelled_is_told_to_hooks(bench: Bench, parts: ModuleType):
    engine = bench.open(write_file(*record_all()))
    running = asyncio.Event()

    async def hang(tool: Tool) -> str:
        running.set()
        await asyncio.Event().wait()
        return str(parts.shell(tool))

    async def live() -> None:
        async with make_session(engine, bench) as session, session.turn("ls") as turn:
            call = await parts.model([turn.prompt])
            await turn.call_tool(call, hang)

    task = asyncio.create_task(live())
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert names(read_events(bench.project)) == LIFE
    result = last(bench, "after_tool_call")["result"]
    assert (result["text"], result["failed"], result["error"]) == ("interrupted", True, False)
    assert (last(bench, "after_turn")["status"], last(bench, "after_turn")["failed"]) == ("interrupted", True)


async def test_a_turn_that_fails_is_told_to_hooks(bench: Bench, parts: ModuleType):
    engine = bench.open(write_file(*record_all()))
    with pytest.raises(ConnectionError, match="model is down"):
        async with make_session(engine, bench) as session, session.turn("ls") as turn:
            await turn.call_tool(await parts.model([turn.prompt]), parts.shell)
            raise ConnectionError("model is down")
    assert names(read_events(bench.project)) == LIFE
    assert (last(bench, "after_turn")["status"], last(bench, "after_turn")["failed"]) == ("failed", True)


async def test_a_user_who_interrupts_is_told_to_hooks(bench: Bench, parts: ModuleType):
    engine = bench.open(write_file(*record_all()))
    async with make_session(engine, bench) as session:
        async with session.turn("ls") as turn:
            await turn.call_tool(await parts.model([turn.prompt]), parts.shell)
            await session.interrupt()
        await wait_until(lambda: "user_interrupt" in names(read_events(bench.project)), "the interrupt was told")
    assert last(bench, "after_turn")["status"] == "interrupted"


async def test_a_group_of_tasks_that_fails_interrupts_the_turn_in_it(bench: Bench, parts: ModuleType):
    engine = bench.open(write_file(*record_all()))
    started = asyncio.Event()

    async def live() -> None:
        async with make_session(engine, bench) as session, session.turn("ls") as turn:
            await turn.call_tool(await parts.model([turn.prompt]), parts.shell)
            started.set()
            await asyncio.Event().wait()

    async def fail() -> None:
        await started.wait()
        raise ConnectionError("down")

    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(live())
            group.create_task(fail())
    assert names(read_events(bench.project)) == LIFE
    assert last(bench, "after_turn")["status"] == "interrupted"


async def test_a_host_can_fire_every_native_event(bench: Bench, parts: ModuleType):
    engine = bench.open(write_file(*record_all()))
    async with make_session(engine, bench, ask=ask_no):
        pass
    async with make_session(engine, bench, restored_from="s0") as session:
        async with session.workflow("nightly", run_id="r1"):
            pass
        async with session.turn("ls") as turn:
            await turn.compact("phase1", usage_pct=0.8, tokens_before=1000)
            await turn.call_tool(await parts.model([turn.prompt]), parts.shell, approve=lambda _: True)
            broken = Tool(name="bash", kind="shell", call_id="2", args={})
            await turn.call_tool(broken, parts.shell)
            async with turn.sub_agent("Helper", tool_name="ask_helper", invocation_id="i1") as helper:
                helper.finish("found it")
            await session.interrupt()
        await wait_until(lambda: "user_interrupt" in names(read_events(bench.project)), "the interrupt was told")
    seen = {event["event"]: event for event in read_events(bench.project)}
    # Whose documents name exactly the native ones; before a human is asked, hooks of other formats may say no.
    assert set(seen) == {*list_event_names("chrys"), "permission_request"}
    assert seen["session_restored"]["restored_session_id"] == "s0"
    assert (seen["workflow_run_start"]["run_id"], seen["workflow_run_start"]["input_text"]) == ("r1", "nightly")
    assert (seen["workflow_run_end"]["outcome"], seen["workflow_run_end"]["reason"]) == ("succeeded", "")
    assert (seen["pre_compact"]["trigger"], seen["pre_compact"]["usage_pct"]) == ("phase1", 0.8)
    assert seen["pre_compact"]["tokens_before"] == 1000
    assert seen["approval_requested"]["caller_name"] == "Example"
    assert seen["approval_resolved"]["approved"] is True
    assert seen["approval_resolved"]["request_id"] == seen["approval_requested"]["request_id"]
    assert seen["tool_error"]["result"]["text"] == "'command'"
    assert seen["sub_agent_end"]["sub_agent"]["tool_name"] == "ask_helper"
    assert (seen["sub_agent_end"]["status"], seen["sub_agent_end"]["result_summary"]) == ("ok", "found it")
    assert seen["sub_agent_end"]["agent"] == {"id": "i1", "name": "Helper", "parent_id": "main", "depth": 1}
    assert seen["sub_agent_end"]["profile"] == "Helper"


async def test_a_tool_may_report_its_own_failure(bench: Bench, parts: ModuleType):
    engine = bench.open(write_file(*record_all()))

    def shell(tool: Tool) -> ToolResult:
        return ToolResult(text=parts.shell(tool), failed=True)

    async with make_session(engine, bench) as session, session.turn("ls nothing") as turn:
        await turn.call_tool(await parts.model([turn.prompt]), shell)
    assert names(read_events(bench.project)) == LIFE
    result = last(bench, "after_tool_call")["result"]
    assert (result["failed"], result["error"]) == (True, False)


def test_the_host_is_as_short_as_it_says():
    lines = HOST.read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if line.strip() and not line.startswith(('"""', "import", "from"))]
    assert len(code) <= 40
