"""
For people who test their own hooks and their own hosts.

* `make_event` and `make_hook` build what a test needs from the little that matters to it.
* `FakeRunner` stands in for processes: it answers for each hook as it was told.
* `make_engine` is a real engine over given hooks, with a fake runner.
* `RecordingEngine` stands in for an engine: it notes what a host fires, and decides as it was told.
* `RecordingHost` and `RecordingUI` stand in for a host's sessions and its user: they note what handlers do, and
  dialogs get the answers prepared for them.
* `hookline_project` is a pytest fixture: a scratch project with real hooks files and real processes.
  Use it with `from hookline.testing import hookline_project` in a `conftest.py`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hookline.config.layers import Layers
from hookline.dialects.native import NATIVE
from hookline.engine import Engine
from hookline.events import Event, get_event_type
from hookline.hook import Execution, Hook, Match, OnError, Settings, ShellAction, Source
from hookline.outcome import EMPTY_DECISION, NO_OBJECTION, Answer, Decision, Failure, Outcome, Run, RunStatus
from hookline.payload import parse_payload
from hookline.problem import Place
from hookline.recording import Asked as Asked
from hookline.recording import NewSession as NewSession
from hookline.recording import RecordingHost as RecordingHost
from hookline.recording import RecordingUI as RecordingUI
from hookline.recording import Sent as Sent
from hookline.recording import UnpreparedDialogError as UnpreparedDialogError
from hookline.runners.base import Payload
from hookline.sample import sample_payload

if TYPE_CHECKING:
    from hookline.hook import Mode

Decide = Decision | Callable[[Event], Decision]


def make_event(name: str = "before_tool_call", **payload: Any) -> Event:
    """
    An event as its JSON payload would say it, with sample values for what is not given.

    `make_event("before_tool_call", tool={"name": "bash", "args": {"command": "ls"}}, session_id="s1")`
    """
    sample = sample_payload(make_hook(event=name))
    event, _ = parse_payload(name, {**sample, **payload})
    return event


def make_hook(
    hook_id: str = "hook",
    *,
    event: str = "before_tool_call",
    mode: Mode = "blocking",
    on_error: OnError = "warn",
    match: Match | None = None,
    run: str = "true",
    **execution: Any,
) -> Hook:
    """A hook that is written nowhere; `run` is a text for the shell, `execution` more fields of `Execution`."""
    get_event_type(event)
    return Hook(
        id=hook_id,
        event=event,
        action=ShellAction(text=run),
        source=Source(layer="code", dialect=NATIVE.name, place=Place(path=Path("<test>"))),
        match=match or Match(),
        execution=Execution(mode=mode, on_error=on_error, on_provoked_error=on_error, **execution),
    )


class FakeRunner:
    """
    Answers for hooks without running anything.

    `outcomes` says what the hook with each id answers: an `Answer`, a `Failure`, or a function of the event;
    hooks that are not named have no objection. `calls` lists what was run, in order.
    """

    def __init__(self, outcomes: Mapping[str, Outcome | Callable[[Event], Outcome]] | None = None) -> None:
        self._outcomes = dict(outcomes or {})
        self.calls: list[tuple[str, Event]] = []

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Note the call and answer as told."""
        self.calls.append((hook.id, payload.event))
        outcome = self._outcomes.get(hook.id, NO_OBJECTION)
        if not isinstance(outcome, Answer | Failure):
            outcome = outcome(payload.event)
        status: RunStatus = "ok"
        if isinstance(outcome, Failure):
            status = "timeout" if outcome.kind == "timeout" else "failed"
        run = Run(hook=hook, status=status, outcome=outcome, duration_ms=0.0)
        return run if run_id is None else replace(run, id=run_id)


def make_engine(hooks: Sequence[Hook], runner: FakeRunner | None = None, *, settings: Settings | None = None) -> Engine:
    """A real engine over these hooks that runs no process; close it as any other."""
    layers = Layers(
        project=Path.cwd(),
        homes={NATIVE.name: Path("/nonexistent")},
        files=(),
        hooks=tuple(hooks),
        closures=(),
        settings=settings or Settings(),
        problems=(),
    )
    return Engine(layers, runner=runner or FakeRunner())


class RecordingEngine:
    """
    Notes what a host fires and decides as told, in place of an engine.

    `decisions` gives for an event's name a decision, or a function of the event; all others are allowed.
    `events` lists what was fired, `drains` what was waited for: ("turn" or "session", session id, agent id).
    """

    def __init__(self, decisions: Mapping[str, Decide] | None = None) -> None:
        self._decisions = dict(decisions or {})
        self.events: list[Event] = []
        self.drains: list[tuple[str, str, str | None]] = []

    @property
    def names(self) -> list[str]:
        """The names of the events fired, in order."""
        return [event.name for event in self.events]

    def listens(self, event_name: str) -> bool:
        """Everything is of interest."""
        get_event_type(event_name)
        return True

    async def fire(self, event: Event) -> Decision:
        """Note the event and decide."""
        return self.fire_sync(event)

    def fire_sync(self, event: Event) -> Decision:
        """Note the event and decide."""
        self.events.append(event)
        decide = self._decisions.get(event.name, EMPTY_DECISION)
        decision = decide if isinstance(decide, Decision) else decide(event)
        return decision if decision.event is not None else replace(decision, event=event)

    async def drain_turn(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]:
        """Note the wait."""
        return self.drain_turn_sync(session_id, agent_id=agent_id)

    def drain_turn_sync(self, session_id: str = "", *, agent_id: str | None = None) -> tuple[Run, ...]:
        """Note the wait."""
        self.drains.append(("turn", session_id, agent_id))
        return ()

    async def drain_session(self, session_id: str = "", *, grace_s: float | None = None) -> tuple[Run, ...]:
        """Note the wait."""
        return self.drain_session_sync(session_id, grace_s=grace_s)

    def drain_session_sync(self, session_id: str = "", *, grace_s: float | None = None) -> tuple[Run, ...]:
        """Note the wait."""
        del grace_s
        self.drains.append(("session", session_id, None))
        return ()


class HooklineProject:
    """A scratch project and home with real hooks files; engines over it are closed in the end."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "project"
        self.home = root / "home"
        self.folder.mkdir(parents=True)
        self._engines: list[Engine] = []

    def write_hooks(self, text: str) -> Path:
        """Write the project's hooks file; the text may be indented as a whole."""
        return self.write(".hookline/hooks/hooks.yaml", text)

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project, such as a hook's script below `.hookline/hooks/`."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def open(self, **options: Any) -> Engine:
        """Open an engine that trusts this project."""
        engine = Engine.open(self.folder, home=self.home, **{"trust": "all", **options})
        self._engines.append(engine)
        return engine

    def close(self) -> None:
        """Close all engines."""
        for engine in self._engines:
            engine.close(grace_s=0)


def _provide_project(tmp_path: Path) -> Iterator[HooklineProject]:
    """A scratch project with real hooks files and real processes."""
    project = HooklineProject(tmp_path / "hookline")
    yield project
    project.close()


try:
    import pytest
except ImportError:  # only the fixture needs pytest
    pass
else:
    hookline_project = pytest.fixture(name="hookline_project")(_provide_project)
