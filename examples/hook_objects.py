"""Hooks that are objects of the host: one that redacts prompts, a guard, and a shell command. Needs no hook files."""

import asyncio
import re

from hookline import Allow, Block, Engine, HookMatcher, HookPayload, Mutate, Session, ShellHook, Tool


class KeepKeys:
    """Takes keys out of prompts."""

    id = "keep-keys"
    event = "user_prompt_submit"
    matcher = None
    on_error = "block"

    async def run(self, payload: HookPayload) -> Allow | Mutate:
        message = re.sub(r"sk-\w+", "[key]", payload.data["message"])
        return Allow() if message == payload.data["message"] else Mutate(patch={"message": message})


class NoForce:
    """Lets nobody push by force."""

    id = "no-force"
    event = "pre_tool_use"
    matcher = HookMatcher(tool_name="bash", args_jsonpath="$.command", match_regex=r"\bpush\b.*--force\b")
    on_error = "block"

    async def run(self, payload: HookPayload) -> Block:
        return Block(reason="push without --force", user_message="The agent wanted to push by force.")


JOURNAL = ShellHook("journal", "turn_end", "cat >> turns.jsonl; echo >> turns.jsonl")


def run(tool: Tool) -> str:
    """Stands for a tool that does something."""
    return f"ran {tool.args['command']}"


async def main() -> None:
    async with Engine.open(".") as engine:
        engine.attach([KeepKeys(), NoForce(), JOURNAL])
        async with Session(engine, id="s1") as session, session.turn("push with sk-123") as turn:
            print("prompt:", turn.prompt)
            for command in ("git push --force", "git push"):
                result = await turn.call_tool(Tool(name="bash", args={"command": command}), run)
                print("result:", result.text)


if __name__ == "__main__":
    asyncio.run(main())
