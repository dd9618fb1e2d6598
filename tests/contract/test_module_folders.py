"""Modules and scripts in `pre` and `post` folders: which count, and what is said of the others (section 2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hookline import Engine
from hookline.handlers.discover import HookItem
from hookline.hook import ScriptAction
from modules import call_event, open_modules, result_event, write_module
from support import Bench, find_run
from trusting import codes_of

pytestmark = pytest.mark.anyio

PROBLEMS_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "problems.md"


def says(reason: str) -> str:
    return f'def hook(api): api.on("tool_call", lambda event, ctx: {{"block": True, "reason": {reason!r}}})'


def describe(engine: Engine) -> list[tuple[str, str]]:
    """Code and file of each problem."""
    return [(problem.code, problem.place.path.name) for problem in engine.problems]


async def test_the_modules_of_folders_are_loaded_in_the_order_of_their_names(bench: Bench):
    """F: files are taken in sorted name order."""
    for name in ("b", "c", "a"):
        write_module(bench, f"{name}.py", says(name))
    engine = bench.open()
    assert [module.spec.path.name for module in engine.handling.modules.loaded] == ["a.py", "b.py", "c.py"]
    assert (await engine.fire(call_event())).reason == "a"


async def test_discovered_modules_come_before_configured_ones_and_keep_their_place(bench: Bench):
    """Section 2: de-duplicated by real path."""
    write_module(bench, "z.py", says("z"))
    write_module(bench, "a.py", says("a"), folder="named")
    bench.write("modules: [named/a.py, pre/../pre/z.py, pre/z.py]", layer="user")
    engine = bench.open()
    assert [module.spec.path.name for module in engine.handling.modules.loaded] == ["z.py", "a.py"]


async def test_what_a_hooks_file_says_of_a_discovered_module_counts(bench: Bench):
    write_module(bench, "z.py", says("z"))
    bench.write("modules: [{path: pre/z.py, timeout_seconds: 7}]", layer="user")
    (hook,) = bench.open().hooks
    assert hook.execution.timeout_s == 7


async def test_a_module_that_is_switched_off_is_not_loaded(bench: Bench):
    write_module(bench, "z.py", says("z"))
    bench.write("modules: [{path: pre/z.py, enabled: false}]", layer="user")
    assert (await bench.open().fire(call_event())).is_allowed


async def test_a_disabled_id_is_dropped_before_it_can_hide_another(bench: Bench):
    """Section 2: the project's is disabled with the user's, since they have one id."""
    for layer in ("project", "user"):
        write_module(bench, "bash.py", says(layer), layer=layer)
    write_module(bench, "other.py", says("other"))
    bench.write("settings: {disabled_ids: ['hook:pre:bash:bash.py']}", layer="user")
    assert (await bench.open().fire(call_event())).reason == "other"


async def test_a_project_disables_nothing_of_its_user(bench: Bench):
    write_module(bench, "bash.py", says("user"))
    bench.write("settings: {disabled_ids: ['hook:pre:bash:bash.py']}")
    assert (await bench.open().fire(call_event())).reason == "user"


async def test_of_two_files_with_one_key_the_project_comes_first(bench: Bench):
    """Section 2: the first wins, the later is kept as shadowed, and said so."""
    for layer in ("project", "user"):
        write_module(bench, "bash.py", says(layer), layer=layer)
    engine = bench.open()
    assert (await engine.fire(call_event())).reason == "project"
    shadowed = [problem for problem in engine.problems if problem.code == "shadowed-hook"]
    assert [problem.place.path for problem in shadowed] == [bench.hooks_folder("user") / "pre" / "bash.py"]


async def test_an_untrusted_project_shadows_nothing(bench: Bench):
    for layer in ("project", "user"):
        write_module(bench, "bash.py", says(layer), layer=layer)
    assert (await bench.open(trust="none").fire(call_event())).reason == "user"


# Scripts


def write_script(bench: Bench, name: str, text: str, *, folder: str = "pre", mode: int = 0o755) -> Path:
    path = write_module(bench, name, text, folder=folder)
    path.chmod(mode)
    return path


async def test_a_script_runs_as_a_command_hook_of_the_tool_that_its_name_gives(bench: Bench):
    """Section 2, F: exit code 2 blocks; other tools are not meant."""
    write_script(bench, "bash.sh", "touch ran; echo no >&2; exit 2\n")
    engine = bench.open()
    assert [(hook.event, hook.match.tool_name) for hook in engine.hooks] == [("before_tool_call", "bash")]
    assert isinstance(engine.hooks[0].action, ScriptAction)
    assert (await engine.fire(bench.event(tool="edit"))).is_allowed
    assert not (bench.project / "ran").exists()
    decision = await engine.fire(bench.event())
    assert decision.is_blocked
    assert "no" in (decision.reason or "")
    assert find_run(decision, "hook:pre:bash:bash.sh").exit_code == 2


async def test_a_script_after_a_tool_call_runs_after_it(bench: Bench):
    write_script(bench, "bash.sh", "touch ran\n", folder="post")
    await bench.open().fire(result_event())
    assert (bench.project / "ran").exists()


async def test_a_script_for_all_tools_is_meant_by_each(bench: Bench):
    write_script(bench, "all.sh", "exit 2\n")
    assert (await bench.open().fire(bench.event(tool="edit"))).is_blocked


async def test_an_executable_that_names_its_interpreter_is_a_hook(bench: Bench):
    write_script(bench, "bash", "#!/bin/sh\nexit 2\n")
    assert (await bench.open().fire(bench.event())).is_blocked


# What is said of the rest


def test_what_is_no_hook_is_skipped_with_its_reason(bench: Bench):
    """Section 2, F: never an import error."""
    write_script(bench, "notes.txt", "hello", mode=0o644)
    write_script(bench, "bash.py~", "x = 1", mode=0o644)
    engine = bench.open()
    assert describe(engine) == [("skipped-file", "bash.py~"), ("skipped-file", "notes.txt")]
    assert [problem.severity for problem in engine.problems] == ["notice", "warning"]
    assert "no known interpreter for '.txt'" in engine.problems[1].message


class Provider:
    name = "mine"
    priority = 5.0

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def load(self, cwd: Path) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


async def test_a_provider_that_raises_is_a_problem_and_stops_nobody(bench: Bench):
    """Section 2: it adds a warning."""
    write_module(bench, "z.py", says("z"))
    engine = bench.open(providers=[Provider(ValueError("no"))])
    assert codes_of(engine) == ["provider-failed"]
    assert "'mine'" in engine.problems[0].message
    assert (await engine.fire(call_event())).reason == "z"


async def test_an_invalid_item_hides_no_valid_one(bench: Bench):
    """Section 2, F."""
    path = write_module(bench, "bash.py", says("valid"), folder="named")
    valid = HookItem(name="bash.py", path=path, type="pre", tool="bash")
    invalid = HookItem(name="bash.py", path=Path("relative.py"), type="pre", tool="bash")
    engine = bench.open(providers=[Provider([invalid, valid])])
    assert codes_of(engine) == ["provider-failed"]
    assert (await engine.fire(call_event())).reason == "valid"


def test_a_module_path_that_leads_nowhere_is_a_problem(bench: Bench):
    bench.write('modules: ["file://elsewhere/a.py"]', layer="user")
    assert codes_of(bench.open()) == ["module-path"]


def test_a_module_that_fails_is_a_problem_at_its_line(bench: Bench):
    engine = open_modules(bench, "x = 1\nx.y\ndef hook(api): pass")
    (problem,) = engine.problems
    assert (problem.code, problem.place.path.name, problem.place.line) == ("module-failed", "a.py", 2)


@pytest.mark.parametrize("code", ["module-failed", "module-path", "provider-failed", "shadowed-hook", "skipped-file"])
def test_what_can_be_wrong_with_modules_is_documented(code: str):
    assert f"| `{code}` |" in PROBLEMS_PAGE.read_text()
