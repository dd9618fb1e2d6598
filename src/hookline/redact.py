"""Taking secrets out of what is kept: values whose key or shape looks like one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REDACTED = "[redacted]"
_MAX_DEPTH = 20
_SECRET_KEY = re.compile(
    r"(?i)pass(?:word|wd|phrase)?$|passw|secret|token(?!s)|api[_-]?key|access[_-]?key|private[_-]?key|credential"
    r"|authorization|cookie|bearer|signature"
)
_SHAPES = (
    r"(?<![A-Za-z0-9_])sk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic
    r"(?<![A-Za-z0-9_])gh[pousr]_[A-Za-z0-9]{20,}",  # GitHub
    r"(?<![A-Za-z0-9_])github_pat_[A-Za-z0-9_]{20,}",
    r"(?<![A-Za-z0-9_])glpat-[A-Za-z0-9_-]{16,}",  # GitLab
    r"(?<![A-Za-z0-9_])xox[abeoprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"(?<![A-Za-z0-9_])(?:AKIA|ASIA)[A-Z0-9]{16}",  # AWS
    r"(?<![A-Za-z0-9_])AIza[A-Za-z0-9_-]{30,}",  # Google
    r"(?<![A-Za-z0-9_])(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"(?<![A-Za-z0-9_])npm_[A-Za-z0-9]{30,}",
    r"(?<![A-Za-z0-9_])pypi-[A-Za-z0-9_-]{30,}",
    r"(?<![A-Za-z0-9_])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+",  # JSON web tokens
    r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|\Z)",
)
_SHAPE = re.compile("|".join(_SHAPES))
# A text without any of these needs no search: looking for fixed texts costs next to nothing.
_SHAPE_STARTS = (
    "sk-",
    "gh",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "k_live_",
    "k_test_",
    "npm_",
    "pypi-",
    "eyJ",
    "-----BEGIN",
)
_NAME_WORDS = ("pass", "secret", "token", "key", "credential", "cookie")
# `NAME=value`, `name: value` and `--name value` in a text, where the name looks like that of a secret. All lengths
# but the last are bounded, so that no text takes long.
_ASSIGNMENT = re.compile(
    r"(?i)(?P<name>(?:password|passwd|passphrase|pass|secret|cookie|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\w-]{0,40})"
    r"(?P<sign>[\"']?\s{0,4}[=:]\s{0,4}[\"']?|\s{1,4})(?P<value>[^\s\"'&;|]{4,})"
)
_BEARER = re.compile(r"(?i)(?<![A-Za-z0-9_])(?P<word>bearer|basic)\s+(?P<value>[A-Za-z0-9._~+/=-]{8,})")
_URL_PASSWORD = re.compile(r"(?P<before>://[^\s/:@]+:)[^\s/@]+(?P<after>@)")


def redact(value: Any, *, depth: int = 0) -> Any:
    """A copy of a value without its secrets; what is nested too deep is left out."""
    if depth > _MAX_DEPTH:
        return REDACTED
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {key: REDACTED if is_secret(key, item) else redact(item, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact(item, depth=depth + 1) for item in value]
    return value


def redact_text(text: str) -> str:
    """A text without what looks like a secret in it."""
    lowered = text.lower()
    if any(start in text for start in _SHAPE_STARTS):
        text = _SHAPE.sub(REDACTED, text)
    if "bearer" in lowered or "basic" in lowered:
        text = _BEARER.sub(lambda found: f"{found['word']} {REDACTED}", text)
    if "://" in text:
        text = _URL_PASSWORD.sub(lambda found: f"{found['before']}{REDACTED}{found['after']}", text)
    if any(word in lowered for word in _NAME_WORDS):
        text = _ASSIGNMENT.sub(lambda found: f"{found['name']}{found['sign']}{REDACTED}", text)
    return text


def is_secret(key: Any, value: Any) -> bool:
    """Whether a key says that its value is a secret; numbers, booleans and nothing are none."""
    is_plain = value is None or isinstance(value, bool | int | float)
    return isinstance(key, str) and not is_plain and bool(value) and _SECRET_KEY.search(key) is not None
