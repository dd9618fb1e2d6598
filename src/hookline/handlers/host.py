"""What a host must offer so that handlers can act on its sessions, and what holds while it does not."""

from __future__ import annotations

import reprlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn, Protocol, get_args

from msgspec import Struct

from hookline.errors import HooklineError

DeliverAs = Literal["steer", "follow_up"]
DELIVERIES: tuple[DeliverAs, ...] = get_args(DeliverAs)


class NotWiredError(HooklineError):
    """An action that the host has not wired; nothing was done."""

    def __init__(self, action: str) -> None:
        super().__init__(
            f"the host has not wired {action!r}, so nothing was done; "
            f"the engine's host needs a method {action} of its own (see hookline.handlers.host.Host)"
        )
        self.action = action


class CustomMessage(Struct, frozen=True, kw_only=True):
    """
    A message of a handler, kept in the session and shown to the model.

    `content` is a text or a list of blocks; `display` says whether the user sees it too; `details` are for whoever
    renders it and never reach the model.
    """

    custom_type: str
    content: str | Sequence[Mapping[str, Any]]
    display: bool = True
    details: Any = None

    @classmethod
    def from_value(cls, value: object) -> CustomMessage:
        """Read a message from a mapping with the same keys; raises `TypeError` that names what is wrong."""
        if isinstance(value, CustomMessage):
            return value
        if not isinstance(value, Mapping):
            raise TypeError(f"a message is a CustomMessage or a mapping, not {reprlib.repr(value)}")
        unknown = [key for key in value if key not in cls.__struct_fields__]
        if unknown:
            keys = ", ".join(cls.__struct_fields__)
            raise TypeError(f"a message has no key {unknown[0]!r}; it has {keys}")
        missing = [key for key in ("custom_type", "content") if key not in value]
        if missing:
            raise TypeError(f"a message needs the key {missing[0]!r}")
        return cls(**value)

    def __post_init__(self) -> None:
        if not isinstance(self.custom_type, str) or not self.custom_type:
            raise TypeError(f"custom_type must be a text that is not empty, not {reprlib.repr(self.custom_type)}")
        if not isinstance(self.display, bool):
            raise TypeError(f"display must be True or False, not {reprlib.repr(self.display)}")
        if isinstance(self.content, str):
            return
        if not isinstance(self.content, list | tuple):
            raise TypeError(f"content must be a text or a list of blocks, not {reprlib.repr(self.content)}")
        for block in self.content:
            if not isinstance(block, Mapping):
                raise TypeError(f"a block of content must be a mapping, not {reprlib.repr(block)}")


class SessionView(Struct, frozen=True, kw_only=True):
    """
    A session as handlers may see it: its id, the file it is kept in (None when in none), its entries so far.

    The entries are the host's; a host that fears for them hands out copies.
    """

    id: str = ""
    file: str | None = None
    entries: tuple[Any, ...] = ()


class SessionWriter(Protocol):
    """What the setup of a new session writes with."""

    def append_message(self, message: Mapping[str, Any]) -> None:
        """Add a message to the end of the new session."""
        ...


Setup = Callable[[SessionWriter], Awaitable[None] | None]


class Host(Protocol):
    """
    What a host does for its handlers.

    The last four are for commands: called while an event is handled they could wait for one another for ever.
    `new_session`, `branch` and `navigate_tree` tell whether it took place; False means that a handler of the event
    before it has cancelled it.
    """

    @property
    def session(self) -> SessionView:
        """The session that is open."""
        ...

    @property
    def models(self) -> Sequence[Any]:
        """The models that the host can use."""
        ...

    @property
    def model(self) -> Any:
        """The model in use now, None when there is none."""
        ...

    def is_idle(self) -> bool:
        """Whether the agent is at rest."""
        ...

    def has_queued_messages(self) -> bool:
        """Whether messages wait for the agent."""
        ...

    def abort(self) -> None:
        """End what the agent is doing."""
        ...

    def send_message(
        self, message: CustomMessage, *, trigger_turn: bool = False, deliver_as: DeliverAs = "steer"
    ) -> None:
        """
        Keep a message in the session and show it to the model.

        `steer` reaches a working agent before its next model call, `follow_up` once it has finished; an agent at
        rest takes up work only if `trigger_turn` says so.
        """
        ...

    def append_entry(self, custom_type: str, data: Any = None) -> None:
        """Keep data in the session that the model never sees."""
        ...

    async def wait_for_idle(self) -> None:
        """Return when the agent is at rest."""
        ...

    async def new_session(self, *, parent_session: str | None = None, setup: Setup | None = None) -> bool:
        """Open a new session, filled by `setup` first; raises what `setup` raises."""
        ...

    async def branch(self, entry_id: str) -> bool:
        """Open a new session that shares the entries up to this one."""
        ...

    async def navigate_tree(self, target_id: str, *, summarize: bool = False) -> bool:
        """Go to another entry of this session; what is left behind is summarised on demand."""
        ...


class UnwiredHost:
    """
    A host that has wired nothing, and a base for hosts that wire some of it.

    Actions raise `NotWiredError` and never claim success. What only asks has the answer of a host that does
    nothing by itself: a session without id, file and entries, no models, at rest, and no message waiting.
    """

    @property
    def session(self) -> SessionView:
        """A session of which nothing is known."""
        return _UNKNOWN_SESSION

    @property
    def models(self) -> Sequence[Any]:
        """None that is known."""
        return ()

    @property
    def model(self) -> Any:
        """None that is known."""
        return None

    def is_idle(self) -> bool:
        """True: no work is known."""
        return True

    def has_queued_messages(self) -> bool:
        """False: no message is known."""
        return False

    def abort(self) -> None:
        """Raises `NotWiredError`."""
        _refuse("abort")

    def send_message(
        self, message: CustomMessage, *, trigger_turn: bool = False, deliver_as: DeliverAs = "steer"
    ) -> None:
        """Raises `NotWiredError`."""
        _refuse("send_message")

    def append_entry(self, custom_type: str, data: Any = None) -> None:
        """Raises `NotWiredError`."""
        _refuse("append_entry")

    async def wait_for_idle(self) -> None:
        """Raises `NotWiredError`."""
        _refuse("wait_for_idle")

    async def new_session(self, *, parent_session: str | None = None, setup: Setup | None = None) -> bool:
        """Raises `NotWiredError`; the setup is not called."""
        _refuse("new_session")

    async def branch(self, entry_id: str) -> bool:
        """Raises `NotWiredError`."""
        _refuse("branch")

    async def navigate_tree(self, target_id: str, *, summarize: bool = False) -> bool:
        """Raises `NotWiredError`."""
        _refuse("navigate_tree")


_UNKNOWN_SESSION = SessionView()


def _refuse(action: str) -> NoReturn:
    raise NotWiredError(action)
