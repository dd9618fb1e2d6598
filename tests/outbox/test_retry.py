"""The rules of trying again: pure, and held for all jobs, times and limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.job import Job
from hookline.outbox.retry import give_up_reason, is_given_up, seconds_until_due
from jobs import make_job
from properties import steady

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
_MICROSECOND_S = 1e-6

ages = st.floats(min_value=0, max_value=1e7, allow_nan=False)
moments = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """A pending job that was started any number of times, at any time."""
    starts = draw(st.integers(0, 10))
    return make_job("j", created_at=draw(moments), starts=starts, last_start=draw(moments) if starts else None)


@steady
@given(jobs(), moments, ages)
def test_the_wait_is_never_negative_and_never_longer_than_the_age(job: Job, now: datetime, age: float) -> None:
    assert 0 <= seconds_until_due(job, now, retry_age_s=age) <= age


@steady
@given(jobs(), moments, ages)
def test_a_job_is_due_once_its_wait_is_over(job: Job, now: datetime, age: float) -> None:
    wait_s = seconds_until_due(job, now, retry_age_s=age)
    then = now + timedelta(seconds=wait_s)
    assert seconds_until_due(job, then, retry_age_s=age) <= _MICROSECOND_S


@steady
@given(jobs(), moments, ages, st.floats(0, 1e7))
def test_a_job_that_is_due_stays_due(job: Job, now: datetime, age: float, later: float) -> None:
    if seconds_until_due(job, now, retry_age_s=age) == 0 and now >= (job.last_start or job.created_at):
        assert seconds_until_due(job, now + timedelta(seconds=later), retry_age_s=age) == 0


@steady
@given(jobs(), ages, st.floats(1, 1e7))
def test_a_time_in_the_future_makes_a_job_due(job: Job, age: float, ahead: float) -> None:
    """The clock was set back: how old the job is, nobody knows, and its lock keeps it from running twice."""
    now = (job.last_start or job.created_at) - timedelta(seconds=ahead)
    assert seconds_until_due(job, now, retry_age_s=age) == 0


@steady
@given(jobs(), moments)
def test_without_an_age_every_job_is_due(job: Job, now: datetime) -> None:
    assert seconds_until_due(job, now, retry_age_s=0) == 0


@steady
@given(moments, ages)
def test_the_age_of_a_job_that_never_started_counts_from_its_creation(created_at: datetime, age: float) -> None:
    assert seconds_until_due(make_job(created_at=created_at), created_at, retry_age_s=age) == age


@steady
@given(moments, moments, ages)
def test_the_age_of_a_started_job_counts_from_its_last_start(
    created_at: datetime, last_start: datetime, age: float
) -> None:
    job = make_job(created_at=created_at, starts=1, last_start=last_start)
    assert seconds_until_due(job, last_start, retry_age_s=age) == age


def test_the_wait_gets_shorter_as_time_goes_by() -> None:
    job = make_job(created_at=NOW)
    waits = [seconds_until_due(job, NOW + timedelta(seconds=past), retry_age_s=60) for past in (0, 20, 59, 60, 61)]
    assert waits == [60, 40, 1, 0, 0]


@steady
@given(st.integers(0, 20), st.integers(0, 20))
def test_a_job_is_given_up_when_it_was_started_as_often_as_it_may_be(starts: int, most: int) -> None:
    assert is_given_up(make_job(starts=starts), max_starts=most) is (starts >= most)


def test_where_no_start_is_allowed_a_new_job_is_given_up() -> None:
    assert is_given_up(make_job(), max_starts=0)


def test_where_one_start_is_allowed_there_is_no_second() -> None:
    job = make_job()
    assert [is_given_up(job, max_starts=1), is_given_up(job.started(NOW), max_starts=1)] == [False, True]


@steady
@given(st.integers(0, 10), st.floats(0, 1000), st.lists(st.floats(0, 2000), max_size=60))
def test_a_job_that_never_comes_to_an_end_is_started_as_often_as_it_may_be_and_not_sooner_than_the_age(
    most: int, age: float, pauses: list[float]
) -> None:
    """Somebody looks at it again and again, at any times, and starts it whenever the rules say so."""
    job, now, starts = make_job(created_at=NOW), NOW, [NOW]
    for pause in pauses:
        now += timedelta(seconds=pause)
        if seconds_until_due(job, now, retry_age_s=age) == 0 and not is_given_up(job, max_starts=most):
            job = job.started(now)
            starts.append(now)
    assert job.starts == len(starts) - 1 <= most
    gaps = [(later - sooner).total_seconds() for sooner, later in pairwise(starts)]
    assert all(gap >= age - _MICROSECOND_S for gap in gaps)


@steady
@given(jobs(), st.integers(1, 10))
def test_a_job_that_is_retried_by_hand_may_be_started_again(job: Job, most: int) -> None:
    failed = replace(job.failed("why", NOW), exit_code=1)
    assert not is_given_up(failed.reset(), max_starts=most)


def test_a_start_is_counted_with_its_time() -> None:
    job = make_job(created_at=NOW)
    assert job.started(NOW) == replace(job, starts=1, last_start=NOW)


def test_the_reason_says_how_often_it_was_started_and_how_often_it_may_be() -> None:
    reason = give_up_reason(make_job(starts=3), max_starts=3)
    assert reason == "started 3 times without coming to an end; the most is 3 (outbox_max_retries)"


def test_the_reason_after_one_start_is_said_as_people_say_it() -> None:
    assert give_up_reason(make_job(starts=1), max_starts=1).startswith("started once without")
