"""The synchronous face: the same events in the same order as the asynchronous one, without an event loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from entries import give_reply, shell_hook, write_file
from faces import SHELL, Diary, Face, Stop, asked, blocked, ends_with, fails_with, make_session, with_args
from hookline import Decision, Event, HooklineError, PromptBlockedError, Session, TodoReminder, ToolCallDeniedError
from hookline.events import EVENT_NAMES, MAIN_AGENT
from hookline.lifecycle import Branch, Compaction, ModelStep, Navigation, Switch
from hookline.lifecycle.scope import Phase, Scope
from hookline.lifecycle.session import Workflow
from hookline.lifecycle.step import Firing, drive, drive_sync
from hookline.lifecycle.tool import ToolCall
from hookline.lifecycle.turn import SubAgentWork, Turn
from hookline.outcome import EMPTY_DECISION, Run
from hookline.testing import FakeRunner, make_engine, make_hook
from support import Bench

PROMPT = "user_prompt_submit"
PHASES: tuple[type[Phase], ...] = (
    Session,
    Turn,
    SubAgentWork,
    ToolCall,
    Workflow,
    ModelStep,
    Compaction,
    Switch,
    Branch,
    Navigation,
)
# Events without a method of their own, which are all announced in one way.
ANNOUNCED = {"auto_compaction_start", "auto_compaction_end", "auto_retry_start", "auto_retry_end", "ttsr_triggered"}
# What differs from one life to the next.
UNIQUE = {"event_id", "timestamp", "turn_id", "invocation_id", "request_id", "run_id", "duration_ms"}


def comparable(value: Any) -> Any:
    """An event without what is made anew each time."""
    if isinstance(value, dict):
        return {key: comparable(inner) for key, inner in value.items() if key not in UNIQUE}
    return [comparable(inner) for inner in value] if isinstance(value, list) else value


def tell(diary: Diary) -> list[Any]:
    """A life as data: each event with all it carries, and each wait."""
    events = [comparable({"name": event.name, **msgspec.to_builtins(event)}) for event in diary.events]
    return [
        events,
        [(kind, session) for kind, session, _ in diary.drains],
        [entry.split()[0] for entry in diary.entries],
    ]


# One life in both ways of writing it; what the hooks decide differs from case to case.


async def live(engine: Diary, error: BaseException | None) -> None:
    async with make_session(engine, ask=lambda _: True, restored_from="s0") as session:
        async with session.workflow("w") as workflow:
            workflow.finish("partial", "stopped early")
        async with session.turn("one") as turn:
            await turn.inject("two")
            await turn.call_tool(SHELL, ends_with("ok"))
            await turn.call_tool(SHELL, fails_with(ValueError("broken")), approve=lambda _: True)
            await turn.compact("phase1", usage_pct=0.9)
            await turn.start_agent("one", system_prompt="be kind")
            async with turn.model_step() as step:
                step.finish(await turn.filter_messages(["one"]), ["r"])
            await turn.announce(TodoReminder(todos=["x"]))
            async with turn.compaction("auto") as compaction:
                compaction.finish("c1")
            turn.finish("done")
            async with turn.sub_agent("Helper", tool_name="ask", invocation_id="i1") as helper:
                async with helper.tool_call(SHELL) as call:
                    call.finish("by hand")
                helper.finish("done")
            await session.interrupt()
            if error is not None:
                raise error
        async with session.retry(turn):
            pass
        async with session.switch("new"), session.branch("e1"), session.navigate({"target_id": "l1"}):
            pass


def live_sync(engine: Diary, error: BaseException | None) -> None:
    with make_session(engine, ask=lambda _: True, restored_from="s0") as session:
        with session.workflow("w") as workflow:
            workflow.finish("partial", "stopped early")
        with session.turn("one") as turn:
            turn.inject_sync("two")
            turn.call_tool_sync(SHELL, ends_with("ok"))
            turn.call_tool_sync(SHELL, fails_with(ValueError("broken")), approve=lambda _: True)
            turn.compact_sync("phase1", usage_pct=0.9)
            turn.start_agent_sync("one", system_prompt="be kind")
            with turn.model_step() as step:
                step.finish(turn.filter_messages_sync(["one"]), ["r"])
            turn.announce_sync(TodoReminder(todos=["x"]))
            with turn.compaction("auto") as compaction:
                compaction.finish("c1")
            turn.finish("done")
            with turn.sub_agent("Helper", tool_name="ask", invocation_id="i1") as helper:
                with helper.tool_call(SHELL) as call:
                    call.finish("by hand")
                helper.finish("done")
            session.interrupt_sync()
            if error is not None:
                raise error
        with session.retry(turn):
            pass
        with session.switch("new"), session.branch("e1"), session.navigate({"target_id": "l1"}):
            pass


DECISIONS: dict[str, dict[str, Decision | Callable[[Event], Decision]]] = {
    "nothing": {},
    "edits": {"before_tool_call": with_args(command="ls -A")},
    "questions": {"before_tool_call": asked(), "user_prompt_submit": asked()},
    "denials": {"before_tool_call": lambda event: Decision() if event.agent.depth else blocked()},
    "denials by hand": {"before_tool_call": blocked()},
    "blocked prompt": {"user_prompt_submit": blocked()},
    "blocked message": {"user_prompt_submit": lambda event: blocked() if event.fields.injected else Decision()},
    "texts": {
        "user_prompt_submit": Decision(reminders=("short",), context=("page",)),
        "after_tool_call": Decision(context=("lint",)),
    },
}


@pytest.mark.parametrize("decisions", DECISIONS.values(), ids=DECISIONS)
@pytest.mark.parametrize("error", [None, ValueError("broken"), Stop()], ids=repr)
async def test_both_faces_fire_the_same_events_in_the_same_order(
    decisions: dict[str, Decision | Callable[[Event], Decision]], error: BaseException | None
):
    async_diary, sync_diary = Diary(decisions), Diary(decisions)
    async_end = await how_it_ended(live(async_diary, error))
    try:
        live_sync(sync_diary, error)
    except BaseException as raised:
        sync_end: BaseException | None = raised
    else:
        sync_end = None
    assert repr(sync_end) == repr(async_end)
    assert tell(sync_diary) == tell(async_diary)


async def how_it_ended(life: Awaitable[None]) -> BaseException | None:
    try:
        await life
    except BaseException as raised:
        return raised
    return None


async def test_the_life_of_these_tests_has_every_event(diary: Diary):
    """Otherwise the comparison would say less than it seems to."""
    await live(diary, None)
    await live_start(diary)
    assert set(diary.names) == set(EVENT_NAMES) - ANNOUNCED - {"hook_failed"}


async def live_start(diary: Diary) -> None:
    async with make_session(diary):
        pass


def test_every_coroutine_of_the_lifecycle_has_a_twin():
    for kind in PHASES:
        names = {name for name, value in inspect.getmembers(kind, inspect.iscoroutinefunction) if name[0] != "_"}
        assert names <= {name.removesuffix("_sync") for name in dir(kind) if name.endswith("_sync")}, kind


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Session, "interrupt"),
        (Turn, "inject"),
        (Turn, "call_tool"),
        (Turn, "compact"),
        (Turn, "start_agent"),
        (Turn, "filter_messages"),
        (Turn, "announce"),
    ],
)
def test_a_twin_takes_the_same_arguments(kind: type[Phase], name: str):
    assert inspect.signature(getattr(kind, f"{name}_sync")) == inspect.signature(getattr(kind, name))


# Functions of the host in synchronous code


async def answer_later(_: Any) -> bool:
    return True


class Later:
    """Something to be awaited that is no coroutine, and true as all objects are."""

    def __await__(self) -> Any:
        yield
        return False


def test_an_async_question_is_refused_in_synchronous_code():
    diary = Diary({"before_tool_call": asked()})
    turn = make_session(diary, ask=answer_later).turn("go")
    with pytest.raises(HooklineError, match=r"answer_later.* is async"):
        turn.call_tool_sync(SHELL, lambda _: pytest.fail("the call ran"))


def test_a_question_answered_by_something_to_be_awaited_is_no_yes():
    diary = Diary({"before_tool_call": asked()})
    turn = make_session(diary, ask=lambda _: Later()).turn("go")
    with pytest.raises(HooklineError, match="async"):
        turn.call_tool_sync(SHELL, lambda _: pytest.fail("the call ran"))


def test_an_async_approval_is_refused_in_synchronous_code(diary: Diary):
    with pytest.raises(HooklineError, match=r"answer_later.* is async"):
        make_session(diary).turn("go").call_tool_sync(
            SHELL, lambda _: pytest.fail("the call ran"), approve=answer_later
        )


def test_an_approval_given_by_something_to_be_awaited_is_no_yes(diary: Diary):
    approve: Any = lambda _: Later()  # noqa: E731
    with pytest.raises(HooklineError, match="async"):
        make_session(diary).turn("go").call_tool_sync(SHELL, lambda _: pytest.fail("the call ran"), approve=approve)


def test_an_async_tool_is_named_as_the_error_of_the_call_in_synchronous_code(diary: Diary):
    result = make_session(diary).turn("go").call_tool_sync(SHELL, answer_later)
    assert result.error
    assert "answer_later" in result.text
    assert "is async" in result.text


# Without a loop


def test_a_life_needs_no_event_loop(diary: Diary):
    def has_loop(_: Any) -> bool:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return True

    with make_session(diary, ask=has_loop).turn("go") as turn:
        assert turn.call_tool_sync(SHELL, has_loop, approve=has_loop).text == "True"


def test_real_hooks_guard_a_plain_program(bench: Bench):
    hooks = [
        shell_hook("guard", 'grep -q "rm -rf" && echo "not here" >&2 && exit 2; exit 0', on_error="block"),
        shell_hook("remind", give_reply(system_reminder="short"), event="user_prompt_submit"),
        shell_hook("late", "sleep 0.2; echo done > late", event="after_turn", mode="async"),
    ]
    engine = bench.open(write_file(*hooks))
    with Session(engine, id="s1", cwd=bench.project) as session:
        with session.turn("go") as turn:
            assert turn.reminders == ("short",)
            assert turn.call_tool_sync(SHELL, ends_with("ok")).text == "ok"
            tool = msgspec.structs.replace(SHELL, args={"command": "rm -rf /"})
            with pytest.raises(ToolCallDeniedError, match="not here"), turn.tool_call(tool):
                pytest.fail("the call ran")
        assert bench.read("late") == "done\n"


def test_plain_programs_in_several_threads_share_an_engine(bench: Bench):
    hooks = [
        shell_hook(
            "block", give_reply(action="block", reason="no"), event="user_prompt_submit", match={"profile": "B"}
        ),
        shell_hook("remind", give_reply(system_reminder="short"), event="user_prompt_submit", match={"profile": "A"}),
    ]
    engine = bench.open(write_file(*hooks))
    found: dict[int, str] = {}

    def live(number: int) -> None:
        session = Session(engine, id=f"s{number}", profile="AB"[number % 2], cwd=bench.project)
        try:
            with session.turn("go") as turn:
                found[number] = turn.reminders[0]
        except PromptBlockedError as blocked:
            found[number] = blocked.reason

    threads = [threading.Thread(target=live, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: ("short", "no")[number % 2] for number in range(8)}


# Nobody listens


class Deaf(Diary):
    """An engine without a hook; firing anything at it is a mistake."""

    def listens(self, event_name: str) -> bool:
        return False

    def fire_sync(self, event: Event) -> Decision:
        pytest.fail(f"{event.name} was built and fired")

    def drain_turn_sync(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]:
        return ()


async def test_no_event_is_built_when_nobody_listens():
    await live(Deaf(), None)
    live_sync(Deaf(), None)


async def test_the_record_of_an_event_is_not_built_when_nobody_listens():
    scope = Scope(firing=Deaf(), session_id="s1", agent=MAIN_AGENT, profile="", cwd="")

    def build() -> Any:
        pytest.fail("the record was built")

    firing: Firing = scope.firing
    assert await drive(scope.fire("session_start", build), firing) is EMPTY_DECISION
    assert drive_sync(scope.fire("session_start", build), firing) is EMPTY_DECISION


async def test_only_events_with_a_listener_are_fired(face: Face):
    runner = FakeRunner()
    with make_engine([make_hook(event="after_tool_call")], runner) as engine:
        async with face.live(make_session(engine)) as session, face.live(session.turn("go")) as turn:
            await face.do(turn, "call_tool", SHELL, ends_with("ok"))
    assert [event.name for _, event in runner.calls] == ["after_tool_call"]


async def test_an_agent_without_hooks_starts_no_thread_and_makes_no_file(face: Face, bench: Bench):
    engine = bench.open()
    before = threading.active_count()
    async with face.live(Session(engine, id="s1", cwd=bench.project)) as session:
        async with face.live(session.turn("go")) as turn:
            await face.do(turn, "inject", "more")
            await face.do(turn, "call_tool", SHELL, ends_with("ok"), approve=lambda _: True)
            await face.do(turn, "compact", "phase1")
            async with face.live(turn.sub_agent("Helper")):
                pass
        await face.do(session, "interrupt")
    assert threading.active_count() == before
    assert list(bench.project.iterdir()) == []
    assert not bench.home.exists()
