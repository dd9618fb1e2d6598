"""From the hook files of all layers to hooks, settings and problems."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from gallery import Example, assert_found, find_problems, load

from hookline import Engine
from hookline.config.layers import load_layers
from hookline.config.project import project_folders, project_guards, project_hooks
from hookline.config.snapshot import take_snapshot
from hookline.config.text import MAX_FILE_SIZE
from hookline.config.trust import TrustStore
from hookline.dialects.chrys import CHRYS
from hookline.dialects.native import NATIVE
from hookline.errors import ConfigError
from hookline.hook import CommandAction, ScriptAction, Settings, ShellAction
from hookline.problem import Problem
from runaway import at_most_cpu
from support import Bench, make_event

HOOK = "{id: a, event: after_turn, run: {type: shell, shell: 'true'}}"


def ids(bench: Bench, **options: Any) -> list[str]:
    return [hook.id for hook in load(bench, **options).hooks]


def codes(bench: Bench, **options: Any) -> list[str]:
    return [problem.code for problem in load(bench, **options).problems]


def only_problem(bench: Bench, **options: Any) -> Problem:
    [problem] = load(bench, **options).problems
    return problem


def hook_file(*names: str, **root: Any) -> str:
    """The text of a hooks file with hooks of these ids."""
    lines = [f"{key}: {value}" for key, value in root.items()]
    entries = [f"  - {{id: {name}, event: after_turn, run: {{type: shell, shell: 'true'}}}}" for name in names]
    return "\n".join([*lines, "hooks:", *entries, ""])


def trust_now(bench: Bench) -> None:
    """Record the project's content as it stands, as `hookline trust` does."""
    dialects = [NATIVE, CHRYS]
    own = [loaded for loaded in load(bench).files if loaded.file.layer == "project"]
    snapshot = take_snapshot(bench.project, project_folders(bench.project, dialects), project_hooks(own))
    TrustStore(bench.home).put(snapshot, project_guards(own))


# Every problem that loading can report

EXAMPLES = [
    Example(
        code="root-type",
        text="«- id: a\n",
        says="the file must be a mapping with the key hooks",
        cure="start with hooks:",
        hook_id=None,
    ),
    Example(code="root-type", text="«just words\n", says="must be a mapping", hook_id=None),
    Example(
        code="unknown-key",
        text=f"«hook:\n- {HOOK}\n",
        says="unknown key 'hook'",
        cure="did you mean 'hooks'?",
        hook_id=None,
    ),
    Example(code="unknown-key", text="«1: x\n", says="unknown key 1", cure="known: version", hook_id=None),
    Example(
        code="unknown-key",
        text="""
            hooks:
              - id: a
                «evnt: after_turn
                event: after_turn
                run: {type: shell, shell: 'true', «interpretr: [x]}
            """,
        says="unknown key 'evnt'",
        cure="did you mean 'event'?",
    ),
    Example(
        code="unknown-key",
        text="settings:\n  «max_parallel: 4\n",
        says="unknown key 'max_parallel'",
        cure="did you mean 'max_parallel_hooks'?",
        hook_id=None,
    ),
    Example(
        code="bad-version",
        text="version: «2\n",
        says="version must be the integer 1, not 2",
        cure="write version: 1",
        hook_id=None,
    ),
    Example(code="bad-version", text="version: «'1'\n", says="not '1'", hook_id=None),
    Example(code="bad-version", text="version: «1.0\n", says="not 1.0", hook_id=None),
    Example(code="bad-version", text="version: «true\n", says="not True", hook_id=None),
    Example(code="bad-version", text="version:«\n", says="version must be the integer 1", hook_id=None),
    Example(
        code="wrong-type",
        text="hooks: «{a: 1}\n",
        says="hooks must be a list, not a mapping",
        cure="start each hook with - id:",
        hook_id=None,
    ),
    Example(code="wrong-type", text="hooks: «yes\n", says="hooks must be a list, not 'yes'", hook_id=None),
    Example(
        code="wrong-type",
        text="dialects: «chrys\n",
        says="dialects must be a list of names",
        cure="write [native, chrys]",
        hook_id=None,
    ),
    Example(
        code="wrong-type",
        text="settings: «[]\n",
        says="must be a mapping, not a list",
        hook_id=None,
    ),
    Example(
        code="wrong-type",
        text="settings: {max_parallel_hooks: «0}\n",
        says="max_parallel_hooks must be an integer of at least 1, not 0",
        hook_id=None,
    ),
    Example(
        code="wrong-type",
        text="settings: {shutdown_grace_seconds: «-1}\n",
        says="shutdown_grace_seconds must be a number of at least 0, not -1",
        hook_id=None,
    ),
    Example(code="wrong-type", text="hooks:\n- «a\n", says="the entry must be a mapping, not 'a'", hook_id=None),
    Example(
        code="wrong-type",
        text="""
            hooks:
            - id: a
              event: before_tool_call
              run: {type: shell, shell: 'true'}
              match: {args: {n: {equals: «10}}}
            """,
        says="match.args.n.equals must be text, not 10",
        cure='put it in quotes: "10"',
    ),
    Example(
        code="wrong-type",
        text=f"hooks:\n- {HOOK[:-1]}, enabled: «'yes'}}\n",
        says="enabled must be true or false, not 'yes'",
        cure="write true or false, without quotes",
    ),
    Example(
        code="wrong-type",
        text=f"hooks:\n- {HOOK[:-1]}, enabled: «yes}}\n",
        says="enabled must be true or false, not 'yes'",
        cure="yes, no, on and off are plain text in YAML 1.2",
    ),
    Example(
        code="wrong-type",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{mode: «Blocking, timeout_seconds: «'5'}}}}\n",
        says="execution.mode must be one of blocking, async, fire_and_forget, not 'Blocking'",
    ),
    Example(
        code="wrong-type",
        text="hooks:\n- {id: «5, event: after_turn, run: {type: shell, shell: x}}\n",
        says="id must be text, not 5",
        hook_id=None,
    ),
    Example(
        code="wrong-type",
        text="hooks:\n- {id: a, event: after_turn, run: {type: command, argv: [x, «3]}}\n",
        says="must be text, not 3",
        cure='put it in quotes: "3"',
    ),
    Example(
        code="wrong-type",
        text="hooks:\n- {id: a, event: after_turn, run: {type: command, argv: «x y}}\n",
        says="run.argv must be a list of texts with at least one, not 'x y'",
        cure="write it as a list",
    ),
    Example(
        code="wrong-type",
        text="hooks:\n- {id: a, event: after_turn, run: {type: shell, shell: x, env: {«1: x, B: «2}}}\n",
        says="the key 1 is read as a number, not as text",
        cure="put the key in quotes",
    ),
    Example(
        code="missing-key",
        text="hooks:\n- «id: a\n  run: {type: shell, shell: x}\n",
        says="the key 'event' is missing",
        cure="add event:",
    ),
    Example(
        code="missing-key",
        text="hooks:\n- {id: a, event: after_turn, run: «{shell: x}}\n",
        says="the key 'type' is missing",
    ),
    Example(
        code="missing-key",
        text="hooks:\n- {id: a, event: after_turn, run: «{type: script, shell: x}}\n",
        says="run of type script needs path",
        cure="add path:",
    ),
    Example(
        code="unused-key",
        severity="warning",
        text="""
            hooks:
            - id: a
              event: after_turn
              run: {type: shell, shell: x, «path: y, «argv: [z], «args: [1x], «interpreter: [w]}
            """,
        says="run of type shell does not use path; it is ignored",
        cure="remove path or change the type",
    ),
    Example(
        code="unknown-event",
        text="hooks:\n- {id: a, event: «after_turns, run: {type: shell, shell: x}}\n",
        says="unknown event 'after_turns'",
        cure="did you mean 'after_turn'?",
    ),
    Example(
        code="unknown-event",
        text="hooks:\n- {id: a, event: «zzz, run: {type: shell, shell: x}}\n",
        says="unknown event 'zzz'",
        cure="see hookline events",
    ),
    Example(
        code="unknown-event",
        text="hooks:\n- {id: a, event: «ThreadStart, run: {type: shell, shell: x}}\n",
        says="unknown event 'ThreadStart'",
        cure="did you mean 'session_start' or 'session_restored'?",
    ),
    Example(
        code="bad-id",
        text="hooks:\n- {id: «'  ', event: after_turn, run: {type: shell, shell: x}}\n",
        says="the id is empty",
        hook_id="",
    ),
    Example(
        code="bad-id",
        text=f"hooks:\n- {{id: «{'x' * 513}, event: after_turn, run: {{type: shell, shell: x}}}}\n",
        says="the id has 513 characters, more than 512",
        hook_id="x" * 513,
    ),
    Example(
        code="bad-id",
        text='hooks:\n- {id: «"a\\tb", event: after_turn, run: {type: shell, shell: x}}\n',
        says="the id holds characters that cannot be shown",
        hook_id="a\tb",
    ),
    Example(
        code="duplicate-id",
        text=f"hooks:\n- {HOOK}\n- {{id: «' a ', event: before_turn, run: {{type: shell, shell: x}}}}\n",
        says="the id stands twice; the first is at line 2",
        cure="give each hook of a file its own id",
    ),
    Example(
        code="bad-env-name",
        text="hooks:\n- {id: a, event: after_turn, run: {type: shell, shell: x, env: {A=B: «x, '': «y}}}\n",
        says="'A=B' cannot name an environment variable",
        cure="rename it",
    ),
    Example(
        code="detach-mode",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{mode: async, detach: «true}}}}\n",
        says="detach does not go with mode async",
        cure="use mode: fire_and_forget",
    ),
    Example(
        code="detach-mode",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{mode: blocking, detach: «true}}}}\n",
        says="detach does not go with mode blocking",
    ),
    Example(
        code="durable-blocking",
        severity="warning",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{mode: blocking, «delivery: durable}}}}\n",
        says="delivery: durable means nothing for a blocking hook; it is ignored",
    ),
    Example(
        code="fleet-not-durable",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{where: «fleet}}}}\n",
        says="only a durable hook that nobody waits for can run in a fleet",
        cure="add delivery: durable, and mode: async or fire_and_forget",
    ),
    Example(
        code="fleet-detached",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{delivery: durable, where: fleet, detach: «true}}}}\n",
        says="detach does not go with where: fleet, whose hooks run elsewhere",
        cure="remove detach",
    ),
    Example(
        code="bad-queue",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{delivery: durable, where: fleet, queue: «a b}}}}\n",
        says="'a b' cannot name a queue",
        cure="use letters, digits, dots, hyphens and underscores, at most 100",
    ),
    Example(
        code="unused-key",
        severity="warning",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{delivery: durable, «priority: 5}}}}\n",
        says="priority means nothing for a hook that runs here; it is ignored",
        cure="remove priority, or add where: fleet",
    ),
    Example(
        code="wrong-type",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{delivery: durable, where: fleet, priority: «2000}}}}\n",
        says="execution.priority must be an integer from -1000 to 1000, not 2000",
    ),
    Example(
        code="wrong-type",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{where: «cloud}}}}\n",
        says="execution.where must be one of local, fleet, not 'cloud'",
    ),
    Example(
        code="bad-regex",
        text="hooks:\n- {id: a, event: tool_error, run: {type: shell, shell: x}, match: {args: {p: {regex: «'('}}}}\n",
        says="the regular expression '(' cannot be compiled: missing )",
        cure="in single quotes",
    ),
    Example(
        code="duplicate-key",
        text="hooks:\n- id: a\n  event: after_turn\n  «event: before_turn\n  run: {type: shell, shell: x}\n",
        says="the key 'event' stands twice; the first is at line 3, column 3",
        hook_id=None,
    ),
    Example(
        code="duplicate-key",
        text=f"hooks:\n- {HOOK}\n«hooks: []\n",
        says="the key 'hooks' stands twice; the first is at line 1, column 1",
        hook_id=None,
    ),
    Example(code="duplicate-key", text="version: 1\n«version: 1\n", says="'version' stands twice", hook_id=None),
    Example(
        code="duplicate-key",
        text="settings:\n  max_parallel_hooks: 1\n  «max_parallel_hooks: 2\n",
        says="'max_parallel_hooks' stands twice",
        hook_id=None,
    ),
    Example(
        code="duplicate-key",
        name="hooks.json",
        text='{"hooks": [],\n "settings": {},\n «"hooks": []}\n',
        says="the key 'hooks' stands twice; the first is at line 1, column 2",
        hook_id=None,
    ),
    Example(
        code="not-finite",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{timeout_seconds: «.inf}}}}\n",
        says=".inf is not a finite number",
        cure="write a number",
        hook_id=None,
    ),
    Example(
        code="not-finite",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{timeout_seconds: «!!float .inf}}}}\n",
        says=".inf is not a finite number",
        hook_id=None,
    ),
    Example(
        code="not-finite",
        name="hooks.json",
        text='{"settings": {"shutdown_grace_seconds": «1e999}}\n',
        says="1e999 is not a finite number",
        hook_id=None,
    ),
    Example(
        code="bad-scalar",
        text=f"settings: {{max_parallel_hooks: «{'1' * 5000}}}\n",
        says="'1111111111111111111111111111111111111...' cannot be read",
        cure="put it in quotes",
        hook_id=None,
    ),
    Example(
        code="foreign-tag",
        text="hooks:\n- {id: a, event: after_turn, run: {type: shell, shell: «!env X}}\n",
        says="the tag !env is not read",
        cure="remove the tag",
        hook_id=None,
    ),
    Example(code="foreign-tag", text="«!x\nhooks: []\n", says="the tag !x is not read", hook_id=None),
    Example(
        code="bad-key",
        text="hooks:\n- ? «[x]\n  : y\n  id: a\n  event: after_turn\n  run: {type: shell, shell: x}\n",
        says="a key must be text",
        cure="write the key as text",
        hook_id=None,
    ),
    Example(code="bad-key", text="? «[x]\n: y\n", says="a key must be text", hook_id=None),
    Example(
        code="bad-merge",
        text="hooks:\n- «<<: [x]\n  id: a\n  event: after_turn\n  run: {type: shell, shell: x}\n",
        says="<< takes a mapping or a list of them",
        hook_id=None,
    ),
    Example(code="bad-merge", text="«<<: [x]\nhooks: []\n", says="<< takes a mapping", hook_id=None),
    Example(
        code="yaml-syntax",
        text="hooks:\n«\t- id: a\n",
        says="found character that cannot start any token",
        cure="indent with spaces, not tabs",
        hook_id=None,
    ),
    Example(
        code="json-syntax",
        name="hooks.json",
        text='{"hooks": []«]}\n',
        says="Expecting ',' delimiter",
        cure="JSON has no comments",
        hook_id=None,
    ),
    Example(
        code="file-too-large",
        text="#" + "x" * MAX_FILE_SIZE,
        says=f"the file has more than {MAX_FILE_SIZE} bytes",
        cure="split it",
        hook_id=None,
    ),
    Example(
        code="not-yours-to-set",
        severity="warning",
        layer="project",
        text="""
            «dialects: [native]
            settings:
              «max_hook_depth: 9
              «recheck_guards: false
            """,
        says="a project's file cannot set",
        cure="set it in your own hooks.yaml",
        hook_id=None,
    ),
    Example(
        code="not-yours-to-set",
        severity="warning",
        layer="project",
        text=f"hooks:\n- {HOOK[:-1]}, execution: {{mode: blocking, «on_bad_reply: ignore}}}}\n",
        says="a project's file cannot set on_bad_reply; it stays error",
        cure="remove it",
    ),
    Example(
        code="legacy-kind",
        severity="warning",
        dialect="chrys",
        text="""
            hooks:
            - {id: a, event: tool_error, run: {type: shell, shell: x}, match: {«tool_kind: chrys.shell}}
            """,
        says="the kind 'chrys.shell' is read as 'shell'",
        cure="write shell",
    ),
    Example(
        code="file-off",
        dialect="chrys",
        text=f"«hooks:\n- {HOOK}\n- {{id: b}}\n",
        says="because of 2 errors no hook of this file is loaded",
        cure="mend the file; in the chrys format one bad entry switches off the whole file",
        hook_id=None,
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_problem_is_found_at_its_place(example: Example, user_bench: Bench):
    example.write(user_bench)
    assert_found(example, find_problems(user_bench))


def test_bytes_that_are_no_text_are_a_problem_of_their_place(bench: Bench):
    path = bench.write("")
    path.write_bytes(b"hooks:\n# caf\xe9\n")
    problem = only_problem(bench)
    assert str(problem) == (f"{path}:2:6: error[not-utf8] byte 0xe9 is not UTF-8 (save the file as UTF-8)")


def test_an_unknown_dialect_in_the_users_file_is_a_problem_there(bench: Bench):
    path = bench.write("dialects: [native, krys]\nhooks: []\n", layer="user")
    layers = load(bench, dialects=None)
    [problem] = layers.problems
    assert (problem.code, problem.message, problem.cure) == (
        "unknown-dialect",
        "unknown dialect 'krys'",
        "known: native, chrys, xcsh, vix",
    )
    assert str(problem.place) == f"{path}:1:11"
    assert list(layers.homes) == ["native"]


def test_an_id_in_two_layers_is_a_warning_and_both_hooks_load(bench: Bench):
    project = bench.write(hook_file("a"))
    user = bench.write(hook_file("b", "a"), layer="user")
    assert ids(bench) == ["a", "b", "a"]
    problem = only_problem(bench)
    assert (problem.severity, problem.code, problem.hook_id) == ("warning", "id-collision", "a")
    assert problem.message == f"the same id is used at {project}:2:5; both hooks run"
    assert str(problem.place) == f"{user}:3:5"


# Entries and their neighbours


def test_a_good_file_has_no_problems(bench: Bench):
    bench.write(hook_file("a", "b", version=1))
    assert ids(bench) == ["a", "b"]
    assert codes(bench) == []


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "hooks:\n", "hooks: []\n", "version: 1\nsettings:\n"])
def test_a_file_without_hooks_is_no_problem(bench: Bench, text: str):
    bench.write(text)
    layers = load(bench)
    assert (layers.hooks, layers.problems, len(layers.files)) == ((), (), 1)


@pytest.mark.parametrize(
    "entry",
    [
        "text",
        "null",
        "[]",
        "{}",
        "{id: bad}",
        "{id: bad, event: nope, run: {type: shell, shell: x}}",
        "{id: bad, event: after_turn, run: {type: shell}}",
        "{id: bad, event: after_turn, run: {type: shell, shell: x}, z: 1}",
        "{id: bad, event: after_turn, event: after_turn, run: {type: shell, shell: x}}",
        "{id: '', event: after_turn, run: {type: shell, shell: x}}",
        "{id: bad, event: tool_error, run: {type: shell, shell: x}, match: {args: {a: {regex: '['}}}}",
        "{id: bad, event: after_turn, run: {type: shell, shell: !env x}}",
        "{? [x] : y, id: bad, event: after_turn, run: {type: shell, shell: x}}",
    ],
)
def test_a_bad_entry_leaves_its_neighbours_alone(entry: str, bench: Bench):
    good = "{id: %s, event: after_turn, run: {type: shell, shell: x}}"
    bench.write(f"hooks:\n- {good % 'before'}\n- {entry}\n- {good % 'after'}\n")
    layers = load(bench)
    assert [hook.id for hook in layers.hooks] == ["before", "after"]
    assert {problem.severity for problem in layers.problems} == {"error"}


def test_of_two_hooks_with_one_id_the_first_stays(bench: Bench):
    bench.write(hook_file("a", "a"))
    layers = load(bench)
    assert [hook.source.place.line for hook in layers.hooks] == [2]


def test_every_problem_of_an_entry_is_reported(bench: Bench):
    bench.write("hooks:\n- {id: a, event: nope, enabled: 5, run: {type: shell}, execution: {mode: x}, z: 1}\n")
    assert sorted(codes(bench)) == ["missing-key", "unknown-event", "unknown-key", "wrong-type", "wrong-type"]


def test_a_bad_setting_leaves_the_others_alone(bench: Bench):
    bench.write("settings: {max_parallel_hooks: no, shutdown_grace_seconds: 9}\n")
    settings = load(bench).settings
    assert (settings.max_parallel_hooks, settings.shutdown_grace_s) == (4, 9)


def test_many_bad_entries_are_reported_in_time_that_grows_with_their_number(bench: Bench):
    bench.write("hooks:\n" + "- x\n" * 9000)
    with at_most_cpu(5):
        problems = load(bench).problems
    assert len(problems) == 1001
    assert problems[-1].message == "there are 8000 more problems"


def test_more_hooks_than_can_be_looked_at_are_one_problem(bench: Bench):
    bench.write("hooks:\n" + "- {id: a}\n" * 10_001)
    assert codes(bench) == ["too-many-hooks"]


def test_many_entries_with_doubled_keys_are_reported_in_time_that_grows_with_their_number(bench: Bench):
    bench.write("hooks:\n" + "- {id: a, id: b}\n" * 5000)
    with at_most_cpu(5):
        assert len(load(bench).problems) > 1000


# What a hook is made of


def test_all_keys_of_a_hook_are_read(bench: Bench):
    path = bench.write(
        """
        hooks:
          - id: " a "
            event: before_tool_call
            description: why
            enabled: false
            run: {type: script, path: s/check.py, args: [--strict], env: {A: b}, cwd: /tmp, interpreter: [python3, -X]}
            execution: {mode: blocking, timeout_seconds: 5, kill_grace_seconds: 0, on_error: ignore}
            match: {profile: P, profiles: [P, Q], tool_kind: shell, tool_name: bash, args: {x: {contains: y}, z: {}}}
        """
    )
    [hook] = load(bench).hooks
    assert (hook.id, hook.event, hook.description, hook.enabled) == ("a", "before_tool_call", "why", False)
    assert hook.action == ScriptAction(
        path=path.parent / "s/check.py", args=("--strict",), env={"A": "b"}, cwd="/tmp", interpreter=("python3", "-X")
    )
    execution = hook.execution
    assert (execution.mode, execution.timeout_s, execution.kill_grace_s) == ("blocking", 5, 0)
    assert (execution.on_error, execution.on_bad_reply) == ("ignore", "error")
    match = hook.match
    assert (match.profile, match.profiles, match.tool_kind, match.tool_name) == ("P", ("P", "Q"), "shell", "bash")
    assert (match.args["x"].contains, match.args["x"].equals, match.args["z"].regex) == ("y", None, None)
    assert (hook.source.layer, hook.source.dialect, str(hook.source.place)) == ("project", "native", f"{path}:3:5")


def test_a_hook_of_three_keys_has_the_documented_defaults(bench: Bench):
    bench.write(hook_file("a"))
    [hook] = load(bench).hooks
    assert (hook.enabled, hook.description) == (True, "")
    assert (hook.execution.mode, hook.execution.timeout_s, hook.execution.on_error) == ("fire_and_forget", 30, "warn")
    assert not hook.match.needs_tool
    assert hook.action == ShellAction(text="true")


def test_a_command_keeps_its_arguments_apart(bench: Bench):
    bench.write("hooks:\n- {id: a, event: after_turn, run: {type: command, argv: [git, status], args: ['-s x']}}\n")
    [hook] = load(bench).hooks
    assert hook.action == CommandAction(argv=("git", "status"), args=("-s x",))


def test_a_script_with_an_absolute_path_keeps_it(bench: Bench):
    bench.write("hooks:\n- {id: a, event: after_turn, run: {type: script, path: /opt/check.py}}\n")
    [hook] = load(bench).hooks
    assert isinstance(hook.action, ScriptAction)
    assert hook.action.path == Path("/opt/check.py")


def test_optional_keys_may_be_null(bench: Bench):
    bench.write(
        """
        settings:
        hooks:
          - id: a
            event: after_turn
            description:
            match: {profile: ~, profiles: ~, tool_kind: ~, tool_name: ~, args: ~}
            execution:
            run: {type: shell, shell: x, args: ~, env: ~, cwd: ~}
        """
    )
    assert codes(bench) == []
    assert ids(bench) == ["a"]


@pytest.mark.parametrize("hook_id", ["日本語", "two words", "a: b", "é" * 512, "#1", "../../x"])
def test_an_id_may_be_anything_that_can_be_shown(bench: Bench, hook_id: str):
    bench.write(f"hooks:\n- {{id: '{hook_id}', event: after_turn, run: {{type: shell, shell: x}}}}\n")
    assert ids(bench) == [hook_id]


@pytest.mark.parametrize(
    ("execution", "on_provoked_error", "recheck"),
    [
        ("{mode: blocking}", "block", False),
        ("{mode: blocking, on_error: warn}", "warn", False),
        ("{mode: blocking, on_error: ignore}", "ignore", False),
        ("{mode: blocking, on_error: block}", "block", True),
        ("{mode: async}", "warn", False),
    ],
)
def test_a_gate_hook_without_a_policy_is_closed_by_what_a_model_provokes(
    bench: Bench, execution: str, on_provoked_error: str, recheck: bool
):
    bench.write(
        f"hooks:\n- {{id: a, event: before_tool_call, run: {{type: shell, shell: x}}, execution: {execution}}}\n"
    )
    [hook] = load(bench).hooks
    assert (hook.execution.on_provoked_error, hook.execution.recheck) == (on_provoked_error, recheck)


def test_a_hook_on_what_cannot_be_stopped_is_not_closed_by_what_a_model_provokes(bench: Bench):
    bench.write("hooks:\n- {id: a, event: tool_error, run: {type: shell, shell: x}, execution: {mode: blocking}}\n")
    [hook] = load(bench).hooks
    assert hook.execution.on_provoked_error == "warn"


# Layers and their order


def test_hooks_run_in_the_order_of_layers_and_of_files(user_bench: Bench):
    for layer in ("user", "project"):
        for dialect in ("chrys", "native"):
            user_bench.write(hook_file(f"{layer}-{dialect}-1", f"{layer}-{dialect}-2"), layer=layer, dialect=dialect)
    assert ids(user_bench, dialects=["native", "chrys"]) == [
        f"{layer}-{dialect}-{number}"
        for layer in ("project", "user")
        for dialect in ("native", "chrys")
        for number in (1, 2)
    ]


def test_the_order_of_dialects_is_the_one_named(user_bench: Bench):
    for dialect in ("native", "chrys"):
        user_bench.write(hook_file(dialect), dialect=dialect)
    assert ids(user_bench, dialects=["chrys", "native"]) == ["chrys", "native"]


def test_native_is_read_though_it_is_not_named(user_bench: Bench):
    for dialect in ("native", "chrys"):
        user_bench.write(hook_file(dialect), dialect=dialect)
    assert ids(user_bench, dialects=["chrys"]) == ["native", "chrys"]
    assert ids(user_bench, dialects=[]) == ["native"]


def test_a_dialect_named_twice_is_read_once(user_bench: Bench):
    user_bench.write(hook_file("c"), dialect="chrys")
    assert ids(user_bench, dialects=["chrys", "native", "chrys"]) == ["c"]


def test_an_unknown_dialect_is_refused_with_the_known_ones(bench: Bench):
    with pytest.raises(ConfigError, match="unknown dialect 'vim'; known dialects: native, chrys"):
        load(bench, dialects=["vim"])


def test_the_users_file_says_which_dialects_are_read(user_bench: Bench):
    user_bench.write(hook_file("c"), dialect="chrys")
    assert ids(user_bench, dialects=None) == []
    user_bench.write("dialects: [native, chrys]\n", layer="user")
    assert ids(user_bench, dialects=None) == ["c"]


def test_a_project_cannot_say_which_dialects_are_read(user_bench: Bench):
    user_bench.write(hook_file("c"), dialect="chrys")
    user_bench.write("dialects: [native, chrys]\n")
    assert ids(user_bench, dialects=None) == []


def test_a_chrys_file_cannot_say_which_dialects_are_read(user_bench: Bench):
    user_bench.write("dialects: [native]\n", dialect="chrys")
    assert "unknown-key" in codes(user_bench)


def test_a_file_reached_twice_is_loaded_once_as_the_users(bench: Bench):
    bench.write("settings: {max_hook_depth: 5}\n" + hook_file("a"), layer="user")
    bench.hooks_folder().parent.mkdir()
    bench.hooks_folder().symlink_to(bench.hooks_folder("user"))
    layers = load(bench)
    assert [hook.source.layer for hook in layers.hooks] == ["user"]
    assert layers.settings.max_hook_depth == 5
    assert layers.problems == ()


def test_a_file_linked_into_the_project_is_the_users(bench: Bench):
    own = bench.write(hook_file("a"), layer="user")
    bench.hooks_folder().mkdir(parents=True)
    os.link(own, bench.hooks_folder() / "hooks.yaml")
    assert [hook.source.layer for hook in load(bench).hooks] == ["user"]


def test_a_project_that_is_the_users_home_folder_has_user_hooks_only(user_bench: Bench):
    path = user_bench.root / ".hookline" / "hooks" / "hooks.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(hook_file("a"))
    layers = load_layers(user_bench.root, trust="none")
    assert [hook.source.layer for hook in layers.hooks] == ["user"]
    assert layers.problems == ()


def test_a_chosen_home_inside_the_project_is_refused(bench: Bench):
    with pytest.raises(ConfigError, match="lies inside the project"):
        load_layers(bench.project, home=bench.project / "home")


def test_a_folder_of_hook_folders_inside_the_project_is_refused_by_its_own_name(bench: Bench):
    with pytest.raises(ConfigError, match=r"the folder of hook folders .* must not bring its own"):
        load_layers(bench.project, vix_hooks=bench.project / "hooks")


def test_one_text_for_the_dialects_is_refused(bench: Bench):
    with pytest.raises(ConfigError, match=r"dialects must be a list of names, not one text; write \['vix'\]"):
        load_layers(bench.project, dialects="vix")


@pytest.mark.parametrize(("there", "read"), [(3, "hooks.yaml"), (2, "hooks.yml"), (1, "hooks.json")])
def test_of_several_files_the_preferred_one_is_read(bench: Bench, there: int, read: str):
    names = ["hooks.yaml", "hooks.yml", "hooks.json"][-there:]
    for name in names:
        bench.write('{"hooks": []}', name=name)
    [loaded] = load(bench).files
    assert loaded.file.path.name == read
    assert [path.name for path in loaded.file.shadowed] == names[1:]


def test_a_file_above_or_below_the_working_directory_is_not_read(bench: Bench):
    bench.write(hook_file("a"))
    above, below = bench.root / "above", bench.project / "below"
    below.mkdir()
    above.mkdir()
    bench.project.rename(above / "project")
    assert load_layers(above, home=bench.home, trust="all").files == ()
    assert load_layers(above / "project" / "below", home=bench.home, trust="all").files == ()
    assert len(load_layers(above / "project", home=bench.home, trust="all").files) == 1


def test_no_files_are_no_hooks_and_no_problem(bench: Bench):
    layers = load(bench)
    assert (layers.files, layers.hooks, layers.closures, layers.problems) == ((), (), (), ())
    assert layers.settings == Settings()


# Settings


def test_settings_merge_field_by_field_and_the_project_goes_first(bench: Bench):
    bench.write("settings: {max_parallel_hooks: 7, shutdown_grace_seconds: 1.5}\n")
    bench.write("settings: {max_parallel_hooks: 2, outbox_max_retries: 0, max_queued_hooks: 5}\n", layer="user")
    settings = load(bench).settings
    assert (settings.max_parallel_hooks, settings.shutdown_grace_s) == (7, 1.5)
    assert (settings.outbox_max_retries, settings.max_queued_hooks) == (0, 5)
    assert settings.outbox_retry_age_s == 60


def test_settings_of_a_project_that_is_not_trusted_do_not_count(bench: Bench):
    bench.write("settings: {max_parallel_hooks: 7}\n")
    assert load(bench, trust="none").settings == Settings()


@pytest.mark.parametrize(
    ("setting", "name", "value"),
    [("max_hook_depth: 9", "max_hook_depth", 9), ("recheck_guards: false", "recheck_guards", False)],
)
def test_what_only_a_user_may_set_counts_in_the_users_file_alone(bench: Bench, setting: str, name: str, value: Any):
    bench.write(f"settings: {{{setting}}}\n")
    assert load(bench).settings == Settings()
    bench.write(f"settings: {{{setting}}}\n", layer="user")
    assert getattr(load(bench).settings, name) == value


@pytest.mark.parametrize(("layer", "expected"), [("project", "error"), ("user", "ignore")])
def test_only_a_user_may_let_bad_replies_pass(bench: Bench, layer: str, expected: str):
    bench.write(f"hooks:\n- {HOOK[:-1]}, execution: {{mode: blocking, on_bad_reply: ignore}}}}\n", layer=layer)
    [hook] = load(bench).hooks
    assert hook.execution.on_bad_reply == expected


# Trust


def test_a_project_that_is_not_trusted_is_one_notice(user_bench: Bench):
    native = user_bench.write("hooks: [broken")
    chrys = user_bench.write("nonsense", dialect="chrys")
    problem = only_problem(user_bench, trust="none")
    assert (problem.severity, problem.code) == ("notice", "untrusted")
    assert str(problem.place) == str(native)
    assert str(chrys) in problem.message


def test_a_project_without_hooks_is_no_notice(bench: Bench):
    bench.write(hook_file("mine"), layer="user")
    assert codes(bench, trust="none") == []


def test_a_new_project_is_not_loaded_and_the_notice_says_how_to_trust_it(bench: Bench):
    bench.write(hook_file("a"))
    assert ids(bench, trust="recorded") == []
    problem = only_problem(bench, trust="recorded")
    assert (problem.severity, problem.code) == ("notice", "untrusted")
    assert "hookline trust" in problem.cure


def test_users_hooks_load_though_the_project_is_not_trusted(bench: Bench):
    bench.write(hook_file("theirs"))
    bench.write(hook_file("mine"), layer="user")
    assert ids(bench, trust="none") == ["mine"]


def test_a_guard_of_a_project_that_was_never_trusted_closes_nothing(bench: Bench):
    bench.write(GUARD_WITH_A_TYPO)
    for trust in ("none", "recorded"):
        assert load(bench, trust=trust).closures == ()


def test_a_project_that_has_changed_is_a_warning_and_keeps_its_guards_closed(bench: Bench):
    path = bench.write(GUARD_WITH_A_TYPO.replace("    evnt: before_tool_call\n", ""))
    trust_now(bench)
    assert ids(bench, trust="recorded") == ["keeper"]
    path.write_text(path.read_text() + "# changed\n")
    layers = load(bench, trust="recorded")
    assert layers.hooks == ()
    [problem] = layers.problems
    assert (problem.severity, problem.code) == ("warning", "trust-changed")
    assert "hooks.yaml" in problem.message
    assert [closure.event for closure in layers.closures] == ["before_tool_call"]
    assert "hookline trust" in layers.closures[0].reason


def test_a_project_that_cannot_be_covered_is_an_error_and_is_not_loaded(bench: Bench):
    bench.write(hook_file("a"))
    (bench.hooks_folder() / "elsewhere.py").symlink_to("/etc/passwd")
    layers = load(bench, trust="recorded")
    assert layers.hooks == ()
    [problem] = layers.problems
    assert (problem.severity, problem.code) == ("error", "untrustable")
    assert "elsewhere.py" in problem.message


def test_an_unknown_word_for_trust_is_refused(bench: Bench):
    with pytest.raises(ConfigError, match="unknown trust 'yes'"):
        load(bench, trust="yes")


# Files that are no files


@pytest.mark.parametrize("layer", ["project", "user"])
def test_a_fifo_in_place_of_a_file_is_refused_without_waiting(bench: Bench, layer: str):
    path = bench.hooks_folder(layer) / "hooks.yaml"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    problem = only_problem(bench)
    assert (problem.severity, problem.code, problem.place.path) == ("error", "unreadable-file", path)
    assert problem.message == "this is not a regular file"


def test_a_folder_in_place_of_a_file_is_refused(bench: Bench):
    (bench.hooks_folder() / "hooks.yaml").mkdir(parents=True)
    assert only_problem(bench).code == "unreadable-file"


def test_a_link_to_nowhere_in_place_of_a_file_is_refused(bench: Bench):
    bench.hooks_folder().mkdir(parents=True)
    (bench.hooks_folder() / "hooks.yaml").symlink_to("nowhere")
    problem = only_problem(bench)
    assert (problem.code, problem.message) == ("unreadable-file", "the file cannot be read: No such file or directory")


def test_a_file_whose_reading_fails_is_refused(bench: Bench):
    bench.hooks_folder().mkdir(parents=True)
    (bench.hooks_folder() / "hooks.yaml").symlink_to("/proc/self/mem")  # can be opened, but its start is never there
    problem = only_problem(bench)
    assert (problem.code, problem.message) == ("unreadable-file", "the file cannot be read: Input/output error")


def test_no_descriptor_is_left_open_by_what_cannot_be_read(bench: Bench):
    os.mkfifo(bench.write("").with_name("hooks.yml"))
    bench.write("", layer="user").unlink()
    (bench.hooks_folder("user") / "hooks.yaml").mkdir()
    (bench.hooks_folder() / "hooks.yaml").unlink()
    before = psutil.Process().num_fds()
    assert codes(bench) == ["unreadable-file", "unreadable-file"]
    assert psutil.Process().num_fds() <= before


def test_a_link_to_a_file_is_followed(bench: Bench):
    real = bench.root / "shared.yaml"
    real.write_text(hook_file("a"))
    bench.hooks_folder().mkdir(parents=True)
    (bench.hooks_folder() / "hooks.yaml").symlink_to(real)
    assert ids(bench) == ["a"]


# Whole files and single entries

BAD_AND_GOOD = f"hooks:\n- {{id: bad, evnt: x}}\n- {HOOK}\n"


def test_in_a_native_file_a_bad_entry_is_left_out_alone(bench: Bench):
    bench.write(BAD_AND_GOOD)
    assert ids(bench) == ["a"]


def test_in_a_chrys_file_a_bad_entry_switches_off_the_whole_file(user_bench: Bench):
    user_bench.write(BAD_AND_GOOD, dialect="chrys")
    user_bench.write(hook_file("other"), dialect="chrys", layer="user")
    assert ids(user_bench) == ["other"]
    assert codes(user_bench)[-1] == "file-off"


def test_in_a_chrys_file_a_bad_pattern_leaves_out_its_hook_alone(user_bench: Bench):
    bad = "{id: bad, event: tool_error, run: {type: shell, shell: x}, match: {args: {p: {regex: '('}}}}"
    user_bench.write(f"hooks:\n- {bad}\n- {HOOK}\n", dialect="chrys")
    assert ids(user_bench) == ["a"]
    assert codes(user_bench) == ["bad-regex"]


def test_in_a_chrys_file_settings_of_a_file_that_is_off_do_not_count(user_bench: Bench):
    user_bench.write("settings: {max_parallel_hooks: 9}\n" + BAD_AND_GOOD, dialect="chrys")
    assert load(user_bench).settings == Settings()


@pytest.mark.parametrize("key", ["interpreter: [x]"])
def test_a_chrys_file_has_no_keys_of_native_runs(user_bench: Bench, key: str):
    run = f"{{type: script, path: x.py, {key}}}"
    user_bench.write(f"hooks:\n- {{id: a, event: after_turn, run: {run}}}\n", dialect="chrys")
    assert codes(user_bench) == ["unknown-key", "file-off"]


@pytest.mark.parametrize("key", ["kill_grace_seconds: 1", "on_bad_reply: error"])
def test_a_chrys_file_has_no_keys_of_native_executions(user_bench: Bench, key: str):
    user_bench.write(f"hooks:\n- {HOOK[:-1]}, execution: {{{key}}}}}\n", dialect="chrys")
    assert codes(user_bench) == ["unknown-key", "file-off"]


def test_a_chrys_file_is_read_by_the_yaml_its_users_write(user_bench: Bench):
    user_bench.write(f"hooks:\n- {HOOK[:-1]}, enabled: no}}\n", dialect="chrys")
    [hook] = load(user_bench).hooks
    assert hook.enabled is False


def test_a_hook_of_a_chrys_file_runs_by_its_own_rules(user_bench: Bench):
    user_bench.write(
        "hooks:\n- {id: a, event: before_tool_call, run: {type: shell, shell: x}, "
        "execution: {mode: blocking, on_error: block}}\n",
        dialect="chrys",
    )
    [hook] = load(user_bench).hooks
    assert (hook.execution.on_bad_reply, hook.execution.recheck) == ("ignore", False)


# A guard that could not be loaded

GUARD_WITH_A_TYPO = """\
hooks:
  - id: keeper
    evnt: before_tool_call
    event: before_tool_call
    run: {type: shell, shell: 'exit 0'}
    execution: {mode: blocking, on_error: block}
"""


def test_a_guard_that_is_left_out_closes_its_event(bench: Bench):
    path = bench.write(GUARD_WITH_A_TYPO)
    [closure] = load(bench).closures
    assert (closure.event, closure.hook_id) == ("before_tool_call", "keeper")
    assert closure.reason == (
        f"hook 'keeper' at {path}:2:5 guards before_tool_call but could not be loaded: "
        "mend it (hookline check shows how) or remove it"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    evnt: before_tool_call\n", "    match: {args: {command: {regex: '('}}}\n"),
        ("    evnt: before_tool_call\n", "    event: before_tool_call\n"),
        ("    evnt: before_tool_call\n", "    enabled: 'no'\n"),
        ("type: shell", "type: shel"),
    ],
)
def test_any_fault_of_a_guard_closes_its_event(bench: Bench, before: str, after: str):
    bench.write(GUARD_WITH_A_TYPO.replace(before, after))
    assert [closure.event for closure in load(bench).closures] == ["before_tool_call"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mode: blocking", "mode: async"),
        ("on_error: block", "on_error: warn"),
        (", on_error: block", ""),
        ("    event: before_tool_call", "    event: after_tool_call"),
        ("    event: before_tool_call", "    event: before_tool_cal"),
        ("    evnt: before_tool_call\n", "    evnt: x\n    enabled: false\n"),
    ],
)
def test_what_was_no_guard_closes_nothing(bench: Bench, before: str, after: str):
    bench.write(GUARD_WITH_A_TYPO.replace(before, after))
    layers = load(bench)
    assert layers.hooks == ()
    assert layers.problems
    assert layers.closures == ()


def test_a_guard_without_an_id_closes_its_event_too(bench: Bench):
    path = bench.write(GUARD_WITH_A_TYPO.replace("id: keeper", "ident: keeper"))
    [closure] = load(bench).closures
    assert closure.reason.startswith(f"a hook without an id at {path}:2:5 guards before_tool_call")


def test_a_chrys_file_that_is_off_closes_nothing(user_bench: Bench):
    user_bench.write(GUARD_WITH_A_TYPO, dialect="chrys")
    layers = load(user_bench)
    assert layers.problems[-1].code == "file-off"
    assert layers.closures == ()


def test_an_engine_blocks_what_a_left_out_guard_watches_over_and_names_the_place(bench: Bench):
    engine = bench.open(GUARD_WITH_A_TYPO)
    decision = asyncio.run(engine.fire(make_event()))
    assert decision.is_blocked
    assert f"{bench.hooks_folder() / 'hooks.yaml'}:2:5" in (decision.reason or "")
    assert "hookline check" in (decision.reason or "")


def test_an_engine_skips_the_other_hooks_of_a_closed_event(bench: Bench):
    engine = bench.open(
        GUARD_WITH_A_TYPO + "  - {id: good, event: before_tool_call, run: {type: shell, shell: 'touch ran'}}\n"
    )
    decision = asyncio.run(engine.fire(bench.event()))
    assert [(run.hook.id, run.status, run.reason) for run in decision.runs] == [
        ("good", "skipped", "the event is closed")
    ]
    assert not (bench.project / "ran").exists()


def test_an_engine_lets_other_events_pass_while_one_is_closed(bench: Bench):
    engine = bench.open(GUARD_WITH_A_TYPO)
    assert not engine.listens("user_prompt_submit")


def test_a_closed_event_opens_when_the_guard_is_mended(bench: Bench):
    bench.write(GUARD_WITH_A_TYPO)
    assert load(bench).closures
    bench.write(GUARD_WITH_A_TYPO.replace("    evnt: before_tool_call\n", ""))
    assert load(bench).closures == ()


def test_a_folder_that_was_named_and_is_not_there_is_a_warning(bench: Bench):
    """A mistake in a path must not look like a project without hooks."""
    with Engine.open(bench.project / "typo", home=bench.home, vix_hooks=bench.home.parent / "nowhere") as engine:
        assert [(problem.code, problem.place.path.name) for problem in engine.problems] == [
            ("missing-folder", "typo"),
            ("missing-folder", "nowhere"),
        ]
