"""A hook file of the documented form as a whole: its root keys, its settings, its list of hooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from hookline.dialects import spec
from hookline.dialects.base import ModuleEntry, Reading
from hookline.dialects.entry import EntryReader, FileRules
from hookline.dialects.findings import Findings
from hookline.document import Document
from hookline.events import EVENT_NAMES, get_event_type
from hookline.hook import Hook, LayerName
from hookline.registry import Closure

MAX_HOOKS = 10_000


def read_hook_file(document: Document, rules: FileRules, layer: LayerName, *, is_trusted_file: bool) -> Reading:
    """
    Read the data of a file into hooks and settings.

    Everything that is wrong becomes a problem of the reading. A bad entry leaves its neighbours alone, unless
    the rules say that it switches the file off; one that was meant to guard a gate closes that gate.
    """
    if document.data is None:
        return Reading()
    findings = Findings(document)
    reader = _FileReader(document, rules, layer, findings, is_trusted_file=is_trusted_file)
    reading = reader.read()
    findings.sum_up()
    reading = replace(reading, problems=tuple(findings.problems))
    errors = [problem for problem in findings.problems if problem.severity == "error" and problem.code != "bad-regex"]
    if rules.is_all_or_nothing and errors:
        count = "an error" if len(errors) == 1 else f"{len(errors)} errors"
        cure = f"mend the file; in the {rules.dialect} format one bad entry switches off the whole file"
        findings.add("file-off", f"because of {count} no hook of this file is loaded", cure=cure)
        return Reading(problems=tuple(findings.problems))
    return reading


class _FileReader:
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
        self._findings = findings
        self._is_trusted_file = is_trusted_file
        self._entries = EntryReader(document, rules, layer, findings, is_trusted_file=is_trusted_file)

    def read(self) -> Reading:
        data = self._document.data
        if not isinstance(data, dict):
            self._findings.add("root-type", "the file must be a mapping with the key hooks", cure="start with hooks:")
            return Reading(problems=tuple(self._findings.problems), is_lost=True)
        self._check_root(data)
        settings = self._read_settings(data.get("settings"))
        dialects = self._read_dialects(data.get("dialects"))
        modules = self._read_modules(data.get("modules"))
        hooks, closures = self._read_hooks(data.get("hooks"))
        return Reading(
            hooks=tuple(hook for _, hook in hooks),
            entries=tuple(index for index, _ in hooks),
            settings=settings,
            dialects=dialects,
            modules=tuple(modules),
            closures=tuple(closures),
            problems=tuple(self._findings.problems),
            is_lost=self._are_hooks_lost(data),
        )

    def _are_hooks_lost(self, data: dict[Any, Any]) -> bool:
        """Whether the list of hooks is missing or doubled by a mistake: misspelt, no list, or there twice."""
        if "hooks" not in data:
            return any(key not in self._rules.root_keys for key in data)
        is_doubled = any(defect.path == ("hooks",) for defect in self._document.defects)
        return is_doubled or not isinstance(data["hooks"], (list, type(None)))

    def _check_root(self, data: dict[Any, Any]) -> None:
        for key in data:
            if key not in self._rules.root_keys and not self._findings.is_full:
                cure = spec.suggest(str(key), list(self._rules.root_keys))
                self._findings.add("unknown-key", f"unknown key {key!r}", key, cure=cure, at_key=True)
        for defect in self._document.defects:
            # Those of single entries are told with the entries.
            if defect.path[:1] != ("hooks",) or len(defect.path) == 1:
                self._findings.add_defect(defect)
        version = data.get("version", 1)
        if version != 1 or not isinstance(version, int) or isinstance(version, bool):
            message = f"version must be the integer 1, not {version!r}"
            self._findings.add("bad-version", message, "version", cure="write version: 1")

    def _read_settings(self, data: Any) -> dict[str, Any]:
        if data is None:
            return {}
        found = spec.convert(data, self._rules.settings_spec)
        if isinstance(found, list):
            self._findings.add_misfits(found, "settings")
            fitting = {} if not isinstance(data, dict) else {k: v for k, v in data.items() if self._fits(k, v)}
            found = msgspec.convert(fitting, self._rules.settings_spec)
        values = {key: value for key, value in msgspec.structs.asdict(found).items() if value is not UNSET}
        return {_name_setting(key): value for key, value in values.items() if self._may_set("settings", key)}

    def _fits(self, key: Any, value: Any) -> bool:
        return not isinstance(spec.convert({key: value}, self._rules.settings_spec), list)

    def _may_set(self, *path: str) -> bool:
        key = path[-1]
        if self._is_trusted_file or key not in self._rules.user_keys:
            return True
        message = f"a project's file cannot set {key}; it is ignored"
        self._findings.warn("not-yours-to-set", message, *path, cure="set it in your own hooks.yaml")
        return False

    def _read_dialects(self, data: Any) -> tuple[str, ...] | None:
        if data is None or "dialects" not in self._rules.root_keys or not self._may_set("dialects"):
            return None
        if not isinstance(data, list) or not all(isinstance(name, str) for name in data):
            self._findings.add(
                "wrong-type", "dialects must be a list of names", "dialects", cure="write [native, chrys]"
            )
            return None
        return tuple(data)

    def _read_modules(self, data: Any) -> Iterator[ModuleEntry]:
        if data is None or "modules" not in self._rules.root_keys:
            return
        if not isinstance(data, list):
            message = f"modules must be a list, not {type(data).__name__}"
            self._findings.add("wrong-type", message, "modules", cure="start each module with - and its path")
            return
        for index, entry in enumerate(data):
            found = spec.convert({"path": entry} if isinstance(entry, str) else entry, spec.ModuleSpec)
            if isinstance(found, list):
                self._findings.add_misfits(found, "modules", index)
                continue
            yield ModuleEntry(
                path=found.path,
                place=self._document.place("modules", index),
                is_required=found.required,
                timeout_s=found.timeout_seconds,
                enabled=found.enabled,
            )

    def _read_hooks(self, data: Any) -> tuple[list[tuple[int, Hook]], list[Closure]]:
        hooks: list[tuple[int, Hook]] = []
        closures: list[Closure] = []
        if data is not None and not isinstance(data, list):
            kind = "a mapping" if isinstance(data, dict) else repr(data)
            self._findings.add(
                "wrong-type", f"hooks must be a list, not {kind}", "hooks", cure="start each hook with - id:"
            )
            return hooks, closures
        if data is not None and len(data) > MAX_HOOKS:
            message = f"there are {len(data)} hooks, more than {MAX_HOOKS}"
            self._findings.add("too-many-hooks", message, "hooks", cure="spread them over projects, or generate fewer")
            return hooks, [self._close(index, entry) for index, entry in enumerate(data) if _is_guard(entry)][:1]
        for index, entry in enumerate(data or ()):
            hook = self._entries.read(index, entry)
            if hook is not None:
                hooks.append((index, hook))
            elif _is_guard(entry):
                closures.append(self._close(index, entry))
        return hooks, closures

    def _close(self, index: int, entry: dict[str, Any]) -> Closure:
        hook_id = entry.get("id")
        name = f"hook {hook_id!r}" if isinstance(hook_id, str) else "a hook without an id"
        place = self._document.place("hooks", index)
        reason = (
            f"{name} at {place} guards {entry['event']} but could not be loaded: "
            "mend it (hookline check shows how) or remove it"
        )
        return Closure(event=entry["event"], hook_id=str(hook_id), reason=reason)


def _is_guard(entry: Any) -> bool:
    """Whether an entry that is left out was meant to guard a gate, as far as it can be read."""
    if not isinstance(entry, dict) or entry.get("enabled") is False:
        return False
    execution, event = entry.get("execution"), entry.get("event")
    if not isinstance(execution, dict) or not isinstance(event, str) or event not in EVENT_NAMES:
        return False
    is_meant = execution.get("mode") == "blocking" and execution.get("on_error") == "block"
    return is_meant and get_event_type(event).gate


def _name_setting(key: str) -> str:
    return key.removesuffix("_seconds") + "_s" if key.endswith("_seconds") else key
