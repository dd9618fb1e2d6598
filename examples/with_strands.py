"""An agent of Strands that obeys hooks. Run it where there is a .hookline folder; its model is a script."""

import json
import subprocess
import sys

from strands import Agent, tool
from strands.models import Model

from hookline import PromptBlockedError
from hookline.adapters.strands import HooklinePlugin


@tool
def bash(command: str) -> str:
    """Run a command in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


class Script(Model):
    """Stands for a language model: has the prompt run as a command, then repeats what it was told last."""

    async def stream(self, messages, *args, **options):
        blocks = [block for message in messages for block in message["content"]]
        results = [block["toolResult"]["content"][0]["text"] for block in blocks if "toolResult" in block]
        start = {} if results else {"toolUse": {"name": "bash", "toolUseId": "1"}}
        call = {"toolUse": {"input": json.dumps({"command": blocks[0]["text"]})}}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": {"text": f"I was told: {results[-1]}"} if results else call}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}

    def structured_output(self, *args, **options):
        raise NotImplementedError("it says texts alone")

    def get_config(self):
        return {}

    def update_config(self, **config):
        pass


def ask(question) -> bool:
    try:
        return input(f"{question.reason} - go on? [y/N] ").lower() == "y"
    except EOFError:  # nobody is there to answer
        return False


hooks = HooklinePlugin(kinds={"bash": "shell"}, ask=ask)
agent = Agent(Script(), tools=[bash], plugins=[hooks], callback_handler=None)

if __name__ == "__main__":
    try:
        print(agent(" ".join(sys.argv[1:]) or "ls"), end="")
    except PromptBlockedError as blocked:
        print(f"not sent: {blocked.reason}")
