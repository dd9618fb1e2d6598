"""Taking secrets out of what is kept: values whose key or shape looks like one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REDACTED = "[redacted]"
_MAX_DEPTH = 20
_SECRET_KEY = re.compile(
    r"(?i)pass(?:word|wd|phrase)?$|secret|token(?!s)|api[_-]?key|access[_-]?key|private[_-]?key|credential"
    r"|authorization|cookie|bearer|signature"
)
_SHAPES = (
    r"sk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic
    r"gh[pousr]_[A-Za-z0-9]{20,}",  # GitHub
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",  # GitLab
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",  # AWS
    r"AIza[A-Za-z0-9_-]{30,}",  # Google
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{30,}",
    r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+",  # JSON web tokens
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
)
_SHAPE = re.compile("|".join(_SHAPES))
# `NAME=value`, `name: value` and `--name value` in a text, where the name looks like that of a secret.
_ASSIGNMENT = re.compile(
    r"(?i)(?P<name>[\w-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\w-]*)"
    r"(?P<sign>[\"']?\s*[=:]\s*[\"']?|\s+)(?P<value>[^\s\"'&;|]{4,})"
)
_BEARER = re.compile(r"(?i)\b(?P<word>bearer|basic)\s+(?P<value>[A-Za-z0-9._~+/=-]{8,})")
_URL_PASSWORD = re.compile(r"(?P<before>://[^\s/:@]+:)[^\s/@]+(?P<after>@)")


def redact(value: Any, *, depth: int = 0) -> Any:
    """A copy of a value without its secrets; what is nested too deep is left out."""
    if depth > _MAX_DEPTH:
        return REDACTED
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {
            key: REDACTED if _is_secret(key, item) else redact(item, depth=depth + 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact(item, depth=depth + 1) for item in value]
    return value


def redact_text(text: str) -> str:
    """A text without what looks like a secret in it."""
    text = _SHAPE.sub(REDACTED, text)
    text = _BEARER.sub(lambda found: f"{found['word']} {REDACTED}", text)
    text = _URL_PASSWORD.sub(lambda found: f"{found['before']}{REDACTED}{found['after']}", text)
    return _ASSIGNMENT.sub(lambda found: f"{found['name']}{found['sign']}{REDACTED}", text)


def _is_secret(key: Any, value: Any) -> bool:
    return (
        isinstance(key, str) and isinstance(value, str | bytes) and bool(value) and _SECRET_KEY.search(key) is not None
    )
