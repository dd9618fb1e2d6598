"""A fleet as the command line sees it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from procrastinate import PsycopgConnector

from hookline.config.layers import Layers
from hookline.fleet.address import Address
from hookline.fleet.database import PostgresDatabase
from hookline.fleet.errors import FleetError, UnreachableError
from hookline.fleet.forward import Forwarder, Tally, sole_forwarder
from hookline.fleet.hands import Hands
from hookline.fleet.metrics import read_metrics, to_prometheus
from hookline.fleet.options import WorkerOptions
from hookline.fleet.schema import apply_schema
from hookline.fleet.store import FleetStore
from hookline.fleet.worker import FleetWorker
from hookline.outbox.files import FileOutbox

# How long the engine waits for a connection before it asks anew.
_ANSWER_S = 5.0


class Fleet:
    """The fleet whose database is at an address; connected to when it is used."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._database = PostgresDatabase(address)
        self.store = FleetStore(self._database)

    @classmethod
    @contextlib.contextmanager
    def opened(cls, url: str) -> Iterator[Self]:
        """A fleet to be used in a block; that it cannot be reached is a `FleetError` there."""
        fleet = cls(Address.from_url(url))
        try:
            yield fleet
        except UnreachableError as error:
            raise FleetError(str(error)) from error
        finally:
            fleet.close()

    def __str__(self) -> str:
        return f"the fleet in {self._address}"

    def set_up(self) -> tuple[str, ...]:
        """Make its tables, or bring them up to date; returns what was applied."""
        return apply_schema(self._address)

    def forward(self, outbox: Path) -> Tally:
        """Forward what is pending in the outbox in a folder."""
        with sole_forwarder(outbox):
            self.store.check_forwarding()  # also when nothing is pending: who asks wants to know whether it works
            return Forwarder(FileOutbox(outbox), self.store).run()

    def follow(self, outbox: Path, *, pause: Callable[[float], bool], report: Callable[[str], object]) -> None:
        """Forward what comes into the outbox in a folder; see `Forwarder.follow`."""
        with sole_forwarder(outbox):
            self.store.check_forwarding()  # a fleet that is not set up is no lost connection
            Forwarder(FileOutbox(outbox), self.store).follow(pause=pause, report=report)

    def work(self, layers: Layers, options: WorkerOptions, *, run: Callable[[FleetWorker], object]) -> None:
        """Make a worker with the hooks of these layers, and let `run` run it."""
        self.store.check()  # what cannot work at all is said before anything is waited for
        hands = Hands(layers)
        try:
            run(FleetWorker(hands, self._database, self._make_connector, layers.settings, options))
        finally:
            hands.close()

    def _make_connector(self) -> PsycopgConnector:
        return PsycopgConnector(
            conninfo=self._address.conninfo, min_size=1, max_size=2, timeout=_ANSWER_S, reconnect_timeout=_ANSWER_S
        )

    def read_metrics(self) -> dict[str, Any]:
        """Its counters and ages as data."""
        return read_metrics(self._database)

    def write_metrics(self) -> str:
        """Its counters and ages as Prometheus reads them."""
        return to_prometheus(self.read_metrics())

    def close(self) -> None:
        """Close its connections."""
        self._database.close()
