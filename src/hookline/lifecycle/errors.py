"""What is raised when hooks stop something; each carries the decision."""

from __future__ import annotations

from hookline.errors import HooklineError
from hookline.fields import ToolResult
from hookline.outcome import Decision


class StoppedError(HooklineError):
    """
    Hooks stopped what the host was about to do.

    `reason` says why, `user_message` is for the user where a hook wrote one.
    """

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.reason = decision.reason or "stopped by a hook"
        self.user_message = decision.user_message
        super().__init__(self.reason)


class PromptBlockedError(StoppedError):
    """A prompt must not reach the model, neither now nor as history."""


class ToolCallDeniedError(StoppedError):
    """
    A tool call must not run; `result` is what the model is told instead.

    Also raised when the human who was asked said no.
    """

    def __init__(self, decision: Decision, result: ToolResult) -> None:
        super().__init__(decision)
        self.result = result


class ToolFailedError(HooklineError):
    """A hook marked the result of a wrapped tool as an error; the text is the result's."""

    def __init__(self, result: ToolResult) -> None:
        self.result = result
        super().__init__(result.text)
