"""Loading modules: what counts, what is rolled back, and what is loaded anew (sections 1 and 2 of the contract)."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from hookline import ConfigError, Engine
from hookline.handlers import loader
from hookline.handlers.host import CustomMessage
from hookline.hook import ModuleSpec
from hookline.recording import RecordingHost
from modules import call_event, calls, context_event, load_specs, open_modules, step_event, write_module
from support import Bench
from waiting import wait_until

pytestmark = pytest.mark.anyio

BLOCK = 'def hook(api): api.on("tool_call", lambda event, ctx: {{"block": True, "reason": {!r}}})'


def list_private_modules() -> set[str]:
    return {name for name in sys.modules if name.startswith("_hookline_module")}


def specs_of(engine: Engine) -> tuple[ModuleSpec, ...]:
    return tuple(module.spec for module in engine.handling.modules.loaded)


def error_of(engine: Engine) -> str:
    (error,) = engine.handling.modules.errors
    return error.text


# Factories


FAILING = """
    import modules
    def hook(api):
        modules.calls.append(api)
        api.on("tool_call", lambda event, ctx: {{"block": True}})
        api.register_command("c", lambda args, ctx: None)
        api.register_message_renderer("t", lambda message, expanded, theme: "shown")
        {end}
"""


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ("raise ValueError('no')", "a.py:8: its hook(api) raised ValueError: no"),
        ("raise SystemExit(3)", "raised SystemExit: 3"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
        ("raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})", "raised Mute"),
        ("api.on('tool_cal', print)", "unknown event 'tool_cal'; did you mean 'tool_call'"),
        ("api.on('tool_call', 42)", "must be a function"),
        ("api.send_message({'custom_type': 't', 'content': 'c'})", "send_message does not work while"),
        ("api.append_entry('t')", "append_entry does not work while"),
    ],
)
def test_a_module_whose_factory_fails_contributes_nothing(bench: Bench, end: str, text: str):
    """Section 1, F: everything it had registered is rolled back; the others load."""
    calls.clear()
    before = list_private_modules()
    engine = open_modules(bench, FAILING.format(end=end), "def hook(api): api.register_command('other', print)")
    assert text in error_of(engine)
    assert not engine.listens("before_tool_call")
    assert [command.name for command in engine.handling.modules.get_registered_commands()] == ["other"]
    assert engine.handling.modules.get_message_renderer("t") is None
    assert len(list_private_modules() - before) == 1
    for use in (lambda api: api.on("tool_call", print), lambda api: api.register_command("late", print)):
        with pytest.raises(TypeError, match="has been unloaded"):
            use(calls[0])


def test_a_module_that_interrupts_its_import_is_an_error(bench: Bench):
    assert "KeyboardInterrupt" in error_of(open_modules(bench, "raise KeyboardInterrupt"))


async def test_an_async_factory_is_awaited(bench: Bench):
    """Section 1, F: also what it registers after it has awaited."""
    text = """
        import asyncio
        async def hook(api):
            await asyncio.sleep(0)
            api.on("tool_call", lambda event, ctx: {"block": True})
    """
    assert (await open_modules(bench, text).fire(call_event())).is_blocked


def test_an_async_factory_that_raises_is_an_error(bench: Bench):
    engine = open_modules(bench, "async def hook(api): raise ValueError('no')")
    assert error_of(engine).endswith("its hook(api) raised ValueError: no")


@pytest.mark.parametrize(
    "hang",
    [
        "def hook(api):\n    release.wait(60)\n    api.on('tool_call', print)",
        "async def hook(api):\n    while not release.is_set():\n        await asyncio.sleep(0.01)",
        "release.wait(60)\ndef hook(api): api.on('tool_call', print)",
    ],
)
async def test_a_module_that_hangs_is_an_error_and_leaves_nothing(
    bench: Bench, hang: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loader, "LOAD_TIMEOUT_S", 0.1)
    calls[:] = [threading.Event()]
    before = list_private_modules()
    engine = open_modules(bench, f"import asyncio\nfrom modules import calls\nrelease = calls[0]\n{hang}")
    assert error_of(engine).endswith("it did not finish loading within 0.1 s")
    calls[0].set()
    await wait_until(lambda: list_private_modules() == before, "the module is forgotten once it has ended")
    assert not engine.listens("before_tool_call")


async def test_messages_and_entries_reach_the_host_afterwards(bench: Bench):
    """Section 1."""
    host = RecordingHost()
    text = """
        def hook(api):
            def act(event, ctx):
                api.send_message({"custom_type": "t", "content": "c"}, deliver_as="follow_up")
                api.append_entry("e", {"n": 1})
            api.on("turn_start", act)
    """
    await open_modules(bench, text, host=host).fire(step_event())
    assert [(sent.message, sent.deliver_as) for sent in host.sent] == [
        (CustomMessage(custom_type="t", content="c"), "follow_up")
    ]
    assert host.entries == [("e", {"n": 1})]


# Required modules


@pytest.mark.parametrize("text", ["x = 1", "def hook(api): raise ValueError('no')", "raise SystemExit"])
def test_a_required_module_makes_the_engine_refuse_to_start(bench: Bench, text: str):
    """Section 1."""
    before = list_private_modules()
    with pytest.raises(ConfigError, match=r"required cannot be loaded: .*b\.py"):
        open_modules(bench, BLOCK.format("a"), text, options=", required: true")
    assert list_private_modules() == before


def test_a_required_module_whose_path_leads_nowhere_makes_it_refuse_too(bench: Bench):
    bench.write('modules: [{path: "file://elsewhere/a.py", required: true}]', layer="user")
    with pytest.raises(ConfigError, match="required cannot be loaded"):
        bench.open()


def test_a_required_module_that_is_switched_off_is_not_missed(bench: Bench):
    bench.write('modules: [{path: "file://elsewhere/a.py", required: true, enabled: false}]', layer="user")
    assert bench.open().handling.modules.loaded == ()


# Names


async def test_two_modules_with_one_file_name_do_not_collide(bench: Bench):
    """Section 1, F: private names."""
    for folder in ("pre", "post"):
        text = f'def hook(api): api.on("context", lambda event, ctx: {{"messages": [*event.messages, {folder!r}]}})'
        write_module(bench, "same.py", text, folder=folder)
    engine = bench.open()
    assert (await engine.fire(context_event())).edits["messages"] == ["pre", "post"]
    assert len({module.module.__name__ for module in engine.handling.modules.loaded}) == 2
    assert "same" not in sys.modules


# Loading anew


def write_three(bench: Bench) -> Engine:
    add = 'def hook(api): api.on("context", lambda event, ctx: {{"messages": [*event.messages, {!r}]}})'
    return open_modules(bench, *(add.format(name) for name in "abc"))


def rewrite(bench: Bench, name: str, text: str) -> Path:
    return write_module(bench, name, text, folder="named")


async def read_context(engine: Engine) -> list[str]:
    decision = await engine.fire(context_event())
    return list(decision.edits.get("messages", ()))


async def test_what_has_changed_is_loaded_anew_in_its_place(bench: Bench):
    """Sections 1 and 4: unchanged ones are kept, the order is that of the modules."""
    engine = write_three(bench)
    engine.on("context", lambda event, ctx: {"messages": [*event.messages, "code"]})
    before = engine.handling.modules.loaded
    rewrite(bench, "b.py", 'def hook(api): api.on("context", lambda event, ctx: {"messages": [*event.messages, "B"]})')
    load_specs(engine, specs_of(engine))
    after = engine.handling.modules.loaded
    assert [old is new for old, new in zip(before, after, strict=True)] == [True, False, True]
    assert await read_context(engine) == ["a", "B", "c", "code"]
    assert before[1].module.__name__ not in sys.modules


async def test_modules_may_change_their_order_and_go(bench: Bench):
    engine = write_three(bench)
    first, second, third = specs_of(engine)
    load_specs(engine, (third, first))
    assert await read_context(engine) == ["c", "a"]
    load_specs(engine, (first, second, third))
    assert await read_context(engine) == ["a", "b", "c"]


async def test_a_required_module_that_cannot_be_loaded_anew_leaves_everything_as_it_was(bench: Bench):
    engine = open_modules(bench, BLOCK.format("a"), options=", required: true")
    rewrite(bench, "a.py", "x = 1")
    with pytest.raises(ConfigError):
        load_specs(engine, specs_of(engine))
    assert (await engine.fire(call_event())).reason == "a"


async def test_no_event_slips_through_while_a_guard_is_loaded_anew(bench: Bench):
    engine = open_modules(bench, BLOCK.format("a"))
    specs = specs_of(engine)
    allowed: list[bool] = []
    is_over = threading.Event()

    def fire() -> None:
        while not is_over.is_set():
            allowed.append(engine.fire_sync(call_event()).is_allowed)

    thread = threading.Thread(target=fire, daemon=True)
    thread.start()
    for number in range(10):
        rewrite(bench, "a.py", BLOCK.format(f"v{number}"))
        await asyncio.to_thread(load_specs, engine, specs)
    rewrite(bench, "a.py", "broken(")
    await asyncio.to_thread(load_specs, engine, specs)
    for _ in range(5):
        assert engine.fire_sync(call_event()).is_blocked
    is_over.set()
    thread.join()
    assert not any(allowed)


# What a module guarded


async def test_a_module_that_guarded_and_cannot_be_loaded_keeps_its_gate_closed(bench: Bench):
    engine = open_modules(bench, BLOCK.format("a"))
    engine.close(grace_s=0)
    path = rewrite(bench, "a.py", "def hook(api:")
    decision = await bench.open().fire(call_event(command="ls"))
    assert decision.is_blocked
    assert f"was guarded by hook 'a:tool_call' of the module {path}" in (decision.reason or "")
    assert (await bench.open(broken_config="open").fire(call_event())).is_allowed


async def test_the_gate_opens_once_the_module_is_mended_or_taken_out(bench: Bench):
    engine = open_modules(bench, BLOCK.format("a"))
    specs = specs_of(engine)
    rewrite(bench, "a.py", "def hook(api:")
    load_specs(engine, specs)
    assert "mend it" in ((await engine.fire(call_event())).reason or "")
    rewrite(bench, "a.py", "def hook(api): pass")
    load_specs(engine, specs)
    assert (await engine.fire(call_event())).is_allowed


@pytest.mark.parametrize("broken_config", ["closed", "open"])
async def test_a_guard_whose_file_is_a_dead_link_keeps_its_gate_closed(bench: Bench, broken_config: str):
    target = bench.root / "guard.py"
    target.write_text(textwrap.dedent(BLOCK.format("a")))
    folder = bench.hooks_folder("user") / "pre"
    folder.mkdir(parents=True)
    (folder / "bash.py").symlink_to(target)
    assert (await bench.open().fire(call_event())).reason == "a"
    target.unlink()
    engine = bench.open(broken_config=broken_config)
    assert [problem.code for problem in engine.problems] == ["skipped-file"]
    assert (await engine.fire(call_event())).is_blocked is (broken_config == "closed")


async def test_a_guard_whose_folder_is_a_dead_link_keeps_its_gate_closed(bench: Bench):
    target = bench.root / "guards"
    target.mkdir()
    (target / "bash.py").write_text(BLOCK.format("a"))
    folder = bench.hooks_folder("user") / "pre"
    folder.parent.mkdir(parents=True)
    folder.symlink_to(target)
    assert (await bench.open().fire(call_event())).reason == "a"
    target.rename(bench.root / "elsewhere")
    engine = bench.open()
    assert [problem.code for problem in engine.problems] == ["provider-failed"]
    assert f"a module in {folder}" in ((await engine.fire(call_event())).reason or "")
    folder.unlink()
    assert (await bench.open().fire(call_event())).is_allowed


async def test_a_closed_engine_keeps_the_gates_of_its_modules_closed(bench: Bench):
    engine = open_modules(bench, 'def hook(api): api.on("tool_call", lambda event, ctx: None)')
    assert (await engine.fire(call_event())).is_allowed
    engine.close(grace_s=0)
    decision = await engine.fire(call_event())
    assert decision.is_blocked
    assert "the engine is closed" in (decision.reason or "")


async def test_an_engine_takes_its_threads_and_modules_with_it(bench: Bench):
    before = list_private_modules()
    threads = set(threading.enumerate())
    engine = open_modules(bench, 'def hook(api): api.on("tool_call", lambda event, ctx: None)')
    await engine.fire(call_event())
    engine.close(grace_s=0)
    await wait_until(lambda: not set(threading.enumerate()) - threads, "its threads ended")
    assert list_private_modules() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_module_that_is_no_regular_file_any_more_does_not_hang_loading_anew(bench: Bench):
    engine = open_modules(bench, BLOCK.format("a"))
    path = engine.handling.modules.loaded[0].spec.path
    path.unlink()
    os.mkfifo(path)
    load_specs(engine, specs_of(engine))
    assert "regular file" in error_of(engine)
