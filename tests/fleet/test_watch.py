"""Telling dead workers from a database that was away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hookline.fleet.watch import Watch

START = datetime(2026, 1, 1, tzinfo=UTC)


def beats(**seconds: float) -> list[dict[str, Any]]:
    """Heartbeats of workers w1, w2 ... by their times."""
    return [{"id": int(name[1:]), "last_heartbeat": START + timedelta(seconds=at)} for name, at in seconds.items()]


def look(watch: Watch, at: float, *, took: float = 0.0, mine: int | None = None, **seconds: float) -> list[int]:
    return list(watch.find_dead(beats(**seconds), at, at + took, mine=mine))


def test_a_worker_whose_heartbeat_stays_the_same_for_long_enough_is_dead():
    watch = Watch(silent_s=30)
    assert [look(watch, at, w1=0, w2=at) for at in (0, 10, 20, 30)] == [[], [], [], [1]]


def test_however_old_a_heartbeat_is_it_must_be_seen_to_stay():
    watch = Watch(silent_s=30)
    assert look(watch, 1000, w1=-9999) == []
    assert look(watch, 1029, w1=-9999) == []
    assert look(watch, 1030, w1=-9999) == [1]


def test_a_worker_does_not_take_itself_for_dead():
    watch = Watch(silent_s=30)
    look(watch, 0, w1=0)
    assert look(watch, 40, w1=0, mine=1) == []


def test_an_answer_that_was_long_in_coming_makes_it_begin_anew():
    """The database stood still, and nobody could send a heartbeat."""
    watch = Watch(silent_s=30)
    look(watch, 0, w1=0)
    assert look(watch, 29, took=20, w1=0) == []
    assert look(watch, 59, w1=0) == []
    assert look(watch, 80, w1=0) == [1]


def test_an_outage_makes_it_begin_anew():
    watch = Watch(silent_s=30)
    look(watch, 0, w1=0)
    watch.forget()
    assert look(watch, 31, w1=0) == []
    assert look(watch, 61, w1=0) == [1]
