"""Switching a hook folder on or off, with everything else of its file kept to the byte."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hook_folders import HooksDir
from hookline.folders.json_text import JsonError
from hookline.folders.switch import SwitchError, set_enabled, set_enabled_by_id, switch_text
from json_values import texts
from properties import steady

FORMATTED = """\
{
    "id": "guard",
  "enabled" : true,
  "trigger": { "event" : "Stop", "enabled": true },
  "x-colour": [1,  2.50, "\\u00e9"],
  "command": "true"
}
"""


def switch(hooks: HooksDir, text: str | bytes, *, is_enabled: bool = False) -> bytes:
    """Write a spec, switch it, and return the bytes it has then."""
    path = hooks.add("d")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    set_enabled(hooks.path, "d", is_enabled=is_enabled)
    assert [found.name for found in path.parent.iterdir()] == ["hook.json"]
    return path.read_bytes()


def refuse(hooks: HooksDir, text: str) -> str:
    """Why a spec cannot be switched, which is left as it is."""
    path = hooks.add("d", text)
    with pytest.raises(SwitchError) as caught:
        set_enabled(hooks.path, "d", is_enabled=False)
    assert path.read_text() == text
    assert [found.name for found in path.parent.iterdir()] == ["hook.json"]
    return str(caught.value)


def test_only_the_value_of_the_switch_changes(hooks: HooksDir):
    """Case 38 and fact 31 of the folder contract: order, spacing, unknown and nested keys, final newline."""
    assert switch(hooks, FORMATTED).decode() == FORMATTED.replace('"enabled" : true', '"enabled" : false')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{"enabled":false}'),
        ("{ }\n", '{ "enabled":false}\n'),
        ('{\n  "id": "x"\n}\n', '{\n  "id": "x"\n,"enabled":false}\n'),
        ('{"trigger":{"enabled":true}}', '{"trigger":{"enabled":true},"enabled":false}'),
        ('{"en\\u0061bled": true}', '{"en\\u0061bled": false}'),
        ('{"ENABLED":true}', '{"ENABLED":false}'),
        ('{"enabled":null}', '{"enabled":false}'),
        ('{"enabled":"yes", "a": 1}', '{"enabled":false, "a": 1}'),
        ('{"a":"}", "enabled":\ttrue}', '{"a":"}", "enabled":\tfalse}'),
        ('  {"enabled":true}\r\n', '  {"enabled":false}\r\n'),
    ],
)
def test_the_switch_is_found_or_added_where_it_belongs(hooks: HooksDir, before: str, after: str):
    """Fact 31 of the folder contract."""
    assert switch(hooks, before).decode() == after


def test_bytes_that_are_no_text_are_kept(hooks: HooksDir):
    assert switch(hooks, b'{"name":"\xff","enabled":true}') == b'{"name":"\xff","enabled":false}'


def test_a_hook_that_is_as_wanted_is_not_written(hooks: HooksDir):
    path = hooks.add("d", '{"enabled": false}')
    before = path.stat()
    assert not set_enabled(hooks.path, "d", is_enabled=False)
    assert path.stat() == before


def test_a_change_is_told(hooks: HooksDir):
    path = hooks.add("d", enabled=False)
    assert set_enabled(hooks.path, "d", is_enabled=True)
    assert json.loads(path.read_text())["enabled"] is True


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o664])
def test_the_mode_of_the_file_stays(hooks: HooksDir, mode: int):
    """Case 38 and W11 of the folder contract."""
    path = hooks.add("d", enabled=True)
    path.chmod(mode)
    set_enabled(hooks.path, "d", is_enabled=False)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_stays_and_its_target_is_edited(hooks: HooksDir, tmp_path: Path):
    """Case 38 and W11 of the folder contract."""
    path = hooks.add("d", enabled=True)
    target = tmp_path / "shared.json"
    path.rename(target)
    path.symlink_to(os.path.relpath(target, path.parent))
    set_enabled(hooks.path, "d", is_enabled=False)
    assert path.is_symlink()
    assert json.loads(target.read_text())["enabled"] is False
    assert not hooks.load().specs[0].enabled


@pytest.mark.parametrize("text", ['{"enabled":true,"enabled":true}', '{"enabled":true,"a":1,"Enabled":false}'])
def test_a_switch_that_stands_twice_is_refused(hooks: HooksDir, text: str):
    """Case 38 and W11 of the folder contract."""
    assert "stands 2 times; keep one of them" in refuse(hooks, text)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"enabled":true} x'])
def test_a_text_that_is_no_spec_is_refused(hooks: HooksDir, text: str):
    assert "d/hook.json cannot be edited" in refuse(hooks, text)


def test_what_is_not_there_cannot_be_switched(hooks: HooksDir):
    """Case 38 and fact 30 of the folder contract."""
    (hooks.path / "empty").mkdir()
    for hooks_dir, name in ((hooks.path, "empty"), (hooks.path, "none"), (hooks.path, ""), (None, "d")):
        with pytest.raises(SwitchError):
            set_enabled(hooks_dir, name, is_enabled=True)


def test_a_hook_is_switched_by_its_id_wherever_its_folder_is(hooks: HooksDir):
    """Fact 30 of the folder contract, and W10."""
    hooks.add("d", id="x")
    assert set_enabled_by_id(hooks.path, hooks.index(), "x", is_enabled=True)
    assert hooks.load().specs[0].enabled


def test_an_id_that_no_valid_hook_has_cannot_be_switched(hooks: HooksDir):
    """Case 38 and fact 30 of the folder contract."""
    hooks.add("bad", event="Nope")
    with pytest.raises(SwitchError, match="there is no hook 'none'"):
        set_enabled_by_id(hooks.path, hooks.index(), "none", is_enabled=True)
    with pytest.raises(SwitchError, match=r"'bad' in .* is not valid.*unsupported event"):
        set_enabled_by_id(hooks.path, hooks.index(), "bad", is_enabled=True)


@pytest.mark.parametrize("name", ["../d", "a/b", ".", "..", "/etc"])
def test_only_a_hook_of_this_folder_can_be_switched(hooks: HooksDir, name: str):
    """Case 41 of the folder contract."""
    with pytest.raises(SwitchError, match="no name of a hook folder"):
        set_enabled(hooks.path, name, is_enabled=True)


def test_a_spec_that_cannot_be_replaced_is_told_and_stays(hooks: HooksDir, monkeypatch: pytest.MonkeyPatch):
    path = hooks.add("d", enabled=True)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(SwitchError, match="Permission denied"):
        set_enabled(hooks.path, "d", is_enabled=False)
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == ["hook.json"]


# Any spec there may be

spaces = st.sampled_from(["", " ", "\n", "\t", " \r\n  "])
finite = (
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | texts
)
inner = st.recursive(
    finite, lambda each: st.lists(each, max_size=3) | st.dictionaries(texts, each, max_size=3), max_leaves=6
)


@st.composite
def switched(draw: st.DrawFn) -> tuple[str, str, bool]:
    """The text of an object, spaced and escaped in odd ways, what it must become, and the switch."""
    is_enabled = draw(st.booleans())
    word = json.dumps(is_enabled)
    keys = texts.filter(lambda key: key.lower() != "enabled") | st.sampled_from(["id", "enabled", "trigger"])
    members = draw(st.dictionaries(keys, inner, max_size=5))
    before, after = [], []
    for key, value in members.items():
        is_ascii = draw(st.booleans())
        start = f"{draw(spaces)}{json.dumps(key, ensure_ascii=is_ascii)}{draw(spaces)}:{draw(spaces)}"
        shown, end = json.dumps(value, ensure_ascii=is_ascii), draw(spaces)
        before.append(start + shown + end)
        after.append(start + (word if key == "enabled" else shown) + end)
    opening, closing = draw(spaces) + "{", "}" + draw(spaces)
    added = "" if "enabled" in members else f'{"," if members else ""}"enabled":{word}'
    return opening + ",".join(before) + closing, opening + ",".join(after) + added + closing, is_enabled


@given(switched())
@steady
def test_any_spec_reads_as_before_but_for_the_switch_and_is_the_same_to_the_byte(given: tuple[str, str, bool]):
    """Fact 31 of the folder contract."""
    text, wanted, is_enabled = given
    edited = switch_text(text, is_enabled=is_enabled)
    assert edited == wanted
    before: dict[str, Any] = json.loads(text)
    assert repr({**before, "enabled": is_enabled}) == repr(json.loads(edited))


@given(st.text('{}[]",:\\ enabldtruf\n', max_size=30))
@steady
def test_any_text_is_switched_or_refused(text: str):
    try:
        assert json.loads(switch_text(text, is_enabled=True)) == {**json.loads(text), "enabled": True}
    except JsonError as error:
        assert str(error)
