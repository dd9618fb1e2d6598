"""What `hookline import` writes decides as the setup does that it was made from: both are asked, with real programs."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from entries import command_hook, make_entry, script_hook, shell_hook, write_file
from hook_folders import make_spec
from hookline import AfterToolCall, AfterTurn, Decision, Engine, Event, SessionStart, Tool, ToolResult
from hookline.config.file import load_file
from hookline.config.json_text import parse_json
from hookline.config.lint import lint_file
from hookline.config.locate import HookFile
from hookline.conversion.base import Conversion
from hookline.conversion.layout import write_file as write_native
from hookline.conversion.setup import convert
from hookline.dialects.native import NATIVE
from hookline.errors import ConfigError
from hookline.objects.specs import read_specs
from support import Bench, make_event, make_prompt_event, make_result_event

CHRYS_REPLY = 'printf %s {} > "$CHRYS_HOOK_RESULT"'


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> Iterator[None]:
    """Hookline on the search path, and a home where nobody has hooks of their own."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(bench.root))
    monkeypatch.setenv("SHELL", "/bin/sh")
    yield


class Setups:
    """Setups of other formats, and the native files they become."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def chrys(self, *entries: Mapping[str, Any], **root: Any) -> Path:
        return self._bench.write(write_file(*entries, **root), dialect="chrys")

    def vix(self, **specs: Mapping[str, Any]) -> Path:
        folder = self._bench.root / ".vix" / "hooks"
        for name, spec in specs.items():
            (folder / name).mkdir(parents=True)
            (folder / name / "hook.json").write_text(json.dumps(spec), encoding="utf-8")
        return folder

    def objects(self, *specs: Mapping[str, Any]) -> Path:
        path = self._bench.root / "objects.json"
        path.write_text(json.dumps(specs), encoding="utf-8")
        return path

    def imported(self, path: Path) -> tuple[Engine, Conversion]:
        """An engine over the native file alone, which must load without a word."""
        conversion = convert(path)
        engine = self._bench.open(write_native(conversion), dialects=["native"])
        assert [str(problem) for problem in engine.problems] == []
        file = HookFile(layer="project", dialect=NATIVE, path=self._bench.hooks_folder() / "hooks.yaml")
        assert {problem.code for problem in lint_file(load_file(file))} <= {"broad-gate"}
        return engine, conversion

    def original(self, path: Path) -> Engine:
        """An engine over the setup as it is."""
        dialect = "vix" if path.is_dir() else "chrys" if ".chrys" in path.parts else ""
        engine = self._bench.open("hooks: []", dialects=["native", *([dialect] if dialect else [])])
        if not dialect:
            engine.attach(read_specs(parse_json(path.read_text(encoding="utf-8"), path)).hooks)
        return engine

    def ask_both(self, path: Path, event: Event) -> tuple[Decision, Decision]:
        """What the setup decides, and what the native file does."""
        return _fire(self.original(path), event), _fire(self.imported(path)[0], event)


@pytest.fixture
def setups(bench: Bench) -> Setups:
    return Setups(bench)


def _fire(engine: Engine, event: Event) -> Decision:
    async def fire() -> Decision:
        return await engine.settle(await engine.fire(event))

    return asyncio.run(fire())


def describe(decision: Decision) -> dict[str, Any]:
    """What a host does by a decision; of a failure only that it blocks, since it names how the hook was run."""
    is_failure = any(run.status in ("failed", "timeout") for run in decision.runs)
    return {
        "verdict": decision.verdict,
        "reason": None if is_failure else decision.reason,
        "user_message": decision.user_message,
        "edits": dict(decision.edits),
        "reminders": decision.reminders,
        "context": decision.context,
        "failed": is_failure,
    }


def reply_chrys(**reply: Any) -> str:
    return CHRYS_REPLY.format(shlex.quote(json.dumps(reply)))


def make_chrys(text: str, **options: Any) -> dict[str, Any]:
    return shell_hook("hook", text, **options)


BASH = {"tool_name": "bash"}
CHRYS: dict[str, tuple[dict[str, Any], Event, dict[str, Any]]] = {
    "block": (make_chrys(reply_chrys(action="block", reason="no")), make_event(), {"verdict": "block", "reason": "no"}),
    "block without a reason": (make_chrys(reply_chrys(action="block")), make_event(), {"verdict": "block"}),
    "reason is a number": (make_chrys(reply_chrys(action="BLOCK", reason=5)), make_event(), {"reason": "5"}),
    "exit 2 is a failure": (make_chrys("echo no >&2; exit 2", on_error="warn"), make_event(), {"failed": True}),
    "exit 2 of a guard": (
        make_chrys("exit 2", on_error="block"),
        make_event(),
        {"verdict": "block", "failed": True},
    ),
    "exit 3 of a guard": (make_chrys("exit 3", on_error="block"), make_event(), {"verdict": "block"}),
    "program is missing": (
        command_hook("hook", "no-such-program", on_error="block"),
        make_event(),
        {"verdict": "block", "failed": True},
    ),
    "time is up": (
        make_chrys("sleep 20", on_error="block", timeout_seconds=0.1),
        make_event(),
        {"verdict": "block", "failed": True},
    ),
    "ended by a signal": (make_chrys("kill -9 $$", on_error="block"), make_event(), {"verdict": "block"}),
    "reply is no JSON": (
        make_chrys('echo nonsense > "$CHRYS_HOOK_RESULT"', on_error="block"),
        make_event(),
        {"verdict": "allow", "failed": False},
    ),
    "modify": (
        make_chrys(reply_chrys(action="modify", args_override={"command": "true", "n": 1})),
        make_event(args={"command": "ls", "path": "."}),
        {"edits": {"args": {"command": "true", "path": ".", "n": 1}}},
    ),
    "payload": (
        make_chrys(
            'test "$CHRYS_HOOK_ID/$CHRYS_HOOK_EVENT" = hook/before_tool_call && '
            'grep -q \'"name": "bash"\' "$CHRYS_HOOK_PAYLOAD_FILE" && '
            f'! grep -q event_id "$CHRYS_HOOK_PAYLOAD_FILE" && {reply_chrys(action="block", reason="x")}'
        ),
        make_event(),
        {"verdict": "block", "reason": "x"},
    ),
    "stdin is empty": (
        make_chrys(f'test -z "$(cat)" && {reply_chrys(action="block", reason="e")}'),
        make_event(),
        {"reason": "e"},
    ),
    "native variables are not there": (
        make_chrys(f'test -z "$HOOKLINE_HOOK_RESULT$HOOKLINE_HOOK_ID" && {reply_chrys(action="block", reason="e")}'),
        make_event(),
        {"reason": "e"},
    ),
    "depth": (
        make_chrys(f'test "$HOOKLINE_HOOK_DEPTH" = 1 && {reply_chrys(action="block", reason="one")}'),
        make_event(),
        {"reason": "one"},
    ),
    "reminder": (
        make_chrys(reply_chrys(system_reminder="mind"), event="user_prompt_submit"),
        make_prompt_event(),
        {"reminders": ("mind",)},
    ),
    "context": (
        make_chrys(reply_chrys(extra_context="note"), event="after_tool_call"),
        make_result_event(),
        {"context": ("note",)},
    ),
    "match": (
        make_chrys(
            reply_chrys(action="block", reason="m"),
            match={"tool_kind": "chrys.shell", "args": {"command": {"regex": r"rm\s+'-rf'", "contains": "on"}}},
        ),
        make_event(args={"command": "rm  '-rf' on"}),
        {"reason": "m"},
    ),
    "no match": (
        make_chrys("exit 1", match={"args": {"command": {"equals": "rm"}}}, on_error="block"),
        make_event(),
        {"verdict": "allow", "failed": False},
    ),
    "own variables and a template": (
        make_entry(
            "hook",
            {
                "type": "shell",
                "shell": f'test "$PYTHONPATH" = "here/$HOME/.chrys" && {reply_chrys(action="block", reason="v")}',
            },
            env={"PYTHONPATH": "here/${chrys_home}"},
        ),
        make_event(),
        {"reason": "v"},
    ),
    "directory": (
        make_entry(
            "hook",
            {"type": "shell", "shell": f'test "$(pwd)" = / && {reply_chrys(action="block", reason="d")}'},
            cwd="/",
        ),
        make_event(),
        {"reason": "d"},
    ),
    "nobody waits": (make_chrys(reply_chrys(action="block"), mode="async"), make_event(), {"verdict": "allow"}),
    "switched off": ({**make_chrys("exit 1", on_error="block"), "enabled": False}, make_event(), {"verdict": "allow"}),
}


@pytest.mark.parametrize("name", CHRYS)
def test_a_chrys_hook_decides_as_before(setups: Setups, bench: Bench, name: str):
    entry, event, expected = CHRYS[name]
    before, after = map(describe, setups.ask_both(setups.chrys(entry), _in_project(event, bench)))
    assert after == before
    assert expected.items() <= after.items()


def test_a_chrys_script_is_run_with_its_arguments(setups: Setups, bench: Bench):
    bench.write_script("say.sh", f'test "$1" = "a b" && {reply_chrys(action="block", reason="s")}', dialect="chrys")
    entry = script_hook("hook", "say.sh", on_error="block")
    entry["run"]["args"] = ["a b"]
    before, after = map(describe, setups.ask_both(setups.chrys(entry), bench.event()))
    assert after == before
    assert after["reason"] == "s"


def vix(command: str, event: str = "PreToolUse", **keys: Any) -> dict[str, Any]:
    """A hook that the agent waits for, and that may block where it can be."""
    can_block = event in ("PreToolUse", "UserPromptSubmit", "PermissionRequest")
    return make_spec(
        event=event, **{"command": command, "enabled": True, "mode": "sync", "blocking": can_block, **keys}
    )


def say(**decision: Any) -> str:
    return f"printf %s {shlex.quote(json.dumps(decision))}"


REJECTED = ToolResult(text="no", failed=True, approval_rejected=True, rejection_source="hook")
VIX: dict[str, tuple[dict[str, Any], Event, dict[str, Any]]] = {
    "exit 2": (vix("echo no >&2; exit 2"), make_event(), {"verdict": "block", "reason": "no"}),
    "exit 2 with the reason on stdout": (vix("echo so; exit 2"), make_event(), {"reason": "so"}),
    "exit 2 without a word": (vix("exit 2"), make_event(), {"reason": "blocked by hook"}),
    "exit 1": (vix(f"{say(behavior='deny')}; exit 1"), make_event(), {"verdict": "allow", "failed": True}),
    "exit 1 of a guard": (vix("exit 1", on_error="block"), make_event(), {"verdict": "block", "failed": True}),
    "deny": (vix(say(behavior="deny", reason="r")), make_event(), {"verdict": "block", "reason": "r"}),
    "unreadable decision of a guard": (vix(say(behavior="DENY"), on_error="block"), make_event(), {"verdict": "block"}),
    "time is up": (vix("sleep 20", timeout="100ms", on_error="block"), make_event(), {"verdict": "block"}),
    "verdict is not waited for": (vix("sleep 20 & echo no >&2; exit 2"), make_event(), {"reason": "no"}),
    "modify that keeps the keys": (
        vix(say(behavior="modify", input={"command": "true", "n": 1})),
        make_event(),
        {"edits": {"args": {"command": "true", "n": 1}}},
    ),
    "not blocking beside a prompt": (
        vix("echo no >&2; exit 2", "UserPromptSubmit", blocking=False),
        make_prompt_event(),
        {"verdict": "allow", "context": ("no",)},
    ),
    "context beside a prompt": (vix("echo note", "UserPromptSubmit"), make_prompt_event(), {"context": ("note",)}),
    "context behind a result": (vix("echo note", "PostToolUse"), make_result_event(), {"context": ("\n[hook] note",)}),
    "call that a hook rejected": (
        vix("echo note", "PostToolUse"),
        Event(AfterToolCall(tool=Tool(name="edit"), result=REJECTED)),
        {"context": ()},
    ),
    "one name": (vix("exit 2", matcher="bash"), make_event(), {"verdict": "block"}),
    "one name of another": (vix("exit 2", matcher="bash"), make_event(tool="bash2"), {"verdict": "allow"}),
    "several names": (vix("exit 2", matcher=" edit|bash|bash "), make_event(), {"verdict": "block"}),
    "several names of others": (vix("exit 2", matcher="edit|bash"), make_event(tool="ls"), {"verdict": "allow"}),
    "pattern": (vix("exit 2", matcher="(?i)BA.*"), make_event(), {"verdict": "block"}),
    "pattern as a whole": (vix("exit 2", matcher="mcp__.*"), make_event(tool="mcp__a\nb"), {"verdict": "allow"}),
    "pattern where there is no subject": (
        vix("exit 2", "UserPromptSubmit", matcher="x"),
        make_prompt_event(),
        {"verdict": "allow"},
    ),
    "envelope": (
        vix("""grep -q '"hook_event_name":"PreToolUse".*"tool_input":{"command":"a\\\\u003cb"}' && exit 2"""),
        make_event(args={"command": "a<b"}),
        {"verdict": "block"},
    ),
    "directory": (vix('test "$(pwd)" = / && exit 2', cwd="/"), make_event(), {"verdict": "block"}),
    "nobody waits": (vix("exit 2", blocking=False, mode="async"), make_event(), {"verdict": "allow"}),
    "not enabled": ({**vix("exit 2"), "enabled": False}, make_event(), {"verdict": "allow"}),
}


@pytest.mark.parametrize("name", VIX)
def test_a_hook_folder_decides_as_before(setups: Setups, bench: Bench, name: str):
    spec, event, expected = VIX[name]
    before, after = map(describe, setups.ask_both(setups.vix(hook=spec), _in_project(event, bench)))
    assert after == before
    assert expected.items() <= after.items()


def test_hook_folders_are_silent_where_the_user_has_switched_them_off(
    setups: Setups, bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("VIX_DISABLE_HOOKS", "1")
    engine, _ = setups.imported(setups.vix(hook=vix("exit 2")))
    assert _fire(engine, bench.event()).is_allowed


def test_a_text_for_the_model_before_a_tool_call_is_not_kept_and_that_is_said(setups: Setups, bench: Bench):
    engine, conversion = setups.imported(setups.vix(hook=vix("echo note; echo no >&2; exit 2", blocking=False)))
    decision = _fire(engine, bench.event())
    assert (decision.verdict, decision.context) == ("allow", ())
    assert "hookline bridge: ignored: context: not on before_tool_call" in decision.runs[0].stderr
    assert [loss.message for loss in conversion.losses] == [
        "a text that it wants to put before the model is not shown to it"
    ]


def test_a_replacement_that_takes_arguments_away_blocks(setups: Setups, bench: Bench):
    engine, conversion = setups.imported(setups.vix(hook=vix(say(behavior="modify", input={"path": "x"}))))
    decision = _fire(engine, bench.event())
    assert decision.is_blocked
    assert "take the arguments 'command' away" in str(decision.reason)
    assert any("blocked instead" in loss.message for loss in conversion.losses)


def test_a_replacement_of_a_prompt_blocks(setups: Setups):
    spec = vix(say(behavior="modify", input={"prompt": "other"}), "UserPromptSubmit")
    engine, conversion = setups.imported(setups.vix(hook=spec))
    assert _fire(engine, make_prompt_event()).is_blocked
    assert not conversion.is_dangerous


def test_a_hook_on_the_start_of_a_thread_becomes_two(setups: Setups, bench: Bench):
    spec = make_spec(event="ThreadStart", enabled=True, command=f"cat > {bench.root}/seen")
    engine, conversion = setups.imported(setups.vix(hook=spec))
    assert [entry.data["id"] for entry in conversion.entries] == ["hook.session_start", "hook.session_restored"]
    _fire(engine, Event(SessionStart(), cwd=str(bench.project)))
    assert json.loads((bench.root / "seen").read_text())["source"] == "startup"


def test_hook_folders_run_in_their_order_and_the_first_deny_gives_the_reason(setups: Setups, bench: Bench):
    specs = {"a": vix("echo one >&2; exit 2"), "b": vix("echo two >&2; exit 2")}
    before, after = map(describe, setups.ask_both(setups.vix(**specs), bench.event()))
    assert after == before
    assert after["reason"] == "one"


@pytest.mark.parametrize("action", [{"prompt": "p"}, {"workflow_id": "w"}, {"workflow": [{"command": "true"}]}])
def test_a_guard_that_no_process_can_be_is_left_out_as_a_danger(setups: Setups, action: dict[str, Any]):
    spec = {**vix("", on_error="block"), **action}
    _, conversion = setups.imported(setups.vix(hook=spec, other=vix("true")))
    [loss] = [loss for loss in conversion.losses if loss.is_left_out]
    assert (loss.hook_id, loss.is_dangerous) == ("hook", True)
    assert [entry.data["id"] for entry in conversion.entries] == ["other"]


def test_a_broken_folder_that_guarded_is_a_danger(setups: Setups):
    path = setups.vix(hook=vix("true", on_error="block", timeout="1d"), other=vix("true"))
    assert convert(path).is_dangerous


def test_a_folder_that_cannot_be_read_may_have_guarded_and_is_a_danger(setups: Setups):
    path = setups.vix(hook=vix("true"), other=vix("true"))
    (path / "hook" / "hook.json").write_text("{", encoding="utf-8")
    [loss] = [loss for loss in convert(path).losses if loss.is_left_out]
    assert (loss.hook_id, loss.is_dangerous) == ("hook", True)


def test_an_observer_that_is_left_out_is_no_danger(setups: Setups):
    path = setups.vix(hook=make_spec(event="Stop", enabled=True, command=None, prompt="p"))
    conversion = convert(path)
    assert [loss.is_left_out for loss in conversion.losses] == [True]
    assert not conversion.is_dangerous


def obj(command: str, event: str = "pre_tool_use", **keys: Any) -> dict[str, Any]:
    return {"id": "hook", "event": event, "executor": {"type": "bash", "command": command}, **keys}


OBJECTS: dict[str, tuple[dict[str, Any], Event, dict[str, Any]]] = {
    "block": (
        obj(say(decision="block", reason="r", user_message="u")),
        make_event(),
        {"verdict": "block", "reason": "r", "user_message": "u"},
    ),
    "exit 1 is a block": (obj("echo no >&2; exit 1"), make_event(), {"verdict": "block", "reason": "no"}),
    "exit 2 is a block": (obj("exit 2"), make_event(), {"reason": "hook exited unsuccessfully"}),
    "allow with exit 1": (obj(f"{say(decision='allow')}; exit 1"), make_event(), {"verdict": "allow"}),
    "error": (obj(say(decision="error", message="m")), make_event(), {"verdict": "allow", "failed": True}),
    "error of a guard": (obj("echo nonsense", on_error="block"), make_event(), {"verdict": "block", "failed": True}),
    "time is up": (
        obj("sleep 20", on_error="block", timeout_ms=100),
        make_event(),
        {"verdict": "block", "failed": True},
    ),
    "arguments are merged": (
        obj(say(decision="mutate", patch={"arguments": {"a": 9, "n": None}})),
        make_event(args={"a": 1, "b": 2}),
        {"edits": {"args": {"a": 9, "b": 2, "n": None}}},
    ),
    "context": (
        obj(say(decision="mutate", patch={"additional_context": "c"}), "post_tool_use"),
        make_result_event(),
        {"context": ("c",)},
    ),
    "denied call is not told": (
        obj(say(decision="mutate", patch={"additional_context": "c"}), "post_tool_use"),
        Event(AfterToolCall(tool=Tool(name="edit"), result=REJECTED)),
        {"context": ()},
    ),
    "exact name": (obj("exit 1", matcher={"tool_name": "bash"}), make_event(), {"verdict": "block"}),
    "list of names": (obj("exit 1", matcher={"tool_name_glob": "edit | bash"}), make_event(), {"verdict": "block"}),
    "beginning of a name": (obj("exit 1", matcher={"tool_name_glob": "ba*|x"}), make_event(), {"verdict": "block"}),
    "beginning of another": (obj("exit 1", matcher={"tool_name_glob": "ed*"}), make_event(), {"verdict": "allow"}),
    "pattern on an argument": (
        obj("exit 1", matcher={"tool_name_glob": "bash", "args_jsonpath": "$.command", "match_regex": r"^rm\s+-rf$"}),
        make_event(args={"command": "rm -rf"}),
        {"verdict": "block"},
    ),
    "pattern of its own dialect": (
        obj("exit 1", matcher={"args_jsonpath": "$.command", "match_regex": "b$"}),
        make_event(args={"command": "b\n"}),
        {"verdict": "allow"},
    ),
    "payload and variables": (
        obj("")
        | {
            "executor": {
                "type": "bash",
                "command": 'grep -q tool_call_id && test "$AGENTYK_HOOK_ID/$OWN" = "hook/a b" && exit 1; true',
                "env": {"OWN": "a b"},
            }
        },
        make_event(),
        {"verdict": "block"},
    ),
    "turn": (obj("exit 1", "turn_end"), Event(AfterTurn(turn=1)), {"verdict": "allow"}),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_hook_object_decides_as_before(setups: Setups, bench: Bench, name: str):
    spec, event, expected = OBJECTS[name]
    before, after = map(describe, setups.ask_both(setups.objects(spec), _in_project(event, bench)))
    assert after == before
    assert expected.items() <= after.items()


def test_an_object_that_replaces_a_result_fails_aloud(setups: Setups):
    spec = obj(say(decision="mutate", patch={"result": "redacted"}), "post_tool_use", on_error="block")
    engine, conversion = setups.imported(setups.objects(spec))
    assert conversion.is_dangerous
    assert any("replace the result" in warning for warning in _fire(engine, make_result_event()).warnings)


def test_an_entry_that_is_no_hook_object_is_a_danger(setups: Setups):
    _, conversion = setups.imported(setups.objects(obj("true"), {**obj("true"), "id": "b", "event": "PreToolUse"}))
    [loss] = conversion.losses
    assert (loss.hook_id, loss.is_left_out, loss.is_dangerous) == ("b", True, True)


def test_a_chrys_file_with_an_error_is_refused(setups: Setups):
    with pytest.raises(ConfigError, match="none of these hooks runs in Chrys, so mend the file first"):
        convert(setups.chrys({**make_chrys("true"), "evnt": 1}))


def test_a_chrys_guard_with_a_bad_pattern_is_a_danger(setups: Setups):
    bad = {**make_chrys("true", on_error="block", match={"args": {"command": {"regex": "("}}}), "id": "bad"}
    _, conversion = setups.imported(setups.chrys(bad, make_chrys("true")))
    [loss] = conversion.losses
    assert (loss.hook_id, loss.is_left_out, loss.is_dangerous) == ("bad", True, True)


def test_a_chrys_hook_that_can_never_run_is_left_out(setups: Setups):
    never = make_chrys("true", event="after_turn", match={"tool_name": "bash"})
    _, conversion = setups.imported(setups.chrys(never))
    assert [loss.is_left_out for loss in conversion.losses] == [True]


def test_settings_of_a_chrys_file_are_kept(setups: Setups):
    path = setups.chrys(make_chrys("true"), settings={"shutdown_grace_seconds": 1.5, "max_parallel_hooks": 2})
    assert convert(path).settings == {"shutdown_grace_seconds": 1.5, "max_parallel_hooks": 2}


def test_a_durable_detached_hook_stays_one(setups: Setups):
    entry = make_chrys("true", mode="fire_and_forget", detach=True, delivery="durable", event="after_turn")
    [converted] = setups.imported(setups.chrys(entry))[1].entries
    assert {"detach": True, "delivery": "durable", "mode": "fire_and_forget"}.items() <= converted.data[
        "execution"
    ].items()


def test_a_hook_whose_text_no_file_can_hold_is_left_out(setups: Setups):
    _, conversion = setups.imported(setups.objects(obj("echo \ud800")))
    assert [(loss.is_left_out, loss.is_dangerous) for loss in conversion.losses] == [(True, True)]


def _in_project(event: Event, bench: Bench) -> Event:
    return replace(event, cwd=str(bench.project))
