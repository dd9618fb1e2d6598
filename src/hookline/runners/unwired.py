"""Prompt and workflow hooks where nothing can run them."""

from __future__ import annotations

import uuid

from hookline.hook import Hook, PromptAction
from hookline.outcome import Failure, Run
from hookline.runners.base import Payload


class UnwiredRunner:
    """Fails what needs a model or a workflow engine that the host has not given, so that it is missed."""

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Fail the hook."""
        del payload
        what = "prompt" if isinstance(hook.action, PromptAction) else "workflow"
        message = f"this agent has no {what} runner, so a {what} hook cannot run"
        failure = Failure(kind="spawn", message=message)
        return Run(hook=hook, id=run_id or uuid.uuid4().hex, status="failed", outcome=failure)
