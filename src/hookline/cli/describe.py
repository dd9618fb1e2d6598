"""Hooks in words, for listings."""

from __future__ import annotations

import shlex
from typing import Any

from hookline.hook import CommandAction, HandlerAction, Hook, Match, ObjectAction, ScriptAction, ShellAction


def describe_layer(hook: Hook) -> str:
    """The hook's layer, with its dialect unless that is native."""
    source = hook.source
    is_own = source.dialect == "native" or isinstance(hook.action, HandlerAction)
    return source.layer if is_own else f"{source.layer}/{source.dialect}"


def describe_match(match: Match) -> str:
    """The conditions of a match."""
    parts = [f"{name}={value}" for name in ("profile", "tool_kind", "tool_name") if (value := getattr(match, name))]
    if match.profiles:
        parts.append(f"profile in {', '.join(match.profiles)}")
    for name, wanted in match.args.items():
        signs = (("==", wanted.equals), ("contains", wanted.contains), ("~", wanted.regex))
        conditions = [f"{name} {sign} '{value}'" for sign, value in signs if value is not None]
        parts += conditions or [f"{name} given"]
    if match.predicate is not None:
        parts.append(str(match.predicate))
    return ", ".join(parts) or "every one"


def describe_action(hook: Hook) -> str:
    """What the hook runs, as a shell would be told; for code where it comes from."""
    action = hook.action
    if isinstance(action, HandlerAction):
        place = hook.source.place
        return f"{place.path.name}:{place.line}" if place.line else place.path.name
    if isinstance(action, ScriptAction):
        return shlex.join([*action.interpreter, str(action.path), *action.args])
    if isinstance(action, CommandAction):
        return shlex.join([*action.argv, *action.args])
    if isinstance(action, HandlerAction | ObjectAction):
        return action.origin
    assert isinstance(action, ShellAction)
    return action.text


def hook_to_json(hook: Hook) -> dict[str, Any]:
    """A hook as data."""
    match = hook.match
    return {
        "id": hook.id,
        "event": hook.event,
        "enabled": hook.enabled,
        "description": hook.description,
        "layer": hook.source.layer,
        "dialect": hook.source.dialect,
        "source": str(hook.source.place),
        "match": {
            "profile": match.profile,
            "profiles": list(match.profiles),
            "tool_kind": match.tool_kind,
            "tool_name": match.tool_name,
            "args": {
                name: {"equals": wanted.equals, "contains": wanted.contains, "regex": wanted.regex}
                for name, wanted in match.args.items()
            },
            **({} if match.predicate is None else {"predicate": str(match.predicate)}),
        },
        "runs": describe_action(hook),
        "mode": hook.execution.mode,
        "timeout_seconds": hook.execution.timeout_s,
        "on_error": hook.execution.on_error,
    }
