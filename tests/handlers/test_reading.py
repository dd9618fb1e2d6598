"""Reading what a module registers without running it, in step with what loading it registers."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.handlers.loader import load_modules
from hookline.handlers.reading import ModuleReading, read_module
from hookline.hook import HandlerAction, Hook, ModuleSpec, Settings

SETTINGS = Settings(handler_timeout_s=7)

# Modules that can be read whole: each form of a registration, and what stands beside them.
WHOLE = {
    "call": """
        def guard(event, ctx): ...
        def hook(api):
            api.on("tool_call", guard)
        """,
    "async factory and handler": """
        async def hook(pi):
            async def guard(event, ctx): ...
            pi.on("tool_call", guard, tool_name="bash", timeout_s=2)
            await pi.exec("true")
        """,
    "decorator": """
        def hook(api):
            @api.on("tool_result", on_error="block")
            async def redact(event, ctx):
                api.append_entry("seen", 1)
        """,
    "two decorators": """
        def hook(api):
            @api.on("turn_start")
            @api.on("turn_end", mode="async")
            def note(event): ...
        """,
    "several handlers of one event": """
        def hook(api):
            api.on("context", lambda event, ctx: None)
            api.on("context", lambda event: api.send_message({"custom_type": "a", "content": "b"}))
            api.on("context", handler=lambda event, ctx: None, id="mine", description="Mine.")
            api.on("context", print)
        """,
    "names of the engine and of modules": """
        def hook(api):
            api.on("before_tool_call", lambda event, ctx: None)
            api.on("session_shutdown", lambda event, ctx: None)
            api.on("session.compacting", lambda event, ctx: None)
            api.on("user_prompt_submit", lambda event, ctx: None, profile="Code")
        """,
    "commands and renderers": """
        def hook(api):
            api.register_command("/hand-off", lambda args, ctx: None, description="Go on.")
            api.register_message_renderer("note", lambda message, expanded, theme: None)
        """,
    "the last of two definitions": """
        def hook(api):
            api.on("context", print)
        def hook(api):
            api.on("turn_end", print)
        """,
    "a block that is always run": """
        import contextlib
        def hook(api):
            with contextlib.suppress(ValueError):
                remove = api.on("agent_end", print)
            return
            api.on("turn_end", print)
        """,
    "nothing": """
        def hook(api):
            "It registers nothing."
        """,
    "another encoding": """\
        # coding: latin-1
        def hook(api):
            api.on("tool_call", print, description="caf\N{LATIN SMALL LETTER E WITH ACUTE}")
        """,
}


def write(tmp_path: Path, text: str, name: str = "guards.py") -> ModuleSpec:
    path = tmp_path / name
    encoding = "latin-1" if "latin-1" in text else "utf-8"
    path.write_text(textwrap.dedent(text), encoding=encoding)
    return ModuleSpec(path=path, layer="project", timeout_s=3)


def read(tmp_path: Path, text: str) -> ModuleReading:
    return read_module(write(tmp_path, text), SETTINGS)


def ids(reading: ModuleReading) -> list[str]:
    return [hook.id for hook in reading.hooks]


def comparable(hook: Hook) -> Hook:
    """A hook without its function, which is another one when it was only read, and without its place."""
    assert isinstance(hook.action, HandlerAction)
    bare = replace(hook.action, function=print, is_async=False)
    return replace(hook, action=bare, source=replace(hook.source, place=replace(hook.source.place, line=0, column=0)))


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE.keys())
def test_what_is_read_is_what_loading_registers(tmp_path: Path, text: str):
    spec = write(tmp_path, text)
    reading = read_module(spec, SETTINGS)
    loading = load_modules([spec], SETTINGS)
    (module,) = loading.modules
    registered = module.registration
    assert list(map(comparable, reading.hooks)) == list(map(comparable, registered.hooks))
    assert [(found.name, found.description) for found in reading.commands] == [
        (command.name, command.description) for command in registered.commands
    ]
    assert [found.name for found in reading.renderers] == [name for name, _ in registered.renderers]
    assert (reading.gaps, reading.problems, reading.is_whole) == ((), (), True)
    module.unload()


def test_a_handler_in_the_file_has_the_place_that_loading_gives_it(tmp_path: Path):
    text = """
        def guard(event, ctx): ...
        def hook(api):
            api.on("tool_call", guard)
            @api.on("turn_start")
            async def note(event, ctx): ...
            api.on("turn_end", lambda event, ctx: None)
    """
    spec = write(tmp_path, text)
    (module,) = load_modules([spec], SETTINGS).modules
    loaded = [hook.source.place for hook in module.registration.hooks]
    assert [hook.source.place for hook in read_module(spec, SETTINGS).hooks] == loaded
    assert [place.line for place in loaded] == [2, 5, 7]
    module.unload()


def test_whether_a_handler_is_async_is_told_where_the_file_tells_it(tmp_path: Path):
    reading = read(
        tmp_path,
        """
        async def one(event, ctx): ...
        def hook(api):
            api.on("tool_call", one)
            api.on("tool_call", lambda event, ctx: None)
        """,
    )
    assert [hook.action.is_async for hook in reading.hooks if isinstance(hook.action, HandlerAction)] == [True, False]


def test_nothing_of_a_module_is_run(tmp_path: Path):
    marker = tmp_path / "ran"
    reading = read(tmp_path, f"open({str(marker)!r}, 'w')\ndef hook(api):\n    api.on('context', print)\n")
    assert ids(reading) == ["guards:context"]
    assert not marker.exists()


# What cannot be read is named

GAPS = {
    "a condition": ("if input:\n    api.on('context', print)", ["guards:context"], "is decided there"),
    "a loop": ("for tool in 'ab':\n    api.on('context', print)", ["guards:context"], "is decided there"),
    "a way out before": ("if input:\n    return\napi.on('context', print)", ["guards:context"], "is decided there"),
    "a name that is computed": ("api.on(NAME, print)", [], "the event of a handler is not written out"),
    "arguments that are unpacked": ("api.on(*NAMES)", [], "the event of a handler is not written out"),
    "options that are unpacked": ("api.on('context', print, **NAMES)", [], "is not written out"),
    "an option that is computed": ("api.on('context', print, timeout_s=LIMIT)", ["guards:context"], "timeout_s"),
    "the api in other hands": ("register(api)", [], "api is handed on to something else"),
    "a method in other hands": ("on = api.on\non('context', print)", [], "api is handed on to something else"),
    "a decorator that is kept": ("on = api.on('context')", [], "what handles 'context' is not written out"),
    "a handler that registers": (
        "@api.on('context')\ndef f(event, ctx):\n    api.on('turn_end', print)",
        ["guards:context"],
        "api.on is called when a handler runs",
    ),
    "a lambda that registers": (
        "later = lambda: api.on('context', print)",
        [],
        "api.on is called by a function that is not read",
    ),
    "a command that is computed": ("api.register_command(NAME, print)", [], "the name that register_command is given"),
    "a command under a condition": ("if input:\n    api.register_command('a', print)", [], "whether 'a' is registered"),
}


@pytest.mark.parametrize(("body", "expected", "gap"), GAPS.values(), ids=GAPS.keys())
def test_what_cannot_be_read_is_named(tmp_path: Path, body: str, expected: list[str], gap: str):
    reading = read(tmp_path, f"def hook(api):\n{textwrap.indent(body, '    ')}\n")
    assert ids(reading) == expected
    assert any(gap in text for text in reading.gaps), reading.gaps
    (notice,) = reading.problems
    assert (notice.code, notice.severity) == ("module-unread", "notice")
    assert "registers more than can be read without running it" in notice.message
    assert not reading.is_whole


@pytest.mark.parametrize(
    "text", ["from elsewhere import hook\n", "hook = make()\n", "@wrap\ndef hook(api): ...\n", "def hook(*args): ...\n"]
)
def test_a_factory_that_is_made_when_it_runs_is_a_gap(tmp_path: Path, text: str):
    reading = read(tmp_path, text)
    assert (reading.hooks, len(reading.gaps), reading.is_whole) == ((), 1, False)


def test_a_module_that_is_nested_too_deeply_is_a_gap(tmp_path: Path):
    chain = "".join(f"    elif a == {number}:\n        pass\n" for number in range(900))
    reading = read(tmp_path, f"def hook(api):\n    if a:\n        pass\n{chain}")
    assert not reading.is_whole


# What would keep a module from loading is an error

ERRORS = {
    "syntax": ("def hook(api)\n", "module-syntax", 1),
    "outside": ("def hook(api): ...\nreturn\n", "module-syntax", 2),
    "none": ("x = 1\n", "module-factory", 0),
    "event": ("def hook(api):\n    api.on('tool_calls', print)\n", "module-handler", 2),
    "option": ("def hook(api):\n    api.on('context', print, mode='later')\n", "module-handler", 2),
    "unknown option": ("def hook(api):\n    api.on('context', print, tool='bash')\n", "module-handler", 2),
    "match": ("def hook(api):\n    api.on('context', print, tool_name='bash')\n", "module-handler", 2),
}


@pytest.mark.parametrize(("text", "code", "line"), ERRORS.values(), ids=ERRORS.keys())
def test_what_keeps_a_module_from_loading_is_an_error_with_its_line(tmp_path: Path, text: str, code: str, line: int):
    spec = write(tmp_path, text)
    (problem,) = read_module(spec, SETTINGS).problems
    assert (problem.code, problem.severity, problem.place.line) == (code, "error", line)
    assert len(load_modules([spec], SETTINGS).errors) == 1


def test_an_unknown_event_is_told_with_what_was_probably_meant(tmp_path: Path):
    (problem,) = read(tmp_path, "def hook(api):\n    api.on('tool_calls', print)\n").problems
    assert "did you mean 'tool_call'?" in problem.message


def test_a_module_that_is_not_there_is_an_error(tmp_path: Path):
    (problem,) = read_module(ModuleSpec(path=tmp_path / "gone.py", layer="user"), SETTINGS).problems
    assert problem.code == "module-missing"
