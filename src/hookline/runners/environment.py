"""The environment and the working directory a hook's process gets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hookline.dialects.base import Dialect
from hookline.events import Event
from hookline.hook import Hook
from hookline.process.child import TOKEN_VARIABLE
from hookline.runners.base import Delivery
from hookline.runners.exchange import CallFiles

DEPTH_VARIABLE = "HOOKLINE_HOOK_DEPTH"
JOB_VARIABLE = "HOOKLINE_JOB_ID"
ATTEMPT_VARIABLE = "HOOKLINE_JOB_ATTEMPT"
# A repository must not get its own code into a hook by way of these.
_DROPPED = ("PYTHONHOME", "PYTHONPATH", "BASH_ENV", "ENV")
_TEMPLATE = re.compile(r"\$\{(\w+)\}")


class WorkingDirectory(Struct, frozen=True, kw_only=True):
    """Where a hook runs; `missing` is the session's directory when that is gone and another one serves."""

    path: str
    missing: str | None = None


def template_names(dialect: Dialect) -> tuple[str, ...]:
    """The names that `${name}` may hold in `run.env` and `run.cwd`; none where texts are taken as they are."""
    if not dialect.home_template:
        return ()
    return ("workspace_cwd", dialect.home_template, "session_id", "profile")


def template_values(dialect: Dialect, event: Event, *, project: Path, home: Path) -> dict[str, str]:
    """What the templates stand for at this event."""
    values = (event.cwd or str(project), str(home), event.session_id, event.profile)
    return dict(zip(template_names(dialect), values, strict=False))


def fill_templates(text: str, values: Mapping[str, str]) -> str:
    """Replace the known templates, each once and literally; anything else stays as it is."""
    return _TEMPLATE.sub(lambda match: values.get(match.group(1), match.group()), text)


def choose_directory(hook: Hook, event: Event, values: Mapping[str, str], *, project: Path) -> WorkingDirectory:
    """
    The hook's own directory, else the session's; if that is gone, the project's, the user's home, or the root.

    A directory the hook names itself is taken as it is: if it does not exist, the hook cannot start.
    """
    own = fill_templates(hook.program.cwd, values)
    if own:
        return WorkingDirectory(path=own)
    session = event.cwd or str(project)
    if _is_directory(session):
        return WorkingDirectory(path=session)
    fallbacks = (str(project), os.path.expanduser("~"))  # noqa: PTH111 - never raises
    usable = next((path for path in fallbacks if _is_directory(path)), os.sep)
    return WorkingDirectory(path=usable, missing=session)


def build_environment(
    hook: Hook,
    dialect: Dialect,
    values: Mapping[str, str],
    files: CallFiles,
    *,
    run_id: str,
    depth: int,
    delivery: Delivery | None = None,
) -> dict[str, str]:
    """
    The environment of one run.

    The host's, without what lets a repository slip code into a hook, then the contract's variables, then the
    hook's own, which win over all but the depth and the run's id.
    """
    environment = inherit_environment()
    prefix = dialect.variable_prefix
    environment |= {
        f"{prefix}_HOOK_ID": hook.id,
        f"{prefix}_HOOK_EVENT": hook.event,
        f"{prefix}_HOOK_PAYLOAD_FILE": str(files.payload),
    }
    if not dialect.replies_on_stdout:
        environment[f"{prefix}_HOOK_RESULT"] = str(files.reply)
    if delivery is not None:
        environment[JOB_VARIABLE] = delivery.job_id
        environment[ATTEMPT_VARIABLE] = str(delivery.attempt)
    if hook.source.layer == "project":
        # A cache beside a project's scripts would change the content that was trusted.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment |= {name: fill_templates(value, values) for name, value in hook.program.env.items()}
    environment[DEPTH_VARIABLE] = str(depth + 1)
    environment[TOKEN_VARIABLE] = run_id
    return environment


def inherit_environment() -> dict[str, str]:
    """The host's environment, without what lets a repository slip code into a hook."""
    environment = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    if not os.path.isabs(environment.get("PYTHONUSERBASE", os.sep)):  # noqa: PTH117 - a text
        del environment["PYTHONUSERBASE"]
    if "PATH" in environment:
        environment["PATH"] = clean_search_path(environment["PATH"])
    return environment | {"PYTHONSAFEPATH": "1", "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}


def clean_search_path(path: str) -> str:
    """`PATH` without its empty and relative entries, which would mean the folder the hook runs in."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))  # noqa: PTH117


def _is_directory(path: str) -> bool:
    try:
        return os.path.isdir(path)  # noqa: PTH112 - a text from outside, perhaps no path at all
    except ValueError:
        return False
