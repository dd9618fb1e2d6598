"""What can go wrong between this machine and a fleet's database."""

from __future__ import annotations

from hookline.errors import HooklineError


class FleetError(HooklineError):
    """Something about a fleet that cannot be done, such as an address that is none, and what to do about it."""


class MissingSchemaError(FleetError):
    """A database in which no fleet has been set up."""


class RefusedError(FleetError):
    """Values that the database does not accept, now or later."""


class ConflictError(FleetError):
    """A statement that lost a race against another one, and may be tried again."""


class UnreachableError(ConnectionError):
    """A database that does not answer, perhaps only for now."""
