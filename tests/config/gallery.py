"""Hooks files with something wrong in them, and what is to be found there."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hookline.config.layers import Layers, load_layers
from hookline.config.lint import lint_file
from hookline.problem import Problem, Severity
from support import Bench

# Stands in a text just before each place that a problem is about.
MARK = "«"


@dataclass(frozen=True, kw_only=True)
class Example:
    """
    A hooks file, the code of the problems to be found in it, and words of the first one's message and cure.

    The marks in the text say where the problems of this code are; without a mark it is about the whole file.
    `scripts` are files beside the hooks file.
    """

    code: str
    text: str
    says: str
    cure: str = ""
    severity: Severity = "error"
    hook_id: str | None = "a"
    name: str = "hooks.yaml"
    dialect: str = "native"
    layer: str = "user"
    scripts: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.code}-{self.says}"

    @property
    def places(self) -> list[tuple[int, int]]:
        """Line and column of each mark, as if no mark were there."""
        lines = enumerate(textwrap.dedent(self.text).split("\n"), 1)
        marks = [
            (number, mark.start() + 1 - before)
            for number, line in lines
            for before, mark in enumerate(re.finditer(MARK, line))
        ]
        return marks or [(0, 0)]

    def write(self, bench: Bench) -> None:
        """Write the file and its scripts where they belong."""
        bench.write(self.text.replace(MARK, ""), layer=self.layer, name=self.name, dialect=self.dialect)
        for name, text in self.scripts.items():
            bench.write_script(name, text, layer=self.layer, dialect=self.dialect)


def load(bench: Bench, **options: Any) -> Layers:
    """Load all layers of a bench: trusted, with all dialects."""
    return load_layers(bench.project, home=bench.home, **{"trust": "all", "dialects": ["native", "chrys"], **options})


def find_problems(bench: Bench) -> list[Problem]:
    """Everything that loading and the further checks find."""
    layers = load(bench)
    return [*layers.problems, *(problem for file in layers.files for problem in lint_file(file))]


def assert_found(example: Example, problems: Sequence[Problem]) -> None:
    """Exactly the problems of this code are found that the example marks, in its words."""
    found = [problem for problem in problems if problem.code == example.code]
    found.sort(key=lambda problem: (problem.place.line, problem.place.column))
    places = [(problem.place.line, problem.place.column) for problem in found]
    assert places == example.places, [str(problem) for problem in problems]
    first = found[0]
    assert first.place.path.name == example.name
    assert example.says in first.message
    assert example.cure in first.cure
    assert (first.severity, first.hook_id) == (example.severity, example.hook_id)
