"""
How long the fuzz tests fuzz: a few seconds each, or as long as it takes with `HYPOTHESIS_PROFILE=long`.

    HYPOTHESIS_PROFILE=long pytest tests/fuzz --timeout=0
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("short", max_examples=60, deadline=None, suppress_health_check=_HEALTH)
settings.register_profile("long", max_examples=20_000, deadline=None, suppress_health_check=_HEALTH)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))
