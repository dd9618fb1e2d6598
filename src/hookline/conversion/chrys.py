"""A hooks file of Chrys as native entries."""

from __future__ import annotations

from pathlib import Path

from hookline.config.file import LoadedFile, load_file
from hookline.config.locate import HookFile, default_home
from hookline.conversion.base import Bridge, Conversion, Converted, Ids, Loss, Origin, find_unwritable, make_entry
from hookline.dialects.chrys import CHRYS
from hookline.dialects.native import NATIVE
from hookline.errors import ConfigError
from hookline.events import get_event_type
from hookline.hook import CommandAction, Hook, ScriptAction, ShellAction

REMARKS = ("A guard with on_error: block is asked once more when a later hook changes the arguments (recheck_guards).",)
_MOST_TOLD = 10
_OWN_HOME, _NATIVE_HOME = (f"${{{dialect.home_template}}}" for dialect in (CHRYS, NATIVE))


def convert_chrys(path: Path) -> Conversion:
    """
    What the hooks file at `path` says, in native words.

    Raises `ConfigError` for a file that is switched off as a whole, since none of its hooks runs.
    """
    loaded = load_file(HookFile(layer="user", dialect=CHRYS, path=path))
    _check(loaded, path)
    ids = Ids()
    entries: list[Converted] = []
    left_out = _find_bad_patterns(loaded)
    for hook in loaded.reading.hooks:
        reason = _find_misfit(hook)
        if reason is not None:
            left_out.append(Loss(hook_id=hook.id, place=hook.source.place, message=reason, is_left_out=True))
            continue
        entry = _convert(hook, ids)
        fault = find_unwritable(entry.data)
        if fault is None:
            entries.append(entry)
        else:
            left_out.append(_leave_out(hook, fault))
    settings = {_name_setting(name): value for name, value in loaded.reading.settings.items()}
    return Conversion(
        source=str(path), entries=tuple(entries), left_out=tuple(left_out), settings=settings, remarks=REMARKS
    )


def _check(loaded: LoadedFile, path: Path) -> None:
    errors = [found for found in loaded.reading.problems if found.severity == "error" and found.code != "bad-regex"]
    if errors or loaded.is_broken:
        told = [str(problem) for problem in errors[:_MOST_TOLD]] or [f"{path}: it is no hooks file"]
        raise ConfigError("\n  ".join(["none of these hooks runs in Chrys, so mend the file first:", *told]))


def _find_bad_patterns(loaded: LoadedFile) -> list[Loss]:
    """The hooks that Chrys leaves out too; one that was to guard a gate keeps it closed here until it is mended."""
    guards = {closure.hook_id for closure in loaded.reading.closures}
    return [
        Loss(
            hook_id=problem.hook_id or "?",
            place=problem.place,
            message=problem.message,
            is_dangerous=problem.hook_id in guards,
            is_left_out=True,
        )
        for problem in loaded.reading.problems
        if problem.code == "bad-regex"
    ]


def _find_misfit(hook: Hook) -> str | None:
    """Why a hook never runs, None when it may; there a native file has an error."""
    match = hook.match
    if match.needs_tool and not get_event_type(hook.event).has_tool:
        return f"it never runs: its match asks for a tool, and {hook.event} is about none"
    if match.profile is not None and match.profiles and match.profile not in match.profiles:
        return f"it never runs: the profile {match.profile!r} is not among its profiles"
    return None


def _leave_out(hook: Hook, fault: str) -> Loss:
    return Loss(
        hook_id=hook.id,
        place=hook.source.place,
        message=f"it cannot be written: {fault}",
        is_dangerous=hook.is_gate and hook.enabled,
        is_left_out=True,
    )


def _convert(hook: Hook, ids: Ids) -> Converted:
    action = hook.program
    kind, words = _read_program(hook)
    options = [*([] if kind == "shell" else [f"--run={kind}"]), *([] if hook.is_blocking else ["--no-reply"])]
    home = str(default_home(CHRYS))
    env = {name: value.replace(_OWN_HOME, home) for name, value in action.env.items()}
    cwd = action.cwd.replace(_OWN_HOME, home)
    losses = tuple(
        Loss(hook_id=hook.id, place=hook.source.place, message=message) for message in _find_losses(env, cwd)
    )
    origin = Origin.of("chrys", hook)
    bridge = Bridge(words=words, options=options, env=env, cwd=cwd)
    return Converted(
        data=make_entry(origin, bridge, hook.match, ids.take(hook.id)), place=hook.source.place, losses=losses
    )


def _read_program(hook: Hook) -> tuple[str, list[str]]:
    action = hook.program
    if isinstance(action, ScriptAction):
        return "script", [str(action.path.absolute()), *action.args]
    if isinstance(action, CommandAction):
        return "command", [*action.argv, *action.args]
    assert isinstance(action, ShellAction)
    return "shell", [action.text]


def _find_losses(env: dict[str, str], cwd: str) -> list[str]:
    texts = {**{f"env {name}": value for name, value in env.items()}, "cwd": cwd}
    return [f"{where}: {_NATIVE_HOME} is filled in here" for where, text in texts.items() if _NATIVE_HOME in text]


def _name_setting(name: str) -> str:
    return f"{name.removesuffix('_s')}_seconds" if name.endswith("_s") else name
