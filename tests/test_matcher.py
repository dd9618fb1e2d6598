"""Searches that might take long, in processes that can be ended."""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import psutil
import pytest
from hypothesis import given

from hookline.match import Search
from hookline.matcher import Matcher, SearchError
from hookline.patterns.python import PatternError, compile_pattern
from properties import steady
from runaway import RUNAWAYS, make_subject, patterns, subjects
from waiting import count_descriptors, is_running, wait_until

PATIENT_S = 30.0
SHORT_S = 0.5


def make_search(text: str, subject: str) -> Search:
    return Search(pattern=compile_pattern(text), subject=subject)


def runaway(text: str = "(a+)+$") -> Search:
    return make_search(text, make_subject(text, 100))


def list_workers() -> list[psutil.Process]:
    """The searching processes that live."""
    return [child for child in psutil.Process().children() if is_running(child.pid) and is_worker(child)]


def is_worker(process: psutil.Process) -> bool:
    try:
        return "re.search(pattern, subject)" in " ".join(process.cmdline())
    except psutil.Error:
        return False


@pytest.fixture
async def matcher() -> AsyncIterator[Matcher]:
    """A patient matcher that leaves no process behind."""
    matcher = Matcher(PATIENT_S)
    yield matcher
    matcher.close()
    assert list_workers() == []


@pytest.fixture
async def hasty() -> AsyncIterator[Matcher]:
    """A matcher that soon gives up and leaves no process behind."""
    matcher = Matcher(SHORT_S)
    yield matcher
    matcher.close()
    assert list_workers() == []


async def test_a_pattern_is_found(matcher: Matcher):
    assert await matcher.search(make_search("b+", "aabb")) is True


async def test_a_pattern_is_not_found(matcher: Matcher):
    assert await matcher.search(make_search("c", "aabb")) is False


async def test_answers_are_those_of_re(matcher: Matcher):
    examples: list[tuple[str, str]] = []

    @steady
    @given(patterns, subjects)
    def collect(text: str, subject: str) -> None:
        examples.append((text, subject))

    collect()
    for text, subject in examples[:: len(examples) // 50]:
        with contextlib.suppress(PatternError):
            pattern = compile_pattern(text)
            if pattern.is_safe_for(subject):
                answer = await matcher.search(Search(pattern=pattern, subject=subject))
                assert answer == bool(re.search(text, subject)), (text, subject)


@pytest.mark.parametrize("subject", ["a\ud800b", "\udfff", "a\x00b", "é" * 1000, "\U0001f600", ""])
async def test_any_text_can_be_a_subject(matcher: Matcher, subject: str):
    assert await matcher.search(make_search(f"^{re.escape(subject)}$", subject)) is True


async def test_a_half_character_is_not_found_where_there_is_another(matcher: Matcher):
    assert await matcher.search(make_search("\ud800", "\ud801")) is False


async def test_a_subject_of_several_megabytes_is_searched_whole(matcher: Matcher):
    assert await matcher.search(make_search("needle$", "x" * 5_000_000 + "needle")) is True


@pytest.mark.parametrize("text", ["(a+)+$", "(x+x+)+y", "(a|a)*b"])
async def test_a_runaway_is_ended_within_its_limit(hasty: Matcher, text: str):
    assert text in RUNAWAYS
    async with asyncio.timeout(10):
        with pytest.raises(SearchError, match=r"found no answer on 100 characters within 0\.5 s") as caught:
            await hasty.search(runaway(text))
    assert repr(text) in str(caught.value)


async def test_the_worker_of_a_runaway_is_not_left_behind(hasty: Matcher):
    with pytest.raises(SearchError):
        await hasty.search(runaway())
    assert list_workers() == []


async def test_a_long_pattern_is_shortened_in_the_message(hasty: Matcher):
    with pytest.raises(SearchError) as caught:
        await hasty.search(make_search("(a+)+$|" + "b" * 500, "a" * 100 + "!"))
    assert len(str(caught.value)) < 200


async def test_the_loop_is_free_while_a_runaway_runs(hasty: Matcher):
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    counting = asyncio.create_task(count())
    with pytest.raises(SearchError):
        await hasty.search(runaway())
    counting.cancel()
    assert turns > 5


async def test_a_cancelled_search_leaves_no_worker_behind(matcher: Matcher):
    searching = asyncio.create_task(matcher.search(runaway()))
    await wait_until(lambda: len(list_workers()) == 1, "the worker was started")
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    assert list_workers() == []


async def test_a_search_after_a_runaway_is_answered(hasty: Matcher):
    with pytest.raises(SearchError):
        await hasty.search(runaway())
    assert await hasty.search(make_search("a", "a")) is True


async def test_one_worker_serves_one_search_after_another(matcher: Matcher):
    await matcher.search(make_search("a", "a"))
    [first] = list_workers()
    await matcher.search(make_search("b", "a"))
    assert list_workers() == [first]


async def test_searches_at_once_do_not_wait_for_each_other(matcher: Matcher):
    stuck = asyncio.create_task(matcher.search(runaway()))
    await wait_until(lambda: len(list_workers()) == 1, "the first search has a worker")
    assert await matcher.search(make_search("a", "a")) is True
    assert not stuck.done()
    stuck.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stuck


async def test_only_two_idle_workers_are_kept(matcher: Matcher):
    answers = await asyncio.gather(*(matcher.search(make_search("a", "a")) for _ in range(5)))
    assert answers == [True] * 5
    assert len(list_workers()) == 2


async def test_closing_ends_the_idle_workers(matcher: Matcher):
    await matcher.search(make_search("a", "a"))
    assert len(list_workers()) == 1
    matcher.close()
    assert list_workers() == []


async def test_closing_twice_does_no_harm(matcher: Matcher):
    await matcher.search(make_search("a", "a"))
    matcher.close()
    matcher.close()
    assert list_workers() == []


async def test_a_search_under_way_while_closing_keeps_its_answer_and_its_worker_ends(matcher: Matcher):
    searching = asyncio.create_task(matcher.search(make_search("needle$", "x" * 20_000_000 + "needle")))
    await wait_until(lambda: len(list_workers()) == 1, "the worker was started")
    matcher.close()
    assert await searching is True
    assert list_workers() == []


async def test_an_idle_worker_that_died_is_replaced(matcher: Matcher):
    await matcher.search(make_search("a", "a"))
    [worker] = list_workers()
    worker.kill()
    await wait_until(lambda: not is_running(worker.pid), "the worker died")
    assert await matcher.search(make_search("a", "a")) is True


async def test_a_worker_that_dies_at_work_gives_no_answer(matcher: Matcher):
    searching = asyncio.create_task(matcher.search(runaway()))
    await wait_until(lambda: len(list_workers()) == 1, "the worker was started")
    list_workers()[0].kill()
    with pytest.raises(SearchError):
        await searching
    assert list_workers() == []


async def test_no_descriptor_is_left_open(matcher: Matcher, hasty: Matcher):
    before = count_descriptors()
    await asyncio.gather(*(matcher.search(make_search("a", "a")) for _ in range(3)))
    with pytest.raises(SearchError):
        await hasty.search(runaway())
    matcher.close()
    assert count_descriptors() <= before


async def test_without_an_interpreter_there_is_no_answer_and_nothing_is_left(
    matcher: Matcher, monkeypatch: pytest.MonkeyPatch
):
    before = count_descriptors()
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(SearchError, match="the searching process failed"):
        await matcher.search(make_search("a", "a"))
    assert count_descriptors() <= before


async def test_a_frozen_program_says_that_it_cannot_search(matcher: Matcher, monkeypatch: pytest.MonkeyPatch):
    before = count_descriptors()
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(SearchError, match="no Python interpreter is at hand"):
        await matcher.search(make_search("a", "a"))
    assert count_descriptors() <= before


def test_two_loops_in_two_threads_share_a_matcher():
    matcher = Matcher(PATIENT_S)
    wrong: list[Any] = []
    together = threading.Barrier(2)

    async def search_often(letter: str) -> None:
        for number in range(20):
            subject = letter * (number + 1)
            if not await matcher.search(make_search(f"^{letter}{{{number + 1}}}$", subject)):
                wrong.append((letter, number))
            if await matcher.search(make_search(f"[^{letter}]", subject)):
                wrong.append((letter, number))

    def live(letter: str) -> None:
        together.wait()
        asyncio.run(search_often(letter))

    threads = [threading.Thread(target=live, args=(letter,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    matcher.close()
    assert wrong == []
    assert list_workers() == []


def test_a_worker_outlives_the_loop_it_was_started_on():
    matcher = Matcher(PATIENT_S)
    assert asyncio.run(matcher.search(make_search("a", "a"))) is True
    [first] = list_workers()
    assert asyncio.run(matcher.search(make_search("b", "a"))) is False
    assert list_workers() == [first]
    matcher.close()


HOST = """
import asyncio, os, psutil
from hookline.match import Search
from hookline.matcher import Matcher
from hookline.patterns.python import compile_pattern

async def main():
    search = Search(pattern=compile_pattern("(a+)+$"), subject="a" * 100 + "!")
    searching = asyncio.create_task(Matcher(0.5).search(search))
    while not (children := psutil.Process().children()):
        await asyncio.sleep(0.01)
    while psutil.Process(children[0].pid).cpu_times().user < 0.1:
        await asyncio.sleep(0.01)
    print(children[0].pid, flush=True)
    os._exit(1)

asyncio.run(main())
"""


async def test_a_worker_at_work_ends_though_its_host_died():
    command = [sys.executable, "-c", HOST]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENT_S, check=False)
    worker = int(done.stdout)
    await wait_until(lambda: not is_running(worker), "the orphaned worker ended")
