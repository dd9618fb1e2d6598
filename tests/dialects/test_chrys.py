"""The format of Chrys on the wire: payloads, replies and exit codes as its documents have them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from builders import make_hook
from hookline.config.layers import load_file
from hookline.config.locate import HookFile
from hookline.dialects.chrys import CHRYS
from hookline.dialects.wire import to_json
from hookline.events import Fields, list_event_names
from hookline.hook import Hook
from hookline.outcome import Answer, Edit, Failure
from support import Bench
from wires import LATER_WIRES, WIRES, documented_envelope, make_whole_event

GATE = make_hook()
PROMPT = make_hook(event="user_prompt_submit")
RESULT = make_hook(event="after_tool_call")


def decode(reply: bytes | dict[str, Any], hook: Hook = GATE) -> Answer:
    outcome = CHRYS.decode_reply(json.dumps(reply).encode() if isinstance(reply, dict) else reply, hook)
    assert isinstance(outcome, Answer), outcome
    return outcome


# Replies that are understood


@pytest.mark.parametrize("reply", [b"", b" \n", b"{}", b'{"action": null}', b'{"action": "allow"}'])
def test_a_reply_that_says_nothing_is_no_objection(reply: bytes):
    assert decode(reply) == Answer()


@pytest.mark.parametrize("word", ["block", "Block", "BLOCK"])
def test_a_block_is_read_in_any_case(word: str):
    assert decode({"action": word, "reason": "no"}) == Answer(verdict="block", reason="no")


def test_a_block_without_a_reason_is_a_block():
    assert decode({"action": "block"}) == Answer(verdict="block")


@pytest.mark.parametrize(("reason", "shown"), [(5, "5"), (["a"], "['a']"), (True, "True"), ("", None), (None, None)])
def test_a_reason_of_any_type_is_shown_as_text(reason: Any, shown: str | None):
    assert decode({"action": "block", "reason": reason}) == Answer(verdict="block", reason=shown)


def test_a_modification_is_a_merge_into_the_arguments():
    answer = decode({"action": "modify", "args_override": {"path": "z"}})
    assert answer == Answer(edits=(Edit(field="args", operation="merge", value={"path": "z"}),))


def test_an_override_without_the_word_modify_is_ignored_and_reported():
    answer = decode({"action": "block", "args_override": {"a": 1}})
    assert answer == Answer(verdict="block", ignored=("args_override without action: modify",))


def test_a_reminder_is_read_on_a_prompt():
    assert decode({"system_reminder": "r"}, PROMPT).reminders == ("r",)


def test_context_is_read_on_a_result():
    assert decode({"extra_context": "c"}, RESULT).context == ("c",)
    assert decode({"extra_context": "c"}, make_hook(event="tool_error")).context == ("c",)


@pytest.mark.parametrize(
    ("key", "hook"), [("system_reminder", GATE), ("extra_context", GATE), ("extra_context", PROMPT)]
)
def test_a_text_where_it_means_nothing_is_ignored_and_reported(key: str, hook: Hook):
    answer = decode({key: "x"}, hook)
    assert answer == Answer(ignored=(f"{key} means nothing on {hook.event}",))


def test_unknown_keys_are_ignored():
    assert decode({"action": "block", "note": 1, "user_message": 2}) == Answer(verdict="block")


def test_of_a_key_that_stands_twice_the_last_counts():
    assert decode(b'{"action": "allow", "action": "block"}').verdict == "block"


def test_a_byte_order_mark_is_accepted():
    assert decode(b'\xef\xbb\xbf{"action": "block"}').verdict == "block"


# Replies that are not


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"block", "the reply is not JSON"),
        (b'["block"]', "the reply must be a JSON object"),
        (b"null", "the reply must be a JSON object"),
        (b'{"reason": "caf\xe9"}', "the reply is not UTF-8"),
        (b'{"action": "block", "x": NaN}', "the reply holds NaN"),
        (b'{"action": "block", "x": 1e999}', "the reply holds 1e999"),
        (b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "the reply is nested too deep"),
    ],
)
def test_a_malformed_reply_decides_nothing_and_is_reported(reply: bytes, message: str):
    answer = decode(reply)
    assert answer == Answer(ignored=answer.ignored)
    assert answer.ignored[0].startswith(message)


@pytest.mark.parametrize("action", ["deny", "ask", "", " block", 5, ["block"]])
def test_an_unknown_action_decides_nothing_and_is_reported(action: Any):
    answer = decode({"action": action, "reason": "x"})
    assert answer.verdict == "allow"
    assert answer.ignored == (f"the reply's action is {action!r}; it must be allow, block or modify",)


@pytest.mark.parametrize(
    ("reply", "hook", "ignored"),
    [
        ({"action": "block", "args_override": []}, GATE, "args_override is no object"),
        ({"action": "block", "system_reminder": 5}, PROMPT, "system_reminder is no text"),
        ({"action": "block", "extra_context": []}, RESULT, "extra_context is no text"),
    ],
)
def test_a_field_of_the_wrong_type_is_dropped_and_the_rest_is_kept(reply: dict[str, Any], hook: Hook, ignored: str):
    assert decode(reply, hook) == Answer(verdict="block", ignored=(ignored,))


def test_a_guard_whose_reply_is_malformed_lets_go_on_with_a_warning(bench: Bench):
    bench.write(
        """
        hooks:
          - id: odd
            event: before_tool_call
            run: {type: shell, shell: 'echo block > "$CHRYS_HOOK_RESULT"'}
            execution: {mode: blocking, on_error: block}
        """,
        dialect="chrys",
    )
    engine = bench.open(dialects=["chrys"])
    decision = asyncio.run(engine.fire(bench.event()))
    assert decision.is_allowed
    assert decision.warnings[0].startswith("hook 'odd': ignored: the reply is not JSON")


# Exit codes


@pytest.mark.parametrize("code", [1, 2, 127])
def test_every_exit_code_but_0_is_a_failure(code: int):
    assert CHRYS.decode_exit(code, "why", GATE) == Failure(kind="exit", message=f"exit code {code}")


# Payloads


@pytest.mark.parametrize(("fields", "expected"), WIRES, ids=[type(fields).__name__ for fields, _ in WIRES])
def test_a_payload_has_exactly_the_documented_fields(fields: Fields, expected: dict[str, Any]):
    payload = json.loads(to_json(CHRYS.encode(make_whole_event(fields), is_cwd_missing=True)))
    assert payload == {**documented_envelope(fields), **expected}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [(fields, expected) for fields, expected, _ in LATER_WIRES],
    ids=[type(fields).__name__ for fields, _, _ in LATER_WIRES],
)
def test_a_payload_has_no_fields_that_came_later_also_when_the_host_gives_them(
    fields: Fields, expected: dict[str, Any]
):
    payload = json.loads(to_json(CHRYS.encode(make_whole_event(fields), is_cwd_missing=True)))
    assert payload == {**documented_envelope(fields), **expected}


def test_the_wires_are_those_of_all_documented_events():
    assert {make_whole_event(fields).name for fields, _ in WIRES} == set(list_event_names("chrys"))


# Files


@pytest.mark.parametrize("name", ["before_model_call", "hook_failed", "PreToolUse", "tool_call"])
def test_an_event_that_its_documents_do_not_name_is_refused(bench: Bench, name: str):
    path = bench.write(
        f"hooks: [{{id: a, event: {name}, run: {{type: shell, shell: 'true'}}}}]",
        dialect="chrys",
    )
    reading = load_file(HookFile(layer="project", dialect=CHRYS, path=path)).reading
    assert reading.hooks == ()
    codes = [problem.code for problem in reading.problems if problem.severity == "error"]
    assert codes == ["unknown-event", "file-off"]
    assert f"unknown event {name!r}" in str(reading.problems[0])


# Surroundings


def test_shell_hooks_run_under_the_users_own_shell():
    assert CHRYS.shell({"SHELL": "/bin/zsh"}) == "/bin/zsh"


@pytest.mark.parametrize("environment", [{}, {"SHELL": ""}])
def test_shell_hooks_of_a_user_without_a_shell_run_under_the_systems(environment: dict[str, str]):
    assert CHRYS.shell(environment) == "/bin/sh"
