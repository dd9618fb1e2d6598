"""Sample payloads that fit a hook."""

from __future__ import annotations

import pytest

from builders import make_hook
from hookline.hook import Match, SubjectMatch
from hookline.match import compile_match
from hookline.payload import parse_payload
from hookline.sample import sample_payload


@pytest.mark.parametrize("event", ["before_tool_call", "after_tool_call", "pre_compact", "sub_agent_start"])
@pytest.mark.parametrize("pattern", ["manual", "first-one|second"])
def test_a_sample_has_a_subject_that_the_pattern_takes(event: str, pattern: str):
    hook = make_hook(event=event, match=Match(subject=SubjectMatch(pattern=pattern)))
    found, _ = parse_payload(event, sample_payload(hook))
    assert compile_match(hook.match).test(found) is True


def test_a_pattern_that_is_more_than_names_leaves_the_sample_as_it_is():
    hook = make_hook(match=Match(subject=SubjectMatch(pattern="mcp__.*")))
    assert sample_payload(hook)["tool"]["name"] == "bash"
