"""The events that hook folders know: one table, one row an event, and what each is called in Hookline."""

from __future__ import annotations

from msgspec import Struct


class FolderEvent(Struct, frozen=True, kw_only=True):
    """
    One row of the table.

    `events` are the names of the same event in Hookline, `match_key` the fact of the event that a matcher sees;
    empty where it sees none. `is_blockable` tells that a hook may stop what the event announces, `can_wait` that
    the agent waits for a hook with mode sync.
    """

    name: str
    events: tuple[str, ...]
    match_key: str = ""
    is_blockable: bool = False
    can_wait: bool = False


FOLDER_EVENTS: tuple[FolderEvent, ...] = (
    FolderEvent(
        name="PreToolUse", events=("before_tool_call",), match_key="tool_name", is_blockable=True, can_wait=True
    ),
    FolderEvent(name="PostToolUse", events=("after_tool_call",), match_key="tool_name", can_wait=True),
    FolderEvent(name="UserPromptSubmit", events=("user_prompt_submit",), is_blockable=True, can_wait=True),
    FolderEvent(name="ThreadStart", events=("session_start", "session_restored"), match_key="source"),
    FolderEvent(name="Stop", events=("after_turn",)),
    FolderEvent(name="PreCompact", events=("pre_compact",), match_key="trigger"),
    FolderEvent(name="PostCompact", events=("post_compact",), match_key="trigger"),
    FolderEvent(name="SubagentStart", events=("sub_agent_start",), match_key="agent_type"),
    FolderEvent(name="SubagentStop", events=("sub_agent_end",), match_key="agent_type"),
    FolderEvent(
        name="PermissionRequest",
        events=("permission_request",),
        match_key="tool_name",
        is_blockable=True,
        can_wait=True,
    ),
)

EVENTS_BY_NAME = {row.name: row for row in FOLDER_EVENTS}
BLOCKABLE_EVENTS: tuple[str, ...] = tuple(row.name for row in FOLDER_EVENTS if row.is_blockable)

# What a ThreadStart says of its source, which is two events in Hookline.
SOURCES = {"session_start": "startup", "session_restored": "resume"}

_BY_EVENT = {event: row for row in FOLDER_EVENTS for event in row.events}


def find_folder_event(event_name: str) -> FolderEvent | None:
    """The row for an event of Hookline; None for an event that hook folders do not know."""
    return _BY_EVENT.get(event_name)
