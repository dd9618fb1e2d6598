"""The verbs of a fleet without any database: what each says when it cannot work."""

from __future__ import annotations

import importlib.util
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec

import pytest

from entries import shell_hook, write_file
from hookline.cli.main import run
from hookline.job import Route
from jobs import make_job, open_outbox
from support import Bench
from terminal import make_environment, run_hookline

VERBS = pytest.mark.parametrize(
    "arguments",
    [
        ("outbox", "list", "--from"),
        ("outbox", "show", "x", "--from"),
        ("outbox", "retry", "x", "--from"),
        ("outbox", "purge", "--from"),
        ("outbox", "forward", "--to"),
        ("worker", "--from"),
        ("fleet", "init", "--to"),
        ("fleet", "metrics", "--from"),
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)


@pytest.fixture(autouse=True)
def home(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A home with a hook of a fleet and a job of it; what a verb does to the log is undone."""
    monkeypatch.setenv("HOOKLINE_HOME", str(bench.home))
    monkeypatch.chdir(bench.project)
    execution = {"event": "after_turn", "mode": "async", "delivery": "durable", "where": "fleet"}
    bench.write(write_file(shell_hook("job", "true", **execution)), layer="user")
    open_outbox(bench.home).put(make_job(route=Route(digest="d", queue="hooks")))
    loggers = [logging.getLogger(name) for name in ("hookline", "procrastinate", "psycopg")]
    before = [(logger, logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]
    yield
    for logger, level, propagate, handlers in before:
        logger.setLevel(level)
        logger.propagate = propagate
        logger.handlers = handlers


@VERBS
def test_what_is_no_address_is_refused_with_a_sentence(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "nowhere"]) == 1
    expected = "hookline: the address must be a URL such as postgresql://user@host:5432/database\n"
    assert capsys.readouterr() == ("", expected)


@VERBS
def test_a_server_that_is_not_there_is_said_to_be(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as held:  # bound, and nobody listens
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        assert run([*arguments, f"postgresql://me:secret@127.0.0.1:{port}/fleet"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"hookline: postgresql://127.0.0.1:{port}/fleet cannot be reached: ")
    assert "secret" not in line


@VERBS
def test_without_the_extra_each_verb_says_what_to_install(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookline.cli.fleet_options.find_spec", find_no_extra)
    assert run([*arguments, "postgresql://host/fleet"]) == 1
    expected = "hookline: fleets need procrastinate and psycopg; install them with: pip install 'hookline[fleet]'\n"
    assert capsys.readouterr() == ("", expected)


def find_no_extra(name: str) -> ModuleSpec | None:
    return None if name in ("procrastinate", "psycopg") else importlib.util.find_spec(name)


def test_the_outbox_of_the_home_needs_no_extra_and_imports_none(bench: Bench) -> None:
    program = (
        "import sys; from hookline.cli.main import run; run(['outbox', 'show', 'x'])\n"
        "print([name for name in ('psycopg', 'procrastinate', 'hookline.fleet') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=make_environment(bench), capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n"


def test_a_fleet_in_the_environment_does_not_change_what_the_outbox_is(bench: Bench) -> None:
    done = run_hookline(bench, "outbox", "list", HOOKLINE_FLEET_URL="postgresql://127.0.0.1:1/none")
    assert done.stdout.splitlines()[-1] == "1 pending, 0 done, 0 failed"
