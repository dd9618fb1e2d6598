"""
The contract of adapters: one check for each ability of `hookline.adapters.table`, with real hooks and real frameworks.

A check gets a `Stage`: a project to write hooks in, an engine over it, and the framework behind its driver.
"""

from __future__ import annotations

import asyncio
import json
import textwrap
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.driver import Agent, Call, Driver, Face, Seen, Step
from hookline import AfterToolCall, Decision, Engine, Event, Fields, PromptBlockedError, UserPromptSubmit
from hookline.adapters.table import Host
from support import Bench
from waiting import wait_until

Check = Callable[["Stage"], Awaitable[None]]
Edit = Callable[[Event], Fields]
CHECKS: dict[str, Check] = {}

NO_RM = """
  - id: no-rm
    event: before_tool_call
    match: {args: {command: {regex: '^rm'}}}
    run: {type: shell, shell: 'echo "move it to .trash instead" >&2; exit 2'}
    execution: {mode: blocking, on_error: block}
"""


def ability(name: str) -> Callable[[Check], Check]:
    """The check of an ability."""

    def note(check: Check) -> Check:
        CHECKS[name] = check
        return check

    return note


class Stage:
    """A project with hooks, tools that note their calls, and a framework to run agents in."""

    def __init__(self, host: Host, bench: Bench, *, face: Face = "async") -> None:
        self.host = host
        self.bench = bench
        self.face: Face = face
        self.ran: list[str] = []
        self.seen = Seen()
        self._hooks = ""
        self._driver: Driver = import_module(f"adapters.drivers.{host.module_name}")

    def hook(self, text: str) -> None:
        """Write hooks, as items of the list in a hooks file."""
        self._hooks += textwrap.dedent(text).strip("\n") + "\n"

    def reply(self, event: str, reply: dict[str, Any], *, match: str = "{}") -> None:
        """Write a blocking hook that gives a reply."""
        name = f"reply-{len(self._hooks)}.json"
        self.bench.write_script(name, json.dumps(reply))
        path = self.bench.hooks_folder() / name
        self.hook(
            f"""
            - id: {name.removesuffix(".json")}
              event: {event}
              match: {match}
              run: {{type: shell, shell: 'cat "{path}" > "$HOOKLINE_HOOK_RESULT"'}}
              execution: {{mode: blocking, on_error: block}}
            """
        )

    def record(self, *events: str) -> None:
        """Write hooks that keep the payloads of events, to be read by `events`."""
        for event in events:
            self.hook(
                f"""
                - id: record-{event}
                  event: {event}
                  run: {{type: shell, shell: 'printf "%s\\n" "$(tr -d "\\n")" >> "{self._records}"'}}
                  execution: {{mode: blocking, on_error: block}}
                """
            )

    @property
    def _records(self) -> Any:
        return self.bench.root / "events.jsonl"

    @property
    def events(self) -> list[dict[str, Any]]:
        """The payloads of the recorded events, in order."""
        lines = self._records.read_text(encoding="utf-8").splitlines() if self._records.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def names(self) -> list[str]:
        return [event["event"] for event in self.events]

    def has(self, ability: str) -> bool:
        """Whether the adapter says that it gives an ability, at least partly."""
        limit = self.host.limits.get(ability)
        return limit is None or limit.level == "partly"

    async def run(
        self,
        *script: Step,
        prompts: Sequence[str] = ("go",),
        helpers: Sequence[Agent] = (),
        tools: Sequence[Callable[..., Any]] = (),
        edits: Mapping[str, Edit] | None = None,
        **options: Any,
    ) -> Seen:
        """Let an agent run on the prompts, with a shell among its tools."""
        if self._hooks:
            self.bench.write("hooks:\n" + textwrap.indent(self._hooks, "  "))
        engine = self.bench.open()
        assert engine.problems == ()
        options.setdefault("engine", Editing(engine, edits) if edits else engine)
        agent = Agent(script=script, tools=[self.bash, *tools], helpers=helpers)
        self.seen = Seen()
        await self._driver.run(agent, prompts, self.seen, face=self.face, **options)
        return self.seen

    def bash(self, command: str) -> str:
        """Run a command."""
        self.ran.append(command)
        return f"ran {command}"


class Editing:
    """An engine whose hooks make edits that native hooks cannot make and those of other formats can."""

    def __init__(self, engine: Engine, edits: Mapping[str, Edit]) -> None:
        self._engine = engine
        self._edits = edits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def fire(self, event: Event) -> Decision:
        return self._edit(await self._engine.fire(event))

    def fire_sync(self, event: Event) -> Decision:
        return self._edit(self._engine.fire_sync(event))

    def _edit(self, decision: Decision) -> Decision:
        if decision.event is None or decision.event.name not in self._edits:
            return decision
        return replace(decision, event=replace(decision.event, fields=self._edits[decision.event.name](decision.event)))


def redact(event: Event) -> Fields:
    """Take numbers out of prompts, and everything out of results."""
    fields = event.fields
    if isinstance(fields, AfterToolCall):
        return replace(fields, result=replace(fields.result, text="[redacted]"))
    assert isinstance(fields, UserPromptSubmit)
    return replace(fields, text=fields.text.replace("4711", "[redacted]"))


def shell(command: str) -> list[Call]:
    return [Call("bash", {"command": command})]


@ability("deny")
async def check_deny(stage: Stage) -> None:
    stage.hook(NO_RM)
    seen = await stage.run(shell("rm notes"), "I see")
    assert stage.ran == []
    assert "move it to .trash instead" in seen.requests[1]
    assert seen.answers == ["I see"]


@ability("rewrite")
async def check_rewrite(stage: Stage) -> None:
    stage.reply("before_tool_call", {"action": "modify", "args_override": {"command": "ls -l"}})
    seen = await stage.run(shell("ls"))
    assert stage.ran == ["ls -l"]
    assert "ran ls -l" in seen.requests[1]


@ability("validate")
async def check_validate(stage: Stage) -> None:
    stage.reply("before_tool_call", {"action": "modify", "args_override": {"command": ["no", "text"]}})
    await stage.run(shell("ls"))
    assert stage.ran == []
    assert len(stage.seen.requests) == 2 or stage.seen.errors


@ability("context")
async def check_context(stage: Stage) -> None:
    stage.reply("after_tool_call", {"extra_context": "the folder is shared"})
    seen = await stage.run(shell("ls"))
    assert "ran ls" in seen.requests[1]
    assert "the folder is shared" in seen.requests[1]


@ability("redact")
async def check_redact(stage: Stage) -> None:
    stage.record("after_tool_call")
    seen = await stage.run(shell("cat secret"), edits={"after_tool_call": redact})
    assert "[redacted]" in seen.requests[1]
    assert "ran cat secret" not in seen.requests[1]


@ability("remind")
async def check_remind(stage: Stage) -> None:
    stage.reply("user_prompt_submit", {"system_reminder": "Keep it short."})
    seen = await stage.run(shell("ls"), shell("ls"))
    assert [request.count("Keep it short.") for request in seen.requests] == [1, 1, 1]


@ability("prompt-context")
async def check_prompt_context(stage: Stage) -> None:
    stage.reply("user_prompt_submit", {"extra_context": "It is Monday."})
    seen = await stage.run("fine")
    assert "go" in seen.requests[0]
    assert "It is Monday." in seen.requests[0]


@ability("prompt-rewrite")
async def check_prompt_rewrite(stage: Stage) -> None:
    stage.record("user_prompt_submit")
    seen = await stage.run("fine", prompts=["the number is 4711"], edits={"user_prompt_submit": redact})
    assert len(seen.requests) == 1
    assert "the number is [redacted]" in seen.requests[0]
    assert "4711" not in seen.requests[0]


@ability("prompt-block")
async def check_prompt_block(stage: Stage) -> None:
    stage.hook(
        """
        - id: no-keys
          event: user_prompt_submit
          run: {type: shell, shell: 'if grep -q sk-123; then echo "a key" >&2; exit 2; fi'}
          execution: {mode: blocking, on_error: block}
        """
    )
    seen = await stage.run("hello", "bye", prompts=["one", "my key is sk-123", "three"])
    assert [isinstance(error, PromptBlockedError) for error in seen.errors] == [True]
    assert seen.answers == ["hello", "bye"]
    assert "one" in seen.requests[1]
    assert not [request for request in seen.requests if "sk-123" in request]


@ability("ask")
async def check_ask(stage: Stage) -> None:
    stage.reply("before_tool_call", {"action": "ask", "reason": "this leaves the machine"})
    asked = []

    def agree(question: Any) -> bool:
        asked.append(question.reason)
        return len(asked) == 1

    await stage.run(shell("git push"), ask=agree)
    assert stage.ran == ["git push"]
    await stage.run(shell("git push"), ask=agree)
    assert "this leaves the machine" in stage.seen.requests[1]
    await stage.run(shell("git push"))
    assert stage.ran == ["git push"]
    assert asked == ["this leaves the machine"] * 2
    assert "nobody could be asked" in stage.seen.requests[-1]


LIFE = ("session_start", "user_prompt_submit", "before_turn", "after_turn", "session_end")


@ability("turn")
async def check_turn(stage: Stage) -> None:
    stage.record(*LIFE, "before_tool_call", "after_tool_call")
    await stage.run(shell("ls"), "done", prompts=["tidy up"])
    assert stage.names == [*LIFE[:3], "before_tool_call", "after_tool_call", *LIFE[3:]]
    by_name = {event["event"]: event for event in stage.events}
    assert by_name["user_prompt_submit"]["text"] == "tidy up"
    assert by_name["after_turn"]["status"] == "ok"
    assert by_name["after_tool_call"]["result"]["text"] == "ran ls"
    assert by_name["before_tool_call"]["tool"]["args"] == {"command": "ls"}
    assert by_name["before_tool_call"]["tool"]["call_id"] == by_name["after_tool_call"]["tool"]["call_id"] != ""
    assert {event["profile"] for event in stage.events} == {"Main"}
    assert len({event["session_id"] for event in stage.events}) == 1


@ability("turn-failed")
async def check_turn_failed(stage: Stage) -> None:
    stage.record("after_turn", "session_end")
    seen = await stage.run(RuntimeError("the provider is down"))
    assert "the provider is down" in str(seen.errors[0])
    assert [event.get("status") for event in stage.events] == ["failed", None]


@ability("turn-interrupted")
async def check_turn_interrupted(stage: Stage) -> None:
    stage.record("before_turn", "after_tool_call", "after_turn", "session_end")
    started = asyncio.Event()

    async def wait() -> str:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()
        return ""

    task = asyncio.ensure_future(stage.run([Call("wait", {})], tools=[wait]))
    await asyncio.wait_for(started.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "before_turn" in stage.names
    await wait_until(lambda: len(stage.names) == 4, "the end was recorded")
    # Frameworks that cancel a run and its tools at once leave both at once.
    by_name = {event["event"]: event for event in stage.events}
    assert by_name.keys() == {"before_turn", "after_tool_call", "after_turn", "session_end"}
    assert by_name["after_tool_call"]["result"]["failed"] is True
    assert by_name["after_turn"]["status"] == "interrupted"


@ability("denied-report")
async def check_denied_report(stage: Stage) -> None:
    stage.hook(NO_RM)
    stage.record("after_tool_call", "tool_error")
    await stage.run(shell("rm notes"))
    assert stage.names == ["after_tool_call"]
    result = stage.events[0]["result"]
    assert (result["approval_rejected"], result["rejection_source"], result["hook_denied"]) == (True, "hook", True)


@ability("tool-error")
async def check_tool_error(stage: Stage) -> None:
    stage.record("after_tool_call", "tool_error", "after_turn")

    def fail() -> str:
        """Fail."""
        raise ValueError("no such file")

    await stage.run([Call("fail", {})], "I see", tools=[fail])
    assert stage.names[:2] == ["after_tool_call", "tool_error"]
    ends = [event["status"] for event in stage.events[2:]]
    assert len(ends) == stage.has("turn")
    assert stage.events[0]["result"]["error"] is True
    assert "no such file" in stage.events[1]["result"]["text"]
    # Some frameworks tell the model, others end the run; hooks make no difference to it.
    if stage.seen.errors:
        assert isinstance(stage.seen.errors[0], ValueError) or "no such file" in str(stage.seen.errors[0])
        assert set(ends) <= {"failed"}
    else:
        assert "no such file" in stage.seen.requests[1]
        assert set(ends) <= {"ok"}


@ability("parallel")
async def check_parallel(stage: Stage) -> None:
    stage.hook(NO_RM)
    stage.record("after_tool_call")
    seen = await stage.run([*shell("ls"), *shell("rm notes"), *shell("pwd")])
    assert sorted(stage.ran) == ["ls", "pwd"]
    assert all(text in seen.requests[1] for text in ("ran ls", "ran pwd", "move it to .trash instead"))
    denied = {event["tool"]["args"]["command"]: event["result"]["approval_rejected"] for event in stage.events}
    assert denied == {"ls": False, "rm notes": True, "pwd": False}


@ability("sub-agent")
async def check_sub_agent(stage: Stage) -> None:
    stage.hook(NO_RM)
    stage.record("sub_agent_start", "after_tool_call", "sub_agent_end", "before_turn", "session_start")
    helper = Agent(name="Researcher", script=[shell("rm notes"), "found it"], tools=[stage.bash])
    seen = await stage.run([Call("Researcher", {"task": "look"})], "thanks", helpers=[helper])
    assert stage.ran == []
    assert "move it to .trash instead" in seen.helped[1]
    assert "found it" in seen.requests[1]
    assert stage.names == [
        "session_start",
        "before_turn",
        "sub_agent_start",
        "after_tool_call",
        "sub_agent_end",
        "after_tool_call",
    ]
    agents = [(event["agent"]["name"], event["agent"]["depth"], event["profile"]) for event in stage.events]
    assert agents == [("Main", 0, "Main")] * 2 + [("Researcher", 1, "Researcher")] * 3 + [("Main", 0, "Main")]
    assert stage.events[2]["sub_agent"]["parent_call_id"] == stage.events[5]["tool"]["call_id"]


async def check_face(stage: Stage) -> None:
    """Deny, rewrite, remind and report in one run."""
    stage.hook(NO_RM)
    stage.reply("before_tool_call", {"action": "modify", "args_override": {"command": "ls -l"}}, match=_LS)
    stage.reply("user_prompt_submit", {"system_reminder": "Keep it short."})
    stage.record(*LIFE)
    seen = await stage.run(shell("rm notes"), shell("ls"), "all is done")
    assert stage.ran == ["ls -l"]
    assert "move it to .trash instead" in seen.requests[1]
    assert "ran ls -l" in seen.requests[2]
    assert [request.count("Keep it short.") for request in seen.requests] == [1, 1, 1]
    assert seen.answers == ["all is done"]
    assert stage.names == list(LIFE)
    assert stage.events[3]["status"] == "ok"


_LS = "{args: {command: {equals: ls}}}"


@ability("stream")
async def check_stream(stage: Stage) -> None:
    stage.face = "stream"
    await check_face(stage)


@ability("sync")
async def check_sync(stage: Stage) -> None:
    stage.face = "sync"
    await check_face(stage)


FAILURES = {
    "crashes": "{type: shell, shell: 'kill -9 $$'}",
    "exits": "{type: shell, shell: 'exit 7'}",
    "hangs": "{type: shell, shell: 'sleep 60'}",
    "cannot start": "{type: command, argv: [./no-such-program]}",
}


@ability("failing-hook")
async def check_failing_hook(stage: Stage) -> None:
    for number, run in enumerate(FAILURES.values()):
        for on_error in ("block", "warn"):
            stage.hook(
                f"""
                - id: failing-{number}-{on_error}
                  event: before_tool_call
                  match: {{args: {{command: {{equals: '{number} {on_error}'}}}}}}
                  run: {run}
                  execution: {{mode: blocking, on_error: {on_error}, timeout_seconds: 0.3}}
                """
            )
    commands = [f"{number} {on_error}" for number in range(len(FAILURES)) for on_error in ("block", "warn")]
    seen = await stage.run([call for command in commands for call in shell(command)])
    assert sorted(stage.ran) == [command for command in commands if command.endswith("warn")]
    for number in range(len(FAILURES)):
        assert f"failing-{number}-block" in seen.requests[1]
