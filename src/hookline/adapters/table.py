"""
The frameworks that Hookline has an adapter for, and how far each lets hooks reach.

The contract suite in `tests/adapters` holds every adapter to every ability, and to the limits that it names here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Level = Literal["enforces", "partly", "observes", "not"]

ABILITIES: Mapping[str, str] = {
    "deny": "A denied tool call never runs, and the model sees the reason.",
    "rewrite": "The tool gets the arguments that hooks wrote.",
    "validate": "Arguments that hooks wrote are checked against the tool's schema before it runs.",
    "context": "What hooks add to a result reaches the model.",
    "redact": "The model sees the result that hooks put in place of the tool's own.",
    "remind": "A reminder of the prompt reaches the model in each of its calls of the turn.",
    "prompt-context": "What hooks add to a prompt reaches the model.",
    "prompt-rewrite": "The model sees the prompt that hooks put in place of the user's own.",
    "prompt-block": "A blocked prompt never reaches the model, neither now nor as history.",
    "ask": "A hook's question is put to the human, and without one it is a no.",
    "turn": "A turn is reported from its prompt to its end, and so is its session.",
    "turn-failed": "A turn that an error ends is reported as failed.",
    "turn-interrupted": "A turn that is cancelled is reported as interrupted.",
    "denied-report": "`after_tool_call` of a denied call says that it was denied, and no `tool_error` follows.",
    "tool-error": "A tool that raises is reported, and the framework goes on as it would without hooks.",
    "parallel": "Of tool calls side by side each has its own decision.",
    "sub-agent": "An agent that works for another is reported as a sub-agent, and hooks guard its calls too.",
    "stream": "All of it holds when the answer is streamed.",
    "sync": "All of it holds in code without an event loop.",
    "failing-hook": "A hook that crashes, hangs or cannot start follows its `on_error`.",
}


class Limit(Struct, frozen=True):
    """Where an adapter falls short of an ability, and why: `enforces` is what an adapter without a limit does."""

    level: Level
    reason: str


class Host(Struct, frozen=True, kw_only=True):
    """
    One framework: what it is called, and the extra, the module and the class that serve it.

    `limits` names the abilities that it does not give in full. `notes` are sentences for the docs on what lies outside.
    `runs_agents` is False where the agent is somewhere else, such as at the client of a server.
    """

    name: str
    title: str
    adapter: str
    limits: Mapping[str, Limit] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    runs_agents: bool = True

    @property
    def module_name(self) -> str:
        """What a module for the framework is called, wherever it is."""
        return self.name.replace("-", "_")

    @property
    def module(self) -> str:
        """The module of the adapter."""
        return f"hookline.adapters.{self.module_name}"


_ELSEWHERE = Limit("not", "A server sees calls of its tools alone; prompts, turns and agents are its client's.")

HOSTS: tuple[Host, ...] = (
    Host(
        name="pydantic-ai",
        title="Pydantic AI",
        adapter="HooklineCapability",
        notes=(
            "Tools that run at the provider, such as web search, never pass through the agent: no hook can stop them.",
            "Nor do external tools, whose calls end the run and are made elsewhere.",
        ),
    ),
    Host(
        name="langchain",
        title="LangChain and LangGraph",
        adapter="HooklineMiddleware",
        limits={
            "turn-failed": Limit(
                "partly",
                "A middleware hears of errors in models and tools alone. A turn that another error ends is reported as "
                "interrupted, when the thread's next one begins or the adapter is closed. A turn counts as failed "
                "although another middleware tries the failed call again.",
            ),
        },
        notes=(
            "Put the middleware last: the middlewares before it then cannot change what hooks have seen.",
            "A plain `ToolNode` has no prompts and no turns; its calls belong to a session alone.",
        ),
    ),
    Host(
        name="openai-agents",
        title="OpenAI Agents SDK",
        adapter="HooklineRunner",
        notes=(
            "Tools of MCP servers are guarded, agents that are tools, and custom tools, whose text is `input`.",
            "Tools that are no functions, such as web search or a shell, pass by all hooks; stderr names each once.",
            "An agent that takes over goes on with the turn, under the name of the first; the handoff is no tool call.",
            "Hooks are asked about a call that waits for an approval when it runs.",
            "The timeout of a tool counts the time of its hooks.",
        ),
    ),
    Host(
        name="claude-agent-sdk",
        title="Claude Agent SDK",
        adapter="HooklineHooks",
        limits={
            "redact": Limit(
                "partly",
                "It holds for the shell and for tools of MCP servers. Results of other tools are records: hooks see "
                "them as JSON, and may write the same record with other values. For any other text the turn is stopped "
                "before the model sees the result, which stays in the conversation. An error's own text stays too.",
            ),
            "remind": Limit("partly", "The reminder stays in the history of later turns."),
            "prompt-rewrite": Limit(
                "not", "Claude Code lets no hook change a prompt. One that a hook changes is blocked in its place."
            ),
            "sync": Limit("not", "The SDK has no synchronous functions."),
        },
        notes=(
            "All of it is tried with the Claude Code that the SDK brings, and a model on the same machine.",
            "That hooks allow a call is no permission: Claude Code asks its own, and reports no call that it refuses.",
            "What fails in the adapter stops what it guards: its callbacks have `on_failure` set to `block`.",
            "Tools run outside of the adapter: an agent that such a tool runs is a session of its own.",
            "Agents in the background go on after a turn: their calls are guarded then, and belong to a session alone.",
            "Each turn is a session for events, with the id of Claude Code's own.",
        ),
    ),
    Host(
        name="mcp",
        title="MCP servers",
        adapter="HooklineMiddleware",
        limits={
            "redact": Limit(
                "partly",
                "Structured data cannot be rewritten by a text. A result whose text hooks replace goes without its "
                "data, as an error, which is what clients take where a schema promises data.",
            ),
            "remind": _ELSEWHERE,
            "prompt-context": _ELSEWHERE,
            "prompt-rewrite": _ELSEWHERE,
            "prompt-block": _ELSEWHERE,
            "turn": _ELSEWHERE,
            "turn-failed": _ELSEWHERE,
            "turn-interrupted": _ELSEWHERE,
            "sub-agent": _ELSEWHERE,
            "stream": Limit("not", "A client gets the result of a call in one piece."),
            "sync": Limit("not", "A server always has an event loop; its tools may be plain functions."),
        },
        notes=(
            "Resources, prompts and other requests that are no calls of tools pass by.",
            "Hooks see of an error what the client is told: a server keeps exceptions to itself but for `ToolError`.",
            "A tool that asks the client for more input is reported when it has it, and hooks are asked again then.",
            "The middleware of `mcp` is marked as open to change in its 2.x releases.",
        ),
        runs_agents=False,
    ),
    Host(
        name="strands",
        title="Strands Agents",
        adapter="HooklinePlugin",
        notes=(
            "Put the plugin last: the plugins before it then cannot change what hooks have seen.",
            "A call that another plugin's hook cancels never comes to Hookline, and is not reported.",
            "The deprecated method `structured_output` is refused, since it shows its prompt to nobody.",
        ),
    ),
    Host(
        name="google-adk",
        title="Google ADK",
        adapter="HooklinePlugin",
        limits={
            "rewrite": Limit(
                "partly", "An agent's own `before_tool_callback` runs after hooks, and may change what they wrote."
            ),
            "validate": Limit(
                "partly", "The adapter checks them for functions. Other tools check their own, or do not."
            ),
            "turn-interrupted": Limit(
                "partly", "Nobody tells plugins: it is reported when the task that ran the turn has ended."
            ),
        },
        notes=(
            "A blocked prompt is a `RuntimeError` with `PromptBlockedError` as its cause, as with all plugins.",
            "An agent that takes over by a transfer works in the turn of the agent that it takes over from.",
            "Live runs, with audio and video, have no prompts here; their tool calls are guarded.",
        ),
    ),
)
"""One row for each framework; its name is that of the extra."""
