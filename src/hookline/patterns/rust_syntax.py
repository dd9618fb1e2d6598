"""
Regular expressions of Rust in RE2's syntax.

Classes and word boundaries of Rust go by Unicode, those of RE2 by ASCII. Classes are written out. A boundary
cannot be, so a pattern with one is written twice: `plain` for subjects of ASCII characters, where both are the
same, and `marked` for the others, in which each word character outside ASCII, and the underscore, stands
between two underscores. Then RE2's own boundaries are in the right places.
"""

from __future__ import annotations

from msgspec import Struct

from hookline.patterns.charset import ALL, CharSet, Resolve
from hookline.patterns.rust_bracket import Reader

# A character of a marked subject, as it stands there.
MARKED_ANY = "(?s:[^_]|_._)"
MAX_NESTING = 250
_FLAGS = "imsU"
_NO_NEWLINE = CharSet(without=(r"\n",))


class Translation(Struct, frozen=True, kw_only=True):
    """A pattern for RE2; `marked` is there only for one that asks for word boundaries."""

    plain: str
    marked: str | None = None


def translate_rust(text: str, resolve: Resolve) -> Translation:
    """
    Read a pattern of Rust's `regex` and write it for RE2.

    Raises `RustSyntaxError` for what Rust refuses, and for what RE2 has no word for.
    """
    parser = _Parser(text, resolve)
    parser.parse()
    plain = "".join(_write(piece) for piece in parser.pieces)
    marked = "".join(_write_marked(piece) for piece in parser.pieces) if parser.has_boundary else None
    return Translation(plain=plain, marked=marked)


def _write(piece: str | CharSet) -> str:
    return piece if isinstance(piece, str) else piece.write()


def _write_marked(piece: str | CharSet) -> str:
    return piece if isinstance(piece, str) else f"(?:{piece.write(with_underscore=False)}|_{piece.write()}_)"


class _Group(Struct, frozen=True, kw_only=True):
    """An open group: where it starts among the pieces, and the flags that hold again after it."""

    start: int
    flags: frozenset[str]


class _Parser(Reader):
    """Goes through a pattern once and collects pieces: sets of characters, and everything else as text."""

    def __init__(self, text: str, resolve: Resolve) -> None:
        super().__init__(text, resolve)
        self.pieces: list[str | CharSet] = []
        self.has_boundary = False
        self._groups: list[_Group] = []
        self._names: set[str] = set()
        # Where the expression starts that a repetition would be about, None where there is none.
        self._last: int | None = None
        self._is_repeated = False

    def parse(self) -> None:
        while not self.is_at_end():
            self._parse_piece()
        if self._groups:
            self.fail("unclosed group")

    def _parse_piece(self) -> None:
        character = self.take()
        if character == "(":
            self._open()
        elif character == ")":
            self._close()
        elif character == "|":
            self.pieces.append("|")
            self._last = None
        elif character in "*+?":
            self._repeat(character)
        elif character == "{":
            self._repeat(self._read_count())
        elif character == "[":
            self._add(self.read_bracket())
        elif character == ".":
            self._add(ALL if "s" in self.flags else _NO_NEWLINE)
        elif character in "^$":
            self._add(character)
        elif character == "\\":
            self._add(self._read_escape())
        else:
            self._add(CharSet(ranges=((ord(character), ord(character)),)))

    def _add(self, piece: str | CharSet) -> None:
        self._last, self._is_repeated = len(self.pieces), False
        self.pieces.append(piece)

    def _read_escape(self) -> str | CharSet:
        character = self.peek()
        if character == "":
            self.fail("incomplete escape sequence")
        if character in "bB":
            self.take_raw()
            if character == "b" and self.has_next("{") and not self.has_count():
                self.fail(r"\b{...} is not supported; \b is")
            self.has_boundary = True
            return f"\\{character}"
        if character in "Az":
            self.take_raw()
            return f"\\{character}"
        if character in "<>":
            self.fail(f"\\{character} is not supported; \\b is")
        return self.read_set_escape()

    def _open(self) -> None:
        if len(self._groups) >= MAX_NESTING:
            self.fail("nested too deeply")
        start, flags = len(self.pieces), self.flags
        opening = "(?:"
        if self.peek() == "?":
            self.take_raw()
            self._refuse_look_around()
            if self.skip_text("P<") or self.skip_text("<"):
                self._read_name()
            else:
                is_group, opening = self._read_flags()
                if not is_group:
                    self.pieces += [opening] if opening else []
                    self._last = None
                    return
        self._groups.append(_Group(start=start, flags=flags))
        self.pieces.append(opening)
        self._last = None

    def _refuse_look_around(self) -> None:
        for sign in ("=", "!", "<=", "<!"):
            if self.has_next(sign):
                self.fail(f"look-around is not supported ((?{sign})")
        if self.has_next("P="):
            self.fail("back-references are not supported ((?P=)")

    def _read_name(self) -> None:
        name = ""
        while (character := self.take_raw()) != ">":
            if not character:
                self.fail("unclosed name of a group")
            is_first = character.isalpha() or character == "_"
            if not is_first and not (name and (character.isdigit() or character in ".[]")):
                self.fail("invalid name of a group")
            name += character
        if not name:
            self.fail("empty name of a group")
        if name in self._names:
            self.fail(f"two groups are called {name!r}")
        self._names.add(name)

    def _read_flags(self) -> tuple[bool, str]:
        """Flags up to `)` or `:`; whether they open a group, and how RE2 writes them."""
        seen: dict[str, bool] = {}
        is_on = True
        while (character := self.take_raw()) not in (")", ":"):
            if character == "-" and is_on:
                is_on = False
            elif character in seen:
                self.fail(f"the flag {character!r} stands twice")
            elif character == "u" and not is_on:
                self.fail("the flag -u is not supported; write an ASCII class such as [0-9]")
            elif character == "R":
                self.fail("the flag R is not supported")
            elif character and character in "imsUux":
                seen[character] = is_on
            else:
                self.fail(f"unrecognised flag {character!r}" if character else "unclosed group")
        if not is_on and all(seen.values()):
            self.fail("a minus without a flag")
        if not seen and character == ")":
            self.fail("repetition operator missing expression")
        self.flags = (self.flags | {flag for flag in seen if seen[flag]}) - {flag for flag in seen if not seen[flag]}
        on = "".join(flag for flag in seen if flag in _FLAGS and seen[flag])
        off = "".join(flag for flag in seen if flag in _FLAGS and not seen[flag])
        written = on + (f"-{off}" if off else "")
        if character == ":":
            return True, f"(?{written}:"
        return False, f"(?{written})" if written else ""

    def _close(self) -> None:
        if not self._groups:
            self.fail("unopened group")
        group = self._groups.pop()
        self.flags = group.flags
        self.pieces.append(")")
        self._last, self._is_repeated = group.start, False

    def _read_count(self) -> str:
        """The rest of `{n}`, `{n,}` or `{n,m}`."""
        least = self._read_number()
        most: int | None = least
        written = f"{{{least}}}"
        if self.peek() == ",":
            self.take_raw()
            self.skip_space()
            most = None if self.peek() == "}" else self._read_number()
            written = f"{{{least},{'' if most is None else most}}}"
        if self.take_raw() != "}":
            self.fail("unclosed counted repetition")
        if most is not None and most < least:
            self.fail(f"invalid repetition count range {written}")
        return written

    def _read_number(self) -> int:
        self.skip_space()
        digits = ""
        while self.peek().isascii() and self.peek().isdigit():
            digits += self.take_raw()
        self.skip_space()
        if not digits:
            self.fail("a counted repetition needs a number; a literal brace is written \\{")
        return int(digits[:9])

    def _repeat(self, operator: str) -> None:
        if self._last is None:
            self.fail("repetition operator missing expression")
        if self._is_repeated:  # RE2 takes no operator after an operator
            self.pieces.insert(self._last, "(?:")
            self.pieces.append(")")
        if not self.is_at_end() and self.peek() == "?":
            self.take_raw()
            operator += "?"
        self.pieces.append(operator)
        self._is_repeated = True
