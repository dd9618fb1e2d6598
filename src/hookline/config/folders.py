"""The hook folders of a user as hooks: those of `~/.vix/hooks`, or of a folder that the host names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from hookline.config.memory import GuardMemory
from hookline.config.trust import GuardedEvent
from hookline.dialects.vix import VIX
from hookline.folders.event_names import EVENTS_BY_NAME, SOURCES
from hookline.folders.json_text import trim
from hookline.folders.load import BrokenGuard, Loaded, load_folders
from hookline.folders.silence import find_kill_switch
from hookline.folders.spec import SPEC_FILE, FolderSpec
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

# Problems that leave nothing to be known of a hook.
_UNREADABLE = frozenset({"unreadable-file", "json-syntax"})
# What the model reads between the result of a tool and what hooks add to it.
_LEADS = {"PreToolUse": "\n[hook] ", "PostToolUse": "\n[hook] "}


class FolderSet(Struct, frozen=True, kw_only=True):
    """
    What a hooks folder gives: its hooks, the gates that stay closed, and what was wrong.

    `loaded` is what was read, `specs` the same by id. `is_closed` tells that a folder that cannot be read keeps closed
    what it guarded. Without a `path` no hook folders are read.
    """

    path: Path | None = None
    is_closed: bool = True
    loaded: Loaded = Loaded()
    specs: Mapping[str, FolderSpec] = {}
    hooks: tuple[Hook, ...] = ()
    closures: tuple[Closure, ...] = ()
    problems: tuple[Problem, ...] = ()

    def find_spec(self, hook: Hook) -> FolderSpec | None:
        """The spec that a hook was made from, None for one that is no hook folder's, or is no more."""
        return self.specs.get(hook.id) if hook.source.dialect == VIX.name else None


NO_FOLDERS = FolderSet()


def find_folders(
    path: Path | None, memory: GuardMemory | None = None, *, is_closed: bool = True, remembers: bool = True
) -> FolderSet:
    """
    Read the hook folders in `path`, None where they are not enabled.

    One that cannot be read any more keeps closed what it guarded as the `memory` has it, unless `is_closed` is
    false. `remembers` tells whether the memory learns what is guarded now.
    """
    if path is None:
        return NO_FOLDERS
    loaded = load_folders(path)
    closures = [closure for guard in loaded.broken_guards for closure in _close(guard)]
    if memory is not None:
        before = memory.recall_folders(path)
        lost = _find_lost(path, loaded, before)
        closures += _close_lost(path, lost, before) if is_closed else ()
        if remembers:
            memory.remember_folders(path, _find_guards(loaded) | {name: before[name] for name in lost})
    switch = find_kill_switch(os.environ)
    notice = Problem(severity="notice", code="switched-off", message=switch or "", place=Place(path=path))
    return FolderSet(
        path=path,
        is_closed=is_closed,
        loaded=loaded,
        specs={spec.id: spec for spec in loaded.specs},
        hooks=tuple(hook for spec in loaded.specs for hook in make_hooks(spec)),
        closures=tuple(closures),
        problems=(*loaded.problems, *([notice] if switch else ())),
    )


def _find_lost(path: Path, loaded: Loaded, before: Mapping[str, Sequence[GuardedEvent]]) -> dict[str, str]:
    """Why folders that guarded something cannot be read any more, by their names."""
    unreadable = {problem.place.path: problem.message for problem in loaded.problems if problem.code in _UNREADABLE}
    reasons = {name: unreadable.get(path) or unreadable.get(path / name / SPEC_FILE) for name in before}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _close_lost(path: Path, lost: Mapping[str, str], before: Mapping[str, Sequence[GuardedEvent]]) -> Iterator[Closure]:
    for name, why in lost.items():
        for guard in before[name]:
            reason = (
                f"{guard.event} was guarded by hook {guard.hook_id!r} of {path / name}, which cannot be read now "
                f"({why}): mend it, or remove it"
            )
            yield Closure(event=guard.event, hook_id=guard.hook_id, reason=reason, dialect=VIX.name)


def _find_guards(loaded: Loaded) -> dict[str, tuple[GuardedEvent, ...]]:
    guards = (spec for spec in loaded.specs if spec.enabled and spec.is_guard)
    return {
        spec.directory: tuple(GuardedEvent(event=event, hook_id=spec.id) for event in spec.row.events)
        for spec in guards
    }


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
                hears_rejected="user",
                context_lead=_LEADS.get(spec.event, ""),
            ),
            match=Match(
                subject=None if spec.matcher.pattern is None else SubjectMatch(pattern=trim(spec.matcher.text)),
            ),
            execution=_make_execution(spec),
            enabled=spec.enabled,
            description=spec.description or spec.name,
        )


def _make_action(spec: FolderSpec) -> ShellAction | PromptAction | WorkflowAction:
    if spec.command:
        return ShellAction(text=spec.command, cwd=spec.cwd)
    stock: dict[str, Any] = {
        "title": f"Hook: {spec.title}",
        "cwd": spec.cwd,
        "auto_write": spec.auto_write,
        "auto_dirs": spec.auto_dirs,
    }
    if spec.prompt:
        return PromptAction(prompt=spec.prompt, **stock)
    return WorkflowAction(name=spec.workflow_id, steps=spec.workflow, **stock)


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
