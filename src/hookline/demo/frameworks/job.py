"""What an agent inside a framework is to do, in words that are no framework's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from hookline.adapters.seam import Options
from hookline.fields import Tool

RunAgent = Callable[[], Awaitable[str]]
"""Lets an agent do its job once; returns its answer."""


class Job(Struct, frozen=True, kw_only=True):
    """
    A prompt, tools as plain functions, and what the scripted model wants, call by call.

    `hooks` are the options of the framework's adapter; without them there is none, unless `stand_in` is something of
    its kind that does nothing. `model` names a real model in the framework's own way, in place of the script. `hear`
    is told what the scripted model is told of its calls.
    """

    prompt: str
    tools: Sequence[Callable[..., str]]
    script: Sequence[Tool]
    hooks: Options | None = None
    stand_in: Any = None
    model: str | None = None
    answer: str = "All is done."
    hear: Callable[[str], None] = lambda _: None

    def choose_adapter(self, adapter: Callable[..., Any]) -> list[Any]:
        """The adapter with its options or what stands in for it, as a list of at most one."""
        if self.hooks is not None:
            return [adapter(**self.hooks)]
        return [] if self.stand_in is None else [self.stand_in]

    def find_step(self, results: Sequence[str]) -> Tool | None:
        """The next call that the script wants after these results of calls, None for the answer."""
        if results:
            self.hear(results[-1])
        return self.script[len(results)] if len(results) < len(self.script) else None
