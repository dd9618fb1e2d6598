"""The demo inside frameworks, whose programs the benchmarks use too."""

from __future__ import annotations

import importlib
import logging
import tempfile
from pathlib import Path

import pytest

from hookline import Tool
from hookline.adapters.table import HOSTS, Host
from hookline.cli.main import run
from hookline.demo.frameworks.job import Job
from support import Bench
from terminal import run_hookline

FRAMEWORKS = [host for host in HOSTS if host.runs_agents]


def show_demo(framework: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run the demo in this process, where the frameworks are imported already."""
    status = run(["demo", "--with", framework])
    stdout, stderr = capsys.readouterr()
    return status, stdout, stderr


@pytest.fixture(autouse=True)
def process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command line may change in its process is put back."""
    logger = logging.getLogger("hookline")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(logger, "propagate", logger.propagate)
    monkeypatch.setattr(logger, "handlers", [*logger.handlers])
    monkeypatch.delenv("HOOKLINE_DEMO_MODEL", raising=False)


@pytest.mark.parametrize("host", FRAMEWORKS, ids=lambda host: host.name)
def test_demo_runs_inside_a_framework(host: Host, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, stdout, stderr = show_demo(host.name, capsys)
    assert (status, stderr) == (0, "")
    for shown in (
        f"A scripted agent of {host.title} works in",
        "blocked: rm -rf is not allowed here",
        "→ args now",
        "→ context:",
        "→ reminder:",
        "model: All is done.",
        "notifications.log says: a turn of session",
    ):
        assert shown in stdout
    assert [line for line in stdout.splitlines() if "tool result:" in line and "rm -rf is not allowed here" in line]
    assert list(tmp_path.glob("hookline-demo-*")) == []


def test_demo_inside_a_framework_that_is_not_installed_says_what_to_install(bench: Bench) -> None:
    (bench.root / "langchain").mkdir()
    (bench.root / "langchain" / "__init__.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
    ended = run_hookline(bench, "demo", "--with", "langchain", PYTHONPATH=str(bench.root))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "pip install 'hookline[langchain]'" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_demo_runs_a_model_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOOKLINE_DEMO_MODEL", "test")
    status, stdout, _ = show_demo("pydantic-ai", capsys)
    assert status == 0
    assert "An agent of Pydantic AI works in" in stdout


@pytest.mark.parametrize("name", ["pydantic-ai", "langchain", "google-adk"])
def test_demo_with_a_model_that_does_not_work_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOOKLINE_DEMO_MODEL", "nobody:nothing")
    status, _, stderr = show_demo(name, capsys)
    assert status == 1
    assert "the model 'nobody:nothing' of HOOKLINE_DEMO_MODEL does not work" in stderr


def echo(text: str) -> str:
    """Say the same."""
    return text


@pytest.mark.parametrize("host", FRAMEWORKS, ids=lambda host: host.name)
async def test_a_job_can_be_done_again_and_again_and_without_an_adapter(host: Host) -> None:
    heard: list[str] = []
    script = [Tool(name="echo", call_id=str(number), args={"text": f"{number}"}) for number in range(3)]
    job = Job(prompt="go", tools=[echo], script=script, hear=heard.append)
    do = importlib.import_module(f"hookline.demo.frameworks.{host.module_name}").build(job)
    assert [await do(), await do()] == ["All is done."] * 2
    assert heard == ["0", "1", "2"] * 2
