"""
Changes of the session a user works in: another session, a branch, another leaf of its tree.

Entering one asks the hooks and raises `StoppedError` when they, or the human they asked, say no. Leaving it tells
that it has happened, unless an exception leaves it.
"""

from __future__ import annotations

from typing import Any, Literal

from hookline.events import Fields
from hookline.fields import (
    SessionBeforeBranch,
    SessionBeforeSwitch,
    SessionBeforeTree,
    SessionBranch,
    SessionSwitch,
    SessionTree,
)
from hookline.lifecycle.errors import StoppedError
from hookline.lifecycle.scope import Phase, Scope
from hookline.lifecycle.step import Step
from hookline.outcome import Decision

SwitchReason = Literal["new", "resume", "fork"]


class Change(Phase):
    """What the changes of a session have in common: hooks are asked before, and told after."""

    def __init__(self, scope: Scope, before: Fields) -> None:
        super().__init__(scope)
        self._request = before

    def _enter(self) -> Step[None]:
        decision = yield from self._scope.request(self._request)
        if decision.verdict == "block":
            raise StoppedError(decision)
        self._take(decision)

    def _leave(self, error: BaseException | None) -> Step[None]:
        if error is None:
            yield from self._scope.announce(self._tell())

    def _take(self, decision: Decision) -> None:
        """Keep what hooks want to be different."""

    def _tell(self) -> Fields:
        """The record of what has happened."""
        raise NotImplementedError


class Switch(Change):
    """A switch to another session: `session_before_switch`, then `session_switch`."""

    def __init__(self, scope: Scope, before: SessionBeforeSwitch) -> None:
        super().__init__(scope, before)
        self._reason = before.reason
        self._previous_session_file: str | None = None

    def finish(self, previous_session_file: str | None = None) -> None:
        """Hand in the file of the session that was left."""
        self._previous_session_file = previous_session_file

    def _tell(self) -> Fields:
        return SessionSwitch(reason=self._reason, previous_session_file=self._previous_session_file)


class Branch(Change):
    """
    A branch of the session: `session_before_branch`, then `session_branch`.

    Inside, `skip_conversation_restore` tells that a hook wants the conversation left as it is.
    """

    def __init__(self, scope: Scope, before: SessionBeforeBranch) -> None:
        super().__init__(scope, before)
        self.skip_conversation_restore = False
        self._previous_session_file: str | None = None

    def finish(self, previous_session_file: str | None = None) -> None:
        """Hand in the file of the session that was left."""
        self._previous_session_file = previous_session_file

    def _take(self, decision: Decision) -> None:
        self.skip_conversation_restore = bool(decision.edits.get("skip_conversation_restore"))

    def _tell(self) -> Fields:
        return SessionBranch(previous_session_file=self._previous_session_file)


class Navigation(Change):
    """
    A way to another leaf of the session's tree: `session_before_tree`, then `session_tree`.

    Inside, `summary` is what a hook wrote about what is left behind, `{summary, details}`, or None.
    """

    def __init__(self, scope: Scope, before: SessionBeforeTree) -> None:
        super().__init__(scope, before)
        self.summary: Any = None
        self._new_leaf_id: str | None = before.preparation.get("target_id")
        self._old_leaf_id: str | None = before.preparation.get("old_leaf_id")
        self._summary_entry: Any = None

    def finish(self, new_leaf_id: str | None = None, *, summary_entry: Any = None) -> None:
        """Hand in the leaf where the session stands now, if it is not the target, and the entry of the summary."""
        self._new_leaf_id = new_leaf_id or self._new_leaf_id
        self._summary_entry = summary_entry

    def _take(self, decision: Decision) -> None:
        self.summary = decision.edits.get("summary")

    def _tell(self) -> Fields:
        return SessionTree(
            new_leaf_id=self._new_leaf_id,
            old_leaf_id=self._old_leaf_id,
            summary_entry=self._summary_entry,
            from_extension=self.summary is not None,
        )
