"""Options that name a fleet, and opening its database; nothing of a fleet is imported before it is asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hookline.errors import HooklineError

if TYPE_CHECKING:
    from hookline.fleet.fleet import Fleet

F = TypeVar("F", bound=Callable[..., Any])

URL_VARIABLE = "HOOKLINE_FLEET_URL"
_NEEDED = ("procrastinate", "psycopg")


def to_option(function: F) -> F:
    """`--to URL`."""
    text = f"The fleet's database, such as postgresql://user@host/name (default: ${URL_VARIABLE})."
    return click.option("--to", "url", metavar="URL", required=True, envvar=URL_VARIABLE, help=text)(function)


def from_option(function: F) -> F:
    """`--from URL`, which is never taken from the environment: a verb must not change its subject by that."""
    text = "A fleet's database; without it the outbox of your home is meant."
    return click.option("--from", "url", metavar="URL", help=text)(function)


def source_option(function: F) -> F:
    """`--from URL`, where nothing else can be meant."""
    text = f"The fleet's database, such as postgresql://user@host/name (default: ${URL_VARIABLE})."
    return click.option("--from", "url", metavar="URL", required=True, envvar=URL_VARIABLE, help=text)(function)


@contextlib.contextmanager
def opened_fleet(url: str) -> Iterator[Fleet]:
    """The fleet at a URL; raises `HooklineError` for what is none, and when the extra for fleets is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise HooklineError(f"fleets need {' and '.join(missing)}; install them with: pip install 'hookline[fleet]'")
    try:
        from hookline.fleet.fleet import Fleet  # noqa: PLC0415 - needs the extra, and time
    except ImportError as error:  # the driver without the library that it speaks through
        raise HooklineError(
            f"fleets cannot be used: {error}; install them with: pip install 'hookline[fleet]'"
        ) from error
    with Fleet.opened(url) as fleet:
        yield fleet
