"""Hooks in words, for listings."""

from __future__ import annotations

from hookline.hook import HandlerAction, Hook, Match


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
    if match.subject is not None:
        parts.append(f"subject ~ '{match.subject.pattern}'")
    return ", ".join(parts) or "every one"
