"""What only the host knows of the session an event happens in, for the dialects whose payloads tell it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class HostFacts(Struct, frozen=True, kw_only=True):
    """
    Facts about a session (a thread, in the words of hook folders); what the host does not say is empty.

    `origin` is `user`, or `vix` for a session that was itself started by a hook or a job: there no hook folder
    runs. The last five are left out of a payload while they are not set.
    """

    model: str = ""
    permission_mode: str = ""
    origin: str = ""
    headless: bool = False
    thread_mode: str = ""
    agent: str = ""
    turn_count: int = 0
    vix_bin: str = ""
    socket_path: str = ""
    parent_thread_id: str = ""
    active_workflow: str = ""
    trigger_type: str = ""
    trigger_ref: str = ""
    started_at: datetime | None = None


NO_FACTS = HostFacts()
