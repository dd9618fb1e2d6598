"""
What a module registers, as far as its source tells: nothing of it is run.

Registrations are found by their form: `api.on("event", handler, ...)` and `@api.on("event", ...)` in the function
`hook(api)`, with literal names and options. They are put to the same `Registration` that loading uses, so that ids
and defaults are those that the module would have. What the form does not tell is named instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import UnknownEventError
from hookline.handlers.api import Registration
from hookline.handlers.importing import FACTORY_NAME, UnloadableModuleError, parse_file
from hookline.handlers.registration import HandlerError
from hookline.hook import Hook, ModuleSpec, Settings
from hookline.problem import Place, Problem, Severity

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_CONDITIONAL = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.Match)
# What a module may do with its api that registers nothing.
_HARMLESS = frozenset({"send_message", "append_entry", "exec"})
_NOT_READ = "it registers more than can be read without running it"


class ReadName(Struct, frozen=True, kw_only=True):
    """A command or renderer that a module registers under a name, and where."""

    name: str
    place: Place
    description: str = ""


class ModuleReading(Struct, frozen=True, kw_only=True):
    """
    What a module registers: its handlers in order, with the ids that loading would give, its commands and renderers.

    `gaps` say what could not be read; the module may register more, or less, than is listed then. `problems` also
    hold what would keep it from loading.
    """

    spec: ModuleSpec
    hooks: tuple[Hook, ...] = ()
    commands: tuple[ReadName, ...] = ()
    renderers: tuple[ReadName, ...] = ()
    gaps: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether everything that the module registers is listed."""
        return not self.gaps and not any(problem.severity == "error" for problem in self.problems)


def read_module(spec: ModuleSpec, settings: Settings) -> ModuleReading:
    """Read a module's source; whatever is wrong with it becomes a problem of the reading."""
    try:
        tree = parse_file(spec.path)
    except UnloadableModuleError as error:
        if isinstance(error.__cause__, OSError):
            return ModuleReading(spec=spec, problems=(_problem("module-missing", spec.path, error.reason),))
        problem = _problem("module-syntax", spec.path, error.reason, line=error.line)
        return ModuleReading(spec=spec, problems=(problem,))
    try:
        return _Reader(spec, settings, tree).read()
    except RecursionError:
        gap = "it is nested too deeply"
        notice = _problem("module-unread", spec.path, f"{_NOT_READ} ({gap})", severity="notice")
        return ModuleReading(spec=spec, gaps=(gap,), problems=(notice,))


def _problem(code: str, path: Path, message: str, *, line: int = 0, severity: Severity = "error") -> Problem:
    is_error = severity == "error"
    return Problem(
        severity=severity,
        code=code,
        message=f"the module cannot be loaded: {message}" if is_error else message,
        place=Place(path=path, line=line, column=1 if line else 0),
        cure="mend it, or take it out" if is_error else "",
    )


class _Reader:
    """Goes through the factory of one module, statement by statement."""

    def __init__(self, spec: ModuleSpec, settings: Settings, tree: ast.Module) -> None:
        self._spec = spec
        self._registration = Registration(spec.path, spec.layer, settings, timeout_s=spec.timeout_s)
        self._functions = {node.name: node for node in tree.body if isinstance(node, _FunctionNode)}
        self._is_bound = any(FACTORY_NAME in _bound_names(node) for node in tree.body)
        self._hooks: list[Hook] = []
        self._commands: list[ReadName] = []
        self._renderers: list[ReadName] = []
        self._gaps: list[tuple[int, str]] = []
        self._problems: list[Problem] = []
        self._is_certain = True
        self._api = ""

    def read(self) -> ModuleReading:
        factory = self._functions.get(FACTORY_NAME)
        if factory is not None and not factory.decorator_list:
            self._read_factory(factory)
        elif factory is not None or self._is_bound:
            line = factory.lineno if factory is not None else 0
            self._gaps.append((line, f"its {FACTORY_NAME} is made when it runs"))
        else:
            message = "it has no function hook; define `def hook(api): ...`"
            self._problems.append(_problem("module-factory", self._spec.path, message))
        gaps = tuple(f"line {line}: {text}" if line else text for line, text in sorted(set(self._gaps)))
        if gaps:
            line = min(line for line, _ in self._gaps)
            message = f"{_NOT_READ} ({'; '.join(gaps)})"
            self._problems.append(_problem("module-unread", self._spec.path, message, line=line, severity="notice"))
        return ModuleReading(
            spec=self._spec,
            hooks=tuple(self._hooks),
            commands=tuple(self._commands),
            renderers=tuple(self._renderers),
            gaps=gaps,
            problems=tuple(self._problems),
        )

    def _read_factory(self, factory: _FunctionNode) -> None:
        parameters = [*factory.args.posonlyargs, *factory.args.args]
        if not parameters:
            self._gaps.append((factory.lineno, f"{FACTORY_NAME} takes no api by name"))
            return
        self._api = parameters[0].arg
        self._read_body(factory.body)

    def _read_body(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, _FunctionNode):
                self._read_definition(statement)
            elif isinstance(statement, ast.With | ast.AsyncWith):
                for item in statement.items:
                    self._read_expressions(item.context_expr)
                self._read_body(statement.body)
            elif isinstance(statement, _CONDITIONAL):
                self._read_conditional(statement)
            else:
                self._read_expressions(statement)
                if isinstance(statement, ast.Return | ast.Raise):
                    return

    def _read_conditional(self, statement: ast.stmt) -> None:
        """Statements that may be run once, never, or many times."""
        before = self._is_certain
        self._is_certain = False
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.stmt):
                self._read_body([child])
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                self._read_body(child.body)
            else:
                self._read_expressions(child)
        # What follows a way out happens only if it was not taken.
        self._is_certain = before and not any(isinstance(node, ast.Return) for node in ast.walk(statement))

    def _read_definition(self, function: _FunctionNode) -> None:
        self._functions[function.name] = function
        for decorator in reversed(function.decorator_list):
            if isinstance(decorator, ast.Call) and self._method_of(decorator) == "on":
                self._read_on(decorator, function)
            else:
                self._read_expressions(decorator)
        for default in (*function.args.defaults, *filter(None, function.args.kw_defaults)):
            self._read_expressions(default)
        for statement in function.body:
            self._note_later(statement)

    def _note_later(self, node: ast.AST) -> None:
        """What a handler does with the api when it is called."""
        for use, method in self._uses(node):
            if method is None:
                self._note_escape(use)
            elif method not in _HARMLESS:
                self._gaps.append((use.lineno, f"{self._api}.{method} is called when a handler runs"))

    def _read_expressions(self, node: ast.AST) -> None:
        """The registrations in a statement or expression, in the order in which they stand."""
        inner = {id(part) for later in _find_later(node) for part in ast.walk(later)}
        calls = [call for call in ast.walk(node) if isinstance(call, ast.Call) and id(call) not in inner]
        for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            method = self._method_of(call)
            if method == "on":
                self._read_on(call, None)
            elif method is not None and method.startswith("register_"):
                self._read_named(call, method)
        for use, method in self._uses(node):
            if method is None:
                self._note_escape(use)
            elif id(use) in inner and method not in _HARMLESS:
                self._gaps.append((use.lineno, f"{self._api}.{method} is called by a function that is not read"))

    def _note_escape(self, use: ast.expr) -> None:
        self._gaps.append((use.lineno, f"{self._api} is handed on to something else"))

    def _uses(self, node: ast.AST) -> Iterator[tuple[ast.expr, str | None]]:
        """Where the api is used: a call of a method of it with the method's name, anything else with None."""
        called = {id(call.func): call for call in ast.walk(node) if isinstance(call, ast.Call)}
        owners = {
            id(part.value): (called[id(part)], part.attr)
            for part in ast.walk(node)
            if isinstance(part, ast.Attribute) and id(part) in called
        }
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id == self._api:
                yield owners.get(id(part), (part, None))

    def _method_of(self, call: ast.Call) -> str | None:
        """Which method of the api a call is of."""
        function = call.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return function.attr if function.value.id == self._api else None
        return None

    def _read_on(self, call: ast.Call, decorated: _FunctionNode | None) -> None:
        given = _bind(call, ("event", "handler"))
        event, handler = given.pop("event", None), given.pop("handler", None)
        if not isinstance(event, ast.Constant) or any(name is None for name in given):
            self._gaps.append((call.lineno, "the event of a handler is not written out"))
            return
        if handler is None and decorated is None:
            self._gaps.append((call.lineno, f"what handles {event.value!r} is not written out"))
            return
        if not self._is_certain:
            self._gaps.append((call.lineno, f"whether {event.value!r} is handled, and how often, is decided there"))
        options: dict[str, Any] = {}
        for name, value in given.items():
            try:
                options[str(name)] = ast.literal_eval(value)
            except ValueError:
                self._gaps.append((value.lineno, f"the value of {name} is not written out"))
        function = decorated if decorated is not None else self._find_function(handler)
        self._add(call, event.value, function, options)

    def _find_function(self, handler: ast.expr | None) -> _FunctionNode | ast.Lambda | None:
        if isinstance(handler, ast.Lambda):
            return handler
        return self._functions.get(handler.id) if isinstance(handler, ast.Name) else None

    def _add(
        self, call: ast.Call, event: Any, function: _FunctionNode | ast.Lambda | None, options: dict[str, Any]
    ) -> None:
        stand_in = _stand_in_async if isinstance(function, ast.AsyncFunctionDef) else _stand_in
        try:
            self._registration.add(event, stand_in, options)
        except (UnknownEventError, HandlerError, TypeError) as error:
            self._problems.append(_problem("module-handler", self._spec.path, str(error), line=call.lineno))
            return
        hook = self._registration.hooks[-1]
        line = call.lineno if function is None else _first_line(function)
        place = Place(path=self._spec.path, line=line, column=1)
        self._hooks.append(replace(hook, source=replace(hook.source, place=place)))

    def _read_named(self, call: ast.Call, method: str) -> None:
        given = _bind(call, ("name", "handler") if method == "register_command" else ("custom_type", "renderer"))
        name = given.get("name", given.get("custom_type"))
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            self._gaps.append((call.lineno, f"the name that {method} is given is not written out"))
            return
        description = given.get("description")
        found = ReadName(
            name=name.value.removeprefix("/") if method == "register_command" else name.value,
            place=Place(path=self._spec.path, line=call.lineno, column=1),
            description=str(description.value) if isinstance(description, ast.Constant) else "",
        )
        if not self._is_certain:
            self._gaps.append((call.lineno, f"whether {name.value!r} is registered is decided there"))
        (self._commands if method == "register_command" else self._renderers).append(found)


def _bind(call: ast.Call, positional: tuple[str, ...]) -> dict[str | None, ast.expr]:
    """The arguments of a call by name; None is the name of those that are unpacked."""
    given: dict[str | None, ast.expr] = {}
    for index, argument in enumerate(call.args):
        unpacked = isinstance(argument, ast.Starred) or index >= len(positional)
        given[None if unpacked else positional[index]] = argument
    return given | {keyword.arg: keyword.value for keyword in call.keywords}


def _find_later(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that are run later, or any number of times."""
    kinds = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.FunctionDef, ast.ClassDef)
    return (part for part in ast.walk(node) if isinstance(part, (*kinds, ast.AsyncFunctionDef)))


def _bound_names(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module may bind."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.alias):
            yield part.asname or part.name
        elif isinstance(part, _FunctionNode | ast.ClassDef):
            yield part.name


def _first_line(function: _FunctionNode | ast.Lambda) -> int:
    """Where Python says that a function begins: at its first decorator, if it has any."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return min([function.lineno, *(decorator.lineno for decorator in decorators)])


def _stand_in(event: Any, context: Any) -> None:
    """Takes the place of a handler that was read and not loaded."""
    del event, context
    raise AssertionError("a handler that was only read cannot be called")


async def _stand_in_async(event: Any, context: Any) -> None:
    """Takes the place of an async handler."""
    _stand_in(event, context)
