"""Hook objects for tests, which answer as told and note what they are asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hookline import Allow, Block, Error, HookMatcher, HookPayload, Mutate

Outcome = Allow | Mutate | Block | Error


class Asking:
    """An object that answers with an outcome, or with what a function of the payload returns."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the protocol
        event: str,
        answer: Outcome | Callable[[HookPayload], Any] | None = None,
        *,
        on_error: str = "warn",
        matcher: HookMatcher | None = None,
    ) -> None:
        self.id: Any = id
        self.event: Any = event
        self.matcher = matcher
        self.on_error: Any = on_error
        self._answer = answer if answer is not None else Allow()
        self.told: list[HookPayload] = []

    async def run(self, payload: HookPayload) -> Any:
        self.told.append(payload)
        answer = self._answer(payload) if callable(self._answer) else self._answer
        return await answer if hasattr(answer, "__await__") else answer

    @property
    def data(self) -> Any:
        """The data of the only payload."""
        (payload,) = self.told
        return payload.data


class PlainAsking(Asking):
    """The same with a plain `run`."""

    def run(self, payload: HookPayload) -> Any:  # type: ignore[override]
        self.told.append(payload)
        return self._answer(payload) if callable(self._answer) else self._answer


def fail(message: str = "boom") -> Callable[[HookPayload], Any]:
    """An answer that raises."""

    def answer(payload: HookPayload) -> Any:
        raise ValueError(message)

    return answer


def change(**patch: Any) -> Mutate:
    return Mutate(patch=patch)
