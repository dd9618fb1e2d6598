"""
Regular expressions of Go and Rust: no look-around, no back-references, and an answer in linear time on any text.

RE2 does the work; it is imported when the first pattern is compiled. `$` holds only at the end of the text
(unless `(?m)` is set) and `.` takes any character but a newline (unless `(?s)` is set).
"""

from __future__ import annotations

import functools
import re
from typing import Any, Literal

from msgspec import Struct

Flavour = Literal["go", "rust"]

MAX_PATTERN_LENGTH = 10_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
# What RE2 says of constructs that it leaves out on purpose.
_LOOK_AROUND = re.compile(r"invalid perl operator: \(\?<?[=!]")
_BACK_REFERENCE = re.compile(r"invalid escape sequence: \\[1-9k]|invalid perl operator: \(\?P$")
# Any byte, which RE2 takes and Go does not.
_ANY_BYTE = re.compile(r"\\(?:Q.*?(?:\\E|\Z)|(C)|.)", re.DOTALL)


class LinearPatternError(ValueError):
    """A pattern that its flavour does not take, with the reason."""


class LinearPattern(Struct, frozen=True, kw_only=True):
    """
    A compiled pattern.

    Half of a character (a lone surrogate) in a subject counts as the replacement character U+FFFD, which is what
    a text with such a half becomes on its way to a program written in Go or Rust.
    """

    text: str
    flavour: Flavour
    compiled: Any

    def search(self, subject: str) -> bool:
        """Whether some part of the subject matches."""
        return self.compiled.search(_encode(subject)) is not None

    def fullmatch(self, subject: str) -> bool:
        """Whether the subject as a whole matches."""
        return self.compiled.fullmatch(_encode(subject)) is not None


@functools.lru_cache(maxsize=4096)  # checking a file and indexing it compile the same patterns
def compile_linear(text: str, flavour: Flavour) -> LinearPattern:
    """
    Compile a pattern in the syntax of Go's or Rust's standard regular expressions.

    Raises `LinearPatternError` when it is no such pattern, or longer than `MAX_PATTERN_LENGTH` characters.
    """
    if len(text) > MAX_PATTERN_LENGTH:
        raise LinearPatternError(f"longer than {MAX_PATTERN_LENGTH} characters")
    if _SURROGATE.search(text):
        raise LinearPatternError("the pattern holds half of a character; write the character whole")
    if flavour == "rust":
        raise LinearPatternError("patterns of Rust cannot be compiled")
    if any(found.group(1) for found in _ANY_BYTE.finditer(text)):
        raise LinearPatternError(r"invalid escape sequence: \C")
    return LinearPattern(text=text, flavour=flavour, compiled=_compile(text))


def compile_whole(text: str, flavour: Flavour) -> LinearPattern:
    """
    Compile a pattern that is to match a subject as a whole; use it with `search`.

    The pattern must stand by itself: `a)|(?:b` does not get out of the parentheses that are put around it.
    Raises `LinearPatternError`.
    """
    compile_linear(text, flavour)
    return compile_linear(f"^(?:{text})$", flavour)


def _compile(text: str) -> Any:
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - only where there is a pattern

    options = re2.Options()
    options.log_errors = False  # it would write to the host's stderr
    options.never_capture = True  # groups are of no use here, and cost time
    try:
        return re2.compile(text.encode(), options)
    except re2.error as error:
        raise LinearPatternError(_explain(error)) from error


def _explain(error: Exception) -> str:
    """RE2's reason as text, with the name of what is left out on purpose."""
    reason = error.args[0] if error.args else ""
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    if _LOOK_AROUND.match(text):
        return f"look-around is not supported ({text})"
    if _BACK_REFERENCE.match(text):
        return f"back-references are not supported ({text})"
    return text


def _encode(subject: str) -> bytes:
    try:
        return subject.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(_REPLACEMENT, subject).encode()
