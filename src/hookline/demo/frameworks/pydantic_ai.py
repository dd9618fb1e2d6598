"""The agent of the demo inside Pydantic AI."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hookline.adapters.pydantic_ai import HooklineCapability
from hookline.demo.frameworks.job import Job, RunAgent


def build(job: Job) -> RunAgent:
    """An agent that does the job."""

    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        parts = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        step = job.find_step([part.model_response_str(wrap_if_error=False) for part in parts])
        if step is None:
            return ModelResponse(parts=[TextPart(job.answer)])
        return ModelResponse(parts=[ToolCallPart(step.name, dict(step.args), tool_call_id=step.call_id)])

    capabilities = job.choose_adapter(HooklineCapability)
    agent = Agent(job.model or FunctionModel(script), name="Demo", tools=job.tools, capabilities=capabilities)

    async def run() -> str:
        return (await agent.run(job.prompt)).output

    return run
