"""What handlers can do to a host that has wired nothing, or some of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from hookline.errors import HooklineError
from hookline.handlers.host import CustomMessage, Host, NotWiredError, SessionView, UnwiredHost

MESSAGE = CustomMessage(custom_type="note", content="hello")

PLAIN_ACTIONS: list[tuple[str, Callable[[Host], object]]] = [
    ("abort", lambda host: host.abort()),
    ("send_message", lambda host: host.send_message(MESSAGE)),
    ("append_entry", lambda host: host.append_entry("note", {"n": 1})),
]
COMMAND_ACTIONS: list[tuple[str, Callable[[Host], Any]]] = [
    ("wait_for_idle", lambda host: host.wait_for_idle()),
    ("new_session", lambda host: host.new_session(parent_session="p", setup=lambda writer: None)),
    ("branch", lambda host: host.branch("e1")),
    ("navigate_tree", lambda host: host.navigate_tree("e1", summarize=True)),
]


@pytest.mark.parametrize(("action", "act"), PLAIN_ACTIONS, ids=[name for name, _ in PLAIN_ACTIONS])
def test_an_action_that_the_host_has_not_wired_raises(action: str, act: Callable[[Host], object]):
    """F: an action that the host has not wired raises; it never claims success."""
    with pytest.raises(NotWiredError, match=f"has not wired '{action}', so nothing was done"):
        act(UnwiredHost())


@pytest.mark.parametrize(("action", "act"), COMMAND_ACTIONS, ids=[name for name, _ in COMMAND_ACTIONS])
async def test_a_command_s_action_that_the_host_has_not_wired_raises(action: str, act: Callable[[Host], Any]):
    """F: an action that the host has not wired raises; it never claims success."""
    with pytest.raises(NotWiredError, match=f"a method {action} of its own") as caught:
        await act(UnwiredHost())
    assert caught.value.action == action


def test_an_action_that_is_not_wired_is_an_error_of_hookline():
    assert issubclass(NotWiredError, HooklineError)


def test_what_only_asks_has_the_answer_of_a_host_that_does_nothing():
    host = UnwiredHost()
    assert (host.session, host.models, host.model) == (SessionView(id="", file=None, entries=()), (), None)
    assert (host.is_idle(), host.has_queued_messages()) == (True, False)


def test_a_host_may_wire_some_of_it():
    class Half(UnwiredHost):
        def __init__(self) -> None:
            self.kept: list[tuple[str, Any]] = []

        def append_entry(self, custom_type: str, data: Any = None) -> None:
            self.kept.append((custom_type, data))

    host = Half()
    host.append_entry("note", 1)
    assert host.kept == [("note", 1)]
    with pytest.raises(NotWiredError):
        host.abort()


def test_a_message_is_read_from_a_mapping():
    value = {"custom_type": "note", "content": [{"type": "text", "text": "hi"}], "display": False, "details": {"n": 1}}
    assert CustomMessage.from_value(value) == CustomMessage(**value)


def test_a_message_passes_as_it_is():
    assert CustomMessage.from_value(MESSAGE) is MESSAGE


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hello", "a CustomMessage or a mapping, not 'hello'"),
        ({"content": "x"}, "needs the key 'custom_type'"),
        ({"custom_type": "note"}, "needs the key 'content'"),
        ({"customType": "note", "content": "x"}, "has no key 'customType'; it has custom_type, content"),
        ({"custom_type": "", "content": "x"}, "custom_type must be a text that is not empty"),
        ({"custom_type": "note", "content": 1}, "content must be a text or a list of blocks, not 1"),
        ({"custom_type": "note", "content": ["x"]}, "a block of content must be a mapping, not 'x'"),
        ({"custom_type": "note", "content": "x", "display": "no"}, "display must be True or False, not 'no'"),
    ],
)
def test_a_message_that_is_none_says_what_is_wrong(value: object, text: str):
    with pytest.raises(TypeError, match=re.escape(text)):
        CustomMessage.from_value(value)
