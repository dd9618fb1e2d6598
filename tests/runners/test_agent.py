"""Prompts and workflows: what the host's runners are told, and what becomes of the text they end with."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hookline import ConfigError, Decision, Engine, Event, Run, UserPromptSubmit
from hookline.handlers.workers import MOST_STUCK
from hookline.runners.agent import Task
from support import Bench, find_run, make_event

SYNC: dict[str, Any] = {"enabled": True, "mode": "sync", "blocking": True}


class Model:
    """A prompt runner that answers as told and notes what it was asked."""

    def __init__(self, *answers: str | BaseException) -> None:
        self._answers = list(answers)
        self.tasks: list[Task] = []

    async def run(self, task: Task) -> str:
        self.tasks.append(task)
        answer = self._answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    return tmp_path / "vix-hooks"


def write(folders: Path, name: str, **spec: Any) -> None:
    folder = folders / name
    folder.mkdir(parents=True)
    whole = {"trigger": {"event": "PreToolUse"}, **SYNC, **spec}
    (folder / "hook.json").write_text(json.dumps(whole), encoding="utf-8")


def open_engine(bench: Bench, folders: Path, model: Model | None = None, **options: Any) -> Engine:
    return bench.open(vix_hooks=folders, prompts=model, **options)


async def fire(
    bench: Bench, folders: Path, model: Model | None, *, event: Event | None = None, **options: Any
) -> Decision:
    return await open_engine(bench, folders, model, **options).fire(event or bench.event())


def failure_of(decision: Decision, hook_id: str = "h") -> tuple[str, str]:
    run: Run = find_run(decision, hook_id)
    return run.outcome.kind, run.outcome.message  # type: ignore[union-attr]


async def test_a_prompt_is_put_to_the_model_with_the_event_behind_it(bench: Bench, folders: Path) -> None:
    """Fact 46: the message is the prompt, "Hook context:" and the envelope."""
    write(folders, "h", prompt="Is this command dangerous?")
    model = Model("")
    await fire(bench, folders, model)
    prompt, _, context = model.tasks[0].message.partition("\n\nHook context:\n")
    assert prompt == "Is this command dangerous?"
    assert json.loads(context)["tool_input"] == {"command": "ls"}
    assert model.tasks[0].title == "Hook: h"
    assert model.tasks[0].cwd == str(bench.project)


async def test_a_text_that_starts_with_block_denies(bench: Bench, folders: Path) -> None:
    """Fact 38."""
    write(folders, "h", prompt="p")
    decision = await fire(bench, folders, Model("BLOCK: too risky"))
    assert (decision.verdict, decision.reason) == ("block", "too risky")


async def test_any_other_text_is_context(bench: Bench, folders: Path) -> None:
    write(folders, "h", prompt="p", trigger={"event": "UserPromptSubmit"})
    decision = await fire(bench, folders, Model("note"), event=Event(UserPromptSubmit(text="hi")))
    assert decision.context == ("note",)


async def test_a_decision_object_in_the_text_counts(bench: Bench, folders: Path) -> None:
    write(folders, "h", prompt="p")
    decision = await fire(bench, folders, Model('{"behavior": "modify", "input": {"command": "true"}}'))
    assert decision.edits == {"args": {"command": "true"}}


async def test_without_a_prompt_runner_the_hook_fails_and_says_so(bench: Bench, folders: Path) -> None:
    write(folders, "h", prompt="p", on_error="block")
    decision = await fire(bench, folders, None)
    assert decision.is_blocked
    assert failure_of(decision)[0] == "spawn"
    assert "no prompt runner" in failure_of(decision)[1]


async def test_a_prompt_runner_that_raises_is_a_failure_of_the_hook(bench: Bench, folders: Path) -> None:
    write(folders, "h", prompt="p")
    decision = await fire(bench, folders, Model(RuntimeError("no route")))
    assert failure_of(decision) == ("crash", "RuntimeError: no route")


def test_the_bare_name_of_a_model_is_refused_as_a_prompt_runner(bench: Bench) -> None:
    with pytest.raises(ConfigError, match=r"prompts='anthropic:m' is no prompt runner: .*ModelPrompts\(model\)"):
        bench.open(prompts="anthropic:m")


async def test_a_prompt_runner_that_gives_no_text_is_a_failure_of_the_hook(bench: Bench, folders: Path) -> None:
    write(folders, "h", prompt="p")
    decision = await fire(bench, folders, Model(7))  # type: ignore[arg-type]
    assert failure_of(decision) == ("crash", "TypeError: the prompt runner gave int, not text")


async def test_a_prompt_has_its_time_limit(bench: Bench, folders: Path) -> None:
    """W3: every kind of hook has its deadline."""
    write(folders, "h", prompt="p", timeout="200ms", on_error="block")

    class Stuck(Model):
        async def run(self, task: Task) -> str:
            del task
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    if time.monotonic() > started + 2:
                        raise

    started = time.monotonic()
    decision = await fire(bench, folders, Stuck())
    assert time.monotonic() - started < 2
    assert decision.is_blocked
    assert failure_of(decision) == ("timeout", "no end within 0.2 s")


async def test_a_named_workflow_is_the_hosts(bench: Bench, folders: Path) -> None:
    """Facts 9 and 46: it is looked up when it is run, and is told the envelope alone."""
    write(folders, "h", workflow_id="review")
    engine = open_engine(bench, folders)
    told: list[str] = []

    async def review(task: Task) -> str:
        told.append(task.message)
        return "BLOCK: not now"

    engine.workflows["review"] = review
    decision = await engine.fire(bench.event())
    assert decision.reason == "not now"
    assert json.loads(told[0])["tool_name"] == "bash"


async def test_a_plain_workflow_runs_on_a_thread(bench: Bench, folders: Path) -> None:
    write(folders, "h", workflow_id="plain")
    engine = open_engine(bench, folders)
    threads: list[int] = []

    def plain(task: Task) -> str:
        del task
        threads.append(threading.get_ident())
        return ""

    engine.workflows["plain"] = plain
    assert (await engine.fire(bench.event())).is_allowed
    assert threads != [threading.get_ident()]


def test_a_plain_workflow_that_is_stuck_does_not_keep_the_loop_from_ending(bench: Bench, folders: Path) -> None:
    write(folders, "h", workflow_id="stuck", timeout="100ms")
    engine = open_engine(bench, folders)
    release = threading.Event()
    engine.workflows["stuck"] = lambda task: str(release.wait(30))
    started = time.monotonic()
    decision = asyncio.run(engine.fire(bench.event()))
    took = time.monotonic() - started
    release.set()
    assert failure_of(decision) == ("timeout", "no end within 0.1 s")
    assert took < 10


async def test_no_further_plain_workflow_is_started_while_too_many_are_stuck(bench: Bench, folders: Path) -> None:
    write(folders, "h", workflow_id="stuck", timeout="100ms", on_error="block")
    engine = open_engine(bench, folders)
    release = threading.Event()
    engine.workflows["stuck"] = lambda task: str(release.wait(30))
    await asyncio.gather(*(engine.fire(bench.event()) for _ in range(MOST_STUCK)))
    refused = await engine.fire(bench.event())
    release.set()
    assert refused.is_blocked
    assert "16 plain functions are past their time limit" in failure_of(refused)[1]
    engine.workflows["stuck"] = lambda task: ""
    await fire_until_allowed(lambda: engine.fire(bench.event()))


async def fire_until_allowed(fire: Callable[[], Awaitable[Decision]]) -> None:
    """Fire until the hook has no objection any more."""
    while not (await fire()).is_allowed:
        await asyncio.sleep(0.01)


async def test_a_workflow_that_the_host_does_not_know_is_a_failure(bench: Bench, folders: Path) -> None:
    """Fact 9: a wrong name fails at run time."""
    write(folders, "h", workflow_id="reveiw", on_error="block")
    engine = open_engine(bench, folders)
    engine.workflows["review"] = lambda task: ""
    decision = await engine.fire(bench.event())
    assert decision.is_blocked
    assert failure_of(decision) == ("spawn", "this agent knows no workflow 'reveiw'; known: review")


async def test_the_steps_of_a_workflow_are_told_the_texts_before_them(bench: Bench, folders: Path) -> None:
    steps = [{"command": "echo first"}, {"prompt": "Judge."}, {"command": "cat > third; echo 'BLOCK: third'"}]
    write(folders, "h", workflow=steps)
    model = Model("second")
    decision = await fire(bench, folders, model)
    assert decision.reason == "third"
    assert json.loads(model.tasks[0].message.partition("Hook context:\n")[2])["steps"] == ["first"]
    assert json.loads(bench.read("third"))["steps"] == ["first", "second"]


async def test_the_text_of_the_last_step_is_the_workflows(bench: Bench, folders: Path) -> None:
    write(folders, "h", workflow=[{"command": "echo BLOCK: early"}, {"command": "true"}])
    assert (await fire(bench, folders, None)).is_allowed


async def test_a_command_of_a_workflow_may_deny(bench: Bench, folders: Path) -> None:
    write(folders, "h", workflow=[{"command": "echo no >&2; exit 2"}, {"command": "touch later"}])
    decision = await fire(bench, folders, None)
    assert (decision.verdict, decision.reason) == ("block", "no")
    assert not (bench.project / "later").exists()


async def test_a_command_of_a_workflow_that_fails_ends_it(bench: Bench, folders: Path) -> None:
    write(folders, "h", workflow=[{"command": "exit 3"}, {"command": "touch later"}], on_error="block")
    decision = await fire(bench, folders, None)
    assert decision.is_blocked
    assert failure_of(decision) == ("exit", "exit code 3")
    assert not (bench.project / "later").exists()


async def test_all_steps_of_a_workflow_share_one_time_limit(bench: Bench, folders: Path) -> None:
    write(folders, "h", workflow=[{"command": "sleep 0.3"}] * 20, timeout="500ms")
    started = time.monotonic()
    decision = await fire(bench, folders, None)
    assert time.monotonic() - started < 4
    assert failure_of(decision) == ("timeout", "no end within 0.5 s")


async def test_an_async_prompt_is_not_waited_for(bench: Bench, folders: Path) -> None:
    write(folders, "h", prompt="p", mode="async", blocking=False)
    model = Model("BLOCK: nobody hears")
    engine = open_engine(bench, folders, model)
    decision = await engine.fire(make_event(cwd=str(bench.project), session_id="s"))
    assert decision.is_allowed
    settled = await engine.settle(decision)
    assert find_run(settled, "h").status == "ok"
    assert len(model.tasks) == 1
