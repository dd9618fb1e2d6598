"""What a `hook.json` says, and what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from hook_folders import make_spec, read_spec, refuse_spec
from hookline.folders.event_names import FOLDER_EVENTS
from hookline.folders.json_text import JsonError
from hookline.folders.spec import FolderSpec, SpecError, parse_spec
from hookline.hook import WorkflowStep
from hookline.problem import Place
from json_values import values
from properties import steady

PATH = Path("d/hook.json")


def refuse_text(text: str) -> JsonError:
    with pytest.raises(JsonError) as caught:
        parse_spec(text, PATH)
    return caught.value


# Defaults


def test_a_spec_that_says_little_has_the_documented_defaults():
    """Case 1 and fact 3 of the folder contract."""
    spec = parse_spec('{"trigger":{"event":"Stop"},"command":"true"}', PATH)
    assert spec == FolderSpec(
        id="d",
        directory="d",
        event="Stop",
        command="true",
        enabled=False,
        mode="async",
        timeout="10m",
        timeout_s=600,
        auto_write=True,
        auto_dirs=True,
        cwd="",
        on_error="warn",
        place=Place(path=PATH, line=1, column=21),
    )


def test_the_timeout_depends_on_the_mode_unless_it_is_written():
    """Case 2 and fact 11 of the folder contract."""
    assert read_spec(mode="sync").timeout == "5s"
    assert read_spec(mode="sync").timeout_s == 5
    assert read_spec(mode="sync", timeout="120s").timeout == "120s"
    assert read_spec(timeout="+120s").timeout == "+120s"
    assert read_spec(timeout="").timeout == "10m"


def test_permissions_are_on_until_they_are_switched_off():
    """Fact 3 of the folder contract."""
    spec = read_spec(permissions={"auto_write": False, "auto_dirs": None})
    assert (spec.auto_write, spec.auto_dirs) == (False, True)


def test_a_spec_says_everything_there_is_to_say():
    """Fact 2 of the folder contract."""
    spec = read_spec(
        id="guard",
        name="Guard",
        enabled=True,
        event="PreToolUse",
        matcher="bash",
        mode="sync",
        blocking=True,
        cwd="/tmp",
        timeout="2s",
        on_error="block",
        created_by="ann",
        description="says no",
    )
    assert (spec.id, spec.directory, spec.title, spec.event) == ("guard", "d", "Guard", "PreToolUse")
    assert (spec.enabled, spec.mode, spec.blocking, spec.on_error) == (True, "sync", True, "block")
    assert (spec.cwd, spec.timeout_s, spec.created_by, spec.description) == ("/tmp", 2, "ann", "says no")
    assert spec.matcher.accepts("bash")
    assert spec.is_guard
    assert spec.is_waited_for


@pytest.mark.parametrize("event", [row.name for row in FOLDER_EVENTS])
def test_every_event_of_the_table_is_taken(event: str):
    """Fact 5 of the folder contract."""
    assert read_spec(event=event).event == event


@pytest.mark.parametrize("event", ["ThreadStart", "Stop", "PreCompact", "PostCompact", "SubagentStart", "SubagentStop"])
def test_nobody_waits_for_a_sync_hook_where_there_is_nothing_to_wait_for(event: str):
    """Fact 45 of the folder contract: it is run like an async one, and keeps its five seconds."""
    spec = read_spec(event=event, mode="sync")
    assert not spec.is_waited_for
    assert (spec.mode, spec.timeout, spec.timeout_s) == ("sync", "5s", 5)


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "UserPromptSubmit", "PermissionRequest"])
def test_the_agent_waits_for_a_sync_hook_where_its_answer_counts(event: str):
    assert read_spec(event=event, mode="sync").is_waited_for
    assert not read_spec(event=event, mode="async").is_waited_for


# Reading as Go does


def test_keys_are_read_in_any_case():
    """Fact 4 of the folder contract."""
    text = '{"ID":"x","ENABLED":true,"Trigger":{"EVENT":"Stop","mAtcher":"a"},"Command":"true","permission\u017f":{}}'
    spec = parse_spec(text, PATH)
    assert (spec.id, spec.enabled, spec.event, spec.matcher.text) == ("x", True, "Stop", "a")


def test_unknown_keys_are_passed_over():
    """Fact 4 of the folder contract."""
    assert read_spec(colour="red", trigger={"event": "Stop", "also": [1]}).event == "Stop"


def test_of_a_key_that_stands_twice_the_last_counts_and_groups_add_up():
    text = '{"mode":"sync","MODE":"async","trigger":{"event":"Stop"},"trigger":{"matcher":"a"},"command":"x"}'
    spec = parse_spec(text, PATH)
    assert (spec.mode, spec.event, spec.matcher.text) == ("async", "Stop", "a")


def test_a_null_sets_nothing():
    spec = read_spec(id=None, name=None)
    text = json.dumps(make_spec() | {"id": None, "mode": None, "workflow": None, "permissions": None, "enabled": None})
    assert parse_spec(text, PATH) == read_spec()
    assert spec.id == "d"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"enabled": "yes"}, "enabled must be true or false, not a text"),
        ({"blocking": 1}, "blocking must be true or false, not a number"),
        ({"command": ["a"]}, "command must be a text, not a list"),
        ({"timeout": 5}, "timeout must be a text, not a number"),
        ({"trigger": "Stop"}, "trigger must be an object, not a text"),
        ({"trigger": {"event": True}}, "trigger.event must be a text, not a bool"),
        ({"permissions": []}, "permissions must be an object, not a list"),
        ({"permissions": {"auto_write": "no"}}, "permissions.auto_write must be true or false, not a text"),
        ({"workflow": "w"}, "workflow must be a list of steps, not a text"),
        ({"on_error": {}}, "on_error must be a text, not an object"),
    ],
)
def test_a_value_of_the_wrong_type_cannot_be_read(keys: dict[str, Any], message: str):
    """Fact 4 of the folder contract."""
    assert str(refuse_text(json.dumps(make_spec() | keys))) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected end"),
        ("{", "unexpected end"),
        ('{"a":1,}', "expecting property name"),
        ("{} {}", "stands behind the value"),
        ("{}x", "stands behind the value"),
        ("[]", "a spec is an object, not a list"),
        ("7", "a spec is an object, not a number"),
        ("\ufeff{}", "expecting value"),
        ('{"a": NaN}', "NaN is no JSON"),
        ('{"a": -Infinity}', "-Infinity is no JSON"),
        ("{'a': 1}", "expecting property name"),
        ('{"a": "\n"}', "invalid control character"),
        ("[" * 100_000, "nested too deep"),
        ('{"a": ' + "9" * 5000 + "}", "a number is too long"),
        ('{"a": 1e999}', "too large"),
    ],
)
def test_a_text_that_is_not_exactly_one_object_cannot_be_read(text: str, message: str):
    """Fact 4 of the folder contract."""
    assert message in str(refuse_text(text))


def test_a_fault_of_the_text_has_its_place():
    assert refuse_text('{"enabled": 5}').offset == 12


@given(values)
@steady
def test_any_json_is_read_or_refused(value: Any):
    try:
        parse_spec(json.dumps(value, allow_nan=False), PATH)
    except (SpecError, JsonError, ValueError) as error:
        assert str(error)


# The id


@pytest.mark.parametrize("hook_id", ["../x", "", "a/b", ".", "..", "/etc", "a\\b", "a\x00", "a\nb", " a", "x" * 256])
def test_an_id_that_is_no_plain_name_is_refused(hook_id: str):
    """Case 41 of the folder contract, and W10."""
    message = refuse_spec(id=hook_id)
    assert "id" in message


@pytest.mark.parametrize("hook_id", ["a", "no-rm", "a.b", ".hidden", "größe", "two words"])
def test_a_plain_name_is_an_id(hook_id: str):
    assert read_spec(id=hook_id).id == hook_id


# The checks and their order


def test_a_missing_event_is_told_before_a_bad_mode():
    """Case 4 of the folder contract."""
    assert refuse_spec(trigger={}, mode="nope").startswith("missing event")
    assert refuse_spec(trigger=None, mode="nope").startswith("missing event")


ORDER: list[tuple[str, dict[str, Any], str]] = [
    ("id", {"id": "a/b"}, "id 'a/b' is no plain name"),
    ("event", {"trigger": {"event": "Nope"}}, "unsupported event 'Nope'"),
    ("mode", {"mode": "later"}, 'invalid mode \'later\': it must be "sync" or "async"'),
    ("both workflows", {"workflow_id": "w", "workflow": []}, "workflow_id and workflow are both set"),
    ("inline workflow", {"command": None, "workflow": []}, "invalid inline workflow: it has no steps"),
    ("blocking", {"blocking": True}, 'blocking needs mode "sync"'),
    ("timeout", {"timeout": "nope"}, "invalid timeout: 'nope' is no duration"),
    ("matcher", {"trigger": {"event": "Stop", "matcher": "("}}, "invalid matcher '(': "),
    ("on_error", {"on_error": "stop"}, "invalid on_error 'stop': it must be warn, block or ignore"),
]


@pytest.mark.parametrize("index", range(len(ORDER)), ids=[name for name, _, _ in ORDER])
def test_the_first_fault_is_told(index: int):
    """Fact 7 of the folder contract: each fault hides those that come after it."""
    keys: dict[str, Any] = {}
    for _, later, _ in reversed(ORDER[index:]):
        keys |= later
        if "trigger" in later and index > 1:
            keys["trigger"] = {"event": "Stop", "matcher": "("}
    assert refuse_spec(**keys).startswith(ORDER[index][2])


def test_an_unknown_event_is_named():
    """Case 3 and fact 5 of the folder contract: events are spelled exactly."""
    assert "unsupported event 'pretooluse'" in refuse_spec(event="pretooluse")
    assert "unsupported event ' Stop'" in refuse_spec(event=" Stop")


def test_exactly_one_action_is_asked_for():
    """Case 5 of the folder contract."""
    assert "more than one action: keep only one of command and prompt" in refuse_spec(command="x", prompt="y")
    assert "exactly one of" in refuse_spec(command=None)
    assert "keep only one of command and workflow" in refuse_spec(workflow=[{"command": "x"}])


@pytest.mark.parametrize("key", ["command", "prompt", "workflow_id"])
@pytest.mark.parametrize("blank", ["", "   ", "\n\t", "\u3000"])
def test_a_blank_action_counts_nowhere(key: str, blank: str):
    """Fact 8 of the folder contract, and W9."""
    wanted = {"command": "prompt", "prompt": "command", "workflow_id": "command"}[key]
    spec = read_spec(**{"command": None, key: blank, wanted: "do it"})
    assert (getattr(spec, key), getattr(spec, wanted)) == ("", "do it")
    assert "no action" in refuse_spec(**{"command": None, key: blank})


def test_a_blank_workflow_id_does_not_contradict_an_inline_workflow():
    """Fact 8 of the folder contract, and W9."""
    spec = read_spec(command=None, workflow_id="  ", workflow=[{"command": "ls"}])
    assert spec.workflow == (WorkflowStep(command="ls"),)
    assert spec.workflow_id == ""


def test_a_named_workflow_is_not_looked_up():
    """Fact 9 of the folder contract."""
    assert read_spec(command=None, workflow_id="nowhere").workflow_id == "nowhere"


def test_an_inline_workflow_is_a_list_of_commands_and_prompts():
    spec = read_spec(command=None, workflow=[{"command": "git diff"}, {"PROMPT": "review it", "note": 1}])
    assert spec.workflow == (WorkflowStep(command="git diff"), WorkflowStep(prompt="review it"))


@pytest.mark.parametrize(
    ("workflow", "cause"),
    [
        ({"steps": []}, "it must be a list of steps"),
        ([], "it has no steps"),
        (["ls"], "step 1 must be an object"),
        ([{"command": "ls"}, {}], "step 2 must have either"),
        ([{"command": "ls", "prompt": "x"}], "step 1 must have either"),
        ([{"command": "  "}], "step 1 must have either"),
        ([{"command": 5}], "command of step 1 must be a text, not a number"),
    ],
)
def test_an_inline_workflow_that_is_none_is_refused_with_the_cause(workflow: Any, cause: str):
    """Fact 7 of the folder contract."""
    assert refuse_spec(command=None, workflow=workflow).startswith(f"invalid inline workflow: {cause}")


def test_blocking_needs_a_mode_that_waits():
    """Case 7 of the folder contract."""
    assert refuse_spec(event="PreToolUse", blocking=True).startswith('blocking needs mode "sync"')


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PreCompact", "PostToolUse"])
def test_blocking_needs_an_event_that_can_be_blocked(event: str):
    """Case 7 and fact 6 of the folder contract."""
    message = refuse_spec(event=event, mode="sync", blocking=True)
    assert message.startswith(f"{event} cannot be blocked")
    assert message.endswith("PreToolUse, UserPromptSubmit, PermissionRequest")


@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit", "PermissionRequest"])
def test_three_events_can_be_blocked(event: str):
    """Case 7 and fact 6 of the folder contract."""
    assert read_spec(event=event, mode="sync", blocking=True).blocking


@pytest.mark.parametrize("timeout", ["nope", "5", "1d", "0s", "-1s", " 5s", "0"])
def test_a_timeout_that_is_no_positive_duration_is_refused(timeout: str):
    """Case 8 of the folder contract."""
    message = refuse_spec(timeout=timeout)
    assert message.startswith("invalid timeout: ")
    assert ("must be positive" in message) == (timeout in {"0", "0s", "-1s"})


@pytest.mark.parametrize("timeout", [".5s", "1h30m", "+5s", "10us"])
def test_a_timeout_is_any_positive_duration(timeout: str):
    """Case 8 of the folder contract."""
    assert read_spec(timeout=timeout).timeout == timeout


@pytest.mark.parametrize("matcher", ["(", "a)|(?:b"])
def test_a_matcher_that_does_not_compile_is_refused(matcher: str):
    """Case 13 of the folder contract, and W14."""
    assert refuse_spec(matcher=matcher).startswith(f"invalid matcher {matcher!r}")


@pytest.mark.parametrize("policy", ["warn", "block", "ignore"])
def test_a_blocking_hook_may_say_what_its_failure_means(policy: str):
    """W4 of the folder contract."""
    spec = read_spec(event="PreToolUse", mode="sync", blocking=True, on_error=policy)
    assert spec.on_error == policy
    assert spec.is_guard == (policy == "block")


def test_a_hook_that_does_not_block_cannot_keep_closed():
    assert refuse_spec(on_error="block").startswith("on_error block needs blocking")


def test_a_guard_that_is_not_valid_tells_what_it_was_to_guard():
    keys = {"event": "PreToolUse", "mode": "sync", "blocking": True, "on_error": "block", "timeout": "5"}
    with pytest.raises(SpecError) as caught:
        read_spec(enabled=True, **keys)
    assert caught.value.guarded_event == "PreToolUse"
    with pytest.raises(SpecError) as caught:
        read_spec(enabled=False, **keys)
    assert caught.value.guarded_event is None
