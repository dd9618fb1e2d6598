"""Builders for commands of the process layer, which need only what matters."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hookline.process.child import TOKEN_VARIABLE, Command


class Commands:
    """Builds commands that run in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(
        self, *argv: str, env: Mapping[str, str] | None = None, has_token: bool = True, **options: Any
    ) -> Command:
        own = {"PATH": os.environ["PATH"]} | ({TOKEN_VARIABLE: uuid.uuid4().hex} if has_token else {})
        defaults = {"cwd": str(self._folder), "timeout_s": 30.0, "kill_grace_s": 5.0}
        return Command(argv=argv, env={**own, **(env or {})}, **{**defaults, **options})

    def sh(self, text: str, **options: Any) -> Command:
        return self("/bin/sh", "-c", text, **options)
