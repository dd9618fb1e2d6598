"""How property tests run: as many examples as a busy machine bears, and never judged by its speed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

steady = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
