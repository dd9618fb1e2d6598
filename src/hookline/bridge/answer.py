"""What a program of another format says, as a native hook can say it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hookline.events import Event
from hookline.fields import BeforeToolCall
from hookline.fold import apply_edits, restrict
from hookline.outcome import NO_OBJECTION, Answer, Failure, Outcome, Run


class Said(Struct, frozen=True, kw_only=True):
    """
    What came of a program: its answer or failure as a native hook can give it, and its run if it ran.

    `notes` say what of the answer a native hook cannot say and may be left out.
    """

    outcome: Outcome = NO_OBJECTION
    run: Run | None = None
    notes: tuple[str, ...] = ()


def to_reply(answer: Answer) -> dict[str, Any]:
    """A native reply that says the same as a fitting answer."""
    action = "modify" if answer.edits else answer.verdict
    reply: dict[str, Any] = {"action": action}
    if answer.verdict != "allow":
        reply |= {"reason": answer.reason, "user_message": answer.user_message}
    if answer.edits:
        reply["args_override"] = answer.edits[0].value
    reply |= {"system_reminder": "\n".join(answer.reminders), "extra_context": "\n".join(answer.context)}
    return {key: value for key, value in reply.items() if value not in (None, "")}


def fit(run: Run, answer: Answer, event: Event) -> Said:
    """An answer as a native reply can give it."""
    lead = run.hook.source.context_lead
    fitting = restrict(answer, event.type)
    notes = fitting.ignored
    if lead and fitting.context:
        fitting = replace(fitting, context=(lead + "\n".join(fitting.context),))
    if fitting.verdict != "allow":
        return Said(outcome=replace(fitting, edits=()), run=run, notes=notes)
    edited = apply_edits(event, fitting.edits)
    if edited is event:
        return Said(outcome=replace(fitting, edits=()), run=run, notes=notes)
    if _is_merge(event, edited):
        # Only what the program named, since a reply must not grow with the arguments there are.
        edits = tuple(replace(edit, operation="merge") for edit in fitting.edits)
        return Said(outcome=replace(fitting, edits=edits), run=run, notes=notes)
    return Said(outcome=_stop(run, event, edited), run=run, notes=notes)


def _is_merge(event: Event, edited: Event) -> bool:
    """Whether the change is one of a tool's arguments that takes none of them away."""
    if not isinstance(event.fields, BeforeToolCall) or not isinstance(edited.fields, BeforeToolCall):
        return False
    return event.fields.tool.args.keys() <= edited.fields.tool.args.keys()


def _stop(run: Run, event: Event, edited: Event) -> Outcome:
    """What stands for a change that a native hook cannot make."""
    if event.tool is not None and edited.tool is not None and event.type.gate:
        gone = ", ".join(repr(name) for name in event.tool.args if name not in edited.tool.args)
        change = f"take the arguments {gone} away"
    else:
        change = "replace the prompt" if event.type.gate else "replace the result"
    message = f"hook {run.hook.id!r} wants to {change}, which a native hook cannot do"
    if event.type.gate:
        return Answer(verdict="block", reason=f"{message}, so it is stopped")
    return Failure(kind="reply", message=message)
