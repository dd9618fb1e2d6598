"""
What adapters have in common: their options, a run of an agent under hooks, and in which run a piece of code is.

An adapter decides nothing. It says where in its framework a run begins and ends and a tool is called, and obeys.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from msgspec import Struct

from hookline.config.trust import Trust
from hookline.engine import Engine
from hookline.errors import ConfigError, HooklineError
from hookline.fields import Agent, Tool, ToolResult
from hookline.lifecycle.scope import Ask, Phase
from hookline.lifecycle.session import Session
from hookline.lifecycle.step import Firing
from hookline.lifecycle.tool import ToolCall
from hookline.lifecycle.turn import Turn, Work

logger = logging.getLogger("hookline")


class MissingExtraError(HooklineError, ImportError):
    """What an extra brings is not installed."""

    def __init__(self, extra: str, error: ImportError) -> None:
        super().__init__(
            f"what the extra {extra!r} brings cannot be imported ({error}); pip install 'hookline[{extra}]'"
        )


class Options(TypedDict, total=False):
    """
    What every adapter can be given; all of it is optional.

    * `engine`: the engine that runs the hooks, closed by whoever opened it. By default the adapter opens one for the
      folder `cwd` (where the process is, by default), with `home` and `trust` as in `Engine.open`.
    * `session`: a session that the host has entered already, with its engine; all runs are turns of it.
    * `profile`: the profile that events carry; by default the name of the framework's agent.
    * `kinds`: the kind of each tool by its name, for hooks that match `tool_kind`.
    * `ask`: puts a hook's question to a human; True lets the action happen. Without it a question counts as a no.
    """

    engine: Firing | None
    session: Session | None
    profile: str
    cwd: str | os.PathLike[str] | None
    home: str | os.PathLike[str] | None
    trust: Trust
    kinds: Mapping[str, str]
    ask: Ask | None


class Seam:
    """
    Where an adapter meets Hookline: the engine of its runs, opened if none was given, and what they have in common.

    While there is a `session`, all runs are turns of it; otherwise each is a session of its own.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        _check(options)
        self._profile = options.get("profile", "")
        self._cwd = options.get("cwd")
        self._kinds = options.get("kinds", {})
        self._ask = options.get("ask")
        self.session = options.get("session")
        home, trust = options.get("home"), options.get("trust", "recorded")
        self._own_engine: Engine | None = None
        given = options.get("engine")
        folder = os.path.abspath(self._cwd or ".")  # noqa: PTH100 - a link in the path keeps its name
        # What tells whether two adapters serve the same hooks.
        self.project: object = given or self.session or (folder, home, trust)
        if given is None and self.session is None:
            self._own_engine = given = Engine.open(self._cwd or ".", home=home, trust=trust)
            given.close_at_exit()
            _report_notices(self._own_engine)
        self._engine = given

    def open_session(self, *, agent: str = "", session_id: str | None = None, is_restored: bool = False) -> Session:
        """A session of this seam's engine, not entered yet; it is restored if something happened in it before."""
        assert self._engine is not None
        return Session(
            self._engine,
            id=session_id,
            profile=self._profile or agent,
            cwd=self._cwd,
            agent=Agent(name=agent),
            ask=self._ask,
            restored_from=session_id if is_restored else None,
        )

    def run(
        self, prompt: str | None, *, agent: str = "", session_id: str | None = None, is_restored: bool = False
    ) -> Run:
        """
        A run of an agent, as a context manager: a turn, or inside a tool call of another run a sub-agent's work.

        Without a session of the adapter it is a session too, with the id if one is given; `is_restored` says that runs
        with that id came before. A prompt of None is for a
        run that goes on where another stopped, without a message of the user.
        """
        place = PLACE.get()
        if place is not None and place.seam.project == self.project:
            tool = place.tool
            sub_agent = place.work.sub_agent(
                agent or tool.name,
                tool_name=tool.name,
                profile=self._profile or agent or tool.name,
                parent_call_id=tool.call_id or None,
            )
            return Run(sub_agent, sub_agent)
        if self.session is not None:
            turn = self.session.turn(prompt)
            return Run(turn, turn)
        session = self.open_session(agent=agent, session_id=session_id, is_restored=is_restored)
        turn = session.turn(prompt)
        return Run(turn, session, turn)

    def loose_run(self, *, agent: str = "") -> Run:
        """What a tool call that belongs to no run is made in: the adapter's session, or one of its own."""
        if self.session is not None:
            return Run(self.session)
        session = self.open_session(agent=agent)
        return Run(session, session)

    def is_heard(self) -> bool:
        """Whether any hook listens to what adapters fire; if none does, a tool call needs no guard."""
        return self._engine is None or any(map(self._engine.listens, _FIRED))

    def tool(self, name: str, args: Mapping[str, Any], call_id: str | None = "") -> Tool:
        """A tool call in Hookline's words."""
        return Tool(name=name, kind=self._kinds.get(name, ""), call_id=call_id or "", args=args)

    async def aclose(self) -> None:
        """Close the engine, if it was not given; without blocking the event loop."""
        if self._own_engine is not None:
            await self._own_engine.aclose()

    def close(self) -> None:
        """Close the engine, if it was not given."""
        if self._own_engine is not None:
            self._own_engine.close()


# The events of adapters, those first that hooks are for most often.
_FIRED = (
    "before_tool_call",
    "after_tool_call",
    "tool_error",
    "user_prompt_submit",
    "before_turn",
    "after_turn",
    "session_start",
    "session_restored",
    "session_end",
    "sub_agent_start",
    "sub_agent_end",
)

# What each of these options has settled already.
_SETTLED = {"session": ("engine", "cwd", "home", "trust", "ask"), "engine": ("home", "trust")}


def _check(options: Options) -> None:
    """Refuse options that would mean nothing, since a guard that is not there must not go unnoticed."""
    given = {name for name, value in options.items() if value is not None}
    unknown = sorted(options.keys() - Options.__annotations__.keys())
    if unknown:
        raise ConfigError(f"unknown option {unknown[0]!r} of an adapter (known: {', '.join(Options.__annotations__)})")
    for option, settled in _SETTLED.items():
        vain = sorted(given & set(settled)) if option in given else []
        if vain:
            raise ConfigError(f"an adapter takes no {vain[0]!r} beside {option!r}, which has one of its own")


def _report_notices(engine: Engine) -> None:
    """Tell the user that hooks of the project do not run; what is worse the engine has logged already."""
    for problem in engine.problems:
        if problem.severity == "notice":
            logger.warning("%s", problem)


class Run:
    """
    One run of an agent under hooks, as a context manager of both kinds.

    `work` is what its tool calls are made on. Entering it raises `PromptBlockedError` if the prompt must not reach the
    model.
    """

    def __init__(self, work: Work, *phases: Phase) -> None:
        """`phases` are what is entered and left."""
        self.work = work
        self._phases = phases

    @property
    def turn(self) -> Turn | None:
        """The turn that this run is, None for a sub-agent's."""
        return self.work if isinstance(self.work, Turn) else None

    @property
    def reminders(self) -> str:
        """What hooks want the model to be reminded of in each of its calls, as one text; empty for nothing."""
        texts = self.turn.reminders if self.turn is not None else ()
        return "\n".join(f"<system-reminder>\n{text}\n</system-reminder>" for text in texts)

    @property
    def prompt(self) -> str:
        """The prompt as hooks left it, with the context they gave; only for a turn."""
        assert self.turn is not None
        return "\n".join([self.turn.prompt, *self.turn.context])

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            for phase in self._phases:
                stack.enter_context(phase)
            stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack = contextlib.ExitStack()
        for phase in self._phases:
            stack.push(phase)
        stack.__exit__(kind, error, trace)

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            for phase in self._phases:
                await stack.enter_async_context(phase)
            stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack = contextlib.AsyncExitStack()
        for phase in self._phases:
            stack.push_async_exit(phase)
        await stack.__aexit__(kind, error, trace)


def get_result(call: ToolCall) -> ToolResult:
    """What the model is told of a tool call that has been left."""
    assert call.result is not None
    return call.result


def read_told(call: ToolCall) -> str:
    """The text of what the model is told of a tool call that has been left."""
    return get_result(call).text


class ToolFailedError(Exception):
    """A tool raised, and the framework has made a result of that already; ends no more than a tool call."""


class Place(Struct, frozen=True, kw_only=True):
    """Inside which tool call of which work a piece of code runs."""

    seam: Seam
    work: Work
    tool: Tool


PLACE: ContextVar[Place | None] = ContextVar("hookline_place", default=None)
"""The tool call that runs here; threads and tasks started by the tool inherit it."""


@contextlib.contextmanager
def inside(seam: Seam, work: Work, tool: Tool) -> Iterator[None]:
    """Mark what runs in the block as part of a tool call, so that an agent run in it counts as a sub-agent."""
    token = PLACE.set(Place(seam=seam, work=work, tool=tool))
    try:
        yield
    finally:
        PLACE.reset(token)
