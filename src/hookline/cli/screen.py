"""Text for people: aligned columns, and colours where a terminal shows them."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from hookline.problem import Problem

_SEVERITY_COLOURS = {"error": "red", "warning": "yellow", "notice": "cyan"}


def say(text: str = "", *, to_stderr: bool = False) -> None:
    """Print a line; colours are dropped where they would not show."""
    click.echo(text, err=to_stderr, color=False if os.environ.get("NO_COLOR") else None)


def say_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object on one line."""
    click.echo(json.dumps(data, ensure_ascii=True, default=str))


def paint(text: str, colour: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
    """The text in a colour."""
    return click.style(text, fg=colour, bold=bold or None, dim=dim or None)


def align(rows: Iterable[Sequence[str]], *, indent: str = "") -> list[str]:
    """Rows of cells as lines with their columns below each other; the last column is not padded."""
    cells = [list(row) for row in rows]
    columns = max((len(row) for row in cells), default=0)
    widths = [max((measure(row[n]) for row in cells if n < len(row)), default=0) for n in range(columns)]
    return [indent + "  ".join(_pad(row, widths)).rstrip() for row in cells]


def _pad(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell + " " * (widths[n] - measure(cell)) for n, cell in enumerate(row)]


def measure(text: str) -> int:
    """How many columns a terminal needs for a text."""
    plain = click.unstyle(text)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in plain)


def reveal(text: str) -> str:
    """The text with control characters spelled out, so that none can play tricks with a terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def shorten(text: str, limit: int = 100) -> str:
    """The text on one line, without control characters, cut at the limit."""
    line = reveal(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def show_problem(problem: Problem, lines: Sequence[str] = ()) -> list[str]:
    """A problem with the line it is about and its cure; `lines` are those of the file."""
    place = problem.place
    word = paint(f"{problem.severity}[{problem.code}]", _SEVERITY_COLOURS[problem.severity])
    hook = f" hook {problem.hook_id!r}:" if problem.hook_id is not None else ""
    shown = [f"{paint(str(place), bold=True)}: {word}{hook} {problem.message}"]
    if 0 < place.line <= len(lines):
        number = str(place.line)
        text = lines[place.line - 1].expandtabs(1)[:160]
        shown.append(paint(f"    {number} | {text}", dim=True))
        if place.column <= len(text) + 1:
            gap = measure(text[: place.column - 1])
            shown.append(paint(f"    {' ' * len(number)} | {' ' * gap}^", dim=True))
    if problem.cure:
        shown.append(f"    cure: {problem.cure}")
    return shown


def problem_to_json(problem: Problem) -> dict[str, Any]:
    """A problem as data."""
    return {
        "severity": problem.severity,
        "code": problem.code,
        "message": problem.message,
        "file": str(problem.place.path),
        "line": problem.place.line,
        "column": problem.place.column,
        "hook": problem.hook_id,
        "cure": problem.cure,
    }
