"""Reading the parts of a Rust pattern that stand for one character: escapes, classes and brackets."""

from __future__ import annotations

from typing import NoReturn

from hookline.patterns.charset import (
    CharSet,
    Ranges,
    Resolve,
    intersect_ranges,
    join_ranges,
    subtract_ranges,
)

_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_IGNORED_SPACE = " \t\n\v\f\r\x85\u200e\u200f\u2028\u2029"
_MAX_NESTING = 250
# Unicode's words for what Rust calls \d, \s and \w, without the underscore, which stands in the ranges.
_DIGIT = r"\p{Nd}"
_SPACE = r"\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}"
_WORD = (
    r"\p{L}\p{M}\p{Nd}\p{Nl}\x{203F}-\x{2040}\x{2054}\x{FE33}-\x{FE34}\x{FE4D}-\x{FE4F}\x{FF3F}\x{200C}-\x{200D}"
    r"\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}"
)
_UNDERSCORE: Ranges = ((ord("_"), ord("_")),)
DIGIT = CharSet(names=_DIGIT)
SPACE = CharSet(names=_SPACE)
WORD = CharSet(ranges=_UNDERSCORE, names=_WORD)
_PERL = {"d": DIGIT, "s": SPACE, "w": WORD}
_POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
_CATEGORIES = {
    "letter": "L",
    "uppercaseletter": "Lu",
    "lowercaseletter": "Ll",
    "titlecaseletter": "Lt",
    "modifierletter": "Lm",
    "otherletter": "Lo",
    "mark": "M",
    "nonspacingmark": "Mn",
    "spacingmark": "Mc",
    "enclosingmark": "Me",
    "number": "N",
    "decimalnumber": "Nd",
    "letternumber": "Nl",
    "othernumber": "No",
    "punctuation": "P",
    "connectorpunctuation": "Pc",
    "dashpunctuation": "Pd",
    "openpunctuation": "Ps",
    "closepunctuation": "Pe",
    "initialpunctuation": "Pi",
    "finalpunctuation": "Pf",
    "otherpunctuation": "Po",
    "symbol": "S",
    "mathsymbol": "Sm",
    "currencysymbol": "Sc",
    "modifiersymbol": "Sk",
    "othersymbol": "So",
    "separator": "Z",
    "spaceseparator": "Zs",
    "lineseparator": "Zl",
    "paragraphseparator": "Zp",
    "control": "Cc",
    "format": "Cf",
    "privateuse": "Co",
}
_CATEGORIES |= {name.lower(): name for name in _CATEGORIES.values()}
# RE2 does not count the code points without a character to these.
_OTHER = frozenset({"c", "other", "cn", "unassigned", "cs", "surrogate"})


class RustSyntaxError(ValueError):
    """A text that is no pattern of Rust, or one that cannot be written for RE2."""


class Reader:
    """A position in a pattern and the flags that hold there."""

    def __init__(self, text: str, resolve: Resolve) -> None:
        self.flags: frozenset[str] = frozenset()
        self._text = text
        self._position = 0
        self._resolve = resolve

    def fail(self, message: str) -> NoReturn:
        raise RustSyntaxError(f"{message} (at character {min(self._position, len(self._text))})")

    def peek(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._position : self._position + 1]

    def has_next(self, text: str) -> bool:
        return self._text.startswith(text, self._position)

    def skip_text(self, text: str) -> bool:
        """Go past a text if it comes next."""
        if not self.has_next(text):
            return False
        self._position += len(text)
        return True

    def has_count(self) -> bool:
        """Whether a counted repetition comes next, rather than a word between braces."""
        return self._text[self._position + 1 : self._position + 2] in {*" 0123456789"}

    def take_raw(self) -> str:
        """The next character, whatever it is; empty at the end."""
        character = self.peek()
        self._position += len(character)
        return character

    def take(self) -> str:
        """The next character that means something; empty at the end."""
        self.skip_ignored()
        return self.take_raw()

    def is_at_end(self) -> bool:
        self.skip_ignored()
        return self._position >= len(self._text)

    def skip_space(self) -> None:
        while self.peek() and self.peek() in _IGNORED_SPACE:
            self._position += 1

    def skip_ignored(self) -> None:
        """Go past white space and comments where the flag `x` makes them mean nothing."""
        while "x" in self.flags and self.peek() and self.peek() in f"{_IGNORED_SPACE}#":
            if self.take_raw() == "#":
                while self.peek() not in ("", "\n"):
                    self._position += 1

    def resolve(self, found: CharSet) -> Ranges:
        """The characters of a set as ranges, with the flags that hold here."""
        if not found.names and not found.without and "i" not in self.flags:
            return found.ranges
        case = "(?i)" if "i" in self.flags else ""
        return self._resolve(f"{case}{found.write()}")

    def read_set_escape(self) -> CharSet:
        """What follows a backslash and stands for one character."""
        character = self.take_raw()
        if character == "":
            self.fail("incomplete escape sequence")
        if character.lower() in _PERL:
            found = _PERL[character.lower()]
            return found if character.islower() else found.negate(self._resolve)
        if character in "pP":
            found = self._read_property()
            return found if character == "p" else found.negate(self._resolve)
        if character in _CONTROLS:
            return _single(_CONTROLS[character])
        if character in _HEX_DIGITS:
            return _single(self._read_hexadecimal(_HEX_DIGITS[character]))
        if character.isdigit() or character == "k":
            self.fail(f"back-references are not supported (\\{character})")
        if not character.isascii() or character.isalpha() or character in "<>":
            self.fail(f"unrecognised escape sequence \\{character}")
        return _single(ord(character))

    def _read_hexadecimal(self, count: int) -> int:
        if self.skip_text("{"):
            digits = self._read_until("}", "unclosed escape sequence").strip()
        else:
            digits = "".join(self.take_raw() for _ in range(count))
            if len(digits) < count:
                self.fail("incomplete escape sequence")
        if not digits or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
            self.fail(f"{digits!r} is no hexadecimal number")
        code = int(digits[-9:], 16)
        if len(digits.lstrip("0")) > 6 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            self.fail(f"{digits} is no character")
        return code

    def _read_until(self, end: str, message: str) -> str:
        found = ""
        while (character := self.take_raw()) != end:
            if not character:
                self.fail(message)
            found += character
        return found

    def _read_property(self) -> CharSet:
        name = self._read_until("}", "unclosed Unicode class") if self.skip_text("{") else self.take_raw()
        if not name:
            self.fail("incomplete escape sequence")
        for sign in ("!=", "=", ":"):
            kind, found, value = name.partition(sign)
            if found:
                chosen = self._find_property(value, kind.strip().lower().replace("_", "").replace(" ", ""))
                return chosen.negate(self._resolve) if sign == "!=" else chosen
        return self._find_property(name, "")

    def _find_property(self, name: str, kind: str) -> CharSet:
        loose = "".join(character for character in name.lower() if character not in " _-")
        is_category = kind in ("", "gc", "generalcategory")
        if is_category and loose in _OTHER:
            self.fail(f"the Unicode class {name!r} is not supported; negate the others")
        if is_category and loose == "any":
            return CharSet(ranges=((0, 0x10FFFF),))
        if is_category and loose == "ascii":
            return CharSet(ranges=((0, 0x7F),))
        if is_category and loose in _CATEGORIES:
            return self._name(_CATEGORIES[loose])
        if kind not in ("", "sc", "script"):
            self.fail(f"the Unicode class {name!r} is not supported")
        words = name.strip().replace(" ", "_").replace("-", "_").split("_")
        return self._name("_".join(word.capitalize() for word in words))

    def _name(self, name: str) -> CharSet:
        if not name.replace("_", "").isalpha():
            self.fail(f"unknown Unicode class {name!r}")
        if name in ("P", "Pc"):  # the underscore is one of them
            return CharSet(ranges=self._resolve(rf"[\p{{{name}}}]"))
        return CharSet(names=rf"\p{{{name}}}")

    def read_bracket(self, depth: int = 0) -> CharSet:
        """The rest of a bracket, with the brackets and operations in it."""
        if depth > _MAX_NESTING:
            self.fail("nested too deeply")
        self.skip_ignored()
        is_negated = self.skip_text("^")
        self.skip_ignored()
        found = self._read_leading()
        operation, left = "", CharSet()
        while True:
            self.skip_ignored()
            if self._position >= len(self._text):
                self.fail("unclosed character class")
            if self.skip_text("]"):
                break
            if (sign := self._text[self._position : self._position + 2]) in ("&&", "--", "~~"):
                self._position += 2
                operation, left, found = sign, self._combine(operation, left, found), CharSet()
            elif self.has_next("["):
                found |= self._read_inner(depth)
            else:
                found |= self._read_range()
        found = self._combine(operation, left, found)
        if not is_negated:
            return found
        return found.negate(lambda _: self.resolve(found))

    def _read_leading(self) -> CharSet:
        """Hyphens at the start, and a closing bracket where nothing stands before it, mean themselves."""
        found = CharSet()
        while self.skip_text("-"):
            found |= _single(ord("-"))
            self.skip_ignored()
        if not found.ranges and self.skip_text("]"):
            found = _single(ord("]"))
        return found

    def _combine(self, operation: str, left: CharSet, right: CharSet) -> CharSet:
        if not operation:
            return right
        one, two = self.resolve(left), self.resolve(right)
        if operation == "&&":
            return CharSet(ranges=intersect_ranges(one, two))
        if operation == "--":
            return CharSet(ranges=subtract_ranges(one, two))
        return CharSet(ranges=join_ranges((*subtract_ranges(one, two), *subtract_ranges(two, one))))

    def _read_inner(self, depth: int) -> CharSet:
        self._position += 1
        if self.has_next(":") and (end := self._text.find(":]", self._position + 1)) >= 0:
            name = self._text[self._position + 1 : end]
            if (found := _POSIX.get(name.removeprefix("^"))) is not None:
                self._position = end + 2
                chosen = CharSet(ranges=found)
                return chosen.negate(self._resolve) if name.startswith("^") else chosen
        return self.read_bracket(depth + 1)

    def _read_range(self) -> CharSet:
        first = self._read_item()
        self.skip_ignored()
        if not self.has_next("-"):
            return first
        hyphen = self._position
        self._position += 1
        self.skip_ignored()
        if self.peek() in ("]", "-"):
            self._position = hyphen
            return first
        last = self._read_item()
        ends = [item.ranges[0][0] for item in (first, last) if _is_single(item)]
        if len(ends) < 2:
            self.fail("a range needs a character at both ends")
        if ends[0] > ends[1]:
            self.fail("a range that ends before it starts")
        return CharSet(ranges=((ends[0], ends[1]),))

    def _read_item(self) -> CharSet:
        character = self.take_raw()
        if character == "":
            self.fail("unclosed character class")
        return self.read_set_escape() if character == "\\" else _single(ord(character))


def _single(code: int) -> CharSet:
    return CharSet(ranges=((code, code),))


def _is_single(found: CharSet) -> bool:
    return not found.names and not found.without and found.ranges[0][0] == found.ranges[-1][1]
