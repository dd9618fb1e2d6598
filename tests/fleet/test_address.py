"""Addresses of fleets: what is one, and what is shown of it."""

from __future__ import annotations

import pytest

from hookline.fleet.address import Address
from hookline.fleet.errors import FleetError


def test_an_address_is_shown_without_its_password():
    address = Address.from_url("postgresql://me:secret@host:5433/fleet?password=secret")
    assert str(address) == "postgresql://host:5433/fleet"
    assert "password=secret" in address.conninfo


def test_a_cut_network_is_noticed_unless_the_address_says_otherwise():
    assert "tcp_user_timeout=30000" in Address.from_url("postgres://host/fleet").conninfo
    assert "tcp_user_timeout=5" in Address.from_url("postgres://host/fleet?tcp_user_timeout=5").conninfo


@pytest.mark.parametrize("url", ["", "host", "mysql://host/db", "postgresql:host", "host=h dbname=d"])
def test_what_is_no_url_of_a_database_is_refused(url: str):
    with pytest.raises(FleetError, match=r"must be a URL such as postgresql://"):
        Address.from_url(url)


@pytest.mark.parametrize("url", ["postgresql://me:secret@[h/d", "postgresql://me:secret@h/d?secret=secret"])
def test_a_url_that_is_malformed_is_refused_without_showing_its_password(url: str):
    with pytest.raises(FleetError, match="cannot be read") as caught:
        Address.from_url(url)
    assert "secret" not in str(caught.value)
