"""How a project's hook files are taken: counted, or left alone with a notice that says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from entries import command_hook, shell_hook, write_file
from hookline import ConfigError
from hookline.config.file import LoadedFile, load_file
from hookline.config.layers import Layers, load_layers
from hookline.config.locate import find_homes, find_hook_files
from hookline.config.project import ProjectParts, ProjectVerdict, judge_project
from hookline.config.trust import Trust, TrustStore
from hookline.dialects.native import NATIVE
from hookline.problem import Problem
from support import Bench
from trusting import snapshot_project, trust_project

GUARDING = write_file(command_hook("g", "true", on_error="block"))


def load(bench: Bench, trust: Trust = "recorded", dialects: Sequence[str] = ("native",)) -> Layers:
    return load_layers(bench.project, home=bench.home, dialects=dialects, trust=trust)


def only_problem(layers: Layers) -> Problem:
    (problem,) = layers.problems
    return problem


def read_files(bench: Bench) -> list[LoadedFile]:
    """The project's own files, as they are read before anybody judges them."""
    files = find_hook_files(bench.project, find_homes([NATIVE], bench.home), [NATIVE])
    return [load_file(file) for file in files if file.layer == "project"]


def judge_files(bench: Bench, files: Sequence[LoadedFile], trust: Trust = "recorded") -> ProjectVerdict:
    return judge_project(bench.project, [NATIVE], ProjectParts(files=files), trust, TrustStore(bench.home))


# New


def test_a_new_project_gets_one_notice_at_its_file(bench: Bench):
    path = bench.write(GUARDING)
    problem = only_problem(load(bench))
    assert (problem.severity, problem.code, problem.place.path) == ("notice", "untrusted", path)


def test_the_notice_says_how_to_look_and_how_to_trust(bench: Bench):
    bench.write(GUARDING)
    cure = only_problem(load(bench)).cure
    assert "hookline list" in cure
    assert "hookline trust" in cure


def test_one_notice_names_all_files_of_the_project(bench: Bench):
    native, chrys = bench.write(GUARDING), bench.write(GUARDING, dialect="chrys")
    problem = only_problem(load(bench, dialects=["native", "chrys"]))
    assert problem.place.path == native
    assert str(chrys) in problem.message


@pytest.mark.parametrize("trust", ["recorded", "all", "none", []])
def test_a_project_without_hooks_gets_no_notice(bench: Bench, trust: Trust):
    assert load(bench, trust).problems == ()


def test_an_untrusted_projects_own_problems_are_not_told(bench: Bench):
    bench.write(write_file({"id": "bad"}))
    assert only_problem(load(bench)).code == "untrusted"


def test_a_bad_entry_of_an_untrusted_project_closes_nothing(bench: Bench):
    bench.write(write_file({**command_hook("g", "true", on_error="block"), "evnt": "x"}))
    assert load(bench).closures == ()


def test_an_untrusted_projects_settings_do_not_count(bench: Bench):
    bench.write(write_file(settings={"max_parallel_hooks": 77}))
    assert load(bench).settings == load_layers(bench.project / "nowhere", home=bench.home).settings


def test_a_new_project_is_listed_with_the_reason_why_it_does_not_count(bench: Bench):
    bench.write(GUARDING)
    (loaded,) = load(bench).files
    assert (loaded.is_counted, loaded.why_not) == (False, "untrusted")
    assert [hook.id for hook in loaded.reading.hooks] == ["g"]


# Trusted


def test_a_trusted_project_has_no_problems(bench: Bench):
    bench.write(GUARDING)
    trust_project(bench)
    layers = load(bench)
    assert layers.problems == ()
    assert [hook.id for hook in layers.hooks] == ["g"]


def test_a_trusted_project_brings_its_content_to_compare_with_later(bench: Bench):
    bench.write(GUARDING)
    trusted = trust_project(bench)
    snapshot = load(bench).snapshot
    assert snapshot is not None
    assert snapshot.digest == trusted.digest


def test_a_project_trusted_whatever_it_holds_has_nothing_to_compare_with(bench: Bench):
    bench.write(GUARDING)
    assert load(bench, "all").snapshot is None


def test_a_trusted_project_opened_by_a_link_to_it_is_trusted(bench: Bench):
    bench.write(GUARDING)
    trust_project(bench)
    (bench.root / "link").symlink_to(bench.project)
    bench.project = bench.root / "link"
    assert load(bench).problems == ()


@pytest.mark.parametrize("trust", ["recorded", "digests"])
def test_files_that_were_swapped_after_they_were_read_do_not_count(bench: Bench, trust: str):
    """What counts is what was read, not what lies there when it is compared with the record."""
    path = bench.write(GUARDING)
    digest = trust_project(bench).digest
    path.write_text(write_file(shell_hook("evil", "touch pwned")))
    files = read_files(bench)
    path.write_text(GUARDING)
    verdict = judge_files(bench, files, "recorded" if trust == "recorded" else [digest])
    assert not verdict.is_counted


# Changed


def change(bench: Bench) -> Path:
    path = bench.write(GUARDING)
    trust_project(bench)
    path.write_text(GUARDING + "\n")
    return path


def test_a_changed_project_gets_a_warning_that_names_the_file(bench: Bench):
    path = change(bench)
    problem = only_problem(load(bench))
    assert (problem.severity, problem.code, problem.place.path) == ("warning", "trust-changed", path)
    assert ".hookline/hooks/hooks.yaml" in problem.message


def test_the_warning_says_what_to_do(bench: Bench):
    change(bench)
    cure = only_problem(load(bench)).cure
    assert "hookline trust" in cure
    assert "hookline untrust" in cure


def test_the_warning_names_a_few_of_many_changes_and_counts_the_rest(bench: Bench):
    bench.write(GUARDING)
    trust_project(bench)
    for number in range(5):
        bench.write_script(f"{number}.sh", "true")
    message = only_problem(load(bench)).message
    assert "0.sh" in message
    assert "4.sh" not in message
    assert "and 3 more" in message


def test_a_changed_projects_guards_become_closures(bench: Bench):
    bench.write(
        write_file(
            command_hook("g", "true", on_error="block"),
            command_hook("p", "true", event="user_prompt_submit", on_error="block"),
            command_hook("h", "true", on_error="warn"),
        )
    )
    trust_project(bench)
    bench.write_script("new.sh", "true")
    closures = load(bench).closures
    assert [(closure.event, closure.hook_id) for closure in closures] == [
        ("before_tool_call", "g"),
        ("user_prompt_submit", "p"),
    ]


def test_a_closure_says_which_hook_guarded_what_changed_and_what_to_do(bench: Bench):
    change(bench)
    (closure,) = load(bench).closures
    for part in ("before_tool_call", "'g'", "hooks.yaml", "hookline trust"):
        assert part in closure.reason


def test_a_project_whose_hook_folder_is_gone_gets_its_warning_at_the_project(bench: Bench):
    bench.write(GUARDING)
    trust_project(bench)
    shutil.rmtree(bench.hooks_folder())
    layers = load(bench)
    problem = only_problem(layers)
    assert (problem.code, problem.place.path) == ("trust-changed", bench.project)
    assert [closure.hook_id for closure in layers.closures] == ["g"]


def test_a_change_in_one_format_stops_the_projects_hooks_of_all_formats(bench: Bench):
    bench.write(GUARDING)
    path = bench.write(write_file(command_hook("c", "true")), dialect="chrys")
    trust_project(bench, ["native", "chrys"])
    assert len(load(bench, dialects=["native", "chrys"]).hooks) == 2
    path.write_text(write_file(command_hook("c", "false")))
    layers = load(bench, dialects=["native", "chrys"])
    assert layers.hooks == ()
    assert only_problem(layers).code == "trust-changed"


def test_a_format_that_is_enabled_later_is_not_trusted_with_the_others(bench: Bench):
    bench.write(GUARDING)
    bench.write(write_file(command_hook("c", "true")), dialect="chrys")
    trust_project(bench, ["native"])
    assert load(bench, dialects=["native", "chrys"]).hooks == ()


# Not trusted by this host


def test_a_host_that_loads_none_says_so_in_a_notice(bench: Bench):
    bench.write(GUARDING)
    problem = only_problem(load(bench, "none"))
    assert (problem.severity, problem.code) == ("notice", "untrusted")
    assert "this agent loads none" in problem.message


def test_a_host_that_loads_none_closes_nothing(bench: Bench):
    change(bench)
    assert load(bench, "none").closures == ()


def test_a_host_that_trusts_digests_is_told_the_digest_of_what_it_found(bench: Bench):
    bench.write(GUARDING)
    problem = only_problem(load(bench, ["sha256:0"]))
    assert snapshot_project(bench).digest in f"{problem.message} {problem.cure}"


# What cannot be covered


def link_out(bench: Bench) -> None:
    (bench.root / "outside").touch()
    (bench.hooks_folder() / "a.sh").symlink_to(bench.root / "outside")


@pytest.mark.parametrize("trust", ["recorded", ["sha256:0"]])
def test_a_project_with_a_link_that_leaves_it_is_an_error_at_its_file(bench: Bench, trust: Trust):
    path = bench.write(GUARDING)
    link_out(bench)
    layers = load(bench, trust)
    problem = only_problem(layers)
    assert (problem.severity, problem.code, problem.place.path) == ("error", "untrustable", path)
    assert str(bench.hooks_folder() / "a.sh") in problem.message
    assert layers.hooks == ()


def test_a_new_project_with_a_link_that_leaves_it_closes_nothing(bench: Bench):
    bench.write(GUARDING)
    link_out(bench)
    assert load(bench).closures == ()


def test_a_trusted_project_with_a_link_that_leaves_it_keeps_closed_what_it_guarded(bench: Bench):
    bench.write(GUARDING)
    trust_project(bench)
    link_out(bench)
    (closure,) = load(bench).closures
    assert (closure.event, closure.hook_id) == ("before_tool_call", "g")
    assert "a link that leaves the project" in closure.reason


def test_the_users_own_hooks_count_whatever_the_project_is(bench: Bench):
    bench.write(write_file(command_hook("mine", "true")), layer="user")
    bench.write(GUARDING)
    link_out(bench)
    assert [hook.id for hook in load(bench).hooks] == ["mine"]


# Homes


@pytest.mark.parametrize("home", [".", ".hookline", "a/b", "../project/x"])
def test_a_home_inside_the_project_is_refused(bench: Bench, home: str):
    with pytest.raises(ConfigError, match="inside the project"):
        load_layers(bench.project, home=bench.project / home)


def test_a_home_that_leads_into_the_project_by_a_link_is_refused(bench: Bench):
    (bench.project / "inner").mkdir()
    (bench.root / "link").symlink_to(bench.project / "inner")
    with pytest.raises(ConfigError, match="inside the project"):
        load_layers(bench.project, home=bench.root / "link")


def test_a_project_inside_the_home_is_fine(bench: Bench):
    project = bench.home / "checkouts" / "p"
    project.mkdir(parents=True)
    assert load_layers(project, home=bench.home).problems == ()


def test_a_project_that_is_the_users_own_folder_has_its_home_in_it(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(bench.project))
    bench.write(write_file(command_hook("mine", "true")))
    layers = load_layers(bench.project)
    assert [(hook.id, hook.source.layer) for hook in layers.hooks] == [("mine", "user")]
    assert layers.problems == ()
