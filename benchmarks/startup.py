"""What importing Hookline and opening an engine cost, as whole processes and in one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from benchmarks.measure import Result, compare, difference, measure_pair
from hookline import Engine
from hookline.config.layers import load_layers
from hookline.registry import Registry

_HOOK = """
  - id: hook-{n}
    event: {event}
    match:
      tool_name: tool-{n}
      args:
        command: {{{operator}: '{text}'}}
    run: {{type: command, argv: [/bin/true]}}
    execution: {{mode: blocking, timeout_seconds: 5, on_error: block}}
"""


def write_hooks(project: Path, count: int, *, event: str = "before_tool_call", with_patterns: bool = False) -> Path:
    """A project's hooks file with this many hooks."""
    operator, texts = ("regex", r"\brm\s+-rf\s+{n}\b") if with_patterns else ("contains", "rm -rf {n}")
    hooks = (
        _HOOK.format(n=n, event=event, operator=operator, text=texts.format(n=n)).strip("\n") for n in range(count)
    )
    path = project / ".hookline" / "hooks" / "hooks.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("version: 1\nhooks:\n" + "\n".join(hooks) + "\n", encoding="utf-8")
    return path


def measure_startup(root: Path, *, rounds: int) -> Iterator[Result]:
    """Import and opening against a bare interpreter and the libraries alone."""
    yield difference(
        "import hookline",
        "a bare interpreter",
        measure_pair(_interpreter("import hookline"), _interpreter("pass"), rounds=rounds),
        goal_s=0.010,
    )
    project = root / "twenty"
    write_hooks(project, 20)
    opening = f"from hookline import Engine; Engine.open({str(project)!r}, home={str(root / 'home')!r}, trust='all')"
    yield compare(
        "opening an engine on 20 hooks",
        "importing asyncio and yaml",
        measure_pair(_interpreter(opening), _interpreter("import asyncio, yaml"), rounds=rounds),
        goal=1.3,
    )


def measure_loading(root: Path, *, rounds: int) -> Iterator[Result]:
    """Reading a thousand hooks against the YAML library's own fast loader."""
    project = root / "thousand"
    text = write_hooks(project, 1000).read_text(encoding="utf-8")

    def load() -> None:
        Registry(load_layers(project, home=root / "home", trust="all").hooks)

    yield compare(
        "loading 1,000 hooks into an index",
        "yaml.load, C safe loader",
        measure_pair(load, lambda: yaml.load(text, Loader=yaml.CSafeLoader), rounds=max(3, rounds // 2)),
        goal=1.0,
    )
    few = root / "hundred"
    few_text = write_hooks(few, 100).read_text(encoding="utf-8")
    with Engine.open(few, home=root / "home", trust="all") as engine:
        yield compare(
            "reloading an engine on 100 hooks",
            "yaml.load, C safe loader",
            measure_pair(engine.reload, lambda: yaml.load(few_text, Loader=yaml.CSafeLoader), rounds=rounds),
            goal=1.2,
        )


def _interpreter(code: str) -> object:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [os.path.realpath(sys.executable), "-I", "-c", _with_path(code)]
    subprocess.run(command, env=environment, check=True)  # once, so that everything is compiled
    return lambda: subprocess.run(command, env=environment, check=True)


def _with_path(code: str) -> str:
    """The code with the same packages as here; both sides of a pair get the same preamble."""
    return f"import sys; sys.path[:] = {sys.path!r}; {code}"
