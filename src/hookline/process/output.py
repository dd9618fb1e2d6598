"""What is kept of a stream that may never end: its head and its tail."""

from __future__ import annotations

OUTPUT_LIMIT = 256 * 1024


class HeadTail:
    """
    Keeps the first third and the last two thirds of a stream within a limit in bytes.

    What lies between is counted and replaced by a line that says how many bytes were left out.
    """

    __slots__ = ("_head", "_head_limit", "_tail", "_tail_limit", "total")

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._head_limit = limit // 3
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take in the next piece of the stream."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data
            if len(self._tail) > 2 * self._tail_limit:
                del self._tail[: -self._tail_limit]

    @property
    def is_cut(self) -> bool:
        """Whether something of the stream is left out."""
        return self.total > self._head_limit + self._tail_limit

    def text(self) -> str:
        """The kept part; bytes that are no UTF-8 become replacement characters."""
        tail = self._tail[-self._tail_limit :]
        left_out = self.total - len(self._head) - len(tail)
        middle = f"\n[{left_out} bytes left out]\n".encode() if left_out else b""
        if middle:
            tail = tail[len(middle) :]
            middle = f"\n[{self.total - len(self._head) - len(tail)} bytes left out]\n".encode()
        return b"".join((self._head, middle, tail)).decode("utf-8", "replace")
