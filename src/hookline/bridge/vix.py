"""How commands of hook folders are run."""

from __future__ import annotations

from hookline.bridge.process import make_runner
from hookline.bridge.program import HERE, PLACE, Program
from hookline.bridge.run import Way
from hookline.config.folders import make_hooks
from hookline.errors import ConfigError
from hookline.events import Event
from hookline.folders.event_names import BLOCKABLE_EVENTS, find_folder_event
from hookline.folders.matcher import compile_matcher
from hookline.folders.spec import FolderSpec
from hookline.hook import Hook
from hookline.patterns.linear import LinearPatternError


def _make_hooks(program: Program, event: Event) -> tuple[Hook, ...]:
    row = find_folder_event(event.name)
    if row is None:
        raise ConfigError(f"hook folders know no event {event.name!r}")
    try:
        matcher = compile_matcher(program.matcher)
    except LinearPatternError as error:
        raise ConfigError(f"--matcher {program.matcher!r}: {error}") from error
    spec = FolderSpec(
        id=program.hook_id,
        directory=program.hook_id,
        place=PLACE,
        event=row.name,
        mode="sync" if program.is_heard else "async",
        enabled=True,
        matcher=matcher,
        blocking=program.is_heard and program.may_block and row.name in BLOCKABLE_EVENTS,
        command=program.read_shell_text(),
        cwd=HERE,
        timeout_s=program.timeout_s,
    )
    return tuple(make_hooks(spec))


WAY = Way(make_hooks=_make_hooks, make_runner=make_runner)
