"""What is wrong with a piece of configuration, and where: the record that loading and checking hand out."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning", "notice"]


class Place(Struct, frozen=True, kw_only=True):
    """
    A position in a file.

    `line` and `column` count from 1; both are 0 when the file as a whole is meant.
    """

    path: Path
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else str(self.path)


class Problem(Struct, frozen=True, kw_only=True):
    """
    One finding about one place of a configuration.

    An `error` means that something was left out, a `warning` that it is read but is probably not what was
    meant, a `notice` that nothing is wrong but the user should know.
    `code` is stable and documented; `cure` says what to do next.
    """

    severity: Severity
    code: str
    message: str
    place: Place
    hook_id: str | None = None
    cure: str = ""

    def __str__(self) -> str:
        hook = f"hook {self.hook_id!r}: " if self.hook_id is not None else ""
        cure = f" ({self.cure})" if self.cure else ""
        return f"{self.place}: {self.severity}[{self.code}] {hook}{self.message}{cure}"
