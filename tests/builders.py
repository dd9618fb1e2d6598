"""Builders for hooks and runs as records, for tests of the rules, where no file is read and no process runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hookline.hook import ArgumentMatch, Execution, Hook, Match, ShellAction, Source
from hookline.outcome import Answer, Edit, Failure, Run
from hookline.problem import Place

PLACE = Place(path=Path("hooks.yaml"), line=2, column=5)


def make_hook(
    hook_id: str = "h",
    *,
    event: str = "before_tool_call",
    mode: str = "blocking",
    on_error: str = "warn",
    on_provoked_error: str | None = None,
    match: Match | None = None,
    enabled: bool = True,
    **execution: Any,
) -> Hook:
    """A hook; what is not named here goes to its execution."""
    return Hook(
        id=hook_id,
        event=event,
        action=ShellAction(text="true"),
        source=Source(layer="project", dialect="native", place=PLACE),
        match=match or Match(),
        execution=Execution(
            mode=mode,  # type: ignore[arg-type]
            on_error=on_error,  # type: ignore[arg-type]
            on_provoked_error=on_provoked_error or on_error,  # type: ignore[arg-type]
            **execution,
        ),
        enabled=enabled,
    )


def make_run(hook: Hook | None = None, *, status: str = "ok", stderr: str = "", **answer: Any) -> Run:
    """A run that ended well; `answer` is what it says."""
    return Run(hook=hook or make_hook(), status=status, outcome=Answer(**answer), stderr=stderr)  # type: ignore[arg-type]


def make_failed_run(hook: Hook | None = None, *, kind: str = "exit", stderr: str = "", provokable: bool = False) -> Run:
    """A run that failed."""
    failure = Failure(kind=kind, message="exit code 1", provokable=provokable)  # type: ignore[arg-type]
    return Run(hook=hook or make_hook(), status="failed", outcome=failure, stderr=stderr)


def merge_args(**args: Any) -> tuple[Edit, ...]:
    """An edit that overrides some arguments of the tool call."""
    return (Edit(field="args", operation="merge", value=args),)


def match_args(**conditions: dict[str, str]) -> Match:
    """A match on arguments, written as in a hooks file."""
    return Match(args={name: ArgumentMatch(**wanted) for name, wanted in conditions.items()})
