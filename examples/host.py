"""A complete host in forty lines: an agent loop that obeys hooks. Run it where there is a .hookline folder."""

import asyncio
import subprocess
import sys

from hookline import Engine, Session, Tool, lifecycle


def shell(tool: Tool) -> str:
    done = subprocess.run(tool.args["command"], shell=True, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


async def model(messages: list[str]) -> Tool | str:
    """Stands for a language model: asks for one tool call, then says that it is done."""
    calls = sum(message.startswith("tool:") for message in messages)
    return "done" if calls else Tool(name="bash", kind="shell", call_id="1", args={"command": messages[0]})


async def main(prompt: str) -> None:
    async with Engine.open(".") as engine, Session(engine, profile="Example", ask=ask) as session:
        try:
            async with session.turn(prompt) as turn:
                messages = [turn.prompt, *turn.context]
                if (first := await turn.start_agent(turn.prompt)) is not None:
                    messages.append(first["content"])
                answer: Tool | str | None = None
                while not isinstance(answer, str):
                    async with turn.model_step() as step:
                        answer = await model(await turn.filter_messages([*messages, *turn.reminders]))
                        if isinstance(answer, Tool):
                            result = await turn.call_tool(answer, shell)
                            messages.append(f"tool: {result.text}")
                            step.finish(answer, [result])
                        else:
                            step.finish(answer)
                turn.finish(answer, messages=messages)
                print("\n".join([*messages, answer]))
        except lifecycle.PromptBlockedError as blocked:
            print(f"not sent: {blocked.user_message or blocked.reason}")


async def ask(question: lifecycle.Asked) -> bool:
    try:
        return (await asyncio.to_thread(input, f"{question.reason} - go on? [y/N] ")).lower() == "y"
    except EOFError:  # nobody is there to answer
        return False


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "ls"))
