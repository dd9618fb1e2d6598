"""An agent of OpenAI's SDK that obeys hooks. Run it where there is a .hookline folder; its model is a script."""

import json
import subprocess
import sys

from agents import Agent, Model, ModelResponse, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from hookline import PromptBlockedError
from hookline.adapters.openai_agents import HooklineRunner


@function_tool
def bash(command: str) -> str:
    """Run a command in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


class Script(Model):
    """Stands for a language model: has the prompt run as a command, then repeats what it was told last."""

    async def get_response(self, *args, **options):
        items = options["input"]
        results = [item["output"] for item in items if item.get("type") == "function_call_output"]
        if results:
            text = ResponseOutputText(type="output_text", text=f"I was told: {results[-1]}", annotations=[])
            said = ResponseOutputMessage(type="message", id="2", role="assistant", status="completed", content=[text])
        else:
            arguments = json.dumps({"command": items[0]["content"]})
            said = ResponseFunctionToolCall(type="function_call", call_id="1", name="bash", arguments=arguments)
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **options):
        raise NotImplementedError


def ask(question) -> bool:
    try:
        return input(f"{question.reason} - go on? [y/N] ").lower() == "y"
    except EOFError:  # nobody is there to answer
        return False


set_tracing_disabled(True)  # a script needs no key
agent = Agent("Demo", model=Script(), tools=[bash])
runner = HooklineRunner(kinds={"bash": "shell"}, ask=ask)

if __name__ == "__main__":
    try:
        print(runner.run_sync(agent, " ".join(sys.argv[1:]) or "ls").final_output)
    except PromptBlockedError as blocked:
        print(f"not sent: {blocked.reason}")
