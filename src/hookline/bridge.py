"""
Hook programs of another format inside native hooks.

The native payload becomes the event it was made from. The program is run by the rules of its own format, with the
code that reads that format's own files, and what it says becomes a native reply. What a native reply cannot say is
never lost in silence: it stops what it was about where that can be stopped, and is a failure elsewhere.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hookline.attachment import DIALECT
from hookline.config.folders import make_hooks
from hookline.config.locate import default_home, find_homes
from hookline.dialects.chrys import CHRYS
from hookline.dialects.table import DIALECTS
from hookline.errors import ConfigError, PayloadError
from hookline.events import Event
from hookline.fields import BeforeToolCall
from hookline.fold import apply_edits, restrict
from hookline.folders.event_names import BLOCKABLE_EVENTS, find_folder_event
from hookline.folders.matcher import compile_matcher
from hookline.folders.spec import FolderSpec
from hookline.hook import (
    CommandAction,
    Execution,
    Hook,
    ObjectAction,
    ProcessAction,
    ScriptAction,
    ShellAction,
    Source,
)
from hookline.linear import LinearPatternError
from hookline.match import Look, UnreadableValueError
from hookline.objects.condition import make_match
from hookline.objects.matcher import HookMatcher
from hookline.objects.records import BadRecordError
from hookline.objects.shell import ShellHook
from hookline.objects.wire import EVENTS
from hookline.outcome import NO_OBJECTION, Answer, Failure, Outcome, Run
from hookline.payload import parse_payload
from hookline.problem import Place
from hookline.process.child import TOKEN_VARIABLE, Child
from hookline.process.ending import end_child
from hookline.registry import Entry, Registry
from hookline.runners.base import Payload, Runner
from hookline.runners.command import CommandRunner
from hookline.runners.depth import read_depth
from hookline.runners.environment import DEPTH_VARIABLE
from hookline.runners.exchange import Exchange
from hookline.runners.object import ObjectRunner
from hookline.runners.preparation import Preparation, Surroundings

Format = Literal["chrys", "vix", "objects"]
Kind = Literal["shell", "command", "script"]

OWN_PREFIX = "HOOKLINE_ENV_"
"""What the names of variables start with that are handed to the program without it, as the hook's own."""

_PLACE = Place(path=Path("<bridge>"))
# The directory that the native hook was started in, which is the one its author chose or the session's.
_HERE = "."
_NATIVE_VARIABLES = ("HOOKLINE_HOOK_ID", "HOOKLINE_HOOK_EVENT", "HOOKLINE_HOOK_PAYLOAD_FILE", "HOOKLINE_HOOK_RESULT")


class Program(Struct, frozen=True, kw_only=True):
    """
    A hook program and what its own format says of it.

    `words` are a text for a shell, a program or a script with its arguments, as `kind` says. `matcher` is a pattern
    on the event's subject for hook folders, and the JSON of a matcher for hook objects. A program that may not block
    is heard all the same; of one that nobody waits for nothing counts.
    """

    format: Format
    words: tuple[str, ...]
    hook_id: str
    kind: Kind = "shell"
    timeout_s: float = 30.0
    matcher: str = ""
    env: Mapping[str, str] = {}
    may_block: bool = True
    is_heard: bool = True


class Said(Struct, frozen=True, kw_only=True):
    """
    What came of a program: its answer or failure as a native hook can give it, and its run if it ran.

    `notes` say what of the answer a native hook cannot say and may be left out.
    """

    outcome: Outcome = NO_OBJECTION
    run: Run | None = None
    notes: tuple[str, ...] = ()


class Surplus(Struct, frozen=True, kw_only=True):
    """What the native hook around has put into the environment, taken out of it again."""

    env: Mapping[str, str]
    run_id: str | None
    depth: int


def take_surplus() -> Surplus:
    """
    Take out of this process's environment what belongs to the native hook and not to the program in it.

    The program counts as nested as deep as if it were the hook itself.
    """
    for name in _NATIVE_VARIABLES:
        os.environ.pop(name, None)
    own = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(OWN_PREFIX)}
    depth = max(read_depth() - 1, 0)
    os.environ[DEPTH_VARIABLE] = str(depth)
    env = {name.removeprefix(OWN_PREFIX): value for name, value in own.items()}
    return Surplus(env=env, run_id=os.environ.get(TOKEN_VARIABLE), depth=depth)


def read_event(payload: Mapping[str, Any]) -> Event:
    """The event that a native payload was made from; raises `PayloadError` or `UnknownEventError`."""
    name = payload.get("event")
    if not isinstance(name, str):
        raise PayloadError("the payload does not name its event")
    event, _ = parse_payload(name, payload)
    stamp = payload.get("timestamp")
    with contextlib.suppress(TypeError, ValueError):  # one that cannot be read is that of now
        event = replace(event, timestamp=datetime.fromisoformat(stamp))  # type: ignore[arg-type]
    return event


async def run_program(program: Program, event: Event, surplus: Surplus) -> Said:
    """
    Run a program on an event, if it is meant, and give what it says as a native hook can say it.

    Raises `ConfigError` for a program that its format does not allow.
    """
    entry = _select(_make_hooks(program, event), event)
    try:
        if entry is None or not _is_meant(entry, event):
            return Said()
    except UnreadableValueError as error:
        return Said(outcome=Failure(kind="match", message=str(error)))
    left: list[Child] = []
    exchange = Exchange(default_home() / "hooks" / "tmp")
    try:
        runner = _make_runner(program, surplus, exchange, left)
        run = await runner.run(entry.hook, Payload(event), run_id=surplus.run_id)
    finally:
        exchange.close()
        for child in left:
            await end_child(child)
    assert run.outcome is not None
    if isinstance(run.outcome, Failure) or not program.is_heard:
        return Said(outcome=run.outcome if isinstance(run.outcome, Failure) else NO_OBJECTION, run=run)
    return _fit(run, run.outcome, event)


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


def _make_hooks(program: Program, event: Event) -> tuple[Hook, ...]:
    """The hook as the program's own format has it; two where its event is two of Hookline's."""
    if program.format == "chrys":
        return (_make_chrys_hook(program, event),)
    if program.kind != "shell" or len(program.words) != 1:
        raise ConfigError(f"a hook of {program.format} runs one text under a shell")
    return _make_folder_hooks(program, event) if program.format == "vix" else (_make_object_hook(program, event),)


def _make_chrys_hook(program: Program, event: Event) -> Hook:
    return Hook(
        id=program.hook_id,
        event=event.name,
        action=_make_action(program),
        source=Source(layer="user", dialect=CHRYS.name, place=_PLACE),
        execution=Execution(mode="blocking", timeout_s=program.timeout_s, on_bad_reply="ignore"),
    )


def _make_action(program: Program) -> ProcessAction:
    first, *rest = program.words
    if program.kind == "script":
        return ScriptAction(path=Path(first), args=tuple(rest), env=program.env, cwd=_HERE)
    if program.kind == "command":
        return CommandAction(argv=program.words, env=program.env, cwd=_HERE)
    if rest:
        raise ConfigError("a shell gets one text; put it in quotes, or use --run command")
    return ShellAction(text=first, env=program.env, cwd=_HERE)


def _make_folder_hooks(program: Program, event: Event) -> tuple[Hook, ...]:
    row = find_folder_event(event.name)
    if row is None:
        raise ConfigError(f"hook folders know no event {event.name!r}")
    try:
        matcher = compile_matcher(program.matcher)
    except LinearPatternError as error:
        raise ConfigError(f"--matcher {program.matcher!r}: {error}") from error
    spec = FolderSpec(
        id=program.hook_id,
        directory=program.hook_id,
        place=_PLACE,
        event=row.name,
        mode="sync" if program.is_heard else "async",
        enabled=True,
        matcher=matcher,
        blocking=program.is_heard and program.may_block and row.name in BLOCKABLE_EVENTS,
        command=program.words[0],
        cwd=_HERE,
        timeout_s=program.timeout_s,
    )
    return tuple(make_hooks(spec))


def _make_object_hook(program: Program, event: Event) -> Hook:
    name = next((name for name, native in EVENTS.items() if native == event.name), None)
    if name is None:
        raise ConfigError(f"hook objects know no event {event.name!r}")
    try:
        matcher = HookMatcher.from_json(program.matcher) if program.matcher else None
    except BadRecordError as error:
        raise ConfigError(f"--matcher {program.matcher!r}: {error}") from error
    problems = () if matcher is None else matcher.validate(name, program.hook_id)
    if problems:
        raise ConfigError("; ".join(problems))
    timeout_ms = round(program.timeout_s * 1000)
    shell = ShellHook(program.hook_id, name, program.words[0], env=program.env, timeout_ms=timeout_ms)
    return Hook(
        id=program.hook_id,
        event=event.name,
        action=ObjectAction(object=shell, origin="shell", is_async=True, keeps_time=True),
        source=Source(layer="user", dialect=DIALECT, place=_PLACE),
        match=make_match(name, matcher),
        execution=Execution(mode="blocking", timeout_s=program.timeout_s),
    )


def _select(hooks: tuple[Hook, ...], event: Event) -> Entry | None:
    """The hook with its compiled match, None where its format does not let it hear of the event."""
    dialect = DIALECTS.get(hooks[0].source.dialect)
    if dialect is not None and dialect.find_silence(event) is not None:
        return None
    selection = Registry(hooks).select(event)
    return next(iter((*selection.blocking, *selection.others)), None)


def _is_meant(entry: Entry, event: Event) -> bool:
    """Whether the match holds; patterns of these formats take time only as the texts are long."""
    found = entry.match.test(event)
    if isinstance(found, bool):
        return found
    return all(look.predicate.holds(look.event) for look in found if isinstance(look, Look))


def _make_runner(program: Program, surplus: Surplus, exchange: Exchange, left: list[Child]) -> Runner:
    def adopt(child: Child, run_id: str) -> None:
        del run_id
        left.append(child)

    if program.format == "objects":
        return ObjectRunner(adopt)
    homes = find_homes(tuple(DIALECTS.values()), default_home())
    surroundings = Surroundings(project=Path.cwd(), homes=homes, depth=surplus.depth)
    return CommandRunner(Preparation(surroundings, adopt=adopt), exchange, adopt=adopt)


def _fit(run: Run, answer: Answer, event: Event) -> Said:
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
    override = _find_override(event, edited)
    if override is not None:
        edit = replace(fitting.edits[0], operation="merge", value=override)
        return Said(outcome=replace(fitting, edits=(edit,)), run=run, notes=notes)
    return Said(outcome=_stop(run, event, edited), run=run, notes=notes)


def _find_override(event: Event, edited: Event) -> dict[str, Any] | None:
    """The arguments to be merged into those there are, None where that does not make them what they are to be."""
    if not isinstance(event.fields, BeforeToolCall) or not isinstance(edited.fields, BeforeToolCall):
        return None
    before, after = event.fields.tool.args, edited.fields.tool.args
    return dict(after) if before.keys() <= after.keys() else None


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
