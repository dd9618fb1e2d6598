"""
Searches that might take long, done by `re` in a process of its own that is killed when its time is up.

A worker is started when the first such search comes, kept for the next one, and ends by itself when this
process ends; an alarm ends it even in the middle of a search that nobody waits for any more. It reads a
pattern and a subject from its socket and answers with one byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading

from hookline.match import Look, Search

SEARCH_LIMIT_S = 1.0
_MOST_IDLE_WORKERS = 2
_HEADER = struct.Struct(">QQ")
_YES, _NO = b"1", b"0"
_WORKER = """\
import re, signal, struct, sys
source, sink = sys.stdin.buffer, sys.stdout.buffer
header = struct.Struct(">QQ")
while len(sizes := source.read(header.size)) == header.size:
    pattern, subject = (source.read(size).decode("utf-8", "surrogatepass") for size in header.unpack(sizes))
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
    sink.write(b"1" if re.search(pattern, subject) else b"0")
    sink.flush()
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
"""


class SearchError(Exception):
    """A search that has no answer: out of time, or nothing to do it with."""


class _Worker:
    """One searching process and the socket to it."""

    def __init__(self, limit_s: float) -> None:
        command = _worker_command(limit_s)
        self._socket, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    command,
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    start_new_session=True,
                )
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self.is_new = True

    async def search(self, search: Search) -> bool:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, _encode(search))
        answer = await loop.sock_recv(self._socket, 1)
        if answer not in (_YES, _NO):
            raise ConnectionResetError("it ended without an answer")
        self.is_new = False
        return answer == _YES

    def end(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()


class Matcher:
    """
    Runs searches out of place, each for at most `limit_s` seconds.

    May be used from several threads and event loops at once; each search has a worker to itself.
    """

    def __init__(self, limit_s: float = SEARCH_LIMIT_S) -> None:
        self._limit_s = limit_s
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()
        self._is_closed = False

    async def search(self, search: Search) -> bool:
        """
        Whether the pattern is found in the subject.

        Raises `SearchError` when the answer does not come in time or there is no way to get one.
        """
        try:
            async with asyncio.timeout(self._limit_s):
                if os.name == "nt":  # pragma: no cover - untested: sockets cannot be standard streams there
                    return await _search_once(search, self._limit_s)
                return await self._search(search)
        except TimeoutError:
            raise SearchError(
                f"the pattern {_shorten(search.pattern.text)} found no answer on {len(search.subject)} characters "
                f"within {self._limit_s:g} s"
            ) from None
        except OSError as error:
            raise SearchError(f"the searching process failed: {error}") from error

    async def look(self, look: Look, limit_s: float) -> bool:
        """
        Whether the predicate holds; asked on a thread, whose end nobody waits for when the time is up.

        Raises `SearchError` then, and what the predicate raises.
        """
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.to_thread(look.predicate.holds, look.event)
        except TimeoutError:
            raise SearchError(f"the matcher ({look.predicate}) had no answer within {limit_s:g} s") from None

    async def _search(self, search: Search) -> bool:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        worker = worker or _Worker(self._limit_s)
        try:
            found = await worker.search(search)
        except OSError:
            worker.end()
            if worker.is_new:
                raise
            return await self._search(search)  # an idle worker had died meanwhile; another one is asked
        except BaseException:
            worker.end()
            raise
        self._give_back(worker)
        return found

    def _give_back(self, worker: _Worker) -> None:
        with self._lock:
            if not self._is_closed and len(self._idle) < _MOST_IDLE_WORKERS:
                self._idle.append(worker)
                return
        worker.end()

    def close(self) -> None:
        """End the idle workers; one at work ends with its search."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()


def _worker_command(limit_s: float) -> list[str]:
    if getattr(sys, "frozen", False) or not sys.executable:
        raise SearchError("no Python interpreter is at hand to search with (a frozen program)")
    return [sys.executable, "-I", "-S", "-c", _WORKER, str(limit_s + 1)]


def _encode(search: Search) -> bytes:
    pattern = search.pattern.text.encode("utf-8", "surrogatepass")
    subject = search.subject.encode("utf-8", "surrogatepass")
    return _HEADER.pack(len(pattern), len(subject)) + pattern + subject


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


async def _search_once(search: Search, limit_s: float) -> bool:  # pragma: no cover - untested: Windows
    worker = await asyncio.create_subprocess_exec(
        *_worker_command(limit_s), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        answer, _ = await worker.communicate(_encode(search))
        return answer == _YES
    finally:
        with contextlib.suppress(ProcessLookupError):
            worker.kill()
