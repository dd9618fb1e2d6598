"""How deep hooks are nested in hooks: told by the environment, and bounded."""

from __future__ import annotations

import logging
import os
import sys

from hookline.hook import Settings
from hookline.runners.environment import DEPTH_VARIABLE

logger = logging.getLogger("hookline")

_LONGEST_DEPTH = 6


def read_depth() -> int:
    """How many hooks this process is nested in; what a hook's environment says."""
    text = os.environ.get(DEPTH_VARIABLE, "0")
    if text.isascii() and text.isdigit() and len(text) < _LONGEST_DEPTH:
        return int(text)
    logger.warning("%s=%r is not a depth; taken as too deep", DEPTH_VARIABLE, text)
    return sys.maxsize


def find_stop_reason(depth: int, settings: Settings) -> str | None:
    """Why no hook may run at this depth, None where they may."""
    if depth < settings.max_hook_depth:
        return None
    if depth == sys.maxsize:
        return f"{DEPTH_VARIABLE} is set to something that is no depth"
    return f"nested in {depth} hooks ({DEPTH_VARIABLE}); the most is {settings.max_hook_depth}"
