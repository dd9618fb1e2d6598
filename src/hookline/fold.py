"""
From what hooks say to what the host is told: pure rules over the event table.

The evaluation here is the chain: hooks run one after another, each sees the edits of those before it, and the
first block ends the event. block > ask > allow; order is the order of declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hookline.edit_rule import EditRule
from hookline.events import Event, EventType
from hookline.fields import HookFailed
from hookline.hook import HandlerAction, Hook, ObjectAction
from hookline.outcome import (
    Answer,
    Decision,
    Edit,
    Effect,
    Failure,
    QuietRuns,
    Run,
    RunList,
    RunStatus,
    Verdict,
)

_STDERR_SHOWN = 2000
_RANKS: Mapping[Verdict, int] = {"allow": 0, "ask": 1, "block": 2}


class Chain(Struct, frozen=True, kw_only=True):
    """How far a chain has come: the event with the edits so far, and what has been said."""

    event: Event
    verdict: Verdict = "allow"
    reason: str | None = None
    user_message: str | None = None
    edits: Mapping[str, Any] = field(default_factory=dict)
    reminders: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()

    @property
    def is_blocked(self) -> bool:
        """Whether a hook has blocked the event."""
        return self.verdict == "block"

    def take(self, run: Run) -> tuple[Chain, Run]:
        """Take in a blocking hook's run; returns the chain after it and the run as it counts."""
        if isinstance(run.outcome, Failure):
            return self._take_failure(run, run.outcome)
        assert run.outcome is not None
        if _says_nothing(run.outcome):
            return self, run
        has_lead = bool(run.hook.source.context_lead)
        answer = restrict(downgrade(run.outcome, run.hook), self.event.type, takes_context=has_lead)
        event = apply_edits(self.event, answer.edits)
        edits = _fold_edits(self.edits, answer.edits, event, is_edited=event is not self.event)
        is_edited = edits is not self.edits
        chain = replace(self._take_verdict(run, answer), event=event, edits=edits)
        chain = replace(
            chain, reminders=(*chain.reminders, *answer.reminders), context=(*chain.context, *answer.context)
        )
        status: RunStatus = "blocked" if answer.verdict == "block" else run.status
        effects = tuple(_name_effects(answer, is_edited=is_edited))
        return chain, replace(run, outcome=answer, status=status, effects=effects)

    def take_strictest(self, runs: Sequence[Run]) -> tuple[Chain, list[Run]]:
        """
        Take in runs that were made side by side on the same event.

        The strictest verdict stands with its first reason; of the edits of one field the first stands, and
        others that differ are conflicts; everything else is added up in order. The contexts are one text where
        their dialect puts something before them.
        """
        chain: Chain = self
        taken: list[Run] = []
        edited: dict[str, tuple[Any, str]] = {}
        for run in runs:
            kept, conflicts = _drop_conflicts(run, edited)
            chain, counted = chain.take(kept)
            if conflicts:
                chain = replace(chain, conflicts=(*chain.conflicts, *conflicts))
            taken.append(counted)
        contexts = chain.context[len(self.context) :]
        if contexts and (lead := runs[0].hook.source.context_lead):
            chain = replace(chain, context=(*self.context, lead + "\n".join(contexts)))
        return chain, taken

    def _take_verdict(self, run: Run, answer: Answer) -> Chain:
        if _RANKS[answer.verdict] <= _RANKS[self.verdict]:
            return self
        word = "blocked" if answer.verdict == "block" else "put to you"
        reason = answer.reason or f"{word} by hook {run.hook.id!r}"
        return replace(self, verdict=answer.verdict, reason=reason, user_message=answer.user_message)

    def _take_failure(self, run: Run, failure: Failure) -> tuple[Chain, Run]:
        if policy_for(run, failure) != "block":
            return self, run
        if not self.event.type.gate:
            return self._hide_result(run) if run.hook.execution.hides_result else (self, run)
        counted = replace(run, effects=("blocked",))
        if self.is_blocked:  # by another hook of the same link, whose reason stands
            return self, counted
        return replace(self, verdict="block", reason=describe_failure(run), user_message=None), counted

    def _hide_result(self, run: Run) -> tuple[Chain, Run]:
        """Put a failure in the place of a tool's result, all of whose parts go with it."""
        edits = restrict(Answer(edits=_show_as_result(describe_failure(run))), self.event.type).edits
        event = apply_edits(self.event, edits)
        if event is self.event:
            return self, run
        folded = _fold_edits(self.edits, edits, event, is_edited=True)
        return replace(self, event=event, edits=folded), replace(run, effects=("edited",))

    def decide(self, runs: Sequence[Run | QuietRuns]) -> Decision:
        """The decision of the event; a blocked one hands on no edits and texts."""
        is_blocked = self.is_blocked
        return Decision(
            verdict=self.verdict,
            reason=self.reason,
            user_message=self.user_message,
            edits={} if is_blocked else self.edits,
            reminders=() if is_blocked else self.reminders,
            context=() if is_blocked else self.context,
            conflicts=self.conflicts,
            event=self.event,
            runs=_list_runs(runs),
            warnings=(
                *(warning for run in runs if isinstance(run, Run) for warning in find_warnings(run)),
                *self.conflicts,
            ),
        )


def _says_nothing(answer: Answer) -> bool:
    """Whether an answer is no objection and nothing else, as most are."""
    is_mute = answer.verdict == "allow" and not answer.edits and not answer.context
    return is_mute and not answer.reminders and not answer.ignored


def _list_runs(parts: Sequence[Run | QuietRuns]) -> Sequence[Run]:
    runs = tuple(part for part in parts if isinstance(part, Run))
    return runs if len(runs) == len(parts) else RunList(parts)


def _drop_conflicts(run: Run, edited: dict[str, tuple[Any, str]]) -> tuple[Run, list[str]]:
    """The run without edits of fields that another has edited already; those that differ, in words."""
    if not isinstance(run.outcome, Answer) or not run.outcome.edits or not run.hook.execution.may_block:
        return run, []
    kept, conflicts = [], []
    for edit in run.outcome.edits:
        value, first = edited.setdefault(edit.field, (edit.value, run.hook.id))
        if first == run.hook.id:
            kept.append(edit)
        elif _differs(value, edit.value):
            conflicts.append(
                f"conflict: hooks {first!r} and {run.hook.id!r} want different {edit.field}; the first stands"
            )
    return replace(run, outcome=replace(run.outcome, edits=tuple(kept))), conflicts


def downgrade(answer: Answer, hook: Hook) -> Answer:
    """The answer of a hook that may not block: its reason for a block becomes context, its edits nothing."""
    if hook.execution.may_block or (answer.verdict == "allow" and not answer.edits):
        return answer
    if answer.verdict == "allow":
        return Answer(ignored=(*answer.ignored, "edits of a hook that may not block"))
    return Answer(context=(answer.reason,) if answer.reason else (), ignored=answer.ignored)


def restrict(answer: Answer, row: EventType, *, takes_context: bool = False) -> Answer:
    """
    The answer without the parts that mean nothing on this event; they are named in `ignored`.

    With `takes_context` context means something although the event's row does not say so.
    """
    ignored = list(answer.ignored)
    verdict = answer.verdict
    if verdict != "allow" and not row.gate:
        ignored.append(f"{verdict}: {row.name} cannot be stopped")
        verdict = "allow"
    misfits = [_find_misfit(edit, row) for edit in answer.edits]
    edits = tuple(edit for edit, misfit in zip(answer.edits, misfits, strict=True) if misfit is None)
    ignored += [f"edit of {edit.field}: {misfit}" for edit, misfit in zip(answer.edits, misfits, strict=True) if misfit]
    reminders = answer.reminders if _takes_texts(row, "reminders") else ()
    ignored += [f"reminder: not on {row.name}"] if answer.reminders and not reminders else []
    context = answer.context if takes_context or _takes_texts(row, "context") else ()
    ignored += [f"context: not on {row.name}"] if answer.context and not context else []
    return replace(answer, verdict=verdict, edits=edits, reminders=reminders, context=context, ignored=tuple(ignored))


def _show_as_result(text: str) -> tuple[Edit, ...]:
    return (
        Edit(field="result", operation="replace", value=text),
        Edit(field="details", operation="clear"),
        Edit(field="is_error", operation="replace", value=True),
    )


def _takes_texts(row: EventType, field: str) -> bool:
    rule = row.edits.get(field)
    return rule is not None and "append" in rule.operations


def _find_misfit(edit: Edit, row: EventType) -> str | None:
    """Why an edit means nothing on this event, None when it does."""
    rule = row.edits.get(edit.field)
    if rule is None or edit.operation not in rule.operations:
        return f"not on {row.name}"
    if edit.operation == "append":
        return "texts are added by the answer's reminders and context"
    if edit.operation == "clear" or isinstance(edit.value, rule.kind):
        return None
    return f"its value is of the wrong kind, {type(edit.value).__name__}"


def apply_edits(event: Event, edits: Iterable[Edit]) -> Event:
    """The event after edits that its row allows; the same object when they change nothing."""
    fields: Any = event.fields
    for edit in edits:
        rule = event.type.edits[edit.field]
        if not rule.path:
            continue
        before = _read_path(fields, rule)
        after = _edit_value(before, edit, rule)
        edited = fields if after is before else _write_path(fields, rule.path, after)
        fields = edited if rule.follow is None else rule.follow(fields, edited)
    return event if fields is event.fields else replace(event, fields=fields)


def _fold_edits(
    before: Mapping[str, Any], edits: Sequence[Edit], event: Event, *, is_edited: bool
) -> Mapping[str, Any]:
    """The final values of the edited fields after these edits; the same object when nothing has changed."""
    if not edits:
        return before
    rules = event.type.edits
    after = dict(before)
    for edit in edits:
        if rules[edit.field].path:
            after |= {edit.field: None} if is_edited else {}
        elif edit.operation == "clear":
            after.pop(edit.field, None)
        elif rules[edit.field].combination == "latest" or edit.field not in after:
            after[edit.field] = edit.value
    # An edit of one field may change another that was edited before.
    after |= {name: _read_path(event.fields, rules[name]) for name in after if rules[name].path}
    return after if is_edited or _differs(before, after) else before


def _edit_value(before: Any, edit: Edit, rule: EditRule) -> Any:
    """The value after an edit; the same object when nothing changes."""
    if edit.operation == "merge":
        is_change = any(key not in before or _differs(before[key], value) for key, value in edit.value.items())
        return {**before, **edit.value} if is_change else before
    after = rule.cleared if edit.operation == "clear" else edit.value
    return after if _differs(before, after) else before


def _differs(before: Any, after: Any) -> bool:
    """Whether two values differ, also where `==` is blind: true and 1, 1 and 1.0, at any depth."""
    if before is after:
        return False
    try:
        return repr(before) != repr(after)
    except RecursionError:  # too deep to tell; to take them for different is on the safe side
        return True


def _read_path(fields: Any, rule: EditRule) -> Any:
    for name in rule.path:
        fields = getattr(fields, name)
    return fields


def _write_path(record: Any, path: tuple[str, ...], value: Any) -> Any:
    name, *rest = path
    return replace(record, **{name: _write_path(getattr(record, name), tuple(rest), value) if rest else value})


def _name_effects(answer: Answer, *, is_edited: bool) -> Iterable[Effect]:
    if answer.verdict == "block":
        yield "blocked"
    if answer.verdict == "ask":
        yield "asked"
    if is_edited:
        yield "edited"
    if answer.reminders:
        yield "reminder"
    if answer.context:
        yield "context"


def policy_for(run: Run, failure: Failure) -> str:
    """The hook's policy for this failure: block, warn or ignore."""
    execution = run.hook.execution
    return execution.on_provoked_error if failure.provokable else execution.on_error


def describe_failure(run: Run) -> str:
    """One text on how a run failed, with what it wrote to stderr."""
    assert isinstance(run.outcome, Failure)
    if isinstance(run.hook.action, ObjectAction):
        return f"hook `{run.hook.id}` failed: {run.outcome.message}"
    # What a handler's stderr holds is a traceback, which nobody needs to be told.
    stderr = "" if isinstance(run.hook.action, HandlerAction) else run.stderr.strip()
    if len(stderr) > _STDERR_SHOWN:
        stderr = f"...{stderr[-_STDERR_SHOWN:]}"
    text = f"hook {run.hook.id!r} failed ({run.outcome.kind}): {run.outcome.message}"
    return f"{text}: {stderr}" if stderr else text


def describe_failed_run(run: Run, event: Event) -> HookFailed:
    """What `hook_failed` tells of a run."""
    assert isinstance(run.outcome, Failure)
    return HookFailed(
        hook_id=run.hook.id,
        failed_event=event.name,
        kind=run.outcome.kind,
        message=run.outcome.message,
        source=str(run.hook.source.place),
    )


def find_warnings(run: Run) -> list[str]:
    """What a person should hear of a run: its failure unless it is to be ignored, and what counted for nothing."""
    hook = f"hook {run.hook.id!r}"
    found = [f"{hook}: {note}" for note in run.notes]
    if isinstance(run.outcome, Failure):
        # A hook that had to be stopped is worth a word whatever its policy.
        if policy_for(run, run.outcome) != "ignore" or run.outcome.kind == "timeout":
            found.append(describe_failure(run))
    elif run.status == "cancelled" and not run.hook.execution.is_durable:  # which is not lost by that
        found.append(f"{hook} was cancelled: {run.reason}")
    elif isinstance(run.outcome, Answer):
        found += [f"{hook}: ignored: {part}" for part in run.outcome.ignored]
    return found
