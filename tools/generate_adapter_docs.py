"""
Rewrites the reference page of adapters from the table it describes.

Run it after a change of `hookline.adapters.table`: `python tools/generate_adapter_docs.py`. A test fails while the page
is stale.
"""

from __future__ import annotations

from pathlib import Path

from hookline.adapters.table import ABILITIES, HOSTS, Host

DOCS = Path(__file__).resolve().parents[1] / "docs"

_ADAPTERS_HEAD = """\
<!-- Written by tools/generate_adapter_docs.py from src/hookline/adapters/table.py. Change that and run the script. -->

# Adapters

An adapter puts the agents of a framework under hooks. Each is an extra of its own: `pip install 'hookline[langchain]'`.
Importing an adapter whose framework is not installed says so.

| framework | extra | import |
|---|---|---|
"""

_ADAPTERS_OPTIONS = """\
## Options

All adapters take the same options, by keyword, and need none.

| option | meaning | default |
|---|---|---|
| `cwd` | The folder of the project whose hooks run. | where the process is |
| `trust`, `home` | As in [`Engine.open`](python.md). | the trust that your user gave, `~/.hookline` |
| `engine` | An engine that you opened, and close. | one for `cwd`, closed with the adapter or the process |
| `session` | A session that you entered; all runs are its turns. | each run is a session of its own |
| `profile` | The profile that events carry. | the name of the framework's agent |
| `kinds` | The kind of each tool by its name, for hooks that match `tool_kind`. | no kinds |
| `ask` | A function, plain or async, that puts a hook's question to a human. | a question is a no |

An unknown option is refused, and one that a `session` or an `engine` has settled already.

Hooks see the text of prompts and results. Images and the like pass by them, and stay where hooks change the text.

Used as a context manager, `with` or `async with`, an adapter makes all runs of the block turns of one session, and
closes its engine at the end.

An agent that runs inside a tool call of another is its sub-agent, if both have an adapter over the same hooks: the same
`engine` or `session`, or the same `cwd`, `home` and `trust`. A sub-agent without an adapter has no hooks.

Adapters fire the events of sessions, prompts, turns, tool calls and sub-agents. A framework's own approval and its
compaction stay its own: their events are not fired, unless the framework's section says so.

No failure of a hook lets a tool run that its `on_error` would keep from running, whatever the framework does with
exceptions.
"""

_ADAPTERS_TABLE = """\
## What hooks can do where

Every adapter is held to this table by one suite of tests, with real hooks and the real framework.

* **enforces**: it holds.
* **partly**: it holds, but for what is said below the table.
* **observes**: hooks see it and cannot change it.
* **not**: it does not hold.
"""


def render_adapters() -> str:
    """The page of all adapters."""
    rows = "".join(f"| {host.title} | `{host.name}` | `from {host.module} import {host.adapter}` |\n" for host in HOSTS)
    titles = " | ".join(host.title for host in HOSTS)
    table = [f"| ability | {titles} |", f"|---|{'---|' * len(HOSTS)}"]
    for name, meaning in ABILITIES.items():
        levels = (host.limits[name].level if name in host.limits else "enforces" for host in HOSTS)
        table.append(f"| {meaning} | {' | '.join(levels)} |")
    sections = [_render_host(host) for host in HOSTS if host.limits or host.notes]
    return "\n".join([_ADAPTERS_HEAD + rows, _ADAPTERS_OPTIONS, _ADAPTERS_TABLE, *table, "", *sections])


def _render_host(host: Host) -> str:
    limits = []
    for limit in dict.fromkeys(host.limits.values()):
        abilities = " ".join(ABILITIES[name] for name, other in host.limits.items() if other == limit)
        limits.append(f"* *{limit.level}*: {abilities} {limit.reason}")
    return "\n".join([f"## {host.title}", "", *limits, *(f"* {note}" for note in host.notes), ""])


PAGES = {DOCS / "reference" / "adapters.md": render_adapters}


def main() -> None:
    """Write the page."""
    for path, render in PAGES.items():
        path.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
