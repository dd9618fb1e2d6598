"""Every adapter, held to every ability of the contract and to the limits it declares."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("adapters.suite")

from adapters.suite import CHECKS, Stage  # noqa: E402 - so that failed asserts tell what they compared
from hookline.adapters.table import ABILITIES, HOSTS, Host, Limit  # noqa: E402
from support import Bench  # noqa: E402

# What an adapter that falls short of an ability says of it; what is only partly given holds where it is given.
FALLS_SHORT = ("observes", "not")
LIMITS = [(host, name, limit) for host in HOSTS for name, limit in host.limits.items()]


def falls_short(host: Host, name: str) -> bool:
    return name in host.limits and host.limits[name].level in FALLS_SHORT


@pytest.mark.parametrize("name", ABILITIES)
@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
async def test_adapter_has_the_ability_or_says_that_it_has_not(host: Host, name: str, bench: Bench) -> None:
    stage = Stage(host, bench)
    if not falls_short(host, name):
        await CHECKS[name](stage)
        return
    with pytest.raises((AssertionError, NotImplementedError)):
        await CHECKS[name](stage)
        pytest.fail(f"{host.name} has the ability {name!r} after all; take it out of its limits", pytrace=False)


def test_every_ability_has_a_check() -> None:
    assert CHECKS.keys() == ABILITIES.keys()


@pytest.mark.parametrize(("host", "name", "limit"), LIMITS, ids=[f"{host.name}-{name}" for host, name, _ in LIMITS])
def test_a_limit_is_of_an_ability_and_has_a_reason(host: Host, name: str, limit: Limit) -> None:
    assert name in ABILITIES
    assert limit.level != "enforces"
    assert limit.reason.endswith(".")
