"""The demo inside frameworks, whose programs the benchmarks use too."""

from __future__ import annotations

import importlib

import pytest

from hookline import Tool
from hookline.adapters.table import HOSTS, Host
from hookline.demo.frameworks.job import Job
from support import Bench
from terminal import run_hookline

# Without compiled files, a framework takes seconds to import.
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_demo_runs_inside_a_framework(host: Host, bench: Bench) -> None:
    ended = run_hookline(bench, "demo", "--with", host.name, TMPDIR=str(bench.root), **COMPILED)
    assert ended.returncode == 0, ended.stderr
    assert f"A scripted agent of {host.title} works in" in ended.stdout
    for shown in (
        "blocked: rm -rf is not allowed here",
        "→ args now",
        "→ context:",
        "→ reminder:",
        "tool result: rm -rf is not allowed here",
        "model: All is done.",
        "notifications.log says: a turn of session",
    ):
        assert shown in ended.stdout
    assert list(bench.root.glob("hookline-demo-*")) == []


def test_demo_inside_a_framework_that_is_not_installed_says_what_to_install(bench: Bench) -> None:
    (bench.root / "langchain").mkdir()
    (bench.root / "langchain" / "__init__.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
    ended = run_hookline(bench, "demo", "--with", "langchain", PYTHONPATH=str(bench.root), **COMPILED)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "pip install 'hookline[langchain]'" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_demo_runs_a_model_that_the_environment_names(bench: Bench) -> None:
    ended = run_hookline(
        bench, "demo", "--with", "pydantic-ai", TMPDIR=str(bench.root), **COMPILED, HOOKLINE_DEMO_MODEL="test"
    )
    assert ended.returncode == 0, ended.stderr
    assert "An agent of Pydantic AI works in" in ended.stdout


@pytest.mark.parametrize("name", ["pydantic-ai", "langchain"])
def test_demo_with_a_model_that_does_not_work_says_so(bench: Bench, name: str) -> None:
    ended = run_hookline(
        bench, "demo", "--with", name, TMPDIR=str(bench.root), **COMPILED, HOOKLINE_DEMO_MODEL="nobody:nothing"
    )
    assert ended.returncode == 1
    assert "the model 'nobody:nothing' of HOOKLINE_DEMO_MODEL does not work" in ended.stderr


def echo(text: str) -> str:
    """Say the same."""
    return text


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
async def test_a_job_can_be_done_again_and_again_and_without_an_adapter(host: Host) -> None:
    heard: list[str] = []
    script = [Tool(name="echo", call_id=str(number), args={"text": f"{number}"}) for number in range(3)]
    job = Job(prompt="go", tools=[echo], script=script, hear=heard.append)
    run = importlib.import_module(f"hookline.demo.frameworks.{host.module_name}").build(job)
    assert [await run(), await run()] == ["All is done."] * 2
    assert heard == ["0", "1", "2"] * 2
