"""
Prompt hooks by the models of Pydantic AI.

    Engine.open(".", prompts=ModelPrompts("anthropic:claude-haiku-4-5"))

A prompt gets no tools: the model reads the event and answers with a text.
"""

from __future__ import annotations

from hookline.errors import HooklineError
from hookline.runners.agent import Task

try:
    from pydantic_ai import Agent
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import Model, infer_model
except ImportError as error:

    class MissingExtraError(HooklineError, ImportError):
        """The library of models is not installed."""

    message = f"the models for prompt hooks cannot be imported ({error}); pip install 'hookline[prompts]'"
    raise MissingExtraError(message) from error

_INSTRUCTIONS = """\
You are a hook of an AI agent: you are told about one event of its work and say what should become of it.
Answer with nothing if there is nothing to say. To stop what the event announces, answer with one line that starts
with BLOCK: and says why. Anything else you write is shown to the agent as context."""


class ModelPrompts:
    """
    Puts prompts to a model.

    `model` is a model of Pydantic AI or its name, such as `anthropic:claude-haiku-4-5`; its key is read from the
    environment as that library documents. `instructions` are what the model is told in front of each prompt.
    Raises `HooklineError` for a model that is not known or cannot be used as things are.
    """

    def __init__(self, model: str | Model, *, instructions: str = _INSTRUCTIONS) -> None:
        try:
            self._agent = Agent(infer_model(model), instructions=instructions)
        except (UserError, ValueError, ImportError) as error:
            raise HooklineError(f"the model {model!r} cannot be used for prompt hooks: {error}") from error

    async def run(self, task: Task) -> str:
        """The text that the model answers with."""
        answer = await self._agent.run(task.message)
        return answer.output
