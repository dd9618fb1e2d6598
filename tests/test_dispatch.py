"""One event put to its hooks: those of a strict dialect are asked side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_hook
from hookline.dispatch import Ports, dispatch
from hookline.events import Event
from hookline.fields import AfterTurn
from hookline.hook import Hook
from hookline.matcher import Matcher
from hookline.outcome import Answer, Decision, Edit, Run
from hookline.registry import Closure, Registry
from hookline.runners.base import Payload
from support import Bench, make_event

NO = Answer(verdict="block", reason="no")
REPLACED = Answer(edits=(Edit(field="args", operation="replace", value={"command": "true"}),))


class Scene:
    """Hooks with answers prepared, and a diary of what was started and run on which arguments."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.answers = dict(answers or {})
        self.diary: list[tuple[str, Any]] = []
        self.cancelled: list[str] = []
        self.gate: asyncio.Barrier | None = None
        self.silence: Callable[[str, Event], str | None] = lambda dialect, event: None

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        del run_id
        assert payload.event.tool is not None
        self.diary.append((hook.id, payload.event.tool.args["command"]))
        if self.gate is not None:
            await self.gate.wait()
        return Run(hook=hook, status="ok", outcome=self.answers.get(hook.id, Answer()))

    async def start(self, hook: Hook, payload: Payload) -> Run:
        assert payload.event.tool is not None
        self.diary.append((f"start {hook.id}", payload.event.tool.args["command"]))
        return Run(hook=hook, status="queued")

    async def dispatch(self, hooks: list[Hook], **options: Any) -> Decision:
        ports = Ports(
            runner=self,
            matcher=Matcher(),
            start=self.start,
            note_cancelled=lambda run, event: self.cancelled.append(run.hook.id),
            find_silence=self.silence,
        )
        closures = options.pop("closures", ())
        return await dispatch(make_event(), Registry(hooks, closures=closures), ports, **options)


def strict(hook_id: str, *, layer: str = "user", **options: Any) -> Hook:
    hook = make_hook(hook_id, **options)
    source = replace(hook.source, layer=layer, dialect="vix", evaluation="strictest")
    return replace(hook, source=source)


def statuses(decision: Decision) -> list[tuple[str, str]]:
    return [(run.hook.id, run.status) for run in decision.runs]


async def test_hooks_of_a_strict_dialect_run_at_the_same_time():
    """W8 of the folder contract: the latency is that of the slowest, not the sum."""
    scene = Scene()
    scene.gate = asyncio.Barrier(3)
    async with asyncio.timeout(10):
        decision = await scene.dispatch([strict(name) for name in "abc"])
    assert statuses(decision) == [("a", "ok"), ("b", "ok"), ("c", "ok")]


async def test_all_of_them_run_though_the_first_blocks():
    """Fact 44 of the folder contract."""
    scene = Scene({"a": NO})
    decision = await scene.dispatch([strict("a"), strict("b")])
    assert (decision.verdict, decision.reason) == ("block", "no")
    assert statuses(decision) == [("a", "blocked"), ("b", "ok")]


async def test_each_of_them_gets_the_input_of_their_link():
    """Fact 44 of the folder contract: no chaining inside a link; what comes after it sees its edits."""
    scene = Scene({"a": REPLACED})
    await scene.dispatch([strict("a"), strict("b"), make_hook("after")])
    assert scene.diary == [("a", "ls"), ("b", "ls"), ("after", "true")]


async def test_a_link_gets_the_edits_of_the_hooks_before_it():
    scene = Scene({"before": REPLACED})
    await scene.dispatch([make_hook("before"), strict("a")])
    assert scene.diary == [("before", "ls"), ("a", "true")]


async def test_the_hooks_of_a_link_that_nobody_waits_for_are_started_first():
    """Fact 44 of the folder contract."""
    scene = Scene()
    decision = await scene.dispatch([strict("a"), strict("late", mode="fire_and_forget")])
    assert scene.diary == [("start late", "ls"), ("a", "ls")]
    assert statuses(decision) == [("late", "queued"), ("a", "ok")]


async def test_what_a_link_has_started_is_not_started_again_after_a_block():
    scene = Scene({"a": NO})
    decision = await scene.dispatch([strict("a"), strict("late", mode="async"), make_hook("n", mode="async")])
    assert [name for name, _ in scene.diary] == ["start late", "a"]
    assert statuses(decision) == [("late", "queued"), ("a", "blocked"), ("n", "skipped")]


async def test_a_block_of_a_link_ends_the_chain_and_is_named():
    scene = Scene({"a": NO})
    decision = await scene.dispatch([strict("a"), strict("b"), make_hook("after")])
    assert decision.runs[-1].reason == "hook 'a' blocked the event"
    assert statuses(decision)[-1] == ("after", "skipped")


async def test_layers_are_links_of_their_own():
    scene = Scene({"a": NO})
    decision = await scene.dispatch([strict("a", layer="project"), strict("b")])
    assert statuses(decision) == [("a", "blocked"), ("b", "skipped")]


async def test_a_hook_that_crashes_beside_others_fails_alone():
    scene = Scene()

    async def run(hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        if hook.id == "a":
            raise ZeroDivisionError
        return await Scene.run(scene, hook, payload, run_id=run_id)

    scene.run = run  # type: ignore[method-assign]
    assert statuses(await scene.dispatch([strict("a"), strict("b")])) == [("a", "failed"), ("b", "ok")]


async def test_cancelling_the_caller_ends_all_of_them():
    scene = Scene()
    scene.gate = asyncio.Barrier(3)
    task = asyncio.create_task(scene.dispatch([strict("a"), strict("b")]))
    while scene.gate.n_waiting < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(scene.cancelled) == ["a", "b"]


async def test_a_silenced_dialect_runs_nothing_and_the_decision_says_so():
    """Facts 51 and 55 of the folder contract: this dialect's hooks alone, guards and all."""
    scene = Scene()
    scene.silence = lambda dialect, event: "switched off" if dialect == "vix" else None
    hooks = [strict("a", on_error="block"), strict("late", mode="async"), make_hook("n")]
    decision = await scene.dispatch(hooks)
    assert decision.is_allowed
    assert [(run.hook.id, run.status, run.reason) for run in decision.runs] == [
        ("late", "skipped", "switched off"),
        ("a", "skipped", "switched off"),
        ("n", "ok", None),
    ]


async def test_a_silenced_dialect_keeps_no_event_closed():
    scene = Scene()
    scene.silence = lambda dialect, event: "switched off" if dialect == "vix" else None
    broken = Closure(event="before_tool_call", hook_id="g", reason="broken", dialect="vix")
    assert (await scene.dispatch([], closures=[broken])).is_allowed
    scene.silence = lambda dialect, event: None
    assert (await scene.dispatch([], closures=[broken])).reason == "broken"


async def test_where_no_hook_may_run_strict_guards_close_and_others_are_skipped():
    decision = await Scene().dispatch([strict("a", on_error="block"), strict("b")], stop_reason="too deep")
    assert decision.is_blocked
    assert statuses(decision) == [("a", "failed"), ("b", "skipped")]


@pytest.mark.parametrize("given", [AfterTurn(turn=1), "after_turn", None])
async def test_what_is_no_event_is_refused_in_words(bench: Bench, given: Any):
    with bench.open() as engine:
        with pytest.raises(TypeError, match=r"write Event\(\.\.\.\) around a record"):
            await engine.fire(given)
        with pytest.raises(TypeError, match=f"was given {type(given).__name__}"):
            engine.fire_sync(given)
