"""When hook folders keep silent as a whole, and in which words that is said."""

from __future__ import annotations

from collections.abc import Mapping

KILL_SWITCH = "VIX_DISABLE_HOOKS"
OWN_ORIGIN = "vix"
_ON = frozenset({"1", "true"})


def find_silence(environment: Mapping[str, str], origin: str) -> str | None:
    """Why no hook folder is to run now, in words for the decision; None when they may."""
    return find_kill_switch(environment) or find_recursion(origin)


def find_kill_switch(environment: Mapping[str, str]) -> str | None:
    """Why the environment keeps all hook folders silent; None when it does not."""
    value = environment.get(KILL_SWITCH, "")
    return f"hook folders are switched off by {KILL_SWITCH}={value}" if value in _ON else None


def find_recursion(origin: str) -> str | None:
    """Why a thread of this origin fires no hook folders: hooks that start threads must not set off themselves."""
    if origin != OWN_ORIGIN:
        return None
    return f"hook folders do not run in a thread of origin {origin!r}, which hooks and jobs started"
