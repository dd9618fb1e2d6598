"""A scripted model behind the Messages API of Anthropic on this machine, for Claude Code, which needs a server."""

from __future__ import annotations

import itertools
import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from hookline.fields import Tool

Answer = Callable[[dict[str, Any]], str | Sequence[Tool]]
"""What the model says to a request: a text, or tool calls; an exception becomes an error of the provider."""


class MessagesApi:
    """
    A server as a context manager.

    `env` is what Claude Code needs in its environment to use it and nothing else: no network, no settings, no history
    of the user.
    """

    def __init__(self, answer: Answer) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hookline-claude-", ignore_cleanup_errors=True)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(answer))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def env(self) -> dict[str, str]:
        """Variables for the environment of Claude Code."""
        return {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self._server.server_port}",
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CONFIG_DIR": self._folder.name,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._folder.cleanup()


def _make_handler(answer: Answer) -> type[BaseHTTPRequestHandler]:
    numbers = itertools.count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self._send(200, "text/plain", "")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if not request.get("tools"):  # a title for the conversation and the like, or a count of tokens
                self._send_message(request, "hello") if request.get("stream") else self._send_json({"input_tokens": 1})
                return
            try:
                said = answer(request)
            except Exception as error:  # boundary: what a script raises is the provider's failure
                self._send_json({"type": "error", "error": {"type": "api_error", "message": str(error)}}, 400)
                return
            self._send_message(request, said)

        def _send_message(self, request: dict[str, Any], said: str | Sequence[Tool]) -> None:
            events = _make_events(f"{next(numbers)}", request["model"], said)
            text = "".join(
                f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n" for name, fields in events
            )
            self._send(200, "text/event-stream", text)

        def _send_json(self, value: Any, status: int = 200) -> None:
            self._send(status, "application/json", json.dumps(value))

        def _send(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _make_events(number: str, model: str, said: str | Sequence[Tool]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A message as a stream."""
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": []}
    yield "message_start", {"message": {**message, "usage": {"input_tokens": 1, "output_tokens": 1}}}
    if isinstance(said, str):
        blocks: list[Any] = [({"type": "text", "text": ""}, {"type": "text_delta", "text": said})]
    else:
        blocks = [
            (
                {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": tool.name, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(dict(tool.args))},
            )
            for place, tool in enumerate(said)
        ]
    for index, (block, delta) in enumerate(blocks):
        yield "content_block_start", {"index": index, "content_block": block}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    reason = "end_turn" if isinstance(said, str) else "tool_use"
    yield "message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}}
    yield "message_stop", {}
