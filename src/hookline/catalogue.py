"""
What there is to know of an engine's hooks, and to do with one of them: what a page that shows hooks needs.

All of it is for hooks of every dialect; what only hook folders know stands apart, under `spec`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hookline.assembly import Assembly
from hookline.config.edit import set_enabled
from hookline.config.file import LoadedFile
from hookline.config.layers import Layers
from hookline.dialects.vix import VIX, name_event
from hookline.errors import ConfigError
from hookline.events import Event
from hookline.fold import Chain
from hookline.folders.duration import format_duration
from hookline.folders.envelope import encode_manual
from hookline.folders.history import load_states
from hookline.folders.registry import describe_spec
from hookline.folders.state import EMPTY_STATE, MOST_RUNS, State, encode_run
from hookline.folders.switch import set_enabled as switch_folder
from hookline.hook import (
    CommandAction,
    Hook,
    LayerName,
    Match,
    ObjectAction,
    PromptAction,
    ScriptAction,
    ShellAction,
    WorkflowAction,
)
from hookline.hookset import HookSet
from hookline.outcome import Decision
from hookline.payload import parse_payload
from hookline.problem import Problem
from hookline.registry import Registry
from hookline.runlog import read_latest
from hookline.runners.base import Payload
from hookline.runners.checked import stop_run
from hookline.sample import sample_payload

_LOG_BYTES = 4 * 1024 * 1024
_POSITION = re.compile(r":\d+:\d+$")


class Meant(Struct, frozen=True, kw_only=True):
    """
    The hooks that an event is meant for, in order: those the agent waits for, and those that are only started.

    `undecided` are hooks of either kind of which only a longer search tells, or whose match has no answer.
    """

    waited_for: tuple[Hook, ...] = ()
    started: tuple[Hook, ...] = ()
    undecided: tuple[Hook, ...] = ()


class Listed(Struct, frozen=True, kw_only=True):
    """A hook in a listing; `why_not` says in a word why it is left alone, such as `untrusted`."""

    hook: Hook
    why_not: str = ""


def find_meant(registry: Registry, event: Event) -> Meant:
    """The enabled hooks that are meant by an event as it stands; a closed event runs none of them."""
    selection = registry.select(event)
    undecided: list[Hook] = []
    kinds = []
    for entries in (selection.blocking, selection.others):
        found = []
        for entry in entries:
            if entry.is_certain:
                found.append(entry.hook)
                continue
            try:
                answer = entry.match.test(event)
            except ValueError:  # an argument without a text
                answer = ()
            if answer is True:
                found.append(entry.hook)
            elif answer is not False:
                undecided.append(entry.hook)
        kinds.append(tuple(found))
    return Meant(waited_for=kinds[0], started=kinds[1], undecided=tuple(undecided))


class Catalogue:
    """The hooks of one engine, as people and hooks pages see them."""

    def __init__(self, hooks: HookSet, parts: Assembly) -> None:
        self._hooks = hooks
        self._parts = parts

    def find_hook(self, hook_id: str) -> Hook | None:
        """The first hook with this id, enabled or not."""
        return next((hook for hook in self._hooks.registry.hooks if hook.id == hook_id), None)

    def take_snapshot(self, invalid: Sequence[Problem]) -> dict[str, Any]:
        """Everything a hooks page shows; see `Engine.snapshot`."""
        self._parts.recorder.flush()
        layers = self._hooks.layers
        found = describe_hooks(list_hooks(layers, self._hooks.registry.hooks), layers)
        return {
            "hooks": sorted(found, key=lambda hook: str(hook["id"]).encode("utf-8", "replace")),
            "invalid": describe_invalid(invalid),
            "closed_events": [
                {"event": closure.event, "hook": closure.hook_id, "reason": closure.reason}
                for closure in layers.closures
            ],
        }

    def trigger(self, hook_id: str, *, cwd: str) -> Decision:
        """Start a hook by hand; see `Engine.trigger`."""
        hook = self.find_hook(hook_id)
        if hook is None:
            raise ConfigError(f"no hook has the id {hook_id!r}")
        cwd = cwd or str(self._hooks.layers.project)
        event, _ = parse_payload(hook.event, {**sample_payload(hook), "session_id": ""}, cwd=cwd)
        silence = self._parts.ports.find_silence(hook.source.dialect, event)
        if silence is not None:
            raise ConfigError(f"hook {hook_id!r} cannot be started: {silence}")
        execution = replace(hook.execution, mode="fire_and_forget", is_durable=False, is_detached=False)
        hook = replace(hook, execution=execution, enabled=True)
        if self._parts.stop_reason is not None:
            run = stop_run(hook, self._parts.stop_reason)
        else:
            # Hooks of this dialect can tell a start by hand from an event.
            stored = encode_manual(name_event(hook), cwd) if hook.source.dialect == VIX.name else None
            run = self._parts.background.start(hook, Payload(event, stored=stored), self._parts.ports.runner)
        decision = Chain(event=event).decide([run])
        self._parts.teller.note_decided(decision, event, self._parts.background)
        return decision

    def set_enabled(self, hook_id: str, *, is_enabled: bool, layer: LayerName | None) -> bool:
        """Switch a hook in its file; see `Engine.set_enabled`."""
        found = find_switch(self._hooks.layers, hook_id, layer)
        if found.file is not None and found.file.file.layer == "project" and self._hooks.layers.snapshot is not None:
            raise ConfigError(
                f"hook {hook_id!r} is part of what you trusted of its project; use hookline enable or hookline disable"
            )
        is_changed = found.set_enabled(is_enabled=is_enabled)
        if found.directory is not None:
            self._hooks.reload_folders()
        elif is_changed:
            self._hooks.use(_switch_loaded(self._hooks.layers, found, is_enabled=is_enabled))
        return is_changed


class Switch(Struct, frozen=True, kw_only=True):
    """Where a hook can be switched on and off: an entry of a hook file, or the folder of hook folders it is in."""

    hook: Hook
    file: LoadedFile | None = None
    index: int = 0
    hooks_dir: Path | None = None
    directory: str | None = None

    @property
    def path(self) -> Path:
        """The file that is edited."""
        return self.hook.source.place.path

    def set_enabled(self, *, is_enabled: bool) -> bool:
        """
        Edit the file and nothing else of it; returns whether that changed it.

        Raises `HooklineError` for a file that cannot be edited in place, or not at all.
        """
        if self.file is None:
            return switch_folder(self.hooks_dir, self.directory or "", is_enabled=is_enabled)
        try:
            return set_enabled(
                self.path, self.file.file.dialect, self.index, is_enabled=is_enabled, hook_id=self.hook.id
            )
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from error


def find_switch(layers: Layers, hook_id: str, layer: str | None) -> Switch:
    """Where the hook with this id is switched; raises `ConfigError` when there is not exactly one such hook."""
    found = [
        Switch(hook=hook, file=loaded, index=index)
        for loaded in layers.files
        for hook, index in zip(loaded.reading.hooks, loaded.reading.entries, strict=True)
        if hook.id == hook_id and layer in (None, loaded.file.layer)
    ]
    folders = layers.folders
    spec = folders.specs.get(hook_id)
    if spec is not None and layer in (None, "user"):
        hook = next(hook for hook in folders.hooks if hook.id == hook_id)
        found.append(Switch(hook=hook, hooks_dir=folders.path, directory=spec.directory))
    if len(found) > 1:
        places = ", ".join(str(switch.path) for switch in found)
        raise ConfigError(f"several hooks have the id {hook_id!r} ({places}); name one with --layer")
    if found:
        return found[0]
    reason = folders.loaded.invalid.get(hook_id)
    if reason is not None:
        raise ConfigError(f"the hook {hook_id!r} in {folders.path} is not valid, so it cannot be switched: {reason}")
    known = sorted({hook.id for hook in layers.hooks})
    raise ConfigError(f"no hook has the id {hook_id!r}; known ids: {', '.join(known) or 'none'}")


def _switch_loaded(layers: Layers, switch: Switch, *, is_enabled: bool) -> Layers:
    """The layers with a hook of a file switched as the file is now."""

    def change(hook: Hook) -> Hook:
        return replace(hook, enabled=is_enabled) if hook == switch.hook else hook

    files = [
        replace(loaded, reading=replace(loaded.reading, hooks=tuple(map(change, loaded.reading.hooks))))
        if loaded is switch.file
        else loaded
        for loaded in layers.files
    ]
    return replace(layers, files=tuple(files), hooks=tuple(map(change, layers.hooks)))


def list_hooks(layers: Layers, hooks: Iterable[Hook]) -> list[Listed]:
    """Hooks that may run, behind those of the project that may not."""
    left_out = [
        Listed(hook=hook, why_not=loaded.why_not)
        for loaded in layers.files
        if not loaded.is_counted
        for hook in loaded.reading.hooks
    ]
    return [*left_out, *(Listed(hook=hook) for hook in hooks)]


def describe_hooks(listed: Iterable[Listed], layers: Layers) -> list[dict[str, Any]]:
    """The hooks as JSON data, with what is known of their runs; reads files."""
    found = list(listed)
    find_runs = _read_runs(layers)
    states = _read_states(layers)
    described: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in found:
        hook = each.hook
        key = (hook.id, hook.source.layer, hook.source.dialect, str(hook.source.place))
        if hook.source.dialect == VIX.name and key in described:  # a spec that stands for two events
            described[key]["events"].append(hook.event)
            continue
        spec = layers.folders.find_spec(hook)
        state = states.get(hook.id, EMPTY_STATE)
        runs = find_runs(hook) if spec is None else [encode_run(run) for run in state.recent_runs]
        described[key if spec is not None else (*key, len(described))] = {
            "id": hook.id,
            "event": hook.event,
            "events": [hook.event],
            "enabled": hook.enabled,
            "description": hook.description,
            "layer": hook.source.layer,
            "dialect": hook.source.dialect,
            "source": str(hook.source.place),
            "match": _describe_match(hook.match),
            "kind": type(hook.action).__name__.removesuffix("Action").lower(),
            "runs": describe_action(hook),
            "mode": hook.execution.mode,
            "may_block": hook.is_gate,
            "timeout_seconds": hook.execution.timeout_s,
            "on_error": hook.execution.on_error,
            "loaded": not each.why_not,
            "trust": each.why_not or ("trusted" if hook.source.layer == "project" else "own"),
            "last_run": runs[-1] if runs else None,
            "recent_runs": runs,
            **({} if spec is None else {"spec": describe_spec(spec, state)}),
        }
    return list(described.values())


def describe_invalid(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """What could not be loaded, and why, as JSON data."""
    return [
        {"id": found.hook_id, "reason": found.message, "source": str(found.place), "code": found.code}
        for found in problems
        if found.severity == "error"
    ]


def describe_action(hook: Hook) -> str:
    """What the hook runs, as a shell would be told; of a handler where it is written."""
    action = hook.action
    if isinstance(action, ScriptAction):
        return shlex.join([*action.interpreter, str(action.path), *action.args])
    if isinstance(action, CommandAction):
        return shlex.join([*action.argv, *action.args])
    if isinstance(action, ShellAction):
        return action.text
    if isinstance(action, PromptAction):
        return f"prompt: {action.prompt}"
    if isinstance(action, WorkflowAction):
        return f"workflow: {action.name or '; '.join(step.command or step.prompt for step in action.steps)}"
    if isinstance(action, ObjectAction):
        return action.origin
    place = hook.source.place
    return f"{place.path.name}:{place.line}" if place.line else place.path.name


def _describe_match(match: Match) -> dict[str, Any]:
    return {
        "profile": match.profile,
        "profiles": list(match.profiles),
        "tool_kind": match.tool_kind,
        "tool_name": match.tool_name,
        "args": {
            name: {"equals": wanted.equals, "contains": wanted.contains, "regex": wanted.regex}
            for name, wanted in match.args.items()
        },
        "subject": None if match.subject is None else match.subject.pattern,
        **({} if match.predicate is None else {"predicate": str(match.predicate)}),
    }


def _read_states(layers: Layers) -> dict[str, State]:
    folders = layers.folders
    return {} if folders.path is None else load_states(folders.path, folders.loaded.specs)[0]


def _read_runs(layers: Layers) -> Callable[[Hook], list[dict[str, Any]]]:
    """What the run log tells of the last runs of a hook, in the words of the history of hook folders."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for record in read_latest(layers.homes["native"] / "hooks" / "log", most_bytes=_LOG_BYTES):
        if record.get("status") in ("skipped", "detached"):
            continue
        key = (str(record.get("hook")), str(record.get("dialect")), _POSITION.sub("", str(record.get("source"))))
        runs = found.setdefault(key, [])
        runs.append(_shorten_record(record))
        del runs[:-MOST_RUNS]
    return lambda hook: found.get((hook.id, hook.source.dialect, str(hook.source.place.path)), [])


def _shorten_record(record: dict[str, Any]) -> dict[str, Any]:
    took = record.get("duration_ms")
    optional = {
        "event": record.get("event"),
        "error": record.get("error"),
        "duration": format_duration(took / 1000) if isinstance(took, int | float) else None,
    }
    return {
        "at": record.get("at"),
        "status": record.get("status"),
        "async": record.get("mode") != "blocking",
        **{key: value for key, value in optional.items() if value},
    }
