"""A compaction of the context: hooks may stop it, make it themselves, or have a say in how it is made."""

from __future__ import annotations

from typing import Any

from hookline.fields import BeforeCompact, Compacting, PostCompact, PreCompact
from hookline.lifecycle.errors import StoppedError
from hookline.lifecycle.scope import Phase, Scope
from hookline.lifecycle.step import Step


class Compaction(Phase):
    """
    One compaction of the context.

    Entering it fires `before_compact`, raising `StoppedError` when hooks or the human they asked say no, and
    `pre_compact`. Inside, `handed_in` is the compaction that a hook has made; use it as it is. Without one,
    `compacting` has been fired too, and the summary is yours to write: `context` holds texts to add to what it is
    made from, `prompt` another prompt for it, `preserve_data` what is to be kept beside it. Leaving it fires
    `post_compact`, unless an exception leaves it: the context is then as it was.
    """

    def __init__(self, scope: Scope, *, before: BeforeCompact, compacting: Compacting, pre: PreCompact) -> None:
        super().__init__(scope)
        self.handed_in: Any = None
        self.context: tuple[str, ...] = ()
        self.prompt: str | None = None
        self.preserve_data: Any = None
        self._before, self._compacting, self._pre = before, compacting, pre
        self._entry: Any = None
        self._summarized_turns = 0

    def finish(self, entry: Any = None, *, summarized_turns: int = 0) -> None:
        """Hand in the entry that the compaction left in the session, and how many turns it sums up."""
        self._entry, self._summarized_turns = entry, summarized_turns

    def _enter(self) -> Step[None]:
        decision = yield from self._scope.request(self._before)
        if decision.verdict == "block":
            raise StoppedError(decision)
        self.handed_in = decision.edits.get("compaction")
        yield from self._scope.announce(self._pre)
        if self.handed_in is None:
            decision = yield from self._scope.announce(self._compacting)
            self.context = tuple(decision.edits.get("context", ()))
            self.prompt = decision.edits.get("prompt")
            self.preserve_data = decision.edits.get("preserve_data")

    def _leave(self, error: BaseException | None) -> Step[None]:
        if error is not None:
            return
        yield from self._scope.fire(
            "post_compact",
            lambda: PostCompact(
                trigger=self._pre.trigger,
                summarized_turns=self._summarized_turns,
                tokens_before=self._pre.tokens_before,
                compaction_entry=self.handed_in if self._entry is None else self._entry,
                from_extension=self.handed_in is not None,
            ),
        )
