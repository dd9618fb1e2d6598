"""
Running prompts and workflows: work that a model does, which the host supplies, and the text it ends with.

What a prompt is put to, and what a named workflow is, only the host knows. Steps of an inline workflow are run here,
one after another, each told the texts of those before it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hookline.dialects.base import Dialect
from hookline.dialects.table import get_dialect
from hookline.dialects.wire import UnencodableError
from hookline.errors import ConfigError
from hookline.events import Event
from hookline.handlers.lasting import EndingCoroutine
from hookline.handlers.workers import Workers, call_on_thread
from hookline.hook import AgentAction, Hook, PromptAction, ShellAction, WorkflowAction, WorkflowStep
from hookline.outcome import Answer, Failure, Run
from hookline.runners.base import Payload, Runner

_LONGEST_KEPT = 8192


class Task(Struct, frozen=True, kw_only=True):
    """
    What is put to a model or a workflow.

    `message` is the whole text; `payload` is the event in the words of the hook's dialect, `steps` are the texts of
    the steps before, in order. `title` names the work for people. The work is to be done in `cwd`, and ends after
    `timeout_s` seconds at the latest; `auto_write` and `auto_dirs` tell whether it may write files, and use other
    folders, without asking. Work that tells its own events should do so in a session whose `HostFacts.origin` is
    `origin`, so that no hook starts itself again.
    """

    hook: Hook
    event: Event
    title: str
    message: str
    payload: Mapping[str, Any]
    steps: tuple[str, ...] = ()
    cwd: str = ""
    timeout_s: float
    auto_write: bool = True
    auto_dirs: bool = True
    origin: Literal["vix"] = "vix"


class PromptRunner(Protocol):
    """Puts a prompt to a model; a host gives one to the engine."""

    async def run(self, task: Task) -> str:
        """The text that the model ends with; whatever this raises is a failure of the hook."""


def check_prompts(prompts: object) -> None:
    """Raise `ConfigError` for what is given as a prompt runner and is none, such as the bare name of a model."""
    if prompts is None or callable(getattr(prompts, "run", None)):
        return
    raise ConfigError(
        f"prompts={prompts!r} is no prompt runner: it has no method run; "
        "for a model use hookline.prompting.ModelPrompts(model)"
    )


Workflow = Callable[[Task], str | Awaitable[str]]
"""A workflow that the host registers under a name: plain, which is run on a thread, or async."""


class _UnrunnableError(Exception):
    """What the hook needs is not there."""


class _Decided(Exception):  # noqa: N818 - a way out, no error
    """A step's command has ended with a code that says something by itself."""

    def __init__(self, outcome: Answer | Failure) -> None:
        self.outcome = outcome


class AgentRunner:
    """
    Runs prompt and workflow hooks by what the host gave; without that they fail, so that they are missed.

    `processes` runs the commands among the steps of a workflow; `read_text` tells what a final text says.
    """

    def __init__(self, processes: Runner, read_text: Callable[[str, Hook], Answer | Failure]) -> None:
        self._processes = processes
        self._read_text = read_text
        self.prompts: PromptRunner | None = None
        self.workflows: dict[str, Workflow] = {}
        self._workers = Workers()

    async def run(self, hook: Hook, payload: Payload, *, run_id: str | None = None) -> Run:
        """Run the hook to its end or its time limit."""
        run_id = run_id or uuid.uuid4().hex
        started_at = time.monotonic()
        ending = EndingCoroutine(self._work(hook, payload))
        work = asyncio.get_running_loop().create_task(ending)
        try:
            await asyncio.wait({work}, timeout=hook.execution.timeout_s)
        except asyncio.CancelledError:
            _give_up(work, ending, hook)
            raise
        took_ms = round((time.monotonic() - started_at) * 1000, 3)
        if not work.done():
            _give_up(work, ending, hook)
            failure = Failure(kind="timeout", message=f"no end within {hook.execution.timeout_s:g} s")
            return Run(hook=hook, id=run_id, status="timeout", outcome=failure, duration_ms=took_ms)
        outcome, text = self._read(work, hook)
        return Run(
            hook=hook,
            id=run_id,
            status="failed" if isinstance(outcome, Failure) else "ok",
            outcome=outcome,
            duration_ms=took_ms,
            stdout=text[:_LONGEST_KEPT],
            reply=text or None,
        )

    def close(self) -> None:
        """End the threads that are kept for plain workflows."""
        self._workers.close()

    def _read(self, work: asyncio.Future[str], hook: Hook) -> tuple[Answer | Failure, str]:
        """What the work ended with: its outcome, and its text."""
        try:
            text = work.result()
        except _Decided as decided:
            return decided.outcome, ""
        except (_UnrunnableError, UnencodableError) as error:
            return Failure(kind="spawn", message=str(error)), ""
        except asyncio.CancelledError:
            return Failure(kind="crash", message="it cancelled itself"), ""
        except Exception as error:  # boundary: prompt runners and workflows are the host's code
            return Failure(kind="crash", message=f"{type(error).__name__}: {error}"), ""
        return self._read_text(text, hook), text

    async def _work(self, hook: Hook, payload: Payload) -> str:
        dialect = get_dialect(hook.source.dialect)
        task = _make_task(hook, payload, dialect)
        action = hook.action
        if isinstance(action, PromptAction):
            return await self._ask(replace(task, message=_compose(dialect, action.prompt, task)))
        assert isinstance(action, WorkflowAction)
        if action.name:
            return await self._run_named(action.name, task)
        for step in action.steps:
            task = replace(task, steps=(*task.steps, await self._run_step(step, task, dialect)))
        return task.steps[-1] if task.steps else ""

    async def _ask(self, task: Task) -> str:
        if self.prompts is None:
            raise _UnrunnableError("this agent has no prompt runner, so a prompt cannot be put to a model")
        return _check(await self.prompts.run(task), "the prompt runner")

    async def _run_named(self, name: str, task: Task) -> str:
        workflow = self.workflows.get(name)
        if workflow is None:
            known = ", ".join(sorted(self.workflows)) or "none"
            raise _UnrunnableError(f"this agent knows no workflow {name!r}; known: {known}")
        if inspect.iscoroutinefunction(workflow):
            found: Any = await workflow(task)
        else:
            # Not on the loop's executor: one that is stuck there would keep the loop from ever ending.
            found = await call_on_thread(functools.partial(workflow, task), self._workers)
            found = await found if inspect.isawaitable(found) else found
        return _check(found, f"the workflow {name!r}")

    async def _run_step(self, step: WorkflowStep, task: Task, dialect: Dialect) -> str:
        task = replace(task, payload={**task.payload, "steps": list(task.steps)})
        if step.prompt:
            return await self._ask(replace(task, message=_compose(dialect, step.prompt, task)))
        action = ShellAction(text=step.command, cwd=task.cwd)
        command = replace(task.hook, action=action)
        run = await self._processes.run(command, Payload(task.event, stored=task.payload))
        if run.status != "ok" or run.exit_code != 0:
            assert run.outcome is not None
            raise _Decided(run.outcome)
        return run.stdout.strip()


def _make_task(hook: Hook, payload: Payload, dialect: Dialect) -> Task:
    action = hook.action
    assert isinstance(action, AgentAction)
    data = payload.to_data(dialect, is_cwd_missing=False)
    return Task(
        hook=hook,
        event=payload.event,
        title=action.title or f"Hook: {hook.id}",
        message=dialect.to_json(data).decode(),
        payload=data,
        cwd=action.cwd or payload.event.cwd,
        timeout_s=hook.execution.timeout_s,
        auto_write=action.auto_write,
        auto_dirs=action.auto_dirs,
    )


def _compose(dialect: Dialect, prompt: str, task: Task) -> str:
    """What a model is told: the prompt, and the event behind it."""
    return f"{prompt}\n\nHook context:\n{dialect.to_json(task.payload).decode()}"


def _check(text: object, who: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{who} gave {type(text).__name__}, not text")
    return text


def _give_up(work: asyncio.Task[str], ending: EndingCoroutine[str], hook: Hook) -> None:
    """Cancel the work, and once more after the grace, which ends also what swallows it."""
    ending.is_given_up = True
    work.cancel()
    work.get_loop().call_later(hook.execution.kill_grace_s, work.cancel)
    work.add_done_callback(_hear)


def _hear(work: asyncio.Task[str]) -> None:
    """What becomes of work that was given up is of no interest, and must not be reported as forgotten."""
    if not work.cancelled():
        work.exception()
