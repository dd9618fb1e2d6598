"""An agent of LangChain that obeys hooks. Run it where there is a .hookline folder; its model is a script."""

import subprocess
import sys

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from hookline import PromptBlockedError
from hookline.adapters.langchain import HooklineMiddleware


def bash(command: str) -> str:
    """Run a command in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


class Model(BaseChatModel):
    """Stands for a language model: has the prompt run as a command, then repeats what it was told last."""

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        results = [message.text for message in messages if isinstance(message, ToolMessage)]
        call = {"name": "bash", "args": {"command": messages[0].text}, "id": "1"}
        answer = AIMessage(f"I was told: {results[-1]}") if results else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def ask(question) -> bool:
    try:
        return input(f"{question.reason} - go on? [y/N] ").lower() == "y"
    except EOFError:  # nobody is there to answer
        return False


hooks = HooklineMiddleware(kinds={"bash": "shell"}, ask=ask)
agent = create_agent(Model(), [bash], middleware=[hooks])

if __name__ == "__main__":
    try:
        result = agent.invoke({"messages": [{"role": "user", "content": " ".join(sys.argv[1:]) or "ls"}]})
        print(result["messages"][-1].text)
    except PromptBlockedError as blocked:
        print(f"not sent: {blocked.reason}")
