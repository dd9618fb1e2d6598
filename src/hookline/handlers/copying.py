"""Giving a handler a copy of its own, so that what it does to its event reaches nobody."""

from __future__ import annotations

import copy
from typing import Any

_PLAIN = frozenset({str, int, float, bool, type(None), bytes})


def copy_data(value: Any) -> Any:
    """
    A copy that shares nothing that can be changed, made quickly for plain data.

    Other objects are copied as they say themselves; what cannot be copied is shared.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        if _PLAIN.issuperset(map(type, value.values())):
            return value.copy()
        return {key: item if type(item) in _PLAIN else copy_data(item) for key, item in value.items()}
    if kind is list:
        if _PLAIN.issuperset(map(type, value)):
            return value.copy()
        return [item if type(item) in _PLAIN else copy_data(item) for item in value]
    if kind is tuple:
        return tuple([copy_data(item) for item in value])
    try:
        return copy.deepcopy(value)
    except Exception:  # boundary: how an object is copied is the host's code
        return value


def is_changed(copied: Any, original: Any) -> bool:
    """Whether a copy is no longer what it was copied from."""
    try:
        return bool(copied != original)
    except Exception:  # boundary: how objects compare is the host's code; a new copy is on the safe side
        return True
