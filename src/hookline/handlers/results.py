"""
What handlers may return, as classes and as the plain dicts they stand for; None is no opinion.

A key that is left out says nothing. Where the last result stands as a whole (`SessionBefore...`,
`SessionCompactingResult`) a key that is left out takes back what an earlier handler gave under it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from msgspec import UNSET, Struct, UnsetType


class ToolCallResult(Struct, kw_only=True):
    """
    Of `tool_call`: stop the call, have a human asked about it, or rewrite its input.

    `reason` is what the model is told of a call that is stopped, `user_message` is for the user.
    """

    block: bool = False
    ask: bool = False
    reason: str | None = None
    user_message: str | None = None
    input: dict[str, Any] | UnsetType = UNSET


class ToolResultResult(Struct, kw_only=True):
    """
    Of `tool_result`: override parts of the result; `details=None` clears them.

    `content` is a list of blocks, or a text; `context` is appended to what the model reads.
    """

    content: Sequence[Any] | str | UnsetType = UNSET
    details: Any = UNSET
    is_error: bool | UnsetType = UNSET
    context: Sequence[str] | str | UnsetType = UNSET


class ContextResult(Struct, kw_only=True):
    """Of `context`: the messages that are sent to the model instead; an empty list sends none."""

    messages: Sequence[Any] | UnsetType = UNSET


class BeforeAgentStartResult(Struct, kw_only=True):
    """Of `before_agent_start`: a message to put before the model; the first one is kept."""

    message: Any = UNSET


class CancelResult(Struct, kw_only=True):
    """Of `session_before_switch`: stop what the event announces."""

    cancel: bool = False
    reason: str | None = None


class SessionBeforeBranchResult(CancelResult, kw_only=True):
    """Of `session_before_branch`: stop it, or branch without restoring the conversation."""

    skip_conversation_restore: bool | UnsetType = UNSET


class SessionBeforeTreeResult(CancelResult, kw_only=True):
    """Of `session_before_tree`: stop it, or give the summary `{summary, details}` of what is left behind."""

    summary: Any = UNSET


class SessionBeforeCompactResult(CancelResult, kw_only=True):
    """
    Of `session_before_compact`: stop it, or hand in the compaction.

    That holds `summary`, `first_kept_entry_id`, `tokens_before` and perhaps `short_summary`, `details`,
    `preserve_data`.
    """

    compaction: Any = UNSET


class SessionCompactingResult(Struct, kw_only=True):
    """Of `session.compacting`: texts to add, another prompt, data to keep."""

    context: Sequence[str] | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    preserve_data: Mapping[str, Any] | UnsetType = UNSET


class PromptResult(Struct, kw_only=True):
    """Of `user_prompt_submit`: stop the prompt, have a human asked, rewrite it, or add to it."""

    block: bool = False
    ask: bool = False
    reason: str | None = None
    user_message: str | None = None
    text: str | UnsetType = UNSET
    reminders: Sequence[str] | str | UnsetType = UNSET
    context: Sequence[str] | str | UnsetType = UNSET


class ToolCallReturn(TypedDict, total=False):
    """The keys of a dict returned from `tool_call`."""

    block: bool
    ask: bool
    reason: str
    user_message: str
    input: dict[str, Any]


class ToolResultReturn(TypedDict, total=False):
    """The keys of a dict returned from `tool_result`."""

    content: Sequence[Any] | str
    details: Any
    is_error: bool
    context: Sequence[str] | str


class ContextReturn(TypedDict, total=False):
    """The keys of a dict returned from `context`."""

    messages: Sequence[Any]


class BeforeAgentStartReturn(TypedDict, total=False):
    """The keys of a dict returned from `before_agent_start`."""

    message: Any


class CancelReturn(TypedDict, total=False):
    """The keys of a dict returned from `session_before_switch`."""

    cancel: bool
    reason: str


class SessionBeforeBranchReturn(CancelReturn, total=False):
    """The keys of a dict returned from `session_before_branch`."""

    skip_conversation_restore: bool


class SessionBeforeTreeReturn(CancelReturn, total=False):
    """The keys of a dict returned from `session_before_tree`."""

    summary: Any


class SessionBeforeCompactReturn(CancelReturn, total=False):
    """The keys of a dict returned from `session_before_compact`."""

    compaction: Any


class SessionCompactingReturn(TypedDict, total=False):
    """The keys of a dict returned from `session.compacting`."""

    context: Sequence[str]
    prompt: str
    preserve_data: Mapping[str, Any]


class PromptReturn(TypedDict, total=False):
    """The keys of a dict returned from `user_prompt_submit`."""

    block: bool
    ask: bool
    reason: str
    user_message: str
    text: str
    reminders: Sequence[str] | str
    context: Sequence[str] | str
