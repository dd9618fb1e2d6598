"""The hook folders of a user as hooks: those of `~/.vix/hooks`, or of a folder that the host names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from hookline.dialects.vix import VIX
from hookline.folders.event_names import EVENTS_BY_NAME, SOURCES
from hookline.folders.json_text import trim
from hookline.folders.load import BrokenGuard, Loaded, load_folders
from hookline.folders.silence import find_kill_switch
from hookline.folders.spec import FolderSpec
from hookline.hook import (
    Execution,
    Hook,
    Match,
    PromptAction,
    ShellAction,
    Source,
    SubjectMatch,
    WorkflowAction,
)
from hookline.problem import Place, Problem
from hookline.registry import Closure

# What the model reads between the result of a tool and what hooks add to it.
_LEADS = {"PreToolUse": "\n[hook] ", "PostToolUse": "\n[hook] "}


class FolderSet(Struct, frozen=True, kw_only=True):
    """
    What a hooks folder gives: its hooks, the gates that stay closed, and what was wrong.

    `loaded` is what was read, `specs` the same by id. Without a `path` no hook folders are read.
    """

    path: Path | None = None
    loaded: Loaded = Loaded()
    specs: Mapping[str, FolderSpec] = {}
    hooks: tuple[Hook, ...] = ()
    closures: tuple[Closure, ...] = ()
    problems: tuple[Problem, ...] = ()

    def find_spec(self, hook: Hook) -> FolderSpec | None:
        """The spec that a hook was made from, None for one that is no hook folder's, or is no more."""
        return self.specs.get(hook.id) if hook.source.dialect == VIX.name else None


NO_FOLDERS = FolderSet()


def find_folders(path: Path | None) -> FolderSet:
    """Read the hook folders in `path`, None where they are not enabled."""
    if path is None:
        return NO_FOLDERS
    loaded = load_folders(path)
    switch = find_kill_switch(os.environ)
    notice = Problem(severity="notice", code="switched-off", message=switch or "", place=Place(path=path))
    return FolderSet(
        path=path,
        loaded=loaded,
        specs={spec.id: spec for spec in loaded.specs},
        hooks=tuple(hook for spec in loaded.specs for hook in make_hooks(spec)),
        closures=tuple(closure for guard in loaded.broken_guards for closure in _close(guard)),
        problems=(*loaded.problems, *([notice] if switch else ())),
    )


def make_hooks(spec: FolderSpec) -> Iterator[Hook]:
    """
    The hooks that a spec stands for: one, or two where its event is two of Hookline's.

    One that can never match is made all the same, so that listings show it.
    """
    subjects = {event: SOURCES[event] for event in spec.row.events if event in SOURCES}
    events = [event for event in spec.row.events if event not in subjects or spec.matcher.accepts(subjects[event])]
    for event in events or spec.row.events[:1]:
        yield Hook(
            id=spec.id,
            event=event,
            action=_make_action(spec),
            source=Source(
                layer="user",
                dialect=VIX.name,
                place=spec.place,
                evaluation="strictest",
                context_lead=_LEADS.get(spec.event, ""),
            ),
            match=Match(
                subject=None if spec.matcher.pattern is None else SubjectMatch(pattern=trim(spec.matcher.text)),
                unless_denied_by=("hook",) if event == "after_tool_call" else (),
            ),
            execution=_make_execution(spec),
            enabled=spec.enabled,
            description=spec.description or spec.name,
        )


def _make_action(spec: FolderSpec) -> ShellAction | PromptAction | WorkflowAction:
    if spec.command:
        return ShellAction(text=spec.command, cwd=spec.cwd)
    if spec.prompt:
        return PromptAction(prompt=spec.prompt, cwd=spec.cwd, auto_write=spec.auto_write, auto_dirs=spec.auto_dirs)
    return WorkflowAction(
        name=spec.workflow_id,
        steps=spec.workflow,
        cwd=spec.cwd,
        auto_write=spec.auto_write,
        auto_dirs=spec.auto_dirs,
    )


def _make_execution(spec: FolderSpec) -> Execution:
    return Execution(
        mode="blocking" if spec.is_waited_for else "fire_and_forget",
        timeout_s=spec.timeout_s,
        on_error=spec.on_error,
        on_provoked_error=spec.on_error,
        may_block=spec.blocking,
    )


def _close(guard: BrokenGuard) -> Iterator[Closure]:
    for event in EVENTS_BY_NAME[guard.event].events:
        reason = (
            f"hook {guard.hook_id!r} guards {event} but could not be loaded ({guard.reason}): "
            "mend it (hookline check shows how) or remove it"
        )
        yield Closure(event=event, hook_id=guard.hook_id, reason=reason, dialect=VIX.name)
