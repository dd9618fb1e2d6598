"""
What a hook folder says of itself: its `hook.json`, checked and with its defaults.

The checks come in a fixed order and the first that fails is what the author hears.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from msgspec import Struct

from hookline.folders.duration import DurationError, check_positive, parse_duration
from hookline.folders.event_names import BLOCKABLE_EVENTS, EVENTS_BY_NAME, FOLDER_EVENTS, FolderEvent
from hookline.folders.json_text import describe_type, fold_key, mend, trim
from hookline.folders.matcher import Matcher, compile_matcher
from hookline.folders.spec_text import SpecText, read_spec_text
from hookline.hook import OnError, WorkflowStep
from hookline.patterns.linear import LinearPatternError
from hookline.problem import Place

FolderMode = Literal["sync", "async"]

SPEC_FILE = "hook.json"
_DEFAULT_TIMEOUTS = {"sync": "5s", "async": "10m"}
_ON_ERROR = ("warn", "block", "ignore")
_LONGEST_ID = 255
_UNPLAIN = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class FolderSpec(Struct, frozen=True, kw_only=True):
    """
    A valid spec; exactly one of `command`, `workflow_id`, `workflow` and `prompt` is set.

    `directory` is the name of the hook's folder, which need not be its id. `timeout` is the author's own text or
    the default of the mode. An empty `cwd` means the session's. `place` is where the spec's event stands.
    """

    id: str
    directory: str
    place: Place
    event: str
    mode: FolderMode = "async"
    name: str = ""
    enabled: bool = False
    matcher: Matcher = Matcher()
    blocking: bool = False
    command: str = ""
    workflow_id: str = ""
    workflow: tuple[WorkflowStep, ...] = ()
    prompt: str = ""
    cwd: str = ""
    auto_write: bool = True
    auto_dirs: bool = True
    timeout: str = _DEFAULT_TIMEOUTS["async"]
    timeout_s: float = 600.0
    on_error: OnError = "warn"
    created_by: str = ""
    description: str = ""

    @property
    def row(self) -> FolderEvent:
        """The row of the spec's event."""
        return EVENTS_BY_NAME[self.event]

    @property
    def is_waited_for(self) -> bool:
        """Whether the agent waits: mode sync, on an event that has something to wait for."""
        return self.mode == "sync" and self.row.can_wait

    @property
    def is_guard(self) -> bool:
        """Whether what this hook watches over must stay closed when it cannot answer."""
        return self.blocking and self.on_error == "block"

    @property
    def title(self) -> str:
        """What to call the hook: its name, or its id without one."""
        return self.name or self.id


class SpecError(ValueError):
    """
    A spec that is not valid, with the first reason.

    `hook_id` is None when the id itself is of no use; `offset` is where in the text, `code` names the problem.
    `guarded_event` is the event that an enabled hook with `on_error: block` was to guard.
    """

    def __init__(
        self, message: str, *, code: str, offset: int, hook_id: str | None, guarded_event: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.offset = offset
        self.hook_id = hook_id
        self.guarded_event = guarded_event


def parse_spec(text: str, path: Path) -> FolderSpec:
    """
    Read and check the text of the spec at `path`.

    Raises `hookline.folders.json_text.JsonError` for a text that cannot be read, and `SpecError` for a spec that
    is not valid.
    """
    return _Checker(text, path).check()


def find_place(path: Path, text: str, offset: int) -> Place:
    """Where an offset of a file's text is."""
    line = text.count("\n", 0, offset) + 1
    return Place(path=path, line=line, column=offset - text.rfind("\n", 0, offset))


class _Checker:
    """Checks one spec, in the order of its methods' calls."""

    def __init__(self, text: str, path: Path) -> None:
        self._text = text
        self._path = path
        self._directory = path.parent.name
        self._raw: SpecText = read_spec_text(text)
        self._id: str | None = None

    def check(self) -> FolderSpec:
        raw = self._raw
        hook_id = self._check_id()
        event = self._check_event()
        mode = self._check_mode()
        action = self._check_action()
        self._check_blocking(event, mode)
        timeout = raw.text("timeout") or _DEFAULT_TIMEOUTS[mode]
        timeout_s = self._check_timeout(timeout)
        matcher = self._check_matcher()
        on_error = self._check_on_error()
        return FolderSpec(
            id=hook_id,
            directory=self._directory,
            event=event,
            mode=mode,
            name=raw.text("name"),
            enabled=raw.is_on("enabled"),
            matcher=matcher,
            blocking=raw.is_on("blocking"),
            **action,
            cwd=raw.text("cwd"),
            auto_write=raw.is_on("permissions.auto_write", default=True),
            auto_dirs=raw.is_on("permissions.auto_dirs", default=True),
            timeout=timeout,
            timeout_s=timeout_s,
            on_error=on_error,
            created_by=raw.text("created_by"),
            description=raw.text("description"),
            place=find_place(self._path, self._text, raw.offsets["trigger.event"]),
        )

    def _check_id(self) -> str:
        found = self._raw.values.get("id", self._directory)
        if not found:
            self._refuse("missing id: leave the key out to take the folder's name", "id", code="bad-id")
        if (reason := _find_fault(found)) is not None:
            self._refuse(f"id {found[:_LONGEST_ID]!r} {reason}", "id", code="bad-id")
        self._id = cast("str", found)
        return self._id

    def _check_event(self) -> str:
        event = self._raw.text("trigger.event")
        known = ", ".join(row.name for row in FOLDER_EVENTS)
        if not event:
            self._refuse(f"missing event: trigger.event must be one of {known}", "trigger", code="missing-key")
        if event not in EVENTS_BY_NAME:
            self._refuse(f"unsupported event {event!r}: use one of {known}", "trigger.event", code="unknown-event")
        return event

    def _check_mode(self) -> FolderMode:
        mode = self._raw.text("mode") or "async"
        if mode not in _DEFAULT_TIMEOUTS:
            self._refuse(f'invalid mode {mode!r}: it must be "sync" or "async"', "mode", code="wrong-type")
        return cast("FolderMode", mode)

    def _check_action(self) -> dict[str, Any]:
        texts = {key: text if trim(text := self._raw.text(key)) else "" for key in ("command", "workflow_id", "prompt")}
        has_workflow = "workflow" in self._raw.values
        if texts["workflow_id"] and has_workflow:
            self._refuse("workflow_id and workflow are both set: keep one of them", "workflow_id", code="contradiction")
        present = [key for key in texts if texts[key]] + ["workflow"] * has_workflow
        if not present:
            message = "no action: exactly one of command, workflow_id, workflow and prompt must be set"
            self._refuse(message, "command", code="missing-key")
        if len(present) > 1:
            self._refuse(
                f"more than one action: keep only one of {' and '.join(present)}", present[1], code="contradiction"
            )
        return {**texts, "workflow": self._check_workflow() if has_workflow else ()}

    def _check_workflow(self) -> tuple[WorkflowStep, ...]:
        try:
            return tuple(_read_steps(self._raw.values["workflow"]))
        except _WorkflowError as error:
            self._refuse(f"invalid inline workflow: {error}", "workflow", code="wrong-type")

    def _check_blocking(self, event: str, mode: FolderMode) -> None:
        if not self._raw.is_on("blocking"):
            return
        if mode != "sync":
            self._refuse('blocking needs mode "sync": nobody waits for an async hook', "blocking", code="contradiction")
        if event not in BLOCKABLE_EVENTS:
            which = ", ".join(BLOCKABLE_EVENTS)
            self._refuse(
                f"{event} cannot be blocked: blocking goes only with {which}", "blocking", code="contradiction"
            )

    def _check_timeout(self, timeout: str) -> float:
        try:
            return check_positive(timeout, parse_duration(timeout))
        except DurationError as error:
            self._refuse(f"invalid timeout: {error}", "timeout", code="wrong-type")

    def _check_matcher(self) -> Matcher:
        text = self._raw.text("trigger.matcher")
        try:
            return compile_matcher(text)
        except LinearPatternError as error:
            self._refuse(f"invalid matcher {text[:_LONGEST_ID]!r}: {error}", "trigger.matcher", code="bad-regex")

    def _check_on_error(self) -> OnError:
        on_error = self._raw.text("on_error") or "warn"
        if on_error not in _ON_ERROR:
            message = f"invalid on_error {on_error!r}: it must be warn, block or ignore"
            self._refuse(message, "on_error", code="wrong-type")
        if on_error == "block" and not self._raw.is_on("blocking"):
            self._refuse(
                "on_error block needs blocking: only a blocking hook can keep closed", "on_error", code="contradiction"
            )
        return cast("OnError", on_error)

    def _refuse(self, message: str, path: str, *, code: str) -> NoReturn:
        offset = self._raw.offsets.get(path, 0)
        raise SpecError(message, code=code, offset=offset, hook_id=self._id, guarded_event=self._guarded_event())

    def _guarded_event(self) -> str | None:
        raw, event = self._raw, self._raw.text("trigger.event")
        is_meant = raw.is_on("enabled") and raw.is_on("blocking") and raw.text("on_error") == "block"
        return event if is_meant and event in BLOCKABLE_EVENTS else None


class _WorkflowError(ValueError):
    """An inline workflow that is none, with the reason."""


def _find_fault(hook_id: str) -> str | None:
    """Why a text is no plain name, None when it is one."""
    if hook_id in {".", ".."} or _UNPLAIN.search(hook_id):
        return "is no plain name: it may hold no path and nothing that cannot be shown"
    if len(hook_id.encode()) > _LONGEST_ID:
        return f"is longer than {_LONGEST_ID} bytes"
    return None if trim(hook_id) == hook_id else "starts or ends with white space"


def _read_steps(found: Any) -> Iterator[WorkflowStep]:
    if not isinstance(found, list):
        raise _WorkflowError(f"it must be a list of steps, each {{command}} or {{prompt}}, not {describe_type(found)}")
    if not found:
        raise _WorkflowError("it has no steps")
    for number, step in enumerate(found, start=1):
        if not isinstance(step, dict):
            raise _WorkflowError(
                f"step {number} must be an object with a command or a prompt, not {describe_type(step)}"
            )
        yield _read_step(number, {fold_key(key): value for key, value in step.items()})


def _read_step(number: int, step: dict[str, Any]) -> WorkflowStep:
    texts: dict[str, str] = {}
    for key in ("command", "prompt"):
        value = step.get(key)
        if value is not None and not isinstance(value, str):
            raise _WorkflowError(f"{key} of step {number} must be a text, not {describe_type(value)}")
        if value is not None and trim(value):
            texts[key] = mend(value)
    if len(texts) != 1:
        raise _WorkflowError(f"step {number} must have either a command or a prompt")
    return WorkflowStep(**texts)
