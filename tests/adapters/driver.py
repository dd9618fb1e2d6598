"""What a driver of a framework is given, and what it gives back: the same words for every framework."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Face = Literal["async", "sync", "stream"]


@dataclass(frozen=True, slots=True)
class Call:
    """The scripted model wants a tool called."""

    tool: str
    args: dict[str, Any]


# What a scripted model does when it is called: calls tools (side by side), says something, or fails.
Step = Sequence[Call] | str | Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """
    An agent to be built in a framework: a name, tools, and a model that follows a script, one step a call.

    `tools` are plain or async functions with annotations and a docstring. `helpers` are agents that it can hand work
    to, each by a tool of the agent's name that takes one text.
    """

    script: Sequence[Step]
    tools: Sequence[Callable[..., Any]] = ()
    name: str = "Main"
    helpers: Sequence[Agent] = ()


@dataclass(slots=True, kw_only=True)
class Seen:
    """
    What came of it: all text of each call of the model, its answers, and what was raised, prompt by prompt.

    `requests` holds those of the main agent's model, `helped` those of the helpers' models.
    """

    requests: list[str] = field(default_factory=list)
    helped: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)


class Driver(Protocol):
    """
    Runs an agent in a framework with Hookline turned on.

    The prompts make one conversation: each run gets the history that the last one that went well left behind, kept in
    the framework's own way. `options` are those of the adapter.
    """

    async def run(self, agent: Agent, prompts: Sequence[str], seen: Seen, *, face: Face, **options: Any) -> None:
        """Run the agent on each prompt; an exception of a run is noted, and ends no conversation."""
        ...


def take(script: Sequence[Step], calls: list[str], request: str) -> Sequence[Call] | str:
    """The next step of a script for a model that was called with a request, which is noted."""
    step = script[len(calls)] if len(calls) < len(script) else "done"
    calls.append(request)
    if isinstance(step, Exception):
        raise step
    return step
