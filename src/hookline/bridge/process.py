"""The runner of the formats whose hooks are read from files."""

from __future__ import annotations

from pathlib import Path

from hookline.bridge.program import Surplus
from hookline.bridge.run import Adopt
from hookline.config.locate import default_home, find_homes
from hookline.dialects.table import DIALECTS
from hookline.runners.base import Runner
from hookline.runners.command import CommandRunner
from hookline.runners.exchange import Exchange
from hookline.runners.preparation import Preparation, Surroundings


def make_runner(surplus: Surplus, exchange: Exchange, adopt: Adopt) -> Runner:
    """The engine's own runner of processes, in this process's directory."""
    homes = find_homes(tuple(DIALECTS.values()), default_home())
    surroundings = Surroundings(project=Path.cwd(), homes=homes, depth=surplus.depth)
    return CommandRunner(Preparation(surroundings, adopt=adopt), exchange, adopt=adopt)
