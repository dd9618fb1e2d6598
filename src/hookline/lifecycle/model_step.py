"""A step of an agent's work: one call of the model, and the tool calls that it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookline.fields import ModelStepEnd, ModelStepStart
from hookline.lifecycle.scope import Phase, Scope
from hookline.lifecycle.step import Step


class ModelStep(Phase):
    """
    One step: a call of the model and the tool calls that it asks for.

    Entering it fires `model_step_start`, leaving it `model_step_end` with what `finish` was given, also after a
    failure. `turn_index` counts from 0.
    """

    def __init__(self, scope: Scope, turn_index: int) -> None:
        super().__init__(scope)
        self.turn_index = turn_index
        self._message: Any = None
        self._tool_results: Sequence[Any] = ()

    def finish(self, message: Any, tool_results: Sequence[Any] = ()) -> None:
        """Hand in the model's message, and the results of the tools it called."""
        self._message, self._tool_results = message, tool_results

    def _enter(self) -> Step[None]:
        self._has_begun = True
        yield from self._scope.fire("model_step_start", lambda: ModelStepStart(turn_index=self.turn_index))

    def _leave(self, error: BaseException | None) -> Step[None]:
        del error
        yield from self._scope.fire(
            "model_step_end",
            lambda: ModelStepEnd(
                turn_index=self.turn_index, message=self._message, tool_results=list(self._tool_results)
            ),
        )
