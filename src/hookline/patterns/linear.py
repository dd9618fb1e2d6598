"""
Regular expressions of Go and Rust: no look-around, no back-references, and an answer in linear time on any text.

RE2 does the work; it is imported when the first pattern is compiled. `$` holds only at the end of the text
(unless `(?m)` is set) and `.` takes any character but a newline (unless `(?s)` is set). Go's syntax is RE2's
own; a pattern of Rust is translated (`hookline.patterns.rust_syntax`).
"""

from __future__ import annotations

import functools
import re
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hookline.patterns.charset import LAST, Ranges, join_ranges
from hookline.patterns.rust_bracket import WORD, RustSyntaxError
from hookline.patterns.rust_syntax import MARKED_ANY, translate_rust

Flavour = Literal["go", "rust"]

MAX_PATTERN_LENGTH = 10_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_LAST_ASCII = 0x7F
# What may have to be marked; found far quicker than by the long list of what must be.
_PERHAPS_MARKED = re.compile(r"[^\x00-^`-\x7f]+")
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
    `marked` and `marked_search` are for subjects with characters outside ASCII, where these need another pattern.
    """

    text: str
    flavour: Flavour
    compiled: Any
    marked: Any = None
    marked_search: Any = None

    def search(self, subject: str) -> bool:
        """Whether some part of the subject matches."""
        if self.marked is None or subject.isascii():
            return self.compiled.search(_encode(subject)) is not None
        return self.marked_search.search(_mark(subject)) is not None

    def fullmatch(self, subject: str) -> bool:
        """Whether the subject as a whole matches."""
        if self.marked is None or subject.isascii():
            return self.compiled.fullmatch(_encode(subject)) is not None
        return self.marked.fullmatch(_mark(subject)) is not None


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
        return _compile_rust(text)
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


def _compile_rust(text: str) -> LinearPattern:
    try:
        translation = translate_rust(text, _resolve)
    except RustSyntaxError as error:
        raise LinearPatternError(str(error)) from error
    pattern = LinearPattern(text=text, flavour="rust", compiled=_compile(translation.plain))
    if translation.marked is None:
        return pattern
    return replace(
        pattern,
        marked=_compile(translation.marked),
        marked_search=_compile(rf"\A(?:{MARKED_ANY})*?(?:{translation.marked})"),
    )


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


def _mark(subject: str) -> bytes:
    """The subject with each word character outside ASCII, and each underscore, between two underscores."""
    whole = _SURROGATE.sub(_REPLACEMENT, subject)
    return _PERHAPS_MARKED.sub(lambda run: _mark_run(run.group()), whole).encode()


def _mark_run(run: str) -> str:
    return _find_marked().sub(lambda word: f"_{'__'.join(word.group())}_", run)


@functools.cache
def _find_marked() -> re.Pattern[str]:
    ranges = [(low, high) for low, high in _resolve(WORD.write()) if low > _LAST_ASCII]
    return re.compile("[_" + "".join(f"{chr(low)}-{chr(high)}" for low, high in ranges) + "]+")


@functools.lru_cache(maxsize=64)  # a few classes come up again and again
def _resolve(bracket: str) -> Ranges:
    """The characters that a bracket takes, found by asking RE2 about all of them."""
    every = _list_characters()
    spans = [found.span() for found in _compile(f"(?:{bracket})+").finditer(every)]
    texts = [every[start:end].decode() for start, end in spans]
    return join_ranges((ord(text[0]), ord(text[-1])) for text in texts)


@functools.cache
def _list_characters() -> bytes:
    return "".join(map(chr, (*range(0xD800), *range(0xE000, LAST + 1)))).encode()
