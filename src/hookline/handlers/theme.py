"""How text is painted where handlers show it: a few tones, and what each terminal makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct, field

Tone = Literal["accent", "muted", "success", "warning", "error"]
TONES: tuple[Tone, ...] = get_args(Tone)


class Theme(Struct, frozen=True, kw_only=True):
    """
    What stands before and after a text in each tone.

    A tone without an entry is not painted, so that the empty theme paints nothing.
    """

    marks: Mapping[Tone, tuple[str, str]] = field(default_factory=dict)

    def paint(self, tone: Tone, text: str) -> str:
        """The text in a tone; raises `ValueError` for a tone that no theme has."""
        if tone not in TONES:
            raise ValueError(f"{tone!r} is no tone; there are {', '.join(TONES)}")
        before, after = self.marks.get(tone, ("", ""))
        return f"{before}{text}{after}"


PLAIN_THEME = Theme()
"""Paints nothing: for hosts that show nothing, or where colours mean nothing."""

TERMINAL_THEME = Theme(
    marks={
        "accent": ("\x1b[36m", "\x1b[39m"),
        "muted": ("\x1b[2m", "\x1b[22m"),
        "success": ("\x1b[32m", "\x1b[39m"),
        "warning": ("\x1b[33m", "\x1b[39m"),
        "error": ("\x1b[31m", "\x1b[39m"),
    }
)
"""The colours that every terminal has."""
