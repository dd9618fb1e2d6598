"""A session: its start or restoration, its turns and workflows, its end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal
from uuid import uuid4

from msgspec.structs import replace

from hookline.events import MAIN_AGENT
from hookline.fields import (
    Agent,
    SessionBeforeBranch,
    SessionBeforeSwitch,
    SessionBeforeTree,
    SessionEnd,
    SessionRestored,
    SessionStart,
    UserInterrupt,
    WorkflowRunEnd,
    WorkflowRunStart,
)
from hookline.lifecycle.change import Branch, Navigation, Switch, SwitchReason
from hookline.lifecycle.scope import Ask, Phase, Scope, TellFacts, is_interruption
from hookline.lifecycle.step import DrainSession, Firing, Step, drive, drive_sync
from hookline.lifecycle.turn import Turn, TurnRegister, Work

WorkflowOutcome = Literal["succeeded", "failed", "cancelled"]


class Session(Work):
    """
    One session of an agent, as a context manager.

    Entering it fires `session_start`, or `session_restored` when `restored_from` names the saved session.
    Leaving it fires `session_end` and gives the session's async hooks their grace. `ask` puts questions of
    hooks to a human (plain or async, True lets the action happen); without it a question counts as a no.
    Tool calls that belong to no turn, such as those a server is asked for, may be made on the session itself.
    `tell_facts` says what only the host knows of the session, such as the model, for the payloads that tell it.
    """

    def __init__(
        self,
        engine: Firing,
        *,
        id: str | None = None,  # noqa: A002 - what it is, in the host's words
        profile: str = "",
        cwd: str | os.PathLike[str] | None = None,
        agent: Agent = MAIN_AGENT,
        ask: Ask | None = None,
        restored_from: str | None = None,
        grace_s: float | None = None,
        tell_facts: TellFacts | None = None,
    ) -> None:
        self.id = id or uuid4().hex
        self._restored_from = restored_from
        self._grace_s = grace_s
        self._register = TurnRegister()
        super().__init__(
            Scope(
                firing=engine,
                session_id=self.id,
                agent=agent,
                profile=profile,
                cwd="" if cwd is None else os.fspath(cwd),
                ask=ask,
                tell_facts=tell_facts,
            )
        )

    def turn(self, prompt: str | None, *, agent: Agent | None = None, profile: str | None = None) -> Turn:
        """
        The next turn, as a context manager; see `Turn`.

        A prompt of None is for a turn that the user wrote nothing for, such as one that goes on after an approval. A
        turn of a guest, who is another agent than the session's own, names its `agent` and perhaps its `profile`; it
        passes the same hooks.
        """
        scope = self._scope
        guest = replace(
            scope,
            turn_id=uuid4().hex,
            agent=scope.agent if agent is None else agent,
            profile=scope.profile if profile is None else profile,
        )
        return Turn(guest, prompt, self._register)

    def retry(self, turn: Turn) -> Turn:
        """
        The same turn once more: its prompt was submitted already and is not submitted again.

        A turn that never began, since its prompt was blocked, is not repeated so: its prompt is submitted anew.
        """
        return turn.again(uuid4().hex)

    @property
    def current_turn(self) -> Turn | None:
        """The turn under way; None without one, and when there are several."""
        running = self._register.running
        return running[0] if len(running) == 1 else None

    def switch(self, reason: SwitchReason, *, target_session_file: str | None = None) -> Switch:
        """A switch to another session, as a context manager; see `Switch`."""
        return Switch(self._scope, SessionBeforeSwitch(reason=reason, target_session_file=target_session_file))

    def branch(self, entry_id: str) -> Branch:
        """A branch of the session at an entry, as a context manager; see `Branch`."""
        return Branch(self._scope, SessionBeforeBranch(entry_id=entry_id))

    def navigate(self, preparation: Mapping[str, Any], *, signal: Any = None) -> Navigation:
        """A way to another leaf of the session's tree, as a context manager; see `Navigation`."""
        return Navigation(self._scope, SessionBeforeTree(preparation=preparation, signal=signal))

    def workflow(self, input_text: str = "", *, run_id: str | None = None) -> Workflow:
        """A workflow run, as a context manager."""
        return Workflow(self._scope, run_id or uuid4().hex, input_text)

    async def interrupt(self) -> None:
        """Report that the user interrupted; the turns under way end as interrupted. Does not stop the host's work."""
        await drive(self._interrupt(), self._scope.firing)

    def interrupt_sync(self) -> None:
        """The same as `interrupt`, without an event loop."""
        drive_sync(self._interrupt(), self._scope.firing)

    def _interrupt(self) -> Step[None]:
        for turn in self._register.running:
            turn.mark_interrupted()
        yield from self._scope.fire("user_interrupt", UserInterrupt)

    def _enter(self) -> Step[None]:
        self._has_begun = True
        restored_from = self._restored_from
        if restored_from is None:
            yield from self._scope.fire("session_start", SessionStart)
        else:
            yield from self._scope.fire("session_restored", lambda: SessionRestored(restored_session_id=restored_from))

    def _leave(self, error: BaseException | None) -> Step[None]:
        del error
        try:
            yield from self._scope.fire("session_end", SessionEnd)
        finally:
            yield DrainSession(session_id=self.id, grace_s=self._grace_s)


class Workflow(Phase):
    """One workflow run; leaving it fires `workflow_run_end`, also after a failure or a cancellation."""

    def __init__(self, scope: Scope, run_id: str, input_text: str) -> None:
        super().__init__(scope)
        self.run_id = run_id
        self._input_text = input_text
        self._outcome: str | None = None
        self._reason = ""

    def finish(self, outcome: str, reason: str = "") -> None:
        """Name the outcome in the host's words; otherwise it is succeeded, failed or cancelled."""
        self._outcome, self._reason = outcome, reason

    def _enter(self) -> Step[None]:
        self._has_begun = True
        yield from self._scope.fire(
            "workflow_run_start", lambda: WorkflowRunStart(run_id=self.run_id, input_text=self._input_text)
        )

    def _leave(self, error: BaseException | None) -> Step[None]:
        outcome: WorkflowOutcome = "succeeded"
        if error is not None:
            outcome = "cancelled" if is_interruption(error) else "failed"
        reason = self._reason or (str(error) if error is not None else "")
        yield from self._scope.fire(
            "workflow_run_end",
            lambda: WorkflowRunEnd(run_id=self.run_id, outcome=self._outcome or outcome, reason=reason),
        )
