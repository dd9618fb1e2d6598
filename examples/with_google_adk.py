"""An agent of Google ADK that obeys hooks. Run it where there is a .hookline folder; its model is a script."""

import asyncio
import logging
import subprocess
import sys

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, FunctionCall, GenerateContentResponseUsageMetadata, Part

from hookline import PromptBlockedError
from hookline.adapters.google_adk import HooklinePlugin


def bash(command: str) -> str:
    """Run a command in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


class Script(BaseLlm):
    """Stands for a language model: has the prompt run as a command, then repeats what it was told last."""

    async def generate_content_async(self, llm_request, stream=False):
        parts = [part for content in llm_request.contents for part in content.parts]
        results = [part.function_response.response for part in parts if part.function_response]
        if results:
            answer = Part(text=f"I was told: {next(iter(results[-1].values()))}")
        else:
            answer = Part(function_call=FunctionCall(name="bash", args={"command": parts[0].text}))
        usage = GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)
        yield LlmResponse(content=Content(role="model", parts=[answer]), usage_metadata=usage)


def ask(question) -> bool:
    try:
        return input(f"{question.reason} - go on? [y/N] ").lower() == "y"
    except EOFError:  # nobody is there to answer
        return False


hooks = HooklinePlugin(kinds={"bash": "shell"}, ask=ask)
agent = LlmAgent(name="helper", model=Script(model="script"), tools=[bash])
app = App(name="example", root_agent=agent, plugins=[hooks])


async def main(prompt: str) -> None:
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="example", user_id="you")
    said = Content(role="user", parts=[Part(text=prompt)])
    async for event in runner.run_async(user_id="you", session_id=session.id, new_message=said):
        if event.is_final_response():
            print(event.content.parts[0].text)


if __name__ == "__main__":
    logging.getLogger("google_adk").setLevel(logging.CRITICAL)  # or it shows the way of each error through it
    try:
        asyncio.run(main(" ".join(sys.argv[1:]) or "ls"))
    except RuntimeError as error:  # the framework wraps what a plugin raises
        if not isinstance(error.__cause__, PromptBlockedError):
            raise
        print(f"not sent: {error.__cause__.reason}")
