"""An agent of Pydantic AI that obeys hooks. Run it where there is a .hookline folder; its model is a script."""

import subprocess
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hookline import PromptBlockedError
from hookline.adapters.pydantic_ai import HooklineCapability


def bash(command: str) -> str:
    """Run a command in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stands for a language model: has the prompt run as a command, then repeats what it was told last."""
    parts = [part for message in messages for part in message.parts]
    prompt = next(part.content for part in parts if isinstance(part, UserPromptPart))
    results = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    if results:
        return ModelResponse(parts=[TextPart(f"I was told: {results[-1]}")])
    return ModelResponse(parts=[ToolCallPart("bash", {"command": prompt})])


def ask(question) -> bool:
    try:
        return input(f"{question.reason} - go on? [y/N] ").lower() == "y"
    except EOFError:  # nobody is there to answer
        return False


hooks = HooklineCapability(kinds={"bash": "shell"}, ask=ask)
agent = Agent(FunctionModel(model), tools=[bash], capabilities=[hooks])

if __name__ == "__main__":
    try:
        print(agent.run_sync(" ".join(sys.argv[1:]) or "ls").output)
    except PromptBlockedError as blocked:
        print(f"not sent: {blocked.reason}")
