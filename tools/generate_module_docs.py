"""
Rewrites the reference page of modules from the classes it describes.

Run it after a change in `hookline.handlers`: `python tools/generate_module_docs.py`. A test fails while the page is
stale.
"""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hookline import modules
from hookline.events import EVENT_TYPES, EventType
from hookline.handlers import typed
from hookline.handlers.events import DIALECT, find_view
from hookline.handlers.registration import make_handler
from hookline.hook import Settings
from hookline.problem import Place

DOCS = Path(__file__).resolve().parents[1] / "docs"

# For each event that listens to an answer: the classes of the answer, as an object and as a dict.
_RETURNS = {
    "tool_call": ("ToolCallResult", "ToolCallReturn"),
    "tool_result": ("ToolResultResult", "ToolResultReturn"),
    "context": ("ContextResult", "ContextReturn"),
    "before_agent_start": ("BeforeAgentStartResult", "BeforeAgentStartReturn"),
    "session_before_switch": ("CancelResult", "CancelReturn"),
    "session_before_branch": ("SessionBeforeBranchResult", "SessionBeforeBranchReturn"),
    "session_before_tree": ("SessionBeforeTreeResult", "SessionBeforeTreeReturn"),
    "session_before_compact": ("SessionBeforeCompactResult", "SessionBeforeCompactReturn"),
    "session.compacting": ("SessionCompactingResult", "SessionCompactingReturn"),
    "user_prompt_submit": ("PromptResult", "PromptReturn"),
    "permission_request": ("CancelResult", "CancelReturn"),
}
_SEVERAL = {
    "tool_call": "The first block ends the event. Each handler sees the input as those before it rewrote it.",
    "tool_result": "All are called; each sees the result as those before it left it, and may override other parts.",
    "context": "Each sees the messages that the one before it returned.",
    "before_agent_start": "The first message is kept; all are called.",
    "session.compacting": "The latest result stands, as a whole.",
}
_LATEST = "The latest result stands, as a whole; `cancel` ends the event."

_HEAD = """\
<!-- Written by tools/generate_module_docs.py from the classes in src/hookline/handlers. Change those and run it. -->

# The module API

A module is a Python file with a function `hook(api)`, plain or `async`. All names of this page are imported from
`hookline.modules`. [Write a module](../how-to/write-a-module.md) begins with an example,
[handlers](../explanation/handlers.md) explains where they run and what holds for them.

## api

What `hook(api)` is called with. All but `exec` and the registrations work only once the module is loaded: in
handlers and commands.

`api.on(event, handler, **options)` registers a handler and returns the function that takes it off again.
`@api.on(event, **options)` does the same as a decorator. `event` is a name of the [events](#events) below; an unknown
one is an error at once. `handler` takes `(event, ctx)` or the event alone. From code, `engine.on` is the same.

| option | type | default | meaning |
|---|---|---|---|
| `id` | text | `FILE:EVENT`, `FILE:EVENT#2` and so on | Its name in listings, logs and decisions. |
| `tool_name`, `tool_kind` | text | every tool | It is meant only for this tool, or this kind of tools. |
| `profile` | text | every profile | It is meant only for agents with this profile. |
| `timeout_s` | seconds | the module's, else `handler_timeout_seconds` | Its time limit. |
| `on_error` | `block`, `warn` or `ignore` | see the event | What its failure means on a gate. |
| `mode` | `blocking`, `async` or `fire_and_forget` | `blocking` | In other modes than `blocking` nobody waits for it. |
| `description` | text | `""` | For people. |

"""

_CONTEXT = """\
## ctx

What a handler gets beside its event. Async handlers get a `Context`, plain ones a `PlainContext` with the same members;
its dialogs return their answers where those of `Context` are awaited.

"""

_COMMANDS = """\
## Commands

`api.register_command(name, handler)` registers what `await engine.run_command("/name arguments")` runs: the name ends
at the first whitespace, and the rest is `args`. The handler is called with `(args, ctx)`; `ctx` has besides:

"""

_UI = """\
## ctx.ui

Dialogs wait for the user. They are shown one at a time, and the time they take does not count against the handler's
limit. `timeout` is in seconds; a dialog whose time is up gives what it gives without a user, and so does every dialog
where there is none: `None`, and `False` for `confirm`. The other methods do nothing then.

"""

_EVENTS = """\
## Events

A handler's event has `type`, its name, and the fields below. What can be changed is the handler's own copy: changing
it reaches nobody, returning does. A handler returns `None` for no opinion, a dict with the keys of its event, or the
class that is named beside them. `{}` is an opinion without content. A key that an event does not know is ignored, and
told; a value of a wrong type is a failure.

Each event is known by the engine's name too. An event is one occurrence, whoever listens: handlers and the hooks of
hooks files are asked in one order.

"""

_HOST = """\
## Host

What a host implements so that handlers can act on its sessions; it is handed to `Engine.open(host=...)` or
`engine.connect(host=...)`. Derive from `UnwiredHost` and write what you have. See
[wire a host](../how-to/wire-a-host.md).

"""

_HOST_UI = """\
## UI

What a host implements so that handlers can ask its user: `Engine.open(ui=...)`. `HeadlessUI` is used without one;
`hookline.terminal.TerminalUI` comes with the extra `ui`.

"""

_LOADING = """\
## Loading

"""

_OTHERS = """\
## Other names

| name | what it is |
|---|---|
"""


def render_module_api() -> str:
    """The page."""
    parts = [
        _HEAD + _render_members(modules.HookAPI),
        _CONTEXT + _render_members(modules.Context.__mro__[1]) + _render_members(modules.Context),
        _UI + _render_members(modules.HandlerUI),
        _COMMANDS + _render_members(modules.CommandContext),
        _EVENTS + "\n".join(_render_overview()) + "\n",
        *map(_render_event, _module_events()),
        *map(_render_other, _other_events()),
        "## Records\n\n",
        *(_render_record(record) for record in (modules.CustomMessage, modules.SessionView, modules.ExecResult)),
        _HOST + _render_members(modules.Host),
        _HOST_UI + _render_members(modules.UI),
        _LOADING + _render_function(modules.load) + _render_function(modules.discover),
        _OTHERS,
    ]
    text = "".join(parts)
    return text + "".join(_render_names(text))


def _module_events() -> list[EventType]:
    return [row for row in EVENT_TYPES if DIALECT in row.aliases]


def _other_events() -> list[EventType]:
    return [row for row in EVENT_TYPES if DIALECT not in row.aliases]


def _name(row: EventType) -> str:
    return row.aliases.get(DIALECT, row.name)


def _render_overview() -> Iterator[str]:
    yield "| event | the engine's name | may return |"
    yield "|---|---|---|"
    for row in (*_module_events(), *_other_events()):
        returns = ", ".join(f"`{key}`" for key, _ in _read_returns(row))
        own = f"`{row.name}`" if row.name != _name(row) else ""
        yield f"| [`{_name(row)}`](#{_anchor(_name(row))}) | {own} | {returns} |"
    yield ""


def _anchor(name: str) -> str:
    return name.replace(".", "")


def _read_returns(row: EventType) -> list[tuple[str, str]]:
    """The keys of what handlers of an event may return, with their types."""
    name = _name(row)
    if name not in _RETURNS:
        assert not row.gate, name
        return []
    found: dict[str, str] = {}
    for base in reversed([getattr(modules, _RETURNS[name][1]), *_bases_of(_RETURNS[name][1])]):
        found |= _annotations(base)
    return list(found.items())


def _bases_of(name: str) -> list[Any]:
    return [modules.CancelReturn] if name.startswith("SessionBefore") else []


def _annotations(owner: Any) -> dict[str, str]:
    (definition,) = ast.parse(inspect.getsource(owner)).body
    assert isinstance(definition, ast.ClassDef)
    return {
        node.target.id: ast.unparse(node.annotation)
        for node in definition.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _render_event(row: EventType) -> str:
    name, view = _name(row), find_view(row.name)
    text = f"### {name}\n\n{_first_paragraph(view)} Its class is `{view.__name__}`.\n\n"
    fields = _annotations(view)
    if fields:
        rows = "".join(f"| `{field}` | {_show_type(kind)} |\n" for field, kind in fields.items())
        text += f"| field | type |\n|---|---|\n{rows}\n"
    else:
        text += "It has no fields of its own.\n\n"
    return text + _render_returns(row)


def _render_other(row: EventType) -> str:
    names = ", ".join(f"`{name}`" for name in row.field_names) or "none"
    text = f"### {row.name}\n\n{row.meaning}\n\nFields, as the [event](events.md#{row.name}) has them: {names}.\n\n"
    return text + _render_returns(row)


def _render_returns(row: EventType) -> str:
    name = _name(row)
    keys = _read_returns(row)
    if not keys:
        return "What a handler returns is ignored.\n\n"
    rows = "".join(f"| `{key}` | {_show_type(kind)} |\n" for key, kind in keys)
    result = _RETURNS[name][0]
    doc = " ".join((getattr(modules, result).__doc__ or "").split()).partition(": ")[2]
    several = _SEVERAL.get(name, _LATEST if name.startswith("session_before") else "The first block ends the event.")
    text = f"| returned key | type |\n|---|---|\n{rows}\n`{result}`, or a dict (`{_RETURNS[name][1]}`): {doc} {several}"
    if row.gate:
        text += f" A handler that fails means `{_read_policy(row)}`."
    return f"{text}\n\n"


def _read_policy(row: EventType) -> str:
    place = Place(path=Path("module.py"))
    hook = make_handler(
        row.name, print, origin="", layer="user", place=place, settings=Settings(), hook_id="a", description=""
    )
    return hook.execution.on_error


def _show_type(kind: str) -> str:
    kind = kind.replace("|", "\\|")
    return f"`{kind}`"


def _first_paragraph(owner: Any) -> str:
    return " ".join(inspect.cleandoc(owner.__doc__ or "").split("\n\n", maxsplit=1)[0].split())


def _render_members(owner: Any) -> str:
    """The public methods and properties that a class itself defines, with their first sentences."""
    (definition,) = ast.parse(inspect.getsource(owner)).body
    assert isinstance(definition, ast.ClassDef)
    lines = ["| member | what it does |", "|---|---|"]
    for node in definition.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            lines.append(f"| `{_show_signature(node)}` | {_say(node)} |")
    return "\n".join(lines) + "\n\n"


def _say(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return " ".join((ast.get_docstring(node) or "").split()).replace("|", "\\|")


def _show_signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    is_property = any(isinstance(found, ast.Name) and found.id == "property" for found in node.decorator_list)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    if is_property:
        return f"{node.name}{returns}".replace(" -> ", ": ").replace("|", "\\|")
    arguments = [argument for argument in ast.unparse(node.args).split(", ") if argument != "self"]
    word = "await " if isinstance(node, ast.AsyncFunctionDef) or "Dialog[" in returns else ""
    return f"{word}{node.name}({', '.join(arguments)}){returns}".replace("|", "\\|")


def _render_function(function: Any) -> str:
    (node,) = ast.parse(inspect.getsource(function)).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    doc = "\n\n".join(" ".join(part.split()) for part in (ast.get_docstring(node) or "").split("\n\n"))
    return f"### {node.name}\n\n`{_show_signature(node).replace(chr(92), '')}`\n\n{doc}\n\n"


def _render_record(record: Any) -> str:
    rows = "".join(f"| `{name}` | {_show_type(kind)} |\n" for name, kind in _annotations(record).items())
    doc = " ".join((record.__doc__ or "").split())
    return f"### {record.__name__}\n\n{doc}\n\n| field | type |\n|---|---|\n{rows}\n"


def _render_names(text: str) -> Iterator[str]:
    """All names that the page has not named yet, with the first sentence of each."""
    for name in sorted(modules.__all__):
        if f"`{name}`" not in text:
            value = getattr(modules, name)
            yield f"| `{name}` | {_describe(name, value)} |\n"


def _describe(name: str, value: Any) -> str:
    if inspect.isclass(value) or inspect.isfunction(value):
        return _first_paragraph(value).replace("|", "\\|")
    for home in _HOMES:
        for node, after in itertools.pairwise(ast.parse(inspect.getsource(home)).body):
            if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != name:
                continue
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return " ".join(str(after.value.value).split())
            return f"`{ast.unparse(node.value)}`".replace("|", "\\|")
    raise AssertionError(f"{name} is defined nowhere")


_HOMES = [
    inspect.getmodule(value)
    for value in (modules.HookAPI, modules.CustomMessage, modules.UI, modules.Theme, modules.HookError, typed.On)
]

PAGES = {DOCS / "reference" / "module-api.md": render_module_api}


def main() -> None:
    """Write the page."""
    for path, render in PAGES.items():
        path.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
