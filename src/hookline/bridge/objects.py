"""How commands of hook objects are run."""

from __future__ import annotations

from hookline.bridge.program import PLACE, Program, Surplus
from hookline.bridge.run import Adopt, Way
from hookline.errors import ConfigError
from hookline.events import Event
from hookline.hook import Execution, Hook, ObjectAction, Source
from hookline.objects.condition import make_match
from hookline.objects.matcher import HookMatcher
from hookline.objects.records import BadRecordError
from hookline.objects.shell import ShellHook
from hookline.objects.wire import DIALECT, EVENTS
from hookline.runners.base import Runner
from hookline.runners.exchange import Exchange
from hookline.runners.object import ObjectRunner


def _make_hooks(program: Program, event: Event) -> tuple[Hook, ...]:
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
    shell = ShellHook(program.hook_id, name, program.read_shell_text(), env=program.env, timeout_ms=timeout_ms)
    hook = Hook(
        id=program.hook_id,
        event=event.name,
        action=ObjectAction(object=shell, origin="shell", is_async=True, keeps_time=True),
        source=Source(layer="user", dialect=DIALECT, place=PLACE),
        match=make_match(name, matcher),
        execution=Execution(mode="blocking", timeout_s=program.timeout_s),
    )
    return (hook,)


def _make_runner(surplus: Surplus, exchange: Exchange, adopt: Adopt) -> Runner:
    del surplus, exchange
    return ObjectRunner(adopt)


WAY = Way(make_hooks=_make_hooks, make_runner=_make_runner)
