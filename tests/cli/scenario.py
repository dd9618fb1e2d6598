"""
Scenarios of the command line: a text file tells what lies where, what is typed, and what comes of it.

    # What the scenario shows, in a sentence.

    --- project/.hookline/hooks/hooks.yaml
    hooks: [...]

    $ hookline fire before_tool_call --tool bash
    > a line of stdout, where ... stands for anything
    > ...
    ! a line of stderr
    ? 2

Files lie below a scratch folder with the folders `project`, where the commands are typed, and `home`. After a
command may stand, in any order: `<` a line of its stdin, `>` a line of stdout, `!` a line of stderr, `?` the exit
status, which is 0 otherwise, and `= path value` for what stands in the JSON object on stdout (then stdout is not
compared as text). A line `...` alone stands for any number of lines. What is not told must not be there: a command
without `!` lines says nothing on stderr. `{project}`, `{home}` and `{python}` are filled in everywhere.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIME_LIMIT_S = 50
_COMMAND = "hookline"
_ANY = "..."


class ScenarioError(Exception):
    """A scenario that is not written as scenarios are."""


@dataclass
class Step:
    """One command and what is to come of it."""

    line: int
    words: list[str]
    stdin: list[str] = field(default_factory=list)
    stdout: list[str] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)
    values: list[tuple[str, Any]] = field(default_factory=list)
    exit_code: int = 0


@dataclass
class Scenario:
    """The files of a scenario and its steps, in the order in which they stand; a file may come between commands."""

    parts: list[tuple[str, str] | Step]


class Folder:
    """The scratch folder of one scenario."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names = {"project": str(root / "project"), "home": str(root / "home"), "python": sys.executable}
        for name in ("project", "home"):
            (root / name).mkdir()

    def fill(self, text: str) -> str:
        """Put the folders' paths in their places."""
        return re.sub(r"\{(project|home|python)\}", lambda match: self._names[match[1]], text)

    def write(self, name: str, text: str) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.fill(text), encoding="utf-8")

    def run(self, step: Step) -> subprocess.CompletedProcess[str]:
        words = [self.fill(word) for word in step.words]
        own = dict(word.split("=", 1) for word in words[: words.index(_COMMAND)])
        return subprocess.run(
            [sys.executable, "-m", _COMMAND, *words[words.index(_COMMAND) + 1 :]],
            cwd=self._root / "project",
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": self._names["home"], "COLUMNS": "120", **own},
            input=self.fill("\n".join(step.stdin)),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=TIME_LIMIT_S,
            check=False,
        )


def parse_scenario(text: str) -> Scenario:
    """Read a scenario; raises `ScenarioError`, naming the line, for what is none."""
    parts: list[tuple[str, str] | Step] = []
    lines: list[str] | None = None  # of the file that is being read
    for number, line in enumerate(text.splitlines(), 1):
        sign, _, rest = line.partition(" ")
        if sign == "---" and rest:
            lines = []
            parts.append((rest, ""))
        elif sign == "$":
            lines = None
            parts.append(_parse_command(number, rest))
        elif lines is not None:
            lines.append(line)
            parts[-1] = (parts[-1][0], "\n".join(lines).strip("\n") + "\n")  # type: ignore[index]
        elif line.strip() and sign != "#":
            _add_expectation(parts, number, sign, rest)
    return Scenario(parts=parts)


def _parse_command(number: int, text: str) -> Step:
    words = shlex.split(text)
    if _COMMAND not in words:
        raise ScenarioError(f"line {number}: a command is hookline, after variables if any")
    return Step(line=number, words=words)


def _add_expectation(parts: list[tuple[str, str] | Step], number: int, sign: str, rest: str) -> None:
    step = parts[-1] if parts else None
    if not isinstance(step, Step):
        raise ScenarioError(f"line {number}: {sign!r} follows no command")
    if sign == "<":
        step.stdin.append(rest)
    elif sign == ">":
        step.stdout.append(rest)
    elif sign == "!":
        step.stderr.append(rest)
    elif sign == "?":
        step.exit_code = int(rest)
    elif sign == "=":
        path, _, value = rest.partition(" ")
        step.values.append((path, json.loads(value)))
    else:
        raise ScenarioError(f"line {number}: {sign!r} means nothing")


def run_scenario(scenario: Scenario, folder: Folder) -> Iterator[str]:
    """Play a scenario; yields everything that came otherwise than it tells."""
    for part in scenario.parts:
        if not isinstance(part, Step):
            folder.write(*part)
            continue
        done = folder.run(part)
        yield from (f"line {part.line}: {fault}" for fault in find_faults(part, done, folder))


def find_faults(step: Step, done: subprocess.CompletedProcess[str], folder: Folder) -> Iterator[str]:
    """What of one command's end is not as told."""
    if done.returncode != step.exit_code:
        yield f"exit status {done.returncode} instead of {step.exit_code}"
    if step.values:
        yield from _find_value_faults(step, done.stdout, folder)
    elif not is_match([folder.fill(line) for line in step.stdout], done.stdout):
        yield _show("stdout", done.stdout)
    if not is_match([folder.fill(line) for line in step.stderr], done.stderr):
        yield _show("stderr", done.stderr)


def _find_value_faults(step: Step, stdout: str, folder: Folder) -> Iterator[str]:
    try:
        data = json.loads(stdout, parse_constant=_refuse)
    except ValueError as error:
        yield f"stdout is not one JSON object ({error}):\n{stdout}"
        return
    for path, value in step.values:
        expected, found = _fill_all(value, folder), find_value(data, path)
        if not is_same(expected, found):
            yield f"{path} is {json.dumps(found)} instead of {json.dumps(expected)}"


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _fill_all(value: Any, folder: Folder) -> Any:
    if isinstance(value, str):
        return folder.fill(value)
    if isinstance(value, list):
        return [_fill_all(item, folder) for item in value]
    if isinstance(value, dict):
        return {key: _fill_all(item, folder) for key, item in value.items()}
    return value


def find_value(data: Any, path: str) -> Any:
    """What stands at a path of keys and list positions, joined by dots; `#` is the length of a list."""
    for step in path.split("."):
        if step == "#" and isinstance(data, list):
            data = len(data)
        elif isinstance(data, list) and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        elif isinstance(data, dict) and step in data:
            data = data[step]
        else:
            return f"(nothing at {step!r})"
    return data


def is_same(expected: Any, found: Any) -> bool:
    """Whether two JSON values are the same; `...` in a text stands for anything."""
    if isinstance(expected, str) and isinstance(found, str):
        return is_match_line(expected, found)
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(is_same, expected, found))
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(is_same(expected[key], found[key]) for key in expected)
    return type(expected) is type(found) and expected == found


def is_match_line(expected: str, text: str) -> bool:
    """Whether a text is as told, `...` standing for anything."""
    return re.fullmatch(_to_pattern(expected, anything=".*"), text, re.DOTALL) is not None


def is_match(expected: list[str], text: str) -> bool:
    """Whether the lines of a text are as told, a line `...` standing for any number of lines."""
    parts = [
        r"(?:[^\n]*\n)*" if line == _ANY else _to_pattern(line.rstrip(), anything=r"[^\n]*") + " *\n"
        for line in expected
    ]
    return re.fullmatch("".join(parts), text) is not None


def _to_pattern(text: str, *, anything: str) -> str:
    return anything.join(re.escape(part) for part in text.split(_ANY))


def _show(name: str, text: str) -> str:
    return f"{name} is not as told:\n{text}" if text else f"{name} is empty"
