"""A JSON list of hook objects as native entries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hookline.attachment import POLICIES
from hookline.config.json_text import parse_json
from hookline.config.text import MAX_FILE_SIZE, UnreadableTextError, decode_text
from hookline.conversion.base import Bridge, Conversion, Converted, Ids, Loss, Origin, find_unwritable, make_entry
from hookline.dialects.native import NATIVE
from hookline.document import Document
from hookline.errors import ConfigError
from hookline.hook import Execution, Match
from hookline.objects.matcher import HookMatcher
from hookline.objects.records import can_block
from hookline.objects.shell import ShellHook
from hookline.objects.specs import SpecReading, read_specs
from hookline.objects.wire import EVENTS
from hookline.private import read_regular
from hookline.problem import Place
from hookline.runners.environment import template_names

REMARKS = ("A command runs in the session's directory, not in the host's own.",)
_MOST_NAMES = 16
_NATIVE_TEMPLATES = tuple(f"${{{name}}}" for name in template_names(NATIVE))


def convert_objects(path: Path) -> Conversion:
    """What the list of hook objects at `path` says, in native words; raises `ConfigError` for what is no list."""
    document = _read(path)
    if not isinstance(document.data, list):
        raise ConfigError(f"{path} holds no list of hook objects; it must start with [")
    reading = read_specs(document)
    places = {hook.id: _find_place(document, hook.id) for hook in reading.hooks}
    ids = Ids()
    entries: list[Converted] = []
    left_out = list(_find_bad(document, reading))
    for hook in reading.hooks:
        converted = list(_convert(hook, places[hook.id], ids))
        fault = find_unwritable([entry.data for entry in converted])
        if fault is None:
            entries += converted
        else:
            left_out.append(_leave_out(hook, places[hook.id], fault))
    return Conversion(source=str(path), entries=tuple(entries), left_out=tuple(left_out), remarks=REMARKS)


def _read(path: Path) -> Document:
    try:
        return parse_json(decode_text(read_regular(path, MAX_FILE_SIZE + 1), path), path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnreadableTextError as error:
        raise ConfigError(str(error.problem)) from error


def _find_place(document: Document, hook_id: str) -> Place:
    for index, data in enumerate(document.data):
        if isinstance(data, dict) and data.get("id", f"{data.get('event')}_{index}") == hook_id:
            return document.place(index)
    return document.place()


def _find_bad(document: Document, reading: SpecReading) -> Iterator[Loss]:
    """The entries that are left out, and keys that mean nothing."""
    marks = [document.place(index) for index in range(len(document.data))]
    for problem in reading.problems:
        index = max((n for n, mark in enumerate(marks) if _stands_before(mark, problem.place)), default=None)
        data = None if index is None else document.data[index]
        is_error = problem.severity == "error"
        yield Loss(
            hook_id=problem.hook_id or ("?" if index is None else f"number {index}"),
            place=problem.place,
            message=problem.message,
            is_dangerous=is_error and _is_guard(data),
            is_left_out=is_error,
        )


def _stands_before(mark: Place, place: Place) -> bool:
    return (mark.line, mark.column) <= (place.line, place.column)


def _is_guard(data: Any) -> bool:
    """Whether an entry that is left out may have been meant to block something."""
    return not isinstance(data, Mapping) or data.get("event") not in EVENTS or can_block(data["event"])


def _leave_out(hook: ShellHook, place: Place, fault: str) -> Loss:
    return Loss(
        hook_id=hook.id,
        place=place,
        message=f"it cannot be written: {fault}",
        is_dangerous=can_block(hook.event),
        is_left_out=True,
    )


def _convert(hook: ShellHook, place: Place, ids: Ids) -> Iterator[Converted]:
    """The entries of a hook: several where its matcher is a list of names."""
    matcher = hook.matcher or HookMatcher()
    names = _list_names(matcher)
    if names:
        rest = replace(matcher, tool_name_glob=None)
        for name in names:
            yield _make(hook, place, Match(tool_name=name), rest, ids.take(hook.id, name if len(names) > 1 else ""))
        return
    rest = replace(matcher, tool_name=None)
    yield _make(hook, place, Match(tool_name=matcher.tool_name), rest, ids.take(hook.id))


def _list_names(matcher: HookMatcher) -> list[str]:
    """The names of a glob that is nothing but names."""
    if matcher.tool_name_glob is None or matcher.tool_name is not None:
        return []
    names = [name.strip() for name in matcher.tool_name_glob.split("|")]
    is_plain = all(name and not name.endswith("*") for name in names) and len(names) <= _MOST_NAMES
    return list(dict.fromkeys(names)) if is_plain else []


def _make(hook: ShellHook, place: Place, match: Match, rest: HookMatcher, entry_id: str) -> Converted:
    options = [] if rest == HookMatcher() else [f"--matcher={_write_matcher(rest)}"]
    origin = Origin(
        format="objects",
        id=hook.id,
        place=place,
        event=EVENTS[hook.event],
        execution=Execution(mode="blocking", timeout_s=hook.timeout_ms / 1000, on_error=POLICIES[hook.on_error]),
        description=hook.description,
    )
    bridge = Bridge(words=[hook.command], options=options, env=hook.env, cwd=hook.cwd)
    losses = tuple(_find_losses(hook, place))
    return Converted(data=make_entry(origin, bridge, match, entry_id), place=place, losses=losses)


def _write_matcher(matcher: HookMatcher) -> str:
    given = {name: value for name, value in matcher.to_data().items() if value is not None}
    return json.dumps(given, ensure_ascii=False)


def _find_losses(hook: ShellHook, place: Place) -> Iterator[Loss]:
    def lose(message: str, *, is_dangerous: bool = False) -> Loss:
        return Loss(hook_id=hook.id, place=place, message=message, is_dangerous=is_dangerous)

    if hook.event == "user_prompt_submit":
        yield lose("where it wants to replace the prompt, the prompt is blocked instead")
    if hook.event == "post_tool_use":
        yield lose("it cannot replace a result: where it wants to, it fails, and the result stays as it is")
        if hook.on_error == "block":
            yield lose("when it fails, the result is not hidden from the model", is_dangerous=True)
    for name, value in hook.env.items():
        for template in _NATIVE_TEMPLATES:
            if template in value:
                yield lose(f"env {name}: {template} is filled in here, and stands for itself there")
