"""What all adapters have in common: how they are imported, opened, closed, and what a run in a run is."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faces import Diary, blocked, make_session
from hookline import HooklineError, PromptBlockedError, Tool
from hookline.adapters.adapter import Adapter
from hookline.adapters.seam import inside
from hookline.adapters.table import HOSTS, Host
from support import Bench

# Imports a module of Hookline where no framework can be imported, and says what came of it.
_WITHOUT_FRAMEWORKS = """
import importlib, sys
from pathlib import Path

class Nothing:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top not in sys.stdlib_module_names and top not in ("hookline", "msgspec", "yaml", "psutil", "click"):
            raise ImportError(f"no module named {name}")

sys.meta_path.insert(0, Nothing())
from hookline import HooklineError
try:
    importlib.import_module(sys.argv[1])
except HooklineError as error:
    print(error)
"""

_ADAPTER = """
from hookline.adapters.adapter import Adapter
adapter = Adapter(**options)
run = adapter._seam.run("go")
with run:
    run.work.call_tool_sync(adapter._seam.tool("bash", {}), lambda tool: "ran")
"""


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_an_adapter_without_its_framework_says_what_to_install(host: Host) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_FRAMEWORKS, host.module], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"what the extra {host.name!r} brings cannot be imported (")
    assert f"pip install 'hookline[{host.name}]'" in done.stdout


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_an_adapter_has_the_class_and_the_size_that_are_promised(host: Host) -> None:
    module = importlib.import_module(host.module)
    assert getattr(module, host.adapter).__doc__
    assert len(Path(str(module.__file__)).read_text(encoding="utf-8").splitlines()) < 200


def test_the_root_imports_no_adapter() -> None:
    program = (
        "import sys, hookline; hookline.Engine, hookline.Session; print([m for m in sys.modules if 'adapters' in m])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_each_run_is_a_session_of_its_own(diary: Diary) -> None:
    adapter = Adapter(engine=diary)
    for _ in range(2):
        with adapter._seam.run("go"):
            pass
    ids = [event.session_id for event in diary.all("session_end")]
    assert len(set(ids)) == 2


async def test_the_runs_of_a_block_are_turns_of_one_session(diary: Diary) -> None:
    async with Adapter(engine=diary) as adapter:
        for _ in range(2):
            async with adapter._seam.run("go"):
                pass
    turn = ["user_prompt_submit", "before_turn", "after_turn"]
    assert diary.names == ["session_start", *turn, *turn, "session_end"]
    assert [event.fields.turn for event in diary.all("before_turn")] == [1, 2]


def test_the_runs_of_a_session_that_was_given_neither_enter_nor_leave_it(diary: Diary) -> None:
    with make_session(diary) as session:
        with Adapter(session=session) as adapter, adapter._seam.run("go"):
            pass
        assert diary.names == ["session_start", "user_prompt_submit", "before_turn", "after_turn"]


def test_a_blocked_prompt_ends_the_session_that_was_opened_for_it() -> None:
    diary = Diary({"user_prompt_submit": blocked("no")})
    with pytest.raises(PromptBlockedError), Adapter(engine=diary)._seam.run("go"):
        pass
    assert diary.names == ["session_start", "user_prompt_submit", "after_turn", "session_end"]


def test_tools_have_the_kinds_that_the_user_gave_them(diary: Diary) -> None:
    seam = Adapter(engine=diary, kinds={"bash": "shell"})._seam
    assert (seam.tool("bash", {}).kind, seam.tool("read", {}).kind) == ("shell", "")


def test_an_engine_without_hooks_for_what_adapters_fire_is_not_heard(bench: Bench) -> None:
    bench.write("hooks: [{id: a, event: todo_reminder, run: {type: shell, shell: 'true'}}]")
    with Adapter(cwd=bench.project, home=bench.home, trust="all") as adapter:
        assert not adapter._seam.is_heard()


@pytest.mark.parametrize("event", ["session_end", "sub_agent_start", "before_tool_call"])
def test_an_engine_with_a_hook_for_what_adapters_fire_is_heard(event: str, bench: Bench) -> None:
    bench.write(f"hooks: [{{id: a, event: {event}, run: {{type: shell, shell: 'true'}}}}]")
    with Adapter(cwd=bench.project, home=bench.home, trust="all") as adapter:
        assert adapter._seam.is_heard()


def test_a_session_that_was_given_is_heard(diary: Diary) -> None:
    with make_session(diary) as session:
        assert Adapter(session=session)._seam.is_heard()


def test_a_run_in_a_tool_call_is_a_sub_agents_with_the_same_engine(diary: Diary) -> None:
    outer, inner = Adapter(engine=diary)._seam, Adapter(engine=diary, profile="Helper")._seam
    tool = Tool(name="ask", call_id="c1")
    with outer.run("go") as run, inside(outer, run.work, tool), inner.run("look", agent="Researcher"):
        pass
    started = diary.only("sub_agent_start")
    assert (started.agent.name, started.profile, started.fields.sub_agent.parent_call_id) == (
        "Researcher",
        "Helper",
        "c1",
    )
    assert diary.names.count("session_start") == 1


def test_a_run_in_a_tool_call_under_other_hooks_is_a_session_of_its_own(diary: Diary) -> None:
    other = Diary()
    outer, inner = Adapter(engine=diary)._seam, Adapter(engine=other)._seam
    with outer.run("go") as run, inside(outer, run.work, Tool(name="ask")), inner.run("look"):
        pass
    assert other.names[0] == "session_start"
    assert "sub_agent_start" not in diary.names


def test_an_engine_is_opened_for_the_folder_and_closed_in_the_end(bench: Bench) -> None:
    bench.write(
        """
        hooks:
          - id: no
            event: before_tool_call
            run: {type: shell, shell: 'pwd > "$PWD/where"; exit 2'}
            execution: {mode: blocking, on_error: block}
        """
    )
    with Adapter(cwd=bench.project, home=bench.home, trust="all") as adapter:
        with adapter._seam.run("go") as run:
            result = run.work.call_tool_sync(adapter._seam.tool("bash", {}), lambda tool: "ran")
        assert result.hook_denied
    assert bench.read("where") == f"{bench.project}\n"
    with adapter._seam.run("go") as run:
        result = run.work.call_tool_sync(adapter._seam.tool("bash", {}), lambda tool: "ran")
    assert "the engine is closed" in result.text


def test_a_project_that_was_not_trusted_runs_no_hook_and_is_reported(bench: Bench, log_lines: list[str]) -> None:
    bench.write("hooks: [{id: a, event: before_turn, run: {type: shell, shell: 'touch ran'}}]")
    with Adapter(cwd=bench.project, home=bench.home) as adapter, adapter._seam.run("go"):
        pass
    assert not (bench.project / "ran").exists()
    assert any("trust" in line for line in log_lines)


def test_a_program_that_never_closes_its_adapter_ends_by_itself(bench: Bench) -> None:
    bench.write("hooks: [{id: a, event: session_end, run: {type: shell, shell: 'touch ended'}}]")
    program = f"options = dict(cwd={str(bench.project)!r}, home={str(bench.home)!r}, trust='all')\n{_ADAPTER}"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=20, env=os.environ)
    assert (bench.project / "ended").exists()


def test_a_wrong_option_is_refused_where_it_is_written(tmp_path: Path) -> None:
    with pytest.raises(HooklineError, match="trust"):
        Adapter(cwd=tmp_path, home=tmp_path, trust="sometimes")  # type: ignore[arg-type]


def test_an_option_that_is_misspelt_is_refused(diary: Diary) -> None:
    with pytest.raises(HooklineError, match="unknown option 'truts'"):
        Adapter(engine=diary, truts="all")  # type: ignore[call-arg]


def test_options_that_would_mean_nothing_are_refused(diary: Diary) -> None:
    with pytest.raises(HooklineError, match="takes no 'trust' beside 'engine'"):
        Adapter(engine=diary, trust="all")
    with pytest.raises(HooklineError, match="takes no 'ask' beside 'session'"):
        Adapter(session=make_session(diary), ask=lambda _: True)
