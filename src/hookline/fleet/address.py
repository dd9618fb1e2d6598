"""Where a fleet's database is."""

from __future__ import annotations

from msgspec import Struct
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from hookline.fleet.errors import FleetError

_SCHEMES = ("postgresql://", "postgres://")
# A network that was cut is noticed within half a minute instead of some hours.
_DEFAULTS = {
    "application_name": "hookline",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


class Address(Struct, frozen=True, kw_only=True):
    """The address of a database; shown without its password."""

    conninfo: str
    shown: str

    @classmethod
    def from_url(cls, url: str) -> Address:
        """The address in a URL; raises `FleetError` when it is none."""
        if not url.startswith(_SCHEMES):
            raise FleetError("the address must be a URL such as postgresql://user@host:5432/database")
        try:
            found = conninfo_to_dict(url)
        except ProgrammingError as error:
            raise FleetError(f"the address {_hide_password(url)} cannot be read: {_first_line(error)}") from error
        return cls(conninfo=make_conninfo("", **{**_DEFAULTS, **found}), shown=_hide_password(url))

    def __str__(self) -> str:
        return self.shown


def _hide_password(url: str) -> str:
    """A URL without user, password and options."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def _first_line(error: Exception) -> str:
    # The driver repeats the text that it could not read, a password perhaps.
    return str(error).strip().splitlines()[0].partition('"')[0].strip().rstrip(":") or "it is malformed"
