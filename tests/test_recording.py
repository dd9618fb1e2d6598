"""The recording host and user interface, which people test their handlers with."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hookline.handlers.host import CustomMessage, SessionView, SessionWriter
from hookline.handlers.surface import HandlerUI
from hookline.handlers.ui import UIError
from hookline.testing import Asked, NewSession, RecordingHost, RecordingUI, Sent, UnpreparedDialogError

MESSAGE = CustomMessage(custom_type="note", content="hello")


async def test_dialogs_get_the_answers_prepared_for_them_in_order():
    ui = RecordingUI(confirm=[True, False], select=["b"], input=["text"], editor=[None], custom=[7])
    surface = HandlerUI(ui)
    assert [await surface.confirm("1", ""), await surface.confirm("2", "")] == [True, False]
    assert await surface.select("3", ["a", "b"]) == "b"
    assert await surface.input("4") == "text"
    assert await surface.editor("5") is None
    assert await surface.custom(print) == 7
    assert ui.unused == {}


async def test_dialogs_are_noted_with_all_that_was_asked():
    ui = RecordingUI(confirm=[True], select=["a"], input=[""], editor=[""], custom=[None])
    await ui.confirm("1", "sure?", timeout_s=5)
    await ui.select("2", ["a", "b"])
    await ui.input("3", "name")
    await ui.editor("4", "prefill")
    await ui.custom(print)
    assert ui.asked == [
        Asked(dialog="confirm", title="1", text="sure?", timeout_s=5),
        Asked(dialog="select", title="2", options=("a", "b")),
        Asked(dialog="input", title="3", text="name"),
        Asked(dialog="editor", title="4", text="prefill"),
        Asked(dialog="custom", factory=print),
    ]


async def test_an_answer_may_depend_on_the_question():
    ui = RecordingUI(select=[lambda asked: asked.options[-1]])
    assert await ui.select("Pick", ["a", "b"]) == "b"


async def test_a_dialog_without_an_answer_is_an_error():
    text = "confirm('Sure?') was opened, and no answer is prepared for it; give one with RecordingUI(confirm=[...])"
    with pytest.raises(UnpreparedDialogError, match=re.escape(text)):
        await RecordingUI(select=["a"]).confirm("Sure?", "")


async def test_a_dialog_without_an_answer_fails_its_handler():
    with pytest.raises(UIError, match="no answer is prepared for it"):
        await HandlerUI(RecordingUI()).confirm("Sure?", "")


async def test_an_answer_that_no_user_could_give_fails_its_handler():
    with pytest.raises(UIError, match="which is not True or False"):
        await HandlerUI(RecordingUI(confirm=["yes"])).confirm("Sure?", "")


def test_answers_that_nobody_asked_for_are_told():
    assert RecordingUI(confirm=[True], input=["a", "b"]).unused == {"confirm": [True], "input": ["a", "b"]}


def test_what_is_shown_is_noted():
    ui = RecordingUI(editor_text="draft")
    surface = HandlerUI(ui)
    surface.notify("careful", "warning")
    surface.set_status("a", "x")
    surface.set_status("b", "y")
    surface.set_status("a", None)
    assert surface.get_editor_text() == "draft"
    surface.set_editor_text("new")
    assert (ui.notices, ui.statuses, ui.editor_text) == ([("warning", "careful")], {"b": "y"}, "new")


def test_the_user_may_be_away():
    assert HandlerUI(RecordingUI(is_interactive=False)).is_interactive is False


def test_messages_and_entries_are_noted():
    host = RecordingHost()
    host.send_message(MESSAGE)
    host.send_message(MESSAGE, trigger_turn=True, deliver_as="follow_up")
    host.append_entry("state", {"n": 1})
    host.abort()
    assert host.sent == [Sent(message=MESSAGE), Sent(message=MESSAGE, trigger_turn=True, deliver_as="follow_up")]
    assert (host.entries, host.aborts) == ([("state", {"n": 1})], 1)


def test_a_host_looks_as_the_test_says():
    session = SessionView(id="s1", file="/s1.jsonl", entries=({"type": "message"},))
    host = RecordingHost(session=session, models=["small"], model="small", idle=False, queued_messages=True)
    assert (host.session, host.models, host.model) == (session, ["small"], "small")
    assert (host.is_idle(), host.has_queued_messages()) == (False, True)


async def test_a_new_session_is_noted_with_what_its_setup_wrote():
    async def setup(writer: SessionWriter) -> None:
        writer.append_message({"role": "user", "content": "go on"})

    host = RecordingHost(idle=False)
    await host.wait_for_idle()
    assert await host.new_session(parent_session="/s1.jsonl", setup=setup) is True
    assert host.new_sessions == [
        NewSession(parent_session="/s1.jsonl", messages=({"role": "user", "content": "go on"},))
    ]
    assert (host.idle_waits, host.is_idle()) == (1, True)


async def test_a_plain_setup_is_called_too():
    host = RecordingHost()
    await host.new_session(setup=lambda writer: writer.append_message({"role": "user"}))
    assert host.new_sessions == [NewSession(messages=({"role": "user"},))]


async def test_a_new_session_needs_no_setup():
    host = RecordingHost()
    await host.new_session(parent_session="/s1.jsonl")
    assert host.new_sessions == [NewSession(parent_session="/s1.jsonl")]


async def test_moves_in_the_session_are_noted():
    host = RecordingHost()
    assert [await host.branch("e1"), await host.navigate_tree("e2", summarize=True)] == [True, True]
    assert (host.branches, host.navigations) == (["e1"], [("e2", True)])


async def test_changes_of_the_session_may_be_refused():
    def setup(writer: Any) -> None:
        raise AssertionError("called")

    host = RecordingHost(cancels=True)
    assert await host.new_session(setup=setup) is False
    assert [await host.branch("e1"), await host.navigate_tree("e2")] == [False, False]
    assert (host.new_sessions, host.branches, host.navigations) == ([], [], [])
