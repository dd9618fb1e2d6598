"""Between a hook and its runner: whether it still may run, and which runner is for it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from hookline.hook import HandlerAction, Hook, ObjectAction, PromptAction, WorkflowAction
from hookline.outcome import Failure, Run
from hookline.runners.base import Payload, Runner

Refuse = Callable[[Hook], str | None]
"""Why a hook must not run now, None when it may."""


class CheckedRunner:
    """Runs what may run; whatever way a run comes about, it passes here."""

    def __init__(self, runner: Runner, refuse: Refuse) -> None:
        self._runner = runner
        self._refuse = refuse

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Run the hook, unless it must not run."""
        reason = self._refuse(hook)
        if reason is not None:
            return stop_run(hook, reason, run_id=run_id)
        return await self._runner.run(hook, payload, run_id=run_id)


class RunnerByKind:
    """
    Runs each hook by the runner for its kind of action; those for code are made when there is some to run.

    `agents` is the runner for prompts and workflows.
    """

    def __init__(
        self,
        processes: Runner,
        *,
        get_handlers: Callable[[], Runner],
        get_objects: Callable[[], Runner],
        agents: Runner,
    ) -> None:
        self._processes = processes
        self._get_handlers = get_handlers
        self._get_objects = get_objects
        self._agents = agents

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Run the hook."""
        return await self._choose(hook).run(hook, payload, run_id=run_id)

    def _choose(self, hook: Hook) -> Runner:
        if isinstance(hook.action, HandlerAction):
            return self._get_handlers()
        if isinstance(hook.action, ObjectAction):
            return self._get_objects()
        return self._agents if isinstance(hook.action, PromptAction | WorkflowAction) else self._processes


def stop_run(hook: Hook, reason: str, *, run_id: str | None = None) -> Run:
    """A hook that must not run: a guard keeps its gate closed, any other is left out, visibly."""
    if hook.is_guard:
        run = Run(hook=hook, status="failed", outcome=Failure(kind="spawn", message=reason))
    else:
        run = Run(hook=hook, status="skipped", reason=reason, notes=(f"skipped: {reason}",))
    return run if run_id is None else replace(run, id=run_id)
