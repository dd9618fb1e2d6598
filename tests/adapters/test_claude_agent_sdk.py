"""What is peculiar to the Claude Agent SDK; the Claude Code that it brings runs against a server in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, ResultMessage

from adapters.driver import Agent, Call, Seen
from adapters.drivers.claude_agent_sdk import Script, make_options, run_once
from faces import Diary, blocked, with_args, with_text
from hookline import Decision, Event, PromptBlockedError, Tool
from hookline.adapters.claude_agent_sdk import HooklineHooks
from hookline.adapters.claude_output import read_response, tell
from hookline.demo.frameworks.messages_api import MessagesApi


class Stage:
    """An agent with a script, and what came of it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.seen = Seen()
        self.ran: list[str] = []
        self._options = options

    def bash(self, command: str) -> str:
        """Run a command."""
        self.ran.append(command)
        return f"ran {command}"

    async def run(
        self, diary: Diary, *script: Any, prompts: Sequence[str] = ("go",), helpers: Sequence[Agent] = ()
    ) -> list[str]:
        """Have a conversation; returns the answers."""
        agent = Agent(script=script, tools=[self.bash], helpers=helpers)
        with MessagesApi(Script(agent, self.seen)) as api:
            options = make_options(agent, api, str(self.folder), **self._options)
            async with HooklineHooks(engine=diary).client(options) as client:
                return [await run_once(client, prompt) for prompt in prompts]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    return Stage(tmp_path)


LS = [Call("bash", {"command": "ls"})]


async def test_the_turns_of_a_client_have_the_id_of_its_conversation(stage: Stage, diary: Diary) -> None:
    assert await stage.run(diary, "a", "b", prompts=["one", "two"]) == ["a", "b"]
    assert len({event.session_id for event in diary.events}) == 1
    assert [name for name in diary.names if name in ("session_start", "session_restored")] == [
        "session_start",
        "session_restored",
    ]


async def test_a_query_is_a_turn(tmp_path: Path, diary: Diary) -> None:
    seen = Seen()
    agent = Agent(script=["fine"])
    with MessagesApi(Script(agent, seen)) as api:
        query = HooklineHooks(engine=diary).query(prompt="go", options=make_options(agent, api, str(tmp_path)))
        answers = [message.result async for message in query if isinstance(message, ResultMessage)]
    assert answers == ["fine"]
    assert [name for name in diary.names if "turn" in name] == ["before_turn", "after_turn"]
    assert diary.fields("after_turn")["status"] == "ok"


async def test_a_query_whose_prompt_is_blocked_raises(tmp_path: Path) -> None:
    seen = Seen()
    agent = Agent(script=["fine"])
    diary = Diary({"user_prompt_submit": blocked("no keys")})
    with MessagesApi(Script(agent, seen)) as api, pytest.raises(PromptBlockedError, match="no keys"):
        async for _ in HooklineHooks(engine=diary).query(
            prompt="sk-1", options=make_options(agent, api, str(tmp_path))
        ):
            pass
    assert seen.requests == []


async def test_a_prompt_that_hooks_change_is_not_sent(stage: Stage) -> None:
    diary = Diary({"user_prompt_submit": with_text("the number is secret")})
    with pytest.raises(PromptBlockedError, match="Claude Code would send the user's own"):
        await stage.run(diary, "fine", prompts=["the number is 4711"])
    assert stage.seen.requests == []
    assert diary.fields("after_turn")["status"] == "failed"


async def test_built_in_tools_are_guarded(tmp_path: Path) -> None:
    stage = Stage(tmp_path, permission_mode="acceptEdits")
    diary = Diary({"before_tool_call": blocked("not here")})
    write = Tool(name="Write", args={"file_path": str(tmp_path / "a.txt"), "content": "hello"})
    await stage.run(diary, [write], "I see")
    assert not (tmp_path / "a.txt").exists()
    assert "not here" in stage.seen.requests[1]


async def test_a_built_in_tool_gets_the_arguments_that_hooks_wrote(tmp_path: Path) -> None:
    stage = Stage(tmp_path, permission_mode="acceptEdits")
    diary = Diary({"before_tool_call": with_args(content="goodbye")})
    write = Tool(name="Write", args={"file_path": str(tmp_path / "a.txt"), "content": "hello"})
    await stage.run(diary, [write], "I see")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "goodbye"


async def test_an_allowing_hook_does_not_stand_for_the_permission_of_claude_code(tmp_path: Path) -> None:
    stage = Stage(tmp_path, permission_mode="dontAsk")
    diary = Diary({"before_tool_call": with_args(content="goodbye")})
    write = Tool(name="Write", args={"file_path": str(tmp_path / "a.txt"), "content": "hello"})
    await stage.run(diary, [write], "I see")
    assert not (tmp_path / "a.txt").exists()
    assert "after_tool_call" not in diary.names


async def test_sub_agents_side_by_side_are_told_apart(stage: Stage, diary: Diary) -> None:
    helper = Agent(name="Researcher", script=["found one", "found two"])
    await stage.run(diary, [Call("Researcher", {"task": "one"}), Call("Researcher", {"task": "two"})], helpers=[helper])
    parents = {event.fields.sub_agent.parent_call_id for event in diary.all("sub_agent_start")}
    assert parents == {event.tool.call_id for event in diary.all("before_tool_call") if event.tool is not None}
    assert len(parents) == 2


async def test_a_conversation_that_is_left_is_interrupted(tmp_path: Path, diary: Diary) -> None:
    agent = Agent(script=[LS, "fine"], tools=[Stage(tmp_path).bash])
    with MessagesApi(Script(agent, Seen())) as api:
        async with HooklineHooks(engine=diary).client(make_options(agent, api, str(tmp_path))) as client:
            await client.query("go")
            async for _ in client.receive_messages():
                break
    assert diary.fields("after_turn")["status"] == "interrupted"


async def test_a_turn_that_the_user_interrupts_and_another_one(tmp_path: Path, diary: Diary) -> None:
    started = asyncio.Event()

    async def wait() -> str:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()
        return ""

    agent, seen = Agent(script=[[Call("wait", {})], "fine"], tools=[wait]), Seen()
    with MessagesApi(Script(agent, seen)) as api:
        async with HooklineHooks(engine=diary).client(make_options(agent, api, str(tmp_path))) as client:
            await client.query("go")
            await asyncio.wait_for(started.wait(), 20)
            await client.interrupt()
            async for _ in client.receive_response():
                pass
            assert await run_once(client, "go on") == "fine"
    statuses = [event.fields.status for event in diary.all("after_turn")]
    assert statuses == ["interrupted", "ok"]
    assert diary.fields("after_tool_call")["result"]["failed"] is True


async def test_the_users_own_callbacks_go_on_working(tmp_path: Path, diary: Diary) -> None:
    heard = []

    async def hear(data: Any, call_id: str | None, context: Any) -> Any:
        heard.append(data["tool_name"])
        return {}

    stage = Stage(tmp_path, hooks={"PreToolUse": [HookMatcher(hooks=[hear])]})
    await stage.run(diary, LS)
    assert heard == ["mcp__t__bash"]
    assert "before_tool_call" in diary.names


async def test_an_error_of_the_engine_runs_no_tool(stage: Stage) -> None:
    def decide(event: Event) -> Decision:
        raise RuntimeError(f"broken at {event.name}")

    await stage.run(Diary({"before_tool_call": decide}), LS)
    assert stage.ran == []


def test_options_keep_what_the_user_set() -> None:
    client: Any = HooklineHooks(engine=Diary()).client(ClaudeAgentOptions(model="m"))
    assert client.options.model == "m"
    assert all(matcher.on_failure == "block" for matchers in client.options.hooks.values() for matcher in matchers)


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("done", "done"),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"stdout": "out", "stderr": "err", "interrupted": False}, "out\nerr"),
        ({"file": {"content": "x"}}, '{"file": {"content": "x"}}'),
        (None, "null"),
    ],
)
def test_the_result_of_a_tool_is_read_as_a_text(response: Any, text: str) -> None:
    assert read_response(response) == text


def told(response: Any, after: str) -> Any:
    data = {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_response": response}
    answer = tell(data, read_response(response), after)
    return answer.get("hookSpecificOutput", {}).get("updatedToolOutput", answer)


def test_a_result_that_hooks_leave_alone_is_left_alone() -> None:
    assert told("done", "done") == {}


def test_what_hooks_add_to_a_result_leaves_it_as_it_is() -> None:
    added = {"hookEventName": "PostToolUse", "additionalContext": "shared"}
    assert told({"file": 1}, '{"file": 1}\nshared') == {"hookSpecificOutput": added}


def test_another_text_takes_the_place_of_the_old_one_and_images_stay() -> None:
    image = {"type": "image", "data": "..."}
    assert told([{"type": "text", "text": "a"}, image], "b") == [{"type": "text", "text": "b"}, image]
    assert told({"stdout": "a", "stderr": "c", "interrupted": False}, "b")["stdout"] == "b"
    assert told("a", "b") == "b"


def test_a_record_can_be_changed_as_json() -> None:
    assert told({"file": {"content": "4711"}}, '{"file": {"content": "[redacted]"}}') == {
        "file": {"content": "[redacted]"}
    }


def test_a_record_that_would_be_shown_after_all_stops_the_agent() -> None:
    assert told({"file": {"content": "4711"}}, "[redacted]")["continue_"] is False


def test_what_hooks_make_of_an_error_is_told_beside_it() -> None:
    data = {"hook_event_name": "PostToolUseFailure", "tool_name": "Read", "error": "4711"}
    assert tell(data, "4711", "see the manual") == {
        "hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": "see the manual"}
    }
