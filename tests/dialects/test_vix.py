"""What the commands and texts of hook folders say, as answers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import make_hook
from hookline.dialects.vix import LONGEST_TEXT, VIX
from hookline.events import Event
from hookline.facts import HostFacts
from hookline.fields import AfterTurn
from hookline.fold import Chain
from hookline.folders.decision import NO_REASON, Reply, combine, to_answer
from hookline.hook import Hook
from hookline.outcome import Answer, Edit, Failure, Run
from properties import steady
from support import make_event, make_prompt_event


def reply(text: str, hook: Hook | None = None) -> Answer | Failure:
    return VIX.decode_reply(text.encode(), hook or make_hook())


def test_a_command_without_a_word_has_no_objection():
    """Case 20 of the folder contract."""
    assert reply("") == reply(" \n") == Answer()


def test_a_decision_object_denies():
    """Case 24 of the folder contract."""
    assert reply(' {"behavior":"deny","reason":"r"} \n') == Answer(verdict="block", reason="r")


def test_a_decision_object_replaces_the_arguments():
    """Case 25 of the folder contract."""
    edit = Edit(field="args", operation="replace", value={"path": "x"})
    assert reply('{"behavior":"modify","input":{"path":"x"}}') == Answer(edits=(edit,))


def test_a_replacement_of_a_prompt_is_its_text():
    """Fact 49 of the folder contract."""
    found = reply('{"behavior":"modify","input":{"prompt":"better"}}', make_hook(event="user_prompt_submit"))
    assert found == Answer(edits=(Edit(field="text", operation="replace", value="better"),))


@pytest.mark.parametrize("text", ['{"foo":1}', "note"])
def test_any_other_text_is_context(text: str):
    """Case 26 of the folder contract."""
    assert reply(text) == Answer(context=(text,))


@pytest.mark.parametrize("text", ['{"behavior":"DENY"}', '{"behavior":"deny","reason":5}', '{"behavior":null}'])
def test_a_decision_that_cannot_be_understood_is_a_failure(text: str):
    """W4 of the folder contract: it may have been a deny."""
    found = reply(text)
    assert isinstance(found, Failure)
    assert found.kind == "reply"


def test_exit_code_2_denies_with_what_was_written():
    """Case 21 of the folder contract."""
    assert VIX.decode_exit(2, " nope\n", make_hook()) == Answer(verdict="block", reason="nope")
    assert VIX.decode_exit(2, "", make_hook()) == Answer(verdict="block", reason="blocked by hook")


def test_other_exit_codes_are_failures():
    """Case 23 of the folder contract."""
    assert VIX.decode_exit(127, "", make_hook()) == Failure(kind="exit", message="exit code 127")


def test_the_deny_of_a_hook_that_may_not_block_is_context():
    """Fact 41 of the folder contract; without a reason there is nothing to tell."""
    hook = make_hook(may_block=False)
    found = reply('{"behavior":"deny","reason":"r","context":"lost"}', hook)
    assert isinstance(found, Answer)
    assert (found.verdict, found.context) == ("allow", ("r",))
    assert VIX.decode_exit(2, "", hook) == Answer(ignored=found.ignored)


def test_what_a_hook_says_that_nobody_waits_for_counts_for_nothing():
    hook = make_hook(mode="fire_and_forget")
    assert reply("note", hook) == Answer()
    assert VIX.decode_exit(2, "no", hook) == Answer(ignored=("deny: nobody waits for this hook",))


def test_texts_for_the_model_have_an_end():
    """W17 of the folder contract."""
    found = reply("x" * (LONGEST_TEXT + 5))
    assert isinstance(found, Answer)
    assert found.context == (f"{'x' * LONGEST_TEXT}\n[5 more characters left out]",)


def test_a_text_of_a_model_may_block():
    """Case 28 of the folder contract."""
    assert VIX.decode_text("BLOCK: too risky", make_hook()) == Answer(verdict="block", reason="too risky")
    assert VIX.decode_text("block: x", make_hook()) == Answer(context=("block: x",))


@pytest.mark.parametrize("text", ['I think: {"behavior":"deny"}', "ok\nBLOCK: r"])
def test_a_decision_beside_other_words_of_a_model_counts(text: str):
    """Case 39 of the folder contract, as its documents promise."""
    found = VIX.decode_text(text, make_hook())
    assert isinstance(found, Answer)
    assert found.verdict == "block"


def test_the_envelope_tells_what_the_host_knows():
    event = make_event(facts=HostFacts(model="m", origin="user"), session_id="s")
    found = json.loads(VIX.to_json(VIX.encode(event, is_cwd_missing=False)))
    assert (found["hook_event_name"], found["thread_id"], found["model"]) == ("PreToolUse", "s", "m")


def test_payloads_are_written_as_go_does():
    """Fact 42 of the folder contract: sorted keys, characters of HTML escaped, no newline."""
    data = VIX.to_json(VIX.encode(make_prompt_event("a<b"), is_cwd_missing=False))
    assert b'"prompt":"a\\u003cb","socket_path"' in data
    assert not data.endswith(b"\n")


@pytest.mark.parametrize(("value", "is_silent"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_a_variable_silences_the_dialect(value: str, is_silent: bool, monkeypatch: pytest.MonkeyPatch):
    """Fact 55 of the folder contract."""
    monkeypatch.setenv("VIX_DISABLE_HOOKS", value)
    assert (VIX.find_silence(make_event()) is not None) is is_silent


def test_sessions_that_hooks_started_silence_the_dialect():
    """Fact 51 of the folder contract."""
    assert VIX.find_silence(Event(AfterTurn(turn=1), facts=HostFacts(origin="vix"))) is not None
    assert VIX.find_silence(Event(AfterTurn(turn=1), facts=HostFacts(origin="user"))) is None


replies = st.builds(
    Reply,
    behavior=st.sampled_from(["allow", "deny", "modify", "context"]),
    reason=st.sampled_from(["", "a", "b"]),
    input=st.none() | st.dictionaries(st.just("k"), st.integers(0, 2)),
    context=st.sampled_from(["", " ", "c", "d"]),
)


@steady
@given(st.lists(replies, max_size=6))
def test_the_engine_puts_answers_together_as_the_contract_says(said: list[Reply]):
    """Fact 40 of the folder contract; a block hands on nothing but its reason."""
    hook = replace(make_hook(), source=replace(make_hook().source, context_lead="> "))
    hooks = [replace(hook, id=str(number)) for number in range(len(said))]
    runs = [
        Run(hook=hook, status="ok", outcome=to_answer(reply, "PreToolUse"))
        for hook, reply in zip(hooks, said, strict=True)
    ]
    chain, taken = Chain(event=make_event()).take_strictest(runs)
    decision, combined = chain.decide(taken), combine(said)
    expected = combined.reply
    if expected.behavior == "deny":
        assert (decision.verdict, decision.reason) == ("block", expected.reason or NO_REASON)
        assert (decision.edits, decision.context) == ({}, ())
        return
    assert decision.is_allowed
    assert decision.edits == ({} if expected.input is None else {"args": expected.input})
    assert decision.context == ((f"> {expected.context}",) if expected.context else ())
    assert len(decision.conflicts) == len(combined.conflicts)
