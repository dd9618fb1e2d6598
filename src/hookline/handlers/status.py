"""The status line: one text a key, cleaned of what a terminal would obey, and cut to what fits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

ELLIPSIS = "…"

# A control sequence (CSI), a string that ends with BEL or ST or never (OSC, DCS, SOS, PM, APC), or a short escape;
# each begins with ESC and a letter or with one character of the C1 range (ECMA-48).
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x9c|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)
_BREAKS = re.compile("[\r\n\t\u2028\u2029]")
_SPACES = re.compile(" +")
# What turns the direction of writing would reach beyond its own text.
DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# The vowels and finals that join the Korean syllable before them.
_JOINING_JAMO = range(0x1160, 0x1200)


def clean_text(text: str) -> str:
    """The text in one line, without control sequences and characters, and without spaces that are not needed."""
    text = _BREAKS.sub(" ", _SEQUENCE.sub("", text))
    text = "".join(map(_replace, text))
    return _SPACES.sub(" ", text).strip(" ")


def _replace(character: str) -> str:
    if character in DIRECTIONS:
        return ""
    category = unicodedata.category(character)
    if category == "Cs":  # half a pair: nothing can print it
        return "\ufffd"
    return "" if category == "Cc" else character


def measure_width(text: str) -> int:
    """How many columns a text of one line takes: two for a wide character, none for a mark on another one."""
    return len(text) if text.isascii() else sum(map(_measure, text))


def _measure(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"} or ord(character) in _JOINING_JAMO:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def cut_to_width(text: str, width: int) -> str:
    """The text if it fits, else as much of it as fits before an ellipsis."""
    if measure_width(text) <= width:
        return text
    left = width - measure_width(ELLIPSIS)
    if left < 0:
        return ""
    end = 0
    while (left := left - _measure(text[end])) >= 0:
        end += 1
    return text[:end] + ELLIPSIS


def render_status(texts: Mapping[str, str], width: int | None = None) -> str:
    """The texts in the order of their keys, in one line that is at most so wide."""
    cleaned = (clean_text(text) for _, text in sorted(texts.items()))
    line = " ".join(text for text in cleaned if text)
    return line if width is None else cut_to_width(line, width)


class StatusLine:
    """The texts that handlers have set, each under its key."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def set(self, key: str, text: str | None) -> None:
        """Show a text under a key in place of the former one; None takes it away."""
        if text is None:
            self._texts.pop(key, None)
        else:
            self._texts[key] = text

    def render(self, width: int | None = None) -> str:
        """The line as it stands now, at most so wide."""
        return render_status(dict(self._texts), width)
