"""The hooks of the soak: well-behaved ones, and one for each way to misbehave."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

# In the environment of everything that a hook starts and may leave running.
LEFT_VARIABLE = "SOAK_LEFT"
# What a search for this pattern takes for ever on.
RUNAWAY_TEXT = "a" * 5_000 + "!"

_REPLY = '"$HOOKLINE_HOOK_RESULT"'


class Kind(Struct, eq=False, kw_only=True):
    """
    One way to behave: a hook, how often it is wanted, and whether its event must come out blocked.

    `text` is what the tool's argument of that name has to be; `leaves` marks a hook that may leave children.
    """

    name: str
    shell: str
    weight: float = 1
    blocks: bool = False
    mode: str = "blocking"
    text: str = ""
    leaves: bool = False
    needs: str = "sh"
    match: dict[str, Any] = {}
    run: dict[str, Any] = {}
    execution: dict[str, Any] = {}

    def entry(self) -> dict[str, Any]:
        """The hook as an entry of a hooks file; it is meant when the argument `kinds` names it."""
        wanted = {"kinds": {"regex": rf"\b{self.name}\b"}, **self.match}
        env = {LEFT_VARIABLE: "1"} if self.leaves else {}
        return {
            "id": self.name,
            "event": "before_tool_call",
            "match": {"args": wanted},
            "run": {"type": "shell", "shell": self.shell, "env": env, **self.run},
            "execution": {"mode": self.mode, "on_error": "block" if self.blocks else "warn", **self.execution},
        }


_SHORT = {"timeout_seconds": 0.3, "kill_grace_seconds": 0.2}

KINDS: tuple[Kind, ...] = (
    # Those that behave.
    Kind(name="quiet", weight=30, shell="true"),
    Kind(name="reader", weight=10, shell="cat > /dev/null"),
    Kind(name="editor", weight=10, shell=f'echo \'{{"action": "modify", "args_override": {{"x": 1}}}}\' > {_REPLY}'),
    Kind(name="denier", weight=10, blocks=True, shell="echo no >&2; exit 2"),
    Kind(name="note", weight=10, mode="async", shell="cat > /dev/null"),
    Kind(name="forgotten", weight=10, mode="fire_and_forget", shell="true"),
    Kind(name="durable", weight=1, mode="async", shell="true", execution={"delivery": "durable"}),
    Kind(name="detached", weight=0.5, mode="fire_and_forget", shell="true", execution={"detach": True}),
    # Input and output.
    Kind(name="ignorant", weight=4, shell="exec true", text="x" * 300_000),
    Kind(name="flood", weight=2, shell="head -c 5000000 /dev/zero | tr '\\0' x; head -c 5000000 /dev/zero >&2"),
    Kind(name="flood_unheard", weight=2, mode="async", shell="head -c 5000000 /dev/zero | tr '\\0' x"),
    Kind(name="closer", weight=4, shell="exec < /dev/null > /dev/null 2>&1; sleep 0.05"),
    # Time limits and children.
    Kind(name="deaf", weight=1, blocks=True, shell="trap '' TERM; while :; do sleep 0.05; done", execution=_SHORT),
    Kind(name="deaf_unheard", weight=1, mode="async", shell="trap '' TERM; sleep 60; sleep 60", execution=_SHORT),
    Kind(name="family", weight=1, shell="sleep 300 & setsid sleep 300 & sleep 300", execution=_SHORT, needs="setsid"),
    Kind(name="parent", weight=2, leaves=True, shell="sleep 3 & exit 0"),
    Kind(name="leaving_parent", weight=1, leaves=True, shell="setsid sleep 3 & exit 0", needs="setsid"),
    # Ends.
    Kind(name="failing", weight=5, blocks=True, shell="exit 3"),
    Kind(name="killed", weight=3, blocks=True, shell="kill -KILL $$"),
    Kind(name="crashed", weight=3, blocks=True, shell="ulimit -c 0; kill -SEGV $$"),
    Kind(name="absent", weight=3, blocks=True, shell="", run={"type": "command", "argv": ["/nonexistent"]}),
    Kind(name="homeless", weight=3, blocks=True, shell="true", run={"cwd": "/nonexistent"}),
    # Replies.
    Kind(name="fifo", weight=3, blocks=True, shell=f"rm {_REPLY}; mkfifo {_REPLY}"),
    Kind(name="link", weight=3, blocks=True, shell=f"ln -sf /etc/hostname {_REPLY}"),
    Kind(name="folder", weight=3, blocks=True, shell=f"rm {_REPLY}; mkdir {_REPLY}; touch {_REPLY}/x"),
    Kind(name="gone", weight=3, blocks=True, shell=f"rm {_REPLY}"),
    Kind(name="torn", weight=3, blocks=True, shell=f"printf '{{\"action\": ' > {_REPLY}"),
    Kind(name="bytes", weight=3, blocks=True, shell=f"printf '\\377\\376' > {_REPLY}"),
    Kind(name="endless", weight=1, blocks=True, shell=f"head -c 2000000 /dev/zero > {_REPLY}"),
    # Matching.
    Kind(
        name="runaway",
        weight=0.2,
        blocks=True,
        shell="true",
        text=RUNAWAY_TEXT,
        match={"text": {"regex": "(a+)+$"}},
    ),
)


def usable_kinds() -> tuple[Kind, ...]:
    """The kinds whose programs are here."""
    return tuple(kind for kind in KINDS if shutil.which(kind.needs))


def write_hooks(project: Path, kinds: tuple[Kind, ...]) -> None:
    """Write the hooks file of the soak's project."""
    path = project / ".hookline" / "hooks" / "hooks.json"
    path.parent.mkdir(parents=True)
    settings = {"max_queued_hooks": 200, "shutdown_grace_seconds": 10}
    path.write_text(json.dumps({"settings": settings, "hooks": list(_entries(kinds))}), encoding="utf-8")


def _entries(kinds: tuple[Kind, ...]) -> Iterator[dict[str, Any]]:
    for kind in kinds:
        entry = kind.entry()
        if entry["run"]["type"] == "command":
            del entry["run"]["shell"]
        yield entry
