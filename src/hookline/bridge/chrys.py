"""How programs of Chrys hooks are run."""

from __future__ import annotations

from pathlib import Path

from hookline.bridge.process import make_runner
from hookline.bridge.program import HERE, PLACE, Program
from hookline.bridge.run import Way
from hookline.dialects.chrys import CHRYS
from hookline.events import Event
from hookline.hook import CommandAction, Execution, Hook, ProcessAction, ScriptAction, ShellAction, Source


def _make_hooks(program: Program, event: Event) -> tuple[Hook, ...]:
    hook = Hook(
        id=program.hook_id,
        event=event.name,
        action=_make_action(program),
        source=Source(layer="user", dialect=CHRYS.name, place=PLACE),
        execution=Execution(mode="blocking", timeout_s=program.timeout_s, on_bad_reply="ignore"),
    )
    return (hook,)


def _make_action(program: Program) -> ProcessAction:
    first, *rest = program.words
    if program.kind == "script":
        return ScriptAction(path=Path(first), args=tuple(rest), env=program.env, cwd=HERE)
    if program.kind == "command":
        return CommandAction(argv=program.words, env=program.env, cwd=HERE)
    return ShellAction(text=program.read_shell_text(), env=program.env, cwd=HERE)


WAY = Way(make_hooks=_make_hooks, make_runner=make_runner)
