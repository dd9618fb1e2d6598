"""One entry of a hook file: everything that is wrong with it, or the hook it describes."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from hookline.dialects import spec
from hookline.dialects.findings import Findings
from hookline.document import Document
from hookline.events import find_event_types, get_event_type, list_event_names
from hookline.hook import (
    DEFAULT_QUEUE,
    ArgumentMatch,
    CommandAction,
    Execution,
    Hook,
    LayerName,
    Match,
    OnBadReply,
    OnError,
    ScriptAction,
    ShellAction,
    Source,
)
from hookline.patterns.python import PatternError, compile_pattern

MAX_ID_LENGTH = 512
TOOL_KINDS = (
    "shell",
    "filesystem.read",
    "filesystem.write",
    "search",
    "web_search",
    "web_fetch",
    "ask_user",
    "sleep",
    "sub_agent",
    "mcp",
    "doc_converter",
    "skill",
    "context",
    "todo",
)
_LEGACY_PREFIX = "chrys."
# The keys that say what each type of action runs.
_RUN_KEYS = {"script": "path", "command": "argv", "shell": "shell"}
_FLEET_KEYS = ("queue", "priority", "order", "max_age_seconds")
_LONGEST_QUEUE = 100
_QUEUE = re.compile(rf"[A-Za-z0-9._-]{{1,{_LONGEST_QUEUE}}}")
_ENVIRONMENT_NAME = re.compile(r"[^=\0]+")


class FileRules(Struct, frozen=True, kw_only=True):
    """
    Where the dialects whose files have the documented form differ.

    `is_all_or_nothing`: one bad entry switches the whole file off. `user_keys` are keys that only a user's
    own file may set. `closes_when_provoked`: a blocking gate hook without a written policy stays closed on
    failures that a model can bring about.
    """

    dialect: str
    hook_spec: type[spec.HookSpec]
    execution_spec: type[spec.ExecutionSpec]
    settings_spec: type[spec.SettingsSpec]
    root_keys: tuple[str, ...]
    default_bad_reply: OnBadReply
    is_all_or_nothing: bool
    closes_when_provoked: bool
    rechecks_guards: bool
    strips_legacy_kinds: bool
    user_keys: frozenset[str] = frozenset()


class EntryReader:
    """Reads the entries of one document, one after another."""

    def __init__(
        self,
        document: Document,
        rules: FileRules,
        layer: LayerName,
        findings: Findings,
        *,
        is_trusted_file: bool,
    ) -> None:
        self._document = document
        self._rules = rules
        self._layer = layer
        self._findings = findings
        self._is_trusted_file = is_trusted_file
        self._first_with_id: dict[str, int] = {}

    def read(self, index: int, entry: Any) -> Hook | None:
        """The hook of an entry, None when there is an error in it."""
        before = self._findings.error_count
        self._findings.add_defects("hooks", index)
        found = spec.convert(entry, self._rules.hook_spec)
        hook_id = _read_id(entry)
        check = _EntryCheck(self._findings, ("hooks", index), hook_id, self._rules.dialect)
        if hook_id is not None:
            self._check_id(check, hook_id, index)
        check.event(entry)
        if isinstance(found, list):
            self._findings.add_misfits(found, "hooks", index, hook_id=hook_id)
            self._check_sections(entry, check)
            return None
        check.run(found.run)
        check.execution(found.execution)
        check.patterns(found.match)
        if self._findings.error_count > before:
            return None
        assert hook_id is not None
        return self._build(found, hook_id, check)

    def _check_sections(self, entry: Any, check: _EntryCheck) -> None:
        """What else is wrong in the sections of a broken entry that can be read by themselves."""
        if not isinstance(entry, dict):
            return
        kinds = {field.name: field.type for field in msgspec.structs.fields(self._rules.hook_spec)}
        run, execution, match = (
            spec.convert(entry.get(name), spec.section_of(kinds[name])) for name in ("run", "execution", "match")
        )
        if isinstance(run, spec.RunSpec):
            check.run(run)
        if isinstance(execution, spec.ExecutionSpec):
            check.execution(execution)
        if isinstance(match, spec.MatchSpec):
            check.patterns(match)

    def _check_id(self, check: _EntryCheck, hook_id: str, index: int) -> None:
        first = self._first_with_id.setdefault(hook_id, index)
        if not hook_id:
            check.add("bad-id", "the id is empty", "id", cure="give the hook a name")
        elif len(hook_id) > MAX_ID_LENGTH:
            message = f"the id has {len(hook_id)} characters, more than {MAX_ID_LENGTH}"
            check.add("bad-id", message, "id", cure="shorten it")
        elif not hook_id.isprintable():
            check.add("bad-id", "the id holds characters that cannot be shown", "id", cure="remove them")
        elif first != index:
            line = self._document.place("hooks", first, "id").line
            message = f"the id stands twice; the first is at line {line}"
            check.add("duplicate-id", message, "id", cure="give each hook of a file its own id")

    def _build(self, found: spec.HookSpec, hook_id: str, check: _EntryCheck) -> Hook:
        place = self._document.place(*check.path)
        return Hook(
            id=hook_id,
            event=found.event,
            action=_build_action(found.run, self._document.path.parent),
            source=Source(layer=self._layer, dialect=self._rules.dialect, place=place),
            match=self._build_match(found.match, check),
            execution=self._build_execution(found, check),
            enabled=found.enabled,
            description=found.description or "",
        )

    def _build_match(self, match: spec.MatchSpec | None, check: _EntryCheck) -> Match:
        if match is None:
            return Match()
        return Match(
            profile=match.profile,
            profiles=tuple(match.profiles or ()),
            tool_kind=self._read_kind(match.tool_kind, check),
            tool_name=match.tool_name,
            args={name: _build_argument(wanted) for name, wanted in (match.args or {}).items()},
        )

    def _read_kind(self, kind: str | None, check: _EntryCheck) -> str | None:
        if kind is None or not self._rules.strips_legacy_kinds:
            return kind
        bare = kind.removeprefix(_LEGACY_PREFIX)
        if bare == kind or bare not in TOOL_KINDS:
            return kind
        check.warn(
            "legacy-kind",
            f"the kind {kind!r} is read as {bare!r}",
            "match",
            "tool_kind",
            cure=f"write {bare}",
        )
        return bare

    def _build_execution(self, found: spec.HookSpec, check: _EntryCheck) -> Execution:
        execution = found.execution or self._rules.execution_spec()
        is_gate = execution.mode == "blocking" and get_event_type(found.event).gate
        on_error: OnError = "warn" if isinstance(execution.on_error, UnsetType) else execution.on_error
        is_provoked_closed = self._rules.closes_when_provoked and is_gate and execution.on_error is UNSET
        return Execution(
            mode=execution.mode,
            timeout_s=execution.timeout_seconds,
            kill_grace_s=getattr(execution, "kill_grace_seconds", 2.0),
            on_error=on_error,
            on_provoked_error="block" if is_provoked_closed else on_error,
            on_bad_reply=self._read_bad_reply(execution, check),
            is_durable=execution.delivery == "durable" and execution.mode != "blocking",
            is_detached=execution.detach,
            recheck=self._rules.rechecks_guards and is_gate and on_error == "block",
            **_read_fleet_terms(execution),
        )

    def _read_bad_reply(self, execution: spec.ExecutionSpec, check: _EntryCheck) -> OnBadReply:
        default = self._rules.default_bad_reply
        wanted: OnBadReply = getattr(execution, "on_bad_reply", default)
        if wanted != default and not self._is_trusted_file and "on_bad_reply" in self._rules.user_keys:
            message = f"a project's file cannot set on_bad_reply; it stays {default}"
            check.warn("not-yours-to-set", message, "execution", "on_bad_reply", cure="remove it")
            return default
        return wanted


class _EntryCheck(Struct, frozen=True):
    """The checks of one entry that its spec cannot express."""

    findings: Findings
    path: tuple[Hashable, ...]
    hook_id: str | None
    dialect: str

    def add(self, code: str, message: str, *keys: Hashable, cure: str = "") -> None:
        self.findings.add(code, message, *self.path, *keys, hook_id=self.hook_id, cure=cure)

    def warn(self, code: str, message: str, *keys: Hashable, cure: str = "") -> None:
        self.findings.warn(code, message, *self.path, *keys, hook_id=self.hook_id, cure=cure)

    def event(self, entry: Any) -> None:
        name = entry.get("event") if isinstance(entry, dict) else None
        known = list_event_names(self.dialect)
        if isinstance(name, str) and name not in known:
            elsewhere = [word for row in find_event_types(name) if (word := row.aliases.get(self.dialect))]
            meant = " or ".join(repr(word) for word in elsewhere)
            cure = f"did you mean {meant}?" if meant else spec.suggest(name, [*known], otherwise="see hookline events")
            self.add("unknown-event", f"unknown event {name!r}", "event", cure=cure)

    def run(self, run: spec.RunSpec) -> None:
        wanted = _RUN_KEYS[run.type]
        if getattr(run, wanted) is None:
            self.add("missing-key", f"run of type {run.type} needs {wanted}", "run", cure=f"add {wanted}:")
        for key in _surplus_keys(run):
            message = f"run of type {run.type} does not use {key}; it is ignored"
            self.warn("unused-key", message, "run", key, cure=f"remove {key} or change the type")
        for name in run.env or {}:
            if not _ENVIRONMENT_NAME.fullmatch(name):
                message = f"{name!r} cannot name an environment variable"
                self.add("bad-env-name", message, "run", "env", name, cure="rename it")

    def execution(self, execution: spec.ExecutionSpec | None) -> None:
        if execution is None:
            return
        if execution.detach and execution.mode != "fire_and_forget":
            message = f"detach does not go with mode {execution.mode}"
            self.add("detach-mode", message, "execution", "detach", cure="use mode: fire_and_forget")
        if execution.delivery == "durable" and execution.mode == "blocking":
            message = "delivery: durable means nothing for a blocking hook; it is ignored"
            self.warn("durable-blocking", message, "execution", "delivery", cure="remove it, or use mode: async")
        if isinstance(execution, spec.NativeExecutionSpec):
            self.fleet(execution)

    def fleet(self, execution: spec.NativeExecutionSpec) -> None:
        if execution.where == "local":
            for key in _FLEET_KEYS:
                if getattr(execution, key) is not None:
                    message = f"{key} means nothing for a hook that runs here; it is ignored"
                    self.warn("unused-key", message, "execution", key, cure=f"remove {key}, or add where: fleet")
            return
        if execution.delivery != "durable" or execution.mode == "blocking":
            message = "only a durable hook that nobody waits for can run in a fleet"
            cure = "add delivery: durable, and mode: async or fire_and_forget"
            self.add("fleet-not-durable", message, "execution", "where", cure=cure)
        if execution.detach:
            message = "detach does not go with where: fleet, whose hooks run elsewhere"
            self.add("fleet-detached", message, "execution", "detach", cure="remove detach")
        if execution.queue is not None and not _QUEUE.fullmatch(execution.queue):
            message = f"{_shorten(execution.queue)} cannot name a queue"
            cure = f"use letters, digits, dots, hyphens and underscores, at most {_LONGEST_QUEUE}"
            self.add("bad-queue", message, "execution", "queue", cure=cure)

    def patterns(self, match: spec.MatchSpec | None) -> None:
        for name, wanted in ((match and match.args) or {}).items():
            if isinstance(wanted.regex, UnsetType):
                continue
            try:
                compile_pattern(wanted.regex)
            except PatternError as error:
                message = f"the regular expression {_shorten(wanted.regex)} cannot be compiled: {error}"
                cure = "write it in Python's syntax, in single quotes"
                self.add("bad-regex", message, "match", "args", name, "regex", cure=cure)


def _read_id(entry: Any) -> str | None:
    hook_id = entry.get("id") if isinstance(entry, dict) else None
    return hook_id.strip() if isinstance(hook_id, str) else None


def _read_fleet_terms(execution: spec.ExecutionSpec) -> dict[str, Any]:
    """What an execution says about a fleet, by the names of the record."""
    if not isinstance(execution, spec.NativeExecutionSpec) or execution.where == "local":
        return {}
    return {
        "where": execution.where,
        "queue": execution.queue or DEFAULT_QUEUE,
        "priority": execution.priority or 0,
        "order": execution.order or "none",
        "max_age_s": execution.max_age_seconds,
    }


def _surplus_keys(run: spec.RunSpec) -> list[str]:
    surplus = [key for type_, key in _RUN_KEYS.items() if type_ != run.type and getattr(run, key) is not None]
    if run.type == "shell" and run.args:
        surplus.append("args")
    if run.type != "script" and getattr(run, "interpreter", None):
        surplus.append("interpreter")
    return surplus


def _build_argument(wanted: spec.ArgumentSpec) -> ArgumentMatch:
    set_values = {key: value for key, value in msgspec.structs.asdict(wanted).items() if value is not UNSET}
    return ArgumentMatch(**set_values)


def _build_action(run: spec.RunSpec, folder: Path) -> ScriptAction | CommandAction | ShellAction:
    args, env, cwd = tuple(run.args or ()), dict(run.env or {}), run.cwd or ""
    if run.type == "script":
        assert run.path is not None
        interpreter = tuple(getattr(run, "interpreter", None) or ())
        return ScriptAction(path=folder / run.path, args=args, env=env, cwd=cwd, interpreter=interpreter)
    if run.type == "command":
        assert run.argv is not None
        return CommandAction(argv=tuple(run.argv), args=args, env=env, cwd=cwd)
    assert run.shell is not None
    return ShellAction(text=run.shell, env=env, cwd=cwd)


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
