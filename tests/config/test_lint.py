"""What is suspicious about hooks that load."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
import test_hook_folders
import test_layers
import test_module_folders
from gallery import Example, assert_found, find_problems

from hookline.problem import Problem
from imports import read_trees
from support import Bench

GATE = "event: before_tool_call, execution: {mode: blocking, on_error: warn}"


def lint(bench: Bench, text: str, *, dialect: str = "native") -> list[Problem]:
    bench.write(text, layer="user", dialect=dialect)
    return find_problems(bench)


def codes(problems: list[Problem]) -> list[str]:
    return [problem.code for problem in problems]


def hook(run: str, *, event: str = "after_turn", more: str = "") -> str:
    return f"hooks:\n- {{id: a, event: {event}, run: {run}{more}}}\n"


def shell(text: str) -> str:
    return f"hooks:\n- id: a\n  event: after_turn\n  run:\n    type: shell\n    shell: |\n      {text}\n"


EXAMPLES = [
    Example(
        code="never-matches",
        text=hook("{type: shell, shell: x}", more=", match: «{tool_name: bash}"),
        says="this match asks for a tool, but after_turn is about none: the hook never runs",
        cure="remove the conditions on the tool, or use another event",
    ),
    Example(
        code="never-matches",
        text=hook("{type: shell, shell: x}", more=", match: «{args: {x: {}}}"),
        says="asks for a tool",
    ),
    Example(
        code="never-matches",
        text=hook("{type: shell, shell: x}", more=", match: «{profile: A, profiles: [B, C]}"),
        says="profile 'A' is not among profiles: the hook never runs",
        cure="keep one of the two",
    ),
    Example(
        code="unknown-tool-kind",
        severity="warning",
        text=hook("{type: shell, shell: x}", event="tool_error", more=", match: {tool_kind: «filesystem.writ}"),
        says="unknown tool kind 'filesystem.writ'",
        cure="did you mean 'filesystem.write'?",
    ),
    Example(
        code="unknown-tool-kind",
        severity="warning",
        text=hook("{type: shell, shell: x}", event="tool_error", more=", match: {tool_kind: «zzz}"),
        says="unknown tool kind 'zzz'",
        cure="known: shell, filesystem.read",
    ),
    Example(
        code="literal-tool-name",
        severity="warning",
        text=hook("{type: shell, shell: x}", event="tool_error", more=", match: {tool_name: «edit_.*}"),
        says="the tool name 'edit_.*' looks like a pattern, but is compared as it is",
        cure="write one hook for each tool, or match on tool_kind",
    ),
    Example(
        code="broad-gate",
        severity="warning",
        text=f"hooks:\n- «{{id: a, {GATE}, run: {{type: shell, shell: x}}}}\n",
        says="this hook runs before every tool call and every call waits for it",
        cure="name the tools it is for under match",
    ),
    Example(
        code="on-error-unset",
        severity="warning",
        text=hook("{type: shell, shell: x}", event="user_prompt_submit", more=", execution: «{mode: blocking}"),
        says="a blocking hook on a gate should say what happens when it fails",
        cure="add on_error: block to stay closed, on_error: warn to go on",
    ),
    Example(
        code="unknown-template",
        severity="warning",
        text=hook("{type: shell, shell: x, env: {A: «'${sesion_id}', B: '$HOME ${session_id}'}, cwd: «'${HOME}/x'}"),
        says="${sesion_id} is no template here and stays as it is",
        cure="did you mean 'session_id'?",
    ),
    Example(
        code="unknown-template",
        severity="warning",
        dialect="chrys",
        text=hook("{type: shell, shell: x, env: {A: «'${hookline_home}', B: '${chrys_home}'}}"),
        says="${hookline_home} is no template here",
    ),
    Example(
        code="relative-cwd",
        severity="warning",
        text=hook("{type: shell, shell: x, cwd: «sub/dir}"),
        says="the relative directory 'sub/dir' starts wherever the agent was started",
        cure="start it with ${workspace_cwd}/",
    ),
    Example(
        code="script-missing",
        text=hook("{type: script, path: «scripts/none.py}"),
        says="hooks/scripts/none.py does not exist",
        cure="relative paths start at the folder of this file",
    ),
    Example(
        code="program-missing",
        text=hook("{type: command, argv: «[no-such-program-here]}"),
        says="the program 'no-such-program-here' was not found on PATH",
        cure="install it, or write its path",
    ),
    Example(
        code="program-missing",
        text=hook("{type: command, argv: «[/no/such/program]}"),
        says="the program /no/such/program does not exist",
        cure="check the path",
    ),
    Example(
        code="program-missing",
        text=hook("{type: script, path: «check.zzz, interpreter: [no-such-interpreter]}"),
        says="the interpreter 'no-such-interpreter' was not found on PATH",
        cure="install it",
        scripts={"check.zzz": ""},
    ),
    Example(
        code="program-missing",
        text=hook("{type: script, path: «check.rb, env: {PATH: /nowhere}}"),
        says="no ruby was found on PATH to run check.rb",
        scripts={"check.rb": ""},
    ),
    Example(
        code="not-executable",
        text=hook("{type: command, argv: «[/etc/passwd]}"),
        says="the program /etc/passwd is not executable",
        cure="chmod +x /etc/passwd",
    ),
    Example(
        code="runs-with",
        severity="notice",
        text=hook("{type: script, path: «check.sh, env: {PATH: /usr/bin:/bin}}"),
        says="bash",
        scripts={"check.sh": ""},
    ),
    Example(
        code="sibling-import",
        severity="warning",
        text=hook("{type: script, path: «check.py}"),
        says="the script imports 'rules' from its own folder, which Python does not search here",
        cure='add env: {PYTHONSAFEPATH: ""}',
        scripts={"check.py": "import json\nfrom rules import check\n", "rules.py": ""},
    ),
    Example(
        code="unquoted-variable",
        severity="warning",
        text="hooks:\n- id: a\n  event: after_turn\n  run: {type: shell, shell: «cat $WORK/notes}\n",
        says="$WORK stands outside quotes: a space in it splits the word",
        cure='write "$WORK" in double quotes',
    ),
    Example(
        code="yaml11-word",
        severity="warning",
        dialect="chrys",
        text=hook("{type: shell, shell: x}", more=", enabled: «yes, execution: {timeout_seconds: «1:30}"),
        says="'yes' is read as chrys users mean it, by YAML 1.1",
        cure="write true, false, a plain number, or put it in quotes",
        hook_id=None,
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_suspicion_is_found_at_its_place(example: Example, user_bench: Bench):
    example.write(user_bench)
    assert_found(example, find_problems(user_bench))


def test_a_file_that_is_not_read_because_of_another_is_named(bench: Bench):
    bench.write("hooks: []", layer="user")
    shadowed = [bench.write("", layer="user", name=name) for name in ("hooks.yml", "hooks.json")]
    problems = find_problems(bench)
    assert [(problem.code, problem.place.path) for problem in problems] == [
        ("shadowed-file", path) for path in shadowed
    ]
    assert problems[0].message == "this file is not read, because hooks.yaml stands beside it"
    assert problems[0].cure == "merge the two, or remove one"


# Every code in the source has an example; these are shown by tests of their own.
SHOWN_ELSEWHERE = {
    "shadowed-file": test_a_file_that_is_not_read_because_of_another_is_named,
    "unknown-dialect": test_layers.test_an_unknown_dialect_in_the_users_file_is_a_problem_there,
    "not-utf8": test_layers.test_bytes_that_are_no_text_are_a_problem_of_their_place,
    "unreadable-file": test_layers.test_a_fifo_in_place_of_a_file_is_refused_without_waiting,
    "id-collision": test_layers.test_an_id_in_two_layers_is_a_warning_and_both_hooks_load,
    "untrusted": test_layers.test_a_project_that_is_not_trusted_is_one_notice,
    "untrustable": test_layers.test_a_project_that_cannot_be_covered_is_an_error_and_is_not_loaded,
    "more-problems": test_layers.test_many_bad_entries_are_reported_in_time_that_grows_with_their_number,
    "too-many-hooks": test_layers.test_more_hooks_than_can_be_looked_at_are_one_problem,
    "switched-off": test_hook_folders.test_the_switch_of_all_hook_folders_is_told,
    "missing-folder": test_layers.test_a_folder_that_was_named_and_is_not_there_is_a_warning,
    "module-path": test_module_folders.test_a_module_path_that_leads_nowhere_is_a_problem,
    "shadowed-hook": test_module_folders.test_of_two_files_with_one_key_the_project_comes_first,
    "skipped-file": test_module_folders.test_what_is_no_hook_is_skipped_with_its_reason,
    "provider-failed": test_module_folders.test_a_provider_that_raises_is_a_problem_and_stops_nobody,
    "trust-changed": test_layers.test_a_project_that_has_changed_is_a_warning_and_keeps_its_guards_closed,
}
REPORTERS = {"add", "warn", "_problem", "_add_defect"}


def find_codes() -> set[str]:
    """The codes that the source of loading and checking writes."""
    codes: set[str] = set()
    for module, tree in read_trees().items():
        if module.split(".", maxsplit=1)[0] not in ("config", "dialects"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                first = node.args[:1] if name in REPORTERS else []
                codes |= {value.value for value in (*named, *first) if isinstance(value, ast.Constant)}
    return codes


def test_every_code_that_can_be_reported_has_an_example():
    shown = {example.code for example in (*EXAMPLES, *test_layers.EXAMPLES)} | SHOWN_ELSEWHERE.keys()
    assert find_codes() - shown == set()


def test_no_example_is_of_a_code_that_does_not_exist():
    shown = {example.code for example in (*EXAMPLES, *test_layers.EXAMPLES)} | SHOWN_ELSEWHERE.keys()
    assert shown - find_codes() == set()


# What is not suspicious


@pytest.mark.parametrize(
    "text",
    [
        hook("{type: shell, shell: 'true'}"),
        hook("{type: command, argv: [sh, -c, 'true']}"),
        hook("{type: command, argv: [/bin/sh]}"),
        hook("{type: command, argv: [./in-the-directory]}"),
        hook("{type: shell, shell: x}", event="tool_error", more=", match: {tool_kind: mcp}"),
        hook("{type: shell, shell: x, cwd: '${workspace_cwd}/sub', env: {A: '${profile} ${session_id}'}}"),
        hook("{type: shell, shell: x, cwd: '${hookline_home}', env: {A: '$x ${x:-y} ~'}}"),
        hook("{type: shell, shell: x, cwd: /tmp}"),
        hook("{type: shell, shell: x}", event="tool_error", more=", match: {tool_name: mcp__server-1__do.it}"),
        hook("{type: shell, shell: x}", more=", match: {profile: A, profiles: [A, B]}"),
        hook("{type: shell, shell: x}", event="after_turn", more=", execution: {mode: blocking}"),
        hook("{type: shell, shell: x}", event="before_tool_call", more=", execution: {mode: async}"),
    ],
)
def test_an_ordinary_hook_is_not_suspicious(bench: Bench, text: str):
    assert [str(problem) for problem in lint(bench, text)] == []


@pytest.mark.parametrize("match", ["{tool_kind: shell}", "{tool_name: bash}", "{args: {command: {contains: rm}}}"])
def test_a_gate_that_names_its_tools_is_not_broad(bench: Bench, match: str):
    assert lint(bench, f"hooks:\n- {{id: a, {GATE}, match: {match}, run: {{type: shell, shell: x}}}}\n") == []


def test_a_gate_that_names_only_a_profile_is_broad(bench: Bench):
    text = f"hooks:\n- {{id: a, {GATE}, match: {{profile: Code}}, run: {{type: shell, shell: x}}}}\n"
    assert codes(lint(bench, text)) == ["broad-gate"]


@pytest.mark.parametrize("kind", [
    "shell", "filesystem.read", "filesystem.write", "search", "web_search", "web_fetch", "ask_user", "sleep",
    "sub_agent", "mcp", "doc_converter", "skill", "context", "todo",
])  # fmt: skip
def test_every_documented_tool_kind_is_known(bench: Bench, kind: str):
    assert (
        lint(bench, hook("{type: shell, shell: x}", event="tool_error", more=f", match: {{tool_kind: {kind}}}")) == []
    )


@pytest.mark.parametrize("name", ["edit*", "a|b", "a?", "[ab]", "(a)", "^a", "a$", "a\\\\d"])
def test_every_sign_of_a_pattern_in_a_tool_name_is_suspicious(bench: Bench, name: str):
    text = hook("{type: shell, shell: x}", event="tool_error", more=f', match: {{tool_name: "{name}"}}')
    assert codes(lint(bench, text)) == ["literal-tool-name"]


def test_a_hook_that_is_switched_off_is_looked_at_too(bench: Bench):
    assert codes(lint(bench, hook("{type: script, path: none.py}", more=", enabled: false"))) == ["script-missing"]


def test_nothing_more_is_said_of_an_entry_that_is_left_out(bench: Bench):
    assert codes(lint(bench, hook("{type: script, path: none.py, z: 1}"))) == ["unknown-key"]


def test_places_are_right_when_an_entry_before_is_left_out(bench: Bench):
    text = "hooks:\n- {}\n- {id: a, event: after_turn, run: {type: script, path: none.py}}\n"
    assert [problem.place.line for problem in lint(bench, text) if problem.code == "script-missing"] == [3]


def test_a_folder_is_no_program(bench: Bench):
    problems = lint(bench, hook("{type: command, argv: [/etc]}"))
    assert [problem.severity for problem in problems] == ["error"]


def test_an_empty_program_is_an_error(bench: Bench):
    problems = lint(bench, hook("{type: command, argv: ['']}"))
    assert [problem.severity for problem in problems] == ["error"]


def test_a_folder_is_no_script(bench: Bench):
    bench.write_script("sub/x", "", layer="user")
    assert codes(lint(bench, hook("{type: script, path: sub}"))) == ["script-missing"]


# Programs


def make_program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_program_is_looked_for_on_the_path_of_the_hook(bench: Bench):
    make_program(bench.root / "bin", "my-tool")
    found = hook(f"{{type: command, argv: [my-tool], env: {{PATH: '{bench.root / 'bin'}'}}}}")
    assert lint(bench, found) == []
    assert codes(lint(bench, hook("{type: command, argv: [my-tool]}"))) == ["program-missing"]


def test_a_program_in_a_relative_entry_of_the_path_is_not_found(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    make_program(bench.root / "bin", "my-tool")
    monkeypatch.chdir(bench.root)
    monkeypatch.setenv("PATH", "bin:")
    assert codes(lint(bench, hook("{type: command, argv: [my-tool]}"))) == ["program-missing"]


@pytest.mark.parametrize("dialect", ["native", "chrys"])
def test_the_interpreter_that_would_run_a_script_is_told(user_bench: Bench, dialect: str):
    folder = user_bench.root / "bin"
    python, uv = make_program(folder, "python3"), make_program(folder, "uv")
    user_bench.write_script("check.py", "print()\n", layer="user", dialect=dialect)
    text = hook(f"{{type: script, path: check.py, env: {{PATH: '{folder}'}}}}")
    [problem] = lint(user_bench, text, dialect=dialect)
    expected = {"native": str(python), "chrys": f"{uv} run --no-project"}[dialect]
    assert problem.message == f"runs with {expected}"


def test_a_script_with_metadata_is_run_by_uv(bench: Bench):
    folder = bench.root / "bin"
    make_program(folder, "python3")
    uv = make_program(folder, "uv")
    bench.write_script("check.py", "# /// script\n# dependencies = []\n# ///\n", layer="user")
    [problem] = lint(bench, hook(f"{{type: script, path: check.py, env: {{PATH: '{folder}'}}}}"))
    assert problem.message == f"runs with {uv} run --no-project --script"


def test_a_shim_of_a_version_manager_is_told(bench: Bench):
    shim = make_program(bench.root / "shims", "python3")
    bench.write_script("check.py", "", layer="user")
    [problem] = lint(bench, hook(f"{{type: script, path: check.py, env: {{PATH: '{shim.parent}'}}}}"))
    assert problem.message.startswith(f"runs with {shim}")
    assert "a version manager's shim" in problem.message


def test_the_interpreter_that_a_hook_names_is_told(bench: Bench):
    bench.write_script("check.py", "", layer="user")
    [problem] = lint(bench, hook("{type: script, path: check.py, interpreter: [sh, -e]}"))
    assert problem.message == f"runs with {shutil.which('sh')} -e"


# Variables in shell texts


@pytest.mark.parametrize(
    "text",
    [
        "cat $WORK/x",
        "cat ${WORK}/x",
        "cd $PROJECT_DIR",
        'echo "a" $HOME',
        "ls /a/$NAME",
        "x=1; rm $MY_FILE",
        "cat a'b'/$X",
    ],
)
def test_a_variable_that_holds_a_path_and_is_not_quoted_is_suspicious(bench: Bench, text: str):
    problems = lint(bench, shell(text))
    assert codes(problems) == ["unquoted-variable"]
    assert str(problems[0].place).endswith(":6:12")


@pytest.mark.parametrize(
    "text",
    [
        'cat "$WORK/x"',
        "cat '$WORK/x'",
        "cat \\$WORK/x",
        "echo $COUNT",
        "test $? = 0",
        'echo "it\'s $HOME"',
        "cat $HOOKLINE_HOOK_PAYLOAD_FILE",
        "echo '{}' > $HOOKLINE_HOOK_RESULT",
        "cp $CHRYS_HOOK_PAYLOAD_FILE /tmp",
        'printf \'%s\' "a\\"$HOME"',
    ],
)
def test_a_variable_that_is_quoted_or_holds_no_path_is_not_suspicious(bench: Bench, text: str):
    assert lint(bench, shell(text)) == []
