"""Shell hooks from a list of specs in JSON, every problem at its place."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from hookline.dialects.findings import Findings
from hookline.dialects.spec import convert, suggest
from hookline.document import Document
from hookline.objects.matcher import HookMatcher
from hookline.objects.records import ObjectEvent, Policy, supports_matcher
from hookline.objects.shell import DEFAULT_LIMITS, DEFAULT_TIMEOUT_MS, ShellHook, ShellLimits, check_shell
from hookline.problem import Problem


class MatcherSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`matcher`."""

    tool_name: str | None = None
    tool_name_glob: str | None = None
    args_jsonpath: str | None = None
    match_regex: str | None = None
    deny_regex: str | None = None


class ExecutorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`executor`."""

    type: Literal["bash"]
    command: str
    env: dict[str, str] | None = None


class ObjectSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the list; `source` is what another host noted about it, and means nothing here."""

    event: ObjectEvent
    executor: ExecutorSpec
    id: str | None = None
    matcher: MatcherSpec | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    on_error: Policy = "warn"
    description: str | None = None
    source: Any = None


class SpecReading(Struct, frozen=True, kw_only=True):
    """The hooks of a list in its order, without those that an error was found in."""

    hooks: tuple[ShellHook, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_specs(document: Document, *, limits: ShellLimits = DEFAULT_LIMITS) -> SpecReading:
    """
    Read a list of specs, one by one: a bad one is left out, and its neighbours are read.

    An entry without an id is called by its event and its place in the list, such as `pre_tool_use_0`.
    """
    findings = Findings(document)
    if not isinstance(document.data, list):
        findings.add("root-type", "the file must be a list of hooks", cure="write [{...}]")
        return SpecReading(problems=tuple(findings.problems))
    hooks: dict[str, ShellHook] = {}
    for index, data in enumerate(document.data):
        hook = _read_entry(data, index, findings, limits)
        if hook is None:
            continue
        if hook.id in hooks:
            message = f"the id {hook.id!r} stands twice; the first one counts"
            findings.add("duplicate-id", message, index, "id", hook_id=hook.id, cure="give it another id")
        else:
            hooks[hook.id] = hook
    findings.sum_up()
    return SpecReading(hooks=tuple(hooks.values()), problems=tuple(findings.problems))


def _read_entry(data: Any, index: int, findings: Findings, limits: ShellLimits) -> ShellHook | None:
    hook_id = data.get("id") if isinstance(data, dict) and isinstance(data.get("id"), str) else None
    before = findings.error_count
    findings.add_defects(index)
    _warn_of_unknown_keys(data, index, findings, hook_id)
    spec = convert(data, ObjectSpec)
    if isinstance(spec, list):
        misfits = [misfit for misfit in spec if misfit.code != "unknown-key"]
        findings.add_misfits(misfits, index, hook_id=hook_id)
        return None
    hook_id = spec.id if spec.id is not None else f"{spec.event}_{index}"
    if not hook_id.strip():
        findings.add("bad-id", "the id is empty", index, "id", cure="give it a name, or leave the key out")
    env = spec.executor.env or {}
    for problem in check_shell(spec.executor.command, env, spec.timeout_ms, limits):
        findings.add("bad-executor", problem, index, "executor", hook_id=hook_id)
    matcher = _read_matcher(spec, index, findings, hook_id)
    if findings.error_count > before:
        return None
    return ShellHook(
        hook_id,
        spec.event,
        spec.executor.command,
        matcher=matcher,
        on_error=spec.on_error,
        env=env,
        timeout_ms=spec.timeout_ms,
        description=spec.description or "",
        limits=limits,
    )


def _warn_of_unknown_keys(data: Any, index: int, findings: Findings, hook_id: str | None) -> None:
    """A key that is not known is read over, but perhaps it was meant to be one that guards something."""
    if not isinstance(data, dict):
        return
    sections: tuple[tuple[tuple[str, ...], Any, type[msgspec.Struct]], ...] = (
        ((), data, ObjectSpec),
        (("executor",), data.get("executor"), ExecutorSpec),
        (("matcher",), data.get("matcher"), MatcherSpec),
    )
    for path, section, spec in sections:
        known = list(spec.__struct_fields__)
        for key in section if isinstance(section, dict) else ():
            if key not in known:
                message = f"unknown key {key!r}, which means nothing"
                findings.warn("unknown-key", message, index, *path, key, hook_id=hook_id, cure=suggest(key, known))


def _read_matcher(spec: ObjectSpec, index: int, findings: Findings, hook_id: str) -> HookMatcher | None:
    if spec.matcher is None:
        return None
    matcher = HookMatcher(**asdict(spec.matcher))
    if matcher == HookMatcher() and not supports_matcher(spec.event):
        message = f"an empty matcher on {spec.event}, which is about no tool, means nothing"
        findings.warn("empty-matcher", message, index, "matcher", hook_id=hook_id, cure="leave it out")
        return None
    for problem in matcher.validate(spec.event, hook_id):
        findings.add("bad-matcher", problem.removeprefix(f"hook `{hook_id}`: "), index, "matcher", hook_id=hook_id)
    return matcher
