"""How a worker of a fleet works."""

from __future__ import annotations

from msgspec import Struct


class WorkerOptions(Struct, frozen=True, kw_only=True):
    """
    How a worker works.

    `queues` are those it serves, all when there is none; a worker whose heartbeat is `silent_s` old is taken for
    dead. With `is_until_empty` it ends when
    no job is waiting in them or running.
    """

    queues: tuple[str, ...] = ()
    concurrency: int = 4
    grace_s: float = 5.0
    silent_s: float = 30.0
    is_until_empty: bool = False
