"""The cases and facts of the folder contract that take an engine, with real folders and processes."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hook_folders import HooksDir
from hookline import (
    AfterToolCall,
    AfterTurn,
    ConfigError,
    Engine,
    Event,
    HostFacts,
    PermissionRequest,
    PromptBlockedError,
    Session,
    SessionStart,
    Tool,
    ToolResult,
)
from hookline.folders.history import load_state
from hookline.folders.state import State
from support import Bench, find_run, make_prompt_event
from waiting import wait_until

TOOL = Tool(name="bash", args={"command": "ls"})


class Vix:
    """A hooks folder, and an engine over it when it is asked for."""

    def __init__(self, bench: Bench) -> None:
        path = bench.root / "vix" / "hooks"
        path.mkdir(parents=True)
        self.hooks = HooksDir(path)
        self.bench = bench

    def add(self, directory: str, command: str = "true", *, event: str = "PreToolUse", **keys: Any) -> None:
        """Add an enabled hook; one at an event that waits is in mode sync and blocks where it can."""
        can_block = event in ("PreToolUse", "UserPromptSubmit", "PermissionRequest")
        stock = {"enabled": True, "mode": "sync", "blocking": can_block}
        self.hooks.add(directory, event=event, command=command, **{**stock, **keys})

    def open(self, **options: Any) -> Engine:
        return self.bench.open(vix_hooks=self.hooks.path, **options)

    def state(self, directory: str) -> State:
        return load_state(self.hooks.path / directory)

    def log(self) -> list[dict[str, Any]]:
        files = sorted((self.bench.root / "vix" / "logs" / "hooks").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def vix(bench: Bench) -> Iterator[Vix]:
    yield Vix(bench)
    bench.close()


async def call(engine: Engine, run: Callable[[Tool], Any], **options: Any) -> ToolResult:
    async with Session(engine, **options) as session, session.turn("go") as turn:
        return await turn.call_tool(TOOL, run)


async def test_case_35_a_denied_tool_never_runs_and_the_model_reads_why(vix: Vix) -> None:
    """Case 35: also PostToolUse does not fire."""
    vix.add("deny", "echo too risky >&2; exit 2")
    vix.add("post", "touch fired", event="PostToolUse")
    result = await call(vix.open(), lambda tool: pytest.fail("it ran"), cwd=vix.bench.project)
    assert (result.text, result.failed, result.hook_denied) == ("too risky", True, True)
    assert not (vix.bench.project / "fired").exists()


async def test_case_36_context_is_put_behind_the_result(vix: Vix) -> None:
    """Case 36."""
    vix.add("post", "echo extra-note", event="PostToolUse")
    result = await call(vix.open(), lambda tool: "original")
    assert result.text == "original\n\n[hook] extra-note"


async def test_case_36_contexts_of_several_hooks_are_one_text(vix: Vix) -> None:
    """Case 36, with fact 40."""
    vix.add("a", "echo a", event="PostToolUse")
    vix.add("b", "echo b", event="PostToolUse")
    assert (await call(vix.open(), lambda tool: "original")).text == "original\n\n[hook] a\nb"


async def test_context_before_a_call_reaches_the_model_with_the_result(vix: Vix) -> None:
    """W6."""
    vix.add("note", "echo mind the gap")
    assert (await call(vix.open(), lambda tool: "original")).text == "original\n\n[hook] mind the gap"


async def test_arguments_are_replaced_whole_and_what_is_shown_is_what_ran(vix: Vix) -> None:
    """Fact 49, W19."""
    vix.add("edit", """echo '{"behavior":"modify","input":{"path":"x"}}'""")
    shown: list[Any] = []
    async with Session(vix.open()) as session, session.turn("go") as turn, turn.tool_call(TOOL) as tool_call:
        shown.append(tool_call.tool.args)
    assert shown == [{"path": "x"}]


async def test_a_prompt_is_replaced(vix: Vix) -> None:
    """Fact 49."""
    vix.add("edit", """echo '{"behavior":"modify","input":{"prompt":"better"}}'""", event="UserPromptSubmit")
    async with Session(vix.open()) as session, session.turn("go") as turn:
        assert turn.prompt == "better"


async def test_a_prompt_is_denied(vix: Vix) -> None:
    """Fact 49."""
    vix.add("deny", "echo no >&2; exit 2", event="UserPromptSubmit")
    async with Session(vix.open()) as session:
        with pytest.raises(PromptBlockedError, match="no"):
            await session.turn("go").__aenter__()


async def test_a_permission_is_denied(vix: Vix) -> None:
    """Fact 49."""
    vix.add("deny", "echo not that folder >&2; exit 2", event="PermissionRequest", matcher="bash|edit")
    decision = await vix.open().fire(Event(PermissionRequest(tool=TOOL)))
    assert (decision.verdict, decision.reason) == ("block", "not that folder")


@pytest.mark.parametrize("code", [1, 127])
async def test_case_23_a_failure_lets_pass_by_default_and_is_recorded(vix: Vix, code: int) -> None:
    """Case 23, W5."""
    vix.add("bad", f"""echo '{{"behavior":"deny"}}'; exit {code}""")
    engine = vix.open()
    assert (await engine.fire(vix.bench.event())).is_allowed
    engine.close()
    assert (vix.state("bad").last_status, vix.state("bad").last_error) == ("error", f"exit: exit code {code}")


@pytest.mark.parametrize("command", ["exit 1", "kill -9 $$", "sleep 60", """echo '{"behavior":"DENY"}'"""])
async def test_case_23_a_policy_that_fails_closed_denies(vix: Vix, command: str) -> None:
    """Case 23, W4."""
    vix.add("bad", command, on_error="block", timeout="300ms")
    assert (await vix.open().fire(vix.bench.event())).is_blocked


async def test_a_directory_that_is_not_there_is_a_failure(vix: Vix) -> None:
    """Fact 42: the directory is taken as it is written."""
    vix.add("bad", "true", cwd="~/nowhere", on_error="block")
    decision = await vix.open().fire(vix.bench.event())
    assert decision.is_blocked
    assert "~/nowhere" in (decision.reason or "")


async def test_a_deny_is_not_lost_to_a_child_that_keeps_the_pipe(vix: Vix) -> None:
    """W1: the verdict is read when the command exits."""
    vix.add("deny", "sleep 60 & echo no >&2; exit 2", timeout="20s")
    start = time.monotonic()
    decision = await vix.open().fire(vix.bench.event())
    assert (decision.reason, time.monotonic() - start < 15) == ("no", True)


async def test_the_command_reads_the_envelope_in_the_session_s_directory(vix: Vix) -> None:
    """Facts 42 and 47."""
    vix.add("look", 'cat > "$PWD/seen"; env > names; echo "$BASH_VERSION" > shell')
    facts = HostFacts(model="m", permission_mode="plan", origin="user")
    await vix.open().fire(vix.bench.event(facts=facts, session_id="s"))
    seen = json.loads(vix.bench.read("seen"))
    assert (seen["thread_id"], seen["cwd"], seen["model"]) == ("s", str(vix.bench.project), "m")
    assert (seen["tool_name"], seen["tool_input"]) == ("bash", {"command": "ls"})
    names = {line.partition("=")[0] for line in vix.bench.read("names").splitlines()}
    assert "HOOKLINE_HOOK_ID" in names
    assert not names & {"HOOKLINE_HOOK_RESULT", "BASH_ENV"}
    assert vix.bench.read("shell").strip()


async def test_a_session_tells_what_the_host_knows(vix: Vix) -> None:
    """Fact 47."""
    vix.add("look", "cat > seen")
    turns = iter(range(1, 100))
    await call(
        vix.open(),
        lambda tool: "ok",
        cwd=vix.bench.project,
        tell_facts=lambda: HostFacts(model="m", turn_count=next(turns)),
    )
    seen = json.loads(vix.bench.read("seen"))
    assert seen["model"] == "m"
    assert seen["turn_count"] > 0


async def test_a_large_output_neither_fills_the_memory_nor_the_model(vix: Vix) -> None:
    """W17."""
    vix.add("much", "head -c 20000000 /dev/zero | tr '\\0' x", event="PostToolUse", timeout="60s")
    result = await call(vix.open(), lambda tool: "original")
    assert 1000 < len(result.text) < 40_000


async def test_a_decision_too_large_to_be_read_is_a_failure(vix: Vix) -> None:
    """W17: it may have been a deny."""
    vix.add("much", "printf '{\"a\":\"'; head -c 3000000 /dev/zero | tr '\\0' x", on_error="block", timeout="60s")
    decision = await vix.open().fire(vix.bench.event())
    assert decision.is_blocked
    assert "cannot be read" in (decision.reason or "")


async def test_all_hooks_run_side_by_side(vix: Vix) -> None:
    """W8: each waits for the other, so that one after another they would never end."""
    for mine, other in (("a", "b"), ("b", "a")):
        vix.add(mine, f"touch {mine}; while [ ! -e {other} ]; do sleep 0.01; done", timeout="20s")
    decision = await vix.open().fire(vix.bench.event())
    assert [(run.hook.id, run.status) for run in decision.runs] == [("a", "ok"), ("b", "ok")]


async def test_a_sync_hook_where_nobody_waits_is_started_only(vix: Vix) -> None:
    """Fact 45: its record says async and done."""
    vix.add("stop", "true", event="Stop")
    engine = vix.open()
    decision = await engine.fire(Event(AfterTurn(turn=1), cwd=str(vix.bench.project)))
    assert find_run(decision, "stop").status == "queued"
    await engine.settle(decision)
    engine.close()
    [record] = vix.state("stop").recent_runs
    assert (record.status, record.is_async, record.event) == ("done", True, "Stop")


async def test_a_call_that_the_user_denied_is_told_of(vix: Vix) -> None:
    """Fact 50; one that a hook denied is not."""
    vix.add("post", "true", event="PostToolUse")
    engine = vix.open()
    for source, count in (("user", 1), ("hook", 0)):
        result = ToolResult(failed=True, approval_rejected=True, rejection_source=source)
        decision = await engine.fire(Event(AfterToolCall(tool=TOOL, result=result)))
        assert len(decision.runs) == count


async def test_case_39_a_thread_of_hooks_fires_nothing(vix: Vix) -> None:
    """Case 39: the decision says so, and hooks of other dialects run."""
    vix.add("deny", "exit 2", on_error="block")
    vix.bench.write("hooks: [{id: n, event: before_tool_call, run: {type: shell, shell: 'true'}}]")
    decision = await vix.open().fire(vix.bench.event(facts=HostFacts(origin="vix")))
    assert decision.is_allowed
    assert (find_run(decision, "deny").status, find_run(decision, "n").status) == ("skipped", "queued")
    assert "'vix'" in (find_run(decision, "deny").reason or "")


async def test_case_39_the_switch_stops_all_hook_folders(vix: Vix, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 39."""
    vix.add("deny", "exit 2")
    engine = vix.open()
    monkeypatch.setenv("VIX_DISABLE_HOOKS", "1")
    decision = await engine.fire(vix.bench.event())
    assert decision.is_allowed
    assert "VIX_DISABLE_HOOKS=1" in (find_run(decision, "deny").reason or "")
    with pytest.raises(ConfigError, match="VIX_DISABLE_HOOKS"):
        engine.trigger("deny")
    engine.close()
    assert vix.state("deny").recent_runs == ()


async def test_case_39_a_disabled_hook_is_started_by_hand_and_recorded_as_async(vix: Vix) -> None:
    """Case 39, fact 53."""
    vix.add("off", "cat > seen; exit 2", enabled=False)
    engine = vix.open()
    assert (await engine.fire(vix.bench.event())).runs == ()
    decision = await engine.settle(engine.trigger("off"))
    assert decision.runs[0].status == "ok"
    cwd = str(vix.bench.project)
    assert json.loads(vix.bench.read("seen")) == {"event": "PreToolUse", "manual": True, "cwd": cwd}
    engine.close()
    [record] = vix.state("off").recent_runs
    assert (record.status, record.is_async) == ("done", True)


async def test_an_unknown_hook_cannot_be_started_by_hand(vix: Vix) -> None:
    """Fact 53."""
    with pytest.raises(ConfigError, match="no hook has the id 'nobody'"):
        vix.open().trigger("nobody")


async def test_runs_are_recorded_as_they_counted(vix: Vix) -> None:
    """Fact 26: after the downgrade; the newest stands last."""
    vix.add("note", "echo no >&2; exit 2", blocking=False)
    vix.add("deny", "exit 2", matcher="edit")
    engine = vix.open()
    await engine.fire(vix.bench.event())
    await engine.fire(vix.bench.event(tool="edit"))
    engine.close()
    assert [record.status for record in vix.state("note").recent_runs] == ["context", "context"]
    assert [record.status for record in vix.state("deny").recent_runs] == ["deny"]
    assert vix.state("note").last_fired_at is not None


async def test_the_log_tells_of_start_failure_and_end(vix: Vix) -> None:
    """Fact 54."""
    vix.add("bad", "exit 3", name="Bad", matcher="bash")
    engine = vix.open()
    await engine.fire(vix.bench.event(session_id="s"))
    engine.close()
    fired, error, finished = vix.log()
    assert {line["fire_id"] for line in (fired, error, finished)} == {fired["fire_id"]}
    assert (fired["phase"], fired["hook_id"], fired["name"], fired["matcher"]) == ("fired", "bad", "Bad", "bash")
    assert (fired["blocking"], fired["async"], fired["tool_name"], fired["thread_id"]) == (True, False, "bash", "s")
    assert (error["source"], error["exit_code"]) == ("command_exec", 3)
    assert (finished["phase"], finished["status"]) == ("finished", "error")


async def test_a_hook_that_needs_a_model_fails_where_there_is_none(vix: Vix) -> None:
    vix.add("ask", command=None, prompt="is this wise?", on_error="block")  # type: ignore[arg-type]
    decision = await vix.open().fire(vix.bench.event())
    assert decision.is_blocked
    assert "no prompt runner" in (decision.reason or "")


async def test_case_42_the_newest_content_stands_however_many_reload(vix: Vix) -> None:
    """Case 42: each reload reads and swaps as one."""
    vix.add("d", "true")
    engine = vix.open()
    switched = [True, False] * 10

    def switch(is_enabled: bool) -> None:
        engine.set_enabled("d", is_enabled=is_enabled)

    threads = [threading.Thread(target=switch, args=(value,)) for value in switched]
    for thread in threads:
        thread.start()
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])
    on_disk = json.loads((vix.hooks.path / "d" / "hook.json").read_text())["enabled"]
    hook = engine.find_hook("d")
    assert hook is not None
    assert hook.enabled is on_disk


async def test_a_hook_that_is_gone_remembers_nothing(vix: Vix, tmp_path: Path) -> None:
    """Fact 23, W15: its folder stays, its state does not, and no late run brings it back."""
    vix.add("d", "true")
    vix.add("other", "true", enabled=False)
    engine = vix.open()
    await engine.fire(vix.bench.event())
    await wait_until(lambda: vix.state("d").recent_runs != (), "the run is recorded")
    (vix.hooks.path / "d" / "hook.json").unlink()
    engine.set_enabled("other", is_enabled=True)
    await engine.fire(vix.bench.event())
    engine.close()
    assert list((vix.hooks.path / "d").iterdir()) == []


async def test_sync_hosts_are_served(vix: Vix) -> None:
    vix.add("deny", "echo no >&2; exit 2", event="UserPromptSubmit")
    decision = await asyncio.to_thread(vix.open().fire_sync, make_prompt_event())
    assert decision.reason == "no"


async def test_what_starts_with_the_thread_is_told_its_source(vix: Vix) -> None:
    """Fact 48."""
    vix.add("start", "cat > seen", event="ThreadStart", matcher="startup")
    engine = vix.open()
    await engine.settle(await engine.fire(Event(SessionStart(), cwd=str(vix.bench.project))))
    assert json.loads(vix.bench.read("seen"))["source"] == "startup"
