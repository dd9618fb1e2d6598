"""The agent of the demo inside LangChain."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig

from hookline.adapters.langchain import HooklineMiddleware
from hookline.demo.frameworks.job import Job, RunAgent


class ScriptedModel(BaseChatModel):
    """A chat model that wants what the script of a job says."""

    job: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> ScriptedModel:
        """The script knows the tools."""
        del tools, options
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        del args, options
        step = self.job.find_step([message.text for message in messages if isinstance(message, ToolMessage)])
        answer = AIMessage(self.job.answer)
        if step is not None:
            answer = AIMessage("", tool_calls=[{"name": step.name, "args": dict(step.args), "id": step.call_id}])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def build(job: Job) -> RunAgent:
    """An agent that does the job."""
    middleware = job.choose_adapter(HooklineMiddleware)
    agent = create_agent(job.model or ScriptedModel(job=job), list(job.tools), name="Demo", middleware=middleware)

    async def run() -> str:
        # Each step of the graph counts, and a call takes two.
        config: RunnableConfig = {"recursion_limit": 10_000}
        result: Any = await agent.ainvoke({"messages": [HumanMessage(job.prompt)]}, config)
        return str(result["messages"][-1].text)

    return run
