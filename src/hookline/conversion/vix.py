"""Hook folders as native entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hookline.config.folders import FolderSet, find_folders
from hookline.conversion.base import Bridge, Conversion, Converted, Ids, Loss, Origin, find_unwritable, make_entry
from hookline.dialects.native import NATIVE
from hookline.errors import ConfigError
from hookline.folders.event_names import SOURCES
from hookline.folders.json_text import trim
from hookline.folders.spec import FolderSpec
from hookline.hook import Hook, Match, ShellAction
from hookline.runners.environment import template_names

REMARKS = (
    (
        "The hooks of an event run one after another, and each sees what those before it have changed; after a"
        " deny the others are not asked. In vix all run side by side on the same input, and of several replacements the"
        " first stands."
    ),
    (
        "What the host alone knows (model, permission_mode, origin and the like) is empty in what a command reads, and"
        " the hooks also run in sessions that vix hooks have started."
    ),
    "No state.json and no log of vix is written; hookline log has the history.",
)
_NAMES = re.compile(r"[A-Za-z0-9_-]+(?:\|[A-Za-z0-9_-]+)*")
# Problems that leave nothing to be known of a hook, which may have been a guard.
_UNREADABLE = frozenset({"unreadable-file", "json-syntax"})
_MOST_NAMES = 16
_TOOL_EVENTS = frozenset({"before_tool_call", "after_tool_call", "permission_request"})
_NATIVE_TEMPLATES = tuple(f"${{{name}}}" for name in template_names(NATIVE))


def convert_vix(path: Path) -> Conversion:
    """What the hook folders in `path` say, in native words; raises `ConfigError` where there are none."""
    found = find_folders(path)
    if not found.hooks and not found.loaded.invalid:
        raise ConfigError(f"there is no hook folder in {path}: each has a hook.json")
    ids = Ids()
    entries: list[Converted] = []
    left_out = list(_find_invalid(found))
    for hook in found.hooks:
        spec = found.find_spec(hook)
        assert spec is not None
        if not isinstance(hook.action, ShellAction):
            kind = "prompt" if spec.prompt else "workflow"
            left_out.append(_leave_out(hook, f"a native hook cannot run a {kind}"))
            continue
        converted = list(_convert(hook, spec, ids))
        fault = find_unwritable([entry.data for entry in converted])
        if fault is None:
            entries += converted
        else:
            left_out.append(_leave_out(hook, f"it cannot be written: {fault}"))
    # A hook of two events is left out once.
    return Conversion(
        source=str(path), entries=tuple(entries), left_out=tuple(dict.fromkeys(left_out)), remarks=REMARKS
    )


def _find_invalid(found: FolderSet) -> Iterator[Loss]:
    guards = {guard.hook_id for guard in found.loaded.broken_guards}
    for problem in found.loaded.problems:
        yield Loss(
            hook_id=problem.hook_id or problem.place.path.name,
            place=problem.place,
            message=problem.message,
            is_dangerous=problem.hook_id in guards or problem.code in _UNREADABLE,
            is_left_out=True,
        )


def _leave_out(hook: Hook, message: str) -> Loss:
    is_dangerous = hook.is_gate and hook.enabled
    return Loss(hook_id=hook.id, place=hook.source.place, message=message, is_dangerous=is_dangerous, is_left_out=True)


def _convert(hook: Hook, spec: FolderSpec, ids: Ids) -> Iterator[Converted]:
    """The entries of a hook: several where its matcher is a list of names."""
    text = trim(spec.matcher.text) if spec.matcher.pattern is not None else ""
    names = text.split("|") if _NAMES.fullmatch(text) and hook.event in _TOOL_EVENTS else []
    if 0 < len(names) <= _MOST_NAMES:
        for name in dict.fromkeys(names):
            part = name if len(set(names)) > 1 else ""
            yield _make(hook, spec, Match(tool_name=name), "", ids.take(hook.id, part))
        return
    is_one_of_two = hook.event in SOURCES and len(spec.row.events) > 1
    yield _make(hook, spec, Match(), text, ids.take(hook.id, hook.event if is_one_of_two else ""))


def _make(hook: Hook, spec: FolderSpec, match: Match, matcher: str, entry_id: str) -> Converted:
    options = [f"--matcher={matcher}"] if matcher else []
    if not hook.is_blocking:
        options.append("--no-reply")
    elif not spec.blocking:
        options.append("--no-block")
    origin = Origin.of("vix", hook)
    bridge = Bridge(words=[spec.command], options=options, cwd=spec.cwd)
    losses = tuple(
        Loss(hook_id=hook.id, place=hook.source.place, message=message) for message in _find_losses(hook, spec)
    )
    return Converted(data=make_entry(origin, bridge, match, entry_id), place=hook.source.place, losses=losses)


def _find_losses(hook: Hook, spec: FolderSpec) -> Iterator[str]:
    if hook.is_blocking and hook.event == "before_tool_call":
        yield "a text that it wants to put before the model is not shown to it"
    if hook.is_gate and hook.event == "before_tool_call":
        yield "where its replacement takes arguments away, the call is blocked instead"
    if hook.is_gate and hook.event == "user_prompt_submit":
        yield "where it wants to replace the prompt, the prompt is blocked instead"
    for template in _NATIVE_TEMPLATES:
        if template in spec.cwd:
            yield f"cwd: {template} is filled in here, and stands for itself in vix"
