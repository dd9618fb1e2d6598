"""
Hookline as a middleware of MCP servers, for whatever client calls their tools.

    server = MCPServer("files", middleware=[HooklineMiddleware()])
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hookline.adapters.adapter import Adapter
from hookline.adapters.seam import MissingExtraError, ToolFailedError, get_result, inside
from hookline.fields import ToolResult
from hookline.lifecycle.errors import ToolCallDeniedError
from hookline.lifecycle.turn import Work

try:
    from mcp import UrlElicitationRequiredError
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.types import CallToolRequestParams
    from pydantic import BaseModel
except ImportError as error:
    raise MissingExtraError("mcp", error) from error

Context = ServerRequestContext[Any, Any]
Content = dict[str, Any]


class HooklineMiddleware(Adapter):
    """
    Puts the tool calls that a server is asked for under the hooks of a project.

    Takes what `Options` in `hookline.adapters.seam` lists. A server knows no turns and no prompts. In a `with` block of
    the middleware all calls belong to one session; otherwise each is made in a session of its own, with the name of the
    client as its agent and profile. Put it last in the list, so that hooks see the arguments that tools get.
    """

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """What the server answers a message; only calls of tools concern hooks."""
        if ctx.method != "tools/call" or not self._seam.is_heard():
            return await call_next(ctx)
        wanted = CallToolRequestParams.model_validate(ctx.params or {}, by_name=False)
        client = ctx.session.client_params
        run = self._seam.loose_run(agent=client.client_info.name if client is not None else "")
        async with run:
            return await self._call_tool(run.work, wanted, ctx, call_next)

    async def _call_tool(
        self, work: Work, wanted: CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        args = wanted.arguments or {}
        call = work.tool_call(self._seam.tool(wanted.name, args, str(ctx.request_id)))
        result: Content | None = None  # and stays so for a denial, and where a hook makes a success of an exception
        with contextlib.suppress(ToolCallDeniedError, ToolFailedError):
            async with call:
                if call.tool.args is not args:
                    ctx = replace(ctx, params={**(ctx.params or {}), "arguments": dict(call.tool.args)})
                try:
                    with inside(self._seam, work, call.tool):
                        result = _dump(await call_next(ctx))
                except UrlElicitationRequiredError:
                    call.postpone()
                    raise
                if "content" not in result:  # the tool asks its user something, and is called again with the answer
                    call.postpone()
                    return result
                if result.get("isError"):
                    raise ToolFailedError(_read_text(result))
                call.finish(_read_text(result))
        return _make_result(get_result(call)) if result is None else _edit_result(result, get_result(call))


def _dump(result: HandlerResult) -> Content:
    """A result as it goes to the client, which another middleware may have given as a model."""
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return result or {}


def _make_result(result: ToolResult) -> Content:
    return {"content": [_make_text(result.text)], "isError": result.failed, "resultType": "complete"}


def _make_text(text: str) -> Content:
    return {"type": "text", "text": text}


def _find_text(block: Mapping[str, Any]) -> str | None:
    """The text of a block of a result, also that of a file; None for an image and the like."""
    holder = block.get("resource", {}) if block.get("type") == "resource" else block
    text: str | None = holder.get("text")
    return text


def _read_text(result: Content) -> str:
    """What the client is told in words; for a result that is data alone, the data."""
    texts = [text for block in result["content"] if (text := _find_text(block)) is not None]
    if texts or "structuredContent" not in result:
        return "\n".join(texts)
    return json.dumps(result["structuredContent"], ensure_ascii=False)


def _edit_result(result: Content, new: ToolResult) -> Content:
    """The result as hooks left it; whatever held a text that they replaced is gone."""
    old = _read_text(result)
    if (new.text, new.failed) == (old, bool(result.get("isError"))):
        return result
    others = [block for block in result["content"] if _find_text(block) is None]
    edited = {**result, "content": [_make_text(new.text), *others], "isError": new.failed}
    data = result.get("structuredContent")
    if data == {"result": old}:  # how a server wraps a tool's text
        edited["structuredContent"] = {"result": new.text}
    elif data is not None and not new.text.startswith(old):
        # A client takes a result without the data that the tool's schema promises only if it is an error.
        del edited["structuredContent"]
        edited["isError"] = True
    return edited
