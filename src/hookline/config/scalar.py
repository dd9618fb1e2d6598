"""What a plain YAML word means: by version 1.2, and by 1.1 for dialects whose users write for that."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import yaml

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_DECIMAL = re.compile(r"[-+]?[0-9]+", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
# A plain word that starts otherwise is text in both versions.
_FIRST_OF_SPECIAL = frozenset("~nNtTfF+-.0123456789")
_FIRST_OF_OLD = _FIRST_OF_SPECIAL | frozenset("yYoO=<")

Resolver = Callable[[str], Any]


def resolve_scalar(text: str) -> Any:
    """
    The value of a plain word by YAML 1.2's core schema (yaml.org/spec/1.2.2, section 10.3.2).

    Raises `ValueError` for a number that is too long to be read.
    """
    if not text:
        return None
    if text[0] not in _FIRST_OF_SPECIAL:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _DECIMAL.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text[2:], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text


class OldResolver:
    """Reads plain words by YAML 1.1, as PyYAML does."""

    def __init__(self) -> None:
        self._loader = yaml.SafeLoader("")

    def __call__(self, text: str) -> Any:
        """The value of a plain word; raises `ValueError` when it looks like a value and is none."""
        if text and text[0] not in _FIRST_OF_OLD:
            return text
        tag = self._loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        if tag == "tag:yaml.org,2002:str":
            return text
        if tag in ("tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"):
            return text
        try:
            return self._loader.construct_object(yaml.ScalarNode(tag, text))
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error


def is_finite(value: Any) -> bool:
    """Whether a value is anything but an infinite number or not-a-number."""
    return not isinstance(value, float) or math.isfinite(value)
