"""Claude Code, obeying hooks. Run it where there is a .hookline folder; its model is a script."""

import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage

from hookline import PromptBlockedError, Tool
from hookline.adapters.claude_agent_sdk import HooklineHooks
from hookline.demo.frameworks.messages_api import MessagesApi


def model(request):
    """Stands for a language model: has the prompt run as a command, then repeats what it was told last."""
    blocks = [block for message in request["messages"] for block in message["content"] if isinstance(block, dict)]
    results = [block["content"] for block in blocks if block["type"] == "tool_result"]
    if results:
        return f"I was told: {results[-1]}"
    return [Tool(name="Bash", args={"command": " ".join(sys.argv[1:]) or "ls", "description": "What was asked for"})]


def ask(question) -> bool:
    try:
        return input(f"{question.reason} - go on? [y/N] ").lower() == "y"
    except EOFError:  # nobody is there to answer
        return False


hooks = HooklineHooks(kinds={"Bash": "shell"}, ask=ask)


async def main() -> None:
    with MessagesApi(model) as api:  # without it and `env`, Claude answers
        options = ClaudeAgentOptions(allowed_tools=["Bash"], setting_sources=[], env=api.env)
        async for message in hooks.query(prompt=" ".join(sys.argv[1:]) or "ls", options=options):
            if isinstance(message, ResultMessage):
                print(message.result)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except PromptBlockedError as blocked:
        print(f"not sent: {blocked.reason}")
