"""
What a hook folder's command or text says, and how several of them are one.

A reply that was meant as a decision but cannot be understood as one is a failure, since it may have been a deny.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

from msgspec import Struct

from hookline.folders.json_text import JsonError, JsonLimitError, describe_type, fold_key, mend, read_whole, trim
from hookline.folders.text_objects import find_objects
from hookline.outcome import Answer, Edit, Failure

Behavior = Literal["allow", "deny", "modify", "context"]

NO_REASON = "blocked by hook"
"""What stands for the reason of a deny that gives none."""

_BLOCKING_EXIT_CODE = 2
_BEHAVIORS = ("allow", "deny", "modify", "context")
_TEXTS = ("behavior", "reason", "context")
_BLOCK_LINE = re.compile(r"^BLOCK:", re.MULTILINE)
_RANKS = {"allow": 0, "context": 1, "modify": 2, "deny": 3}
_LONGEST_SHOWN = 60


class Reply(Struct, frozen=True, kw_only=True):
    """
    What one hook says; the default is no objection.

    `input` takes the place of a tool's whole arguments; None where a reply brings none. `notes` say in words what
    of the reply counted for nothing.
    """

    behavior: Behavior = "allow"
    reason: str = ""
    input: dict[str, Any] | None = None
    context: str = ""
    notes: tuple[str, ...] = ()


class Combined(Struct, frozen=True, kw_only=True):
    """What several hooks say together; `conflicts` name the replacements that were not taken, in words."""

    reply: Reply = Reply()
    conflicts: tuple[str, ...] = ()


NO_OPINION = Reply()


def read_command(exit_code: int, stdout: str, stderr: str) -> Reply | Failure:
    """What a command that has ended says."""
    if exit_code == _BLOCKING_EXIT_CODE:
        return Reply(behavior="deny", reason=trim(stderr) or trim(stdout))
    if exit_code != 0:
        return Failure(kind="exit", message=f"exit code {exit_code}")
    text = trim(stdout)
    if not text:
        return NO_OPINION
    try:
        found = read_whole(text) if text.startswith("{") else None
    except JsonLimitError as error:  # it may have been a deny
        return _refuse(str(error))
    except JsonError:
        found = None
    if is_decision(found):
        return read_decision(cast("dict[str, Any]", found))
    return Reply(behavior="context", context=text, notes=_note_lost_decision(text))


def read_text(text: str) -> Reply | Failure:
    """
    What the final text of a prompt or a workflow says.

    A decision object counts where it is the whole text, its start or its end, in a fence or not; then a line that
    starts with `BLOCK:`, whose reason is the rest of the text. Anything else is context.
    """
    text = trim(text)
    if not text:
        return NO_OPINION
    try:
        found = [read_decision(each) for each in find_objects(text) if is_decision(each)]
    except JsonLimitError as error:
        return _refuse(str(error))
    if found:
        failure = next((each for each in found if isinstance(each, Failure)), None)
        return failure or _choose(cast("list[Reply]", found))
    block = _BLOCK_LINE.search(text)
    if block is not None:
        return Reply(behavior="deny", reason=trim(text[block.end() :]))
    return Reply(behavior="context", context=text, notes=_note_lost_decision(text))


def _choose(found: list[Reply]) -> Reply | Failure:
    """A text with one decision at its start and one at its end means the stricter one."""
    combined = combine(found)
    return _refuse("the text holds two that replace different things") if combined.conflicts else combined.reply


def is_decision(value: Any) -> bool:
    """Whether a JSON value is meant as a decision: an object that names a behavior."""
    return isinstance(value, dict) and any(fold_key(key) == "behavior" for key in value)


def read_decision(found: dict[str, Any]) -> Reply | Failure:
    """Read a decision object; unknown keys are passed over, and of a key that stands twice the last one counts."""
    values = {fold_key(key): value for key, value in found.items()}
    for key in _TEXTS:
        value = values.get(key)
        if not isinstance(value, str) and (value is not None or key == "behavior"):
            return _refuse(f"{key} must be a text, not {describe_type(value)}")
    if values["behavior"] not in _BEHAVIORS:
        shown = values["behavior"][:_LONGEST_SHOWN]
        return _refuse(f"its behavior is {shown!r}; it must be one of {', '.join(_BEHAVIORS)}")
    replacement = values.get("input")
    if replacement is not None and not isinstance(replacement, dict):
        return _refuse(f"input must be an object, not {describe_type(replacement)}")
    return Reply(
        behavior=values["behavior"],
        reason=mend(values.get("reason") or ""),
        input=replacement,
        context=mend(values.get("context") or ""),
    )


def _refuse(message: str) -> Failure:
    return Failure(kind="reply", message=f"the decision cannot be understood: {message}")


def _note_lost_decision(text: str) -> tuple[str, ...]:
    """A word to the author of a text that holds a decision where none is looked for."""
    if '"behavior"' not in text:
        return ()
    return ("the output mentions a behavior but is no decision object as a whole, so it counts as context",)


def combine(replies: Iterable[Reply]) -> Combined:
    """
    Several hooks' replies as one: deny before modify before context before allow.

    The first deny gives the reason and the first replacement there is stands; the contexts of all are joined.
    """
    behavior: Behavior = "allow"
    reason = ""
    replacement: dict[str, Any] | None = None
    contexts: list[str] = []
    conflicts: list[str] = []
    for number, reply in enumerate(replies, start=1):
        if reply.behavior == "deny" and behavior != "deny":
            reason = reply.reason
        # A deny ends the search for a replacement, but not the one that was found before it.
        if reply.behavior == "modify" and reply.input is not None and behavior != "deny":
            if replacement is None:
                replacement = reply.input
            elif repr(replacement) != repr(reply.input):
                conflicts.append(f"the replacement of hook {number} differs from an earlier one, which stands")
        if _RANKS[reply.behavior] > _RANKS[behavior]:
            behavior = reply.behavior
        if reply.context:
            contexts.append(reply.context)
    combined = Reply(behavior=behavior, reason=reason, input=replacement, context="\n".join(contexts))
    return Combined(reply=combined, conflicts=tuple(conflicts))


def downgrade(reply: Reply) -> Reply:
    """What the reply of a hook that may not block means: its deny is context, its modify nothing."""
    if reply.behavior == "deny":
        notes = (*reply.notes, "deny: the hook is not blocking, so its reason is context")
        return Reply(behavior="context", context=reply.reason, notes=notes)
    if reply.behavior == "modify":
        return Reply(notes=(*reply.notes, "modify: the hook is not blocking"))
    return reply


def to_answer(reply: Reply, event: str) -> Answer:
    """A reply to a folder event as Hookline's own answer."""
    edits, note = _find_edits(reply, event)
    return Answer(
        verdict="block" if reply.behavior == "deny" else "allow",
        reason=(reply.reason or NO_REASON) if reply.behavior == "deny" else None,
        edits=edits,
        context=(reply.context,) if reply.context else (),
        ignored=(*reply.notes, *note),
    )


def _find_edits(reply: Reply, event: str) -> tuple[tuple[Edit, ...], Sequence[str]]:
    if reply.behavior != "modify":
        return (), ()
    if reply.input is None:
        return (), ("modify without an input",)
    if event == "PreToolUse":
        return (Edit(field="args", operation="replace", value=reply.input),), ()
    if event != "UserPromptSubmit":
        return (), (f"modify: {event} has no input to replace",)
    prompt = reply.input.get("prompt")
    if not isinstance(prompt, str):
        return (), ("modify: its input has no prompt that is a text",)
    return (Edit(field="text", operation="replace", value=mend(prompt)),), ()
