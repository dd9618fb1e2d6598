"""Which occurrences of an event a matcher is for."""

from __future__ import annotations

import pytest

from hookline.folders.event_names import FOLDER_EVENTS
from hookline.folders.matcher import Matcher, compile_matcher, match_field
from hookline.patterns.linear import LinearPatternError


def accepts(matcher: str, subject: str) -> bool:
    return compile_matcher(matcher).accepts(subject)


@pytest.mark.parametrize("matcher", ["", "*", "  ", " * ", "\n*\t"])
@pytest.mark.parametrize("subject", ["", "bash", "a\nb"])
def test_an_empty_matcher_and_a_star_match_everything(matcher: str, subject: str):
    """Fact 12 of the folder contract."""
    assert accepts(matcher, subject)
    assert compile_matcher(matcher).pattern is None


def test_an_absent_matcher_matches_everything():
    """Fact 15 of the folder contract."""
    assert Matcher().accepts("anything")


def test_alternatives_match_the_field_as_a_whole():
    """Case 10 of the folder contract."""
    matcher = "write_file|edit_file"
    assert accepts(matcher, "edit_file")
    assert not accepts(matcher, "read_file")
    assert not accepts(matcher, "write_file2")


def test_case_counts_unless_the_pattern_says_otherwise():
    """Case 11 of the folder contract."""
    assert not accepts("bash", "BASH")
    assert not accepts("bash", "bash\n")
    assert not accepts("bash", "bashx")
    assert accepts("(?i)bash", "BASH")
    assert accepts("(?i)BASH", "bash")


def test_a_dot_is_no_newline_unless_the_pattern_says_otherwise():
    """Case 12 of the folder contract."""
    assert accepts("mcp__.*", "mcp__fs__read")
    assert not accepts("mcp__.*", "bash")
    assert not accepts("mcp__.*", "mcp__a\nb")
    assert accepts("(?s)mcp__.*", "mcp__a\nb")


def test_an_empty_alternative_accepts_the_empty_text():
    """Case 13 of the folder contract."""
    assert accepts("a|", "")
    assert accepts("a|", "a")
    assert not accepts("a|", "b")


@pytest.mark.parametrize("matcher", ["(", "**", "a(?=b)", "(?<!a)b", r"(a)\1", r"(?P<x>a)(?P=x)"])
def test_what_is_no_pattern_of_its_language_is_refused(matcher: str):
    """Case 13 and fact 14 of the folder contract."""
    with pytest.raises(LinearPatternError):
        compile_matcher(matcher)


@pytest.mark.parametrize(
    ("matcher", "subject"),
    [
        ("[[:alpha:]]+", "bash"),
        (r"\pL+", "é"),
        (r"\Qa.b\E", "a.b"),
        ("(?P<tool>bash)", "bash"),
        ("(?<tool>bash)", "bash"),
        ("  bash  ", "bash"),
    ],
)
def test_the_language_has_what_its_users_know(matcher: str, subject: str):
    """Facts 12 and 14 of the folder contract."""
    assert accepts(matcher, subject)


@pytest.mark.parametrize("matcher", ["a)|(?:b", "a)(?:", ")("])
def test_a_matcher_cannot_get_out_of_being_matched_as_a_whole(matcher: str):
    """W14 of the folder contract."""
    with pytest.raises(LinearPatternError):
        compile_matcher(matcher)


@pytest.mark.parametrize(
    ("event", "subject"),
    [
        ("PreToolUse", "bash"),
        ("PostToolUse", "bash"),
        ("PermissionRequest", "bash"),
        ("ThreadStart", "startup"),
        ("PreCompact", "auto"),
        ("PostCompact", "auto"),
        ("SubagentStart", "explorer"),
        ("SubagentStop", "explorer"),
        ("UserPromptSubmit", ""),
        ("Stop", ""),
    ],
)
def test_a_matcher_sees_one_fact_of_its_event(event: str, subject: str):
    """Facts 16 and 17 of the folder contract."""
    facts = {
        "tool_name": "bash",
        "tool_input": {"command": "ls"},
        "source": "startup",
        "trigger": "auto",
        "agent_type": "explorer",
        "prompt": "hello",
    }
    assert match_field(event, facts) == subject


def test_a_fact_that_is_not_there_is_empty():
    assert {match_field(row.name, {}) for row in FOLDER_EVENTS} == {""}
