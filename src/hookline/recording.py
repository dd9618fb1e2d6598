"""A host and a user interface that note what handlers do, for tests: answers are given in advance."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from hookline.errors import HooklineError
from hookline.handlers.host import CustomMessage, DeliverAs, SessionView, Setup
from hookline.handlers.theme import PLAIN_THEME, Theme
from hookline.handlers.ui import Kind

DialogName = Literal["select", "confirm", "input", "editor", "custom"]


class UnpreparedDialogError(HooklineError, AssertionError):
    """A dialog for which a test has prepared no answer."""


class Asked(Struct, frozen=True, kw_only=True):
    """
    A dialog as it was opened.

    `text` is the message of a `confirm`, the placeholder of an `input`, the prefill of an `editor`.
    """

    dialog: DialogName
    title: str = ""
    text: str = ""
    options: tuple[str, ...] = ()
    factory: Callable[..., Any] | None = None
    timeout_s: float | None = None


class RecordingUI:
    """
    Notes what is asked and shown, and answers each dialog with the next answer prepared for its kind.

    `RecordingUI(confirm=[True, False])` agrees to the first question and not to the second. An answer that is a
    function is called with what was `asked`. A dialog without an answer raises `UnpreparedDialogError`.
    """

    def __init__(
        self,
        *,
        select: Iterable[Any] = (),
        confirm: Iterable[Any] = (),
        input: Iterable[Any] = (),  # noqa: A002 - named like its dialog
        editor: Iterable[Any] = (),
        custom: Iterable[Any] = (),
        editor_text: str = "",
        is_interactive: bool = True,
        theme: Theme = PLAIN_THEME,
    ) -> None:
        self._answers: dict[DialogName, deque[Any]] = {
            "select": deque(select),
            "confirm": deque(confirm),
            "input": deque(input),
            "editor": deque(editor),
            "custom": deque(custom),
        }
        self.is_interactive = is_interactive
        self.theme = theme
        self.asked: list[Asked] = []
        self.notices: list[tuple[Kind, str]] = []
        self.statuses: dict[str, str] = {}
        self.editor_text = editor_text

    @property
    def unused(self) -> dict[DialogName, list[Any]]:
        """The prepared answers that nobody has asked for, by the kind of their dialog."""
        return {dialog: list(answers) for dialog, answers in self._answers.items() if answers}

    async def select(self, title: str, options: Sequence[str], *, timeout_s: float | None = None) -> Any:
        """Note the question and answer it."""
        return self._answer(Asked(dialog="select", title=title, options=tuple(options), timeout_s=timeout_s))

    async def confirm(self, title: str, message: str, *, timeout_s: float | None = None) -> Any:
        """Note the question and answer it."""
        return self._answer(Asked(dialog="confirm", title=title, text=message, timeout_s=timeout_s))

    async def input(self, title: str, placeholder: str = "", *, timeout_s: float | None = None) -> Any:
        """Note the question and answer it."""
        return self._answer(Asked(dialog="input", title=title, text=placeholder, timeout_s=timeout_s))

    async def editor(self, title: str, prefill: str = "", *, timeout_s: float | None = None) -> Any:
        """Note the question and answer it."""
        return self._answer(Asked(dialog="editor", title=title, text=prefill, timeout_s=timeout_s))

    async def custom(self, factory: Callable[..., Any], *, timeout_s: float | None = None) -> Any:
        """Note the factory, which is not called, and answer."""
        return self._answer(Asked(dialog="custom", factory=factory, timeout_s=timeout_s))

    def _answer(self, asked: Asked) -> Any:
        self.asked.append(asked)
        answers = self._answers[asked.dialog]
        if not answers:
            what = f"{asked.dialog}({asked.title!r})" if asked.title else asked.dialog
            raise UnpreparedDialogError(
                f"{what} was opened, and no answer is prepared for it; give one with RecordingUI({asked.dialog}=[...])"
            )
        answer = answers.popleft()
        return answer(asked) if callable(answer) else answer

    def notify(self, message: str, kind: Kind = "info") -> None:
        """Note the notice."""
        self.notices.append((kind, message))

    def set_status(self, key: str, text: str | None) -> None:
        """Note the status."""
        if text is None:
            self.statuses.pop(key, None)
        else:
            self.statuses[key] = text

    def set_editor_text(self, text: str) -> None:
        """Note the text."""
        self.editor_text = text

    def get_editor_text(self) -> str:
        """The text that was set last."""
        return self.editor_text


class Sent(Struct, frozen=True, kw_only=True):
    """A message as it was sent."""

    message: CustomMessage
    trigger_turn: bool = False
    deliver_as: DeliverAs = "steer"


class NewSession(Struct, frozen=True, kw_only=True):
    """A session as it was opened, with the messages that its setup wrote."""

    parent_session: str | None = None
    messages: tuple[Mapping[str, Any], ...] = ()


class RecordingHost:
    """
    Notes what handlers and commands do to a host, in place of one.

    What handlers may look at is set by the test: `session`, `models`, `model`, `idle`, `queued_messages`. With
    `cancels=True` every change of the session is refused, as if a handler of the event before it had cancelled it.
    """

    def __init__(
        self,
        *,
        session: SessionView | None = None,
        models: Sequence[Any] = (),
        model: Any = None,
        idle: bool = True,
        queued_messages: bool = False,
        cancels: bool = False,
    ) -> None:
        self.session = session or SessionView(id="test")
        self.models = models
        self.model = model
        self.idle = idle
        self.queued_messages = queued_messages
        self.cancels = cancels
        self.sent: list[Sent] = []
        self.entries: list[tuple[str, Any]] = []
        self.aborts = 0
        self.idle_waits = 0
        self.new_sessions: list[NewSession] = []
        self.branches: list[str] = []
        self.navigations: list[tuple[str, bool]] = []

    def is_idle(self) -> bool:
        """As the test says."""
        return self.idle

    def has_queued_messages(self) -> bool:
        """As the test says."""
        return self.queued_messages

    def abort(self) -> None:
        """Count it."""
        self.aborts += 1

    def send_message(
        self, message: CustomMessage, *, trigger_turn: bool = False, deliver_as: DeliverAs = "steer"
    ) -> None:
        """Note the message."""
        self.sent.append(Sent(message=message, trigger_turn=trigger_turn, deliver_as=deliver_as))

    def append_entry(self, custom_type: str, data: Any = None) -> None:
        """Note the entry."""
        self.entries.append((custom_type, data))

    async def wait_for_idle(self) -> None:
        """Count it; from now on the agent is at rest."""
        self.idle_waits += 1
        self.idle = True

    async def new_session(self, *, parent_session: str | None = None, setup: Setup | None = None) -> bool:
        """Call the setup and note the session with what it wrote."""
        if self.cancels:
            return False
        writer = _Writer()
        if setup is not None:
            done = setup(writer)
            if inspect.isawaitable(done):
                await done
        self.new_sessions.append(NewSession(parent_session=parent_session, messages=tuple(writer.messages)))
        return True

    async def branch(self, entry_id: str) -> bool:
        """Note the entry."""
        if not self.cancels:
            self.branches.append(entry_id)
        return not self.cancels

    async def navigate_tree(self, target_id: str, *, summarize: bool = False) -> bool:
        """Note the entry."""
        if not self.cancels:
            self.navigations.append((target_id, summarize))
        return not self.cancels


class _Writer:
    """Collects the messages of a new session."""

    def __init__(self) -> None:
        self.messages: list[Mapping[str, Any]] = []

    def append_message(self, message: Mapping[str, Any]) -> None:
        self.messages.append(message)
