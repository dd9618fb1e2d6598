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
    AutoCompactionEnd,
    AutoCompactionStart,
    AutoRetryEnd,
    AutoRetryStart,
    BeforeAgentStart,
    BeforeCompact,
    BeforeModelCall,
    BeforeToolCall,
    BeforeTurn,
    Compacting,
    HookFailed,
    ModelStepEnd,
    ModelStepStart,
    PermissionRequest,
    PostCompact,
    PreCompact,
    SessionBeforeBranch,
    SessionBeforeSwitch,
    SessionBeforeTree,
    SessionBranch,
    SessionEnd,
    SessionRestored,
    SessionStart,
    SessionSwitch,
    SessionTree,
    SubAgent,
    SubAgentEnd,
    SubAgentStart,
    TodoReminder,
    Tool,
    ToolError,
    ToolResult,
    TtsrTriggered,
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

_BLOCKS = [{"type": "text", "text": "OK"}, {"type": "image", "data": "iVBO"}]

# The record, and the fields beside the envelope; these events are documented for both dialects.
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

# What documented events have come to carry since, and the fields that only the native wire shows.
LATER_WIRES: list[tuple[Fields, dict[str, Any], dict[str, Any]]] = [
    (
        AfterTurn(turn=3, messages=[{"role": "user"}], response="done", error="", tool_calls=2, iterations=3),
        {"turn": 3, "status": "ok", "failed": False},
        {"messages": [{"role": "user"}], "response": "done", "error": "", "tool_calls": 2, "iterations": 3},
    ),
    (
        AfterToolCall(tool=_TOOL, result=ToolResult(text="OK", duration_ms=42, content=_BLOCKS, details={"n": 1})),
        {"tool": _TOOL_WIRE, "result": _RESULT_WIRE},
        {"result": {**_RESULT_WIRE, "content": _BLOCKS, "details": {"n": 1}}},
    ),
    (
        ToolError(tool=_TOOL, result=ToolResult(text="boom", duration_ms=1.5, error=True, failed=True, content=[])),
        {"tool": _TOOL_WIRE, "result": _RAISED_WIRE},
        {"result": {**_RAISED_WIRE, "content": []}},
    ),
]

# The events that other dialects brought, on the native wire.
NATIVE_WIRES: list[tuple[Fields, dict[str, Any]]] = [
    (SessionBeforeSwitch(reason="new"), {"reason": "new"}),
    (
        SessionBeforeSwitch(reason="resume", target_session_file="/s/b.jsonl"),
        {"reason": "resume", "target_session_file": "/s/b.jsonl"},
    ),
    (
        SessionSwitch(reason="fork", previous_session_file="/s/a.jsonl"),
        {"reason": "fork", "previous_session_file": "/s/a.jsonl"},
    ),
    (SessionBeforeBranch(entry_id="e7"), {"entry_id": "e7"}),
    (SessionBranch(), {}),
    (SessionBeforeTree(preparation={"target_id": "e3"}, signal=object()), {"preparation": {"target_id": "e3"}}),
    (SessionTree(new_leaf_id="e3"), {"new_leaf_id": "e3", "from_extension": False}),
    (BeforeAgentStart(prompt="hi", system_prompt="be brief"), {"prompt": "hi", "system_prompt": "be brief"}),
    (BeforeModelCall(messages=({"role": "user"},)), {"messages": [{"role": "user"}]}),
    (ModelStepStart(turn_index=1), {"turn_index": 1}),
    (ModelStepEnd(turn_index=1), {"turn_index": 1, "tool_results": []}),
    (
        ModelStepEnd(message={"role": "assistant"}, tool_results=[{"text": "ok"}]),
        {"turn_index": 0, "message": {"role": "assistant"}, "tool_results": [{"text": "ok"}]},
    ),
    (PermissionRequest(tool=_TOOL, requested_dirs=("/other",)), {"tool": _TOOL_WIRE, "requested_dirs": ["/other"]}),
    (
        BeforeCompact(preparation={"tokens_before": 9}, custom_instructions="keep names", signal=object()),
        {"preparation": {"tokens_before": 9}, "branch_entries": [], "custom_instructions": "keep names"},
    ),
    (Compacting(messages=[{"role": "user"}]), {"messages": [{"role": "user"}]}),
    (
        PostCompact(trigger="manual", summarized_turns=4, tokens_before=9),
        {"trigger": "manual", "summarized_turns": 4, "tokens_before": 9, "from_extension": False},
    ),
    (AutoCompactionStart(reason="idle"), {"reason": "idle", "action": "context-full"}),
    (
        AutoCompactionEnd(action="handoff", error_message="too long", skipped=True),
        {"action": "handoff", "aborted": False, "will_retry": False, "error_message": "too long", "skipped": True},
    ),
    (
        AutoRetryStart(attempt=1, max_attempts=3, delay_ms=2000, error_message="overloaded"),
        {"attempt": 1, "max_attempts": 3, "delay_ms": 2000, "error_message": "overloaded"},
    ),
    (AutoRetryEnd(success=True, attempt=2), {"success": True, "attempt": 2}),
    (TtsrTriggered(rules=[{"name": "r"}]), {"rules": [{"name": "r"}]}),
    (TodoReminder(todos=[{"text": "t"}]), {"todos": [{"text": "t"}], "attempt": 1, "max_attempts": 1}),
    (
        HookFailed(hook_id="h", failed_event="before_turn", kind="exit", message="exit code 1", source="hooks.yaml:2"),
        {
            "hook_id": "h",
            "failed_event": "before_turn",
            "kind": "exit",
            "message": "exit code 1",
            "source": "hooks.yaml:2",
        },
    ),
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
