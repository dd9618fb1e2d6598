"""Whatever stands in a hooks file, reading it says what is wrong and where, and never fails or hangs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hookline import Problem
from hookline.config.file import LoadedFile, load_file
from hookline.config.layers import load_layers
from hookline.config.lint import lint_file
from hookline.config.locate import HookFile
from hookline.config.text import MAX_FILE_SIZE
from hookline.dialects.base import Dialect, Reading
from hookline.dialects.chrys import CHRYS
from hookline.dialects.native import NATIVE
from hookline.engine import Engine
from hookline.events import EVENT_NAMES, get_event_type
from hookline.hook import Settings
from hookline.match import compile_match
from hookline.registry import Registry
from hookline.testing import FakeRunner, make_event
from json_values import texts, values
from runaway import at_most_cpu

DIALECTS = {"native": NATIVE, "chrys": CHRYS}
NAMES = ["hooks.yaml", "hooks.json"]
# What can be wrong with a file as a whole, so that there is no line to name.
OF_THE_WHOLE_FILE = {"file-too-large", "unreadable-file", "json-syntax"}
_CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Far more than any reading takes, and far less than a hang.
LIMIT_S = 10

FULL = """\
# Everything a hooks file may hold.
version: 1
dialects: [native, chrys]
settings:
  shutdown_grace_seconds: 2.5
  max_parallel_hooks: 4
  outbox_retry_age_seconds: 60
  outbox_max_retries: 3
  max_queued_hooks: 100
  recheck_guards: true
  max_hook_depth: 3
hooks:
  - id: guard
    description: "Stops it."
    event: before_tool_call
    enabled: true
    match:
      profile: Code
      profiles: [Code, Plan]
      tool_kind: shell
      tool_name: bash
      args:
        command: {equals: "ls", contains: 'l', regex: '^l(s|l)+$'}
        path: {}
    run:
      type: script
      path: scripts/guard.py
      args: ["--strict"]
      env: {LEVEL: high, SESSION: "${session_id}"}
      cwd: "${workspace_cwd}"
      interpreter: [python3]
    execution:
      mode: blocking
      timeout_seconds: 5
      kill_grace_seconds: 1
      on_error: block
      on_bad_reply: error
  - &note
    id: note
    event: after_turn
    run: {type: shell, shell: "echo done >> log"}
    execution: {mode: async, delivery: durable}
  - <<: *note
    id: lint
    run: {type: command, argv: [ruff, check], args: [--quiet]}
    execution: {mode: fire_and_forget, detach: true, on_error: ignore}
"""
CUTTINGS = [
    *("{", "}", "[", "]", "- ", ": ", ":", ",", "#", "|", ">", "'", '"', "&a ", "*a", "*note", "<<: ", "? ", "---\n"),
    *("!!python/object:os.system ", "!!int ", "! ", "\t", "\n", "\r", "\x00", "\ufeff", "\u2028", "\x85", "\x07", "é"),
    *(
        "yes",
        "no",
        "1:30",
        "0o17",
        "0x1f",
        ".inf",
        ".nan",
        "1e999",
        "~",
        "null",
        "true",
        "2001-01-01",
        "99999999999999",
    ),
    *("id", "event", "run", "hooks", "execution", "blocking", "(a+)+$", "(?P<n>", "\\", "%YAML 1.1\n", "...\n"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a test; each overwrites what the one before it wrote."""
    return tmp_path_factory.mktemp("fuzz")


def read(folder: Path, data: bytes, *, name: str, dialect: Dialect = NATIVE, layer: Any = "user") -> LoadedFile:
    path = folder / name
    path.write_bytes(data)
    with at_most_cpu(LIMIT_S):
        return load_file(HookFile(layer=layer, dialect=dialect, path=path))


def read_everywhere(folder: Path, data: bytes, *, name: str) -> None:
    """Read a file as each dialect and in each layer, and check what is said."""
    for dialect in DIALECTS.values():
        for layer in ("project", "user"):
            check(read(folder, data, name=name, dialect=dialect, layer=layer), data)


def check(loaded: LoadedFile, data: bytes) -> None:
    """What holds of every reading."""
    path, reading = loaded.file.path, loaded.reading
    with at_most_cpu(LIMIT_S):
        found = [*reading.problems, *lint_file(loaded)]
    for problem in found:
        check_problem(problem, path, data)
    if loaded.document is None:
        assert reading.problems, "nothing could be read, and nothing is said about it"
    for hook in reading.hooks:
        assert hook.source.place.line > 0
        assert hook.source.place.path == path
        assert 0 < len(hook.id) <= 512
        assert hook.id.isprintable()
        get_event_type(hook.event)
        compile_match(hook.match)
    assert len({hook.id for hook in reading.hooks}) == len(reading.hooks)
    for closure in reading.closures:
        assert get_event_type(closure.event).gate
        assert closure.reason
    Registry(reading.hooks, closures=reading.closures, settings=Settings(**reading.settings))


def check_problem(problem: Problem, path: Path, data: bytes) -> None:
    assert problem.severity in ("error", "warning", "notice")
    assert _CODE.fullmatch(problem.code)
    assert problem.message
    assert problem.place.path == path
    if problem.place.line == 0:
        assert problem.place.column == 0
        assert problem.code in OF_THE_WHOLE_FILE
    else:
        lines = re.split(b"\r\n|\r|\n|\xc2\x85|\xe2\x80[\xa8\xa9]", data)
        assert problem.place.column > 0
        assert problem.place.line <= len(lines) + 1  # the end of a file stands below its last line
    assert str(problem).startswith(str(path))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.binary(max_size=200))
@example(data=b"")
@example(data=b"\xef\xbb\xbf")
@example(data=b"\xff\xfe\x00h")
@example(data=b"\x80")
@example(data=b"[" * 100_000)
@example(data=b'{"a":' * 100_000)
@example(data=b"- " * 10_000)
@example(data=b"1" * 10_000)
@example(data=b"hooks: [" + b"*a, " * 100 + b"]")
@example(data=b"[")
@example(data=b'{"settings": {"\\ud800": 1}}')
@example(data=b'{"hooks": [{"\\ud800": 1}]}')
def test_any_bytes_are_read_or_complained_about(folder: Path, name: str, data: bytes):
    read_everywhere(folder, data, name=name)


def test_a_file_beyond_the_limit_is_complained_about(folder: Path):
    data = b"#" * (MAX_FILE_SIZE + 1)
    loaded = read(folder, data, name="hooks.yaml")
    assert [problem.code for problem in loaded.reading.problems] == ["file-too-large"]


@st.composite
def mutilated(draw: st.DrawFn) -> str:
    """The full file with a few cuts, insertions and swaps."""
    text = FULL
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 30)))
        kind = draw(st.sampled_from(["cut", "insert", "replace", "double", "indent", "quote"]))
        piece = draw(st.sampled_from(CUTTINGS))
        middle = {
            "cut": "",
            "insert": piece + text[start:end],
            "replace": piece,
            "double": text[start:end] * 2,
            "indent": text[start:end].replace("\n", "\n  "),
            "quote": f'"{text[start:end]}"',
        }[kind]
        text = text[:start] + middle + text[end:]
    return text


@given(text=mutilated())
@example(text=FULL)
@example(text=FULL.replace("  - &note\n", "  - &note\n    <<: *note\n"))
@example(text=FULL + "---\nhooks: []\n")
def test_a_mutilated_file_is_read_or_complained_about(folder: Path, text: str):
    read_everywhere(folder, text.encode("utf-8", "surrogatepass"), name="hooks.yaml")


def test_the_full_file_is_without_errors_before_it_is_mutilated(folder: Path):
    loaded = read(folder, FULL.encode(), name="hooks.yaml")
    assert [problem for problem in loaded.reading.problems if problem.severity == "error"] == []
    assert [hook.id for hook in loaded.reading.hooks] == ["guard", "note", "lint"]


def sometimes_wrong(right: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """What belongs there, most of the time."""
    return st.one_of(right, right, right, values)


def a_mapping(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping in which each of the fields may be missing, wrong, or joined by unknown ones."""
    optional = {name: sometimes_wrong(field) for name, field in fields.items()}
    known = st.fixed_dictionaries({}, optional=optional)
    return st.one_of(known, known, known, st.builds(lambda a, b: {**a, **b}, known, st.dictionaries(texts, values)))


_TEXTS = st.lists(texts, max_size=3)
_SECONDS = st.floats(0.001, 100) | st.integers(0, 5)
_ARGUMENT = a_mapping(
    equals=texts, contains=texts, regex=texts | st.sampled_from(["^a", "(", "(a+)+$", "[", r"\d", "*"])
)
_MATCH = a_mapping(
    profile=texts,
    profiles=_TEXTS,
    tool_kind=st.sampled_from(["shell", "chrys.shell", "shel"]),
    tool_name=texts,
    args=st.dictionaries(texts, sometimes_wrong(_ARGUMENT), max_size=3),
)
_RUN = a_mapping(
    type=st.sampled_from(["script", "command", "shell"]),
    path=texts | st.just("scripts/x.py"),
    argv=_TEXTS,
    shell=texts,
    args=_TEXTS,
    env=st.dictionaries(texts, texts, max_size=2),
    cwd=texts | st.just("${workspace_cwd}"),
    interpreter=_TEXTS,
)
_EXECUTION = a_mapping(
    mode=st.sampled_from(["blocking", "async", "fire_and_forget"]),
    detach=st.booleans(),
    delivery=st.sampled_from(["best_effort", "durable"]),
    timeout_seconds=_SECONDS,
    kill_grace_seconds=_SECONDS,
    on_error=st.sampled_from(["block", "warn", "ignore"]),
    on_bad_reply=st.sampled_from(["ignore", "error"]),
)
_ENTRY = a_mapping(
    id=texts | st.sampled_from(["a", "b", " a ", "x" * 513]),
    event=st.sampled_from([*EVENT_NAMES, "before_tool_cal", "preToolUse"]),
    run=_RUN,
    execution=_EXECUTION,
    match=_MATCH,
    enabled=st.booleans(),
    description=texts,
)
_SETTINGS = a_mapping(
    shutdown_grace_seconds=_SECONDS,
    max_parallel_hooks=st.integers(0, 9),
    outbox_retry_age_seconds=_SECONDS,
    outbox_max_retries=st.integers(-1, 5),
    max_queued_hooks=st.integers(0, 9),
    recheck_guards=st.booleans(),
    max_hook_depth=st.integers(0, 9),
    log_keep_days=st.integers(0, 9),
    log_payloads=st.sampled_from(["none", "redacted", "full"]),
)
files = sometimes_wrong(
    a_mapping(
        version=st.just(1),
        dialects=st.lists(st.sampled_from(["native", "chrys", "vix"])),
        settings=_SETTINGS,
        hooks=st.lists(sometimes_wrong(_ENTRY), max_size=4),
    )
)


@pytest.mark.parametrize("name", NAMES)
@given(content=files)
def test_any_structure_is_read_or_complained_about(folder: Path, name: str, content: Any):
    read_everywhere(folder, json.dumps(content).encode(), name=name)


@given(content=files)
def test_any_structure_is_read_as_yaml_writes_it(folder: Path, content: Any):
    text = yaml.safe_dump(content, allow_unicode=True)
    read_everywhere(folder, text.encode("utf-8", "surrogatepass"), name="hooks.yaml")


@given(content=files)
def test_json_is_read_alike_as_json_and_as_yaml(folder: Path, content: Any):
    """With the same problems at the same places, where both can hold it."""
    data = json.dumps(content).encode()
    loaded = [read(folder, data, name=name) for name in NAMES]
    assume(all(found.document is not None and not found.document.defects for found in loaded))
    as_yaml, as_json = (found.reading for found in loaded)
    assert [hook.id for hook in as_yaml.hooks] == [hook.id for hook in as_json.hooks]
    assert places_in(as_yaml) == places_in(as_json)


def places_in(reading: Reading) -> list[tuple[str, int, int]]:
    return [(problem.code, problem.place.line, problem.place.column) for problem in reading.problems]


def guards_in(content: Any) -> Iterator[str]:
    """The gate events that the entries of a file mean to guard, as far as they can be read."""
    entries = content.get("hooks") if isinstance(content, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict) or entry.get("enabled") is False:
            continue
        execution, event = entry.get("execution"), entry.get("event")
        is_meant = isinstance(execution, dict) and execution.get("mode") == "blocking"
        if is_meant and execution.get("on_error") == "block" and event in ("before_tool_call", "user_prompt_submit"):
            yield event


@given(content=files)
def test_a_guard_is_loaded_or_closes_its_gate(folder: Path, content: Any):
    """A typo must not open a guard."""
    loaded = read(folder, json.dumps(content).encode(), name="hooks.json")
    kept = [hook.event for hook in loaded.reading.hooks if hook.is_guard]
    closed = {closure.event for closure in loaded.reading.closures}
    for event in set(guards_in(content)):
        count = list(guards_in(content)).count(event)
        assert kept.count(event) == count or event in closed


@given(content=files | mutilated())
async def test_an_engine_opens_over_any_file_and_decides(folder: Path, content: Any):
    project = folder / "project"
    for dialect in DIALECTS.values():
        path = project / dialect.folder / "hooks" / "hooks.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
    layers = load_layers(project, home=folder / "home", dialects=list(DIALECTS), trust="all", remember_guards=False)
    with Engine(layers, runner=FakeRunner()) as engine:
        decision = await engine.fire(make_event())
        assert decision.verdict == ("block" if any(c.event == "before_tool_call" for c in layers.closures) else "allow")
