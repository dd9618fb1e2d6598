"""One event of each kind, and its own fields as they stand on the wire of both dialects with the documented form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hookline.events import Event, Fields
from hookline.fields import (
    AfterToolCall,
    AfterTurn,
    Agent,
    ApprovalRequested,
    ApprovalResolved,
    BeforeToolCall,
    BeforeTurn,
    PreCompact,
    SessionEnd,
    SessionRestored,
    SessionStart,
    SubAgent,
    SubAgentEnd,
    SubAgentStart,
    Tool,
    ToolError,
    ToolResult,
    UserInterrupt,
    UserPromptSubmit,
    WorkflowRunEnd,
    WorkflowRunStart,
)

_TOOL = Tool(name="edit_file", kind="filesystem.write", call_id="c1", args={"path": "é", "n": [1, None]})
_TOOL_WIRE = {"name": "edit_file", "kind": "filesystem.write", "call_id": "c1", "args": {"path": "é", "n": [1, None]}}
_SUB_AGENT = SubAgent(
    name="Explore", tool_name="task", invocation_id="i1", parent_call_id="c1", parent_provider_call_id="p1"
)
_SUB_AGENT_WIRE = {
    "name": "Explore",
    "tool_name": "task",
    "invocation_id": "i1",
    "parent_call_id": "c1",
    "parent_provider_call_id": "p1",
}
_RESULT_WIRE = {"text": "OK", "duration_ms": 42, "error": False, "failed": False, "approval_rejected": False}
_DENIED = ToolResult(text="no", failed=True, approval_rejected=True, rejection_source="hook", hook_denied=True)
_DENIED_WIRE = {
    "text": "no",
    "duration_ms": 0,
    "error": False,
    "failed": True,
    "approval_rejected": True,
    "rejection_source": "hook",
    "hook_denied": True,
}
_RAISED = ToolResult(text="boom", duration_ms=1.5, error=True, failed=True)
_RAISED_WIRE = {"text": "boom", "duration_ms": 1.5, "error": True, "failed": True, "approval_rejected": False}

# The record, and the fields beside the envelope.
WIRES: list[tuple[Fields, dict[str, Any]]] = [
    (SessionStart(), {}),
    (SessionRestored(restored_session_id="s0"), {"restored_session_id": "s0"}),
    (SessionEnd(), {}),
    (UserPromptSubmit(text="hi\n"), {"text": "hi\n", "injected": False}),
    (UserPromptSubmit(text="", injected=True), {"text": "", "injected": True}),
    (BeforeTurn(turn=1, user_text="hi"), {"turn": 1, "user_text": "hi", "is_retry": False}),
    (AfterTurn(turn=3, status="interrupted", failed=True), {"turn": 3, "status": "interrupted", "failed": True}),
    (UserInterrupt(), {}),
    (BeforeToolCall(tool=_TOOL), {"tool": _TOOL_WIRE}),
    (BeforeToolCall(tool=Tool(name="x")), {"tool": {"name": "x", "kind": "", "call_id": "", "args": {}}}),
    (
        AfterToolCall(tool=_TOOL, result=ToolResult(text="OK", duration_ms=42)),
        {"tool": _TOOL_WIRE, "result": _RESULT_WIRE},
    ),
    (AfterToolCall(tool=_TOOL, result=_DENIED), {"tool": _TOOL_WIRE, "result": _DENIED_WIRE}),
    (
        AfterToolCall(
            tool=_TOOL,
            result=ToolResult(failed=True, approval_rejected=True, rejection_source="user", hook_denied=False),
        ),
        {
            "tool": _TOOL_WIRE,
            "result": {**_DENIED_WIRE, "text": "", "rejection_source": "user", "hook_denied": False},
        },
    ),
    (ToolError(tool=_TOOL, result=_RAISED), {"tool": _TOOL_WIRE, "result": _RAISED_WIRE}),
    (
        ApprovalRequested(request_id="r1", caller_name="Code", tool=_TOOL),
        {"request_id": "r1", "caller_name": "Code", "tool": _TOOL_WIRE},
    ),
    (
        ApprovalResolved(request_id="r1", caller_name="Code", tool=_TOOL, approved=False),
        {"request_id": "r1", "caller_name": "Code", "tool": _TOOL_WIRE, "approved": False},
    ),
    (SubAgentStart(sub_agent=_SUB_AGENT), {"sub_agent": _SUB_AGENT_WIRE}),
    (
        SubAgentEnd(sub_agent=_SUB_AGENT, status="failed", result_summary="no"),
        {"sub_agent": _SUB_AGENT_WIRE, "status": "failed", "result_summary": "no"},
    ),
    (
        PreCompact(trigger="phase3", usage_pct=0.9, tokens_before=1000),
        {"trigger": "phase3", "usage_pct": 0.9, "tokens_before": 1000},
    ),
    (
        PreCompact(trigger="force", sub_agent=SubAgent(name="Explore", tool_name="task")),
        {
            "trigger": "force",
            "usage_pct": 0,
            "tokens_before": 0,
            "sub_agent": {"name": "Explore", "tool_name": "task"},
        },
    ),
    (WorkflowRunStart(run_id="w1", input_text="go"), {"run_id": "w1", "input_text": "go"}),
    (WorkflowRunEnd(run_id="w1", outcome="ok", reason=""), {"run_id": "w1", "outcome": "ok", "reason": ""}),
]


def make_whole_event(fields: Fields) -> Event:
    """An event with all its surroundings."""
    return Event(
        fields,
        session_id="s1",
        turn_id="t1",
        agent=Agent(id="a2", name="Explore", parent_id="main", depth=1),
        profile="Code",
        cwd="/a dir",
        event_id="e1",
        timestamp=datetime(2026, 5, 14, 15, 0, 0, tzinfo=UTC),
    )


def documented_envelope(fields: Fields) -> dict[str, Any]:
    """The documented base fields of `make_whole_event(fields)`."""
    return {
        "schema": 1,
        "event": make_whole_event(fields).name,
        "timestamp": "2026-05-14T15:00:00Z",
        "session_id": "s1",
        "profile": "Code",
        "cwd": "/a dir",
    }
