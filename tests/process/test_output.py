"""What is kept of a stream."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.process.output import OUTPUT_LIMIT, HeadTail

LIMIT = 300
NOTE = re.compile(r"\n\[(\d+) bytes left out\]\n")


def keep(*pieces: bytes, limit: int = LIMIT) -> HeadTail:
    output = HeadTail(limit)
    for piece in pieces:
        output.add(piece)
    return output


def test_nothing_is_an_empty_text() -> None:
    assert keep().text() == ""


@pytest.mark.parametrize("size", [1, 99, 100, 101, 299, 300])
def test_a_stream_within_the_limit_is_kept_whole(size: int) -> None:
    data = bytes(97 + number % 26 for number in range(size))
    assert keep(data).text() == data.decode()


@pytest.mark.parametrize("size", [301, 302, 400, 599, 600, 601, 100_000])
def test_a_stream_over_the_limit_keeps_its_head_and_its_tail(size: int) -> None:
    data = bytes(97 + number % 26 for number in range(size))
    head, _, tail = NOTE.split(keep(data).text())
    assert head == data[:100].decode()
    assert len(tail) > 150
    assert data.decode().endswith(tail)


@pytest.mark.parametrize("size", [301, 302, 400, 599, 600, 601, 100_000])
def test_the_note_counts_exactly_the_bytes_that_are_missing(size: int) -> None:
    head, left_out, tail = NOTE.split(keep(b"x" * size).text())
    assert len(head) + int(left_out) + len(tail) == size


@pytest.mark.parametrize("size", [301, 1000, 100_000])
def test_no_more_is_kept_than_the_limit(size: int) -> None:
    head, _, tail = NOTE.split(keep(b"x" * size).text())
    assert len(head) + len(tail) <= LIMIT


def test_the_limit_is_256_kibibytes_unless_given() -> None:
    output = HeadTail()
    output.add(b"x" * OUTPUT_LIMIT)
    assert output.text() == "x" * 256 * 1024
    output.add(b"y")
    assert "bytes left out" in output.text()


@given(st.lists(st.binary(max_size=250), max_size=12))
def test_it_does_not_matter_in_which_pieces_a_stream_comes(pieces: list[bytes]) -> None:
    assert keep(*pieces).text() == keep(b"".join(pieces)).text()


@given(st.lists(st.binary(max_size=250), max_size=12))
def test_the_total_counts_all_bytes(pieces: list[bytes]) -> None:
    assert keep(*pieces).total == sum(map(len, pieces))


def test_the_text_may_be_asked_for_in_between() -> None:
    output = keep(b"a" * 250)
    output.text()
    output.add(b"b" * 1000)
    assert output.text() == keep(b"a" * 250 + b"b" * 1000).text()


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert keep(b"a\xff\xfeb").text() == "a\ufffd\ufffdb"


def test_characters_that_are_cut_in_two_become_replacement_characters() -> None:
    head, _, tail = NOTE.split(keep("漢".encode() * 1000).text())
    assert head == "漢" * 33 + "\ufffd"
    assert set(tail) <= {"\ufffd", "漢"}


def test_a_character_that_comes_in_two_pieces_is_whole() -> None:
    assert keep(b"\xe6\xbc", b"\xa2").text() == "漢"


def test_memory_stays_bounded_whatever_comes() -> None:
    output = HeadTail()
    piece = b"x" * 64 * 1024
    tracemalloc.start()
    try:
        for _ in range(1600):
            output.add(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert output.total == 1600 * 64 * 1024
    assert peak < 4 * OUTPUT_LIMIT
