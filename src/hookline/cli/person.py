"""The person at the terminal, for hooks that ask; and what hooks print, which must not get into data."""

from __future__ import annotations

import contextlib
import sys
from contextlib import AbstractContextManager

from hookline.errors import HooklineError
from hookline.handlers.ui import UI


def find_ui() -> UI | None:
    """The user interface of this terminal; None where nobody sits at one, or without the extra `ui`."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        from hookline.terminal import TerminalUI  # noqa: PLC0415 - comes with an extra, and takes its time
    except HooklineError:
        return None
    return TerminalUI()


def keep_apart(as_json: bool) -> AbstractContextManager[object]:
    """Let what handlers print go to stderr while the output is data."""
    return contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
