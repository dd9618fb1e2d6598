"""How the hook files of a project are to be taken: counted, or left alone with a notice that says what to do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from hookline.config.file import LoadedFile
from hookline.config.snapshot import Snapshot, UncoverableError, take_snapshot
from hookline.config.trust import GuardedEvent, Judgement, Trust, TrustRecord, TrustStore, find_guards, judge
from hookline.dialects.base import Dialect, Reading
from hookline.hook import Hook
from hookline.problem import Place, Problem, Severity
from hookline.registry import Closure

_MOST_NAMED = 3

TrustStanding = Literal["nothing", "trusted", "untrusted", "untrustable", "changed"]
"""How the hooks of a project stand; `nothing` where it has none."""


class ProjectVerdict(Struct, frozen=True, kw_only=True):
    """Whether a project's hooks count, what stays closed because they do not, and what to tell the user."""

    is_counted: bool
    why_not: Literal["", "untrusted", "untrustable", "changed"] = ""
    problems: tuple[Problem, ...] = ()
    closures: tuple[Closure, ...] = ()
    snapshot: Snapshot | None = None


def project_folders(project: Path, dialects: Sequence[Dialect]) -> list[Path]:
    """The folders whose whole content belongs to a project's hooks."""
    names = dict.fromkeys(name for dialect in dialects for name in (dialect.folder, *dialect.script_folders))
    return [project / name / "hooks" for name in names]


def project_hooks(files: Sequence[LoadedFile]) -> list[Hook]:
    """The hooks in a project's files, trusted or not."""
    return [hook for loaded in files for hook in loaded.reading.hooks]


def guards_of(reading: Reading) -> tuple[GuardedEvent, ...]:
    """The gate events that a file guards, by hooks that load and by those that should."""
    left_out = (GuardedEvent(event=closure.event, hook_id=closure.hook_id) for closure in reading.closures)
    return (*find_guards(reading.hooks), *left_out)


def project_guards(files: Sequence[LoadedFile]) -> tuple[GuardedEvent, ...]:
    """The gate events that a project's files guard."""
    return tuple(guard for loaded in files for guard in guards_of(loaded.reading))


class ProjectParts(Struct, frozen=True, kw_only=True):
    """
    What a project's hooks are made of: its hook files, and the paths of its modules and scripts.

    `guards` are the gates that its modules are known to guard, since nothing tells that without running them.
    """

    files: Sequence[LoadedFile]
    modules: Sequence[Path] = ()
    guards: Sequence[GuardedEvent] = ()

    @property
    def paths(self) -> list[Path]:
        """All of them."""
        return [*(loaded.file.path for loaded in self.files), *self.modules]

    def take_snapshot(self, project: Path, dialects: Sequence[Dialect]) -> Snapshot:
        """Their content now; raises as `hookline.config.snapshot.take_snapshot` does."""
        return take_snapshot(project, project_folders(project, dialects), project_hooks(self.files), self.modules)


def judge_project(
    project: Path, dialects: Sequence[Dialect], parts: ProjectParts, trust: Trust, store: TrustStore
) -> ProjectVerdict:
    """Judge the parts of a project, which have been read but not run."""
    if trust == "all":
        return ProjectVerdict(is_counted=True)
    if trust == "none":
        return _leave_alone(parts, "this agent loads none", cure="trust is set to none; recorded is the default")
    record = store.get(project) if trust == "recorded" else None
    if not parts.paths and record is None:
        return ProjectVerdict(is_counted=False)
    try:
        snapshot = parts.take_snapshot(project, dialects)
    except (UncoverableError, OSError) as error:
        return _refuse(project, parts, str(error), _join_guards(record, parts))
    if not isinstance(trust, str):
        is_known = snapshot.digest in trust
        judgement = Judgement(state="trusted" if is_known else "new")
    else:
        judgement = judge(snapshot, record)
    if judgement.state == "trusted" and (change := _find_swapped(snapshot, parts.files)) is not None:
        # What was read is not what was digested: a file has changed in between.
        judgement = Judgement(state="changed", changes=(change,))
    if judgement.state == "trusted":
        return ProjectVerdict(is_counted=True, snapshot=snapshot)
    if judgement.state == "new":
        cure = "look at them with hookline list, then trust them with hookline trust"
        if not isinstance(trust, str):
            cure = f"the digest of what was found is {snapshot.digest}"
        return _leave_alone(parts, "they are code that came with the project", cure=cure)
    return _close(project, parts, judgement, _join_guards(record, parts))


def _join_guards(record: TrustRecord | None, parts: ProjectParts) -> tuple[GuardedEvent, ...]:
    """What stays closed when a project's hooks have changed: what they guarded when they were trusted."""
    return () if record is None else (*record.guards, *parts.guards)


def _find_swapped(snapshot: Snapshot, files: Sequence[LoadedFile]) -> str | None:
    for loaded in files:
        name = snapshot.name_of(loaded.file.path)
        if snapshot.digests.get(name) != loaded.digest:
            return name
    return snapshot.find_change()


def _leave_alone(parts: ProjectParts, why: str, *, cure: str) -> ProjectVerdict:
    """One notice for all files of the project."""
    paths = parts.paths
    if not paths:
        return ProjectVerdict(is_counted=False)
    others = f" ({', '.join(str(path) for path in paths[1:])} neither)" if paths[1:] else ""
    message = f"this project's hooks are not loaded{others}: {why}"
    problem = _problem("untrusted", message, paths[0], cure, "notice")
    return ProjectVerdict(is_counted=False, why_not="untrusted", problems=(problem,))


def _refuse(project: Path, parts: ProjectParts, why: str, guards: Sequence[GuardedEvent]) -> ProjectVerdict:
    message = f"this project's hooks are not loaded: {why}"
    cure = "hooks must consist of regular files of the project"
    problem = _problem("untrustable", message, _first_path(project, parts), cure, "error")
    closures = _close_all(guards, why)
    return ProjectVerdict(is_counted=False, why_not="untrustable", problems=(problem,), closures=closures)


def _close(project: Path, parts: ProjectParts, judgement: Judgement, guards: Sequence[GuardedEvent]) -> ProjectVerdict:
    named = ", ".join(judgement.changes[:_MOST_NAMED])
    more = len(judgement.changes) - _MOST_NAMED
    what = f"{named} and {more} more" if more > 0 else named
    message = f"this project's hooks have changed since you trusted them, so none of them runs: {what}"
    cure = "look at the change, then run hookline trust, or hookline untrust to do without them"
    problem = _problem("trust-changed", message, _first_path(project, parts), cure, "warning")
    why = f"they have changed since you trusted them ({what}); look at the change and run hookline trust"
    closures = _close_all(guards, why)
    return ProjectVerdict(is_counted=False, why_not="changed", problems=(problem,), closures=closures)


def _close_all(guards: Sequence[GuardedEvent], why: str) -> tuple[Closure, ...]:
    return tuple(
        Closure(
            event=guard.event,
            hook_id=guard.hook_id,
            reason=f"{guard.event} is guarded by hook {guard.hook_id!r} of this project, whose hooks cannot run: {why}",
        )
        for guard in guards
    )


def _first_path(project: Path, parts: ProjectParts) -> Path:
    return parts.paths[0] if parts.paths else Path(os.fspath(project))


def _problem(code: str, message: str, path: Path, cure: str, severity: Severity) -> Problem:
    return Problem(severity=severity, code=code, message=message, place=Place(path=path), cure=cure)
