"""What handlers and hosts see, as their authors use it; checked by mypy, never run."""

from __future__ import annotations

import asyncio
from typing import Any, assert_type

from hookline.handlers.blocking import BlockingUI
from hookline.handlers.exec import ExecResult, exec_command
from hookline.handlers.host import Host, UnwiredHost
from hookline.handlers.surface import HandlerUI
from hookline.handlers.ui import UI, HeadlessUI
from hookline.terminal import TerminalUI
from hookline.testing import RecordingHost, RecordingUI

HOSTS: list[Host] = [UnwiredHost(), RecordingHost()]
UIS: list[UI] = [HeadlessUI(), TerminalUI(), RecordingUI()]


async def ask(ui: HandlerUI) -> None:
    assert_type(await ui.select("Pick", ["a", "b"], timeout=5), str | None)
    assert_type(await ui.confirm("Sure?", "really"), bool)
    assert_type(await ui.input("Name"), str | None)
    assert_type(await ui.editor("Plan", "first"), str | None)
    assert_type(await ui.custom(print), Any)
    assert_type(await asyncio.create_task(ui.confirm("Sure?", "")), bool)


def ask_and_wait(ui: BlockingUI) -> None:
    assert_type(ui.select("Pick", ["a", "b"], timeout=5), str | None)
    assert_type(ui.confirm("Sure?", "really"), bool)
    assert_type(ui.input("Name"), str | None)


async def run() -> None:
    assert_type(await exec_command("ls", ["-l"], cwd=".", timeout=1, signal=asyncio.Event()), ExecResult)
