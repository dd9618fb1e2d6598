"""
The docs tell the truth: every snippet is run, every list is complete, every link leads somewhere.

The blocks of a page are one story in one scratch project, told from top to bottom. What each kind of block
means is in CONTRIBUTING.md, "The docs".
"""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import click
import msgspec
import pytest

import hookline
from hookline import lifecycle, modules, testing
from hookline.adapters.table import HOSTS, Host
from hookline.cli.main import VERBS, cli
from hookline.config.layers import load_file
from hookline.config.locate import HookFile
from hookline.dialects import spec
from hookline.dialects.table import DIALECTS
from hookline.events import EVENT_NAMES
from hookline.outcome import FailureKind, RunStatus
from support import Bench
from terminal import talk_to_hookline

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
README_EXAMPLE_ENDS_BEFORE = 40
COMMAND_LIMIT_S = 30
# Whichever page is looked at first waits until it has been told among all others.
STORIES_LIMIT_S = 180

_FENCE = re.compile(
    r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_DURATION = re.compile(r"\b\d+ ms\b")
_MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
_ANSWER = re.compile(r"\[y/N\]: (?P<answer>\w+)$", re.MULTILINE)
_VARIABLE = re.compile(r"\bHOOKLINE_[A-Z_]*[A-Z]\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page."""

    language: str
    title: str
    text: str
    line: int


def read_blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks = [
        Block(
            language=match["language"],
            title=match["title"] or "",
            text=match["text"],
            line=text.count("\n", 0, match.start()) + 1,
        )
        for match in _FENCE.finditer(text)
    ]
    assert text.count("\n```") == 2 * len(blocks), f"{page}: a fence that is not understood"
    return blocks


def is_told(block: Block) -> bool:
    return block.title != "part" and block.language in ("console", "python", "yaml", "json", "sh", "text")


def read_page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def name_page(page: Path) -> str:
    return str(page.relative_to(ROOT))


STORIES = [page for page in PAGES if any(is_told(block) for block in read_blocks(page))]


@dataclass(slots=True)
class Story:
    """
    A page being told: a home folder, a project in it, and the environment its commands run in.

    The page calls the home `/home/you`.
    """

    home: Path
    printed: str = ""
    exported: dict[str, str] = field(default_factory=dict)
    _bench: Bench = field(init=False)

    def __post_init__(self) -> None:
        self._bench = Bench(self.home)

    @property
    def project(self) -> Path:
        return self._bench.project

    def tell(self, block: Block) -> None:
        if block.title == "output":
            assert_prints(self.printed, block.text)
        elif block.title:
            self.write(block)
        elif block.language == "console":
            self.run_console(block.text)
        elif block.language == "python":
            self.printed = self.run([sys.executable, "-c", block.text], is_checked=True)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            assert_loads(self.home / "hooks.yaml", block.text)

    def write(self, block: Block) -> None:
        path = self.home / block.title[2:] if block.title.startswith("~/") else self.project / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name == "hooks.yaml":
            assert_loads(path, block.text)
        path.write_text(block.text, encoding="utf-8")

    def run_console(self, text: str) -> None:
        for command, expected in split_console(text):
            if command.startswith("export "):
                name, _, value = command.removeprefix("export ").partition("=")
                self.exported[name] = value
            elif (found := _ANSWER.search(expected)) is not None:
                assert_prints(self.run_in_terminal(command, found["answer"]), expected)
            else:
                assert_prints(self.run(["/bin/sh", "-c", command]), expected)

    def run(self, argv: list[str], *, is_checked: bool = False) -> str:
        done = subprocess.run(
            argv,
            cwd=self.project,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_LIMIT_S,
            text=True,
            check=False,
        )
        assert not is_checked or done.returncode == 0, done.stdout
        return done.stdout.replace(str(self.home), "/home/you")

    def run_in_terminal(self, command: str, answer: str) -> str:
        """What a terminal shows to a person who runs a verb and answers its question."""
        program, *arguments = shlex.split(command)
        assert program == "hookline"
        own_home = {"HOOKLINE_HOME": str(self.home / ".hookline")}
        talk = talk_to_hookline(self._bench, *arguments, answer=answer, **{**own_home, **self.exported})
        return talk.shown.replace(str(self.home), "/home/you")

    def environment(self) -> Mapping[str, str]:
        # Without compiled files each command would take twice as long.
        left_out = ("HOOKLINE", "PYTHONDONTWRITEBYTECODE")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        programs = os.pathsep.join((str(Path(sys.executable).parent), inherited.get("PATH", os.defpath)))
        # The plugins of this project's own tests are none of a reader's.
        own = {"PATH": programs, "HOME": str(self.home), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return {**inherited, **own, **self.exported}


def split_console(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block and what each prints; a command goes on after a backslash."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        length = next(number for number, line in enumerate(lines, 1) if not line.endswith("\\\n"))
        yield "".join(lines[:length]).strip(), "".join(lines[length:])


def assert_prints(actual: str, expected: str) -> None:
    """
    Compare outputs; `...` stands for anything on a line, and for any lines where it stands alone.

    All durations, all times and all widths of gaps count as the same.
    """
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(piece) for piece in _squeeze(line).split("...")) + "\n"
    text = "".join(f"{_squeeze(line)}\n" for line in actual.splitlines())
    assert re.fullmatch(pattern, text), f"the page says:\n{expected}\nbut it prints:\n{actual}"


def _squeeze(line: str) -> str:
    return re.sub(r" +", " ", _MOMENT.sub("2026-01-31 12:00:00", _DURATION.sub("1 ms", line))).rstrip()


def assert_loads(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    dialect = next((d for d in DIALECTS.values() if d.folder in path.parts), DIALECTS["native"])
    reading = load_file(HookFile(layer="user", dialect=dialect, path=path)).reading
    assert not [str(problem) for problem in reading.problems if problem.severity == "error"]


def tell_page(page: Path, home: Path) -> None:
    story = Story(home.resolve())
    for block in read_blocks(page):
        if not is_told(block):
            continue
        try:
            story.tell(block)
        except AssertionError as error:
            raise AssertionError(f"{page}:{block.line}: {error}") from error


@pytest.fixture(scope="session")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Path, Future[None]]]:
    """All stories, told side by side, since they mostly wait for processes to start."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        yield {page: pool.submit(tell_page, page, tmp_path_factory.mktemp("you")) for page in STORIES}
        pool.shutdown(cancel_futures=True)


@pytest.mark.timeout(STORIES_LIMIT_S)
@pytest.mark.skipif(os.name == "nt", reason="the stories are told for a POSIX shell")
@pytest.mark.parametrize("page", STORIES, ids=name_page)
def test_page_tells_what_happens(page: Path, stories: Mapping[Path, Future[None]]) -> None:
    stories[page].result()


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_links_lead_somewhere(page: Path) -> None:
    for match in _LINK.finditer(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        target, _, anchor = match["target"].partition("#")
        if "://" in target:
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), match["target"]
        assert path.is_relative_to(ROOT), match["target"]
        if anchor:
            assert anchor in find_anchors(path), match["target"]


def find_anchors(page: Path) -> set[str]:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", match["text"].lower()).replace(" ", "-") for match in _HEADING.finditer(text)}


def test_every_page_is_on_a_shelf() -> None:
    index = read_page("index.md")
    pages = [page.relative_to(DOCS).as_posix() for page in sorted(DOCS.rglob("*.md")) if page.name != "index.md"]
    assert [page for page in pages if f"]({page})" not in index] == []


def test_readme_shows_its_example_and_commands_early() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[: README_EXAMPLE_ENDS_BEFORE - 1]
    early = "\n".join(lines)
    assert early.count("\n* **") == 3
    for shown in ("```yaml", "```console", "→ blocked", "make demo", "make test"):
        assert shown in early


def test_generated_pages_are_up_to_date() -> None:
    generators = sorted((ROOT / "tools").glob("generate_*.py"))
    assert generators
    for generator in generators:
        for path, render in runpy.run_path(str(generator))["PAGES"].items():
            assert path.read_text(encoding="utf-8") == render(), f"run python {generator.relative_to(ROOT)}"


def test_every_event_has_a_section() -> None:
    assert set(EVENT_NAMES) <= find_anchors(DOCS / "reference" / "events.md")


def test_every_problem_code_is_explained_and_no_other() -> None:
    page = read_page("reference/problems.md")
    explained = re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)
    assert explained == sorted(set(explained))
    assert set(explained) == set(find_codes())


def find_codes() -> Iterator[str]:
    """The codes of all problems that the source makes: given by keyword, or first to a function that notes one."""
    notes = {"add", "warn", "_problem", "_add_defect"}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            if name in notes and len(node.args) > 1:
                given.append(node.args[0])
            yield from (value.value for value in given if is_code(value))


def is_code(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


SPECS = [
    spec.NativeHookSpec,
    spec.MatchSpec,
    spec.ArgumentSpec,
    spec.NativeRunSpec,
    spec.NativeExecutionSpec,
    spec.NativeSettingsSpec,
    spec.ModuleSpec,
]


@pytest.mark.parametrize("keys", SPECS, ids=lambda keys: keys.__name__)
def test_every_key_of_the_hooks_file_is_explained(keys: Any) -> None:
    page = read_page("reference/hooks-file.md")
    names = [named.encode_name for named in msgspec.structs.fields(keys)]
    assert [name for name in names if f"\n| `{name}` |" not in page] == []


def test_every_verb_and_option_is_explained() -> None:
    page = read_page("reference/command-line.md")
    for verb in VERBS:
        command = cli.get_command(click.Context(cli), verb)
        assert command is not None
        assert f"\n## hookline {verb}\n" in page
        section = page.split(f"\n## hookline {verb}\n")[1].split("\n## ")[0]
        assert [name for name in find_options(command) if f"`{name}" not in section] == []


def test_every_key_of_a_listed_hook_is_explained() -> None:
    section = read_page("reference/command-line.md").split("\n## hookline list\n")[1].split("\n## ")[0]
    with testing.make_engine([testing.make_hook()]) as engine:
        (shown,) = engine.snapshot()["hooks"]
    assert [key for key in shown if f"`{key}`" not in section] == []


def find_options(command: click.Command) -> Iterator[str]:
    """The options of a command, and the names and options of the commands below it."""
    for name, below in getattr(command, "commands", {}).items():
        yield name
        yield from find_options(below)
    for parameter in command.params:
        yield from (option for option in parameter.opts if option.startswith("-"))


def test_every_public_name_is_explained() -> None:
    page = read_page("reference/python.md")
    names = {*hookline.__all__, *lifecycle.__all__, *find_names(testing), "hookline_project"}
    assert [name for name in sorted(names) if f"`{name}" not in page] == []


def test_every_method_of_the_engine_is_explained() -> None:
    page = read_page("reference/python.md")
    names = {name for name in dir(hookline.Engine) if not name.startswith("_")}
    assert sorted(names - set(re.findall(r"[`.](\w+)", page))) == []


def test_the_readme_names_every_adapter_and_no_extra_that_is_none() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([a-z-]+)` \|", readme, re.MULTILINE))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {host.name for host in HOSTS} <= named <= set(extras)


def test_every_name_for_authors_of_modules_is_explained() -> None:
    page = read_page("reference/module-api.md")
    assert [name for name in modules.__all__ if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", ["block_rm_rf", "redact_secrets", "filter_context", "handoff"])
def test_the_modules_of_the_docs_are_the_examples(name: str) -> None:
    shown = [
        block.text
        for page in ("how-to/write-a-module.md", "how-to/ask-the-user.md", "how-to/wire-a-host.md")
        for block in read_blocks(DOCS / page)
        if block.title.endswith(f"/{name}.py")
    ]
    assert shown == [(ROOT / "examples" / "modules" / f"{name}.py").read_text(encoding="utf-8")]


def find_names(module: ModuleType) -> Iterator[str]:
    """The public classes and functions that a module defines."""
    for name, value in vars(module).items():
        if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_"):
            yield name


@pytest.mark.parametrize("words", [RunStatus, FailureKind], ids=["statuses", "failures"])
def test_every_status_and_failure_is_explained(words: Any) -> None:
    page = read_page("reference/replies.md")
    assert [word for word in get_args(words) if f"`{word}`" not in page] == []


def test_every_variable_is_explained() -> None:
    page = read_page("reference/command-line.md") + read_page("reference/environment.md")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    names = {name for source in sources for name in _VARIABLE.findall(source)}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_the_host_of_the_docs_is_the_example() -> None:
    (shown,) = (block.text for block in read_blocks(DOCS / "how-to/write-a-host.md") if block.title == "host.py")
    assert shown == (ROOT / "examples" / "host.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_the_agent_of_a_how_to_is_the_example(host: Host) -> None:
    (shown,) = (b.text for b in read_blocks(DOCS / f"how-to/use-with-{host.name}.md") if b.title == "agent.py")
    assert shown == (ROOT / "examples" / f"with_{host.module_name}.py").read_text(encoding="utf-8")
