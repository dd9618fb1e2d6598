"""From the text that names a file to its path."""

from __future__ import annotations

import contextlib
import os
import re
import unicodedata
from pathlib import Path
from urllib.parse import unquote_to_bytes

# A scheme of two letters and more, or a drive would be one.
_URL = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_FILE_URL = re.compile(r"file:(?://(?P<host>[^/]*)(?P<path>/.*)|(?P<only_path>/(?!/).*))", re.IGNORECASE | re.DOTALL)
_OWN_HOSTS = ("", "localhost")
# Characters without a width that come along when a path is pasted; whoever looks at it sees nothing there.
# Joiners are none of them: names in several scripts, and emoji, are spelled with those.
_UNSEEN = dict.fromkeys((0x180E, 0x200B, 0x2060, 0xFEFF))


class UnusablePathError(ValueError):
    """A text that cannot name a file, and why."""


def resolve_path(text: str, base: Path, home: Path) -> Path:
    """
    The absolute path that a text names.

    A relative one counts from `base`; `~` is `home`, and `~name` that user's home; `file://` URLs are read; `..` is
    taken out by the text alone, whatever links there are. Spaces of any kind are plain ones and what has no width is
    nothing, unless there is a file with the name exactly as it is written.
    Raises `UnusablePathError`.
    """
    _check(text, text)
    plain = _plain_spaces(text)
    _check(plain, text)
    if plain != text:
        with contextlib.suppress(UnusablePathError):  # as it is written it may be none, which is no fault then
            literal = _locate(text, base, home)
            if os.path.lexists(literal):
                return literal
    return _locate(plain, base, home)


def _check(path: str, text: str) -> None:
    """Refuse what no system call would take; `text` is how it was written."""
    if not path.strip():
        raise UnusablePathError(f"{text!r} is an empty path; name a file")
    if "\0" in path:
        raise UnusablePathError(f"{text!r} contains the character NUL, which no path can contain")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise UnusablePathError(f"{text!r} contains characters that no file name can be made of") from error


def _plain_spaces(text: str) -> str:
    seen = text.translate(_UNSEEN)
    return "".join(" " if unicodedata.category(character) == "Zs" else character for character in seen)


def _locate(text: str, base: Path, home: Path) -> Path:
    path = os.path.abspath(base / _expand(_path_of_url(text), text, home))  # noqa: PTH100 - links keep their names
    if os.name == "posix" and path.startswith("//"):  # the same as one slash, but not to the standard
        path = path[1:]
    return Path(path)


def _path_of_url(text: str) -> str:
    """The path in a file URL; any other text is itself."""
    url = _FILE_URL.fullmatch(text)
    if url is None:
        return _refuse_url(text)
    host, path = url["host"] or "", url["path"] or url["only_path"]
    if host.lower() not in _OWN_HOSTS:
        raise UnusablePathError(f"{text!r} is a file of another host, {host!r}; write file:///... for one of this host")
    if "?" in path or "#" in path:
        raise UnusablePathError(f"{text!r}: a file URL has neither ? nor #; write %3F or %23 for a name that has them")
    decoded = os.fsdecode(unquote_to_bytes(path.encode("utf-8", "surrogateescape")))
    _check(decoded, text)
    if os.name == "nt":  # pragma: no cover - untested: Windows
        return re.sub(r"^/([a-zA-Z]:)", r"\1", decoded)
    return decoded


def _refuse_url(text: str) -> str:
    """The text itself, unless it is a URL, which would otherwise be taken for a relative path."""
    url = _URL.match(text)
    if url is None and not text.lower().startswith("file:"):
        return text
    if url is not None and url[1].lower() != "file":
        raise UnusablePathError(f"{text!r} is no path: of URLs only file:// ones are read")
    raise UnusablePathError(f"{text!r} names no absolute path; write file:///... or the path alone")


def _expand(path: str, text: str, home: Path) -> str:
    """A path with its `~` expanded; one in a URL was absolute."""
    name, slash, rest = path.replace("\\", "/").partition("/") if os.name == "nt" else path.partition("/")
    if not name.startswith("~"):
        return path
    # Joined as texts: what follows `~//` is no absolute path.
    if name == "~":
        return f"{home}/{rest}"
    folder = os.path.expanduser(name)  # noqa: PTH111 - never raises
    if folder == name:
        raise UnusablePathError(
            f"{text!r}: there is no user {name[1:]!r}; write ./{name}{slash}... for a file of that name"
        )
    return f"{folder}/{rest}"
