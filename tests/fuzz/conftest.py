"""
How long the fuzz tests fuzz: a few seconds each, or as long as it takes with `HYPOTHESIS_PROFILE=long`.

    HYPOTHESIS_PROFILE=long pytest tests/fuzz --timeout=0
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

_HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
# Explaining a failure takes minutes here and says little.
_PHASES = [phase for phase in Phase if phase is not Phase.explain]

for name, count in (("short", 60), ("long", 20_000)):
    settings.register_profile(
        name, max_examples=count, deadline=None, suppress_health_check=_HEALTH, phases=_PHASES, print_blob=True
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))
