"""Tools that ask the hooks by themselves: whoever calls a wrapped tool makes a tool call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar, cast
from uuid import uuid4

from msgspec.structs import replace

from hookline.dialects.xcsh import BLOCKED
from hookline.events import MAIN_AGENT
from hookline.fields import Tool, ToolResult
from hookline.fold import describe_failure
from hookline.hook import HandlerAction
from hookline.lifecycle.arguments import Shape, WrapError
from hookline.lifecycle.errors import ToolFailedError
from hookline.lifecycle.returned import Read, Write, read_returned, write_returned
from hookline.lifecycle.schema import Schema, make_check
from hookline.lifecycle.scope import Ask, Scope
from hookline.lifecycle.session import Session
from hookline.lifecycle.step import Firing, Step, drive, drive_sync
from hookline.lifecycle.tool import Approve, Check, ToolCall, run_unguarded
from hookline.lifecycle.turn import Work
from hookline.outcome import Decision, Failure

T = TypeVar("T")

Within = Work | Firing
"""What the calls of a tool are part of: a turn, a sub-agent's work, a session, or nothing but an engine."""

METHODS = ("execute", "run", "__call__")
"""The methods of a tool object that are its calls, unless others are named."""

# Who hears of a tool call: at the call itself, or by the count of the turn's calls.
_EVENTS = ("before_tool_call", "after_tool_call", "tool_error", "after_turn")


def wrap_tool(
    tool: T,
    within: Within | Callable[[], Within],
    *,
    name: str | None = None,
    kind: str = "",
    schema: Schema | None = None,
    approve: Approve | None = None,
    ask: Ask | None = None,
    arguments_in: str | None = None,
    call_id_in: str | None = None,
    hidden: Collection[str] = (),
    methods: Collection[str] = METHODS,
    is_async: bool | None = None,
    read: Read = read_returned,
    write: Write | None = None,
) -> T:
    """
    The same tool, every call of which is a tool call that hooks may stop, rewrite and comment on.

    `tool` is a function, plain or async, or an object with one of the `methods`; name, doc and signature stay. Its
    calls are part of `within`: a turn, a sub-agent's work, a session (its turn under way, if it has one), an engine,
    or what a function gives at each call. A plain function waits for the hooks where it is called.

    * A call that must not run raises `ToolCallDeniedError`, whose text is the reason and nothing else.
    * Arguments that hooks rewrote must fit the `schema`, if there is one; else the call is denied.
    * What the tool raises goes on as the same exception, unless a hook made a success of it. A result that a hook
      marked as an error raises `ToolFailedError`.
    * Without hooks the tool is called as it was, and returns its own object.

    By default each parameter is an argument. `arguments_in` names the one that holds all arguments in a mapping,
    `call_id_in` the one with the call's id, `hidden` those that hooks do not see. `is_async` is for a function that
    does not tell by itself whether its calls are awaited, such as one under a decorator. `read` makes the result that
    hooks see from what the tool returned, `write` makes what the caller gets from what hooks made of it. `approve` is
    the host's own approval; `ask` puts a hook's question where `within` is an engine.

    Raises `WrapError` for what is no tool, and `SchemaError` for a schema that cannot be used.
    """
    check = None if schema is None else make_check(schema)
    tool_name = name if name is not None else _name_of(tool)

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        shape = Shape(function, name=tool_name, arguments_in=arguments_in, call_id_in=call_id_in, hidden=hidden)
        wrapped = _Wrapped(
            function=function,
            shape=shape,
            within=within,
            ask=ask,
            tool=Tool(name=tool_name, kind=kind),
            approve=approve,
            check=check,
            read=read,
            write=write or functools.partial(write_returned, name=tool_name),
        )
        awaits = _is_async(function) if is_async is None else is_async
        return wrapped.make_async() if awaits else wrapped.make_plain()

    if isinstance(tool, type):
        raise WrapError(f"{tool!r} is a class; wrap what it makes, or a function that calls it")
    if inspect.isroutine(tool) or isinstance(tool, functools.partial):
        return cast("T", wrap(cast("Callable[..., Any]", tool)))
    found = {method: getattr(tool, method) for method in methods if callable(getattr(tool, method, None))}
    if not found:
        raise WrapError(f"{tool!r} is no tool: it is not callable and has none of the methods {', '.join(methods)}")
    return cast("T", _stand_in(tool, {method: wrap(function) for method, function in found.items()}))


class _Wrapped:
    """A function that is a tool, and what its calls need."""

    def __init__(
        self,
        *,
        function: Callable[..., Any],
        shape: Shape,
        within: Within | Callable[[], Within],
        ask: Ask | None,
        tool: Tool,
        approve: Approve | None,
        check: Check | None,
        read: Read,
        write: Write,
    ) -> None:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise WrapError(f"tool {tool.name} is a generator, whose result is never whole; wrap what collects it")
        self._function, self._shape, self._tool = function, shape, tool
        self._within, self._ask = within, ask
        self._approve, self._check = approve, check
        self._read, self._write = read, write

    def make_async(self) -> Callable[..., Any]:
        @functools.wraps(self._function)
        async def call(*args: Any, **options: Any) -> Any:
            work, scope = self._find_scope()
            if not self._is_heard(scope):
                found = self._function(*args, **options)
                return await found if inspect.isawaitable(found) else found
            return await drive(self._live(self._make_call(work, scope, args, options), args, options), scope.firing)

        return call

    def make_plain(self) -> Callable[..., Any]:
        @functools.wraps(self._function)
        def call(*args: Any, **options: Any) -> Any:
            work, scope = self._find_scope()
            if not self._is_heard(scope):
                return self._function(*args, **options)
            return drive_sync(self._live(self._make_call(work, scope, args, options), args, options), scope.firing)

        return call

    def _find_scope(self) -> tuple[Work | None, Scope]:
        within = self._find_within()
        if isinstance(within, Session):
            within = within.current_turn or within
        if isinstance(within, Work):
            return within, within.scope
        return None, Scope(firing=within, session_id="", agent=MAIN_AGENT, profile="", cwd="", ask=self._ask)

    def _find_within(self) -> Within:
        if isinstance(self._within, Work) or hasattr(self._within, "listens"):
            return cast("Within", self._within)
        return self._within()

    def _is_heard(self, scope: Scope) -> bool:
        return self._approve is not None or any(scope.firing.listens(name) for name in _EVENTS)

    def _make_call(
        self, work: Work | None, scope: Scope, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> ToolCall:
        found, call_id = self._shape.read(args, options)
        tool = replace(self._tool, args=found, call_id=call_id or uuid4().hex)

        def check(rewritten: Mapping[str, Any]) -> str | None:
            try:
                self._shape.write(args, options, rewritten)
            except WrapError as error:
                return str(error)
            return None if self._check is None else self._check(rewritten)

        if work is not None:
            return work.tool_call(tool, approve=self._approve, check=check)
        return ToolCall(scope, tool, approve=self._approve, check=check)

    def _live(self, call: ToolCall, args: tuple[Any, ...], options: Mapping[str, Any]) -> Step[Any]:
        """Live through a call: ask, run, report, and give the caller what it is due."""

        def run(tool: Tool) -> Any:
            if tool.args is call.requested.args:
                return self._function(*args, **options)
            new_args, new_options = self._shape.write(args, options, tool.args)
            return self._function(*new_args, **new_options)

        # What nobody reads need not be made.
        read = self._read if call.scope.firing.listens("after_tool_call") else lambda _: ToolResult()
        returned = yield from run_unguarded(call, run, read, _explain)
        if not call.is_edited:
            return returned
        assert call.result is not None
        if call.is_marked:
            raise ToolFailedError(call.result)
        return self._write(returned, call.result)


def _explain(decision: Decision) -> str:
    """Why a call is denied: of a handler that raised, exactly what it said."""
    for run in decision.spoken_runs:
        is_handler = isinstance(run.hook.action, HandlerAction)
        if is_handler and isinstance(run.outcome, Failure) and decision.reason == describe_failure(run):
            return run.outcome.message
    return decision.reason or BLOCKED


def _name_of(tool: Any) -> str:
    while isinstance(tool, functools.partial):
        tool = tool.func
    for name in (getattr(tool, "name", None), getattr(tool, "__name__", None)):
        if isinstance(name, str) and name:
            return name
    return type(tool).__name__


def _is_async(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004 - the method itself, to be looked at
    )


class _StandIn:
    """
    Stands in for a tool object: everything is the object's own but the methods that are its calls.

    Its class too, so that isinstance() tells what it stands for.
    """

    __slots__ = ("_hookline_methods", "_hookline_tool")

    def __init__(self, tool: Any, methods: Mapping[str, Callable[..., Any]]) -> None:
        object.__setattr__(self, "_hookline_tool", tool)
        object.__setattr__(self, "_hookline_methods", methods)

    def __getattribute__(self, name: str) -> Any:
        methods = object.__getattribute__(self, "_hookline_methods")
        if name in methods:
            return methods[name]
        if name == "__signature__" and "__call__" in methods:
            return inspect.signature(methods["__call__"])
        return getattr(object.__getattribute__(self, "_hookline_tool"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_hookline_tool"), name, value)

    def __repr__(self) -> str:
        return f"<{object.__getattribute__(self, '_hookline_tool')!r} under hooks>"


class _CallableStandIn(_StandIn):
    """Stands in for a tool object that is called itself."""

    __slots__ = ()

    def __call__(self, *args: Any, **options: Any) -> Any:
        return object.__getattribute__(self, "_hookline_methods")["__call__"](*args, **options)


def _stand_in(tool: Any, methods: Mapping[str, Callable[..., Any]]) -> Any:
    return (_CallableStandIn if "__call__" in methods else _StandIn)(tool, methods)
