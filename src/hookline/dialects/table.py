"""The dialects there are. A new one is a module beside this and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from hookline.dialects.base import Dialect
from hookline.dialects.chrys import CHRYS
from hookline.dialects.native import NATIVE
from hookline.dialects.vix import VIX
from hookline.dialects.xcsh import XCSH
from hookline.errors import ConfigError

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (NATIVE, CHRYS, XCSH, VIX)}


def get_dialect(name: str) -> Dialect:
    """
    The dialect called `name`.

    Raises `ConfigError` when there is none.
    """
    dialect = DIALECTS.get(name)
    if dialect is None:
        raise ConfigError(f"unknown dialect {name!r}; known dialects: {', '.join(DIALECTS)}")
    return dialect
